"""Samples with a support table of all origins, for the tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_rageval.model import SampleResult

RETURNS = (
    "Store policy, part two. Goods that were opened can be sent back. "
    "Opened items can be returned within 30 days of purchase, in their original packaging. "
    "The desk asks for a receipt. Refunds are paid out within 7 days. "
    + "Gift cards, food and flowers are never taken back by any of our shops. "
    * 6
)
CONTEXTS = (
    "The store is open from 9 to 18 on weekdays.",
    RETURNS,
    "Returns are free of charge with the label that came with the parcel.",
)
DOCS = ("hours.pdf", "returns.pdf", None)
ANSWER = (
    "Opened items can be returned within 60 days [2]. Returns are free of charge [1, 3]. "
    "The fee is 9 euros. The store opens at 9 [1]."
)


def statement(of: str, number: int, text: str, *cites: int, **more: Any) -> dict[str, Any]:
    return {"text": text, "of": of, "number": number, "cites": list(cites), **more}


def source(kind: str, *index: int, docs: Sequence[str | None] = ()) -> dict[str, Any]:
    return {"kind": kind, "index": list(index), **({"docs": list(docs)} if docs else {})}


SOURCES = [
    source("contexts", 1, docs=DOCS[:1]),
    source("contexts", 2, docs=DOCS[1:2]),
    source("contexts", 3),
    source("contexts", 1, 3, docs=("hours.pdf", None)),
    source("reference"),
    source("answer"),
]
FULL = ["full", ""]


def no(reason: str) -> list[str]:
    return ["none", reason]


STATEMENTS = [
    statement("sentence", 1, "Opened items can be returned within 60 days.", 2),
    statement("sentence", 2, "Returns are free of charge.", 1, 3),
    statement("sentence", 3, "The fee is 9 euros."),
    statement("sentence", 4, "The store opens at 9.", 1),
    statement("claim", 1, "The fee is 9 euros."),
    statement("claim", 2, "The store opens at 9."),
    statement("reference_claim", 1, "Refunds take 7 days."),
    statement("nugget", 1, "original packaging", importance="vital"),
    statement("nugget", 2, "free of charge", importance="okay"),
]
CELLS: list[list[list[str] | None]] = [
    [None, no("The source says 30 days, not 60."), None, None, None, None],
    [no("It gives hours only."), None, FULL, FULL, None, None],
    [None] * 6,
    [FULL, None, None, None, None, None],
    [
        no("No fee is named."),
        no("No fee is named."),
        no("It says free."),
        None,
        no("No fee."),
        None,
    ],
    [FULL, no("No hours."), no("No hours."), None, FULL, None],
    [no("No refunds."), FULL, no("No refunds."), None, None, no("It says nothing of refunds.")],
    [None, None, None, None, None, ["partial", "It names opened items, not the packaging."]],
    [None, None, None, None, None, FULL],
]
TABLE = {"statements": STATEMENTS, "sources": SOURCES, "cells": CELLS}


def answered(at: int = 0, table: Any = TABLE, **more: Any) -> SampleResult:
    """A failed answer with this table."""
    return SampleResult(
        f"s{at}",
        at,
        "failed",
        **{
            "question": "Can I return an opened item?",
            "answer": ANSWER,
            "contexts": CONTEXTS,
            "references": ("Yes, within 30 days, in its original packaging. Refunds take 7 days.",),
            "scores": {"f1": 0.4},
            "reasons": {"f1": '[2] "Opened items ... 60 days" cites returns.pdf'},
            "details": {"support": table},
            **more,
        },
    )
