"""The comparison table in the terminal: this run (A) against a baseline (B)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rageval.model import Comparison, MetricComparison, ScenarioResult
from pytest_rageval.plugin.show.table_lines import Line, name_column, named, plain, prose
from pytest_rageval.reports.figures import change, change_interval, figure
from pytest_rageval.stats.wording import Word, correction_name, p_figure, verdict_word
from pytest_rageval.text.printable import cells, one_line

_LISTED = 5


def comparison_lines(
    result: ScenarioResult, comparison: Comparison, column: int, width: int
) -> Iterator[Line]:
    """Yield the table in ``width`` cells; ``column`` is the width of the names in the table above.

    If the lines are too long, each metric has two: its figures, then interval and p-values.
    """
    lower_is_better = {found.name for found in result.info.metrics if not found.higher_is_better}
    rows = [
        _Row(name, found, verdict_word(found, higher_is_better=name not in lower_is_better))
        for name, found in comparison.metrics.items()
    ]
    baseline = one_line(comparison.baseline)
    head = f"A this run, B {baseline}, test {comparison.test}, alpha {comparison.alpha:g}"
    yield (("", ""),)
    yield from prose(head, width)
    wide = list(_wide(comparison, rows, column))
    fits = all(cells(plain(line)) <= width for line in wide)
    yield from wide if fits else _narrow(comparison, rows, width)
    for row in rows:
        if remark := row.found.undecided or (row.found.note if row.found.n_nonzero else ""):
            yield from prose(f"{one_line(row.metric)}: {remark}", width)
    reaches = [row.reach for row in rows if row.reach]
    if reaches:
        yield from prose(f"a difference would show from: {', '.join(reaches)} (power 80 %)", width)
    yield from _unpaired("only in this run", comparison.only_a, width)
    if result.complete:  # a partial run lacks samples of B on purpose
        yield from _unpaired(f"only in {baseline}", comparison.only_b, width)


@dataclass(frozen=True)
class _Row:
    metric: str
    found: MetricComparison
    verdict: Word

    @property
    def coloured(self) -> tuple[str, str]:
        """The verdict with its colour."""
        if self.verdict == "no difference shown" and self.found.note and not self.reach:
            return self.verdict, "yellow"
        return self.verdict, {"better": "green", "worse": "red"}.get(self.verdict, "")

    @property
    def reach(self) -> str:
        """The smallest detectable difference, if it is larger than the one found, else ""."""
        smallest = self.found.smallest_detectable
        if self.verdict != "no difference shown" or smallest is None:
            return ""
        is_below = abs(self.found.diff or 0.0) < smallest
        return f"{one_line(self.metric)} {figure(smallest)}" if is_below else ""


def _wide(comparison: Comparison, rows: Sequence[_Row], column: int) -> Iterator[Line]:
    column = max([column, *(cells(one_line(row.metric)) for row in rows)])
    adjusted = f"p ({correction_name(comparison.correction)})"
    heads = (
        "A_mean  B_mean  Diff(A-B)  "
        f"{_interval_name(comparison):<16}  p        {adjusted:<9} n     verdict"
    )
    yield from named("metric", column, ((heads, ""),))
    for row in rows:
        found = row.found
        figures = (
            f"{figure(found.a_mean):<6}  {figure(found.b_mean):<6}  {change(found.diff):<9}  "
            f"{change_interval(found.ci_low, found.ci_high):<16}  "
            f"{p_figure(found.p_value):<8} {p_figure(found.p_adjusted):<9} {found.n:<4}  "
        )
        yield from named(row.metric, column, ((figures, ""), row.coloured))


def _narrow(comparison: Comparison, rows: Sequence[_Row], width: int) -> Iterator[Line]:
    heads = "A_mean B_mean Diff    "
    room = width - len(heads) - len(" no difference shown")
    column = name_column((row.metric for row in rows), room)
    correction = correction_name(comparison.correction)
    yield from named("metric", column, ((f"{heads}verdict", ""),))
    yield ((f"  {_interval_name(comparison):<17} p        p ({correction})", ""),)
    for row in rows:
        found = row.found
        means = f"{figure(found.a_mean):<6} {figure(found.b_mean):<6} {change(found.diff):<7} "
        yield from named(row.metric, column, ((means, ""), row.coloured))
        ends = change_interval(found.ci_low, found.ci_high)
        chance = f"{p_figure(found.p_value):<8} {p_figure(found.p_adjusted):<9}"
        yield ((f"  {ends:<17} {chance} n {found.n}", ""),)


def _interval_name(comparison: Comparison) -> str:
    return f"{100 * (1 - comparison.alpha):.3g} % interval"


def _unpaired(where: str, sample_ids: Sequence[str], width: int) -> Iterator[Line]:
    if sample_ids:
        more = ", …" if len(sample_ids) > _LISTED else ""
        listed = ", ".join(one_line(sample_id) for sample_id in sample_ids[:_LISTED])
        yield from prose(f"{len(sample_ids)} samples {where}: {listed}{more}", width, "yellow")
