"""Draws made questions for people to review, and writes the sheet, with their passages."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_rageval.datasets.answer_fields import row_nuggets
from pytest_rageval.datasets.reviews import (
    ACCEPT,
    EDIT,
    REJECT,
    evidence_of,
    passages_of,
    reference_of,
    review_digest,
)
from pytest_rageval.model import Sample, ScenarioInfo
from pytest_rageval.reports.labels.sheet import Sheet
from pytest_rageval.reports.write_run import run_id
from pytest_rageval.run_paths import RunPaths, run_folder
from pytest_rageval.text.printable import quoted


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A question to be reviewed; ``digest`` is its ``review_digest``."""

    sample_id: str
    question: str
    reference: str
    evidence: Sequence[str]
    passages: Sequence[str]
    """What the evidence is quoted from; only the page shows it."""
    doc_name: str
    section_path: str
    question_type: str
    digest: str
    nuggets: Sequence[Mapping[str, str]] = ()
    """What an answer has to say; only the page shows it, to be read."""

    @classmethod
    def of(cls, sample: Sample) -> ReviewRow:
        """Return the row of a question."""
        return cls(
            sample.id,
            sample.question or "",
            reference_of(sample),
            evidence_of(sample),
            passages_of(sample),
            sample.doc_name or "",
            str(sample.metadata.get("section_path", "")),
            str(sample.metadata.get("question_type", "")),
            review_digest(sample),
            row_nuggets(sample),
        )


@dataclass(frozen=True, slots=True)
class ReviewSheet(Sheet):
    """The questions that people are asked to review, in this order."""

    columns = (
        *("id", "question", "reference", "evidence"),
        *("doc_name", "section_path", "question_type"),
        *("verdict", "reviewer", "note", "digest"),
    )  # as in review_sheet.js, which downloads such a table
    scripts = (
        *("words.js", "review_words.js", "elements.js", "frame.js"),
        *("label.js", "review_sheet.js", "review_start.js"),
    )
    without_script = (
        "This page needs JavaScript. Review in the CSV file of the same name instead.",
        "此页面需要 JavaScript；也可在同名的 CSV 文件中审核。",
    )

    scenario: str
    description: str
    rows: Sequence[ReviewRow]
    file_name: str
    annotator: str = ""

    @property
    def title(self) -> str:
        """The scenario."""
        return self.scenario

    def cells(self, row: ReviewRow) -> list[object]:
        """Return the cells of a row, with verdict, name and note left blank."""
        texts = (row.sample_id, row.question, row.reference, "\n\n".join(row.evidence))
        places = (row.doc_name, row.section_path, row.question_type)
        return [*map(quoted, (*texts, *places)), "", "", "", row.digest]

    def more(self) -> dict[str, Any]:
        """Return the verdicts, which are the levels of a review."""
        return {"levels": [ACCEPT, REJECT, EDIT]}


@dataclass(frozen=True, slots=True)
class ToReview:
    """The made ``questions`` of a scenario that are drawn from.

    They are those that nobody reviewed in their present wording; where the user selects some of the
    made ones, these. ``made`` and ``reviewed`` count all that are made, and that are reviewed.
    """

    info: ScenarioInfo
    made: int
    reviewed: int
    questions: Sequence[Sample]
    files: Sequence[str] = ()
    """The files and patterns of reviews that the scenario names."""


@dataclass(frozen=True)
class DrawnReviews:
    """What people are to review; nothing is written yet."""

    to_review: ToReview
    sheet: ReviewSheet
    folder: Path
    """Where the files belong."""

    def write(self) -> tuple[Path, Path]:
        """Write the sheet as CSV and as a page, and return their paths; raises OSError."""
        return self.sheet.write(self.folder)


def draw_reviews(
    to_review: ToReview, run_paths: RunPaths, n: int, *, seed: int, now: datetime
) -> DrawnReviews:
    """Draw ``n`` of the questions, or all of them if they are fewer, shuffled by ``seed``."""
    info, questions = to_review.info, to_review.questions
    drawn = random.Random(seed).sample(questions, min(n, len(questions)))
    sheet = ReviewSheet(
        info.name,
        info.description,
        [ReviewRow.of(sample) for sample in drawn],
        f"questions-review-{run_id(now)}.csv",
    )
    folder = run_paths.run_base(info.output_dir) / run_folder(info.name) / "reviews"
    return DrawnReviews(to_review, sheet, folder)
