"""The sheet in which people label answers: as CSV, and as a page that hides what the judge said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.reports.labels.sheet import Sheet
from pytest_rageval.stats.labels.cells import LEVEL_WORDS
from pytest_rageval.text.printable import quoted


@dataclass(frozen=True, slots=True)
class LabelRow:
    """An answer to be labelled: ``digest`` is its ``answer_digest``, ``drawn`` as in ``Label``."""

    sample_id: str
    question: str
    contexts: Sequence[str]
    answer: str
    digest: str
    drawn: str


@dataclass(frozen=True, slots=True)
class LabelSheet(Sheet):
    """What people are asked to label, in this order; nothing in it is from the judge."""

    columns = (
        *("question", "contexts", "answer", "id"),
        *("metric", "asked", "annotator", "label", "note", "drawn", "digest"),
    )  # as in answer_sheet.js, which downloads such a table
    scripts = (
        *("words.js", "elements.js", "frame.js"),
        *("label.js", "answer_sheet.js", "label_start.js"),
    )
    without_script = (
        "This page needs JavaScript. Label in the CSV file of the same name instead.",
        "此页面需要 JavaScript；也可在同名的 CSV 文件中标注。",
    )

    scenario: str
    metric: str
    levels: Sequence[float]
    rows: Sequence[LabelRow]
    file_name: str
    annotator: str = ""
    meanings: Sequence[str] = ()
    """What the levels mean, in their order, or nothing."""
    question: str = ""
    """What is asked about each answer, "" where nobody said it."""
    description: str = ""
    """What the scenario says of itself."""
    higher_is_better: bool = True
    has_cells: bool = False
    """Whether each row is a cell: its answer a statement, its contexts the parts of a source."""

    @property
    def title(self) -> str:
        """The scenario and the metric."""
        return f"{self.scenario}: {self.metric}"

    def cells(self, row: LabelRow) -> list[object]:
        """Return the cells of a row, with label and note left blank."""
        contexts = "\n\n".join(f"[{at}] {text}" for at, text in enumerate(row.contexts, 1))
        if self.has_cells and len(row.contexts) == 1:
            contexts = row.contexts[0]  # the one source: a number would be that of a context
        of_row = (row.question, contexts, row.answer, row.sample_id)
        texts = (*of_row, self.metric, self.asked, self.annotator)
        return [*map(quoted, texts), "", "", row.drawn, row.digest]

    def more(self) -> dict[str, Any]:
        """Return what the levels are called."""
        return {"names": self.names}

    @property
    def names(self) -> Sequence[str]:
        """What the levels are called; those of cells are words."""
        words = LEVEL_WORDS if self.has_cells else dict[float, str]()
        return [words.get(level, f"{level:g}") for level in self.levels]

    @property
    def asked(self) -> str:
        """What people answer, and what the levels mean: as the page asks it, in one line."""
        fitting = "Which of these fits the answer?" if self.meanings else "Is this answer right?"
        fitting = _ASKED_OF_CELLS if self.has_cells else f"{fitting} ({self.metric})"
        question = self.question or fitting
        levels = list(self.names)
        if words := self._words:
            levels = [f"{level}: {word}" for level, word in zip(levels, words, strict=True)]
        return " ".join(f"{question} {'; '.join(levels)}".split())

    @property
    def _words(self) -> Sequence[str]:
        if self.has_cells:
            return [_MEANINGS[name] for name in self.names]
        if self.meanings or len(self.levels) != 2:
            return self.meanings
        # The lower level comes first. Where lower is better, it is the one of a right answer; but a
        # question of the scenario's own is answered with yes at the higher level.
        is_turned = not self.question and not self.higher_is_better
        return ("yes", "no") if is_turned else ("no", "yes")


_ASKED_OF_CELLS: Final = "How far does the source (contexts) support the statement (answer)?"
_MEANINGS: Final = {
    "none": "the source says nothing of it, or contradicts it",
    "partial": "the source says one part of it, and does not say another",
    "full": "the source says all that the statement says, or it follows from the source alone",
}
"""In the words of the judge's prompt; answer_sheet.js has them in its reader's language, too."""
