"""Draws made questions for people to review, and writes the sheet to review them on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pytest_rageval.model import Sample, ScenarioInfo
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.labels.review_sheet import (
    ReviewRow,
    ReviewSheet,
    review_csv,
    review_page_chunks,
)
from pytest_rageval.reports.write_run import run_id
from pytest_rageval.run_paths import RunPaths, run_folder


@dataclass(frozen=True, slots=True)
class ToReview:
    """The ``questions`` of a scenario that are drawn from.

    These are, of the ``made`` ones, those that nobody reviewed as they are, or those that were
    selected; ``reviewed`` is how many people have.
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
        table = self.folder / self.sheet.file_name
        page = write_atomically(table.with_suffix(".html"), review_page_chunks(self.sheet))
        return write_atomically(table, review_csv(self.sheet)), page


def draw_reviews(
    to_review: ToReview, run_paths: RunPaths, n: int, *, seed: int, now: datetime
) -> DrawnReviews:
    """Draw ``n`` of the questions, or all of them if they are fewer, in random order."""
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
