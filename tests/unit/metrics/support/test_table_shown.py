"""The table of a sample as results.json has it: in one order, with what failed."""

from __future__ import annotations

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
