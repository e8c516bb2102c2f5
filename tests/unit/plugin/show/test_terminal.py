"""[A11] The table of a scenario in the terminal, line by line, and the last lines of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from decided_result import decided

from pytest_rageval.model import TARGET, SampleResult, ScenarioResult
from pytest_rageval.plugin.show.terminal import (
    ScenarioTable,
    overridden_lines,
    undecided_lines,
    usage_line,
)

ROOT = Path("/work")


class Written:
    """Takes what is written in the place of pytest's terminal; ``colours`` by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.colours: dict[str, list[str]] = {}
        self._open = ""

    def ensure_newline(self) -> None:
        assert not self._open

    def section(self, title: str, sep: str) -> None:
        self.lines.append(f"{sep} {title} {sep}")

    def write(self, text: str, **_: bool) -> None:
        self._open += text

    def write_line(self, text: str, **colours: bool) -> None:
        self.lines.append(f"{self._open}{text}".rstrip())
        self.colours[self.lines[-1]] = [colour for colour, is_on in colours.items() if is_on]
        self._open = ""


def table(
    result: ScenarioResult, folder: Path | str = "not written: no", remarks: Sequence[str] = ()
) -> Written:
    """Return what is written of a result in 120 columns."""
    written = Written()
    terminal = cast("pytest.TerminalReporter", written)
    ScenarioTable(result, folder, ROOT, remarks).write(terminal, 120)
    return written


def test_the_parts_of_the_table_come_in_this_order() -> None:
    """[A11] Figures, groups, what is partial, gates, the folder, remarks."""
    result = decided({"em": [1.0, 0.0]}, {"em": 0.9})
    info = replace(result.info, group_by="doc_name", name="support\n::bot")
    partial = replace(result, info=info, complete=False)
    found = table(partial, ROOT / ".rageval/qa/2026", ["last words \x1b[2J"])
    assert [line.split("  ")[0] for line in found.lines] == [
        r"= rageval: support \x3a:bot =",
        "metric",
        "em",
        "weighted_score",
        "2 samples in 2 groups (doc_name)",
        "partial run: 2 of 2 samples",
        "gate em.mean",
        "gate unscored",
        "run",
        r"last words \x1b[2J",
    ]
    assert found.lines[-2] == "run  .rageval/qa/2026"


def test_the_test_function_that_ran_a_scenario_is_named() -> None:
    result = decided({"em": [1.0]}, {})
    info = replace(result.info, nodeid="test_bot.py::test_it")
    assert table(replace(result, info=info)).lines[0] == "= rageval: qa (test_bot.py::test_it) ="


def test_a_folder_that_could_not_be_written_is_said(tmp_path: Path) -> None:
    """[A12] In red. A page is named where there is one; outside of the rootdir by its path."""
    result = decided({"em": [1.0]}, {})
    found = table(result, "not written: disk full")
    assert found.lines[-1] == "run  not written: disk full"
    assert found.colours[found.lines[-1]] == ["red"]
    (tmp_path / "report.html").touch()
    assert table(result, tmp_path).lines[-2:] == [
        f"run  {tmp_path}",
        f"page {tmp_path / 'report.html'}",
    ]


def test_what_could_not_be_scored_is_quoted_in_one_line() -> None:
    """[A20] The first reason of each metric, cut."""
    reason = "the judge\nis away " + "x" * 300
    result = decided({"em": [None, 1.0], "f1": [1.0, 1.0]}, {}, errors={0: reason})
    lines = [line for line in table(result).lines if "the judge is away" in line]
    assert lines
    assert all(len(line) <= 201 for line in lines)


@pytest.mark.parametrize(
    ("latencies", "lost", "kept", "line"),
    [
        (
            [0.5, 1.5],
            0,
            0,
            "target http: 2 of 2 answered, median 1.00 s, p95 1.50 s, longest 1.50 s",
        ),
        ([], 2, 0, "target http: 0 of 2 answered"),
        ([None, None], 0, 2, "target http: 2 of 2 answered, 2 of them from the cache"),
        ([None], 0, 0, None),
    ],
)
def test_the_target_says_how_many_it_answered_and_how_fast(
    latencies: list[float | None], lost: int, kept: int, line: str | None
) -> None:
    """Samples that a mark kept from being asked are not expected; lost ones are yellow."""
    samples = [
        SampleResult(f"s{at}", at, answer_latency_s=seconds, is_kept=at < kept)
        for at, seconds in enumerate(latencies)
    ]
    samples += [SampleResult(f"l{at}", at, errors={TARGET: "HTTP 500"}) for at in range(lost)]
    result = decided({"em": [1.0]}, {})
    info = replace(result.info, target="http")
    found = table(replace(result, info=info, samples=samples))
    said = [line for line in found.lines if line.startswith("target ")]
    assert said == ([line] if line else [])
    assert not said or found.colours[said[0]] == (["yellow"] if lost else [])


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (
            {"calls": 1200, "cached": 3, "prompt_tokens": 1000, "completion_tokens": 234},
            "models: 1200 calls, 3 answers from the cache, 1,234 tokens, no price given",
        ),
        (
            {"calls": 0, "cached": 3, "prompt_tokens": None, "completion_tokens": None},
            "models: 0 calls, 3 answers from the cache, 0 tokens, 0.0000 USD",
        ),
    ],
)
def test_what_the_models_cost_is_one_line(usage: dict[str, Any], line: str) -> None:
    """An unknown price is none, and never 0, once a call was made."""
    assert usage_line({**usage, "cost_usd": None}) == line


# The last lines


def test_overridden_values_are_named_with_their_sources() -> None:
    """[G10]"""
    info = decided({"em": [1.0]}, {}).info
    assert overridden_lines(info) == []
    changed = replace(
        info,
        overridden=("gates.em", "dataset.limit"),
        overridden_by=("--rag-gate", "RAGEVAL_LIMIT"),
    )
    assert overridden_lines(changed) == [
        "overridden: gates.em (--rag-gate), dataset.limit (RAGEVAL_LIMIT)"
    ]


def test_gates_that_were_not_decided_are_counted() -> None:
    """[G5, G12] With how much ran, or why a complete run decided none; and scenarios left out."""
    result = decided({"em": [1.0, 1.0]}, {"em": 0.5})
    skipped = [replace(result.gates[0], outcome="skipped", message="deselected"), result.gates[1]]
    complete = replace(result, gates=skipped)
    partial = replace(complete, complete=False, counts=replace(result.counts, ran=1))
    other = replace(result.info, name="b", total=3)
    assert list(undecided_lines([result, partial, complete], [other])) == [
        "NOT DECIDED: 1 of 2 gates of qa, 1 of 2 samples ran; --rag-strict fails such a run",
        "NOT DECIDED: 1 of 2 gates of qa, deselected",
        "NOT DECIDED: b, none of its 3 cases was selected",
    ]
