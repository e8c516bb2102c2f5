"""``--rag-merge``: takes the cases from shards in place of running tests, and judges them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from pytest_rageval.collector import garbage_kept
from pytest_rageval.engine.verdict.decide import in_file_order
from pytest_rageval.errors import UserError
from pytest_rageval.model import ControlVerdict, ScenarioInfo
from pytest_rageval.plugin.configuration import configuration_of
from pytest_rageval.plugin.exit_status import end_with, is_green
from pytest_rageval.plugin.options import touching
from pytest_rageval.plugin.run.case_reports import log_case, log_failure, reports_of
from pytest_rageval.plugin.run.session import RagevalSession
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.failures import unjudged_text
from pytest_rageval.shards.merge import Merged, check_commits, find_shards, merged, sum_usage
from pytest_rageval.shards.on_disk import changes_since
from pytest_rageval.shards.shard_file import CaseRow, Failure, Shard, ShardError
from pytest_rageval.text.printable import printable

if TYPE_CHECKING:
    from pytest_rageval.scenario.overrides import Override
    from pytest_rageval.shards.late_gates import LateGates

# Not in addopts, which often hold them for ordinary tests.
_SELECTING = ("-k", "-m", "--lf", "--last-failed")
_SHARDS = pytest.StashKey[list[Shard]]()


class MergeSession(RagevalSession):
    """Judges and writes a run whose cases come from shards. Raises UsageError."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        try:
            shards = _found(config)
            if not config.getoption("rag_merge_commits"):
                check_commits(shards)
            self._merged = sorted(merged(shards), key=lambda one: in_file_order(one.info))
        except UserError as error:
            raise _refused(error) from None
        self._late = _late_gates(settings.overrides, [one.info for one in self._merged])
        strict = settings.strict or any(shard.head.strict for shard in shards)
        super().__init__(config, replace(settings, strict=strict))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect no tests."""
        session.items = []
        session.testscollected = sum(one.info.selected for one in self._merged)
        return True

    def judge(self, session: pytest.Session, *, stopped: bool, interrupted: bool) -> None:
        """Take the cases of all shards, then decide as after any run; ``-x`` ends no merge."""
        if stopped:
            return
        try:
            with garbage_kept():
                for one in self._merged:
                    self.controls(one.info)  # raises where shards differ
                told = [reports for one in self._merged for reports in self._taken(one)]
        except UserError as error:
            raise _refused(error) from None
        for reports in told:
            log_case(self._config, reports)
        for failure in self._beside_cases():
            log_failure(self._config, failure)
        super().judge(session, stopped=False, interrupted=interrupted)

    def _taken(self, found: Merged) -> Sequence[Sequence[pytest.TestReport]]:
        """Take the cases of a scenario; return the reports of those that pytest is to know of.

        These are the red ones, and all where JUnit XML is written, in the order of the data.
        """
        told: list[tuple[int, Sequence[pytest.TestReport]]] = []
        late = self._late(found.info)
        info = found.info if late is None else late.info
        self._results.open(info)
        self._results.lack(info.nodeid, found.missing, found.lost)
        said = changes_since(found.info, self._config.rootpath)
        self._files.remark(info, [*found.remarks, *said])
        beside: dict[str, list[Failure]] = defaultdict(list)
        for failure in found.failures.values():
            beside[failure.nodeid].append(failure)
        for row in found.rows():
            case = row if late is None else _judged_late(row, late)
            result = case.result
            self._results.record(info.nodeid, case.nodeid, result)
            if self._is_followed(info.nodeid):
                self.sample_scored(info.nodeid, result)
            more = beside.get(case.nodeid, ())
            if more or self._junit is not None or case.shown in ("failed", "error"):
                reports = reports_of(case, info, self._config.rootpath, more)
                if self._junit is not None:
                    self._junit.note(reports[-2], result)
                told.append((result.index, reports))
        return [reports for _, reports in sorted(told, key=itemgetter(0))]

    def _beside_cases(self) -> Iterator[Failure]:
        """Yield what was red in the shards beside the cases, each once."""
        failures = {key: one for found in self._merged for key, one in found.failures.items()}
        rows = [self._results.rows_of(found.info.nodeid) for found in self._merged]
        for one in failures.values():
            if not any(one.nodeid in cases for cases in rows):
                yield one

    @property
    def has_cases(self) -> bool:
        """Whether there is something to judge: shards of which none is whole are red."""
        return True

    def finish(self, session: pytest.Session) -> None:
        """Write the run; a merge that was ended before it judged anything is not green."""
        if not self._summarized and is_green(session.exitstatus):
            end_with(session, pytest.ExitCode.TESTS_FAILED)
        super().finish(session)

    def usage(self, scenario: str | None = None) -> dict[str, float | None] | None:
        """Return what the shards asked models for, of a scenario or of all."""
        found = [one for one in self._merged if scenario in (None, one.info.nodeid)]
        return sum_usage(one.usage for one in found)

    def controls(self, info: ScenarioInfo) -> Mapping[str, ControlVerdict]:
        """Return what the shards found control rows to say."""
        return next(one.controls for one in self._merged if one.info.nodeid == info.nodeid)

    def workers(self, scenario: str) -> int:
        """Return how many workers of xdist the shards of a scenario had together."""
        return sum(one.workers for one in self._merged if one.info.nodeid == scenario)


def refuse_other_options(config: pytest.Config) -> None:
    """Refuse what a merge would not obey, and have it run in this process."""
    words = config.invocation_params.args
    typed = [flag for flag in _SELECTING if any(word.startswith(flag) for word in words)]
    # What these change was decided in the shards; gates can still be given to a merge.
    decided = touching("cases", "samples", "scores", "scenario")
    typed += [option.flag for option in decided if option.is_typed(config)]
    if typed:
        message = f"{', '.join(typed)}: a merge judges what ran; give it to the shards"
        raise pytest.UsageError(message)
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        named = " ".join(config.args)
        message = f"--rag-merge runs no tests; leave out {named}, or write --rag-merge={named}"
        raise pytest.UsageError(message)
    _refuse_moved_configuration(config)
    config.option.dist, config.option.tx = "no", []  # of xdist: there is nothing to spread


def _refuse_moved_configuration(config: pytest.Config) -> None:
    """Refuse folders after a blank that made pytest look for its configuration elsewhere."""
    given, here = config.getoption("rag_merge"), config.invocation_params.dir
    typed = config.invocation_params.args
    is_apart = any(name in typed for name in given)
    named = config.getoption("inifilename", None) or config.getoption("rootdir", None)
    wanted = configuration_of(here)
    is_moved = config.inipath != wanted or (wanted is None and config.rootpath != here)
    if is_apart and is_moved and not named:
        places = " ".join(f"--rag-merge={name}" for name in given)
        message = (
            f"--rag-merge {' '.join(given)}: pytest took these folders for tests, and its rootdir "
            f"is {config.rootpath}. Write {places}"
        )
        raise pytest.UsageError(message)


def files_to_know(config: pytest.Config) -> list[str]:
    """Return the scenarios and test files of the shards that are here, whose hooks apply.

    What is wrong with the shards shows later.
    """
    try:
        shards = _found(config)
    except UserError:
        return []
    infos = [shard.head.info for shard in shards]
    names = {name for info in infos for name in (info.path, info.nodeid.partition("::")[0])}
    return sorted(str(path) for name in names if (path := config.rootpath / name).is_file())


def _found(config: pytest.Config) -> list[Shard]:
    """Return the shards that the user named, relative to the working directory; read once."""
    known = config.stash.get(_SHARDS, None)
    if known is None:
        folder = config.invocation_params.dir
        named = config.known_args_namespace.rag_merge
        if not all(name.strip() for name in named):
            message = "expected a folder, found an empty name: in --rag-merge=$DIR, is DIR set?"
            raise ShardError("''", message)
        places = [Path(os.path.normpath(folder / name)) for name in named]
        known = config.stash[_SHARDS] = find_shards(places)
    return known


def _refused(error: UserError) -> pytest.UsageError:
    return pytest.UsageError(f"--rag-merge: {printable(str(error))}")


def _late_gates(
    given: Sequence[Override], infos: Sequence[ScenarioInfo]
) -> Callable[[ScenarioInfo], LateGates | None]:
    """Return what makes the gates that are given to the merge; raises UsageError."""
    known = {source for info in infos for source in info.overridden_by}
    for override in given:
        is_of_gates = override.path[0] == "gates"
        if not (is_of_gates or override.only_present or override.source in known):
            message = (
                f"{override.flag}: the shards ran without it; give it to them, or leave it out"
            )
            raise pytest.UsageError(printable(message))
    gates = [override for override in given if override.path[0] == "gates"]
    if not gates:
        return lambda _: None
    # Not at the top: most merges have the gates of their shards.
    from pytest_rageval.shards.late_gates import LateGates

    try:
        made = {info.nodeid: LateGates(info, gates) for info in infos}
    except UserError as error:
        raise pytest.UsageError(printable(str(error))) from None
    return lambda info: made[info.nodeid]


def _judged_late(row: CaseRow, late: LateGates) -> CaseRow:
    """Return a case as it is with these gates: an ERROR if a score is missing that they need.

    As in a whole run, that comes before thresholds, and a row may expect it. Raises OptionError.
    """
    result, info = row.result, late.info
    late.refuse_pardon(result)
    judged = ("passed", "failed", "xfailed") if info.is_of_file else ("passed",)
    # Of an invalid row, on_invalid says that it is expected.
    is_marked = result.xfail is not None or result.invalid is not None
    is_expected = result.outcome == "xfailed" and is_marked
    reasons = [] if result.outcome not in judged or is_expected else late.reasons_unjudged(result)
    if not reasons:
        return row
    if result.xfail is not None and info.is_of_file:
        return CaseRow(row.nodeid, replace(result, outcome="xfailed"), result.xfail)
    result = replace(result, outcome="error")
    # A test function asks at its call.
    reported: Literal["", "failed"] = "" if info.is_of_file else "failed"
    return CaseRow(row.nodeid, result, unjudged_text(info, result, reasons), reported)
