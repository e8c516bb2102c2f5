"""K19: a table of promptfoo's results has a row for each output, without the verdict in it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.model import InvalidRow, Sample

Samples = Callable[..., list[Sample]]
BESIDE = ["Status", "Score", "Named Scores", "Metric: tone", "Grader Reason", "Comment"]
HEAD = ["question", "expected", "[openai:x] short", "[mine] short"]


def table(*records: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows(records)
    return stream.getvalue()


def read(samples: list[Sample]) -> list[Any]:
    return [
        (one.question, one.answer, one.metadata["provider"], one.metadata["success"])
        for one in samples
    ]


KEYS: dict[str, Any] = {"key_map": {"answer": "output"}}
ROWS = [
    ("When?", "At nine", "openai:x", True),
    ("When?", "at\nten", "mine", False),
    ("Where?", "here", "openai:x", True),
    ("Where?", "there", "mine", False),
]


@pytest.mark.parametrize("with_reason", [True, False])
def test_a_verdict_before_the_output_is_no_part_of_it(
    samples: Samples, *, with_reason: bool
) -> None:
    """Older tables; some also have the reason, which may hold what was expected."""
    why = "not nine\n---\n" if with_reason else ""
    content = table(
        HEAD,
        ["When?", "nine", "[PASS] (1.00) At nine", f"[FAIL] (0.00) {why}at\nten"],
        ["Where?", "here", "[PASS] (1.00)\n\n here", f"[FAIL] (0.25) {why}there"],
    )
    found = samples("r.csv", content, **KEYS)
    assert read(found) == ROWS
    assert found[0].references == ("nine",)
    assert [one.metadata["score"] for one in found] == [1.0, 0.0, 1.0, 0.25]
    assert found[1].metadata.get("reason") == ("not nine" if with_reason else None)
    assert [one.metadata["test"] for one in found] == [0, 0, 1, 1]
    assert found[3].metadata["prompt_label"] == "short"


def test_columns_beside_each_output(samples: Samples) -> None:
    """Newer tables repeat their names for each output."""
    content = table(
        [*HEAD[:3], *BESIDE, HEAD[3], *BESIDE, "sessionId"],
        ["When?", "nine", *("At nine", "PASS", "1.00", "", "0.50", "fine", ""),
         *("at\nten", "FAIL", "0.00", "", "", "not nine", ""), "s1"],
        ["Where?", "here", *("here", "PASS", "1.00", "", "", "", ""),
         *("there", "FAIL", "0.00", "", "", "", ""), "s2"],
    )  # fmt: skip
    found = samples("r.csv", content, **KEYS)
    assert read(found) == ROWS
    assert found[0].metadata["tone"] == "0.50"
    assert [one.metadata.get("reason") for one in found] == ["fine", "not nine", None, None]
    assert [one.metadata["sessionId"] for one in found] == ["s1", "s1", "s2", "s2"]


def test_a_score_that_a_spreadsheet_has_changed_stays_a_text(samples: Samples) -> None:
    """It ended in a ValueError; the score is metadata alone."""
    row = ["When?", "nine", "At nine", "PASS", "0,50", "", "", "", ""]
    (found,) = samples("r.csv", table([*HEAD[:3], *BESIDE], row), **KEYS)
    assert (found.answer, found.metadata["score"]) == ("At nine", "0,50")


def test_an_error_is_no_answer_and_a_prompt_that_did_not_run_no_row(load: Any) -> None:
    content = table(
        HEAD,
        ["When?", "nine", "[PASS] (1.00) At nine", ""],
        ["Where?", "here", "[ERROR] (0.00) timed out", "[PASS] (1.00) here"],
        ["Who?", "he", "", ""],
    )
    cases = load("r.csv", content, **KEYS).cases
    assert [(case.question, case.answer) for case in cases] == [
        ("When?", "At nine"),
        ("Where?", None),
        ("Where?", "here"),
        ("Who?", None),
    ]
    assert cases[1].metadata["error"] == "timed out"


@pytest.mark.parametrize("second", ["no", "no\n---\nten\n---\nor so"])
def test_where_the_reason_ends_is_not_guessed(
    refused: Callable[..., list[str]], second: str
) -> None:
    content = table(
        HEAD[:3],
        ["When?", "nine", "[FAIL] (0.00) not nine\n---\nten"],
        ["Where?", "here", f"[FAIL] (0.00) {second}"],
    )
    (problem,) = refused("r.csv", content)
    assert "promptfoo export eval latest -o results.json" in problem


def test_a_cell_without_a_verdict_is_invalid(
    invalid: Callable[..., dict[int, InvalidRow]],
) -> None:
    content = table(HEAD[:3], ["When?", "nine", "[PASS] (1.00) nine"], ["Where?", "here", "here"])
    assert "begins with no verdict" in invalid("r.csv", content, **KEYS)[2].reason


PROJECT = ["Project", "Project Status", "Ticket", "Ticket Status"]


@pytest.mark.parametrize(
    ("beside", "values"),
    [
        (["Status", "Score"], ["PASS", "1.00"]),
        (["Status", "Score", "Comment"], ["PASS", "1.00", "fine"]),
        (["Ticket Score", "Named Scores"], ["1.00", "x"]),
        (["Project", "Project Score", "Project Comment"], ["Alpha", "3", "old"]),
        (["Project", "Project status"], ["Alpha", "Open"]),
        (["Project Status"], ["Open"]),
        (PROJECT, ["Alpha", "Open", "T-1", "Done"]),
        (["Project Status", "Project"], ["Open", "Alpha"]),
        (PROJECT[:2], ["", "Open"]),
        (["Order", "Order Status", "Order Score"], ["17", "PASS", "1.00"]),
        (["项目", "项目 Status"], ["甲", "完成"]),
    ],
)
def test_other_tables_stay_as_they_are(
    samples: Samples, beside: list[str], values: list[str]
) -> None:
    """Brackets in a header or a cell, a status and a score are no results of promptfoo."""
    content = table(["question", "[my] answer", *beside], ["When?", "[PASS] it on", *values])
    (found,) = samples("r.csv", content, key_map={"answer": "[my] answer"})
    assert found.answer == "[PASS] it on"
    filled = zip(beside, values, strict=True)
    assert found.metadata == {name: value for name, value in filled if value}
