"""Means, spread and intervals; the figures are worked by hand or computed by another way."""

from __future__ import annotations

import math
import statistics

import pytest

from pytest_rageval.model import SampleResult
from pytest_rageval.stats.summary import (
    standard_deviation,
    summarize,
    weighted_interval,
    weighted_quantile,
)
from pytest_rageval.stats.verdict import error_kind

UNIT = (0.0, 1.0)
UNBOUNDED = (-math.inf, math.inf)
T_975_3 = 3.182446305284263  # scipy.stats.t.ppf(0.975, 3)


def test_unscored_values_are_counted_and_left_out() -> None:
    """A8: mean (1 + 0) / 2, weighted (1·3 + 0·1) / 4."""
    found = summarize([1.0, None, math.nan, 0.0], [3.0, 9.0, 9.0, 1.0], UNIT)
    assert (found.mean, found.weighted_mean, found.n, found.unscored) == (0.5, 0.75, 2, 2)


def test_nothing_scored_has_no_figures() -> None:
    found = summarize([None, None], [1.0, 1.0], UNIT)
    assert (found.mean, found.weighted_mean, found.std, found.ci_low, found.ci_high) == (
        None,
        None,
        None,
        None,
        None,
    )
    assert (found.n, found.unscored) == (0, 2)


def test_one_score_has_a_mean_but_no_spread() -> None:
    found = summarize([0.5], [1.0], UNIT)
    assert (found.mean, found.std, found.ci_low) == (0.5, None, None)


def test_values_and_weights_must_match() -> None:
    with pytest.raises(ValueError, match="zip"):
        summarize([1.0], [], UNIT)


def test_the_deviation_divides_by_n_minus_one() -> None:
    """1, 0, 1, 0: squares sum to 1, 1/3 of it."""
    assert standard_deviation([1.0, 0.0, 1.0, 0.0]) == pytest.approx(math.sqrt(1 / 3))
    values = [0.1, 0.7, 0.35, 0.9]
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), rel=1e-14)
    assert standard_deviation([0.4]) is None
    assert standard_deviation([0.0, 1.0]) == pytest.approx(math.sqrt(1 / 2))


@pytest.mark.full
def test_intervals_of_binary_scores_are_scipys_exact_ones() -> None:
    stats = pytest.importorskip("scipy.stats")
    for hits, n in ((3, 4), (9, 10), (50, 80), (1, 30), (0, 7), (299, 300), (4990, 5000)):
        for confidence in (0.5, 0.95, 0.999):
            test = stats.binomtest(hits, n)
            expected = test.proportion_ci(confidence_level=confidence, method="exact")
            values = [1.0] * hits + [0.0] * (n - hits)
            found = weighted_interval(values, [0.3] * n, UNIT, confidence)
            assert found == pytest.approx((expected.low, expected.high), abs=1e-8)


@pytest.mark.parametrize("score", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("n", [2, 20, 300])
def test_equal_scores_have_the_rule_of_three(score: float, n: int) -> None:
    """N2: 20 perfect answers and one whose answer lacks a word are about as sure: .832, .823.

    All n below t with the share of the one more: t = x · 0.025^(1/n).
    """
    found = weighted_interval([score] * n, [2.0] * n, UNIT)
    highest = 1 - (1 - score) * 0.025 ** (1 / n)
    assert found == pytest.approx((score * 0.025 ** (1 / n), highest), abs=1e-10)


def test_below_all_scores_the_end_is_a_geometric_mean() -> None:
    """M <= t means G0·t >= Σ G(x - t): P = Π t/x for t below all of them.

    1 and 0.5: 2t² = 0.025. 0.9, 0.8, 0.7: t³ = 0.025 · 0.504.
    """
    found = weighted_interval([1.0, 0.5], [1.0] * 2, UNIT)
    assert found is not None
    assert found[0] == pytest.approx(math.sqrt(0.0125), abs=1e-12)
    found = weighted_interval([0.9, 0.8, 0.7], [1.0] * 3, UNIT)
    assert found is not None
    assert found[0] == pytest.approx((0.025 * 0.504) ** (1 / 3), abs=1e-12)


def test_equal_scores_of_unequal_weights_count_for_fewer() -> None:
    """N1: weights 2, 1, 1, 0.5: the one more weighs 6.25/4.5.

    P(M <= t) = Π 1/(1 + w(1 - t)/(t·6.25/4.5)), which is 1/40 at the lower end.
    """
    weights = [2.0, 1.0, 1.0, 0.5]
    low, high = weighted_interval([1.0] * 4, weights, UNIT) or (0.0, 0.0)
    odds = (1 - low) / (low * 6.25 / 4.5)
    assert math.prod(1 + weight * odds for weight in weights) == pytest.approx(40.0, rel=1e-9)
    assert high == 1.0


def test_a_heavy_answer_that_was_not_seen_may_be_wrong() -> None:
    """N1: ten heavy answers right and forty light ones: one wrong light one proves nothing."""
    weights = [10.0] * 10 + [1.0] * 40
    ends = []
    for wrong in (0, 1, 5):
        values = [1.0] * (50 - wrong) + [0.0] * wrong
        low, _ = weighted_interval(values, weights, UNIT) or (1.0, 1.0)
        ends.append(low)
    assert ends == sorted(ends, reverse=True)
    assert ends[0] < 0.84


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 0.1])
@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_the_interval_of_equal_scores_contains_them(value: float, n: int) -> None:
    found = weighted_interval([value] * n, [1.0] * n, UNIT)
    assert found is not None
    assert 0.0 <= found[0] <= value <= found[1] <= 1.0


def test_unbounded_scores_have_students_interval() -> None:
    """1, 2, 3, 4: mean 2.5, s = √(5/3), half width t·s/2."""
    half = T_975_3 * math.sqrt(5 / 3) / 2
    found = weighted_interval([1.0, 2.0, 3.0, 4.0], [1.0] * 4, UNBOUNDED)
    assert found == pytest.approx((2.5 - half, 2.5 + half), abs=1e-12)


def test_unbounded_weighted_scores_have_the_interval_of_a_ratio() -> None:
    """Weights 3, 1, 1, scores 0, 4, 4: mean 1.6; w(x - 1.6)/5 = -.96, .48, .48, squares 1.3824.

    Kish's number is 25/11: times (25/11)/(14/11) = 25/14; t(0.975; 14/11) by scipy.
    """
    half = 7.7778482111187595 * math.sqrt(1.3824 * 25 / 14)
    found = weighted_interval([0.0, 4.0, 4.0], [3.0, 1.0, 1.0], UNBOUNDED)
    assert found == pytest.approx((1.6 - half, 1.6 + half), rel=1e-9)


def test_where_one_sample_holds_the_weight_an_unbounded_mean_has_no_interval() -> None:
    """Weights 3 and 1 are 1.6 samples, which do not say how far scores spread."""
    assert weighted_interval([0.0, 4.0], [3.0, 1.0], UNBOUNDED) is None
    assert weighted_interval([0.0, 4.0], [1.0, 1.0], UNBOUNDED) is not None


def test_scores_of_weight_zero_widen_nothing() -> None:
    with_zero = weighted_interval([1.0, 0.0, 0.5], [1.0, 1.0, 0.0], UNIT)
    assert with_zero == weighted_interval([1.0, 0.0], [1.0, 1.0], UNIT)
    assert weighted_interval([1.0, 0.5], [1.0, 0.0], UNIT) is None


def test_a_higher_confidence_is_a_wider_interval() -> None:
    narrow = weighted_interval([0.2, 0.6, 0.7], [1.0] * 3, UNIT, confidence=0.8)
    wide = weighted_interval([0.2, 0.6, 0.7], [1.0] * 3, UNIT, confidence=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("weight", [1e308, 1e-200, 5e-324])
@pytest.mark.parametrize("values", [[1.0, 1.0], [0.25, 0.75]])
def test_the_size_of_equal_weights_does_not_matter(weight: float, values: list[float]) -> None:
    """A4: a document may weigh anything finite."""
    expected = weighted_interval(values, [1.0, 1.0], UNIT)
    assert weighted_interval(values, [weight, weight], UNIT) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("q", "expected"),
    [(1e-9, 0.1), (0.25, 0.1), (0.2500001, 0.2), (0.5, 0.2), (0.75, 0.3), (0.76, 0.9), (1, 0.9)],
)
def test_a_quantile_is_the_smallest_value_that_reaches_the_share(q: float, expected: float) -> None:
    """E5: of four, each has a quarter; the inverse of the empirical distribution function."""
    assert weighted_quantile([0.9, 0.1, 0.3, 0.2], [1.0] * 4, q) == expected


@pytest.mark.parametrize("n", [1, 2, 7, 100, 101])
def test_an_unweighted_quantile_is_numpys_inverted_cdf(n: int) -> None:
    """E5: computed another way."""
    numpy = pytest.importorskip("numpy")
    values = [((at * 37) % n) / n for at in range(n)]
    for q in (0.01, 0.1, 1 / 3, 0.5, 0.9, 0.99):
        expected = numpy.quantile(values, q, method="inverted_cdf")
        assert weighted_quantile(values, [0.7] * n, q) == pytest.approx(expected), q


def test_a_share_that_is_reached_but_for_rounding_is_reached() -> None:
    """0.1 + 0.1 + 0.1 is more than 0.3, and 3 of 10 equal weights less than 0.3 of their sum."""
    values = [at / 10 for at in range(10)]
    assert weighted_quantile(values, [0.1] * 10, 0.3) == 0.2
    assert weighted_quantile(values, [1 / 3] * 10, 0.7) == 0.6


@pytest.mark.parametrize(
    ("q", "expected"),
    [(1e-9, 0.1), (0.2499999, 0.1), (0.25, 0.2), (0.5, 0.3), (0.75, 0.9), (0.76, 0.9), (1, 0.9)],
)
def test_an_upper_quantile_is_the_smallest_value_that_goes_beyond_the_share(
    q: float, expected: float
) -> None:
    """E5: of four, each has a quarter; up to 0.1 lies exactly a quarter, up to 0.2 more."""
    assert weighted_quantile([0.9, 0.1, 0.3, 0.2], [1.0] * 4, q, side="upper") == expected


@pytest.mark.full
@pytest.mark.parametrize("n", [10, 20, 30, 100, 1000, 100_000])
@pytest.mark.parametrize("weight", [1.0, 0.1, 0.7, 1 / 3])
def test_a_share_that_is_reached_exactly_is_not_gone_beyond(n: int, weight: float) -> None:
    """E5: a tenth scores 0, the rest 1: a tenth does not exceed 0, and nine tenths reach 1."""
    values = [0.0] * (n // 10) + [1.0] * (n - n // 10)
    assert weighted_quantile(values, [weight] * n, 0.1) == 0.0
    assert weighted_quantile(values, [weight] * n, 0.1, side="upper") == 1.0


def test_a_quantile_weighs_values() -> None:
    """Weights 1, 2, 1: up to 0.5 lie 3 of 4."""
    values, weights = [0.1, 0.5, 0.9], [1.0, 2.0, 1.0]
    assert [weighted_quantile(values, weights, q) for q in (0.25, 0.3, 0.75, 0.8)] == [
        0.1,
        0.5,
        0.5,
        0.9,
    ]


def test_values_without_weight_are_in_no_quantile() -> None:
    assert weighted_quantile([0.1, 0.9], [0.0, 1.0], 0.01) == 0.9
    assert weighted_quantile([0.1], [0.0], 0.5) is None
    assert weighted_quantile([], [], 0.5) is None


@pytest.mark.parametrize("weight", [1e308, 5e-324])
def test_quantiles_of_huge_and_tiny_weights(weight: float) -> None:
    """A4: a document may weigh anything finite."""
    assert weighted_quantile([0.1, 0.2, 0.3], [weight] * 3, 0.5) == 0.2


@pytest.mark.parametrize("values", [[1e308, -1e308, 5e307], [1.7e308] * 3, [-1.7e308, 1.7e308]])
def test_scores_of_any_finite_size_have_an_interval_or_none(values: list[float]) -> None:
    """A20: an unbounded metric may return them; no sum of theirs may end the run."""
    found = weighted_interval(values, [1.0] * len(values), UNBOUNDED)
    assert found is None or all(map(math.isfinite, found))


def test_scores_equal_within_a_billionth_are_equal() -> None:
    """G7: a perfect context_precision of ragas is 0.9999999999; three say little about a system.

    That is the interval of three scores of 1.
    """
    found = weighted_interval([1.0, 0.9999999999, 0.9999999999], [1.0] * 3, UNIT)
    perfect = weighted_interval([1.0] * 3, [1.0] * 3, UNIT)
    assert found is not None
    assert perfect is not None
    assert found[0] == pytest.approx(perfect[0], abs=1e-9)
    assert found[0] < 0.3
    # Equal is by the range: on a scale of 0..100 it is a hundred times as much.
    wide = weighted_interval([100.0, 99.99999999, 99.99999999], [1.0] * 3, (0.0, 100.0))
    assert wide is not None
    assert wide[0] == pytest.approx(100 * perfect[0], abs=1e-6)


def test_samples_that_belong_together_count_as_one() -> None:
    """N4: scores 1 1 | 0 | 1 in three groups: two groups of 1, one of them of twice the weight."""
    found = weighted_interval([1.0, 1.0, 0.0, 1.0], [1.0] * 4, UNIT, groups=[4, 4, 1, 2])
    assert found == weighted_interval([1.0, 0.0, 1.0], [2.0, 1.0, 1.0], UNIT)
    mixed = weighted_interval([1.0, 0.0, 0.0, 1.0], [1.0, 3.0, 1.0, 1.0], UNIT, groups=[4, 4, 1, 2])
    assert mixed == weighted_interval([0.25, 0.0, 1.0], [4.0, 1.0, 1.0], UNIT)


def test_each_sample_a_group_is_no_grouping() -> None:
    """S2: to the last bit."""
    values, weights = [0.3, 0.9, 0.4, 0.0, 1.0], [1.0, 2.0, 0.0, 1.5, 1.0]
    for ends in (UNIT, UNBOUNDED):
        plain = weighted_interval(values, weights, ends)
        assert weighted_interval(values, weights, ends, groups=[9, 3, 7, 1, 0]) == plain


def test_one_group_has_no_interval_and_a_mean() -> None:
    """S2: five answers to one question say nothing about other questions."""
    found = summarize([1.0, 0.5, None, 0.0], [1.0] * 4, UNIT, groups=[0, 0, 1, 0])
    assert (found.mean, found.n, found.unscored) == (0.5, 3, 1)
    assert (found.ci_low, found.ci_high) == (None, None)


def test_a_score_that_is_missing_leaves_the_groups_of_the_others() -> None:
    values, groups = [1.0, None, 0.5, 0.0], [0, 1, 0, 1]
    found = summarize(values, [1.0] * 4, UNIT, groups=groups)
    alone = weighted_interval([1.0, 0.5, 0.0], [1.0] * 3, UNIT, groups=[0, 0, 1])
    assert alone is not None
    assert (found.ci_low, found.ci_high) == alone


def test_equal_scores_in_groups_have_the_size_of_the_groups_weights() -> None:
    """S2: groups of weight 3 and 1 are two scores of these weights."""
    grouped = weighted_interval([1.0] * 4, [1.0] * 4, UNIT, groups=[0, 0, 0, 1])
    assert grouped == weighted_interval([1.0] * 2, [3.0, 1.0], UNIT)


def test_an_unbounded_mean_is_grouped_too() -> None:
    """S2: 2 4 | 0 0 in two groups: m = 1.5, sums of residuals 3 and -3 of 4: v = 2 · 2 · 9/16."""
    found = weighted_interval([2.0, 4.0, 0.0, 0.0], [1.0] * 4, UNBOUNDED, groups=[5, 5, 6, 6])
    half = math.tan(0.475 * math.pi) * 1.5
    assert found == pytest.approx((1.5 - half, 1.5 + half), rel=1e-11)


T_3 = 3.182446305284263  # t(0.975; 3)


def test_equal_unbounded_scores_have_no_width() -> None:
    assert weighted_interval([0.1] * 4, [1.0, 3.0, 1.0, 1.0], UNBOUNDED) == (0.1, 0.1)


@pytest.mark.parametrize("ends", [(0.0, 5.0), (1.0, 5.0), (-1.0, 1.0)])
def test_a_range_is_the_unit_range_moved_and_stretched(ends: tuple[float, float]) -> None:
    low, high = ends
    unit = [1.0, 0.75, 0.5, 0.0]
    plain = weighted_interval(unit, [1.0] * 4, UNIT)
    assert plain is not None
    found = weighted_interval([low + (high - low) * one for one in unit], [1.0] * 4, ends)
    assert found == pytest.approx(tuple(low + (high - low) * end for end in plain), abs=1e-12)


def test_a_score_beyond_the_range_is_the_worst_there_is() -> None:
    """N1: a weighted score leaves its range where metrics do not apply: -0.9 of -0.25..1.

    The one more is -0.9, too, and not above all the others: the interval of -0.9..1.
    """
    scores = [-0.9] * 20 + [1.0]
    found = weighted_interval(scores, [1.0] * 21, (-0.25, 1.0))
    assert found == weighted_interval(scores, [1.0] * 21, (-0.9, 1.0))
    assert found is not None
    assert found[0] < sum(scores) / 21 < found[1]


def test_one_known_end_is_kept() -> None:
    """0, 0, 0, 1: 1/4 +- t·1/4 reaches below 0."""
    low, high = weighted_interval([0.0, 0.0, 0.0, 1.0], [1.0] * 4, (0.0, math.inf)) or (1.0, 0.0)
    assert (low, high) == (0.0, pytest.approx((1 + T_3) / 4))


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("no answer within 120 s", "no answer within 503 s", True),
        ("r12: KeyError", "r450: KeyError", True),
        ("localhost:8404: connection refused", "localhost:8405: connection refused", True),
        ("http://10.0.0.401:80 refused", "http://10.0.0.402:80 refused", True),
        ("boom in app.py:404", "boom in app.py:405", True),
        ("SyntaxError at line 404", "SyntaxError at line 410", True),
        ("a prompt of 4040 tokens, limit 400", "a prompt of 5030 tokens, limit 400", True),
        ("code: 4011", "code: 4012", True),  # a service's own number of an order
        ("product code 481", "product code 482", True),
        ("order status 451", "order status 452", True),
        ("返回HTTP 401", "返回HTTP 503", False),
        ("HTTP 503 after 7 tries", "HTTP 503 after 12 tries", True),
        ("HTTP 200 without an answer in 3 s", "HTTP 200 without an answer in 5 s", True),
        ("m: HTTP 401: bad key", "m: HTTP 503: bad key", False),
        ("Error code: 401 - {}", "Error code: 429 - {}", False),
        ("HTTP/1.1 404", "HTTP/1.1 500", False),
        ("reply {'code': 401}", "reply {'code': 500}", False),
        ("status=429", "status=502", False),
        ("HTTPError: HTTP Error 401: x", "HTTPError: HTTP Error 503: x", False),
    ],
)
def test_errors_are_alike_whatever_their_figures_but_a_status(
    one: str, other: str, is_alike: bool
) -> None:
    """A status is why the answer is missing: 401 wants a key, 503 another server."""
    kinds = [
        error_kind(SampleResult(f"s{at}", at, "error", errors={"target": text}))
        for at, text in enumerate((one, other))
    ]
    assert (kinds[0][0] == kinds[1][0]) is is_alike
    assert [reason for _, reason in kinds] == [f"target: {one}", f"target: {other}"]
