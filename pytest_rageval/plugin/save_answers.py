"""``--rag-save-answers``: the rows of a run with their answers, as a data set for offline runs."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.datasets.save import rows_text
from pytest_rageval.model import ScenarioResult
from pytest_rageval.places import Places
from pytest_rageval.reports.base import write_atomically


class AnswerFile:
    """Writes the file that the run was asked for, if it was; the first scenario gets it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._path: Path | None = places.answers
        self._written = ""

    def add(self, result: ScenarioResult) -> list[str]:
        """Write the rows of a scenario; return what the end of the run should say about it."""
        if self._path is None:
            return []
        info, shown = result.info, self._places.shown(self._path)
        # A test function of the user's own asks whom it likes.
        if not info.target and info.nodeid == info.path:
            return ["answers NOT saved: the scenario has no target"]
        if self._written:
            return [f"answers NOT saved: {shown} holds those of {self._written}"]
        rows = [sample.dataset_row for sample in result.samples if sample.dataset_row is not None]
        try:
            write_atomically(self._path, rows_text(rows, self._path.suffix.lower()))
        except OSError as error:
            return [f"answers NOT saved: {shown}: {error.strerror or error}"]
        self._written = info.name
        counts = result.counts
        partial = f" (partial run: {counts.ran} of {counts.samples} samples)"
        return [f"answers saved: {shown}{'' if result.complete else partial}"]
