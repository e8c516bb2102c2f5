"""Sums up the results of samples as the figures of a scenario, or of a slice of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from pytest_rageval.model import (
    FAULTS,
    NOT_ASKED,
    USABLE,
    WEIGHTED_SCORE,
    Counts,
    MetricColumn,
    MetricSummary,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.stats.summary import Groups, summarize
from pytest_rageval.stats.verdict import has_failed
from pytest_rageval.stats.weights import group_numbers, is_scored


def summarize_scenario(
    info: ScenarioInfo, samples: Iterable[SampleResult], complete: bool
) -> ScenarioResult:
    """Return counts, means and intervals over ``samples``, and the samples in dataset order.

    ``complete``: there is a result for every case. A run that stopped asking is not complete.
    Skipped samples and expected invalid rows count as neither scored nor unscored.
    """
    ordered = sorted(samples, key=lambda sample: sample.index)
    expected = [sample for sample in ordered if sample.is_expected]
    weights = [sample.sample_weight for sample in expected]
    groups = group_numbers(info, expected)
    counts = _counts(info, ordered)
    return ScenarioResult(
        info=info,
        counts=counts,
        complete=complete and not counts.not_asked,
        metrics={
            column.name: _metric_summary(column, expected, weights, groups)
            for column in info.metrics
        },
        weighted_score=_weighted_summary(info, expected, weights, groups),
        samples=ordered,
    )


def _counts(info: ScenarioInfo, samples: Sequence[SampleResult]) -> Counts:
    ended = Counter(sample.outcome for sample in samples)
    return Counts(
        samples=info.total,
        ran=sum(not sample.is_left_out for sample in samples),
        scored=sum(is_scored(sample.weighted_score) for sample in samples),
        passed=ended["passed"],
        failed=ended["failed"],
        error=ended["error"],
        skipped=ended["skipped"],
        xfailed=ended["xfailed"],
        invalid=sum(sample.invalid is not None for sample in samples),
        in_figures=sum(any(map(is_scored, sample.scores.values())) for sample in samples),
    )


def _metric_summary(
    column: MetricColumn,
    samples: Sequence[SampleResult],
    weights: Sequence[float],
    groups: Groups,
) -> MetricSummary:
    scores = [sample.scores.get(column.name) for sample in samples]
    found = summarize(scores, weights, column.range, groups=groups)
    failed = _failed(column.name, samples, found.unscored)
    return MetricSummary(weight=column.weight, failed=failed, **asdict(found))


def _weighted_summary(
    info: ScenarioInfo,
    samples: Sequence[SampleResult],
    weights: Sequence[float],
    groups: Groups,
) -> WeightedSummary:
    scores = [sample.weighted_score for sample in samples]
    found = summarize(scores, weights, info.weighted_range, groups=groups)
    return WeightedSummary(
        found.weighted_mean,
        found.n,
        found.unscored,
        found.ci_low,
        found.ci_high,
        _failed(WEIGHTED_SCORE, samples, found.unscored),
    )


def _failed(name: str, samples: Sequence[SampleResult], unscored: int) -> int:
    """Return how many samples have no score because something failed."""
    return sum(has_failed(sample, name) for sample in samples) if unscored else 0


def reply_counts(samples: Iterable[SampleResult], name: str) -> dict[str, int]:
    """Return how many replies a metric got: ``usable`` ones, then the others by their fault.

    {} where all that are on record could be used.
    """
    found: Counter[str] = Counter()
    for sample in samples:
        found.update(sample.replies.get(name) or {})
    faulty = {fault: found[fault] for fault in FAULTS if found[fault]}
    return {USABLE: found[USABLE], **faulty} if faulty else {}


def judge_failure(sample: SampleResult) -> str:
    """Return why a judge scored nothing of a sample, equal for equal kinds of replies.

    "" where it did, or where anything else went wrong.
    """
    said = []
    for name, error in sample.errors.items():
        found = sample.replies.get(name) or {}
        kinds = [words for fault, words in FAULTS.items() if found.get(fault)]
        if error.startswith(NOT_ASKED):
            kinds = ["not asked"]
        if not kinds or sample.scores.get(name) is not None:
            return ""
        said.append(f"{name}: {', '.join(kinds)}")
    return "; ".join(said)


def replies_text(counts: Mapping[str, int]) -> str:
    """Return in words what ``reply_counts`` found.

    >>> replies_text({"usable": 6, "example": 3, "cut_off": 1})
    "4 of 10 replies could not be used (40 %): repeats the prompt's example 3, cut off 1"
    """
    asked = sum(counts.values())
    bad = asked - counts[USABLE]
    kinds = ", ".join(f"{said} {counts[one]}" for one, said in FAULTS.items() if one in counts)
    return f"{bad} of {asked} replies could not be used ({_percent(bad, asked)}): {kinds}"


def _percent(part: int, whole: int) -> str:
    return "< 1 %" if 100 * part < whole else f"{100 * part // whole} %"
