"""``--rag-shard``: runs every N-th case, and writes what happened for the merge to judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import __version__
from pytest_rageval.engine.verdict.contests import in_file_order
from pytest_rageval.model import SampleResult, ScenarioInfo, wire_text
from pytest_rageval.plugin.run.run_results import Results
from pytest_rageval.plugin.show.table_lines import terminal_width
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.run_info import ci_commit, run_id
from pytest_rageval.reports.write_run import new_run_folder
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import SHARD_FILE, CaseRow, End, Head, shard_lines
from pytest_rageval.text.cells import wrapped
from pytest_rageval.text.printable import one_line, printable

_OUTPUT = "rageval_scenarios"
"""The key under which an xdist worker sends the scenarios of the whole run to its controller."""


class ShardRun:
    """What a shard does differently: it chooses its cases, and writes them in place of a run."""

    def __init__(self, config: pytest.Config, part: Part, run_paths: RunPaths) -> None:
        self._config = config
        self._part = part
        self._run_paths = run_paths
        self._infos: dict[str, ScenarioInfo] = {}
        self._texts: dict[str, str] = {}
        self._broken: dict[str, str] = {}
        self._lines: list[str] = []

    # Before the run

    @pytest.hookimpl(trylast=True)  # after all other selection
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the cases of this shard, and every test that is no case."""
        from pytest_rageval.plugin.run.items import case_of  # see RagevalSession

        found = [(item, case) for item in items if (case := case_of(item)) is not None]
        counts = Counter(case.plan.info.nodeid for _, case in found)
        self._infos = {
            case.plan.info.nodeid: replace(case.plan.info, selected=counts[case.plan.info.nodeid])
            for _, case in found
        }
        # Not by their order in the session: plugins shuffle it, and each shard would be dealt anew.
        found.sort(key=lambda one: (in_file_order(one[1].plan.info), one[1].case.index))
        others = {id(item) for at, (item, _) in enumerate(found) if not self._part.takes(at)}
        deselected = [item for item in items if id(item) in others]
        if deselected:
            self._config.hook.pytest_deselected(items=deselected)
            items[:] = [item for item in items if id(item) not in others]

    def whole(self) -> Mapping[str, ScenarioInfo]:
        """Return the scenarios by node id, with the cases of the whole run as selected."""
        return self._infos

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the scenarios to the controller: this worker may have no case of some."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = wire_text([info.to_dict() for info in self._infos.values()])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the scenarios from a worker."""
        for plain in json.loads(getattr(node, "workeroutput", {}).get(_OUTPUT, "[]")):
            info = ScenarioInfo.from_dict(plain)
            self._infos.setdefault(info.nodeid, info)

    # During the run

    def note(self, report: pytest.TestReport, result: SampleResult) -> None:
        """Keep what is reported of a red case."""
        if result.outcome in ("failed", "error"):
            self._texts[report.nodeid] = str(report.longrepr)

    def note_broken(self, report: pytest.TestReport) -> None:
        """Keep what is reported of a case that ended with an error after it was judged."""
        self._broken[report.nodeid] = str(report.longrepr)

    # After the run

    def write(
        self,
        results: Results,
        started: datetime,
        workers: int,
        usage: Callable[[str], Mapping[str, float | None] | None],
    ) -> None:
        """Write the file of each scenario; raises OSError."""
        for info in sorted(self._infos.values(), key=in_file_order):
            results.open(info)
            rows, own = results.rows_of(info.nodeid), results.own_cases(info.nodeid)
            lost = tuple(nodeid for nodeid in sorted(own) if nodeid not in rows)
            end = End(
                finished_at=datetime.now(UTC).isoformat(),
                rows=len(rows),
                selected=max(len(own), len(rows)),
                lost=lost,
                broken=tuple((one, text) for one, text in self._broken.items() if one in rows),
                workers=workers,
                usage=usage(info.nodeid),
            )
            head = Head(self._part, __version__, ci_commit(), started.isoformat(), info)
            output = self._run_paths.run_base(info.output_dir)
            folder = new_run_folder(info.title, run_id(started), output)
            path = write_atomically(folder / SHARD_FILE, shard_lines(head, self._rows(rows), end))
            self._lines += self._said(info, end, path)

    def _rows(self, rows: Mapping[str, SampleResult]) -> Iterator[CaseRow]:
        for nodeid, result in sorted(rows.items(), key=lambda one: one[1].index):
            yield CaseRow(nodeid, result, self._texts.get(nodeid, ""))

    def _said(self, info: ScenarioInfo, end: End, path: Path) -> Iterator[str]:
        yield f"{one_line(info.title)}: {end.rows} of {info.selected} cases ran"
        if not end.is_whole:
            yield f"UNFINISHED: {end.selected - end.rows} cases of this shard did not run"
        yield f"written  {self._run_paths.shown(path)}"

    @property
    def has_cases(self) -> bool:
        """Whether the whole run has a case, even if this shard has none."""
        return bool(self._infos)

    def show(self, terminal: pytest.TerminalReporter, problem: str, *, is_quiet: bool) -> None:
        """Say what was written, and who decides."""
        if is_quiet and not problem:
            return
        terminal.ensure_newline()
        terminal.section(f"rageval: shard {self._part}", sep="=")
        for line in self._lines:
            terminal.write_line(printable(line))
        if problem:
            terminal.write_line(printable(problem), red=True)
        elif self.has_cases:
            said = "gates are not decided: pytest --rag-merge=DIR does that, from all shards"
            for line in wrapped(said, terminal_width(self._config)):
                terminal.write_line(line, yellow=True)
