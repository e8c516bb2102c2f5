"""A3, A4, A6, A8, A9: weights, and scores that are missing."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_rageval import compute_weighted_score, resolve_weight, weighted_metric_means
from pytest_rageval.stats.weights import is_scored, rescale, weighted_mean

NAN = math.nan


def test_a_name_without_a_weight_weighs_one() -> None:
    """A3, A4: so does every name where there are no weights at all (A5)."""
    assert resolve_weight({"a.pdf": 2.0}, "b.pdf") == 1.0
    assert resolve_weight({}, "b.pdf") == 1.0
    assert resolve_weight(None, "b.pdf") == 1.0
    assert resolve_weight({"a.pdf": 2.0}, None) == 1.0


def test_the_order_of_the_source_system_and_its_default() -> None:
    """F2: ``resolve_weight(weights, key, default=1.0)``."""
    assert resolve_weight({"a.pdf": 2.0}, "a.pdf", 0.5) == 2.0
    assert resolve_weight({"a.pdf": 2.0}, "b.pdf", default=0.5) == 0.5
    assert resolve_weight(None, "b.pdf", 0.5) == 0.5


def test_the_old_order_is_right_and_deprecated() -> None:
    """F2: a text comes first in it."""
    for weights, weight in (({"a.pdf": 2.0}, 2.0), ({"b.pdf": 2.0}, 1.0), (None, 1.0)):
        with pytest.deprecated_call(match=r"resolve_weight\(weights, key\)"):
            assert resolve_weight("a.pdf", weights) == weight  # type: ignore[arg-type]


def test_a_document_without_a_name_weighs_one() -> None:
    """F2: pandas reads a blank doc_name of scores.csv as NaN. (3·1 + 1·0) / 4."""
    rows = [{"doc_name": "a", "f1": 1.0}, {"doc_name": NAN, "f1": 0.0}]
    assert weighted_metric_means(rows, ["f1"], {"a": 3.0}) == {"f1": 0.75}


def test_a_weight_of_zero_is_zero() -> None:
    assert resolve_weight({"a.pdf": 0.0}, "a.pdf") == 0.0


def test_document_names_are_compared_in_nfc() -> None:
    """A4: a name from macOS is decomposed."""
    composed, decomposed = "Pr\u00fcfung.pdf", "Pru\u0308fung.pdf"
    assert composed != decomposed
    assert resolve_weight({composed: 2.0}, decomposed) == 2.0
    assert resolve_weight({decomposed: 2.0}, composed) == 2.0


def test_a_blank_around_a_documents_name_leaves_its_weight() -> None:
    """A4: nobody sees it in a table. (10·0 + 1·1) / 11."""
    assert resolve_weight({"a.pdf": 10.0}, "a.pdf ") == 10.0
    assert resolve_weight({"\u3000a.pdf": 10.0}, "a.pdf") == 10.0
    rows = [{"doc_name": "a.pdf\u00a0", "f1": 0.0}, {"doc_name": "b.pdf", "f1": 1.0}]
    assert weighted_metric_means(rows, ["f1"], {"a.pdf": 10.0}) == {"f1": 1 / 11}


def test_the_weighted_score_is_a_weighted_mean_of_scores() -> None:
    """A6: (0.5·1 + 1·3) / 4 = 0.875."""
    assert compute_weighted_score({"a": 0.5, "b": 1.0}, {"a": 1.0, "b": 3.0}) == 0.875


def test_without_weights_all_metrics_count_the_same() -> None:
    """A5, A6: (0 + 1 + 0.5) / 3."""
    assert compute_weighted_score({"a": 0.0, "b": 1.0, "c": 0.5}) == 0.5


@pytest.mark.parametrize("missing", [None, NAN])
def test_a_missing_score_takes_no_part_and_neither_does_its_weight(missing: float | None) -> None:
    """A6: a zero in its place would give 0.125."""
    assert compute_weighted_score({"a": 0.5, "b": missing}, {"a": 1.0, "b": 3.0}) == 0.5


@pytest.mark.parametrize(
    ("scores", "weights"),
    [
        ({}, {}),
        ({"a": None, "b": NAN}, {}),
        ({"a": 1.0}, {"a": 0.0}),
        ({"a": 1.0, "b": None}, {"a": 0.0, "b": 1.0}),
    ],
)
def test_nothing_scored_is_none_and_never_zero(
    scores: dict[str, float | None], weights: dict[str, float]
) -> None:
    """A6."""
    assert compute_weighted_score(scores, weights) is None


def test_a_score_of_zero_is_a_score() -> None:
    assert compute_weighted_score({"a": 0.0}) == 0.0
    assert is_scored(0.0)
    assert not is_scored(None)
    assert not is_scored(NAN)


def test_weights_of_metrics_that_are_not_there_are_ignored() -> None:
    """A9: the function takes what it is given; a scenario refuses unknown names."""
    assert compute_weighted_score({"a": 0.5}, {"a": 2.0, "b": 5.0}) == 0.5


def test_means_weigh_rows_by_document() -> None:
    """A8: f1 (1·2 + 0·1 + 0.5·1) / 4 = 0.625; em has one scored row of weight 2."""
    rows = [
        {"doc_name": "a", "f1": 1.0, "em": 0.25},
        {"doc_name": "b", "f1": 0.0, "em": None},
        {"f1": 0.5, "em": NAN},
    ]
    assert weighted_metric_means(rows, ["f1", "em"], {"a": 2.0}) == {"f1": 0.625, "em": 0.25}


def test_a_metric_without_any_scored_row_has_no_mean() -> None:
    """A8: neither an absent key nor an empty scenario is a zero."""
    assert weighted_metric_means([{"f1": None}, {}], ["f1", "em"]) == {"f1": None, "em": None}
    assert weighted_metric_means([], ["f1"], {"a": 2.0}) == {"f1": None}


def test_rows_may_come_from_an_iterator() -> None:
    rows = ({"f1": score, "em": 1 - score} for score in (0.0, 1.0))
    assert weighted_metric_means(rows, ["f1", "em"]) == {"f1": 0.5, "em": 0.5}


def test_a_sum_is_exact_before_it_is_rounded() -> None:
    """Ten times 0.1 is 1.0 in exact sums and 0.9999999999999999 in running ones."""
    assert weighted_mean([(1.0, 0.1)] * 10) == 1.0
    assert weighted_mean((value, 1.0) for value in (1e16, 1.0, -1e16)) == pytest.approx(1 / 3)


@pytest.mark.parametrize("weight", [1e308, 1e-308, 5e-324])
def test_weights_near_the_ends_of_the_numbers_weigh_the_same(weight: float) -> None:
    """A3: weights are finite and >= 0, nothing else; equal ones change nothing."""
    assert weighted_mean([(0.5, weight), (1.0, weight)]) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("weights", "tamed"),
    [
        ([0.5, 0.25], [0.5, 0.25]),
        ([3.0, 1.0], [3.0, 1.0]),
        ([2e-200, 1e-200], [1.0, 0.5]),
        ([1e200, 2e200], [0.5, 1.0]),
        ([0.0, 0.0], [0.0, 0.0]),
        ([], []),
    ],
)
def test_only_weights_of_an_unusual_size_are_scaled(
    weights: list[float], tamed: list[float]
) -> None:
    assert rescale(weights) == tamed


def test_the_keyword_of_the_source_system_and_our_own() -> None:
    """M2: ``score_rows``."""
    rows = [{"f1": 1.0}, {"f1": 0.5}]
    assert weighted_metric_means(score_rows=rows, metrics=["f1"]) == {"f1": 0.75}
    assert weighted_metric_means(rows=rows, metrics=["f1"]) == {"f1": 0.75}
    for given in ({"score_rows": rows}, {"metrics": ["f1"]}, {"rows": rows, "score_rows": rows}):
        with pytest.raises(TypeError, match="takes score_rows, metrics"):
            weighted_metric_means(**given)


class NAType:
    """As pandas': it is no number, and equals nothing, itself included."""

    def __eq__(self, other: object) -> NAType:  # type: ignore[override]
        return self

    __ne__ = __eq__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def not_a_value() -> object:
    try:
        import pandas
    except ImportError:
        return NAType()
    return pandas.NA


@pytest.mark.parametrize("missing", [NAType(), not_a_value()], ids=["stand-in", "pandas"])
def test_na_of_pandas_is_missing(missing: Any) -> None:
    """M2: as a score, and as the name of a document. (3·1 + 1·0) / 4."""
    assert compute_weighted_score({"a": 0.5, "b": missing}) == 0.5
    rows = [
        {"doc_name": "a", "f1": 1.0},
        {"doc_name": missing, "f1": 0.0},
        {"doc_name": "a", "f1": missing},
    ]
    assert weighted_metric_means(rows, ["f1"], {"a": 3.0}) == {"f1": 0.75}


@pytest.mark.parametrize("odd", [math.inf, -math.inf, "0.5", pytest.param(10**400, id="huge")])
def test_a_score_that_is_no_finite_number_is_refused(odd: Any) -> None:
    """M2: one infinite score would be the mean."""
    message = "the score of 'f1' must be a finite number, found "
    with pytest.raises(ValueError, match=message):
        compute_weighted_score({"f1": odd})
    with pytest.raises(ValueError, match=message):
        weighted_metric_means([{"f1": 1.0}, {"f1": odd}], ["f1"])


@pytest.mark.parametrize("odd", [math.inf, NAN, -0.5, None, "1", pytest.param(10**400, id="huge")])
def test_a_weight_that_is_no_finite_number_from_zero_on_is_refused(odd: Any) -> None:
    """M2: weights of -1 and 1 would divide by zero, others turn the sign of a mean."""
    message = "the weight of 'a' must be a finite number >= 0, found "
    with pytest.raises(ValueError, match=message):
        resolve_weight({"a": odd}, "a")
    with pytest.raises(ValueError, match=message):
        compute_weighted_score({"a": 0.5, "b": 1.0}, {"a": odd})
    with pytest.raises(ValueError, match=message):
        weighted_metric_means([{"doc_name": "a", "f1": 1.0}], ["f1"], {"a": odd})
