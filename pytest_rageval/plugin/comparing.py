"""The table of a comparison in the terminal: this run (A) against a saved or an older one (B)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_rageval.model import Comparison, MetricComparison, ScenarioResult
from pytest_rageval.plugin.names import cells, pad, printable
from pytest_rageval.reports.figures import change, change_interval, figure, p_figure

_LISTED = 5


def write_comparison(
    terminal: pytest.TerminalReporter, result: ScenarioResult, comparison: Comparison, width: int
) -> None:
    """Write the table; ``width`` is that of the first column of the table of means."""
    lower_is_better = {column.name for column in result.info.metrics if not column.higher_is_better}
    name = printable(comparison.baseline)
    terminal.write_line("")
    terminal.write_line(f"A this run, B {name}, test {comparison.test}, alpha {comparison.alpha:g}")
    width = max([width, *(cells(printable(metric)) for metric in comparison.metrics)])
    interval = f"{100 * (1 - comparison.alpha):.3g} % interval"
    heads = f"A_mean  B_mean  Diff(A-B)  {interval:<16}  p (Holm) n     verdict"
    terminal.write_line(f"{pad('metric', width)} {heads}")
    for metric, found in comparison.metrics.items():
        terminal.write(f"{pad(printable(metric), width)} {_figures(found)} ")
        word, colour = _verdict(found, lower_is_better=metric in lower_is_better)
        terminal.write_line(word, **({colour: True} if colour else {}))
    for metric, found in comparison.metrics.items():
        if found.note and not _is_equal(found):
            terminal.write_line(f"{printable(metric)}: {found.note}")
    _write_unpaired(terminal, "only in this run", comparison.only_a)
    if result.complete:  # else what only B has was not asked for
        _write_unpaired(terminal, f"only in {name}", comparison.only_b)


def _figures(found: MetricComparison) -> str:
    return (
        f"{figure(found.a_mean):<6}  {figure(found.b_mean):<6}  {change(found.diff):<9}  "
        f"{change_interval(found.ci_low, found.ci_high):<16}  "
        f"{p_figure(found.p_adjusted):<8} {found.n:<4} "
    )


def _verdict(found: MetricComparison, *, lower_is_better: bool) -> tuple[str, str]:
    """Return the verdict in words, and its colour."""
    if found.significant and found.diff:
        is_better = (found.diff < 0) == lower_is_better
        return "higher" if found.diff > 0 else "lower", "green" if is_better else "red"
    if _is_equal(found):
        return "equal", ""
    if found.smallest_detectable is None or found.note:
        return "undecided", ""
    return f"no difference shown (from {figure(found.smallest_detectable)} upwards it would be)", ""


def _is_equal(found: MetricComparison) -> bool:
    return found.diff == 0.0 and found.n_nonzero == 0


def _write_unpaired(
    terminal: pytest.TerminalReporter, where: str, sample_ids: Sequence[str]
) -> None:
    if sample_ids:
        more = ", …" if len(sample_ids) > _LISTED else ""
        listed = ", ".join(printable(sample_id) for sample_id in sample_ids[:_LISTED])
        terminal.write_line(f"{len(sample_ids)} samples {where}: {listed}{more}", yellow=True)
