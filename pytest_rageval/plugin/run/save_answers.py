"""``--rag-save-answers``: the rows of a run with their answers, as a data set for offline runs."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.model import ScenarioResult
from pytest_rageval.reports.base import remove_leftovers, write_atomically
from pytest_rageval.run_paths import RunPaths, of_variant


class AnswerFile:
    """Writes the answers of the first scenario with answers to the requested file.

    Each of its variants gets a file of its own: ``answers-dense.jsonl``.
    """

    def __init__(self, run_paths: RunPaths) -> None:
        self._run_paths = run_paths
        self._path: Path | None = run_paths.answers
        self._written: dict[Path, str] = {}

    def add(self, result: ScenarioResult) -> list[str]:
        """Write the rows of a scenario; return remarks for the end of the run."""
        if self._path is None:
            return []
        info = result.info
        path = of_variant(self._path, info.variant)
        shown = self._run_paths.shown(path)
        # A test function gets its answers without the scenario's target.
        if not info.target and info.is_of_file:
            return ["answers NOT saved: the scenario has no target"]
        if path in self._written:
            return [f"answers NOT saved: {shown} holds the answers of {self._written[path]}"]
        # Not at the top: most runs save no answers.
        from pytest_rageval.datasets.save import rows_text

        rows = [sample.dataset_row for sample in result.samples if sample.dataset_row is not None]
        try:
            write_atomically(path, rows_text(rows, path.suffix.lower()))
        except OSError as error:
            return [f"answers NOT saved: {shown}: {error.strerror or error}"]
        remove_leftovers(path.parent, path.name)
        self._written[path] = info.title
        counts = result.counts
        word = "stopped" if counts.not_asked else "partial"
        partial = f" ({word} run: {counts.ran} of {counts.samples} samples)"
        return [f"answers saved: {shown}{'' if result.complete else partial}"]
