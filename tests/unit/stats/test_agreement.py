"""How well a judge agrees with people: which figures there are, why not, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.stats.agreement import Rated, agreement

BINARY = (0.0, 1.0)
LIKERT = (1.0, 2.0, 3.0, 4.0, 5.0)
CLASSES = {"sensitivity", "specificity", "kappa", "weighted_kappa", "ac1", "ac2"}
EVERY = CLASSES | {"spearman", "kendall", "auc", "alpha", "ceiling", "bias"}


def rate(
    votes: float | Sequence[float], judge: float | None, score: float | None = None, **more: Any
) -> Rated:
    """Return a sample; ``votes`` are those of a, b, c, or of a alone."""
    given = votes if isinstance(votes, Sequence) else [votes]
    shown = score if score is not None else judge
    assert shown is not None
    return Rated(
        **{
            "sample_id": "s",
            "position": 0,
            "votes": dict(zip("abc", given, strict=False)),
            "score": shown,
            "judge": judge,
            "unit": shown,
            **more,
        }
    )


def test_people_are_rows_and_the_judge_columns() -> None:
    """Positions are those in the run: 3 is a yes of people that the judge denies."""
    verdicts = [(1, 1), (0, 0), (0, 1), (1, 0), (1, 1)]
    found = agreement(
        [rate(human, judge, position=at) for at, (human, judge) in enumerate(verdicts)], BINARY
    )
    assert found.n == 5
    assert found.confusion == ((1, 1), (1, 2))
    assert found.cells == {"0,0": (1,), "0,1": (2,), "1,0": (3,), "1,1": (0, 4)}
    assert found.sensitivity == pytest.approx(2 / 3)
    assert found.specificity == pytest.approx(1 / 2)
    assert found.annotators == 1
    assert set(found.why) == {"alpha", "ceiling"}
    assert found.why["alpha"] == found.why["ceiling"] == "one annotator"


def test_a_sample_without_a_majority_is_split() -> None:
    """It counts for what people say among themselves, and for the bias, where votes are averaged.

    Judge minus people: 1 - 2/3, 0 - 0, 1 - 1/2: their mean is 5/18.
    """
    found = agreement([rate([1, 1, 0], 1), rate([0, 0], 0), rate([1, 0], 1)], BINARY)
    assert (found.n, found.split, found.annotators) == (2, 1, 3)
    assert found.confusion == ((1, 0), (0, 1))
    assert found.bias == pytest.approx(5 / 18)
    assert found.alpha is not None
    assert found.ceiling is not None


def test_bias_has_the_interval_of_a_mean_of_differences() -> None:
    """Differences 0.5, 0, 0.1: mean 0.2, variance (.09 + .04 + .01)/2 = .07, t of 2 is 4.302653."""
    rated = [rate(0, 1, 0.5), rate(1, 1), rate(0, 0, 0.1)]
    found = agreement(rated, BINARY)
    half = 4.302652729911275 * (0.07 / 3) ** 0.5  # scipy.stats.t.ppf(0.975, 2)
    assert found.bias == pytest.approx(0.2)
    assert (found.bias_low, found.bias_high) == pytest.approx((0.2 - half, 0.2 + half))


def test_levels_are_brought_to_the_same_unit_as_scores() -> None:
    """4 and 2 of 1..5 are .75 and .25; the judge's .75 and .5 are 0 and .25 above people."""
    rated = [rate(4, 4, unit=0.75), rate(2, 3, unit=0.5)]
    found = agreement(rated, LIKERT, lambda level: (level - 1) / 4)
    assert found.bias == pytest.approx(0.125)
    assert [one.distance for one in found.disagreements] == [0.25]


def test_more_than_two_levels_have_no_sensitivity_but_weights() -> None:
    found = agreement([rate(1, 1), rate(5, 4), rate(3, 3)], LIKERT)
    assert (found.sensitivity, found.specificity, found.auc) == (None, None, None)
    assert found.why["sensitivity"] == found.why["auc"] == "there are more than two levels"
    assert len(found.confusion) == 5
    assert found.kappa is not None
    assert found.weighted_kappa is not None
    assert found.weighted_kappa > found.kappa
    assert found.ac2 is not None
    assert found.ac1 is not None
    assert found.ac2 > found.ac1


@pytest.mark.parametrize("n", [0, 1])
def test_below_two_samples_there_are_only_counts(n: int) -> None:
    found = agreement([rate(1, 1)] * n, BINARY)
    assert (found.n, found.confusion) == (n, ((0, 0), (0, n)))
    assert set(found.why) == EVERY
    assert set(found.why.values()) == {"fewer than 2 samples"}
    assert [getattr(found, name) for name in EVERY] == [None] * len(EVERY)
    assert found.disagreements == ()


def test_one_level_on_both_sides_is_undefined_for_kappa_alone() -> None:
    found = agreement([rate([1, 1], 1)] * 3, BINARY)
    assert (found.kappa, found.kappa_low, found.ac1, found.sensitivity) == (None, None, 1.0, 1.0)
    assert found.why == {
        "specificity": "people call no sample 0",
        "kappa": "people and the judge use one level only",
        "weighted_kappa": "people and the judge use one level only",
        "spearman": "people use one level only",
        "kendall": "people use one level only",
        "auc": "people use one level only",
        "alpha": "people use one level only",
        "ceiling": "people use one level only",
    }


def test_a_constant_judge_agrees_no_better_than_chance() -> None:
    found = agreement([rate(0, 1), rate(1, 1)], BINARY)
    assert (found.kappa, found.specificity, found.auc) == (0.0, 0.0, 0.5)
    assert found.why["kendall"] == found.why["spearman"] == "all scores of the judge are equal"


def test_annotators_who_share_no_sample_cannot_be_compared() -> None:
    rated = [rate(1, 1), replace(rate(0, 0), votes={"b": 0})]
    found = agreement(rated, BINARY)
    assert found.annotators == 2
    assert found.why["alpha"] == found.why["ceiling"] == "no sample has two annotators"


def test_a_score_that_is_no_level_leaves_the_order() -> None:
    rated = [rate(0, None, 0.2), rate(1, None, 0.9), rate(1, 1.0)]
    found = agreement(rated, BINARY, unclassed="no threshold")
    assert (found.confusion, found.cells, found.n) == ((), {}, 3)
    assert {name for name, why in found.why.items() if why == "no threshold"} == CLASSES
    assert found.auc == 1.0
    assert found.spearman is not None
    assert found.bias is not None
    assert agreement(rated, BINARY).why["kappa"] == "a score is none of the levels"


def test_the_most_surprising_disagreements_come_first() -> None:
    """By distance, then by how many people agree, then as they come."""
    rated = [
        rate([1, 1, 0], 0, 0.0, sample_id="two of three"),
        rate(1, 0, 0.3, sample_id="near"),
        rate([1, 1, 1], 0, 0.0, sample_id="all", reason="no"),
        rate([0, 0], 1, 1.0, sample_id="all, later"),
        rate(1, 1, 0.5, sample_id="the same level"),
        rate(1, 0, 1.0, sample_id="at no distance"),
        rate(1, None, 0.0, sample_id="no level"),
    ]
    found = agreement(rated, BINARY).disagreements
    assert [one.sample_id for one in found] == ["all", "all, later", "two of three", "near"]
    assert (found[0].human, found[0].judge, found[0].score, found[0].reason) == (1, 0, 0.0, "no")
    assert [(one.agreeing, one.annotators) for one in found] == [(3, 3), (2, 2), (2, 3), (1, 1)]
    assert [one.distance for one in found] == [1.0, 1.0, 1.0, 0.7]


def test_ten_disagreements_are_enough() -> None:
    found = agreement([rate(1, 0, sample_id=str(at)) for at in range(12)], BINARY)
    assert [one.sample_id for one in found.disagreements] == [str(at) for at in range(10)]


def test_the_bias_of_a_judge_that_is_always_right_keeps_an_interval() -> None:
    """As if one more of twenty were wrong: variance 1/21, t of 19 is 2.093024."""
    found = agreement([rate(0, 0), rate(1, 1)] * 10, BINARY)
    half = 2.093024054408263 * (1 / 21 / 20) ** 0.5
    assert (found.bias, found.bias_low, found.bias_high) == pytest.approx((0.0, -half, half))


def test_samples_count_for_as_many_as_they_stand_for() -> None:
    """Five that both reject stand for two each: as ten of them, in figures that need no interval.

    Table 10, 2 / 3, 5: sensitivity 5/8, specificity 10/12, kappa with 0.75 observed and
    (12 * 13 + 8 * 7)/400 = 0.53 by chance. Bias (2 - 3)/20.
    """
    rejected = [replace(rate(0, 0), weight=2.0)] * 5
    rest = [rate(0, 1)] * 2 + [rate(1, 0)] * 3 + [rate(1, 1)] * 5
    found = agreement([*rejected, *rest], BINARY)
    assert found.confusion == ((5, 2), (3, 5))
    assert (found.sensitivity, found.specificity) == pytest.approx((5 / 8, 10 / 12))
    assert found.kappa == pytest.approx((0.75 - 0.53) / 0.47)
    assert found.bias == pytest.approx(-0.05)
