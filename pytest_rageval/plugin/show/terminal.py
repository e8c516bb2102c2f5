"""Prints a scenario's result in pytest's terminal summary: figures, gates, run folder."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    TARGET,
    WEIGHTED_SCORE,
    GateResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.plugin.show.failures import low_line
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.run_view import MeanRow, RunView, gate_word
from pytest_rageval.stats.weights import count_groups
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import cells, cut, one_line, pad, printable, wrapped


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
_LINES_NEXT_TO_GATE = 2
"""A message with more lines goes below its gate, in the full width."""

_BAND_COLOURS = {None: "", "good": "green", "warn": "yellow", "bad": "red"}
_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


@dataclass(frozen=True, slots=True)
class FigureTable:
    """The figures of all metrics as text, with the widths of their columns.

    In a narrow terminal the number of failed scores is omitted; other lines give it with reasons.
    ``column`` is the width of the names of metrics and gates.
    """

    view: RunView
    rows: Sequence[tuple[str, ...]]
    widths: Sequence[int]
    column: int

    @classmethod
    def of(cls, view: RunView, width: int, *, is_short: bool = False) -> FigureTable:
        """Return the table in ``width`` cells."""
        rows = [_short(mean) if is_short else mean.texts for mean in view.means]
        least = (0, 0, 0, 0) if is_short else _LEAST_WIDTHS
        used = [tuple(map(cells, row)) for row in (_HEAD, *rows)]
        widths = tuple(map(max, zip(least, *used, strict=True)))
        room = width - sum(widths) - len(widths)
        if room < MIN_NAME and not is_short:
            return cls.of(view, width, is_short=True)
        gates = (f"gate {gate.name}" for gate in view.result.gates)
        names = (*map(_title, view.means), *gates)
        return cls(view, rows, widths, name_column(names, max(room, len(WEIGHTED_SCORE))))

    def lines(self) -> Iterator[Line]:
        """Yield the weighted mean of each metric with its interval, weight and number of scores."""
        yield from named("metric", self.column, ((self._line(_HEAD), ""),))
        for mean, row in zip(self.view.means, self.rows, strict=True):
            rest = self._line(row)[len(row[0]) :]
            parts = ((row[0], _BAND_COLOURS[mean.band]), (rest, ""))
            yield from named(_title(mean), self.column, parts)

    def _line(self, row: Sequence[str]) -> str:
        return " ".join(pad(text, width) for text, width in zip(row, self.widths, strict=True))


def _title(mean: MeanRow) -> str:
    return f"{mean.name} by people" if mean.is_by_people else mean.name


def _short(mean: MeanRow) -> tuple[str, ...]:
    *figures, scored = mean.texts
    return (*figures, scored if mean.is_by_people else scored.partition(" ")[0])


def verdict_lines(gates: Iterable[GateResult], column: int, width: int) -> Iterator[Line]:
    """Yield the verdict of each gate with its message, in several lines if it is long.

    ``column`` is the width of the names.
    """
    before = column + len(" FAILED  ")
    for gate in gates:
        name = one_line(f"gate {gate.name}")
        word = gate_word(gate)
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


def overridden_lines(info: ScenarioInfo) -> list[str]:
    """Return a line with the file's overridden keys and what overrode each; [] without any."""
    pairs = zip(info.overridden, info.overridden_by, strict=True)
    listed = ", ".join(f"{name} ({source})" for name, source in pairs)
    return [f"overridden: {listed}"] if listed else []


def undecided_lines(
    results: Sequence[ScenarioResult],
    left_out: Iterable[ScenarioInfo],
    contests: Iterable[VariantComparison] = (),
) -> Iterator[str]:
    """Yield a line for each undecided scenario or contest, for users who read only the end.

    ``contests`` have the gates that compare variants. ``left_out`` are scenarios that were
    collected, but without a selected case.
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
    for contest in contests:
        gate = contest.gate
        if gate is not None and gate.outcome == "skipped":
            yield f"NOT DECIDED: gate {gate.name} of {one_line(contest.info.name)}, {gate.message}"
    paths = {result.info.path for result in results}
    for info in left_out:
        # Beside another run of the file, its name alone does not tell which one is meant.
        name = one_line(heading(info) if info.path in paths else info.title)
        yield f"NOT DECIDED: {name}, none of its {info.total} cases was selected"


def heading(info: ScenarioInfo) -> str:
    """Return the scenario's name, with the test function that ran it, if any."""
    return info.title if info.is_of_file else f"{info.title} ({info.nodeid})"


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
        result, view = self.result, RunView(self.result)
        table = FigureTable.of(view, width)
        terminal.ensure_newline()
        terminal.section(f"rageval: {one_line(heading(self.result.info))}", sep="=")
        write_lines(terminal, _head(view, width))
        write_lines(terminal, table.lines())
        write_lines(terminal, chain(_notes(view, width), _stability(result), _target(result)))
        write_lines(terminal, _extent(view))
        if view.compared:
            # Not at the top, here and below: most runs have nothing of the kind.
            from pytest_rageval.plugin.show.comparison_tables import comparison_lines

            write_lines(terminal, comparison_lines(view, table.column, width))
        write_lines(terminal, verdict_lines(result.gates, table.column, width))
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
        terminal.write_line(f"run  {printable(display_path(self.folder, self.root))}")
        page = self.folder / PAGE
        if page.is_file():
            terminal.write_line(f"page {printable(display_path(page, self.root))}")


_VERDICTS = {"passed": "green", "FAILED": "red", "undecided": "yellow", "not judged": ""}


def _head(view: RunView, width: int) -> Iterator[Line]:
    """Yield the verdict and, unless it says it all, what is wrong."""
    word = view.verdict
    yield ((word, _VERDICTS[word]), (cut(f": {view.ended}", width - len(word)), ""))
    if not view.is_plain:
        # Not at the top: most runs are green.
        from pytest_rageval.plugin.show.wrong_lines import wrong_lines

        yield from ((line,) for line in wrong_lines(view, width))


def _notes(view: RunView, width: int) -> Iterator[Line]:
    """Yield what people and causes say of the figures, and what is missing in them."""
    for line in (*view.people, *view.causes):
        yield from prose(line, width)
    for missing in view.remarks:
        yield ((shorten(printable(" ".join(str(missing).split())), 200), "yellow"),)


def display_path(path: Path, root: Path) -> str:
    """Return a path relative to ``root``, if it is below that."""
    relative = os.path.relpath(path, root)
    return str(path) if relative.startswith("..") else relative


def _extent(view: RunView) -> Iterator[Line]:
    """Yield how many groups there are, and of how many samples the figures are, if not of all."""
    result, counts = view.result, view.result.counts
    groups = count_groups(result.info, result.samples)
    if groups is not None:
        of = f"{counted(groups, 'group')} ({one_line(result.info.group_by or '')})"
        yield ((f"{counted(len(result.samples), 'sample')} in {of}", ""),)
    if view.asked:
        yield ((one_line(view.asked), "yellow" if result.info.sample else ""),)
    elif not result.complete:
        yield ((f"partial run: {counts.ran} of {counts.samples} samples", "yellow"),)


def _stability(result: ScenarioResult) -> Iterator[Line]:
    """Yield how many samples pass in some repeats only; nothing without thresholds or repeats."""
    if not result.info.thresholds or not any(sample.details for sample in result.samples):
        return
    from pytest_rageval.stats.stability import stability

    found = stability(result.info, result.samples)
    if found is not None:
        flips = f"{found.flips} of {found.samples} samples pass in some and fail in others"
        yield ((f"{found.repeats} repeats: {flips}", "yellow" if found.flips else ""),)


def _target(result: ScenarioResult) -> Iterator[Line]:
    """Yield how many samples the system under test answered, and how long it took."""
    samples, target = result.samples, result.info.target
    if not target:
        return
    from pytest_rageval.stats.summary import latency

    times = latency(s.answer_latency_s for s in samples if s.answer_latency_s is not None)
    lost = sum(TARGET in sample.errors for sample in samples)
    cached = sum(sample.is_kept for sample in samples)
    # Not the number of samples: a mark may keep a sample from running.
    answered = cached + (times.n if times is not None else 0)
    if not answered + lost:
        return
    parts = [f"{answered} of {answered + lost} answered"]
    parts += [f"{cached} of them from the cache"] if cached else []
    if times is not None:
        slow = f"p95 {times.p95_s:.2f} s, longest {times.max_s:.2f} s"
        parts.append(f"median {times.median_s:.2f} s, {slow}")
    line = f"target {target}: {', '.join(parts)}"
    yield ((printable(line), "yellow" if lost else ""),)
    details = (sample.details.get(TARGET) for sample in samples)
    cut_off = Counter(
        answer.get("max_tokens")
        for answer in details
        if isinstance(answer, Mapping) and answer.get("finish_reason") == "length"
    )
    for limit, number in cut_off.items():
        what = f"{counted(number, 'answer')} cut off at max_tokens {limit or 'of the server'}"
        yield ((printable(f"target {target}: {what}"), "yellow"),)
    thoughts = sum("</think>" in (sample.answer or "") for sample in samples)
    if thoughts:
        what = f"{counted(thoughts, 'answer')} judged with a model's thoughts (</think>)"
        advice = "have the server leave them out"
        yield ((printable(f"target {target}: {what}; {advice}"), "yellow"),)


def usage_line(usage: Mapping[str, float | None]) -> str:
    """Return one line with the calls, tokens and cost of a run's models."""
    # Not at the top: most runs ask no model.
    from pytest_rageval.clients.base import cost_text

    tokens = (usage["prompt_tokens"] or 0) + (usage["completion_tokens"] or 0)
    calls, cached, cost = usage["calls"], usage["cached"], usage["cost_usd"]
    asked_none = cost is None and not calls
    price = cost_text(0.0 if asked_none else cost, usage.get("unpriced")) or "no price given"
    return f"models: {calls} calls, {cached} answers from the cache, {tokens:,} tokens, {price}"
