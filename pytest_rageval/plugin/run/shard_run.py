"""``--rag-shard``: runs every N-th case, and writes what happened for the merge to judge."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import __version__
from pytest_rageval.engine.verdict.decide import in_file_order
from pytest_rageval.model import SampleResult, ScenarioInfo, json_plain
from pytest_rageval.plugin.exit_status import end_with, is_green, refuse_empty_run, runs_nothing
from pytest_rageval.plugin.options import STRICT
from pytest_rageval.plugin.run.items import case_of
from pytest_rageval.plugin.run.run_settings import PROBLEMS, with_collected
from pytest_rageval.plugin.run.session import RagevalSession
from pytest_rageval.plugin.run.transport import NOT_KEPT, without_own
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.terminal import terminal_width
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.write_run import (
    ci_attempt,
    ci_commit,
    ci_run,
    marked_base,
    new_run_folder,
    run_id,
)
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import (
    SHARD_FILE,
    CaseRow,
    End,
    Head,
    Report,
    head_line,
    shard_lines,
    start_after,
    started_file,
)
from pytest_rageval.text.printable import one_line, printable, wrapped

_OUTPUT = "rageval_scenarios"
"""The key under which a worker sends its controller the digest of all cases."""

_FAILED = pytest.ExitCode.TESTS_FAILED
_OUTCOMES = ("passed", "failed", "skipped")


class ShardSession(RagevalSession):
    """Follows a part of a run: it chooses its cases, and writes them in place of a run."""

    def __init__(self, config: pytest.Config, settings: Settings, part: Part) -> None:
        super().__init__(config, settings)
        self._part = part
        self._is_followed = lambda _: False  # the merge calls hooks, with results of all shards
        self._infos: dict[str, ScenarioInfo] = {}
        self._folders: dict[str, Path] = {}
        self._reports: dict[str, list[pytest.TestReport | pytest.CollectReport]] = {}
        self._lines: list[str] = []
        self._status: int = pytest.ExitCode.OK
        self._ended: tuple[pytest.Session, int] | None = None
        self._problem = ""
        self._mark: Path | None = None

    # Before the run

    def mark_start(self) -> None:
        """Note in a file that the shard began: it may end before it knows its cases."""
        if self._is_worker or runs_nothing(self._config):
            return
        with suppress(OSError):  # the end of the run tells
            base = marked_base(self._settings.run_paths.run_base(None))
            self._started = start_after(base, self._part, self._started)
            name, text = started_file(self._part, self._started.isoformat())
            self._mark = write_atomically(base / name, [text])

    # The outermost wrapper ends last: after all other selection, that of --lf too.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Keep the cases of this shard, and every test that is no case; add no gates."""
        outcome = yield
        found = [(item, case) for item in items if (case := case_of(item)) is not None]
        counts = Counter(case.plan.info.nodeid for _, case in found)
        selected = {case.plan.info.nodeid: case.plan.info for _, case in found}
        infos = with_collected(self._config, selected)
        self._infos = {
            nodeid: replace(info, selected=counts[nodeid]) for nodeid, info in infos.items()
        }
        places = {nodeid: in_file_order(info) for nodeid, info in infos.items()}
        # Not by their order in the session: plugins shuffle it, and each shard would be dealt anew.
        found.sort(
            key=lambda one: (places[one[1].plan.info.nodeid], one[1].case.index, one[0].nodeid)
        )
        dealt = "".join(f"{one.case.index} {item.nodeid}\n" for item, one in found)
        self._selection = hashlib.sha256(dealt.encode("utf-8", "surrogatepass")).hexdigest()
        others = {item for at, (item, _) in enumerate(found) if not self._part.takes(at)}
        if others:
            self._config.hook.pytest_deselected(items=[item for item in items if item in others])
            items[:] = [item for item in items if item not in others]
        return outcome

    def selected_scenarios(self) -> list[ScenarioInfo]:
        """Return the scenarios, each with how many cases the whole run has."""
        return list(self._infos.values())

    def begin(self, scenarios: Iterable[ScenarioInfo]) -> None:
        """Write the heads: a shard that is killed must not leave an older one in its place."""
        super().begin(scenarios)
        self._infos |= {info.nodeid: info for info in scenarios}
        if self._is_worker or self._runs_nothing or self._folders:
            return
        with suppress(OSError):  # the end of the run tells
            for info in self._infos.values():
                write_atomically(self._folder(info) / SHARD_FILE, [head_line(self._head(info))])
            self._unmark()

    def _unmark(self) -> None:
        if self._mark is not None:
            self._mark.unlink(missing_ok=True)

    @property
    def _runs_nothing(self) -> bool:
        selects_nothing = not any(info.selected for info in self._infos.values())
        return selects_nothing or runs_nothing(self._config)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what is reported of a file that cannot be collected."""
        super().pytest_collectreport(report)
        if report.failed:
            self._reports[report.nodeid] = [report]

    # During the run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is reported, until it is clear that all of it passed."""
        super().pytest_runtest_logreport(report)
        if report.outcome in _OUTCOMES:  # others are of an attempt that a plugin repeats
            self._reports.setdefault(report.nodeid, []).append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Forget the reports of what passed; those of an earlier attempt that failed stay."""
        if all(report.passed for report in self._reports.get(nodeid, ())):
            self._reports.pop(nodeid, None)

    # After the run

    def judge(self, session: pytest.Session, *, stopped: bool, interrupted: bool) -> None:
        """Decide nothing: gates need the cases of all shards."""

    # The innermost wrapper: after plain hooks, which may change the exit status, and before the
    # terminal's wrapper, which prints the summary.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Send the controller what a result would bring, too: this worker may have no case."""
        outcome = yield
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = self._selection
        super().pytest_sessionfinish(session)
        return outcome

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take from a worker what all of them know."""
        super().pytest_testnodedown(node)
        self._selection = getattr(node, "workeroutput", {}).get(_OUTPUT, self._selection)

    def finish(self, session: pytest.Session) -> None:
        """Write the files of the shard; an empty one is green, one that is not written is red."""
        if not any(info.selected for info in self._infos.values()):
            refuse_empty_run(session, has_scenario=False)
        if self._runs_nothing:
            green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
            if session.exitstatus in green and not self._has_failure:
                self._unmark()
            return
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not session.testscollected:
            session.exitstatus = pytest.ExitCode.OK
        self._status = session.exitstatus
        if self._has_red_case():  # a test may be green where its case is not
            end_with(session, _FAILED if is_green(session.exitstatus) else session.exitstatus)
        self._write_files(session)
        self._ended = session, session.exitstatus

    def pytest_unconfigure(self) -> None:
        """Write again if the exit status changed after all: it is the only trace of why."""
        self.finish_late()
        if self._ended is not None:
            session, status = self._ended
            if session.exitstatus != status:
                self._status = session.exitstatus
                self._write_files(session)
        super().pytest_unconfigure()

    def _write_files(self, session: pytest.Session) -> None:
        try:
            for info in sorted(self._infos.values(), key=in_file_order):
                self._write(info)
            self._unmark()
        except OSError as error:
            self._problem = f"shard NOT written: {error}"
            end_with(session, _FAILED)

    def _has_red_case(self) -> bool:
        rows = (self._results.rows_of(nodeid).values() for nodeid in self._infos)
        return any(row.outcome in ("failed", "error") for found in rows for row in found)

    def _write(self, info: ScenarioInfo) -> None:
        """Write the file of a scenario; raises OSError. Lost cases explain any exit status."""
        self._results.open(info)
        rows, own = self._results.rows_of(info.nodeid), self._results.own_cases(info.nodeid)
        end = End(
            finished_at=datetime.now(UTC).isoformat(),
            rows=len(rows),
            selected=max(len(own), len(rows)),
            lost=tuple(nodeid for nodeid in sorted(own) if nodeid not in rows),
            reports=tuple(self._failed_beside()),
            status=self._unexplained_status() if len(rows) >= len(own) else 0,
            workers=len(self._workers),
            usage=self.usage(info.nodeid),
            controls=self.controls(info),
        )
        lines = shard_lines(self._head(info), self._rows(rows), end)
        self._lines += self._said(
            info, end, write_atomically(self._folder(info) / SHARD_FILE, lines)
        )

    def _head(self, info: ScenarioInfo) -> Head:
        return Head(
            part=self._part,
            version=__version__,
            commit=ci_commit(),
            ci_run=ci_run(),
            attempt=ci_attempt(),
            started_at=self._started.isoformat(),
            strict=self._settings.strict,
            scenarios=tuple(sorted(self._infos)),
            selection=self._selection,
            info=info,
            judges_all=STRICT.is_typed(self._config),
        )

    def _folder(self, info: ScenarioInfo) -> Path:
        """Return the run folder of a scenario, made when it is first asked for; raises OSError."""
        if info.nodeid not in self._folders:
            output = self._settings.run_paths.run_base(info.output_dir)
            folder = new_run_folder(info.title, run_id(self._started), output)
            self._folders[info.nodeid] = folder
        return self._folders[info.nodeid]

    def _rows(self, rows: Mapping[str, SampleResult]) -> Iterator[CaseRow]:
        for nodeid, result in sorted(rows.items(), key=lambda row: row[1].index):
            reports = self._reports.get(nodeid, ())
            yield CaseRow(nodeid, result, tuple(map(self._serialised, reports)))

    def _failed_beside(self) -> Iterator[Report]:
        """Yield what failed and is no case; it is in the file of each scenario."""
        cases = {nodeid for info in self._infos for nodeid in self._results.rows_of(info)}
        for nodeid, reports in self._reports.items():
            if nodeid not in cases:
                yield from (self._serialised(report) for report in reports if report.failed)

    def _serialised(self, report: pytest.TestReport | pytest.CollectReport) -> Report:
        """Return a report as pytest serialises it.

        Without what the test printed, which may hold secrets, and what is of this process alone.
        """
        bare: Any = copy(report)
        bare.__dict__ = {**without_own(vars(report)), **NOT_KEPT}
        hook = self._config.hook.pytest_report_to_serializable
        serialised: Report = json_plain(hook(config=self._config, report=bare))
        return serialised

    @property
    def _has_failure(self) -> bool:
        return any(report.failed for reports in self._reports.values() for report in reports)

    def _unexplained_status(self) -> int:
        """Return the exit status; 0 where a failure that the files hold explains it."""
        is_explained = self._status == _FAILED and self._has_failure
        return 0 if is_explained else int(self._status)

    def _said(self, info: ScenarioInfo, end: End, path: Path) -> Iterator[str]:
        yield f"{one_line(info.title)}: {end.rows} of {info.selected} cases ran"
        if not end.is_whole:
            yield f"UNFINISHED: {end.selected - end.rows} cases of this shard did not run"
        yield f"written  {self._settings.run_paths.shown(path)}"

    def show(self, terminal: pytest.TerminalReporter, *, is_quiet: bool) -> None:
        """Say what was written, and who decides."""
        problems = self._config.stash.get(PROBLEMS, ())
        if not (self._problem or problems) and (is_quiet or not self._lines):
            return
        terminal.ensure_newline()
        terminal.section(f"rageval: shard {self._part}", sep="=")
        for line in self._lines:
            terminal.write_line(printable(line))
        for problem in problems:
            terminal.write_line(printable(problem), yellow=True)
        if self._problem:
            terminal.write_line(printable(self._problem), red=True)
        else:
            said = "gates are not decided: pytest --rag-merge=DIR does that, from all shards"
            for line in wrapped(said, terminal_width(self._config)):
                terminal.write_line(line, yellow=True)
