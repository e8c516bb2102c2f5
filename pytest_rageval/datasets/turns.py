"""Divides the messages of a row into earlier turns, the question and its answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

Message = Mapping[str, str]

_WHOLE: Final = frozenset({"messages", "input"})
"""The columns that may hold a whole conversation; others are named for what came before."""
_TELLING: Final = 12
"""A reply with fewer characters, such as "Yes.", may be the answer of several turns."""


class Turns(NamedTuple):
    """The earlier turns, and the ``doubt`` that a user has to hear of, "" without one."""

    history: Sequence[Message]
    doubt: str = ""


def before_question(
    messages: Sequence[Message], question: str, answers: Collection[str], column: str
) -> Turns:
    """Return what came before a question that stands beside the messages of ``column``.

    What follows the question may be the gold answer: it is no earlier turn. ``answers`` are the
    texts that the row has as its answer and its references. A reply that is one of them may be
    given twice: it tells where the question is only if it is the last reply, and not in a column
    that is named for what came before.
    """
    named = [at for at in _users(messages) if _plain(messages[at]) == question.strip()]
    if column in _WHOLE:
        return _of_whole(messages, answers, named, column)
    answered = _answered(messages, answers)
    if named and named[-1] in (_users(messages)[-1], answered):
        return Turns(messages[: named[-1]])
    return Turns(messages, "" if answered is None else _may_be_answer(column))


def _of_whole(
    messages: Sequence[Message], answers: Collection[str], named: Sequence[int], column: str
) -> Turns:
    if named:
        return Turns(messages[: named[-1]])
    answered = _answered(messages, answers)
    is_replied = _last_reply(messages) > _last_asked(messages)
    if answered is not None and is_replied:
        return Turns(messages[:answered])
    if answered is not None and _tells(messages):
        return Turns(messages[:answered], _is_left_out(column))
    return Turns(messages, _may_be_reply(column) if is_replied else "")


def place_of_question(
    messages: Sequence[Message], answers: Collection[str], column: str
) -> tuple[int | None, str]:
    """Return where the question is in messages that hold it (or None), and the doubt to hear of.

    It is the last message of the user. In ``messages`` it is an earlier one where the last reply
    comes before that, is the answer of the row, and is no short text: "Thanks" is no question.
    """
    last = _last_asked(messages)
    if last < 0:
        return None, ""
    answered = _answered(messages, answers)
    if column != "messages" or answered is None or _last_reply(messages) > last:
        return last, ""
    return (answered, _is_left_out(column)) if _tells(messages) else (last, "")


def _may_be_reply(column: str) -> str:
    return (
        f"{column!r} ends with a turn of the assistant, and the question is no message in it: that "
        "turn counts as an earlier one. If it is the answer, take it out; if it is not, and the "
        "column has only what came before, name it 'history'"
    )


def _may_be_answer(column: str) -> str:
    return (
        f"the last reply in {column!r} is a text that the row has as its answer or reference: it "
        "counts as an earlier one. If it answers the question of the row, take it out"
    )


def _is_left_out(column: str) -> str:
    return (
        f"the user goes on in {column!r} after a reply that the row has as its answer or reference:"
        " it counts as the answer, and what follows is left out. If the question follows it, write "
        "that in 'question', and what came before in 'history'"
    )


def _answered(messages: Sequence[Message], answers: Collection[str]) -> int | None:
    """Return the place of the question of the last reply, None if that is not in ``answers``."""
    at = _last_reply(messages)
    is_answer = at >= 0 and _plain(messages[at]) in answers
    return _question_of(messages, at) if is_answer else None


def _tells(messages: Sequence[Message]) -> bool:
    return len(_plain(messages[_last_reply(messages)])) >= _TELLING


def _question_of(messages: Sequence[Message], at: int) -> int:
    """Return the place of the user's message before a reply; that of the reply without one."""
    before = _users(messages[:at])
    return before[-1] if before else at


def _last_reply(messages: Sequence[Message]) -> int:
    """Return the place of the last reply, -1 without one."""
    return max((at for at, m in enumerate(messages) if m["role"] == "assistant"), default=-1)


def _last_asked(messages: Sequence[Message]) -> int:
    """Return the place of the user's last message, -1 without one."""
    return max(_users(messages), default=-1)


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
