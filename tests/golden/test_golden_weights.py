"""A6, A8, A9: weighted scores and means against figures worked with exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from pytest_rageval import compute_weighted_score, weighted_metric_means


def _numbers(found: Any) -> Any:
    """Return ``found`` with the text "nan" as the number that JSON cannot say."""
    if isinstance(found, dict):
        return {key: _numbers(value) for key, value in found.items()}
    return float("nan") if found == "nan" else found


def test_weighted_scores_are_the_exact_fractions(reference: Callable[[str], Any]) -> None:
    """A6: Σ(w·s)/Σw over the metrics that have a score."""
    cases = reference("weights.json")["compute_weighted_score"]
    assert len(cases) == 7
    for case in cases:
        ours = compute_weighted_score(_numbers(case["scores"]), case["metric_weights"])
        if case["exact"] is None:
            assert ours is None, case["id"]
        else:
            assert ours == pytest.approx(float(Fraction(case["exact"])), abs=1e-12), case["id"]
            assert ours == pytest.approx(case["value"], abs=1e-12), case["id"]


def test_weighted_means_are_the_exact_fractions(reference: Callable[[str], Any]) -> None:
    """A8: Σ(sample weight·score)/Σ(sample weight) over the samples that have a score."""
    cases = reference("weights.json")["weighted_metric_means"]
    assert len(cases) == 3
    for case in cases:
        rows = [_numbers(row) for row in case["rows"]]
        ours = weighted_metric_means(rows, list(case["value"]), case["doc_weights"])
        exact = {
            name: None if text is None else float(Fraction(text))
            for name, text in case["exact"].items()
        }
        assert ours == pytest.approx(exact, abs=1e-12), case["id"]
