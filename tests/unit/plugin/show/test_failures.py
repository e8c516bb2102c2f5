"""What failed gates and cases say in pytest's sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.model import (
    RETRIEVAL,
    TARGET,
    Bound,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
)
from pytest_rageval.plugin.show.failures import failure_text, gate_text, low_line, unjudged_text
from pytest_rageval.stats.verdict import shortfalls
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


def below(answer: str, references: Sequence[str] | None, width: int) -> list[str]:
    """Return what is shown below the line of a sample."""
    result = decided({"f1": [0.2]}, {"f1": 0.9}, questions=["A?"])
    (one,) = result.samples
    result = replace(result, samples=[replace(one, answer=answer, references=references)])
    return gate_text(result, result.gates[0], width).splitlines()[4:]


def test_the_answer_and_what_was_expected_stand_below() -> None:
    """In one line, if there is room for both: where 70 cells are left, 30 are too few for one."""
    assert below("in\nRome", ["Paris", "x"], 80) == ["          answer: in Rome  expected: Paris"]
    assert below("Rome", None, 80) == ["          answer: Rome"]
    assert below("Rome", ["Paris"], 50) == []
    assert below("", ["Paris"], 80) == []
    (line,) = below(LONG, ["Paris"], 80)
    assert line.endswith("  expected: Paris")
    assert cells(line) <= 80
    (line,) = below("Rome", [LONG], 80)
    assert line.startswith("          answer: Rome  expected: 退款")
    (line,) = below(LONG, [LONG], 80)
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


# Weighted: (1·0 + 3·1) / 4 = 0.75.
PARTLY = SampleResult(
    "partly",
    0,
    "failed",
    weighted_score=0.75,
    scores={"em": 0.0, "acc": 1.0},
    question="Which city is\nthe capital of France?",
    answer="in Paris",
    references=("Paris", "Lutetia"),
    contexts=("France is a country.", "Its capital is Paris.", "c", "d", "e"),
)
COLUMNS = (MetricColumn("em"), MetricColumn("acc", weight=3.0))

Make = Callable[..., ScenarioInfo]


def failed(info: Make, thresholds: dict[str, Bound], sample: SampleResult = PARTLY) -> list[str]:
    """Return the lines of a case that misses these thresholds."""
    made = info(*COLUMNS, thresholds=thresholds)
    return failure_text(made, sample, shortfalls(sample, thresholds)).splitlines()


def test_the_verdict_is_the_first_line_then_scores_and_texts(info: Make) -> None:
    """[E1] The short summary quotes that line; every missed threshold is in it, and no other."""
    bounds = {"weighted_score": Bound(min=0.8), "em": Bound(min=1.0), "acc": Bound(min=0.5)}
    assert failed(info, bounds) == [
        "weighted_score 0.7500 < 0.8000; em 0.0000 < 1.0000",
        "",
        "question   Which city is the capital of France?",
        "metric          score   weight  threshold",
        "em              0.0000  1       >= 1.00    below",
        "acc             1.0000  3       >= 0.50",
        "weighted_score  0.7500          >= 0.80    below",
        "",
        "answer     in Paris",
        'references [1] "Paris"',
        '           [2] "Lutetia"',
        'contexts   [1] "France is a country."',
        '           [2] "Its capital is Paris."',
        '           [3] "c"',
        "           and 2 more",
    ]


def test_a_score_above_its_maximum_says_so(info: Make) -> None:
    """[E1] 0.75 > 0.7."""
    lines = failed(info, {"weighted_score": Bound(max=0.7)})
    assert lines[0] == "weighted_score 0.7500 > 0.7000"
    assert lines[6] == "weighted_score  0.7500          <= 0.70    above"


def test_a_metric_that_refuses_the_sample_says_so(info: Make) -> None:
    """[F7] Beside its threshold, where it misses that, too."""
    sample = replace(PARTLY, details={"em": {"passing": False}, "acc": {"passing": False}})
    lines = failed(info, {"em": Bound(min=0.5)}, sample)
    assert [line.split("  ")[-1].strip() for line in lines[4:6]] == [
        "below, does not pass",
        "does not pass",
    ]


def test_the_scores_are_below_their_heading_with_chinese_names(info: Make) -> None:
    """[E1, A11] Such a character takes two cells."""
    names = ("em", "这是一个长的中文指标名称", "weighted_score")
    made = info(MetricColumn(names[0]), MetricColumn(names[1]))
    sample = SampleResult("s", 0, weighted_score=0.0, scores=dict.fromkeys(names[:2], 0.0))
    lines = failure_text(made, sample, []).splitlines()
    head = next(line for line in lines if "threshold" in line)
    table = lines[lines.index(head) + 1 :][:3]
    assert [line.split()[0] for line in table] == list(names)
    # The heading is padded by characters, the names below it by cells.
    assert {cells(line[: line.index("0.0000")]) for line in table} == {head.index("score")}


def test_long_texts_are_cut_and_control_characters_spelled_out(info: Make) -> None:
    """[E1] An answer must neither bury the table, clear the screen nor colour the log."""
    odd = "\x1b[2J\x07\x9b \ud800 "
    sample = replace(
        PARTLY, question=odd, answer="x" * 10_000, references=(odd,), errors={"em": odd}
    )
    text = "\n".join(failed(info, {"em": Bound(min=1.0)}, sample))
    assert not set("\x1b\x07\x9b\ud800") & set(text)
    assert r"question   \x1b[2J\x07\x9b \ud800" in text
    assert max(map(len, text.splitlines())) < 350


def unjudged(info: Make, sample: SampleResult, *reasons: str) -> list[str]:
    return unjudged_text(info(*COLUMNS), sample, reasons).splitlines()


def test_what_lacks_is_said_once(info: Make) -> None:
    """[A20] In the first line; what else is known follows, a missing score as a dash."""
    sample = SampleResult(
        "s",
        0,
        scores={"em": None, "acc": None},
        reasons={"em": "no references"},
        errors={"acc": "KeyError: x", TARGET: "HTTP 500"},
    )
    lines = unjudged(info, sample, "em unscored: no references", "target: HTTP 500")
    assert lines[0] == "em unscored: no references; target: HTTP 500"
    assert "em              -       1" in lines
    assert [line for line in lines[1:] if ": " in line] == ["acc: KeyError: x"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"line": 3, "row": 2, "raw": '["a"]'}, ["(line 3): no text", 'found     ["a"]']),
        ({"row": 2}, ["(row 2): no text"]),
    ],
)
def test_an_invalid_row_says_where_it_is_and_what_is_there(
    info: Make, fields: dict[str, Any], expected: Sequence[str]
) -> None:
    """[A19] The line where it is known."""
    sample = SampleResult("s", 0, invalid="no text", **fields)
    first, *rest = expected
    assert unjudged(info, sample, "unused") == [f"invalid row {first}", *rest]


def test_a_search_shows_the_first_documents_with_their_grades(info: Make) -> None:
    """Or, where expected documents are given by name, the first of these."""
    first = [("a.md", 2), ("b.md", None), ("c.md", 0), ("d.md", 1)]
    found = {"retrieved": 10, "relevant": 3, "found": 2, "first": first}
    lines = unjudged(info, SampleResult("s", 0, details={RETRIEVAL: found}), "x")
    assert lines[-4:] == [
        "retrieved  10 documents, 2 of 3 relevant ones among them",
        "           [1] a.md (grade 2)",
        "           [2] b.md (not judged)",
        "           [3] c.md (grade 0)",
    ]
    wanted = {"expected": 5, "first_expected": ["x", "y", "z"]}
    lines = unjudged(info, SampleResult("s", 0, details={RETRIEVAL: wanted}), "x")
    assert lines[-4:] == [
        'expected   [1] "x"',
        '           [2] "y"',
        '           [3] "z"',
        "           and 2 more",
    ]
