"""Compares a run with a baseline: samples are joined by id, each metric is tested."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pytest_rageval.model import (
    NOTHING,
    WEIGHTED_SCORE,
    Baseline,
    Comparison,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.stats.common import weighted_alike
from pytest_rageval.stats.groups import group_numbers
from pytest_rageval.stats.paired import compare_paired, correction_used
from pytest_rageval.stats.summary import weighted_interval
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored


def compare_runs(
    result: ScenarioResult,
    baseline: Baseline,
    metrics: Sequence[str],
    test: SignificanceTest,
    *,
    judged: Collection[str] | None = None,
    shifts: Mapping[str, float] = NOTHING,
) -> Comparison:
    """Return A (``result``) against B (``baseline``) for those of ``metrics`` that B has.

    A sample counts for a metric when both sides scored it, with its weight in A. Samples in a group
    (``group_by``) are tested together. p-values are adjusted over the metrics in ``judged``, or
    over all. ``shifts`` are added to the differences of a metric: with 0.02 the test asks whether A
    is more than 0.02 below B.
    """
    theirs = frozenset(baseline.ids)
    shared = [sample for sample in result.samples if sample.sample_id in theirs]
    ours = {sample.sample_id for sample in result.samples}
    both = {
        name: [paired_scores(result.info, sample, baseline, name) for sample in shared]
        for name in metrics
        if name in baseline.scores
    }
    pairs = {
        name: ([a for a, _ in scores], _shifted([b for _, b in scores], shifts, name))
        for name, scores in both.items()
    }
    compared = compare_paired(
        pairs,
        [sample.sample_weight for sample in shared],
        test=test.test,
        alpha=test.alpha,
        n_resamples=test.n_resamples,
        seed=test.seed,
        correction=test.correction,
        groups=group_numbers(result.info, shared),
        judged=judged,
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
        correction=correction_used(test.test, test.correction),
    )


def paired_scores(
    info: ScenarioInfo, sample: SampleResult, baseline: Baseline, name: str
) -> tuple[float | None, float | None]:
    """Return a sample's score in both runs, None where it is missing.

    Both weighted scores are over the same metrics: one that applies to the sample in only one run
    is left out of both. Where a metric failed there is no weighted score.
    """
    ours = score_of(sample, name)
    theirs = baseline.scores.get(name, NOTHING).get(sample.sample_id)
    if name != WEIGHTED_SCORE or ours is None or theirs is None:
        return ours, theirs
    known = baseline.scores
    counted = [one for one in info.metrics if one.weight > 0.0 and one.name in known]
    before = {one.name: known[one.name].get(sample.sample_id) for one in counted}
    first, second = weighted_alike(counted, (sample.scores, before), (ours, theirs))
    return first, second


def interval_of_fall(
    result: ScenarioResult, baseline: Baseline, metric: str, alpha: float, span: float
) -> tuple[float, float] | None:
    """Return the interval of A - B as that of a mean in the range -``span``..``span``.

    It counts one pair more that fell by the whole range, so that equal runs give it a width, too.
    None below two pairs (two groups).
    """
    groups = group_numbers(result.info, result.samples)
    both = [paired_scores(result.info, sample, baseline, metric) for sample in result.samples]
    rows = [
        (ours - theirs, sample.sample_weight, at if groups is None else groups[at])
        for at, (sample, (ours, theirs)) in enumerate(zip(result.samples, both, strict=True))
        if is_scored(ours) and is_scored(theirs)
    ]
    return weighted_interval(
        [difference for difference, _, _ in rows],
        [weight for _, weight, _ in rows],
        (-span, span),
        1.0 - alpha,
        [group for _, _, group in rows],
    )


def _shifted(
    scores: list[float | None], shifts: Mapping[str, float], name: str
) -> list[float | None]:
    by = shifts.get(name, 0.0)
    return scores if by == 0.0 else [None if one is None else one - by for one in scores]
