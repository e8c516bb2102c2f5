"""Says in a few lines how a judge stands against people, for the terminal and the summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import Agreement, Corrected, Disagreement, ScenarioResult
from pytest_rageval.reports.figures import figure
from pytest_rageval.stats.wording import counted, not_counted

SHOWN: Final = 3
"""How many disagreements are shown where there is little room."""

FEW: Final = 10
_REASON: Final = 120


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
        for one in found.disagreements[:SHOWN]:
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
    reason = f": {shorten(' '.join(one.reason.split()), _REASON)}" if one.reason else ""
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
