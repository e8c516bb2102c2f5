"""A run against a baseline: samples joined by id, each metric tested for a difference."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.model import Baseline, Comparison, ScenarioResult, SignificanceTest
from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.verdict import score_of


def compare_runs(
    result: ScenarioResult, baseline: Baseline, metrics: Sequence[str], test: SignificanceTest
) -> Comparison:
    """Return A (``result``) against B (``baseline``) for each of ``metrics`` that B has, too.

    A sample takes part in the comparison of a metric when both sides scored it; its weight is that
    of this run. Holm's adjustment is over the metrics that are compared here.
    """
    theirs = frozenset(baseline.ids)
    shared = [sample for sample in result.samples if sample.sample_id in theirs]
    ours = {sample.sample_id for sample in result.samples}
    pairs = {
        name: (
            [score_of(sample, name) for sample in shared],
            [baseline.scores[name].get(sample.sample_id) for sample in shared],
        )
        for name in metrics
        if name in baseline.scores
    }
    compared = compare_paired(
        pairs,
        [sample.sample_weight for sample in shared],
        test=test.test,
        alpha=test.alpha,
        n_resamples=test.n_resamples,
        seed=test.seed,
    )
    return Comparison(
        baseline=baseline.name,
        test=test.test,
        alpha=test.alpha,
        metrics=compared,
        only_a=tuple(
            sample.sample_id for sample in result.samples if sample.sample_id not in theirs
        ),
        only_b=tuple(name for name in baseline.ids if name not in ours),
    )
