"""Reads what a model replies that writes questions, and that is asked one without a passage."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_rageval.questions.base import MadeQuestion, QuestionType
from pytest_rageval.text.refusals import kind_of
from pytest_rageval.text.reply import UnreadableReplyError, find_objects

if TYPE_CHECKING:
    from pytest_rageval.clients.base import ReplySchema

_MOST: Final = 1_000
"""Characters of a question, or of an answer: more is no question of a user."""


class Alone(NamedTuple):
    """What a model says of a question without a passage; the answer is "" where it knows none."""

    is_clear: bool
    answer: str


def read_question(kind: QuestionType, reply: str) -> MadeQuestion:
    """Return the question of a reply; raises UnreadableReplyError for one without its parts."""
    written = last_with("question", reply)
    question = text_of(written, "question")
    if kind == "unanswerable":
        return MadeQuestion(question)
    if kind != "comparison":
        return MadeQuestion(question, text_of(written, "answer"), (text_of(written, "quote"),))
    quotes = written.get("quotes")
    if not isinstance(quotes, list) or len(quotes) != 2:
        raise UnreadableReplyError('"quotes" must be a list of two texts, one of each passage')
    evidence = tuple(text_of({"quotes": quote}, "quotes") for quote in quotes)
    return MadeQuestion(question, text_of(written, "answer"), evidence)


def read_alone(reply: str) -> Alone:
    """Return what a reply says of a question; raises UnreadableReplyError without it."""
    said = last_with("clear", reply)
    clear, answer = said.get("clear"), said.get("answer")
    if isinstance(clear, str):
        clear = {"true": True, "false": False}.get(clear.strip().lower())
    if not isinstance(clear, bool):
        raise UnreadableReplyError('"clear" must be true or false')
    text = answer.strip() if isinstance(answer, str) else ""
    is_answer = any(map(str.isalnum, text)) and kind_of(text) != "refused"
    return Alone(clear, text if is_answer else "")


def last_with(name: str, reply: str) -> Mapping[str, Any]:
    """Return the last object of a reply with this key; raises UnreadableReplyError without it."""
    # A model that thinks aloud corrects itself: its last word counts.
    objects = [found for found in find_objects(reply) if name in found]
    if not objects:
        raise UnreadableReplyError(f'it has no object with "{name}"')
    return objects[-1]


def text_of(written: Mapping[str, Any], name: str) -> str:
    """Return a text with words in it, on one line but for quotes; raises UnreadableReplyError."""
    text = written.get(name)
    if not isinstance(text, str) or not any(map(str.isalnum, text)):
        raise UnreadableReplyError(f'"{name}" must be a text with words in it')
    text = text.strip()
    if len(text) > _MOST:
        raise UnreadableReplyError(f'"{name}" has {len(text)} characters, at most {_MOST} are one')
    return text if name in ("quote", "quotes") else " ".join(text.split())


@cache
def question_schema(kind: QuestionType) -> ReplySchema:
    """Return the JSON Schema of a reply with a question of this type."""
    # Not at the top: who only reads replies needs no client.
    from pytest_rageval.clients.base import ReplySchema

    text = {"type": "string"}
    parts: dict[str, Any] = {"question": text}
    if kind == "comparison":
        parts |= {"answer": text, "quotes": {"type": "array", "items": text}}
    elif kind != "unanswerable":
        parts |= {"answer": text, "quote": text}
    return ReplySchema.of(f"question_{kind}", **parts)


@cache
def alone_schema() -> ReplySchema:
    """Return the JSON Schema of a reply to a question without a passage."""
    from pytest_rageval.clients.base import ReplySchema

    parts = {"clear": {"type": "boolean"}, "answer": {"type": "string"}}
    return ReplySchema.of("question_alone", **parts)
