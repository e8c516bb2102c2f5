"""What the terminal begins with: errors and gates in sentences, answers in two to four lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.model import Bound, GateResult, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.plugin.show.wrong_lines import wrong_lines
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.text.printable import cells

LONG = "退款需要多少天才能到账？" * 30
HOSTILE = "::error::x\n::add-mask::y ##[group] \x1b[2J\u202e"


def shown(width: int, *samples: SampleResult, gates: Any = ()) -> list[str]:
    info = ScenarioInfo(
        "s", "s.yaml", "s.yaml", (MetricColumn("f1"),), {"f1": Bound(min=0.5)}, total=len(samples)
    )
    result = replace(summarize_scenario(info, samples, complete=True), gates=gates)
    return [text for text, _ in wrong_lines(RunView(result), width)]


def low(name: str = "q", index: int = 0, **fields: Any) -> SampleResult:
    known = {"question": "Is it free?", "answer": "no idea", "references": ["it is free"]}
    return SampleResult(
        name, index, "failed", weighted_score=0.0, scores={"f1": 0.0}, **{**known, **fields}
    )


def test_short_texts_share_a_line() -> None:
    assert shown(80, low()) == [
        "  q  Is it free?",
        "    answer: no idea  expected: it is free",
        "    why: f1 0.0000 < 0.5000",
        "",
    ]


def test_long_ones_have_a_line_each() -> None:
    lines = shown(40, low(answer="no idea, but wait", cause="generation", cause_reason="it had it"))
    assert lines == [
        "  q  Is it free?",
        "    answer: no idea, but wait",
        "    expected: it is free",
        "    why: f1 0.0000 < 0.5000",
        "         generation: it had it",
        "",
    ]


def test_without_an_answer_there_are_two() -> None:
    lines = shown(80, low(answer=None, references=None))
    assert lines == ["  q  Is it free?", "    why: f1 0.0000 < 0.5000", ""]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("text", [LONG, HOSTILE * 9])
def test_no_line_is_wider_and_none_is_a_command(width: int, text: str) -> None:
    """Chinese characters take two cells; a reason has two lines at most."""
    row = low(text, question=text, answer=text, references=[text], reasons={"f1": text})
    gates = [GateResult("f1.mean", "failed", 0.0, 0.5, f"0.0000 < 0.5000 {text}")]
    lines = shown(width, row, gates=gates)
    assert [line for line in lines if cells(line) > width] == []
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
    assert not any(mark in line for line in lines for mark in "\x1b\u202e")
    answer = lines.index(next(line for line in lines if line.startswith("    answer:")))
    assert len(lines) - answer == 5  # answer, expected, why in two, an empty line
    assert any("…" in line for line in lines)


def test_five_are_shown_and_the_others_counted() -> None:
    lines = shown(80, *(low(f"q{at}", at) for at in range(7)))
    assert sum(line.startswith("    why") for line in lines) == 5
    assert lines[-2:] == ["  and 2 more", ""]


def test_equal_errors_are_one() -> None:
    lost = [
        SampleResult(f"q{at}", at, "error", scores={"f1": None}, errors={"f1": "no key"})
        for at in range(3)
    ]
    assert shown(80, *lost) == [
        "  f1 failed on 3 of 3 samples, for instance: no key",
        "  q0 and 2 more alike",
        "    why: f1: no key",
        "",
    ]


def test_undecided_gates_are_named() -> None:
    gates = [GateResult(name, "skipped", None, None, "a part") for name in ("f1.mean", "best")]
    good = SampleResult("q", 0, weighted_score=1.0, scores={"f1": 1.0})
    assert shown(80, good, gates=gates) == ["  undecided: f1.mean, best"]


def test_texts_of_a_megabyte_take_no_time() -> None:
    """Question, answer, reference, reason and a word of a gate: by their beginnings alone."""
    long = "no idea " * 130_000
    row = low(question=long, answer=long, references=[long, long], reasons={"f1": long})
    gates = [GateResult("by.lang.f1.mean", "failed", None, None, "1" * 1_000_000)]
    with within_a_minute():
        lines = shown(80, row, gates=gates)
    assert lines[-6:-2] == [
        f"  q  {long}"[:79] + "…",
        f"    answer: {long}"[:79] + "…",
        f"    expected: {long}"[:79] + "…",
        f"    why: f1 0.0000 < 0.5000: {long}"[:79],
    ]
    assert "".join(lines[:-6]).count("1") == 299 - len("by.lang.f") - len(": ")


def test_white_space_hides_no_text() -> None:
    lines = shown(40, low(answer=" " * 999 + "no" + " " * 999 + "idea", references=None))
    assert lines[1] == "    answer: no…"


def test_a_name_with_a_colon_is_whole() -> None:
    gates = [GateResult("by.x:y.f1.mean", "skipped", None, None, "a part")]
    good = SampleResult("q", 0, weighted_score=1.0, scores={"f1": 1.0})
    assert shown(80, good, gates=gates) == ["  undecided: by.x:y.f1.mean"]


def test_eight_sentences_are_said_and_the_others_counted() -> None:
    """Errors leave room for four gates, and take what gates leave."""
    gates = [GateResult(f"g{at}", "failed", None, None, "no") for at in range(500)]
    good = SampleResult("q", 0, weighted_score=1.0, scores={"f1": 1.0})
    assert shown(80, good, gates=gates) == [
        *(f"  g{at}: no" for at in range(8)),
        "  and 492 more failed gates",
    ]
    lost = SampleResult("q", 0, "error", scores={"f1": None}, errors={"f1": "no key"})
    lines = shown(80, lost, gates=gates)
    assert lines[0].startswith("  f1 failed on 1 of 1 samples")
    assert lines[1:9] == [*(f"  g{at}: no" for at in range(7)), "  and 493 more failed gates"]
