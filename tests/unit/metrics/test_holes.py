"""What results that nobody judged leave open of measures, worked by hand and by brute force."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_metrics import made

from pytest_rageval.metrics.base import ScoringContext
from pytest_rageval.metrics.ranking import score_rankings
from pytest_rageval.model import Sample, Score

# b and d are relevant, x is not retrieved; c and e are holes: nobody looked at e.
SEARCH = Sample(
    "q",
    retrieved_ids=("a", "b", "c", "d", "e"),
    reference_ids={"a": 0, "b": 1, "c": -1, "d": 1, "x": 1},
)
NOTHING = Sample("q", retrieved_ids=(), reference_ids={"a": 1, "b": 0})


def score(name: str, sample: Sample = SEARCH, **options: Any) -> Score:
    found: Score = made(name, **options).score(sample, ScoringContext())
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("judged@1", 1.0),
        ("Judged@3", 2 / 3),
        ("judged", 3 / 5),
        ("judged@9", 3 / 5),  # of the five that were retrieved
        ("rbp", 0.2 * (0.8 + 0.8**3)),
        ("RBP(p=0.5)", 0.5 * (0.5 + 0.5**3)),
        ("rbp(rel=2)", 0.0),
    ],
)
def test_how_much_is_judged(name: str, expected: float) -> None:
    """Grade -1 is a hole; so is what has no grade."""
    assert score(name).value == pytest.approx(expected, abs=1e-12)


def test_a_grade_below_minus_one_is_judged() -> None:
    spam = Sample("q", retrieved_ids=("a", "b"), reference_ids={"a": -2, "b": 1})
    assert score("judged", spam).value == 1.0
    assert score("ndcg", spam).details is None


def test_the_residual_is_of_holes_and_of_what_comes_after_the_last_rank() -> None:
    """Holes at the ranks 3 and 5; five were retrieved."""
    residual = 0.2 * (0.8**2 + 0.8**4) + 0.8**5
    assert score("rbp").details == {"residual": pytest.approx(residual)}


def test_where_nothing_was_retrieved() -> None:
    """The share does not apply; rbp is 0, and all of it is open."""
    assert score("judged@5", NOTHING) == Score("judged@5", None, reason="nothing was retrieved")
    found = score("rbp", NOTHING)
    assert (found.value, found.details) == (0.0, {"residual": 1.0})
    assert score("ndcg", NOTHING).details is None


def test_where_nothing_is_judged() -> None:
    empty = Sample("q", retrieved_ids=("a",), reference_ids={})
    for name in ("judged", "rbp"):
        assert score(name, empty).value is None
        assert "no document is judged" in str(score(name, empty).reason)


# With c at 3 and e at 5: either, both or none may be relevant beside b at 2, d at 4, and x.
@pytest.mark.parametrize(
    ("name", "judged", "holes", "low", "high"),
    [
        ("precision@3", 2 / 3, 1, 1 / 3, 2 / 3),
        ("precision", 3 / 5, 2, 2 / 5, 4 / 5),
        ("recall@3", 2 / 3, 1, 1 / 3, 2 / 4),
        ("recall", 3 / 5, 2, 2 / 3, 4 / 5),
        ("mrr", 3 / 5, 2, 1 / 2, 1 / 2),
        ("hit_rate@3", 2 / 3, 1, 1.0, 1.0),
        # As it is (1/2 + 2/4) / 3; with e (1/2 + 2/4 + 3/5) / 4; with c (1/2 + 2/3 + 3/4) / 4.
        ("map", 3 / 5, 2, 1 / 3, (1 / 2 + 2 / 3 + 3 / 4 + 4 / 5) / 5),
        # Three are relevant: of the first three b; with both holes of all five b, c, d and e.
        ("rprec", 3 / 5, 2, 1 / 3, 4 / 5),
    ],
)
def test_what_holes_leave_open(
    name: str, judged: float, holes: int, low: float, high: float
) -> None:
    details = dict(score(name).details or {})
    k = details.pop("k", None)
    assert details == pytest.approx({"judged": judged, "holes": holes, "low": low, "high": high})
    assert k == (3 if name.endswith("@3") else None)


def test_a_good_hole_may_lower_a_figure() -> None:
    """b stands first and is all there is to be found: with c it is b and c, at the ranks 1, 3."""
    sample = Sample("q", retrieved_ids=("b", "a", "c"), reference_ids={"a": 0, "b": 1})
    found = score("ndcg@3", sample)
    details = found.details or {}
    assert found.value == 1.0
    assert details["low"] == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
    assert details["high"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "sample",
    [
        Sample("q", retrieved_ids=("a", "b"), reference_ids={"a": 0, "b": 1}),
        # A list of what is to be found: all others are wrong.
        Sample("q", retrieved_ids=("a", "b"), reference_ids={"b": 1}),
    ],
)
def test_without_holes_nothing_is_kept(sample: Sample) -> None:
    for name in ("ndcg@5", "map", "bpref", "precision(judged_only=True)@2"):
        assert score(name, sample).details is None


@pytest.mark.parametrize("name", ["bpref", "map(judged_only=True)", "infap"])
def test_measures_that_leave_holes_out_have_no_range(name: str) -> None:
    assert score(name).details == {"judged": pytest.approx(3 / 5), "holes": 2}


NAMES = (
    "precision@3", "precision", "recall@3", "recall", "mrr@2", "mrr", "hit_rate@2", "map", "map@3",
    "ndcg@3", "ndcg", "rprec", "precision(rel=2)@3", "map(rel=2)",
)  # fmt: skip
rankings = st.tuples(
    st.permutations("abcdef").map(tuple),
    st.integers(0, 6),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 3), max_size=7),
)


@pytest.mark.full
@given(rankings)
def test_the_ends_are_those_of_all_ways_to_judge(
    drawn: tuple[tuple[str, ...], int, Mapping[str, int]],
) -> None:
    ids, size, grades = drawn
    sample = Sample("q", retrieved_ids=ids[:size], reference_ids={**grades, "elsewhere": 0})
    metrics = [made(name) for name in NAMES]
    for metric, (found,) in zip(metrics, score_rankings(metrics, [sample]), strict=True):
        ends = brute_force(metric, sample)
        details = found.details or {"low": found.value, "high": found.value}
        assert [details["low"], details["high"]] == pytest.approx(ends, abs=1e-9), metric.name


def brute_force(metric: Any, sample: Sample) -> list[float]:
    """Return the least and the largest value of all ways to judge the holes of the first k."""
    rel, k = getattr(metric.options, "rel", 1), getattr(metric.options, "k", None)
    grades, first = dict(sample.reference_ids or {}), (sample.retrieved_ids or ())[:k]
    holes = [name for name in first if grades.get(name, -1) == -1]
    best = max(rel, *grades.values())
    samples = [
        Sample(
            "q",
            at,
            retrieved_ids=sample.retrieved_ids,
            reference_ids=grades | dict(zip(holes, filled, strict=True)),
        )
        for at, filled in enumerate(product((0, best), repeat=len(holes)))
    ]
    values = [found.value for found in score_rankings([metric], samples)[0]]
    return [min(values), max(values)]  # type: ignore[type-var]
