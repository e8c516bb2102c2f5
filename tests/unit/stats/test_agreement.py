"""How well a judge agrees with people: which figures there are, why not, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.stats.labels.agreement import Rated, agreement

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
    """Differences 1 and 0, -1 and 0, twenty of each: variance 40/79, t of 79 is 1.990450."""
    found = agreement(([rate(0, 1), rate(1, 1), rate(1, 0), rate(0, 0)]) * 20, BINARY)
    half = 1.990450177 * (40 / 79 / 80) ** 0.5  # scipy.stats.t.ppf(0.975, 79)
    assert found.bias == pytest.approx(0.0)
    assert (found.bias_low, found.bias_high) == pytest.approx((-half, half))


def test_the_bias_of_a_judge_that_hardly_errs_is_no_surer_than_that_of_one_that_never_does() -> (
    None
):
    """N3: one more sample may be wrong altogether whether all differences are 0 or one is .01."""
    exact = agreement([rate(0, 0), rate(1, 1)] * 10, BINARY)
    nearly = agreement([rate(0, 0), rate(1, 1)] * 9 + [rate(0, 0, 0.01), rate(1, 1)], BINARY)
    assert nearly.bias_high - nearly.bias_low >= exact.bias_high - exact.bias_low


def test_groups_make_the_bias_less_sure() -> None:
    """N3: five groups of four that err alike: sums of 4, -4 and 0 of twenty, t of 4 is 2.776445.

    Variance 5/4 · 2 · (4/20)² = 0.1.
    """
    errors = [(0, 1), (1, 0), (1, 1), (0, 0), (1, 1)]
    rated = [rate(*one, group=number) for number, one in enumerate(errors) for _ in range(4)]
    found = agreement(rated, BINARY)
    half = 2.7764451051977987 * 0.1**0.5  # scipy.stats.t.ppf(0.975, 4)
    assert (found.bias_low, found.bias_high) == pytest.approx((-half, half))


def test_errors_that_cancel_out_in_every_group_leave_the_bias_a_width() -> None:
    """N3: six groups of six, in each one judged too high and one too low: all sums are 0.

    The group more is at least one of six independent samples: variance (0 + 1/6 / 36) · 6/7.
    """
    mix = [(1, 1), (1, 1), (1, 1), (0, 0), (1, 0), (0, 1)]
    found = agreement([rate(*one, group=at) for at in range(6) for one in mix], BINARY)
    half = 2.5705818356363146 * (6 / 7 / 216) ** 0.5  # scipy.stats.t.ppf(0.975, 5)
    assert (found.bias_low, found.bias_high) == pytest.approx((-half, half))


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
def test_below_two_samples_there_is_no_coefficient(n: int) -> None:
    found = agreement([rate(1, 1)] * n, BINARY)
    assert (found.n, found.confusion) == (n, ((0, 0), (0, n)))
    assert set(found.why) == EVERY
    assert set(found.why.values()) == {"fewer than 2 samples"}
    assert [getattr(found, name) for name in EVERY] == [None] * len(EVERY)
    assert found.disagreements == ()


@pytest.mark.parametrize("agreed", [0, 1])
def test_split_samples_tell_how_people_disagree(agreed: int) -> None:
    """10 pairs that are 1 and 0, and one of twice 0.

    Alpha: 20 votes, half of each, differ in 10 of 10 pairs, by chance in 10/19: 1 - 19/10. With
    the other one, 12 of 22 are 0: 1 - (10/11)/(2 · 10 · 12/(22 · 21)). Bias: ten times 1 - 1/2.
    """
    found = agreement([rate([1, 0], 1)] * 10 + [rate([0, 0], 0)] * agreed, BINARY)
    assert (found.n, found.split) == (agreed, 10)
    assert found.alpha == pytest.approx(1 - 10 / 11 / (240 / 462) if agreed else -9 / 10)
    assert found.bias == pytest.approx(5 / (10 + agreed))
    assert found.ceiling is not None
    refused = EVERY - {"alpha", "ceiling", "bias"}
    assert found.why == dict.fromkeys(refused, "fewer than 2 samples on which people agree")


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


def test_groups_change_intervals_alone() -> None:
    """N3: four answers to each of twelve questions, on which judge and people agree alike."""
    kinds = [(1, 1)] * 5 + [(0, 0)] * 4 + [(0, 1), (1, 0), (1, 1)]
    apart = [rate([human, human], judge) for human, judge in kinds for _ in range(4)]
    together = [replace(one, group=at // 4) for at, one in enumerate(apart)]
    one, other = agreement(apart, BINARY), agreement(together, BINARY)
    for name in (*EVERY,):
        assert getattr(one, name) == getattr(other, name)
        low, high = getattr(other, f"{name}_low"), getattr(other, f"{name}_high")
        assert low <= getattr(one, f"{name}_low") <= getattr(one, f"{name}_high") <= high, name
        assert high - low > 1.3 * (getattr(one, f"{name}_high") - getattr(one, f"{name}_low")), name


def test_equal_scores_have_an_area_but_no_interval() -> None:
    """N11: a figure without spread would be surer than the data."""
    found = agreement([rate(0, 1), rate(1, 1)] * 10, BINARY)
    assert (found.auc, found.auc_low) == (0.5, None)
    assert found.why["auc_low"] == "all scores of the judge are equal"


def test_one_sample_of_a_level_says_nothing_of_others() -> None:
    """N11: neither a share nor the area under the curve."""
    found = agreement([rate(1, 1)] * 11 + [rate(0, 0)], BINARY)
    assert (found.specificity, found.specificity_low) == (1.0, None)
    assert (found.auc, found.auc_low) == (1.0, None)
    assert found.why["specificity_low"] == found.why["auc_low"] == "people call one sample 0"


def test_one_group_with_a_level_says_nothing_of_others() -> None:
    """N3: all that people reject are answers to one question."""
    rated = [rate(1, 1, group=at) for at in range(10)] + [rate(0, 0, group=20)] * 10
    found = agreement(rated, BINARY)
    assert found.sensitivity_low is not None
    assert (found.specificity_low, found.auc_low) == (None, None)
    why = "the samples that people call 0 are, wholly or nearly, of one group"
    assert found.why["specificity_low"] == found.why["auc_low"] == why
