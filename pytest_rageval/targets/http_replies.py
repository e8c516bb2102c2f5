"""Replies of HTTP services, read as answers: JSON, text, and streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pytest_rageval.clients.http import HttpReply
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.fields import FIELD_ALIASES, OF_ANSWERS, WITH_ANSWERS
from pytest_rageval.targets.base import Answer, TargetError, answer_of
from pytest_rageval.targets.ends import Ending, failure_of, says_half, unfinished
from pytest_rageval.targets.events import (
    IS_FIELD,
    Event,
    ai_sdk_lines,
    events_of,
    is_ai_sdk,
    json_lines,
    read,
)
from pytest_rageval.targets.streams import StreamedAnswer, may_lead, text_at
from pytest_rageval.text.json_value import JsonPath, LostPathError, parse_path

_SSE = "text/event-stream"
_LENGTH = "Content-Length"
_LINES = re.compile(
    r"(?:application|text)/(?:x-)?(?:nd-?json|jsonl|json-?lines|json-(?:seq|stream)|stream\+json)$"
)
_UNTYPED = ("", "text/plain", "text/html", "application/octet-stream", "application/json")
"""Types that some services give their streams, too: they say nothing."""
_TAG = re.compile(r"(?i)<(?:!doctype|html|head|body|title|div|p|br|h1|script)\b")
_BEGINS_SSE = re.compile(r"(?:event:.*\r?\n)?data: *\{.*\}\r?\n\r?\n")
_OTHER_FIELDS = {
    name: tuple(map(parse_path, (FIELD_ALIASES | OF_ANSWERS).get(name, (name,))))
    for name in ("contexts", "context_docs", "retrieved_ids", *WITH_ANSWERS, "cost_usd")
}
_MOST_ODD = 4
"""How many bytes of a context may be no UTF-8: of a character that was cut, or of its document."""


class ReplyReader:
    """Reads replies; ``paths`` are what the scenario names for ``answer``, ``contexts`` and so on.

    Fields without a path are taken from the top of the reply, by the names that data sets use.
    Everything else at the top becomes ``extra``; of a stream, citations, confidence and
    ``cost_usd`` alone. ``events`` are the types of the events of a stream that have parts of the
    answer, empty for those that are known.
    """

    def __init__(self, paths: Mapping[str, JsonPath], events: Iterable[str] = ()) -> None:
        self._paths = paths
        self._events = tuple(events)

    def read(self, reply: HttpReply) -> Answer:
        """Return the answer; raise TargetError where the reply is none."""
        answer = self._read(reply)
        if "\ufffd" in reply.text and "\ufffd".encode() not in reply.body:
            parts = [answer.text, *(answer.context_docs or ()), *(answer.retrieved_ids or ())]
            is_odd = any(text.count("\ufffd") > _MOST_ODD for text in answer.contexts or ())
            if is_odd or any("\ufffd" in (part or "") for part in parts):
                raise TargetError(
                    "replied bytes that are no UTF-8; have the server name their charset, "
                    "like Content-Type: application/json; charset=gbk"
                )
        return answer

    def _read(self, reply: HttpReply) -> Answer:
        events = _events_in(reply)
        if events is not None:
            return self._streamed(events, reply)
        value = json_of(reply)
        if isinstance(value, str) and reply.may_be_cut_off:
            raise TargetError(
                "replied a text that may be cut off: it ends with the connection; have the server "
                "send its Content-Length, or chunks (HTTP/1.1)"
            )
        if isinstance(value, str) and self._paths:
            first = next(iter(self._paths.values()))
            raise TargetError(f"replied text, which has no {first.written!r}")
        if isinstance(value, str):
            return answer_of(value)
        if _may_be_a_line(reply) and isinstance(value, dict) and (flag := says_half(value)):
            hint = "have the service send the whole answer, with its Content-Length"
            raise TargetError(f"replied JSON that says that more follows ({flag}: false); {hint}")
        return self._answer(value)

    def _answer(self, value: Any) -> Answer:
        if said := failure_of(value, self._paths):
            raise TargetError(f"replied an error: {said}")
        answer = self._answer_at(value)
        if (answer.text or "").strip():
            path = self._paths.get("answer")
            if path is not None and Event(value).is_of_others(path):
                raise TargetError(f"replied no answer: a tool or the user says {path.written!r}")
            return answer
        # Without a text, a bare code is a failure, too.
        if said := failure_of(value, self._paths, has_text=False):
            raise TargetError(f"replied an error: {said}")
        if status := unfinished(value):
            raise TargetError(f"replied no answer yet (status: {status})")
        return answer

    def _answer_at(self, value: Any) -> Answer:
        if not self._paths:
            return answer_of(value)
        try:
            found = {name: _found(name, path, value) for name, path in self._paths.items()}
        except LostPathError as error:
            raise TargetError(f"its reply has {error}") from None
        return answer_of({**self._rest(value), **found})

    def _rest(self, value: Any) -> dict[str, Any]:
        """Return the fields at the top, without those that paths lead to or replace."""
        if not isinstance(value, dict):
            return {}
        used = {path.root for path in self._paths.values()}
        used |= {alias for name in self._paths for alias in FIELD_ALIASES.get(name, (name,))}
        return {name: part for name, part in value.items() if name not in used}

    def _streamed(self, events: Iterator[Event], reply: HttpReply) -> Answer:
        """Return the answer, joined from its parts, and the other fields of its events.

        Raises TargetError for a stream that tells of an error, or that more follows: what came
        before is half an answer.
        """
        path = self._paths.get("answer")
        answer = StreamedAnswer(path, self._events)
        ending = Ending(path.steps if path else ())
        found: dict[str, Any] = {}
        event = None
        for event in events:
            ending.add(event, has_text=answer.add(event))
            for name, value in self._other_fields(event.data).items():
                found[name] = _continued(name, found.get(name), value)
        if event is None:
            raise TargetError("replied a stream without any event")
        lost = [
            path.written for name, path in self._paths.items() if name not in {*found, "answer"}
        ]
        text = answer.text
        ending.check(may_be_cut_off=reply.may_be_cut_off)
        if lost:
            raise TargetError(f"no event of its stream has anything at {lost[0]!r}")
        return answer_of({**found, "answer": text})

    def _other_fields(self, data: Any) -> dict[str, Any]:
        """Return the other fields of an event, without those that are null."""
        found: dict[str, Any] = {}
        for name, aliases in _OTHER_FIELDS.items():
            own = self._paths.get(name)
            found[name] = _first_of(aliases if own is None else (own,), data)
            if own is not None and found[name] is None and _has_none(own, data):
                found[name] = []
        return {name: part for name, part in found.items() if part is not None}


def _continued(name: str, before: Any, now: Any) -> Any:
    """Return the value of a field after one more event has it.

    Items come one by one, or in lists. A list that holds all items before it replaces them: it is
    sent again as it grows. So does one that holds only items before it: those that were kept, such
    as after reranking. An empty value changes nothing. Raises TargetError for a list that drops
    some and adds others: which of the two counts is not known.
    """
    if name in ("confidence", "cost_usd"):
        return now
    old = [] if before is None else before if isinstance(before, list) else [before]
    if not isinstance(now, list):
        # Two contexts may be of one document, and two citations the same.
        is_known = now in old and name not in ("context_docs", "citations")
        return old if now in ("", {}) or is_known else [*old, now]
    if not old or all(item in now for item in old):
        return now
    if all(item in old for item in now):
        return now or old
    if name == "citations":  # of one sentence each
        return [*old, *now]
    raise TargetError(
        f"replied a stream with several lists of {name}: {shorten(repr(old), 60)}, "
        f"{shorten(repr(now), 60)}; have the service send all that the answer is made of at once, "
        "or ask it in a function of your own"
    )


def _first_of(paths: Iterable[JsonPath], data: Any) -> Any:
    """Return the first value that is not null at one of the paths in the event, else None."""
    for path in (one for one in paths if may_lead(one, data)):
        with suppress(LostPathError):
            if (value := path.pick(data)) is not None:
                return value
    return None


def _found(name: str, path: JsonPath, value: Any) -> Any:
    if name == "answer":
        return text_at(path, value)
    return [] if _has_none(path, value) else path.pick(value)


def _has_none(path: JsonPath, value: Any) -> bool:
    """Return whether an empty object, or list, stands where the items of a path would be."""
    for at, step in enumerate(path.steps):
        if at and value in ({}, []):
            return any(number >= at for number in path.every)
        try:
            value = value[step]
        except (LookupError, TypeError):
            return False
    return False


def _events_in(reply: HttpReply) -> Iterator[Event] | None:
    """Return the events of a stream, None where the reply is none.

    Where the type of the content says nothing, the lines tell: server-sent events if all are
    fields or the first event is whole, Vercel's if all are, JSON lines if two objects begin it.
    """
    kind, text = reply.content_type.lower(), reply.text
    lines = [line for line in text.split("\n") if line.strip()]
    if kind == _SSE:
        if any(map(IS_FIELD.match, lines)):
            return events_of(text)
        # Some call JSON lines so, or a text.
        return json_lines(text) if all(line.startswith("{") for line in lines) else None
    if _LINES.match(kind):
        return json_lines(text)
    if kind not in _UNTYPED:
        return None
    # One that begins as a stream and goes on otherwise is a stream that has failed.
    if (all(map(IS_FIELD.match, lines)) and _has_data(text)) or re.match(_BEGINS_SSE, text):
        return events_of(text)
    if lines and all(map(is_ai_sdk, lines)):
        return ai_sdk_lines(text)
    return json_lines(text) if len(lines) > 1 and all(map(_is_object, lines[:2])) else None


def _may_be_a_line(reply: HttpReply) -> bool:
    """Return whether JSON may be the first line of a stream that was cut off.

    A stream has no length beforehand. Flask and Go put a line feed behind a whole reply, too, but
    send its Content-Length.
    """
    text = reply.text
    return text.endswith("\n") and "\n" not in text.strip() and _LENGTH not in reply.headers


def _has_data(text: str) -> bool:
    """Return whether lines have the data of an event; "data: none" alone is a text."""
    return re.search(r"(?m)^data:(?:.*\r?\n\r?\n| *\{)", text) is not None


def _is_object(line: str) -> bool:
    return line.startswith("{") and isinstance(_object_in(line), dict)


def json_of(reply: HttpReply) -> Any:
    """Return the JSON of a reply, else its text. Of a text or page, only an object counts as JSON.

    Raises TargetError for nothing, for a page of the type text/html, for broken JSON, and for bytes
    that are no text.
    """
    kind, text = reply.content_type.lower(), reply.text
    if not reply.body.strip():
        raise TargetError("replied nothing")
    if kind == "text/html" and re.search(_TAG, text):
        raise TargetError("replied a page of HTML")
    if kind.startswith(("text/plain", "text/html")):  # Flask calls any text HTML
        return _object_in(text)
    try:
        return read(text)
    except ValueError:
        if "json" in kind or (kind == _SSE and text.lstrip().startswith("{")):
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
        return read(text)
    except ValueError:
        return text
