"""Describes what is missing in the figures, for the terminal and reports: how much, and why.

Also which figures are not to be trusted, because their judge cannot do what it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_rageval.model import (
    EMPTY_ANSWER,
    NO_CONTROLS,
    NOT_ASKED,
    TARGET,
    Counts,
    MetricSummary,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.stats.summary import replies_text, reply_counts
from pytest_rageval.stats.verdict import has_failed, unwritten
from pytest_rageval.stats.weights import is_scored


@dataclass(frozen=True, slots=True)
class Missing:
    """Scores or rows that are in no figure; ``reason`` is that of the first."""

    text: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.text}, for instance: {self.reason}" if self.reason else self.text


def scored_figure(summary: MetricSummary | WeightedSummary) -> str:
    """Return how many of the samples have the score, and how many failed or are unscored.

    >>> scored_figure(WeightedSummary(0.5, 17, 3, None, None, failed=2))
    '17/20  2 failed (3 unscored)'
    """
    failed = f"  {summary.failed} failed" if summary.failed else ""
    gap = " " if failed else "  "
    unscored = f"{gap}({summary.unscored} unscored)" if summary.unscored else ""
    return f"{summary.n}/{summary.n + summary.unscored}{failed}{unscored}"


def stopped_text(counts: Counts) -> str:
    """Return what the figures of a run that stopped asking are of."""
    asked = f"{counts.ran} of {counts.samples} samples"
    return f"stopped when the verdict was certain: all figures are of the {asked} asked"


def missing_figures(result: ScenarioResult) -> Iterator[Missing]:
    """Yield what is missing: rows, then answers, then metrics that failed or do not apply.

    For a target that is not written yet, that alone: no metric has anything else to say.
    """
    yield from _invalid(result)
    skipped = sum(
        sample.outcome == "skipped" and not sample.invalid and not sample.is_left_out
        for sample in result.samples
    )
    if skipped:
        are = "is" if skipped == 1 else "are"
        yield Missing(f"{skipped} of {len(result.samples)} samples {are} skipped and in no figure")
    empty = sum(EMPTY_ANSWER in sample.reasons.values() for sample in result.samples)
    if empty:
        are = "answer is empty and has" if empty == 1 else "answers are empty and have"
        yield Missing(
            f"{empty} of {len(result.samples)} {are} the worst score of metrics that ask a model "
            "('empty_answer: null' leaves that to each metric)"
        )
    yield from control_remarks(result)
    expected = [sample for sample in result.samples if sample.is_expected]
    said = [unwritten(result.info.target, sample) for sample in expected]
    if said and all(said):
        yield Missing(
            f"{len(said)} of {len(result.samples)} samples are not answered", said[0] or ""
        )
        return
    for name, metric in result.metrics.items():
        if metric.unscored:
            yield from _of_metric(result, name, metric)
        if counts := reply_counts(result.samples, name):
            yield Missing(f"{name}: {replies_text(counts)}")


def control_remarks(result: ScenarioResult) -> Iterator[Missing]:
    """Yield which figures of a judge not to trust, and whose judge nothing is known of."""
    for name, verdict in result.controls.items():
        if said := verdict.remark(name):
            yield Missing(said)
    if without := [name for name, one in result.controls.items() if one == NO_CONTROLS]:
        yield Missing(f"no controls: {', '.join(without)}")


def _invalid(result: ScenarioResult) -> Iterator[Missing]:
    rows = [sample.invalid for sample in result.samples if sample.invalid is not None]
    if rows:
        count = f"{len(rows)} of {len(result.samples)} rows {'is' if len(rows) == 1 else 'are'}"
        yield Missing(f"{count} invalid and in no figure", rows[0])


def _of_metric(result: ScenarioResult, name: str, metric: MetricSummary) -> Iterator[Missing]:
    lacking = [
        sample
        for sample in result.samples
        if sample.is_expected and not is_scored(sample.scores.get(name))
    ]
    errors = (sample.errors.get(name) or sample.errors.get(TARGET) for sample in lacking)
    failed = [error for error in errors if error]
    reasons = [
        sample.reasons[name]
        for sample in lacking
        if name in sample.reasons and not has_failed(sample, name)
    ]
    total = metric.n + metric.unscored
    unasked = [error.removeprefix(NOT_ASKED) for error in failed if error.startswith(NOT_ASKED)]
    failed = [error for error in failed if not error.startswith(NOT_ASKED)]
    if unasked:
        count = f"{len(unasked)} of {total} samples"
        yield Missing(f"the judge was given up: {name} not asked on {count}", unasked[0])
    if failed:
        yield Missing(f"{name} failed on {len(failed)} of {total} samples", failed[0])
    if reasons:
        yield Missing(f"{name} does not apply to {len(reasons)} of {total} samples", reasons[0])
