"""Reads what people and judges say of the same answers, from other people's data."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.model import Sample
from pytest_rageval.text.tokenize import normalize_squad

Both = list[tuple[float, float]]
"""What people say of each answer, and the judge's score."""

_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_SUPPORT = {"Incomplete": 0.0, "Partial": 2.0, "Complete": 4.0}
_CORRECTNESS = (
    "Definitely incorrect",
    "Likely incorrect",
    "Unsure",
    "Probably correct",
    "Definitely correct",
)


@cache
def openqa_rows() -> list[dict[str, Any]]:
    """Return 1,490 answers of OpenQA-eval, judged by people and by models."""
    return _lines("openqa-eval/judged_nq301.jsonl")


def openqa(judge: str) -> Both:
    """Return people's verdicts and a judge's, without the answers that it did not judge."""
    return [(row["human"]["acceptable"], row["judges"][judge]) for row in openqa_judged(judge)]


def openqa_judged(judge: str) -> list[dict[str, Any]]:
    """Return the rows that a judge judged."""
    return [row for row in openqa_rows() if row["judges"][judge] is not None]


@cache
def openqa_f1() -> Both:
    """Return people's verdicts and the token F1 of SQuAD with the best reference."""
    definition = METRIC_REGISTRY.get("f1")
    measure: Any = definition.make("f1", definition.options.model_validate({"normalizer": "squad"}))
    found = []
    for row in openqa_rows():
        sample = Sample("s", answer=row["answer"], references=tuple(row["references"]))
        score = measure.score(sample, ScoringContext()).value
        found.append((row["human"]["acceptable"], score))
    return found


@cache
def evouna_by_question(system: str) -> dict[int, tuple[float, float]]:
    """Return people's verdicts on a system's answers of EVOUNA, and whether they hold a golden one.

    By the number of the question. Both are normalised as in SQuAD.
    """
    text = gzip.decompress((_DATA / "evouna-nq/original/NQ.json.gz").read_bytes())
    rows = [(row, row[f"judge_{system}"], row[f"answer_{system}"]) for row in json.loads(text)]
    return {
        at: (float(verdict), float(_holds(answer, row["golden_answer"])))
        for at, (row, verdict, answer) in enumerate(rows)
        if not row["improper"] and isinstance(verdict, bool) and row["golden_answer"] and answer
    }


def evouna(system: str) -> Both:
    """Return the same as a list."""
    return list(evouna_by_question(system).values())


def expertqa() -> Both:
    """Return the support of claims as 0, 2, 4 and their correctness as 0..4, both by people."""
    return [
        (_SUPPORT[row["human"]["support"]], float(_CORRECTNESS.index(row["human"]["correctness"])))
        for row in _lines("expertqa/claims.jsonl")
        if row["human"]["support"] in _SUPPORT
    ]


def ragas_annotated() -> Both:
    """Return 21 verdicts of a judge of ragas, and what people made of them."""
    rows = json.loads((_DATA / "ragas-annotated/original/annotated_data.json").read_text("utf-8"))
    said = [(float(row["metric_output"]), row["is_accepted"]) for row in rows["helpfulness"]]
    return [(judge if accepted else 1.0 - judge, judge) for judge, accepted in said]


def _holds(answer: str, golden: str) -> bool:
    wanted = filter(None, map(normalize_squad, golden.split("/")))
    return any(one in normalize_squad(answer) for one in wanted)


def _lines(name: str) -> list[dict[str, Any]]:
    with (_DATA / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
