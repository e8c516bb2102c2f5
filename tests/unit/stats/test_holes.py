"""Means of rankings with holes, and falls that holes may explain, worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Comparing,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.stats.caveats import judged_text, open_lines, open_text
from pytest_rageval.stats.holes import judged_shares, open_mean, what_decides
from pytest_rageval.stats.summary import summarize_scenario

NDCG = MetricColumn("ndcg@10", retrieves=True)


def sample(
    at: int, score: float | None, holes: Mapping[str, Any] | None = None, **more: Any
) -> SampleResult:
    details = {} if holes is None else {"ndcg@10": {"k": 10, **holes}}
    return SampleResult(
        f"q{at}", at, scores={"ndcg@10": score}, weighted_score=score, details=details, **more
    )


def result_of(samples: list[SampleResult], **info: Any) -> ScenarioResult:
    known = ScenarioInfo("s", "s.yaml", "s", (NDCG,), total=len(samples), **info)
    return summarize_scenario(known, samples, True)


HOLES = {"judged": 0.4, "holes": 6, "low": 0.1, "high": 0.9}


def test_means_of_lows_and_of_highs_are_weighted() -> None:
    """Weights 1 and 3; q1 has no hole: its ends are its score."""
    found = open_mean(
        result_of([sample(0, 0.2, HOLES), sample(1, 0.6, sample_weight=3.0)]), "ndcg@10"
    )
    assert found is not None
    assert found.mean == pytest.approx(0.5)
    assert found.judged == pytest.approx((0.4 + 3 * 1.0) / 4)
    assert found.ends == pytest.approx(((0.1 + 1.8) / 4, (0.9 + 1.8) / 4))


def test_the_line_is_there_below_nine_tenths() -> None:
    """Of 2 samples one has 6 holes of ten: 30 % of the two tops."""
    result = result_of([sample(0, 0.2, HOLES), sample(1, 0.6)])
    text = "30 % of the top 10 have no judgement: between 0.3500 and 0.7500"
    assert open_text(result, "ndcg@10") == text
    assert list(open_lines(result)) == [f"ndcg@10 0.4000, {text}"]
    assert judged_text(result, "ndcg@10") == "  70 % judged"


def test_from_nine_tenths_upwards_the_share_alone_is_said() -> None:
    result = result_of([sample(0, 0.2, {**HOLES, "judged": 0.9, "holes": 1})])
    assert open_text(result, "ndcg@10") == ""
    assert judged_text(result, "ndcg@10") == "  90 % judged"


def test_without_holes_nothing_is_said() -> None:
    result = result_of([sample(0, 0.2), sample(1, None, HOLES)])
    assert open_mean(result_of([sample(0, 0.2)]), "ndcg@10") is None
    assert open_text(result, "ndcg@10") == judged_text(result, "ndcg@10") == ""
    assert open_text(result, WEIGHTED_SCORE) == ""


def test_a_sample_for_which_nothing_was_retrieved_has_no_share() -> None:
    empty = sample(1, 0.0)
    empty = replace(empty, details={"retrieval": {"retrieved": 0, "first": []}})
    found = open_mean(result_of([sample(0, 0.2, HOLES), empty]), "ndcg@10")
    assert found is not None
    assert found.judged == pytest.approx(0.4)


def test_a_measure_that_leaves_holes_out_has_a_share_alone() -> None:
    assert open_text(result_of([sample(0, 0.2, {"judged": 0.5, "holes": 5})]), "ndcg@10") == (
        "50 % of the top 10 have no judgement"
    )


# no_regression: 20 samples that all fell from 0.8 to 0.4.


def regression(high: float, judged: float = 0.4, before: float = 1.0, **options: Any) -> GateResult:
    holes = {"judged": judged, "holes": 6, "low": 0.3, "high": high}
    samples = [sample(at, 0.4, holes) for at in range(20)]
    ids = [one.sample_id for one in samples]
    shares = {"ndcg@10": dict.fromkeys(ids, before)}
    baseline = Baseline("main", ids, {"ndcg@10": dict.fromkeys(ids, 0.8)}, judged=shares)
    comparing = Comparing("main", (), SignificanceTest("permutation"))
    result = result_of(samples, baselines={"main": baseline}, compare=(comparing,))
    gates = {"no_regression": {"metrics": ["ndcg@10"], **options}}
    (gate,) = make_gates(gates, result.info)
    return gate.check(result)


@pytest.mark.parametrize("mode", ["significant", "exceeds", "non_inferior", "any"])
def test_a_fall_that_holes_may_explain_is_undecided(mode: str) -> None:
    """6 holes in each of 20 samples; at their best the metric rises to 0.9."""
    found = regression(0.9, mode=mode, max_drop=0.1)
    assert found.outcome == "failed"
    assert "cannot be decided: 120 holes in the top 10 decide it: judge these (holes.tsv)" in (
        found.message
    )
    assert "to let it pass: 'undecided: pass'" in found.message
    assert regression(0.9, mode=mode, max_drop=0.1, undecided="pass").outcome == "passed"


def test_a_loss_of_judgements_by_more_than_a_twentieth_is_enough() -> None:
    assert "cannot be decided" in regression(0.9, judged=0.94).message


@pytest.mark.parametrize(
    ("high", "judged", "before"),
    [
        (0.6, 0.4, 1.0),  # still a fall at the best
        (0.9, 0.96, 1.0),  # as much is judged as before, but for .04
        (0.9, 0.4, 0.42),
    ],
)
def test_other_falls_are_falls(high: float, judged: float, before: float) -> None:
    found = regression(high, judged, before, undecided="pass")
    assert found.outcome == "failed"
    assert "holes" not in found.message


def test_the_file_names_holes_of_the_first_ten() -> None:
    """With a cutoff beyond them, or none, that is said."""
    holes = {"k": 20, "judged": 0.4, "holes": 12, "low": 0.3, "high": 0.9}
    samples = [replace(sample(0, 0.4, holes), details={"ndcg@10": holes})]
    baseline = Baseline("main", ["q0"], {"ndcg@10": {"q0": 0.8}})
    assert what_decides(result_of(samples), baseline, "ndcg@10") == (
        "12 holes in the top 20 decide it: judge these (holes.tsv has those of the first 10)"
    )


def test_shares_are_kept_of_samples_with_holes() -> None:
    samples = [sample(0, 0.2, HOLES), sample(1, 0.6)]
    assert judged_shares(samples, (NDCG, MetricColumn("f1"))) == {"ndcg@10": {"q0": 0.4}}
