"""What a failed gate says in the FAILURES section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from decided_result import decided

from pytest_rageval.model import Bound, GateResult
from pytest_rageval.plugin.show.gate_text import gate_text, low_line
from pytest_rageval.text.printable import cells

LONG = "退款需要多少天才能到账？如果订单使用了优惠券，会如何处理？以及发票应当如何开具？"


def test_the_verdict_comes_first_then_id_score_and_question() -> None:
    """[U2] Lowest first; the mean (0.2 + 0.4 + 1.0) / 3 = 0.5333."""
    result = decided({"f1": [0.4, 0.2, 1.0]}, {"f1": 0.9}, questions=["A?", "B\nb?", "C?"])
    assert gate_text(result, result.gates[0], 80).splitlines() == [
        "0.5333 < 0.9000",
        "",
        "f1 is below 0.9 in 2 of 3 samples; the lowest:",
        "  0.2000  s1  B b?",
        "  0.4000  s0  A?",
    ]


def said(answer: str, references: Sequence[str] | None, width: int) -> list[str]:
    """Return what is shown below the line of a sample."""
    result = decided({"f1": [0.2]}, {"f1": 0.9}, questions=["A?"])
    (one,) = result.samples
    result = replace(result, samples=[replace(one, answer=answer, references=references)])
    return gate_text(result, result.gates[0], width).splitlines()[4:]


def test_the_answer_and_what_was_expected_stand_below() -> None:
    """In one line, if there is room for both: where 70 cells are left, 30 are too few for one."""
    assert said("in\nRome", ["Paris", "x"], 80) == ["          answer: in Rome  expected: Paris"]
    assert said("Rome", None, 80) == ["          answer: Rome"]
    assert said("Rome", ["Paris"], 50) == []
    assert said("", ["Paris"], 80) == []
    (line,) = said(LONG, ["Paris"], 80)
    assert line.endswith("  expected: Paris")
    assert cells(line) <= 80
    (line,) = said("Rome", [LONG], 80)
    assert line.startswith("          answer: Rome  expected: 退款")
    (line,) = said(LONG, [LONG], 80)
    assert line.index("expected") < 45
    assert cells(line) <= 80


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """[U2] Questions are cut, the message is not."""
    gates = {"no_regression": {"baseline": "main", "metrics": ["f1", "em"]}, "f1": 0.9}
    scores = {"f1": [0.1] * 8, "em": [0.0] * 8}
    result = decided(scores, gates, before={"f1": [1.0] * 8, "em": [1.0] * 8}, questions=[LONG] * 8)
    for gate in result.gates[:2]:
        text = gate_text(result, gate, width)
        assert max(map(cells, text.splitlines())) <= width
        assert gate.message.replace(" ", "") in text.replace("\n", "").replace(" ", "")
        assert "退款需要多少天才" in text


def test_a_gate_of_a_hook_says_its_message_in_its_lines() -> None:
    """[U2] Nothing is known of the samples that it is about."""
    result = decided({"f1": [1.0]}, {})
    verdict = GateResult("latency", "failed", 3.0, 2.0, "too slow:\nslowest 3 s")
    assert gate_text(result, verdict, 80) == "too slow:\nslowest 3 s"


def test_a_mean_that_passes_names_what_it_hides() -> None:
    """[E22] The lowest first; the mean of f1 is (0.4 + 0.2 + 0.0 + 0.3 + 1.0) / 5 = 0.38."""
    scores = {"f1": [0.4, 0.2, 0.0, 0.3, 1.0]}
    result = decided(scores, {"f1": 0.35})
    assert low_line(result) == ("low  f1 is below 0.35 in 3 of 5 samples; the lowest: s2, s1, s3")
    both = decided(scores, {"f1": 0.35, "weighted_score": 0.1})
    assert low_line(both) == "low  weighted_score is below 0.1 in 1 of 5 samples; the lowest: s2"


def test_nothing_is_said_of_low_samples_where_something_else_tells_them() -> None:
    """[E22] A threshold, a gate that failed, a red sample; or no sample is low."""
    scores = {"f1": [0.0, 1.0]}
    result = decided(scores, {"f1": 0.5})
    assert low_line(result)
    assert low_line(replace(result, info=replace(result.info, thresholds={"f1": Bound(0.1)}))) == ""
    assert low_line(replace(result, counts=replace(result.counts, error=1))) == ""
    assert low_line(replace(result, counts=replace(result.counts, failed=1))) == ""
    assert low_line(decided(scores, {"f1": 0.6})) == ""
    assert low_line(decided(scores, {"f1": 0.5, "weighted_score": 0.9})) == ""
    assert low_line(decided({"f1": [0.5, 1.0]}, {"f1": 0.5})) == ""
    assert low_line(decided(scores, {"f1": {"quantile": {"q": 0.9, "min": 0.1}}})) == ""
