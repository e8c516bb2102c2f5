"""B10: what a metric of the user's own returned, as a score."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pytest_rageval.engine.scoring.score_sample import checked_score
from pytest_rageval.metrics.custom.call import as_score, own
from pytest_rageval.model import MetricColumn, Sample, Score


def checked(value: object) -> Score:
    """Return the score as the engine takes it, for a metric with scores from 0 to 1."""
    return checked_score(MetricColumn("m"), as_score("m", value))


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        Fraction(1, 2),
        Decimal("0.5"),
        np.float64(0.5),
        np.float32(0.5),
        np.array(0.5),
        (0.5, None),
        Score("m", 0.5),
        Score("another name", np.float64(0.5)),  # type: ignore[arg-type]
    ],
)
def test_one_number_is_a_plain_float(value: object) -> None:
    found = checked(value)
    assert found == Score("m", 0.5)
    assert type(found.value) is float


@pytest.mark.parametrize(("value", "expected"), [(0, 0.0), (1, 1.0), (np.int64(1), 1.0)])
def test_a_whole_number_is_a_float(value: object, expected: float) -> None:
    found = checked(value)
    assert found.value == expected
    assert type(found.value) is float


def test_a_score_keeps_its_reason_and_details() -> None:
    score = Score("m", 0.5, "half of it", {"found": 1})
    assert checked(score) == score


def test_a_pair_is_a_number_and_its_reason() -> None:
    assert checked((0.5, "half of it")) == Score("m", 0.5, "half of it")


def test_none_is_unscored_and_never_zero() -> None:
    assert checked(None) == Score("m", None, "the metric returned None")
    assert checked((None, "no claims")) == Score("m", None, "no claims")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, 1.0), (False, 0.0), (np.bool_(True), 1.0), (np.bool_(False), 0.0)],
)
def test_a_boolean_is_one_or_zero(value: object, expected: float) -> None:
    """[P11] Whatever the function is annotated as, and with a reason, too."""
    found = checked(value)
    assert found == Score("m", expected)
    assert type(found.value) is float
    assert checked((value, "it ends there")) == Score("m", expected, "it ends there")


@pytest.mark.parametrize(
    ("value", "expected"), [(True, 1.0), (np.bool_(True), 1.0), (np.bool_(False), 0.0)]
)
def test_a_boolean_in_a_score_counts_too(value: Any, expected: float) -> None:
    found = checked(Score("m", value, "it ends there"))
    assert found == Score("m", expected, "it ends there")
    assert type(found.value) is float


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (float("nan"), "returned nan, which is no score"),
        (float("inf"), "returned inf, which is no score"),
        (np.float64("nan"), "returned nan, which is no score"),
        (1.5, "1.5 is outside the range 0..1"),
        (-0.1, "-0.1 is outside the range 0..1"),
        ("0.5", "returned '0.5' (str), not a number or a Score"),
        (b"1", "returned b'1' (bytes), not a number or a Score"),
        ([0.5], "returned [0.5] (list), not a number or a Score"),
        ({"score": 1}, "returned {'score': 1} (dict), not a number or a Score"),
        ((0.5, 0.5), "returned (0.5, 0.5) (tuple), not a number or a Score"),
        (np.array([0.5]), "returned array([0.5]) (ndarray), not a number or a Score"),
    ],
)
def test_what_is_no_score_is_an_error_that_shows_it(value: object, error: str) -> None:
    assert checked(value) == Score("m", None, error=error)


def test_a_coroutine_is_closed_and_told(recwarn: pytest.WarningsRecorder) -> None:
    async def forgotten() -> float:
        return 1.0

    expected = "returned a coroutine that is never awaited; declare the function 'async def'"
    assert checked(forgotten()) == Score("m", None, error=expected)
    assert not recwarn.list


def test_a_metric_may_change_its_copy_of_the_metadata_alone() -> None:
    """G1: else it could move a sample to another slice of ``by``."""
    sample = Sample("a", metadata={"lang": "de", "pages": [1]})
    given = own(sample)
    given.metadata["lang"] = "zz"  # type: ignore[index]
    given.metadata["pages"].append(2)
    assert sample.metadata == {"lang": "de", "pages": [1]}


def test_a_row_without_metadata_has_a_dict_of_its_own() -> None:
    """The empty mapping that all such rows share refuses every change."""
    plain = Sample("b")
    own(plain).metadata["n"] = 1  # type: ignore[index]
    assert own(plain).metadata == plain.metadata == {}
