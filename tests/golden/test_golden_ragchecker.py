"""G6, F8: claim figures of 280 pairs follow people nearly as people follow each other."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import fmean
from typing import Any

import pytest
from others_data import others_data

from pytest_rageval.stats.labels.agreement import Rated, agreement
from pytest_rageval.stats.labels.coefficients import spearman

LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)

# The README of the data: pooled, with the mean of two, two people, sign right, length alone.
PUBLISHED = {
    ("claim_precision", "correctness"): (0.4694, 0.534, 0.592, 0.718, 0.054),
    ("claim_recall", "completeness"): (0.5809, 0.627, 0.684, 0.672, 0.415),
    ("claim_f1", "overall"): (0.6090, 0.661, 0.689, 0.766, 0.246),
}


@pytest.fixture(scope="module")
def pairs() -> list[Any]:
    """Return the pairs: figures of both answers, and which of them two people prefer."""
    file = others_data("data/ragchecker-human") / "pairs.jsonl"
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("metric", "asked"), PUBLISHED)
def test_differences_of_claim_figures_follow_people(
    pairs: list[Any], metric: str, asked: str
) -> None:
    pooled, of_mean, of_people, signs, of_length = PUBLISHED[metric, asked]
    assert len(pairs) == 280
    diffs = [second[metric] - first[metric] for first, second in (p["ragchecker"] for p in pairs)]
    words = [float(second - first) for first, second in (p["answer_words"] for p in pairs)]
    people = [pair["human"][asked] for pair in pairs]
    means = [fmean(both) for both in people]
    one, other = zip(*people, strict=True)
    assert spearman(diffs, means) == pytest.approx(of_mean, abs=5e-4)
    assert spearman(one, other) == pytest.approx(of_people, abs=5e-4)
    assert spearman(words, means) == pytest.approx(of_length, abs=5e-4)
    clear = [(diff, mean) for diff, mean in zip(diffs, means, strict=True) if mean]
    right = fmean(diff * mean > 0.0 for diff, mean in clear)
    assert right == pytest.approx(signs, abs=5e-4)
    assert spearman([*diffs, *diffs], [*one, *other]) == pytest.approx(pooled, abs=5e-5)


@pytest.mark.full
def test_two_people_on_one_pair_are_a_group_and_the_interval_says_so(pairs: list[Any]) -> None:
    rated = [
        Rated(f"{at}/{who}", 2 * at + who, {"one": float(label)}, diff, None, diff)
        for at, pair in enumerate(pairs)
        for who, label in enumerate(pair["human"]["overall"])
        for diff in [pair["ragchecker"][1]["claim_f1"] - pair["ragchecker"][0]["claim_f1"]]
    ]
    alone = agreement(rated, LEVELS)
    grouped = agreement([replace(one, group=one.position // 2) for one in rated], LEVELS)
    assert alone.spearman_low is not None
    assert alone.spearman_high is not None
    assert grouped.spearman_low is not None
    assert grouped.spearman_high is not None
    assert alone.spearman == grouped.spearman == pytest.approx(0.6090, abs=5e-5)
    assert grouped.spearman_high - grouped.spearman_low > alone.spearman_high - alone.spearman_low
