"""E25: answers are below 2,000 tokens, and say what they leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.serving.mcp.answers import cut, fitted, packed, paged, short


def test_what_is_none_is_left_out_and_what_is_empty_is_not() -> None:
    """[E25] An empty answer is one; a missing one is not."""
    assert packed({"a": None, "b": "", "c": [], "d": [{"e": None}], "f": 0.0}) == (
        '{"b":"","c":[],"d":[{}],"f":0.0}'
    )


@pytest.mark.parametrize("text", ["a " * 5000, "检索" * 5000, '"\\\n\u0000' * 5000, "é" * 9000])
def test_texts_are_cut_until_all_fit(text: str) -> None:
    """[E25] Ten of them, in any script, with whatever JSON makes of them."""
    answer = fitted(lambda width: {"texts": [cut(text, width)] * 10})
    assert estimate_tokens(answer) <= 2000
    assert len(answer) < 8000
    first = json.loads(answer)["texts"][0]
    assert first.endswith(" more)")
    assert text.startswith(first[:20])


def test_short_texts_stay_whole() -> None:
    assert fitted(lambda width: {"text": cut("x" * 1000, width)}) == packed({"text": "x" * 1000})


def test_a_page_has_as_many_rows_as_fit_and_says_where_to_go_on() -> None:
    """[E25]"""
    rows = [{"id": f"{at:04}", "text": "x" * 300} for at in range(100)]
    seen: list[str] = []
    at = 0
    while True:
        text = paged({"run": "qa/1"}, "samples", rows[at:], at, len(rows))
        assert estimate_tokens(text) <= 2000
        page: dict[str, Any] = json.loads(text)
        seen += [row["id"] for row in page["samples"]]
        if "next" not in page:
            break
        assert page["next"] == len(seen)
        at = page["next"]
    assert seen == [row["id"] for row in rows]


def test_an_empty_page_has_its_total() -> None:
    assert paged({}, "samples", [], 7, 5) == '{"total":5}'


def test_a_row_that_is_too_large_does_not_stop_the_pages() -> None:
    page = json.loads(paged({}, "rows", [{"text": "x" * 9000}, {"text": "y"}], 0, 2))
    assert (len(page["rows"]), page["next"]) == (1, 1)


def test_the_text_of_an_error_is_cut() -> None:
    """[E25] A scenario may have hundreds of problems."""
    assert short("line\n") == "line\n"
    assert estimate_tokens(short("检索" * 10_000)) <= 2000
