"""D4: names of metrics with a cutoff and parameters, as retrieval writes them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.metrics.base import NotationError, parse_notation


@pytest.mark.parametrize(
    ("name", "base", "options"),
    [
        ("f1", "f1", {}),
        ("rouge-l", "rouge-l", {}),
        ("context precision", "context precision", {}),
        ("ndcg@10", "ndcg", {"k": 10}),
        ("nDCG@10", "nDCG", {"k": 10}),
        ("P@05", "P", {"k": 5}),
        ("P(rel=2)@5", "P", {"rel": 2, "k": 5}),
        ("AP(rel=2)", "AP", {"rel": 2}),
        ("P( rel = 2, judged_only = True )@5", "P", {"rel": 2, "judged_only": True, "k": 5}),
        ("nDCG(gains={0: 0, 1: 3})@20", "nDCG", {"gains": {0: 0, 1: 3}, "k": 20}),
        ("nDCG(dcg='log2')", "nDCG", {"dcg": "log2"}),
        ("P()@5", "P", {"k": 5}),
        (" ndcg@10 ", "ndcg", {"k": 10}),
    ],
)
def test_a_name_is_taken_apart(name: str, base: str, options: dict[str, Any]) -> None:
    """D4."""
    found = parse_notation(name)
    assert (found.base, dict(found.options)) == (base, options)


@pytest.mark.parametrize(
    "cutoff", ["0", "-1", "+5", "1.5", "", "x", "1e1", " 10", "١", "¹", "10_0", "0x10"]
)
def test_a_cutoff_is_a_whole_number_from_1(cutoff: str) -> None:
    """D4: digits of ASCII, nothing else; 0 aborts the process in trec_eval's C code."""
    with pytest.raises(NotationError) as caught:
        parse_notation(f"ndcg@{cutoff}")
    assert str(caught.value) == f"the cutoff must be a whole number >= 1, found '@{cutoff}'"


@pytest.mark.parametrize(
    "name",
    [
        "@5",
        "(rel=2)@5",
        "ndcg@10@5",
        "P(rel=2",
        "P)rel=2(",
        "P(rel=2))@5",
        "P(rel=2)x@5",
        "P(2)@5",
        "P(2, rel=2)@5",
        "P(rel)@5",
        "P(rel=x)@5",
        "P(rel=__import__('os').getpid())@5",
        "P(rel=1+1)@5",
        "P(*[1])@5",
        "P(rel=1\0)@5",
        # Nothing that was written may get lost.
        "P(rel=2)(judged_only=True)@5",
        "P(rel=2, rel=3)@5",
        "P(k=3)@5",
        "P(**{'rel': 2})@5",
        # Of any length: no limit of Python's shows through.
        *("ndcg@" + "9" * 5000, "P(" + "(" * 3000 + ")@5", "P(a=" + "-" * 20_000 + "1)"),
    ],
)
def test_what_is_no_notation_is_refused(name: str) -> None:
    """D4: nothing is evaluated, and nothing left out."""
    with pytest.raises(NotationError):
        parse_notation(name)
