"""What a service replied, read as an answer: JSON by paths, text, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.targets.answers import answer_of
from pytest_rageval.targets.base import Answer, TargetError
from pytest_rageval.targets.http_exchange import HttpReply
from pytest_rageval.targets.json_path import JsonPath, parse_path

_LINES = ("application/x-ndjson", "application/jsonl", "application/jsonlines")
_STREAMED = tuple(
    parse_path(path)
    for path in ("choices[0].delta.content", "delta", "token", "text", "content", "message.content")
)
"""Where the parts of an answer stand that is streamed, if the scenario does not say."""


class ReplyReader:
    """Reads replies; ``paths`` say where ``answer``, ``contexts``, ... are, where they say it.

    What no path is given for is looked for at the top of the reply, by the names that data sets
    use. Whatever else stands at the top goes along as ``extra``.
    """

    def __init__(self, paths: Mapping[str, JsonPath]) -> None:
        self._paths = paths

    def read(self, reply: HttpReply) -> Answer:
        """Return the answer; raise TargetError where the reply is none."""
        kind = reply.content_type
        if kind == "text/event-stream":
            return self._streamed(_events(reply.text))
        if kind in _LINES:
            return self._streamed(_json_lines(reply.text))
        if not reply.body.strip():
            raise TargetError("replied nothing")
        if kind == "text/html":
            raise TargetError("replied a page of HTML")
        value = _json_of(reply)
        if isinstance(value, str) and self._paths:
            raise TargetError(f"replied text, which has no {_first(self._paths).written!r}")
        return answer_of(value) if isinstance(value, str) else self._answer(value)

    def _answer(self, value: Any) -> Answer:
        if not self._paths:
            return answer_of(value)
        found = {name: path.pick(value) for name, path in self._paths.items()}
        return answer_of(_joined_answer({**self._rest(value), **found}))

    def _rest(self, value: Any) -> dict[str, Any]:
        """Return what stands at the top, but for what paths lead to or replace."""
        if not isinstance(value, dict):
            return {}
        used = {path.root for path in self._paths.values()}
        used |= {alias for name in self._paths for alias in FIELD_ALIASES.get(name, (name,))}
        return {name: part for name, part in value.items() if name not in used}

    def _streamed(self, events: Iterator[Any]) -> Answer:
        """Return the answer whose parts come one by one; of all else, what came last counts."""
        text, found = [], {}
        for event in events:
            text.append(self._part(event))
            if isinstance(event, dict):
                found.update(self._beside(event))
        if not text:
            raise TargetError("replied a stream without any event")
        return answer_of({**found, "answer": "".join(text)})

    def _part(self, event: Any) -> str:
        if isinstance(event, str):
            return event
        own = self._paths.get("answer")
        tried = (own,) if own is not None else (*_STREAMED, *_ANSWERS)
        for path in tried:
            try:
                part = path.pick(event)
            except TargetError:
                continue
            if isinstance(part, str):
                return part
        return ""

    def _beside(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return what an event says beside the text of the answer; null says nothing."""
        found: dict[str, Any] = {}
        for name, aliases in _BESIDE.items():
            own = self._paths.get(name)
            found[name] = _first_of(aliases if own is None else (own,), event)
        return {name: part for name, part in found.items() if part is not None}


_ANSWERS = tuple(map(parse_path, FIELD_ALIASES["answer"]))
_BESIDE = {
    name: tuple(map(parse_path, FIELD_ALIASES.get(name, (name,))))
    for name in ("contexts", "context_docs", "retrieved_ids")
}


def _first_of(paths: Iterable[JsonPath], event: dict[str, Any]) -> Any:
    """Return what stands at the first of the paths that leads anywhere; None for none."""
    for path in paths:
        with suppress(TargetError):
            return path.pick(event)
    return None


def _first(paths: Mapping[str, JsonPath]) -> JsonPath:
    return next(iter(paths.values()))


def _joined_answer(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found; an answer in several parts, by ``[*]``, is one text."""
    answer = found.get("answer")
    if isinstance(answer, list) and answer and all(isinstance(part, str) for part in answer):
        return {**found, "answer": "".join(answer)}
    return found


def _json_of(reply: HttpReply) -> Any:
    """Return the JSON of a reply; the text where it says that it is text, or is no JSON."""
    text = reply.text
    if reply.content_type.startswith("text/plain"):
        return _object_in(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if "json" in reply.content_type:
            raise TargetError("replied broken JSON") from None
    if "\ufffd" in text:
        size, kind = len(reply.body), reply.content_type
        raise TargetError(f"replied {size} bytes of {kind}, which are no text")
    return text


def _object_in(text: str) -> Any:
    """Return the JSON object that a text is; any other text as it is, also one like ``42``."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _events(text: str) -> Iterator[Any]:
    """Yield the data of server-sent events, parsed where they are JSON objects or texts."""
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        lines = [line[5:] for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(line.removeprefix(" ") for line in lines)
        if not lines or data.strip() == "[DONE]":
            continue
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = data
        yield value if isinstance(value, dict | str) else data


def _json_lines(text: str) -> Iterator[Any]:
    for line in text.split("\n"):  # not splitlines: U+2028 and others may stand in JSON's texts
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise TargetError("replied broken JSON lines") from None
