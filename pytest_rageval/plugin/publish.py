"""What happens to a run once its files are there: the history, and what GitHub Actions shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.plugin import github
from pytest_rageval.plugin.names import printable
from pytest_rageval.reports.history import DATABASE, HistoryError, record
from pytest_rageval.reports.run_points import point_of


class Publisher:
    """Publishes the runs of a session. What goes wrong is a remark, and never an error."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._tells_github = github.is_asked(config)
        self._runs: list[tuple[ScenarioResult, RunInfo]] = []
        self._problem: str | None = None

    def add(self, result: ScenarioResult, run: RunInfo, folder: Path | str) -> list[str]:
        """Take note of a run, and add it to the history; return what to remark on it.

        ``folder`` is the run's folder, or in words why there is none.
        """
        if self._tells_github:
            self._runs.append((result, run))
        if isinstance(folder, str):
            return []
        base = folder.parent.parent
        try:
            record(base, point_of(result, run, f"{folder.parent.name}/{folder.name}"))
        except HistoryError as error:
            return [f"not in {DATABASE}: {error}"]
        return []

    def finish(self) -> None:
        """Write the step summary."""
        self._problem = github.append_summary(self._runs)

    def write(self, terminal: pytest.TerminalReporter, *, is_quiet: bool) -> None:
        """Print annotations, which a program reads, and where that is wanted what went wrong."""
        lines = github.annotation_lines([result for result, _ in self._runs], self._root)
        if lines:
            terminal.ensure_newline()
        for line in lines:
            terminal.write_line(line)
        if self._problem is not None and not is_quiet:
            terminal.write_line(printable(self._problem), yellow=True)
