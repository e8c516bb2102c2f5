"""The table of a sample as results.json has it: in one order, with what failed."""

from __future__ import annotations

import pytest

from pytest_rageval.metrics.base import AnswerReading
from pytest_rageval.metrics.support.table import (
    ANSWER,
    REFERENCE,
    Cell,
    Key,
    Statement,
    SupportRow,
    SupportTable,
    context,
)
from pytest_rageval.model import Sample

SENTENCE = Statement("sentence", 1, "It is high.")
CLAIMS = (Statement("claim", 1, "It is tall."), Statement("claim", 2, "It is old."))
CELLS: dict[Key, Cell] = {
    (SENTENCE, context(2)): Cell("full"),
    (SENTENCE, context(1, 2)): Cell("none", "it says low"),
    (CLAIMS[0], REFERENCE): Cell("partial", "not how tall"),
    (CLAIMS[1], context(1)): Cell("full"),
}


def shown(*, is_late: bool) -> object:
    """Return the table, filled in this order or in the other one."""
    table = SupportTable(SupportRow(Sample("s"), ""))
    found = [("sentence", (SENTENCE,)), ("claim", CLAIMS)]
    table.statements = dict(found[:: -1 if is_late else 1])  # type: ignore[arg-type]
    table.cells = dict(list(CELLS.items())[:: -1 if is_late else 1])
    table.failed = {(CLAIMS[1], ANSWER): ValueError("cut off")}
    return table.details()


def test_the_table_is_shown_in_one_order_whichever_reply_came_first() -> None:
    found = {
        "statements": [
            {"text": "It is high.", "of": "sentence", "number": 1, "cites": []},
            {"text": "It is tall.", "of": "claim", "number": 1, "cites": []},
            {"text": "It is old.", "of": "claim", "number": 2, "cites": []},
        ],
        "sources": [
            {"kind": "contexts", "index": [1]},
            {"kind": "contexts", "index": [2]},
            {"kind": "contexts", "index": [1, 2]},
            {"kind": "reference", "index": []},
            {"kind": "answer", "index": []},
        ],
        "cells": [
            [None, ["full", ""], ["none", "it says low"], None, None],
            [None, None, None, ["partial", "not how tall"], None],
            [["full", ""], None, None, None, ["failed", "cut off"]],
        ],
    }
    assert shown(is_late=False) == found
    assert shown(is_late=True) == found


@pytest.mark.parametrize(
    ("reading", "is_said"),
    [
        (AnswerReading("answered"), False),
        (AnswerReading("answered", base=0), True),
        (AnswerReading("answered", of="ids"), True),
    ],
)
def test_it_says_where_a_number_in_an_answer_is_not_the_place_of_a_context(
    reading: AnswerReading, is_said: bool
) -> None:
    table = SupportTable(SupportRow(Sample("s"), "", reading), {"sentence": (SENTENCE,)})
    assert (table.details().get("cited_by_place") is False) == is_said
    table.statements = {"claim": CLAIMS}
    assert "cited_by_place" not in table.details()
