"""Publishes a run after its files are written: to the history, and to GitHub Actions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.plugin.show import github
from pytest_rageval.reports.history import record
from pytest_rageval.reports.write_run import latest_remark
from pytest_rageval.text.printable import printable


class Publisher:
    """Publishes the runs of a session. A failure to do so is a remark, never an error."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._uses_github = github.is_enabled(config)
        self._runs: list[tuple[ScenarioResult, RunInfo]] = []
        self._problem: str | None = None
        self._contests: Sequence[VariantComparison] = ()

    def add(self, result: ScenarioResult, run: RunInfo, folder: Path | str) -> list[str]:
        """Add a run to the history and to the step summary; return remarks.

        ``folder`` is the run's folder, or a sentence why there is none.
        """
        if self._uses_github:
            self._runs.append((result, run))
        if isinstance(folder, str):
            return []
        return [*latest_remark(folder), *record(result, run, folder)]

    def finish(self, contests: Sequence[VariantComparison] = ()) -> None:
        """Write the step summary, with the variants of scenarios against each other."""
        self._contests = contests
        self._problem = github.append_summary(self._runs, contests=contests)

    def write(self, terminal: pytest.TerminalReporter, *, is_quiet: bool) -> None:
        """Print the annotations for GitHub, and unless ``is_quiet`` what went wrong."""
        results = [result for result, _ in self._runs]
        lines = github.annotation_lines(results, self._root, contests=self._contests)
        if lines:
            terminal.ensure_newline()
        for line in lines:
            terminal.write_line(line)
        if self._problem is not None and not is_quiet:
            terminal.write_line(printable(self._problem), yellow=True)
