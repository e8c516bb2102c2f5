"""Prints a scenario's result in pytest's terminal summary: figures, gates, run folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_rageval.errors import shorten
from pytest_rageval.model import TARGET, SampleResult, ScenarioResult
from pytest_rageval.plugin.show.figures_table import figure_lines, figures_column, gate_lines
from pytest_rageval.plugin.show.gate_text import low_line
from pytest_rageval.plugin.show.table_lines import write_lines
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.missing import missing_figures, stopped_text
from pytest_rageval.stats.weights import count_groups
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable


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
            from pytest_rageval.plugin.show.comparison_table import comparison_lines

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
