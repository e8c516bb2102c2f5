"""What there is to say of a run in words and figures, for every output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    CAUSES,
    EMPTY_ANSWER,
    NO_CONTROLS,
    NOT_ASKED,
    TARGET,
    Agreement,
    Corrected,
    Counts,
    Disagreement,
    MetricSummary,
    RankedVariant,
    Ranking,
    SampleResult,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.stats.aggregate import replies_text, reply_counts
from pytest_rageval.stats.verdict import has_failed, unwritten
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted, not_counted, p_figure


def figure(value: float | None) -> str:
    """Return a score, a mean, or a dash.

    >>> figure(0.75), figure(None)
    ('0.7500', '-')
    """
    return "-" if value is None else f"{value:.4f}"


def change(value: float | None) -> str:
    """Return a difference with its sign, or a dash.

    >>> change(0.75), change(-0.75), change(None)
    ('+0.7500', '-0.7500', '-')
    """
    return "-" if value is None else f"{value:+.4f}"


def interval(low: float | None, high: float | None) -> str:
    """Return the two ends of an interval, or a dash.

    >>> interval(0.25, 0.75), interval(None, None)
    ('0.2500..0.7500', '-')
    """
    return "-" if low is None or high is None else f"{figure(low)}..{figure(high)}"


def change_interval(low: float | None, high: float | None) -> str:
    """Return the two ends of the interval of a difference with their signs, or a dash.

    >>> change_interval(-0.25, 0.75)
    '-0.2500..+0.7500'
    """
    return "-" if low is None or high is None else f"{change(low)}..{change(high)}"


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
    yield from _invalid_rows(result)
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


def _invalid_rows(result: ScenarioResult) -> Iterator[Missing]:
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


_CAUSE_WIDTH = 160


def cause_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield how many low answers have which cause, then the first of each; nothing without any."""
    by_cause: dict[str, list[SampleResult]] = {cause: [] for cause in CAUSES}
    for sample in result.samples:
        if sample.cause is not None:
            by_cause[sample.cause].append(sample)
    found = {cause: samples for cause, samples in by_cause.items() if samples}
    if not found:
        return
    total = sum(map(len, found.values()))
    parts = ", ".join(f"{len(samples)} {cause}" for cause, samples in found.items())
    yield f"of {counted(total, 'low answer')} {parts}"
    for samples in found.values():
        yield f"{cause_text(samples[0])} ({samples[0].sample_id})"


def cause_text(sample: SampleResult) -> str:
    """Return the cause of a low answer, and what it was told by."""
    return f"{sample.cause}: {shorten(' '.join(sample.cause_reason.split()), _CAUSE_WIDTH)}"


MOST_DISAGREEMENTS: Final = 3
"""How many disagreements are shown where there is little room."""

FEW: Final = 10
_REASON_WIDTH: Final = 120


def agreement_lines(result: ScenarioResult) -> Iterator[str]:
    """Yield for each metric with labels how well it agrees, then the most surprising samples.

    Why there is no corrected mean is left to a gate that says it.
    """
    said = " ".join(gate.message for gate in result.gates)
    for name, corrected in result.corrected.items():
        if corrected.mean is None and corrected.why not in said:
            yield f"{name} by people: {corrected.why}"
    for name, found in result.agreement.items():
        if not found.n and not found.stale:
            continue
        yield f"{name} and people: {_agreement(found)}"
        for one in found.disagreements[:MOST_DISAGREEMENTS]:
            yield f"{name} on {one.sample_id}: {disagreement_text(one)}"


def corrected_figures(found: Corrected) -> str:
    """Return on how many answers with labels a corrected mean rests, or why there is none."""
    if found.mean is None:
        return found.why
    worth = "" if found.worth is None else f", worth {found.worth:.0f}"
    return f"{found.labels} labelled{worth}"


def disagreement_text(one: Disagreement) -> str:
    """Return what judge and people say of a sample, with the judge's reason."""
    people = f"people {one.human:g}"
    if one.annotators > 1:
        people += f" ({one.agreeing} of {one.annotators})"
    reason = f": {shorten(' '.join(one.reason.split()), _REASON_WIDTH)}" if one.reason else ""
    return f"judge {one.score:.4g}, {people}{reason}"


def _agreement(found: Agreement) -> str:
    parts = [counted(found.n, "labelled answer") + (" (too few)" if found.n < FEW else "")]
    if found.confusion and found.n:
        same = sum(row[at] for at, row in enumerate(found.confusion))
        parts.append(f"{same} agree")
    if found.kappa is not None:
        parts.append(f"kappa {_with_ends(found.kappa, found.kappa_low, found.kappa_high)}")
        parts.append(f"AC1 {_with_ends(found.ac1, found.ac1_low, found.ac1_high)}")
    elif "kappa" in found.why:
        parts.append(f"no kappa: {found.why['kappa']}")
    if len(found.levels) > 2 and found.weighted_kappa is not None:
        ends = found.weighted_kappa_low, found.weighted_kappa_high
        parts.append(f"weighted kappa {_with_ends(found.weighted_kappa, *ends)}")
    if found.ceiling is not None:
        ends = found.ceiling_low, found.ceiling_high
        parts.append(f"people among themselves {_with_ends(found.ceiling, *ends)}")
    if found.bias is not None:
        parts.append(f"judge minus people {found.bias:+.4f}")
    left_out = ", ".join(not_counted(found))
    return ", ".join(parts) + (f"; not counted: {left_out}" if left_out else "")


def _with_ends(value: float | None, low: float | None, high: float | None) -> str:
    """Return a figure with its interval, if it has one."""
    if low is None or high is None:
        return figure(value)
    return f"{figure(value)} ({figure(low)}..{figure(high)})"


_WHAT = {"unfaithful": "unfaithful answer", "unknown": "unexplained low answer"}

HEADS = ("mean", "95 % interval", "letters", "to the best", "p (max-T)")
"""The heads of the columns beside the variant's name."""


def ranking_rows(ranking: Ranking) -> list[tuple[str, tuple[str, ...]]]:
    """Return each variant with its figures as text, in the order of ``HEADS``."""
    columns = sorted({letter for one in ranking.variants for letter in one.letters})
    return [(one.name, _ranking_row(ranking, one, columns)) for one in ranking.variants]


def _ranking_row(ranking: Ranking, one: RankedVariant, columns: Sequence[str]) -> tuple[str, ...]:
    # One place for each letter, so that equal letters are below each other.
    letters = "".join(letter if letter in one.letters else " " for letter in columns)
    pair = ranking.pair(one.name, ranking.best)
    diff = None if pair is None or pair.diff is None else abs(pair.diff)
    if diff and ranking.higher_is_better:
        diff = 0.0 - diff
    adjusted = p_figure(None if pair is None else pair.p_adjusted)
    return figure(one.mean), interval(one.ci_low, one.ci_high), letters, change(diff), adjusted


def ranking_head(ranking: Ranking) -> str:
    """Return what the variants are ranked by, and over which samples."""
    order = "" if ranking.higher_is_better else ", lowest first"
    left_out = ranking.total - ranking.common
    lost = f", {left_out} of {ranking.total} lack a score somewhere" if left_out else ""
    part = "" if ranking.complete else "; a partial run, which decides nothing"
    return (
        f"by {ranking.metric}{order}, over {counted(ranking.common, 'common sample')}{lost}{part}"
    )


def ranking_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what the letters mean, or why there are none, and what changed in causes."""
    if ranking.undecided:
        yield f"no letters: {ranking.undecided}"
    elif any(one.letters for one in ranking.variants):
        how = f"max-T over {len(ranking.pairs)} pairs, " if len(ranking.pairs) > 1 else ""
        yield (f"variants that share a letter cannot be told apart ({how}alpha {ranking.alpha:g})")
    yield from cause_change_lines(ranking)
    yield from ranking.remarks


def cause_change_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what each variant mends and brings, against the reference; nothing for no change."""
    for one in ranking.causes:
        if one.mended or one.new:
            what = _WHAT.get(one.cause, f"{one.cause} failure")
            mended, new = _some(one.mended, what), _some(one.new, "new one")
            yield f"{one.variant} mends {mended} of {one.reference} and brings {new}"


def _some(count: int, what: str) -> str:
    return counted(count, what) if count else f"no {what}"
