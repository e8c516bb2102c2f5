"""Prints to standard output, for options that run no tests."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_rageval.engine.verdict.contests import Contested
from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    TARGET,
    WEIGHTED_SCORE,
    Corrected,
    GateResult,
    MetricSummary,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.plugin.show.failures import low_line
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.run_view import (
    agreement_lines,
    cause_lines,
    corrected_figures,
    figure,
    interval,
    missing_figures,
    scored_figure,
    stopped_text,
)
from pytest_rageval.stats.weights import count_groups
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.cells import cells, pad, wrapped
from pytest_rageval.text.printable import one_line, printable


def say(text: str) -> None:
    """Print ``text``; characters that the terminal's encoding lacks are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


Line = tuple[tuple[str, str], ...]
"""The parts of a line: a text and a colour, which may be empty."""

MIN_NAME = 22
"""The smallest width of a column of names, if there is room."""


def write_lines(terminal: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    """Write lines to pytest's terminal."""
    for line in lines:
        for text, colour in line[:-1]:
            terminal.write(text, **({colour: True} if colour else {}))
        text, colour = line[-1]
        terminal.write_line(text.rstrip(), **({colour: True} if colour else {}))


def terminal_width(config: pytest.Config) -> int:
    """Return how many columns the terminal has, 80 without one (``-p no:terminal``)."""
    has_terminal = config.pluginmanager.has_plugin("terminalreporter")
    return config.get_terminal_writer().fullwidth if has_terminal else 80


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(text for text, _ in line).rstrip()


def name_column(names: Iterable[str], room: int) -> int:
    """Return the width of a column for ``names``, of ``room`` cells at most.

    Names that do not fit get lines of their own, and do not count.
    """
    widths = [cells(one_line(name)) for name in names]
    return max([min(MIN_NAME, room), *(width for width in widths if width <= room)])


def named(name: str, column: int, rest: Line) -> Iterator[Line]:
    """Yield ``name`` followed by ``rest``; a name too long for the column has its own line."""
    shown = one_line(name)
    if cells(shown) > column:
        yield ((shown, ""),)
        shown = ""
    yield ((f"{pad(shown, column)} ", ""), *rest)


def prose(text: str, width: int, colour: str = "") -> Iterator[Line]:
    """Yield ``text`` in lines of ``width`` cells, all but the first one indented."""
    first, *more = wrapped(printable(text), width) or [""]
    yield ((first, colour),)
    for line in wrapped(" ".join(more), width - 2):
        yield ((f"  {line}", colour),)


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


def overridden_lines(info: ScenarioInfo) -> list[str]:
    """Return a line with the overridden values of the file and the sources of the new ones."""
    pairs = zip(info.overridden, info.overridden_by, strict=True)
    listed = ", ".join(f"{name} ({source})" for name, source in pairs)
    return [f"overridden: {listed}"] if listed else []


def undecided_lines(
    results: Iterable[ScenarioResult],
    left_out: Iterable[ScenarioInfo],
    contests: Iterable[Contested] = (),
) -> Iterator[str]:
    """Yield a line for each scenario with undecided gates, for users who read only the end.

    ``left_out`` are scenarios that were collected, but without a selected case.
    """
    for result in results:
        skipped = [gate for gate in result.gates if gate.outcome == "skipped"]
        if skipped:
            ran = f"{result.counts.ran} of {result.counts.samples} samples ran"
            hint = "--rag-strict fails such a run"
            why = skipped[0].message if result.complete else f"{ran}; {hint}"
            total = len(result.gates)
            what = f"{len(skipped)} of {total} gates of {one_line(result.info.title)}"
            yield f"NOT DECIDED: {what}, {why}"
    for found in contests:
        gate = found.gate
        if gate is not None and gate.outcome == "skipped":
            yield f"NOT DECIDED: gate {gate.name} of {one_line(found.info.name)}, {gate.message}"
    for info in left_out:
        yield f"NOT DECIDED: {one_line(info.title)}, none of its {info.total} cases was selected"


@dataclass(frozen=True, slots=True)
class ScenarioTable:
    """Prints one scenario's result; ``folder`` has its files, or is a sentence why there are none.

    ``remarks`` are printed at the end.
    """

    result: ScenarioResult
    folder: Path | str
    root: Path
    remarks: Sequence[str] = ()

    def write(self, terminal: pytest.TerminalReporter, width: int) -> None:
        """Write the table to pytest's terminal, which has ``width`` columns."""
        result = self.result
        column = figures_column(result, width)
        terminal.ensure_newline()
        terminal.section(f"rageval: {one_line(self._heading)}", sep="=")
        write_lines(terminal, figure_lines(result, width))
        self._first_errors(terminal)
        self._stability(terminal)
        self._target(terminal)
        groups = count_groups(result.info, result.samples)
        if groups is not None:
            field = one_line(result.info.group_by or "")
            terminal.write_line(f"{len(result.samples)} samples in {groups} groups ({field})")
        counts = result.counts
        if counts.not_asked:
            terminal.write_line(stopped_text(counts))
        elif not result.complete:
            terminal.write_line(
                f"partial run: {counts.ran} of {counts.samples} samples", yellow=True
            )
        if result.comparison is not None:
            # Not at the top, here and below: most runs have nothing of the kind.
            from pytest_rageval.plugin.show.comparison_tables import comparison_lines

            write_lines(terminal, comparison_lines(result, result.comparison, column, width))
        write_lines(terminal, gate_lines(result, width))
        if low := low_line(result):
            is_shown = isinstance(self.folder, Path) and (self.folder / PAGE).is_file()
            terminal.write_line(low if is_shown else f"{low}; --rag-report=html shows them")
        self._files(terminal)
        for line in result.info.unlike:
            terminal.write_line(printable(line), yellow=True)
        for line in self.remarks:
            terminal.write_line(printable(line))

    def _files(self, terminal: pytest.TerminalReporter) -> None:
        if isinstance(self.folder, str):
            terminal.write_line(f"run  {printable(self.folder)}", red=True)
            return
        terminal.write_line(f"run  {printable(self._shown(self.folder))}")
        page = self.folder / PAGE
        if page.is_file():
            terminal.write_line(f"page {printable(self._shown(page))}")

    @property
    def _heading(self) -> str:
        """The scenario's name, with the test function that ran it, if any."""
        info = self.result.info
        return info.title if info.is_of_file else f"{info.title} ({info.nodeid})"

    def _first_errors(self, terminal: pytest.TerminalReporter) -> None:
        """Print a reason for each metric with missing scores, and for invalid rows."""
        for said in missing_figures(self.result):
            line = " ".join(str(said).split())
            terminal.write_line(shorten(printable(line), 200), yellow=True)

    def _stability(self, terminal: pytest.TerminalReporter) -> None:
        if not any(sample.details for sample in self.result.samples):
            return
        from pytest_rageval.stats.stability import stability

        found = stability(self.result.info, self.result.samples)
        if found is not None:
            line = f"{found.flips} of {found.samples} samples pass in some and fail in others"
            terminal.write_line(f"{found.repeats} repeats: {line}", yellow=found.flips > 0)

    def _target(self, terminal: pytest.TerminalReporter) -> None:
        """Print how many samples the system under test answered, and how long it took."""
        samples, target = self.result.samples, self.result.info.target
        if not target:
            return
        from pytest_rageval.stats.summary import latency

        found = latency(s.answer_latency_s for s in samples if s.answer_latency_s is not None)
        lost = sum(TARGET in sample.errors for sample in samples)
        kept = sum(sample.is_kept for sample in samples)
        # Not the number of samples: a mark may keep a sample from running.
        answered = kept + (found.n if found is not None else 0)
        if not answered + lost:
            return
        parts = [f"{answered} of {answered + lost} answered"]
        parts += [f"{kept} of them from the cache"] if kept else []
        if found is not None:
            times = f"{found.median_s:.2f} s, p95 {found.p95_s:.2f} s, longest {found.max_s:.2f} s"
            parts.append(f"median {times}")
        line = f"target {target}: {', '.join(parts)}"
        terminal.write_line(printable(line), yellow=lost > 0)
        for limit, number in Counter(_cut_off(samples)).items():
            said = f"{counted(number, 'answer')} cut off at max_tokens {limit or 'of the server'}"
            terminal.write_line(printable(f"target {target}: {said}"), yellow=True)

    def _shown(self, path: Path) -> str:
        relative = os.path.relpath(path, self.root)
        return str(path) if relative.startswith("..") else relative


def _cut_off(samples: Iterable[SampleResult]) -> Iterator[object]:
    """Yield the limit of each answer of a model under test that ends there, None if not known."""
    for sample in samples:
        said = sample.details.get(TARGET)
        if isinstance(said, Mapping) and said.get("finish_reason") == "length":
            yield said.get("max_tokens")


def usage_line(usage: Mapping[str, float | None]) -> str:
    """Return one line with the calls, tokens and cost of a run's models."""
    tokens = (usage["prompt_tokens"] or 0) + (usage["completion_tokens"] or 0)
    cost = usage["cost_usd"]
    price = "no price given" if cost is None and usage["calls"] else f"{cost or 0.0:.4f} USD"
    calls, cached = usage["calls"], usage["cached"]
    return f"models: {calls} calls, {cached} answers from the cache, {tokens:,} tokens, {price}"
