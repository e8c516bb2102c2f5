"""Corrected means with weights, groups and strata; what the golden tests do not have, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.model import Corrected
from pytest_rageval.stats.intervals import t_quantile
from pytest_rageval.stats.labels.corrected import Judged, corrected_mean

# Student's 97.5 % quantiles by degrees of freedom, from scipy.
T_UNEQUAL = 6.7995860529289684
"""scipy.stats.t.ppf(0.975, 100 / 42 - 1)"""

T_975 = {4: 2.7764451051977987, 9: 2.2621571628540993, 18: 2.10092204024096}

SAID = (0, 1, 1, 0, 1, 1, 1, 0, 1, 1)
JUDGED = (0, 1, 1, 1, 1, 0, 1, 0, 1, 1)
OTHERS = (1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1)


def labelled(said: Sequence[float], judged: Sequence[float] | None = None) -> list[Judged]:
    """Return labelled samples; a judge that is not given is constant."""
    return [Judged(f, y) for y, f in zip(said, judged or [1.0] * len(said), strict=True)]


def others(judged: Sequence[float]) -> list[Judged]:
    return [Judged(f) for f in judged]


RUN = labelled(SAID, JUDGED) + others(OTHERS)


def wilson(mean: float, size: float, t: float) -> tuple[float, float]:
    """Return the roots p of (m - p)² = t² p(1 - p)/size."""
    a, b = 1.0 + t * t / size, -2.0 * mean - t * t / size
    root = math.sqrt(b * b - 4.0 * a * mean * mean)
    return (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)


def ends(found: Corrected) -> tuple[float, float]:
    assert found.ci_low is not None
    assert found.ci_high is not None
    return found.ci_low, found.ci_high


def test_equal_weights_and_groups_of_one_change_nothing() -> None:
    plain = corrected_mean([RUN])
    weighted = corrected_mean([[replace(one, weight=3.0) for one in RUN]])
    grouped = corrected_mean([[replace(one, group=at) for at, one in enumerate(RUN)]])
    assert weighted == plain
    assert (grouped.mean, *ends(grouped)) == pytest.approx((plain.mean, *ends(plain)), rel=1e-14)
    assert plain.share is not None
    assert 0.3 < plain.share < 1.0


def test_labels_are_worth_as_many_as_are_as_sure_alone() -> None:
    """N12: so many labels, and not one less, have a plain interval as narrow."""
    verdicts = [1.0, 1.0, 0.0] * 10
    found = corrected_mean([labelled(verdicts, verdicts) + others(verdicts * 9)])
    low, high = ends(found)
    assert found.labels == 30
    assert found.mean == pytest.approx(2 / 3)
    assert found.worth is not None
    assert found.worth > 50

    def width(n: float) -> float:
        z = t_quantile(0.975, n - 1)
        lowest, highest = wilson(2 / 3, n - 1, z)
        return highest - lowest

    assert width(found.worth) <= high - low < width(found.worth - 1)


def test_a_constant_judge_leaves_the_labels_with_their_weights() -> None:
    """Five of weight 3 are right and five of weight 1 are not: the mean is 15/20.

    Residuals w(x - m)/mean(w): 1.5 · .25 and -.5 · .75, both .375; S = 10 · .375².
    """
    said = [1.0] * 5 + [0.0] * 5
    run = [
        replace(one, weight=3.0 if one.human else 1.0)
        for one in [*labelled(said), *others([1.0] * 20)]
    ]
    found = corrected_mean([run])
    assert (found.mean, found.share) == (0.75, 0.0)
    variance = (10 * 0.375**2 + 1) / 11 / 10
    assert ends(found) == pytest.approx(wilson(0.75, 0.1875 / variance, T_975[9]), rel=1e-9)


def test_samples_without_weight_do_not_count() -> None:
    assert corrected_mean([[*RUN, Judged(0.0, 0.0, 0.0), Judged(0.0, weight=0.0)]]) == (
        corrected_mean([RUN])
    )


def test_huge_weights_are_shares() -> None:
    run = [replace(one, weight=1e308) for one in RUN]
    assert corrected_mean([run]) == corrected_mean([RUN])


@pytest.mark.parametrize(
    ("strata", "why"),
    [
        ([], "0 labelled answers, fewer than 10"),
        ([labelled([1.0])], "1 labelled answer, fewer than 10"),
        ([labelled(SAID[:9]) + others(OTHERS)], "9 labelled answers, fewer than 10"),
        ([RUN, others(OTHERS)], "stratum 1 has 0 labelled answers, fewer than 2"),
        ([labelled([1.0]) + others([1.0]), RUN], "stratum 0 has 1 labelled answer, fewer than 2"),
    ],
)
def test_without_enough_labels_there_is_no_mean(strata: list[list[Judged]], why: str) -> None:
    found = corrected_mean(strata)
    assert (found.mean, found.ci_low, found.share, found.worth, found.why) == (
        *[None] * 4,
        why,
    )


def test_a_run_that_is_labelled_throughout_stands_for_more_like_it() -> None:
    """10 labels, 7 are 1: v = (2.1 + 1)/11/10. Said to be exact, it has no interval."""
    found = corrected_mean([labelled(SAID, JUDGED)])
    assert (found.mean, found.share) == (pytest.approx(0.7), 0.0)
    assert ends(found) == pytest.approx(wilson(0.7, 0.21 / (3.1 / 110), T_975[9]), rel=1e-9)
    assert found.worth == 9  # the one more label of the guard costs one
    known = corrected_mean([labelled(SAID, JUDGED)], exact={0})
    assert (known.mean, *ends(known)) == pytest.approx((0.7, 0.7, 0.7))
    assert (known.worth, known.labels) == (None, 10)


def test_one_more_sample_tells_the_judge_nothing() -> None:
    """Its variance is unknown."""
    found = corrected_mean([labelled(SAID, JUDGED) + others([0.0])])
    assert (found.mean, found.share) == (pytest.approx(0.7), 0.0)


def test_strata_are_weighted_by_their_share() -> None:
    """30 samples with 7 of 10 labels right, 10 with 2 of 10 that are known exactly.

    W = 3/4, 1/4: m = .525 + .05, v = (3/4)² (2.1 + 1)/11/10. An empty stratum is none.
    """
    first = labelled(SAID) + others([1.0] * 20)
    second = labelled([1.0] * 2 + [0.0] * 8)
    found = corrected_mean([first, [], second])
    assert found.mean == pytest.approx(0.575)
    size = 0.575 * 0.425 / (0.5625 * 3.1 / 110)
    assert ends(found) == pytest.approx(wilson(0.575, size, T_975[9]), rel=1e-9)
    assert found.labels == 20


def test_the_sizes_of_strata_are_a_matter_of_chance() -> None:
    """40 samples each, 7 and 3 of 10 right: m = 1/2.

    N8: they share the one more label, but S/(n - 1) is more than (S + 1/2)/(n + 1) here: v = 2
    (2.1/9/10)/4 + .04/80.
    """
    first = labelled(SAID) + others([1.0] * 30)
    second = labelled([1 - one for one in SAID]) + others([1.0] * 30)
    found = corrected_mean([first, second])
    variance = max(2.1 / 9, 2.6 / 11) / 10 / 2 + 0.04 / 80
    assert found.mean == pytest.approx(0.5)
    assert ends(found) == pytest.approx(wilson(0.5, 0.25 / variance, T_975[18]), rel=1e-9)


def test_strata_share_the_one_more_label() -> None:
    """N8: 1 of 10 wrong in each of two equal strata: S = .9, v = 2 ((.9 + 1/2)/11/10)/4."""
    said = [1.0] * 9 + [0.0]
    stratum = labelled(said) + others([1.0] * 30)
    found = corrected_mean([stratum, stratum])
    variance = 1.4 / 11 / 10 / 2
    assert ends(found) == pytest.approx(wilson(0.9, 0.09 / variance, T_975[18]), rel=1e-9)


def test_what_is_known_has_no_part_of_the_one_more_label() -> None:
    """N8: the stratum that is not known has all of it, whatever its size: v = (3.1/11/10)/4."""
    known = labelled([1.0] * 10 + [0.0] * 10)
    found = corrected_mean([labelled(SAID) + others([1.0] * 10), known])
    variance = 3.1 / 11 / 10 / 4
    assert found.mean == pytest.approx(0.6)
    assert ends(found) == pytest.approx(wilson(0.6, 0.24 / variance, T_975[9]), rel=1e-9)


def test_share_is_the_strata_share_by_weight() -> None:
    alone, known = corrected_mean([RUN]), labelled([1.0] * len(RUN))
    both = corrected_mean([RUN, known])
    assert alone.share is not None
    assert both.share == pytest.approx(alone.share / 2)


def test_strata_that_are_all_known_leave_nothing_open() -> None:
    found = corrected_mean([labelled([1.0] * 6), labelled([0.0] * 6)])
    assert (found.mean, *ends(found), found.worth) == (0.5, 0.5, 0.5, None)


def test_all_labels_right_in_two_strata_are_as_many_labels() -> None:
    """Wilson's interval at 20 labels, t of 18 degrees."""
    stratum = labelled([1.0] * 10) + others([1.0] * 10)
    found = corrected_mean([stratum, stratum])
    assert found.mean == 1.0
    assert ends(found)[0] == pytest.approx(1 / (1 + T_975[18] ** 2 / 20), rel=1e-9)


def test_all_labels_right_in_a_part_are_more_labels_for_the_whole() -> None:
    """3/4 of the run have 10 labels, the rest is known: the variance is that of 10/(3/4)²."""
    drawn = labelled([1.0] * 10) + others([1.0] * 20)
    found = corrected_mean([drawn, labelled([1.0] * 10)])
    low = 1 / (1 + T_975[9] ** 2 * 0.5625 / 10)
    assert ends(found) == (pytest.approx(low, rel=1e-9), 1.0)


def test_labels_of_a_group_count_once() -> None:
    """Five groups of two equal labels, 3 right: deviations are (x - .6)/5; the guard adds 1/25.

    v = (1.2/25 + 1/25) 5/6, t of 4 degrees: like five labels.
    """
    said = [1.0] * 6 + [0.0] * 4
    run = [replace(one, group=at // 2) for at, one in enumerate(labelled(said))]
    found = corrected_mean([run])
    assert ends(found) == pytest.approx(wilson(0.6, 0.24 / (2.2 / 25 * 5 / 6), T_975[4]), rel=1e-9)


def test_labels_of_unequal_groups_are_like_those_of_fewer() -> None:
    """N12: groups of 6, 2, 1 and 1 of ten labels, the first two right: k = 100/(36 + 4 + 1 + 1).

    Deviations: .6 · .2, .2 · .2, -.1 · .8 twice; their squares sum to .0288.
    """
    said, group = [1.0] * 8 + [0.0] * 2, [0] * 6 + [1] * 2 + [2, 3]
    run = [replace(one, group=at) for one, at in zip(labelled(said), group, strict=True)]
    k = 100 / 42
    variance = max(0.0288 * k / (k - 1), (0.0288 + 1 / k**2) * k / (k + 1))
    # At least half of the labels' own size: 2 · .16/k.
    size = 0.16 / min(variance, 2 * 0.16 / k)
    found = corrected_mean([run])
    assert ends(found) == pytest.approx(wilson(0.8, size, T_UNEQUAL), rel=1e-9)


def test_labels_that_are_nearly_all_of_one_group_have_no_interval() -> None:
    """N12: 9 and 1: k = 100/82."""
    run = [replace(one, group=int(at == 9)) for at, one in enumerate(labelled(SAID))]
    found = corrected_mean([run])
    assert (found.mean, found.ci_low) == (pytest.approx(0.7), None)
    assert found.why == "the labels of a stratum are like those of 1.2 groups: no interval"


def test_all_labels_of_one_group_have_no_interval() -> None:
    run = [replace(one, group=1) if one.human is not None else one for one in RUN]
    found = corrected_mean([run])
    assert found.mean == corrected_mean([RUN]).mean
    assert (found.ci_low, found.ci_high, found.worth) == (None, None, None)
    assert found.why == "all labels of a stratum are of one group: no interval"


def test_groups_of_labelled_and_other_samples_have_one_deviation() -> None:
    """Never below K/(K - 1) Σ z², z the sum of a group's deviations, and hardly above it.

    200 groups of a labelled sample and two others; the judge says the same of all three.
    """
    run = []
    for at in range(200):
        verdict = float(at % 3 > 0)
        said = float(at % 5 > 0) if at % 2 else verdict
        run.append(Judged(verdict, said, group=at))
        run += [Judged(verdict, group=at)] * 2
    found = corrected_mean([run])
    assert found.share is not None
    rests = [one.human - found.share * one.judge for one in run if one.human is not None]
    rest, middle = math.fsum(rests) / 200, math.fsum(one.judge for one in run) / 600
    z = [
        (one - rest) / 200 + 2 * found.share * (run[3 * at].judge - middle) / 400
        for at, one in enumerate(rests)
    ]
    ruled = 200 / 199 * math.fsum(one * one for one in z)
    t = 1.9719565442517553  # scipy.stats.t.ppf(0.975, 199)
    at_least = wilson(found.mean or 0.0, _spread(found) / ruled, t)
    low, high = ends(found)
    assert low < at_least[0]
    assert high > at_least[1]
    assert high - low < 1.02 * (at_least[1] - at_least[0])


def test_strata_that_share_groups_add_their_covariance() -> None:
    """The same samples twice, in the same groups: v = v/2 + Σ z²/2, z = (x - .7)/10.

    They share the one more label, v = (2.1 + 1/2)/11/10. There are 10 groups, so 10 - 2 degrees;
    with groups of their own v/2 and 20 - 2.
    """
    stratum = [replace(one, group=at) for at, one in enumerate(labelled(SAID) + others([1.0] * 9))]
    shared = corrected_mean([stratum, stratum])
    variance = 2.6 / 110 / 2 + 2.1 / 100 / 2
    t = 2.306004135033371  # scipy.stats.t.ppf(0.975, 8)
    assert ends(shared) == pytest.approx(wilson(0.7, 0.21 / variance, t), rel=1e-9)
    apart = corrected_mean([stratum, [replace(one, group=None) for one in stratum]])
    assert ends(apart) == pytest.approx(wilson(0.7, 0.21 / (2.6 / 220), T_975[18]), rel=1e-9)


def test_differences_have_a_t_interval_within_their_range() -> None:
    """-.5 five times and .5 five times: S = 2.5, v = 3.5/11/10; lambda 0."""
    found = corrected_mean([labelled([-0.5, 0.5] * 5) + others([1.0] * 5)], differences=True)
    half = T_975[9] * math.sqrt(3.5 / 110)
    assert (found.mean, *ends(found)) == pytest.approx((0.0, -half, half))
    worse = corrected_mean([labelled([-1.0] * 10)], differences=True)
    assert (worse.mean, ends(worse)[0]) == (-1.0, -1.0)
    assert ends(worse)[1] == pytest.approx(-1.0 + T_975[9] * math.sqrt(1 / 110))
    better = corrected_mean([labelled([1.0] * 10)], differences=True)
    assert (better.mean, ends(better)[1]) == (1.0, 1.0)


def test_a_mean_stays_in_its_range() -> None:
    """The labels' mean is .95; the judge gives them .72 and the others 1.

    N8: lambda would be .04/.1019 = .39. The label that is lowest for the judge would then lower the
    mean by being higher, so lambda is divided by 10/9 · .28 · .72/.1019.
    """
    said, judged = [1.0] * 9 + [0.5], [0.8] * 9 + [0.0]
    found = corrected_mean([labelled(said, judged) + others([1.0] * 10)])
    spread = 2 * 0.968 / 19
    assert found.share == pytest.approx(0.04 / spread / (10 / 9 * 0.28 * 0.72 / spread))
    assert found.mean == pytest.approx(0.95 + 0.28 * (found.share or 0.0))
    raised = [
        replace(one, human=1.0) if one.human == 0.5 else one for one in labelled(said, judged)
    ]
    assert corrected_mean([raised + others([1.0] * 10)]).mean == 1.0


def test_near_the_edge_labels_keep_half_their_worth() -> None:
    """9 of 10 are right, as the judge says; it says so of 99 of 100 others, too.

    m is .9 + .09 (lambda is cut to 1), so m(1 - m)/v would be less than one label.
    """
    said = [1.0] * 9 + [0.0]
    found = corrected_mean([labelled(said, said) + others([1.0] * 99 + [0.0])])
    assert (found.share, found.mean) == (1.0, pytest.approx(0.99))
    assert ends(found) == pytest.approx(wilson(0.99, 5, T_975[9]), rel=1e-9)


def test_a_judge_that_errs_the_other_way_is_not_believed() -> None:
    opposite = [1.0 - one for one in SAID]
    found = corrected_mean([labelled(SAID, opposite) + others(OTHERS)])
    assert (found.share, found.mean) == (0.0, pytest.approx(0.7))


def _spread(found: Corrected) -> float:
    mean = found.mean or 0.0
    return mean * (1.0 - mean)


said = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=9, max_size=14)
weights = st.lists(st.sampled_from([1.0, 1.0, 2.0]), min_size=15, max_size=15)


@pytest.mark.full
@settings(max_examples=150, deadline=None)
@given(said, weights, st.sampled_from([0.7, 0.8, 0.9]), st.integers(5, 30), st.booleans())
def test_a_lower_label_never_raises_a_mean(
    human: list[float], weight: list[float], judge: float, unlabelled: int, grouped: bool
) -> None:
    """N8: the judge finds one labelled answer bad, and all others better than the labelled ones.

    A lower label of that one makes the judge look right, and lambda would carry the others upwards.
    """
    run = [
        Judged(judge, one, weight[at], at // 3 if grouped else None) for at, one in enumerate(human)
    ]
    bad = Judged(0.0, 1.0, weight[14], 9 if grouped else None)
    before, after = (
        corrected_mean([[*run, replace(bad, human=one), *others([1.0] * unlabelled)]]).mean
        for one in (1.0, 0.0)
    )
    assert before is not None
    assert after is not None
    assert after <= before + 1e-9
