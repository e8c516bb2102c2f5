"""``--rag-save-answers``: the rows of a run with their answers, as a data set for offline runs."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.datasets.save import rows_text
from pytest_rageval.model import ScenarioResult
from pytest_rageval.reports.base import remove_leftovers, write_atomically
from pytest_rageval.run_paths import RunPaths


class AnswerFile:
    """Writes the answers of the first scenario with answers to the requested file."""

    def __init__(self, run_paths: RunPaths) -> None:
        self._run_paths = run_paths
        self._path: Path | None = run_paths.answers
        self._written = ""

    def add(self, result: ScenarioResult) -> list[str]:
        """Write the rows of a scenario; return remarks for the end of the run."""
        if self._path is None:
            return []
        info, shown = result.info, self._run_paths.shown(self._path)
        # A test function gets its answers without the scenario's target.
        if not info.target and info.nodeid == info.path:
            return ["answers NOT saved: the scenario has no target"]
        if self._written:
            return [f"answers NOT saved: {shown} holds the answers of {self._written}"]
        rows = [sample.dataset_row for sample in result.samples if sample.dataset_row is not None]
        try:
            write_atomically(self._path, rows_text(rows, self._path.suffix.lower()))
        except OSError as error:
            return [f"answers NOT saved: {shown}: {error.strerror or error}"]
        remove_leftovers(self._path.parent, self._path.name)
        self._written = info.name
        counts = result.counts
        word = "stopped" if counts.not_asked else "partial"
        partial = f" ({word} run: {counts.ran} of {counts.samples} samples)"
        return [f"answers saved: {shown}{'' if result.complete else partial}"]
