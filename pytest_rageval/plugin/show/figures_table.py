"""The tables of a scenario's metrics and gates in the terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Corrected,
    GateResult,
    MetricSummary,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.plugin.show.table_lines import MIN_NAME, Line, name_column, named, prose
from pytest_rageval.reports.causes import cause_lines
from pytest_rageval.reports.figures import figure, interval
from pytest_rageval.reports.missing import scored_figure
from pytest_rageval.reports.people import agreement_lines, corrected_figures
from pytest_rageval.text.printable import cells, one_line, pad, printable, wrapped

_HEAD = ("mean", "95 % interval", "weight", "scored")
_LEAST_WIDTHS = (7, 17, 8, 0)
_BY_PEOPLE = " by people"
_LINES_NEXT_TO_GATE = 2
"""A message with more lines goes below its gate, in the full width."""

_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@dataclass(frozen=True)
class _Figures:
    """The figures of all metrics as text, with the widths of their columns.

    In a narrow terminal the number of failed scores is omitted; other lines give it with reasons.
    """

    rows: dict[str, tuple[str, str, str, str]]
    widths: tuple[int, ...]
    room: int
    """The width that is left for names."""

    @classmethod
    def of(cls, result: ScenarioResult, width: int, *, is_short: bool = False) -> _Figures:
        rows = {}
        for name in (*result.metrics, WEIGHTED_SCORE):
            rows[name] = _row(result.summary_of(name), is_short=is_short)
            if name in result.corrected:
                rows[name + _BY_PEOPLE] = _corrected_row(result.corrected[name])
        least = (0, 0, 0, 0) if is_short else _LEAST_WIDTHS
        shown = [tuple(map(cells, row)) for row in (_HEAD, *rows.values())]
        widths = tuple(map(max, zip(least, *shown, strict=True)))
        room = width - sum(widths) - len(widths)
        if room < MIN_NAME and not is_short:
            return cls.of(result, width, is_short=True)
        return cls(rows, widths, max(room, len(WEIGHTED_SCORE)))

    def line(self, row: tuple[str, ...]) -> str:
        return " ".join(pad(text, width) for text, width in zip(row, self.widths, strict=True))


def figure_lines(result: ScenarioResult, width: int) -> Iterator[Line]:
    """Yield the weighted mean of each metric with its interval, weight and number of scores."""
    found = _Figures.of(result, width)
    column = figures_column(result, width)
    yield from named("metric", column, ((found.line(_HEAD), ""),))
    for name, row in found.rows.items():
        mean, rest = row[0], found.line(row)[len(row[0]) :]
        yield from named(name, column, ((mean, _band(result, name)), (rest, "")))
    for said in (*agreement_lines(result), *cause_lines(result)):
        yield from prose(said, width)


def figures_column(result: ScenarioResult, width: int) -> int:
    """Return the width of the column with the names of metrics and gates."""
    corrected = [name + _BY_PEOPLE for name in result.corrected]
    names = [
        *result.metrics,
        WEIGHTED_SCORE,
        *corrected,
        *(f"gate {gate.name}" for gate in result.gates),
    ]
    return name_column(names, _Figures.of(result, width).room)


def gate_lines(result: ScenarioResult, width: int) -> Iterator[Line]:
    """Yield the verdict of each gate with its message, below the figures of the metrics."""
    return verdict_lines(result.gates, figures_column(result, width), width)


def verdict_lines(gates: Iterable[GateResult], column: int, width: int) -> Iterator[Line]:
    """Yield the verdict of each gate with its message, in several lines if it is long.

    ``column`` is the width of the names.
    """
    before = column + len(" FAILED  ")
    for gate in gates:
        name = one_line(f"gate {gate.name}")
        word = "FAILED" if gate.outcome == "failed" else gate.outcome
        message = printable(gate.message)
        lines, indent = wrapped(message, width - before) or [""], before
        if len(lines) > _LINES_NEXT_TO_GATE or cells(name) > column:
            lines, indent = ["", *wrapped(message, width - 2)], 2
        verdict = (f"{word:<7} " if lines[0] else word, _COLOURS[gate.outcome])
        if cells(f"{name} {word}") > width:
            yield ((name, ""),)
            yield (("  ", ""), verdict)
        else:
            yield ((f"{pad(name, column)} ", ""), verdict, (lines[0], ""))
        for line in lines[1:]:
            yield ((" " * indent + line, ""),)


def _row(summary: MetricSummary | WeightedSummary, *, is_short: bool) -> tuple[str, str, str, str]:
    mean, weight = summary.mean, ""
    if isinstance(summary, MetricSummary):
        mean, weight = summary.weighted_mean, f"{summary.weight:g}"
    scored = scored_figure(summary)
    if is_short:
        scored = scored.partition(" ")[0]
    return figure(mean), interval(summary.ci_low, summary.ci_high), weight, scored


def _corrected_row(found: Corrected) -> tuple[str, str, str, str]:
    return figure(found.mean), interval(found.ci_low, found.ci_high), "", _labels(found)


def _labels(found: Corrected) -> str:
    return corrected_figures(found) if found.mean is not None else f"{found.labels} labelled"


def _band(result: ScenarioResult, name: str) -> str:
    """Return the colour of a mean: graded from 0 to 1, higher is better."""
    metric = name.removesuffix(_BY_PEOPLE)
    by_people = metric != name
    mean = result.corrected[metric].mean if by_people else result.mean_of(name)
    band = result.info.band_of(metric, mean)
    return {None: "", "good": "green", "warn": "yellow", "bad": "red"}[band]
