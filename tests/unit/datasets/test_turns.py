"""Turns of a row that end in a call of a tool: whether what was said before is the answer."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from pytest_rageval.datasets.answer_fields import read_answer_fields

ASKED = {"role": "user", "content": "Capital?"}
SAID = {"role": "assistant", "content": "Paris."}
FOUND = {"role": "tool", "content": "Paris is the capital of France."}
THANKS = {"role": "user", "content": "Thanks, bye!"}


def call(text: Any = None, **more: Any) -> dict[str, Any]:
    """Return a message of the assistant that calls a tool."""
    calls = more or {"tool_calls": [{"id": "c", "function": {"name": "search"}}]}
    return {"role": "assistant", "content": text, **calls}


def read(turns: Any, column: str = "messages", **more: Any) -> tuple[Any, dict[str, int]]:
    """Return the answer of a row and how often a doubt is told."""
    doubts: Counter[str] = Counter()
    names, columns = frozenset({"history", "question", "answer"}), {"history": column}
    values = more if turns is None else {"history": turns, **more}
    found = read_answer_fields(values, names, columns, doubts)
    return found.get("answer"), dict(doubts)


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        ([ASKED, SAID], "Paris."),
        (json.dumps([ASKED, SAID]), "Paris."),
        (str([ASKED, SAID]), "Paris."),
        ({"messages": [ASKED, SAID]}, "Paris."),
        ([ASKED, call(), FOUND, SAID], "Paris."),
        ([ASKED, call("Let me look."), FOUND, SAID], "Paris."),
        ([ASKED, call(), FOUND, SAID, call(), {"role": "tool", "content": "saved"}], "Paris."),
        ([ASKED, call("Paris.")], "Paris."),
        ([ASKED, SAID | {"tool_calls": None}], "Paris."),
        ([ASKED, SAID | {"tool_calls": []}], "Paris."),
        ([ASKED, SAID | {"function_call": None, "refusal": None}], "Paris."),
        # nothing is said behind the last question: there is no answer, which is told as that
        ([ASKED, call()], None),
        ([ASKED], None),
        ([ASKED, SAID, THANKS, call()], None),
        (
            [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "您好"}, ASKED],
            None,
        ),
        # an empty answer is one
        ([ASKED, call("")], ""),
        (["Capital?", "Paris."], "Paris."),
    ],
)
def test_what_is_said_last_is_the_answer(turns: Any, answer: str | None) -> None:
    assert read(turns) == (answer, {})


@pytest.mark.parametrize("turns", [[ASKED, SAID, call()], [ASKED, call()]])
def test_an_answer_in_a_column_of_its_own_leaves_no_doubt(turns: Any) -> None:
    assert read(turns, answer="Paris.") == ("Paris.", {})
    assert read(turns, "history", question="Which?", answer="Rome.") == ("Rome.", {})


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        ([ASKED, SAID, call()], "Paris."),
        ([ASKED, {"role": "assistant", "content": "Let me look."}, call()], "Let me look."),
        ([ASKED, SAID, call(), FOUND, call()], "Paris."),
        ([ASKED, SAID, call(function_call={"name": "search"})], "Paris."),
        (json.dumps([ASKED, SAID, call()]), "Paris."),
        (str([ASKED, SAID, call()]), "Paris."),
        (str([ASKED, SAID, call(function_call={"name": "search"})]), "Paris."),
        ({"messages": [ASKED, SAID, call()]}, "Paris."),
    ],
)
def test_an_answer_before_a_last_call_is_told(turns: Any, answer: str) -> None:
    """It may be what was said before the tool was to be asked, or before the call that ends it."""
    doubt = (
        "'messages' ends with a call of a tool, and nothing follows: what the assistant said "
        "before it is read as the answer. If it is none, leave the row out"
    )
    assert read(turns) == (answer, {doubt: 1})
    asked = read(None, question=[ASKED, SAID, call()])
    assert asked == ("Paris.", {doubt.replace("messages", "question"): 1})
