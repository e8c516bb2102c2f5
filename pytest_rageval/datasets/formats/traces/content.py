"""The question, the answer or the documents in a value that a span holds.

A value may be a text, an object of a program, messages of a chat, or JSON of these. Where it is not
certain which of several texts is meant, none is. Of a call's arguments the first one is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
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
_DOCUMENTS: Final = (
    *("documents", "docs", "contexts", "retrieved_contexts", "source_documents", "source_nodes"),
    *("passages", "chunks", "nodes", "hits", "matches", "results", "result", "output", "outputs"),
    *("data", "value", "content", "structuredContent"),
)
_CONTEXTS: Final = ("contexts", "retrieved_contexts", "source_documents", "retrieval_context")
_TEXT: Final = (
    *("content", "page_content", "text", "contents", "document.content", "pageContent"),
    *("passage", "chunk", "chunk_text", "body"),
)
_INNER: Final = ("document", "node", "payload", "kwargs", "entity", "metadata", "_source")
_ID: Final = ("id", "document.id", "doc_id", "document_id", "chunk_id", "id_", "_id", "node_id")
_COUNT: Final = re.compile(r"(?i)(?:count|total|found|hits|matches|results|docs)$|^n(?:um)?_")
_DEEPEST: Final = 8
"""How many objects and lists around a text are looked into."""
_DEEPEST_CHAT: Final = 4
"""How many lists around a message are; LangChain's are lists of chats."""
_DEEPEST_PASSAGE: Final = 3
"""How many objects around the text of a passage are, such as hit, payload and document."""
_LONGEST_NAME: Final = 60
"""A longer key is a text, and no name of a field."""
_REPR: Final = re.compile(r"<[\w.]+[ (][^<>]*>|<[A-Z]\w*\(.*\)>", re.DOTALL)
"""How Python writes an object; HTML has text between two tags."""
_HIDDEN: Final = re.compile(r"(?i)[\[<(_*]+\s*(?:redacted|masked)\s*[\])>_*]+|\*{3,}")
"""What exporters and masks write in place of a text."""


def is_hidden(text: str) -> bool:
    """Return whether a text stands in place of one that is not recorded, such as [REDACTED]."""
    return _HIDDEN.fullmatch(text.strip()) is not None


@dataclass(frozen=True, slots=True)
class Document:
    """A passage, with its id where it has one; "" is a text that is hidden, or not there."""

    text: str
    id: str | None = None


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
            return _text(value)
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


def _answered(chat: _Chat) -> str | None:
    """Return what the assistant says last."""
    return next((text for role, text in reversed(chat) if role in _ASSISTANT), None)


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
    that the answer is null or blank, or it is masked.

    >>> answer_in({"choices": [{"message": {"role": "assistant", "content": "Six euros."}}]})
    'Six euros.'
    """
    if isinstance(value, str):
        spelled = decoded(value)
        found = None if isinstance(spelled, str) else answer_in(spelled, depth, of_chat)
        return found or (None if _withholds(spelled) else _text(value))
    if depth and isinstance(value, list):
        if chat := _chat(value):
            return of_chat(chat)
        return answer_in(value[0], depth - 1, of_chat) if len(value) == 1 else None
    if not depth or not isinstance(value, Mapping) or _is_of_another(value, _ASSISTANT):
        return None
    return _named(value, _ANSWER, "answer", partial(answer_in, of_chat=of_chat), depth)


def left_open_in(value: Any) -> str | None:
    """Return what is read as the answer, or a question behind it in its chat."""
    return answer_in(value, of_chat=_left_open)


def _withholds(value: Any) -> bool:
    """Return whether a mask stands in place of an answer, or nothing under a name of answers."""
    if isinstance(value, Mapping):
        return any(
            _withholds(part) or (_says(name) and part not in ([], {}) and _is_void(part))
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

    Else under another of ``names``; else that of the only value. Beside an answer that is empty or
    masked, other texts are none, but for those of a chat that ends with a reply.
    """
    own = [name for name in value if name not in names and _is_named(name, field)]
    said = [value[name] for name in filter(_says, value)] if field == "answer" else []
    is_void = any(part not in ([], {}) and _is_void(part) for part in said)
    for name in (*names[:1], *own, *names[1:]):
        if name in value and not isinstance(value[name], bool | int | float):
            is_read = not is_void or _says(name) or _ends_with_reply(value[name])
            if is_read and (found := read(value[name], depth - 1)):
                return found
    return read(next(iter(value.values())), depth - 1) if len(value) == 1 else None


def _says(name: Any) -> bool:
    # LangChain's llm_output holds figures.
    return name == "final_answer" or (name != "llm_output" and _is_named(name, "answer"))


def _is_void(value: Any) -> bool:
    """Return whether a value is null, blank or a mask, or holds nothing else."""
    if isinstance(value, str):
        return _text(value) is None
    parts = value.values() if isinstance(value, Mapping) else value
    return value is None or (isinstance(value, Mapping | list) and all(map(_is_void, parts)))


def _ends_with_reply(value: Any) -> bool:
    chat = _chat(value if isinstance(value, list) else [value])
    return bool(chat) and chat[-1][0] in _ASSISTANT


def _is_named(name: Any, field: str) -> bool:
    known = read_field(name) if isinstance(name, str) and len(name) <= _LONGEST_NAME else None
    return known is not None and known[0] == field


def _text(value: str) -> str | None:
    return value if value.strip() and not is_hidden(value) else None


def _first_text(values: list[Any]) -> str | None:
    """Return the first argument of a call, if it is a text; of several messages, none."""
    if any(isinstance(part, Mapping) for part in values):
        return None
    return _text(values[0]) if values and isinstance(values[0], str) else None


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
        return message if _text(message) else ""
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


def documents_in(value: Any, *, is_retrieval: bool) -> list[Document] | None:
    """Return the passages in the output of a step, best first.

    [] where a retrieval's output says that nothing was found, None where it does not say what was.

    ``is_retrieval``: the step says that it retrieves. Then bare texts are passages, too; else only
    objects with a text are.

    >>> documents_in([{"id": 7, "text": "Mondays"}], is_retrieval=False)
    [Document(text='Mondays', id='7')]
    """
    value = decoded(value)
    found = _documents(value, is_retrieval, _DEEPEST)
    may_be_empty = found is None and is_retrieval and isinstance(value, Mapping) and value
    return [] if may_be_empty and not _holds_anything(value) else found


def _holds_anything(value: Any, depth: int = _DEEPEST) -> bool:
    """Return whether a value has a text, a list that is not empty, or a count above 0, in it."""
    if isinstance(value, Mapping) and depth:
        return any(
            _holds_anything(part, depth - 1)
            or (isinstance(part, int | float) and part > 0 and _COUNT.search(str(name)) is not None)
            for name, part in value.items()
        )
    return bool(value) and isinstance(value, str | list | Mapping)


def contexts_in(value: Any) -> list[Document] | None:
    """Return the passages that an output lists beside the answer, under a name of contexts."""
    value = decoded(value)
    if not isinstance(value, Mapping):
        return None
    named = (value[name] for name in _CONTEXTS if value.get(name))
    found = (documents_in(part, is_retrieval=True) for part in named)
    return next(filter(None, found), None)


def _documents(value: Any, is_retrieval: bool, depth: int) -> list[Document] | None:
    if not depth:
        return None
    if isinstance(value, str):
        passage = _bare(value) if is_retrieval else None
    elif isinstance(value, list):
        return _listed(value, is_retrieval, depth)
    elif isinstance(value, Mapping):
        inner = _in_object(value, is_retrieval, depth)
        if inner is not None:
            return inner
        passage = _document(value) if is_retrieval else None
    else:
        return None
    return [passage] if passage and (passage.text or passage.id) else None


def _bare(text: str) -> Document | None:
    """Return the passage that a bare text is; None for a blank, null or an object's Python repr."""
    is_passage = text.strip() and text != "null" and not _REPR.fullmatch(text.strip())
    return Document(_text(text) or "") if is_passage else None


def _in_object(value: Mapping[str, Any], is_retrieval: bool, depth: int) -> list[Document] | None:
    if is_retrieval and isinstance(value.get("documents"), list):
        found = _side_by_side(value)
        if found:
            return found
    for name in _DOCUMENTS:
        part = decoded(value.get(name))
        if isinstance(part, list | Mapping):
            found = _documents(part, is_retrieval, depth - 1)
            if found is not None:
                return found
    return None


def _listed(value: list[Any], is_retrieval: bool, depth: int) -> list[Document] | None:
    if not value:
        return [] if is_retrieval else None
    if len(value) == 1 and isinstance(value[0], list) and not _is_scored(value[0]):
        return _documents(value[0], is_retrieval, depth - 1)
    found: list[Document] = []
    for part in value:
        item = decoded(part[0] if _is_scored(part) else part)
        passage = _document(item)
        if passage is None and is_retrieval:
            passage = _bare(item) if isinstance(item, str) else _without_text(item)
        if passage is None:
            return None
        found.append(passage)
    return found if any(one.text or one.id for one in found) else None


def _is_scored(part: Any) -> bool:
    """Return whether a part is a document and its scores in a list; lists of documents are not."""
    is_list = isinstance(part, list) and len(part) > 1
    return is_list and all(isinstance(score, int | float) for score in part[1:])


def _without_text(value: Any) -> Document | None:
    """Return the passage that an object is without its text; None for a message of a chat."""
    is_object = isinstance(value, Mapping) and "role" not in value
    return Document("", _id_of(value)) if is_object else None


def _side_by_side(value: Mapping[str, Any]) -> list[Document] | None:
    """Return the passages of lists of texts and of ids, as Chroma gives them for one query."""
    texts, ids = value["documents"], value.get("ids")
    if len(texts) == 1 and isinstance(texts[0], list):
        texts, ids = texts[0], ids[0] if isinstance(ids, list) and ids else None
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    if not isinstance(ids, list) or len(ids) != len(texts):
        ids = [None] * len(texts)
    found = [
        Document(_text(text) or "", None if name is None else str(name))
        for text, name in zip(texts, ids, strict=True)
    ]
    return found if any(one.text or one.id for one in found) else None


def _document(value: Any, depth: int = _DEEPEST_PASSAGE) -> Document | None:
    """Return the passage that an object is; None for one without a text, and for a message."""
    if not isinstance(value, Mapping) or "role" in value:
        return None
    for name in _TEXT:
        text = value.get(name)
        if isinstance(text, str) and _text(text):
            return Document(text, _id_of(value))
    for name in _INNER if depth else ():
        part = value.get(name)
        if name == "document" and isinstance(part, str) and _text(part):
            return Document(part, _id_of(value))
        inner = _document(part, depth - 1)
        if inner:
            return Document(inner.text, _id_of(value) or inner.id)
    return None


def _id_of(value: Mapping[str, Any]) -> str | None:
    for name in _ID:
        found = value.get(name)
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found).strip():
            return str(found)
    inner = value.get("metadata", value.get("document.metadata"))
    inner = decoded(inner)
    return _id_of(inner) if isinstance(inner, Mapping) else None
