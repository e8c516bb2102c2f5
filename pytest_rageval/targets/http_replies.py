"""Replies of HTTP services, read as answers: JSON, text, and streams.

A stream that breaks off, or tells of an error, is no answer: what came before is half of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from pytest_rageval.clients.http import HttpReply
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.fields import FIELD_ALIASES, OF_ANSWERS, WITH_ANSWERS
from pytest_rageval.targets.base import Answer, TargetError, answer_of, error_in
from pytest_rageval.text.codec import TOO_DEEP, LimitError, read_json
from pytest_rageval.text.json_value import JsonPath, LostPathError, parse_path

_LINES = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
_STREAMED = tuple(
    parse_path(path)
    for path in ("choices[0].delta.content", "delta", "token", "text", "content", "message.content")
)
"""The paths of the parts of a streamed answer, if the scenario names none."""

_NO_TEXT = re.compile(r"response\.(?!(?:output_text|refusal)\.)|reasoning|thinking|tool")
"""The types of events that have thoughts, calls of tools, or marks of OpenAI's Responses."""
_REPEATS = re.compile(r"response\.(?:output_text|refusal)\.done$")
"""The types of events that say again what came in parts."""
_FAILED = frozenset({"error", "response.failed", "response.incomplete"})
"""The types of events, and the status of those without, that say that there is no answer."""

_Part = tuple[str, str]
"""Where a part of an answer stands in its event, and the part."""


class ReplyReader:
    """Reads replies; ``paths`` are what the scenario names for ``answer``, ``contexts`` and so on.

    Fields without a path are taken from the top of the reply, by the names that data sets use.
    Everything else at the top becomes ``extra``.
    """

    def __init__(self, paths: Mapping[str, JsonPath]) -> None:
        self._paths = paths

    def read(self, reply: HttpReply) -> Answer:
        """Return the answer; raise TargetError where the reply is none."""
        kind = reply.content_type.lower()
        if kind == "text/event-stream":
            return self._streamed(events_of(reply.text))
        if kind in _LINES:
            return self._streamed(_json_lines(reply.text))
        value = json_of(reply)
        if isinstance(value, str) and self._paths:
            first = next(iter(self._paths.values()))
            raise TargetError(f"replied text, which has no {first.written!r}")
        return answer_of(value) if isinstance(value, str) else self._answer(value)

    def _answer(self, value: Any) -> Answer:
        if said := error_in(value):
            raise TargetError(f"replied an error: {said}")
        if not self._paths:
            return answer_of(value)
        try:
            found = {name: path.pick(value) for name, path in self._paths.items()}
        except LostPathError as error:
            raise TargetError(f"its reply has {error}") from None
        return answer_of(_joined_answer({**self._rest(value), **found}))

    def _rest(self, value: Any) -> dict[str, Any]:
        """Return the fields at the top, without those that paths lead to or replace."""
        if not isinstance(value, dict):
            return {}
        used = {path.root for path in self._paths.values()}
        used |= {alias for name in self._paths for alias in FIELD_ALIASES.get(name, (name,))}
        return {name: part for name, part in value.items() if name not in used}

    def _streamed(self, events: Iterator[Any]) -> Answer:
        """Return the answer, joined from its parts; of other fields, the last value counts.

        Raises TargetError for a stream that tells of an error: what came before it is half an
        answer.
        """
        parts: list[_Part] = []
        wholes: list[_Part] = []
        found: dict[str, Any] = {}
        is_empty = True
        for event in events:
            is_empty = False
            refuse_error(event)
            if isinstance(event, dict):
                found.update(self._other_fields(event))
            (wholes if _REPEATS.match(_type_of(event)) else parts).extend(self._part(event))
        if not (parts := parts or wholes[-1:]):
            what = "without any event" if is_empty else "in which no event has an answer"
            raise TargetError(f"replied a stream {what}")
        return answer_of({**found, "answer": _whole(parts)})

    def _part(self, event: Any) -> list[_Part]:
        """Return what an event has of the answer, and where; [] if it has no place for one."""
        if isinstance(event, str):
            return [("", event)]
        if _NO_TEXT.match(_type_of(event)):
            return []
        own = self._paths.get("answer")
        tried = (own,) if own is not None else (*_STREAMED, *_ANSWERS)
        for path in tried:
            try:
                part = path.pick(event)
            except LostPathError:
                continue
            if isinstance(part, str):
                return [(path.written, part)]
        return []

    def _other_fields(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the other fields of an event, without those that are null."""
        found: dict[str, Any] = {}
        for name, aliases in _OTHER_FIELDS.items():
            own = self._paths.get(name)
            found[name] = _first_of(aliases if own is None else (own,), event)
        return {name: part for name, part in found.items() if part is not None}


def _type_of(event: Any) -> str:
    return str(event.get("type")) if isinstance(event, dict) else ""


def refuse_error(event: Any) -> None:
    """Raise TargetError for an event that is an error."""
    said: Any = None
    if isinstance(event, dict):
        names = ("type", "event") if "type" in event or "event" in event else ("status",)
        kinds = {str(event.get(name)).lower() for name in names}
        has_failed = not _FAILED.isdisjoint(kinds) or _first_of((_FINISH,), event) == "error"
        said = event.get("error") or (event if has_failed else None)
    elif isinstance(event, str) and event.startswith(("[SERVER_ERROR]", "[ERROR]")):
        said = event
    if said:
        raise TargetError(f"its stream breaks off with an error: {shorten(str(said), 200)}")


def _whole(parts: Sequence[_Part]) -> str:
    """Return the answer of a stream; some repeat all that came before, at the end or each time."""
    texts = [text for _, text in parts]
    said = [text for text in texts if text.strip()]
    joined = "".join(texts)
    if len(said) < 2:
        return joined
    before = "".join(texts[: len(texts) - 1 - texts[::-1].index(said[-1])])
    is_elsewhere = parts[-1][0] != parts[0][0]  # the whole under another name
    is_same = said[-1].strip() == before.strip()
    if is_same and (len(said) > 2 or is_elsewhere):
        return said[-1]
    if is_elsewhere and before.strip() and said[-1].startswith(before.strip()):
        return said[-1]  # with a mark at its end, or more
    # "7", "7", "7" are three digits, "1", "10" may be two numbers; no token has a blank within.
    is_long = len(said[0].strip()) > 2 or any(" " in text.strip() for text in said)
    grows = len(set(said)) > 2 or (is_long and (len(set(said)) == 2 or " " in said[0].strip()))
    if grows and all(part.startswith(first) for first, part in pairwise(said)):
        return said[-1]
    return joined


_FINISH = parse_path("choices[0].finish_reason")
_ANSWERS = tuple(map(parse_path, FIELD_ALIASES["answer"]))
_OTHER_FIELDS = {
    name: tuple(map(parse_path, (FIELD_ALIASES | OF_ANSWERS).get(name, (name,))))
    for name in ("contexts", "context_docs", "retrieved_ids", *WITH_ANSWERS)
}


def _first_of(paths: Iterable[JsonPath], event: dict[str, Any]) -> Any:
    """Return the value at the first path that exists in the event, None if none does."""
    for path in paths:
        with suppress(LostPathError):
            return path.pick(event)
    return None


def _joined_answer(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found; an answer in several parts, by ``[*]``, is one text."""
    answer = found.get("answer")
    if isinstance(answer, list) and answer and all(isinstance(part, str) for part in answer):
        return {**found, "answer": "".join(answer)}
    return found


def json_of(reply: HttpReply) -> Any:
    """Return the JSON of a reply, or its text if that is its type or it is not JSON.

    Raises TargetError for nothing, for a page, and for broken JSON.
    """
    kind, text = reply.content_type.lower(), reply.text
    if not reply.body.strip():
        raise TargetError("replied nothing")
    if kind == "text/html":
        raise TargetError("replied a page of HTML")
    if kind.startswith("text/plain"):
        return _object_in(text)
    try:
        return _read(text)
    except ValueError:
        if "json" in kind:
            raise TargetError("replied broken JSON") from None
    if "\ufffd" in text:
        found = f"{len(reply.body)} bytes of {reply.content_type}"
        raise TargetError(f"replied {found}, which are no text")
    return text


def _object_in(text: str) -> Any:
    """Return the JSON object in a text; any other text, such as ``42``, as it is."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return _read(text)
    except ValueError:
        return text


def _read(text: str) -> Any:
    """Return the JSON that a text is; raises TargetError where it is too deep, else ValueError."""
    try:
        return read_json(text)
    except LimitError:
        raise TargetError(f"replied JSON {TOO_DEEP}") from None


def events_of(text: str) -> Iterator[Any]:
    """Yield the data of server-sent events, parsed where they are JSON objects or texts.

    Raises TargetError for an event of the type error, and for an object of JSON that is cut off.
    """
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line[5:] for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(line.removeprefix(" ") for line in lines)
        if not lines or data.strip() == "[DONE]":
            continue
        if re.search(r"(?m)^event: *error *$", block):
            refuse_error({"error": data or "no words about it"})
        try:
            value = _read(data)
        except ValueError:
            if re.match(r'\s*\{\s*"', data):
                raise TargetError("replied a stream with broken JSON") from None
            value = data
        yield value if isinstance(value, dict | str) else data


def _json_lines(text: str) -> Iterator[Any]:
    for line in text.split("\n"):  # not splitlines: JSON's texts may hold U+2028 and others
        if line.strip():
            try:
                yield _read(line)
            except ValueError:
                raise TargetError("replied broken JSON lines") from None
