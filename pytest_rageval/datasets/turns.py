"""Divides the messages of a row into earlier turns, the question and its answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

Message = Mapping[str, str]

_WHOLE: Final = "messages"
"""The column that may hold a whole conversation; others are named for what came before."""
_TELLING: Final = 12
"""A shorter text, such as "Yes.", may be the answer of several turns."""


class Turns(NamedTuple):
    """The earlier turns.

    ``is_in_doubt``: the last turn may be the answer, and nothing says whether it is.
    """

    history: Sequence[Message]
    is_in_doubt: bool = False


def before_question(
    messages: Sequence[Message], question: str, answers: Collection[str], column: str
) -> Turns:
    """Return what came before a question that stands beside the messages of ``column``.

    What follows it may be the gold answer: it is no earlier turn. ``answers`` are the texts that
    the row has as its answer and its references.
    """
    asked = _users(messages)
    named = [at for at in asked if _plain(messages[at]) == question.strip()]
    if named and (column == _WHOLE or named[-1] == asked[-1]):
        return Turns(messages[: named[-1]])
    told, repeated = _told(messages, answers, named), _repeated(messages, answers)
    if told is None and column == _WHOLE:
        told = repeated
    if told is not None:
        return Turns(messages[:told])
    in_doubt = repeated is not None or (column == _WHOLE and _ends_with_reply(messages))
    return Turns(messages, is_in_doubt=in_doubt)


def place_of_question(messages: Sequence[Message], answers: Collection[str]) -> int | None:
    """Return where the question is in messages that hold it: the last message of the user.

    An earlier one where its reply is the answer of the row: "Thanks" is no question.
    """
    asked = _users(messages)
    if not asked:
        return None
    if _reply(messages[asked[-1] + 1 :]) is None:
        told = _told(messages, answers, ())
        return asked[-1] if told is None else told
    return asked[-1]


def _told(
    messages: Sequence[Message], answers: Collection[str], named: Collection[int]
) -> int | None:
    """Return the user's message whose reply is certain to be the row's answer."""
    found = [
        (_question_of(messages, at), _plain(message))
        for at, message in enumerate(messages)
        if message["role"] == "assistant" and _plain(message) in answers
    ]
    sure = [at for at, text in found if len(text) >= _TELLING or at in named]
    return sure[-1] if sure else None


def _repeated(messages: Sequence[Message], answers: Collection[str]) -> int | None:
    """Return where the last question is, if the last turn is a text that the row has as answer."""
    if _ends_with_reply(messages) and _plain(messages[-1]) in answers:
        return _question_of(messages, len(messages) - 1)
    return None


def _question_of(messages: Sequence[Message], at: int) -> int:
    """Return the place of the user's message before a reply; that of the reply without one."""
    before = _users(messages[:at])
    return before[-1] if before else at


def _reply(messages: Sequence[Message]) -> str | None:
    """Return the last reply before the user speaks again, None without one."""
    end = next(iter(_users(messages)), len(messages))
    replies = [m["content"] for m in messages[:end] if m["role"] == "assistant"]
    return replies[-1] if replies else None


def _ends_with_reply(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[-1]["role"] == "assistant"


def _users(messages: Sequence[Message]) -> list[int]:
    return [at for at, message in enumerate(messages) if message["role"] == "user"]


def _plain(message: Message) -> str:
    return message["content"].strip()


def answers_of(values: Mapping[str, Any]) -> set[str]:
    """Return the texts that a row has as its answer and as its references."""
    found = [values.get("answer")]
    references = values.get("references")
    found += references if isinstance(references, list | tuple) else [references]
    return {text.strip() for text in found if isinstance(text, str) and text.strip()}
