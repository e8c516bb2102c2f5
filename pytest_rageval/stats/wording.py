"""Words for a comparison: its verdict, p-values, counts, and the name of the correction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from pytest_rageval.model import Agreement, Correction, MetricComparison

Word = Literal["better", "worse", "equal", "no difference shown", "undecided", "not judged"]

_CORRECTIONS: Final[dict[Correction, str]] = {"max-t": "max-T", "holm": "Holm", "none": "raw"}


def verdict_word(found: MetricComparison, *, higher_is_better: bool) -> Word:
    """Return what a comparison shows of this run (A).

    ``undecided``: data of this size could not show a difference. ``not judged``: the metric is
    shown, but not among those that are tested together.
    """
    if found.significant and found.diff:
        return "better" if (found.diff > 0) == higher_is_better else "worse"
    if found.undecided or found.diff is None:
        return "undecided"
    if found.n_nonzero == 0:
        return "equal"
    return "not judged" if found.p_adjusted is None else "no difference shown"


def p_figure(p_value: float | None) -> str:
    """Return a p-value, or a dash; a small one is never shown as 0.

    >>> p_figure(0.05), p_figure(0.00001), p_figure(None)
    ('0.0500', '<0.0001', '-')
    """
    if p_value is None:
        return "-"
    return "<0.0001" if p_value < 0.0001 else f"{p_value:.4f}"


def counted(count: int, what: str) -> str:
    """Return a number with what it counts.

    >>> counted(1, "group"), counted(3, "group")
    ('1 group', '3 groups')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def label_range(few: int, many: int, there: int) -> str:
    """Return how many labels are needed of ``there`` samples; "" if all of them are too few.

    >>> label_range(149, 306, 1000), label_range(50, 50, 60), label_range(50, 61, 60)
    ('149 to 306', '50', '50 or more')
    """
    if few > there:
        return ""
    if many > there:
        return f"{few} or more"
    return f"{few} to {many}" if few < many else f"{many}"


def not_counted(found: Agreement) -> Iterator[str]:
    """Yield how many answers with labels an agreement does not count, and why."""
    reasons = {
        "with labels of earlier answers only": found.stale,
        "on which people are split": found.split,
        "without a score": found.unscored,
    }
    yield from (f"{count} {why}" for why, count in reasons.items() if count)


def correction_name(correction: Correction) -> str:
    """Return the name of a correction in tables and messages.

    >>> correction_name("max-t")
    'max-T'
    """
    return _CORRECTIONS[correction]
