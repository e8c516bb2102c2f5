"""Figures as text, and words: for counts, comparisons, labels of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    CAUSES,
    Agreement,
    Corrected,
    Correction,
    Disagreement,
    Estimate,
    MadeQuestions,
    MetricComparison,
    Ranking,
    SampleResult,
    ScenarioInfo,
)

Word = Literal["better", "worse", "equal", "no difference shown", "undecided", "not judged"]

_CORRECTIONS: Final[dict[Correction, str]] = {"max-t": "max-T", "holm": "Holm", "none": "raw"}
_FEW_LABELS: Final = 10
_REASON_WIDTH: Final = 120
_CAUSE_WIDTH: Final = 160


def figure(value: float | None) -> str:
    """Return a score, a mean, or a dash.

    >>> figure(0.75), figure(None), figure(-1e-9)
    ('0.7500', '-', '0.0000')
    """
    return "-" if value is None else f"{value:z.4f}"


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


def interval_name(alpha: float) -> str:
    """Return the name of an interval by its confidence, with digits enough not to be 100 (up to 9).

    >>> interval_name(0.05), interval_name(0.0005)
    ('95 % interval', '99.95 % interval')
    """
    texts = [f"{100 * (1 - alpha):.{digits}g}" for digits in range(3, 10)]
    return next((text for text in texts if text != "100"), texts[-1]) + " % interval"


ALL_EQUAL: Final = "no difference in any sample"


def remark_of(compared: MetricComparison) -> str:
    """Return what is to be said of a comparison beside its verdict, which says "equal" itself."""
    return compared.undecided or ("" if compared.note == ALL_EQUAL else compared.note)


def left_out(count: int, where: str, whole: str) -> str:
    """Return of how many samples the weighted scores leave out a metric.

    >>> left_out(2, "one run", "both")
    'of 2 samples a metric applies in one run only, and is left out of both'
    """
    only = f"a metric applies in {where} only, and is left out of {whole}"
    return f"of {counted(count, 'sample')} {only}"


def verdict_word(compared: MetricComparison, *, higher_is_better: bool) -> Word:
    """Return what a comparison shows of this run (A).

    ``undecided``: data of this size could not show a difference. ``not judged``: the metric is
    shown, but not among those that are tested together.
    """
    if compared.significant and compared.diff:
        return "better" if (compared.diff > 0) == higher_is_better else "worse"
    if compared.undecided or compared.diff is None:
        return "undecided"
    if compared.n_nonzero == 0:
        return "equal"
    return "not judged" if compared.p_adjusted is None else "no difference shown"


def p_figure(p_value: float | None) -> str:
    """Return a p-value, or a dash; a small one is never shown as 0.

    >>> p_figure(0.05), p_figure(0.00001), p_figure(None)
    ('0.0500', '<0.0001', '-')
    """
    if p_value is None:
        return "-"
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def estimate_text(found: Estimate, info: ScenarioInfo) -> str:
    """Return what an estimated mean is of, and its interval."""
    against = "" if info.sample is None else f" and {info.sample.against}"
    changed = "" if found.changed is None else f", {found.changed:,} answers changed"
    asked = f"estimated over all {found.rows:,} rows from {found.asked:,} asked{against}{changed}"
    return asked if found.mean is None else f"{asked}: {interval(found.ci_low, found.ci_high)}"


def sample_text(info: ScenarioInfo) -> str:
    """Return which rows were asked, "" where all were."""
    sample = info.sample
    if sample is None:
        return ""
    asked = f"{len(sample.drawn):,} of {sample.rows:,} rows asked (seed {sample.seed})"
    return f"sampled: {asked}; means over all rows are estimated with {sample.against}"


def made_text(made: MadeQuestions) -> str:
    """Return how many questions a model wrote, and how many of them people have seen.

    >>> made_text(MadeQuestions(50, reviewed=12, rejected=0, rows=80))
    '50 of 80 questions are made by a model, 12 of them reviewed by a person'
    """
    by_people = f"{made.reviewed} reviewed by a person"
    rejected = f", {counted(made.rejected, 'row')} rejected (left out)" if made.rejected else ""
    if made.count < made.rows:
        are = "is" if made.count == 1 else "are"
        by_people = by_people.replace(" ", " of them ", 1)
        head = f"{made.count} of {made.rows} questions {are} made by a model"
        return f"{head}, {by_people}{rejected}"
    return f"{counted(made.count, 'made question')}, {by_people}{rejected}"


def counted(count: int, what: str) -> str:
    """Return a number with what it counts.

    >>> counted(1, "group"), counted(3, "group")
    ('1 group', '3 groups')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def label_range(few: int, many: int, samples: int) -> str:
    """Return how many labels are needed of so many ``samples``; "" if all of them are too few.

    >>> label_range(149, 306, 1000), label_range(50, 50, 60), label_range(50, 61, 60)
    ('149 to 306', '50', '50 or more')
    """
    if few > samples:
        return ""
    if many > samples:
        return f"{few} or more"
    return f"{few} to {many}" if few < many else f"{many}"


def labelled_thing(has_cells: bool) -> str:
    """Return what labels are of: answers, or cells of support tables."""
    return "labelled cell" if has_cells else "labelled answer"


def not_counted(agreement: Agreement, *, has_cells: bool = False) -> Iterator[str]:
    """Yield how many answers, or cells, an agreement does not count, and why."""
    earlier = "whose statement or source is another now" if has_cells else ""
    reasons = {
        earlier or "with labels of earlier answers only": agreement.stale,
        "on which people are split": agreement.split,
        "without a score": agreement.unscored,
        "of a stratum without any label": agreement.unlabelled,
    }
    yield from (f"{count} {why}" for why, count in reasons.items() if count)


def correction_name(correction: Correction) -> str:
    """Return the name of a correction in tables and messages.

    >>> correction_name("max-t")
    'max-T'
    """
    return _CORRECTIONS[correction]


def corrected_figures(corrected: Corrected) -> str:
    """Return on how many labels a corrected mean rests and what they are worth, or why none."""
    if corrected.mean is None:
        return corrected.why
    worth = "" if corrected.worth is None else f", worth {corrected.worth:.0f}"
    return f"{corrected.labels} labelled{worth}"


def disagreement_text(sample: Disagreement, words: Mapping[float, str] | None = None) -> str:
    """Return what judge and people say of a sample, with the judge's reason.

    ``words`` are those of levels that have some.
    """
    words = words or {}
    people = f"people {words.get(sample.human, f'{sample.human:g}')}"
    if sample.annotators > 1:
        people += f" ({sample.agreeing} of {sample.annotators})"
    reason = f": {shorten(' '.join(sample.reason.split()), _REASON_WIDTH)}" if sample.reason else ""
    return f"judge {words.get(sample.score, f'{sample.score:.4g}')}, {people}{reason}"


def agreement_text(agreement: Agreement, *, has_cells: bool = False) -> str:
    """Return how well a metric agrees with people, and which labels are not counted."""
    few = " (too few)" if agreement.n < _FEW_LABELS else ""
    parts = [counted(agreement.n, labelled_thing(has_cells)) + few]
    if agreement.confusion and agreement.n:
        same = sum(row[at] for at, row in enumerate(agreement.confusion))
        parts.append(f"{same} agree")
    if agreement.kappa is not None:
        parts.append(
            f"kappa {_with_ends(agreement.kappa, agreement.kappa_low, agreement.kappa_high)}"
        )
        parts.append(f"AC1 {_with_ends(agreement.ac1, agreement.ac1_low, agreement.ac1_high)}")
    elif "kappa" in agreement.why:
        parts.append(f"no kappa: {agreement.why['kappa']}")
    if len(agreement.levels) > 2 and agreement.weighted_kappa is not None:
        ends = agreement.weighted_kappa_low, agreement.weighted_kappa_high
        parts.append(f"weighted kappa {_with_ends(agreement.weighted_kappa, *ends)}")
    if agreement.ceiling is not None:
        ends = agreement.ceiling_low, agreement.ceiling_high
        parts.append(f"people among themselves {_with_ends(agreement.ceiling, *ends)}")
    if agreement.bias is not None:
        parts.append(f"judge minus people {agreement.bias:+.4f}")
    left_out = ", ".join(not_counted(agreement, has_cells=has_cells))
    return ", ".join(parts) + (f"; not counted: {left_out}" if left_out else "")


def _with_ends(value: float | None, low: float | None, high: float | None) -> str:
    """Return a figure with its interval, if it has one."""
    if low is None or high is None:
        return figure(value)
    return f"{figure(value)} ({figure(low)}..{figure(high)})"


_WHAT = {"unfaithful": "unfaithful answer", "unknown": "unexplained low answer"}


def cause_lines(samples: Sequence[SampleResult]) -> Iterator[str]:
    """Yield how many low answers have each cause, and the reason of the first of each."""
    low = [sample for sample in samples if sample.cause is not None]
    by_cause = {cause: [sample for sample in low if sample.cause == cause] for cause in CAUSES}
    counts = [f"{len(found)} {cause}" for cause, found in by_cause.items() if found]
    if low:
        yield f"of {counted(len(low), 'low answer')} {', '.join(counts)}"
    for first in (found[0] for found in by_cause.values() if found):
        reason = shorten(" ".join(first.cause_reason.split()), _CAUSE_WIDTH)
        yield f"{first.cause}: {reason} ({first.sample_id})"


def cause_change_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what each variant mends and brings, against the reference; nothing for no change."""
    for causes in ranking.causes:
        if causes.mended or causes.new:
            what = _WHAT.get(causes.cause, f"{causes.cause} failure")
            mended, new = _some(causes.mended, what), _some(causes.new, "new one")
            yield f"{causes.variant} mends {mended} of {causes.reference} and brings {new}"


def _some(count: int, what: str) -> str:
    return counted(count, what) if count else f"no {what}"
