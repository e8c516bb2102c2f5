"""B6: what a key or a line of a judge's reply states is read; all else is asked for again."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.text.reply import (
    UnreadableReplyError,
    find_objects,
    is_cut_off,
    read_reason,
    read_score,
    strip_thinking,
)
from pytest_rageval.text.reply_text import objects_in

ROWS = tomllib.loads(Path(__file__).with_name("replies.toml").read_text("utf-8"))


def _why_no_score(reply: str, low: float = 0, high: float = 5) -> str:
    with pytest.raises(UnreadableReplyError) as caught:
        read_score(reply, low, high)
    return str(caught.value)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        *(case for kind in ("scores", "scores_in_json") for case in ROWS[kind]),
        # A reason tells of scores, and of what an answer demands; the key, or a line, does not.
        *(case for kind in ("told_in_json", "told_in_words") for case in ROWS[kind]),
    ],
)
def test_a_score_in_any_dress(reply: str, score: float) -> None:
    assert read_score(reply, 0, 5) == score


@pytest.mark.parametrize("reply", ROWS["no_score"])
def test_what_neither_a_key_nor_a_line_states_is_asked_for_again(reply: str) -> None:
    """A sentence with a number may be about the answer, or from it."""
    assert _why_no_score(reply) == (
        "it states no score from 0 to 5, under a key or in a line of its own"
    )


@pytest.mark.parametrize(("reply", "why"), ROWS["why_no_score"])
def test_the_message_says_what_was_found_instead(reply: str, why: str) -> None:
    assert _why_no_score(reply) == why


@pytest.mark.parametrize(("reply", "low", "high", "score"), ROWS["other_scales"])
def test_other_scales(reply: str, low: float, high: float, score: float) -> None:
    assert read_score(reply, low, high) == score
    assert str(read_score(reply, low, high)) != "-0.0"


@pytest.mark.parametrize(("text", "rest"), ROWS["thoughts"])
def test_thoughts_are_stripped_whole(text: str, rest: str) -> None:
    assert strip_thinking(text) == rest


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"a": [1, {"b": null}]}', [{"a": [1, {"b": None}]}]),
        ('Well: {"a": 1} and {"b": 2}, {"a": 1}', [{"b": 2}, {"a": 1}]),
        ('{"a": 1}\n```json\n[{"b": 2}]\n```', [{"a": 1}, {"b": 2}]),
        ('```json\n{"b": 2}\n```\nNo: {"a": 1}', [{"b": 2}, {"a": 1}]),
        ('{not closed\n```json\n{"b": 2}\n```', [{"b": 2}]),
        (
            "{'it's': 'a \"b\"', 'ok': True, 'no': None,}",
            [{"it's": 'a "b"', "ok": True, "no": None}],
        ),
        ("{verdict: 1, reason: as it says}", [{"verdict": 1, "reason": "as it says"}]),
        ('{"a": 1 "b": 2}', [{"a": 1, "b": 2}]),
        ('{"a": NaN, "b": "line\nbreak"}', [{"a": None, "b": "line\nbreak"}]),
        ('{"a": "tab\\t and \\"quotes\\"",}', [{"a": 'tab\t and "quotes"'}]),
        ('<think>{"a": 0}</think>{"a": 1}', [{"a": 1}]),
        ('{"open": {"a": 1}', [{"a": 1}]),
        ("{see below} {“a”：1}".replace("：", ":"), [{"a": 1}]),
        ("As [1] and [2] say: {}", [{}]),
        ('{"claims": ["With ```init({})```."]}', [{"claims": ["With ```init({})```."]}]),
        ('{"of": [{"a": 1}, "```"]}\n```\n{"b": 2}\n```', [{"of": [{"a": 1}, "```"]}, {"b": 2}]),
    ],
)
def test_objects_are_found_wherever_they_stand(reply: str, found: object) -> None:
    """In their order, each once: a model that corrects itself has its last word last."""
    assert find_objects(reply) == found


@pytest.mark.parametrize("reply", ["", "no json", '{"a": ', "{4}", "[see above]", "<think>{}"])
def test_what_is_no_object_is_none(reply: str) -> None:
    assert find_objects(reply) == []


@pytest.mark.parametrize(
    ("reply", "is_cut"),
    [
        ('{"draft": {"claims": ["a"]}, "reason": "The second one is', True),
        ('{"a": {"b": 1}', True),
        ('{"a": {"b": 1}} and {"c', True),
        ('As {"a": ...} asks: {"b": {"c": 1}}', False),
        ('In LaTeX \\frac{1}{2}, so {"b": 1}', False),
        ('{"a": {"b": 1}} as {I} say', False),
    ],
)
def test_json_without_an_end_is_cut_off_though_an_object_in_it_is_whole(
    reply: str, is_cut: bool
) -> None:
    assert is_cut_off(reply) is is_cut


def test_json_says_where_it_stands() -> None:
    text = 'a {"b": 1} c [2]'
    assert [text[found.start : found.end] for found in objects_in(text)] == ['{"b": 1}']


@pytest.mark.parametrize(("reply", "reason"), ROWS["reasons"])
def test_the_reason_is_what_stands_beside_the_score(reply: str, reason: str) -> None:
    assert read_reason(reply) == reason


_PIECES = (
    *("9", "{", "[", "{'a':", "['x',", "{}", "[1]", "<think>", '"', "|", "_ ", " ", "\n"),
    *("score ", "score: ", "得分", "not ", "1. a\n", "4/5 ", "it is ", "x: 4\n", "a: "),
)


@pytest.mark.full
@pytest.mark.parametrize("piece", _PIECES)
def test_a_hostile_reply_takes_no_long_time(piece: str) -> None:
    """Patterns that are quadratic take minutes for it."""
    reply = "x" + piece * (100_000 // len(piece)) + "x"
    for read in (lambda text: read_score(text, 0, 5), find_objects, read_reason):
        with within_a_minute(), suppress(UnreadableReplyError):
            read(reply)


@pytest.mark.parametrize("depth", [65, 500, 3000])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_json_nested_too_deep_makes_a_reply_unusable(depth: int, quote: str) -> None:
    """X3: no object inside it is taken for what the judge said."""
    deep = '{"score": 1, "more": ' + '{"score": 1, "a": ' * depth + "1" + "}" * depth + "}"
    deep = deep.replace('"', quote)
    for read in (lambda text: read_score(text, 0.0, 1.0), find_objects):
        with pytest.raises(UnreadableReplyError, match="its JSON is nested more than 64 deep"):
            read(deep)
