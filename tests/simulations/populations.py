"""Real scores to draw from: answers of open-domain systems, claims and answers that were judged.

They lie outside of the repository; ``None`` is returned where they are not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.model import Sample

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SYSTEMS = (
    "ANCE-plus_FiD",
    "Contriever_FiD",
    "DPR",
    "EMDR2",
    "EviGen",
    "FiD",
    "FiD-KD",
    "GAR-plus_FiD",
    "R2D2",
    "Rocketv2_FiD",
)


@dataclass(frozen=True)
class Grouped:
    """Scores in 0..1, and for each the number of the group that it belongs to, from 0 upwards."""

    scores: np.ndarray
    groups: np.ndarray

    @property
    def by_group(self) -> list[list[float]]:
        """The scores of each group."""
        found: list[list[float]] = [[] for _ in range(int(self.groups.max()) + 1)]
        for score, group in zip(self.scores.tolist(), self.groups.tolist(), strict=True):
            found[group].append(score)
        return found


def is_there(name: str = "openqa-eval") -> bool:
    """Return whether a data set is there."""
    return (DATA / name).is_dir()


@cache
def openqa(metric: str, system: str, count: int | None = None) -> np.ndarray:
    """Return the scores of a system of OpenQA-eval on its 3,610 questions, by SQuAD's rules.

    With ``count``, on the first of them only.
    """
    definition = METRIC_REGISTRY.get(metric)
    options = definition.options.model_validate({"normalizer": "squad"})
    measure: Any = definition.make(metric, options)
    rows = _rows(DATA / "openqa-eval" / "original" / "model_outputs" / f"NQ_{system}.jsonl")
    scores = [
        measure.score(
            Sample("s", answer=row["prediction"], references=tuple(row["answer"])),
            ScoringContext(),
        ).value
        for row in islice(rows, count)
    ]
    return np.array(scores)


def openqa_by_question(metric: str = "f1") -> Grouped:
    """Return ten answers to each of 3,610 questions: they are right and wrong together."""
    scores = np.stack([openqa(metric, system) for system in SYSTEMS], axis=1)
    groups = np.repeat(np.arange(len(scores)), len(SYSTEMS))
    return Grouped(scores.ravel(), groups)


def judged_by_question() -> Grouped:
    """Return whether people accept the distinct answers to 301 questions."""
    rows = _rows(DATA / "openqa-eval" / "judged_nq301.jsonl")
    return _grouped([(str(row["question_id"]), row["human"]["acceptable"] == 1) for row in rows])


@cache
def accepted(system: str) -> np.ndarray:
    """Return whether people accept a system's answers to questions of Natural Questions."""
    rows = _rows(DATA / "evouna-nq" / "judged.jsonl")
    said = [row["human"]["correct"] for row in rows if row["system"] == system]
    return np.array([float(one) for one in said if one is not None])


def halluqa_by_question() -> Grouped:
    """Return whether five systems' answers to 450 questions were judged to be free of made-up."""
    rows = [
        (row["id"].split("-")[1], not row["judges"]["gpt-4_hallucination"])
        for row in _rows(DATA / "halluqa" / "answers.jsonl")
        if isinstance(row["judges"]["gpt-4_hallucination"], bool)
    ]
    return _grouped(rows)


def expertqa_by_question() -> Grouped:
    """Return whether people call the claims of answers to 150 questions supported."""
    rows = _rows(DATA / "expertqa" / "claims.jsonl")
    return _grouped([(row["question"], row["human"]["support"] == "Complete") for row in rows])


def _grouped(rows: list[tuple[str, bool]]) -> Grouped:
    numbers: dict[str, int] = {}
    groups = [numbers.setdefault(name, len(numbers)) for name, _ in rows]
    return Grouped(np.array([float(score) for _, score in rows]), np.array(groups))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
