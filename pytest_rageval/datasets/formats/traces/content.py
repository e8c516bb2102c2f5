"""The question or the answer in a value that a span holds.

A value may be a text, an object of a program, messages of a chat, or JSON of these. Where it is not
certain which of several texts is meant, none is. Of a call's arguments the first one is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import Any, Final

from pytest_rageval.datasets.cells import value_or_text
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.text.codec import read_json

_Chat = list[tuple[str, str]]

_USER: Final = frozenset({"user", "human", "humanmessage"})
_ASSISTANT: Final = frozenset({"assistant", "ai", "model", "aimessage", "aimessagechunk"})
_SPEAKERS: Final = frozenset(
    {*_USER, *_ASSISTANT, "system", "developer", "tool", "function"}
    | {"systemmessage", "toolmessage", "functionmessage"}
)
_ROLES: Final = ("role", "message.role", "message", "kwargs.type", "type")

_QUESTION: Final = (
    *("question", "query", "user_input", "user_query", "user_question", "input", "inputs"),
    *("prompt", "message", "messages", "text", "query_str", "query_bundle", "chat_input"),
    *("content", "args", "kwargs", "kwds", "request", "body"),
)
_ANSWER: Final = (
    *("answer", "output", "outputs", "response", "result", "final_answer", "text", "content"),
    *("output_text", "completion", "message", "messages", "choices", "generations", "candidates"),
    *("generated_text", "reply", "value", "return_values", "kwargs", "data"),
)
_DEEPEST: Final = 8
"""How many objects and lists around a text are looked into."""
_DEEPEST_CHAT: Final = 4
"""How many lists around a message are; LangChain's are lists of chats."""
_LONGEST_NAME: Final = 60
"""A longer key is a text, and no name of a field."""
_ENVELOPE: Final = frozenset({"code", "status", "status_code", "success", "ok", "errno"})
_STATUS: Final = re.compile(
    r"(?i)(?:ok|success(?:ful(?:ly)?)?|succeeded|done|completed|(?:操作|请求|查询)?成功)[.!。！]?"
)
"""What stands beside the answer in the reply of a service, and its message that says no more."""
_HIDDEN: Final = re.compile(r"(?i)[\[<(_*]+\s*(?:redacted|masked)\s*[\])>_*]+|\*{3,}")
"""What exporters and masks write in place of a text."""


def is_hidden(text: str) -> bool:
    """Return whether a text stands in place of one that is not recorded, such as [REDACTED]."""
    return _HIDDEN.fullmatch(text.strip()) is not None


def decoded(value: Any, *, is_json: bool = False) -> Any:
    """Return the object or list that a text spells, else the value.

    With ``is_json``, also a text that is a JSON string.
    """
    if not isinstance(value, str):
        return value
    start = value.lstrip()[:1]
    if is_json and start == '"':
        try:
            return read_json(value)
        except ValueError:
            return value
    return value_or_text(value) if start in ("{", "[") else value


def question_in(value: Any, depth: int = _DEEPEST) -> str | None:
    """Return the question in the input of a step; None where none, or no certain one, is there.

    >>> question_in('{"args": ["How much?"], "kwargs": {}}')
    'How much?'
    >>> question_in({"messages": [{"role": "user", "content": "How much?"}]})
    'How much?'
    """
    if isinstance(value, str):
        spelled = decoded(value)
        if isinstance(spelled, str):
            return text_or_none(value)
        # A list that is no chat and no call is what somebody wrote: "[1, 2]".
        is_other = isinstance(spelled, Mapping) or _holds_objects(spelled) or _withholds(spelled)
        return question_in(spelled, depth) or (None if is_other or not spelled else value)
    if depth and isinstance(value, list):
        if chat := _chat(value):
            return next((text for role, text in reversed(chat) if role in _USER), None)
        return question_in(value[0], depth - 1) if len(value) == 1 else _first_text(value)
    if not depth or not isinstance(value, Mapping) or _is_of_another(value, _USER):
        return None
    return _named(value, _QUESTION, "question", question_in, depth)


def _chat(messages: list[Any]) -> _Chat:
    """Return role and text of the messages of known speakers."""
    return [(role, text) for role, text in messages_in(messages) if role in _SPEAKERS]


def _is_of_another(value: Mapping[str, Any], roles: frozenset[str]) -> bool:
    """Return whether a value is a message of a known speaker who is none of the ``roles``."""
    role = value.get("role", value.get("type"))
    is_other = isinstance(role, str) and role.lower() in _SPEAKERS - roles
    return is_other and message_text(value) != ""


def _holds_objects(value: Any) -> bool:
    return any(isinstance(part, Mapping | list) for part in value)


def _streamed(messages: list[Any]) -> str | None:
    """Return the last text if its pieces are messages, as a stream has them; None for others."""
    parts = list(takewhile(_is_of_assistant, reversed([*map(decoded, messages)])))[::-1]
    parts = [part for part in parts if _message_id(part) in (None, _message_id(parts[-1]))]
    texts = [_piece(part) for part in parts]
    are_pieces = (
        {role_of(part) for part in parts} == {"aimessagechunk"}
        or any(part.get("done") is False for part in parts)  # of Ollama
        or any(text[:1] == " " for text in texts[1:])
    )
    return "".join(texts) if are_pieces else None


def _is_of_assistant(message: Any) -> bool:
    return isinstance(message, Mapping) and role_of(message) in _ASSISTANT


def _message_id(message: Mapping[str, Any]) -> str | None:
    """Return the id that pieces of one message share; that of LangChain's class is a list."""
    inner = message.get("kwargs")
    name = (inner if isinstance(inner, Mapping) else message).get("id")
    return name if isinstance(name, str) else None


def _piece(message: Mapping[str, Any]) -> str:
    """Return the text of a message as it is: a piece may be a blank."""
    inner = (message.get(name) for name in ("message", "kwargs", "data"))
    around = [message, *(part for part in inner if isinstance(part, Mapping))]
    plain = (part.get("content", part.get("text")) for part in around)
    return next((text for text in plain if isinstance(text, str)), "") or message_text(message)


def _answered(chat: _Chat) -> str | None:
    """Return what the assistant says last."""
    return next((text for role, text in reversed(chat) if role in _ASSISTANT), None)


def _last_but_one(chat: _Chat) -> str | None:
    """Return what the assistant says before its last text, where nobody else says anything."""
    alone = len(chat) > 1 and all(role in _ASSISTANT for role, _ in chat)
    return chat[-2][1] if alone else _answered(chat)


def _left_open(chat: _Chat) -> str | None:
    """Return the question that ends a chat after the answer to another one.

    Else, and where the same was said before, what the assistant says last.
    """
    answer = _answered(chat)
    said = [text for role, text in chat if role in _USER | _ASSISTANT]
    asked = [text for role, text in chat if role in _USER]
    if answer is None or not asked or said.index(asked[-1]) != len(said) - 1:
        return answer
    return asked[-1] if said.index(asked[0]) < said.index(answer) else answer


def answer_in(
    value: Any, depth: int = _DEEPEST, of_chat: Callable[[_Chat], str | None] = _answered
) -> str | None:
    """Return the answer in the output of a step; None where none, or no certain one, is there.

    A text that spells an object without an answer is the answer as it is, unless the object says
    that the answer is null, or it is masked.

    >>> answer_in({"choices": [{"message": {"role": "assistant", "content": "Six euros."}}]})
    'Six euros.'
    """
    if isinstance(value, str):
        spelled = decoded(value)
        found = None if isinstance(spelled, str) else answer_in(spelled, depth, of_chat)
        return found or (None if _withholds(spelled) else text_or_none(value))
    if depth and isinstance(value, list):
        if chat := _chat(value):
            return _streamed(value) or of_chat(chat)
        return answer_in(value[0], depth - 1, of_chat) if len(value) == 1 else None
    if not depth or not isinstance(value, Mapping) or _is_of_another(value, _ASSISTANT):
        return None
    names = tuple(name for name in _ANSWER if name != "message" or not _says_status(value))
    return _named(value, names, "answer", partial(answer_in, of_chat=of_chat), depth)


def left_open_in(value: Any) -> str | None:
    """Return what is read as the answer, or a question behind it in its chat."""
    return answer_in(value, of_chat=_left_open)


def last_but_one_in(value: Any) -> str | None:
    """Return what is read as the answer, or a text before it in a list of the assistant's."""
    return answer_in(value, of_chat=_last_but_one)


def _says_status(value: Mapping[str, Any]) -> bool:
    """Return whether the ``message`` is of an envelope, and the answer is in its ``data``."""
    message, data = value.get("message"), decoded(value.get("data"))
    if not isinstance(message, str):
        return False
    is_plain = _STATUS.fullmatch(message.strip()) is not None
    if isinstance(data, str):
        return (is_plain or "code" in value) and bool(data.strip())
    is_envelope = is_plain or not _ENVELOPE.isdisjoint(value)
    return isinstance(data, Mapping) and any(
        _is_named(name, "answer") or (is_envelope and name in _ANSWER and isinstance(part, str))
        for name, part in data.items()
    )


def _withholds(value: Any) -> bool:
    """Return whether a mask stands in place of an answer, or null or "" under a name of answers."""
    if isinstance(value, Mapping):
        return any(
            _withholds(part) or (part in (None, "") and _is_named(name, "answer"))
            for name, part in value.items()
            if len(value) == 1 or name in _ANSWER or _is_named(name, "answer")
        )
    if isinstance(value, list):
        return any(map(_withholds, value))
    return isinstance(value, str) and is_hidden(value)


def _named(
    value: Mapping[str, Any],
    names: tuple[str, ...],
    field: str,
    read: Callable[[Any, int], str | None],
    depth: int,
) -> str | None:
    """Return the text under the first of ``names``, else under a user's own name of the field.

    Else under another of ``names``; else that of the only value.
    """
    own = [name for name in value if name not in names and _is_named(name, field)]
    for name in (*names[:1], *own, *names[1:]):
        if name in value and not isinstance(value[name], bool | int | float):
            found = read(value[name], depth - 1)
            if found:
                return found
    return read(next(iter(value.values())), depth - 1) if len(value) == 1 else None


def _is_named(name: Any, field: str) -> bool:
    known = read_field(name) if isinstance(name, str) and len(name) <= _LONGEST_NAME else None
    return known is not None and known[0] == field


def text_or_none(value: str) -> str | None:
    """Return a text; None for a blank one, and for a mask."""
    return value if value.strip() and not is_hidden(value) else None


def _first_text(values: list[Any]) -> str | None:
    """Return the first argument of a call, if it is a text; of several messages, none."""
    if any(isinstance(part, Mapping) for part in values):
        return None
    return text_or_none(values[0]) if values and isinstance(values[0], str) else None


def messages_in(value: Any, depth: int = _DEEPEST_CHAT) -> Iterator[tuple[str, str]]:
    """Yield role, in lower case, and text of each message of a chat that has a text."""
    for part in map(decoded, value if isinstance(value, list) else [value]):
        if _is_pair(part):
            yield part[0].lower(), part[1]
        elif isinstance(part, list) and depth:
            yield from messages_in(part, depth - 1)
        elif isinstance(part, Mapping):
            role, text = role_of(part), message_text(part)
            if role and text:
                yield role, text


def _is_pair(part: Any) -> bool:
    """Return whether a part is role and text in a list, as LangGraph takes messages."""
    if not isinstance(part, list) or len(part) != 2:
        return False
    role, text = part
    return isinstance(role, str) and role.lower() in _SPEAKERS and isinstance(text, str)


def role_of(message: Mapping[str, Any]) -> str:
    """Return who speaks, in lower case; "" where the message does not say it."""
    for name in _ROLES:
        found: Any = message
        for step in (name,) if name in message else name.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            found = role_of(found)
        if isinstance(found, str) and found.lower() not in ("", "constructor", "message"):
            return found.lower()
    kind = message.get("id")  # LangChain's path of a class: [..., "HumanMessage"]
    return str(kind[-1]).lower() if isinstance(kind, list) and kind else ""


def message_text(message: Any, depth: int = _DEEPEST) -> str:
    """Return the text of a message, its parts on lines of their own; "" for none."""
    if isinstance(message, str):
        return message if text_or_none(message) else ""
    if not depth:
        return ""
    if isinstance(message, list):
        return "\n".join(filter(None, (message_text(part, depth - 1) for part in message)))
    if not isinstance(message, Mapping):
        return ""
    for name in ("content", "message.content", "text", "parts", "contents", "message.contents"):
        if name in message and (found := message_text(message[name], depth - 1)):
            return found
    inner = ("message", "message_content", "message_content.text", "kwargs", "data")
    texts = (message_text(message[name], depth - 1) for name in inner if name in message)
    return next(filter(None, texts), "")
