"""G2: means over the most confident share, and risk over coverage, against exact fractions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.selective import Ranked, aurc, covered, selective_mean
from pytest_rageval.stats.summary import summarize_scenario
from tests.golden.conftest import Reference


@pytest.fixture
def cases(reference: Reference) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = reference("answers.json")["families"]["selective"]["cases"]
    assert len(found) > 5
    return found


def ranked(case: Mapping[str, Any], weight: float = 1.0) -> Ranked:
    confidences, scores = zip(*case["rows"], strict=True)
    return Ranked(confidences, scores, [weight] * len(scores))


def test_the_mean_of_the_most_confident_share(cases: list[Mapping[str, Any]]) -> None:
    """Ties are kept whole; equal weights of any size make no difference."""
    for case in cases:
        for rows in (ranked(case), ranked(case, 0.3)):
            for coverage, wanted in case["selective"].items():
                share = float(coverage)
                assert len(covered(rows, share)) == wanted["n"], case["id"]
                found = selective_mean(share)(rows, rows.once)
                assert found == pytest.approx(wanted["mean"], abs=1e-12), case["id"]


def test_the_area_under_risk_over_coverage(cases: list[Mapping[str, Any]]) -> None:
    """Ties are averaged over all their orders."""
    for case in cases:
        for rows in (ranked(case), ranked(case, 0.3)):
            assert aurc(rows, rows.once) == pytest.approx(case["aurc"], abs=1e-12), case["id"]


@pytest.mark.full
def test_the_gates_show_these_figures(cases: list[Mapping[str, Any]]) -> None:
    for case in cases:
        samples = [
            SampleResult(f"s{at}", at, scores={"f1": score}, confidence=confidence)
            for at, (confidence, score) in enumerate(case["rows"])
        ]
        info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),))
        result = summarize_scenario(info, samples, complete=True)
        for coverage, wanted in case["selective"].items():
            options = {"selective": {"coverage": float(coverage), "min": 0}, "aurc": 1}
            selective, area = [gate.check(result) for gate in make_gates({"f1": options}, info)]
            assert selective.observed == pytest.approx(wanted["mean"], abs=1e-12)
            assert f"confident {wanted['n']} of {len(samples)}" in selective.message
            assert area.observed == pytest.approx(case["aurc"], abs=1e-12)
