"""The table of a scenario in pytest's terminal summary: means, intervals, gates, run folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pytest_rageval.errors import shorten
from pytest_rageval.model import TARGET, GateResult, ScenarioResult
from pytest_rageval.plugin.comparing import write_comparison
from pytest_rageval.plugin.names import cells, pad, printable
from pytest_rageval.reports.figures import figure, interval
from pytest_rageval.reports.summary_md import first_reasons
from pytest_rageval.stats.latency import latency
from pytest_rageval.stats.stability import stability

_MIN_NAME = 22


class ScenarioTable:
    """Writes one scenario's result; ``folder`` is where its files are, or why there are none.

    ``remarks`` are lines for the end.
    """

    def __init__(
        self,
        result: ScenarioResult,
        folder: Path | str,
        root: Path,
        remarks: Sequence[str] = (),
    ) -> None:
        self._result = result
        self._folder = folder
        self._root = root
        self._remarks = remarks
        names = [*result.metrics, "weighted_score", *(f"gate {gate.name}" for gate in result.gates)]
        self._width = max(_MIN_NAME, *(cells(printable(name)) for name in names))

    def write(self, terminal: pytest.TerminalReporter) -> None:
        """Write the table to pytest's terminal."""
        result = self._result
        terminal.ensure_newline()
        terminal.section(f"rageval: {printable(self._heading)}", sep="=")
        head = f"{pad('metric', self._width)} mean    95 % interval     weight   scored"
        terminal.write_line(head)
        for name, metric in result.metrics.items():
            ends = interval(metric.ci_low, metric.ci_high)
            line = f"{ends:<17} {metric.weight:<8g} {_scored(metric.n, metric.unscored)}"
            self._figure(terminal, name, metric.weighted_mean, line, self._graded(name))
        overall = result.weighted_score
        ends = interval(overall.ci_low, overall.ci_high)
        line = f"{ends:<17} {'':<8} {_scored(overall.n, overall.unscored)}"
        self._figure(terminal, "weighted_score", overall.mean, line, overall.mean)
        self._first_errors(terminal)
        self._stability(terminal)
        self._target(terminal)
        if not result.complete:
            counts = result.counts
            terminal.write_line(
                f"partial run: {counts.ran} of {counts.samples} samples", yellow=True
            )
        if result.comparison is not None:
            write_comparison(terminal, result, result.comparison, self._width)
        for gate in result.gates:
            self._gate(terminal, gate)
        if isinstance(self._folder, str):
            terminal.write_line(f"run  {self._folder}", red=True)
        else:
            terminal.write_line(f"run  {self._shown(self._folder)}")
        for line in self._remarks:
            terminal.write_line(printable(line))

    @property
    def _heading(self) -> str:
        """The scenario's name, and the test function that ran it, where one did."""
        info = self._result.info
        return info.name if info.nodeid == info.path else f"{info.name} ({info.nodeid})"

    def _graded(self, name: str) -> float | None:
        """Return a metric's mean as bands grade it: from 0 to 1, higher is better."""
        mean = self._result.mean_of(name)
        columns = {column.name: column for column in self._result.info.metrics}
        return None if mean is None else columns[name].to_unit(mean)

    def _figure(
        self,
        terminal: pytest.TerminalReporter,
        name: str,
        mean: float | None,
        rest: str,
        graded: float | None,
    ) -> None:
        good, warn = self._result.info.bands
        terminal.write(f"{pad(printable(name), self._width)} ")
        if mean is None or graded is None:
            terminal.write(f"{figure(None):<7}")
        else:
            band = "green" if graded >= good else "yellow" if graded >= warn else "red"
            terminal.write(f"{figure(mean):<7}", **{band: True})
        terminal.write_line(f" {rest}".rstrip())

    def _first_errors(self, terminal: pytest.TerminalReporter) -> None:
        """Quote one reason for each metric that could not score everything."""
        for name, reason in first_reasons(self._result).items():
            line = f"{name} unscored, for instance: {' '.join(reason.split())}"
            terminal.write_line(shorten(printable(line), 200), yellow=True)

    def _stability(self, terminal: pytest.TerminalReporter) -> None:
        found = stability(self._result.info, self._result.samples)
        if found is not None:
            line = f"{found.flips} of {found.samples} samples pass in some and fail in others"
            terminal.write_line(f"{found.repeats} repeats: {line}", yellow=found.flips > 0)

    def _target(self, terminal: pytest.TerminalReporter) -> None:
        """Say how many samples the system under test answered, and how long it took."""
        samples, target = self._result.samples, self._result.info.target
        found = latency(s.answer_latency_s for s in samples if s.answer_latency_s is not None)
        lost = sum(TARGET in sample.errors for sample in samples)
        kept = sum(sample.is_kept for sample in samples)
        # Who was asked is not who is expected: a mark may keep a sample from being run.
        answered = kept + (found.n if found is not None else 0)
        if not target or not answered + lost:
            return
        parts = [f"{answered} of {answered + lost} answered"]
        parts += [f"{kept} of them from the cache"] if kept else []
        if found is not None:
            times = f"{found.median_s:.2f} s, p95 {found.p95_s:.2f} s, longest {found.max_s:.2f} s"
            parts.append(f"median {times}")
        line = f"target {target}: {', '.join(parts)}"
        terminal.write_line(printable(line), yellow=lost > 0)

    def _gate(self, terminal: pytest.TerminalReporter, gate: GateResult) -> None:
        colour = {"passed": "green", "failed": "red", "skipped": "yellow"}[gate.outcome]
        word = "FAILED" if gate.outcome == "failed" else gate.outcome
        terminal.write(f"{pad(printable(f'gate {gate.name}'), self._width)} ")
        terminal.write(f"{word:<7}", **{colour: True})
        terminal.write_line(f" {printable(gate.message)}")

    def _shown(self, path: Path) -> str:
        relative = os.path.relpath(path, self._root)
        return str(path) if relative.startswith("..") else relative


def _scored(n: int, unscored: int) -> str:
    remark = f"  ({unscored} unscored)" if unscored else ""
    return f"{n}/{n + unscored}{remark}"


def usage_line(usage: Mapping[str, float | None]) -> str:
    """Return what the models of a run were asked and what it cost, in one line."""
    tokens = (usage["prompt_tokens"] or 0) + (usage["completion_tokens"] or 0)
    cost = usage["cost_usd"]
    price = "no price given" if cost is None and usage["calls"] else f"{cost or 0.0:.4f} USD"
    calls, cached = usage["calls"], usage["cached"]
    return f"models: {calls} calls, {cached} answers from the cache, {tokens:,} tokens, {price}"
