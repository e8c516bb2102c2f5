"""``--rag-merge``: takes the cases from shards in place of running tests, and judges them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import convert

from pytest_rageval.collector import garbage_kept
from pytest_rageval.engine.verdict.decide import in_file_order
from pytest_rageval.errors import UserError, shorten
from pytest_rageval.model import ControlVerdict, SampleResult, ScenarioInfo
from pytest_rageval.plugin.configuration import configuration_of
from pytest_rageval.plugin.exit_status import end_with, is_green, misused
from pytest_rageval.plugin.option_values import words
from pytest_rageval.plugin.options import STRICT, touching
from pytest_rageval.plugin.run.run_results import Results
from pytest_rageval.plugin.run.session import RagevalSession
from pytest_rageval.plugin.run.transport import NOT_KEPT, is_of_a_part, outcome_of, without_own
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.failures import failure_at, unjudged_text
from pytest_rageval.shards.merge import Merged, check_commits, find_shards, merged, sum_usage
from pytest_rageval.shards.on_disk import changes_since
from pytest_rageval.shards.shard_file import CaseRow, Report, ReportFacts, Shard, ShardError
from pytest_rageval.text.printable import one_line, printable

if TYPE_CHECKING:
    from pytest_rageval.scenario.overrides import Override
    from pytest_rageval.shards.late_gates import LateGates

# Options of pytest that change what runs or what is expected. Refused when typed; in addopts they
# are for ordinary tests.
_OF_THE_SHARDS = ("-k", "-m", "--lf", "--last-failed", "--runxfail")
_SHARDS = pytest.StashKey[list[Shard]]()


class MergeSession(RagevalSession):
    """Judges and writes a run whose cases come from shards; UsageError if they do not fit."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        try:
            shards = _found(config)
            if not config.getoption("rag_merge_commits"):
                check_commits(shards)
            self._merged = sorted(merged(shards), key=lambda one: in_file_order(one.info))
        except UserError as error:
            raise _usage_error(error) from None
        infos = [one.info for one in self._merged]
        self._late = _late_gates(config, settings.overrides, infos)
        strict = settings.strict or any(shard.head.strict for shard in shards)
        super().__init__(config, replace(settings, strict=strict))
        is_typed = STRICT.is_typed(config) or any(shard.head.judges_all for shard in shards)
        self._results = Results(judges_all=is_typed)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect no tests."""
        session.items = []
        session.testscollected = sum(one.info.selected for one in self._merged)
        return True

    def judge(self, session: pytest.Session, *, stopped: bool, interrupted: bool) -> None:
        """Take the cases of all shards, then decide as after any run; ``-x`` ends no merge."""
        if stopped:  # pytest was interrupted before this: nothing is taken
            return
        try:
            with garbage_kept():
                for one in self._merged:
                    self.controls(one.info)  # raises where shards differ
                logged = [case for one in self._merged for case in self._taken(one)]
                beside = list(self._beside_cases())
        except UserError as error:
            raise _usage_error(error) from None
        for result, reports in logged:
            self._log(reports, result)
        for report in beside:
            if isinstance(report, pytest.CollectReport):
                self._config.hook.pytest_collectreport(report=report)
            else:
                self._log([report, *_teardown(report)])
        super().judge(session, stopped=False, interrupted=interrupted)

    def _taken(self, found: Merged) -> Sequence[tuple[SampleResult, Sequence[pytest.TestReport]]]:
        """Take the cases of a scenario; return those that pytest is to know of, with reports.

        These are the red ones, and all where JUnit XML is written, in the order of the data.
        """
        logged: list[tuple[SampleResult, Sequence[pytest.TestReport]]] = []
        late = self._late(found.info)
        info = found.info if late is None else late.info
        self._results.open(info)
        self._results.lack(info.nodeid, found.missing, found.lost)
        changes = changes_since(found.info, self._config.rootpath)
        self._files.remark(info, [*found.remarks, *changes])
        for path, row in found.rows():
            result, reports = self._judged_again(path, row, late)
            self._results.record(info.nodeid, row.nodeid, result)
            if self._is_followed(info.nodeid):
                self._hooks.sample_scored(info, result)
            if self._junit is not None or any(report.failed for report in reports):
                shown = reports or _passed(row.nodeid, info)
                # JUnit XML is written at the report of a teardown, which a crash may prevent.
                logged.append((result, [*shown, *_teardown(shown[-1])]))
        return sorted(logged, key=lambda case: case[0].index)

    def _judged_again(
        self, path: Path, row: CaseRow, late: LateGates | None
    ) -> tuple[SampleResult, Sequence[pytest.TestReport]]:
        """Return the result of a case and its reports, as the gates of the merge make them."""
        reports = [self._read(path, report, row.nodeid) for report in row.reports]
        judged = row.result if late is None else _judged_late(row.result, late)
        if late is None or judged is row.result:
            return row.result, reports
        return judged, self._judged_reports(row.nodeid, judged, reports, late)

    def _read(self, path: Path, data: Report, nodeid: str | None = None) -> Any:
        """Return a report that a shard carries; ``nodeid`` is its case, None for anything else.

        Raises ShardError for one that pytest could not show, or that is of another case.
        """
        try:
            facts = convert(data, ReportFacts)
            kept = {**without_own(data), **NOT_KEPT, "location": facts.location}
            hook = self._config.hook.pytest_report_from_serializable
            report: Any = hook(config=self._config, data=kept)
            if facts.outcome == "skipped" and facts.wasxfail is None:
                report.longrepr = convert(report.longrepr, tuple[str, int | None, str])
            crash = getattr(report.longrepr, "reprcrash", None)
            is_of_case = facts.nodeid == nodeid and isinstance(report, pytest.TestReport)
            if nodeid is not None and not is_of_case:
                raise ValueError(f"{facts.nodeid} in place of {nodeid}")
            if report.longreprtext is None or not isinstance(getattr(crash, "message", ""), str):
                raise ValueError("what it shows is no text")
        except Exception as error:  # whatever pytest and plugins make of it
            message = "a report is damaged, or of a plugin that is not here"
            raise ShardError(str(path), f"{message} ({shorten(str(error))})") from error
        return report

    def _judged_reports(
        self,
        nodeid: str,
        result: SampleResult,
        reports: Sequence[pytest.TestReport],
        late: LateGates,
    ) -> list[pytest.TestReport]:
        """Return the reports of a case that gates of the merge make an ERROR, expected or not."""
        path = self._config.rootpath / late.info.path
        beside = [
            report for report in reports if is_of_a_part(report) or outcome_of(report) is None
        ]
        location = _location(nodeid, late.info)
        if result.outcome == "xfailed":
            reason = str(result.xfail)
            made = pytest.TestReport(
                nodeid, location, {}, "skipped", (str(path), 1, reason), "setup", wasxfail=reason
            )
        else:
            # A test function asks at its call.
            when = "setup" if late.info.is_of_file else "call"
            text = unjudged_text(late.info, result, late.reasons_unjudged(result))
            made = _failed(nodeid, location, when, text, path)
        teardowns = [report for report in beside if report.when == "teardown"]
        others = [report for report in beside if report.when not in ("setup", "teardown")]
        return [*others, made, *(teardowns or _teardown(made))]

    def _log(
        self, reports: Sequence[pytest.TestReport], result: SampleResult | None = None
    ) -> None:
        """Send the reports of a case or of another test through pytest's own hooks."""
        hook, nodeid, location = self._config.hook, reports[0].nodeid, reports[0].location
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for report in reports:
            is_deciding = not is_of_a_part(report) and outcome_of(report) is not None
            if result is not None and self._junit is not None and is_deciding:
                self._junit.note(report, result)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)

    def _beside_cases(self) -> Iterator[pytest.TestReport | pytest.CollectReport]:
        """Yield what failed in the shards beside the cases, each once; raises ShardError."""
        rows = [self._results.rows_of(found.info.nodeid) for found in self._merged]
        seen = set()
        for shard, end in (pair for found in self._merged for pair in found.ends):
            reports = [self._read(shard.path, data) for data in end.reports]
            if end.status:
                nodeid = f"shard {shard.part}"
                text = f"the session of this shard ended with exit status {end.status}"
                location = nodeid, None, nodeid
                reports.append(_failed(nodeid, location, "setup", text, Path(nodeid)))
            for report in reports:
                key = report.nodeid, report.when
                if key not in seen and not any(report.nodeid in cases for cases in rows):
                    seen.add(key)
                    yield report

    @property
    def has_cases(self) -> bool:
        """Whether there is something to judge: always, for shards that lost all cases are red."""
        return True

    def finish(self, session: pytest.Session) -> None:
        """Write the run; a merge that was ended before it judged anything is not green."""
        if not self._summarized and is_green(session.exitstatus):
            end_with(session, pytest.ExitCode.TESTS_FAILED)
        super().finish(session)

    def usage(self, scenario: str | None = None) -> dict[str, float | None] | None:
        """Return what the models cost in all shards, of a scenario or of all."""
        found = [one for one in self._merged if scenario in (None, one.info.nodeid)]
        return sum_usage(one.usage for one in found)

    def controls(self, info: ScenarioInfo) -> Mapping[str, ControlVerdict]:
        """Return what control rows said in the shards; raises ShardError where these differ."""
        return next(one.controls for one in self._merged if one.info.nodeid == info.nodeid)

    def workers(self, scenario: str) -> int:
        """Return how many workers of xdist the shards of a scenario had together."""
        return sum(one.workers for one in self._merged if one.info.nodeid == scenario)


def refuse_other_options(config: pytest.Config) -> None:
    """Raise UsageError for what a merge would not obey, and have it run in this process."""
    words = config.invocation_params.args
    typed = [flag for flag in _OF_THE_SHARDS if any(word.startswith(flag) for word in words)]
    # What these change was decided in the shards; gates can still be given to a merge.
    decided = touching("cases", "samples", "scores", "scenario")
    # Not those in an @file, which shards and merge may share.
    flags = {word.partition("=")[0] for word in words}
    typed += [option.flag for option in decided if option.flag in flags]
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
    """Refuse ``--rag-merge FOLDER`` where pytest took FOLDER for a test, and so moved its rootdir.

    With ``=``, it takes no part in the search for the configuration.
    """
    given, here = config.getoption("rag_merge"), config.invocation_params.dir
    typed = config.invocation_params.args
    is_without_equals_sign = any(name in typed for name in given)
    named = config.getoption("inifilename", None) or config.getoption("rootdir", None)
    wanted = configuration_of(here)
    # Without a section anywhere, pytest names the pyproject.toml of its rootdir all the same.
    is_moved = config.rootpath != here if wanted is None else config.inipath != wanted
    if is_without_equals_sign and is_moved and not named:
        places = " ".join(f"--rag-merge={name}" for name in given)
        message = (
            f"--rag-merge {' '.join(given)}: pytest took these folders for tests, and its rootdir "
            f"is {config.rootpath}. Write {places}"
        )
        raise pytest.UsageError(message)


def files_to_know(config: pytest.Config) -> list[str]:
    """Return the files of the shards' scenarios and tests that exist here: their hooks apply.

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


def _usage_error(error: UserError) -> pytest.UsageError:
    return pytest.UsageError(f"--rag-merge: {printable(str(error))}")


def _late_gates(
    config: pytest.Config, given: Sequence[Override], infos: Sequence[ScenarioInfo]
) -> Callable[[ScenarioInfo], LateGates | None]:
    """Return a function that gives a scenario the gates of the merge, None if there are none.

    Raises UsageError for other overrides that would have to change what the shards did, and for
    gates that nobody typed here and that are not those that the shards were given.
    """
    for override in given:
        is_of_gates = override.path[0] == "gates"
        if not (is_of_gates or override.only_present or _is_of_shards(override, infos)):
            message = (
                f"{override.flag}: the shards ran without it; give it to them, or leave it out"
            )
            raise misused(message)
    gates = [override for override in given if override.path[0] == "gates"]
    if not gates:
        return lambda _: None
    # Not at the top: most merges have the gates of their shards.
    from pytest_rageval.shards.late_gates import LateGates

    try:
        made = {info.nodeid: LateGates(info, gates) for info in infos}
    except UserError as error:
        raise misused(str(error)) from None
    untyped = _untyped(config, given)
    replacing = [found for late in made.values() for found in late.replacing if found in untyped]
    if replacing:
        message = (
            f"{replacing[0].flag}: the shards were given another value; type the one that holds "
            "(--rag-gate and its like)"
        )
        raise misused(message)
    return lambda info: made[info.nodeid]


def _untyped(config: pytest.Config, given: Sequence[Override]) -> list[Override]:
    """Return those of the ini file and the environment: each flag lists them before typed ones."""
    typed = words(config.invocation_params.args, config.invocation_params.dir)
    counts = Counter(word.partition("=")[0] for word in typed)
    of_flags = [list(found) for _, found in groupby(given, key=lambda one: one.source)]
    return [one for found in of_flags for one in found[: -counts[found[0].source] or None]]


def _is_of_shards(override: Override, infos: Sequence[ScenarioInfo]) -> bool:
    """Return whether the shards ran with it: with this key, and no lower threshold."""
    if not any(override.source in info.overridden_by for info in infos):
        return False
    # Not at the top: most merges are given no value of the scenario.
    from pytest_rageval.shards.late_gates import is_of_shard

    return any(is_of_shard(override, info) for info in infos)


def _judged_late(result: SampleResult, late: LateGates) -> SampleResult:
    """Return a result as it is with these gates: an ERROR if a score is missing that they need.

    As in a whole run, a missing score outranks missed thresholds, and ``xfail`` of a row may expect
    the ERROR. Raises OptionError.
    """
    info = late.info
    late.refuse_pardon(result)
    judged = ("passed", "failed", "xfailed") if info.is_of_file else ("passed",)
    # Of an invalid row, on_invalid says that it is expected.
    is_marked = result.xfail is not None or result.invalid is not None
    is_expected = result.outcome == "xfailed" and is_marked
    if result.outcome not in judged or is_expected or not late.reasons_unjudged(result):
        return result
    is_xfailed = result.xfail is not None and info.is_of_file and info.expects_failures
    return replace(result, outcome="xfailed" if is_xfailed else "error")


def _location(nodeid: str, info: ScenarioInfo) -> tuple[str, int | None, str]:
    return info.nodeid, 0, f"{one_line(info.title)}: {nodeid.rpartition('::')[2]} "


def _passed(nodeid: str, info: ScenarioInfo) -> list[pytest.TestReport]:
    """Return the reports of a case that passed, of which a shard keeps none."""
    call = pytest.TestReport(nodeid, _location(nodeid, info), {}, "passed", None, "call")
    return [call, *_teardown(call)]


def _teardown(report: pytest.TestReport) -> list[pytest.TestReport]:
    """Return the report of a teardown that passed, to follow this one; [] if this is one."""
    if report.when == "teardown":
        return []
    nodeid, location = report.nodeid, report.location
    return [pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")]


def _failed(
    nodeid: str, location: tuple[str, int | None, str], when: Any, text: str, path: Path
) -> pytest.TestReport:
    """Return the report of a failure with this text, at the file ``path``."""
    return pytest.TestReport(nodeid, location, {}, "failed", failure_at(text, path, 1), when)
