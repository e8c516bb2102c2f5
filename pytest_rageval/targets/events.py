"""Events of streamed replies: how they are read, and of which types they are.

One table says what the documented types of the usual protocols hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final

from pytest_rageval.targets.base import TargetError
from pytest_rageval.text.codec import TOO_DEEP, LimitError, read_json
from pytest_rageval.text.json_value import JsonPath
from pytest_rageval.text.tokenize import one_of

# Types are compared in lower case, and by their words: TOOL_CALL_ARGS, toolCall, tool-call.

OF_ANSWERS: Final = one_of(
    """
    text text-delta text_delta text_chunk token answer content content-delta delta markdown
    assistant ai aimessagechunk messages messages/partial output_text message_delta
    agent_message fastanswer text-generation textresponse textresponsechunk
    text_message_content text_message_chunk content_block_delta
    response.output_text.delta response.refusal.delta
    conversation.message.delta thread.message.delta
    """
)
"""The types that have parts of the answer; two of them in one stream are one answer."""

_REPEATS = re.compile(
    r"(?:response\.(?:output_text|refusal|content_part|output_item)\.done|response\.completed"
    r"|(?:conversation|thread)\.message\.completed|messages/complete)$"
)
"""The types that say again what came in parts."""

_REPLACES = re.compile(r"(?:message_replace|text_replace|workflow_finished|values|snapshot)$")
"""The types whose text replaces all that came before."""

_THOUGHTS = ("think", "thought", "reason", "tool", "function")
"""The beginnings of words for thoughts and calls of tools."""

_ASIDES = one_of(
    """
    status state progress log logs debug info verbose ping heartbeat keepalive start started begin
    source sources citation citations annotation annotations reference references context contexts
    document documents docs passages knowledge retrieval retrieved retriever search query queries
    metadata meta usage title session suggestion suggestions suggested follow followup nextagent
    agentflowevent flow interactive updatevariables
    """
)
"""Words of types whose text is none of the answer: sources, marks, what is said about it."""

_RESPONSES = re.compile(
    r"response\.(?!(?:output_text|refusal|content_part|output_item)\.|completed$)"
)
"""All else of OpenAI's Responses: arguments of calls, code, images."""

STEPS: Final = one_of("step node tool stage")
"""Keys of an event that is about one of these, not about all of the answer."""
_SOURCES = one_of("sources references citations")
"""The words of types that come behind an answer, and may say that it has ended."""
_ON_THE_WAY = one_of("node step task retry call")
"""The words of types whose failure need not be that of the answer."""

ENDS: Final = one_of("end ended done finish finished close closed complete completed stop eos")
END: Final = re.compile(r"\[(?:done|end)\]$", re.IGNORECASE)
ALONE: Final = re.compile(r"(?i)(?:\[(?:done|end|stop|eos)\]|</s>|<end>|<\|[^|]{1,30}\|>)$")
"""The marks of the end that count only where they are all of an event's data."""
_BARE_END = re.compile(
    r"\W*(?:done|end|closed?|finish(?:ed)?|completed?|stop|success|ok|null)?\W*$", re.IGNORECASE
)

_SUCCEEDED = one_of("succeeded completed complete success")
_OTHERS = one_of("tool user human system developer function user_message")
"""Roles that do not answer."""
_SPEAKERS = ("sender", "source", "author", "speaker", "from")
_NO_WORDS = ("thought", "is_from_self", "special")
"""Keys that are true beside what is no answer: a thought, the user's own words, a mark as </s>."""

_AFTER = one_of("title suggestion suggestions suggested follow followup")
"""The words of types of what is made from an answer: it may fail; usage or a session may not."""

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
GENERIC = ("", "message", "data")
"""The names of events that say nothing of their type."""

_HOLDERS = ("data", "payload", "response", "result", "output", "event", "statusUpdate")
_TYPE_KEYS = (
    *("type", "event", "event_type", "eventType"),
    *("message_type", "msg_type", "messageType", "stage", "channel"),
)
_NESTED = 3
"""So many objects deep protocols wrap what they say."""

NODE: Final = "langgraph_node"
"""What LangGraph calls the node that a message is of."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its ``data`` parsed, as it was ``written`` (server-sent events), and its name."""

    data: Any
    written: str | None = None
    name: str = ""

    def types(self, path: JsonPath | None = None) -> tuple[str, ...]:
        """Return the types of the event and of what is on the path to its text, as written."""
        names = [self.name, *(name for at in on_the_path(self.data, path) for name in _named(at))]
        return tuple(dict.fromkeys(name for name in names if name.lower() not in GENERIC))

    def without(self, is_left: Callable[[Event], bool]) -> Event:
        """Return the event, empty if ``is_left`` holds for it; what it wraps likewise."""
        if is_left(self):
            return Event(None)
        whole = self.data if isinstance(self.data, Mapping) else {}
        held = {key: Event(whole[key]).without(is_left).data for key in _HOLDERS if key in whole}
        return replace(self, data={**whole, **held}) if held else self

    @property
    def all_types(self) -> list[str]:
        """The types of the event, and of what it wraps."""
        inner = [name for place in places_in(self.data)[1:] for name in _named(place)]
        return [*self.types(), *inner]

    def is_of_others(self, path: JsonPath | None = None) -> bool:
        """Return whether at the path a tool or the user speaks, or there is a thought or a mark."""
        return any(
            any(str(at.get(key)).lower() in _OTHERS for key in ("role", "type", "message_type"))
            or any(str(at.get(key)).lower() in ("user", "human") for key in _SPEAKERS)
            or any(at.get(key) is True for key in _NO_WORDS)
            for at in on_the_path(self.data, path)
        )

    @property
    def has_succeeded(self) -> bool:
        """Whether a status, its own or that of what it wraps, says that all is done."""
        return any(status_of(place) in _SUCCEEDED for place in places_in(self.data))

    @property
    def is_about_other(self) -> bool:
        """Whether it is about a title or suggestions, not about the answer."""
        return not _AFTER.isdisjoint(self._words)

    @property
    def is_of_step(self) -> bool:
        """Whether its keys name a step that it is about."""
        return isinstance(self.data, Mapping) and not STEPS.isdisjoint(self.data)

    @property
    def is_of_another(self) -> bool:
        """Whether it is of a step by its type, or of one who does not answer."""
        return self.is_of_others() or not STEPS.isdisjoint(self._words)

    @property
    def steps(self) -> Mapping[str, Any]:
        """The steps that its keys name, and those of what it wraps; LangGraph's node."""
        held = places_in(self.data)
        named = {key: place[key] for place in held for key in STEPS if key in place}
        return named | ({NODE: node} if (node := self.node) else {})

    @property
    def node(self) -> str:
        """The node of LangGraph's [message, metadata], "" without one."""
        held = self.data.get("data") if isinstance(self.data, Mapping) else self.data
        about = held[-1] if isinstance(held, list) and held else None
        return str(about.get(NODE) or "") if isinstance(about, Mapping) else ""

    @property
    def is_of_sources(self) -> bool:
        """Whether it has sources by its type, and those of no tool."""
        return bool(self._words) and self._words <= _SOURCES and not self.is_of_others()

    @property
    def _words(self) -> frozenset[str]:
        return frozenset[str]().union(*map(words_of, self.types()))

    @property
    def may_go_on(self) -> bool:
        """Whether a failure that it tells of may be that of a step only, or be mended yet."""
        is_half = any(status_of(place) == "incomplete" for place in places_in(self.data))
        return is_half or self.is_of_step or is_passing(self.types())


def on_the_path(value: Any, path: JsonPath | None) -> Iterator[Mapping[str, Any]]:
    """Yield the objects on the way to the value at a path, up to its first ``[*]``."""
    for at, step in enumerate((*path.steps, None) if path else (None,)):
        if isinstance(value, Mapping):
            yield value
        if step is None or (path and at in path.every):
            return
        try:
            value = value[step]
        except (LookupError, TypeError):
            return


def places_in(value: Any, depth: int = _NESTED) -> list[Mapping[str, Any]]:
    """Return the objects in which protocols have a type, a status, flags and an error.

    ``value`` is the first, then what it wraps, ``depth`` objects deep in all.
    """
    if not isinstance(value, Mapping) or depth == 0:
        return []
    inner = (value[name] for name in _HOLDERS if name in value)
    return [value, *(place for one in inner for place in places_in(one, depth - 1))]


def around(value: Any, path: JsonPath) -> Iterator[Mapping[str, Any]]:
    """Yield the objects on the way to what is at a path, as far as what wraps it goes."""
    steps = takewhile(lambda step: isinstance(step, int) or step in _HOLDERS, path.steps)
    return on_the_path(value, replace(path, steps=tuple(steps)))


def status_of(place: Mapping[str, Any]) -> str:
    """Return the status of an object in lower case, "none" for none."""
    status = place.get("status")
    said = str(status.get("state") if isinstance(status, Mapping) else status).lower()
    return said.removeprefix("task_state_")


def _named(value: Mapping[str, Any]) -> list[str]:
    keys = [*_TYPE_KEYS, *(key for key in value if key.endswith("kind"))]
    return [str(value[key])[:100] for key in keys if isinstance(value.get(key), str | int)]


@lru_cache(maxsize=1000)
def words_of(name: str) -> frozenset[str]:
    """Return the words of a type in lower case.

    >>> sorted(words_of("TOOL_CALL_ARGS") | words_of("sourceDocuments"))
    ['args', 'call', 'documents', 'source', 'tool']
    """
    # What stands behind a bar names a place: messages|knowledge_agent:1.
    return frozenset(word.lower() for word in WORD.findall(name.partition("|")[0]))


def is_thought(name: str) -> bool:
    """Return whether a type has thoughts or calls of tools."""
    return any(word.startswith(_THOUGHTS) for word in words_of(name))


def is_aside(types: Sequence[str]) -> bool:
    """Return whether the text of such an event is no part of an answer."""
    return any(
        is_thought(name) or not _ASIDES.isdisjoint(words_of(name)) or _RESPONSES.match(name.lower())
        for name in types
    )


def is_answer(types: Sequence[str]) -> bool:
    """Return whether such an event is known to have a part of the answer; no type says nothing."""
    return not types or any(name.lower() in OF_ANSWERS for name in types)


def repeats(types: Sequence[str]) -> bool:
    """Return whether such an event says again what came in parts."""
    return any(_REPEATS.match(name.lower()) for name in types)


def replaces(types: Sequence[str]) -> bool:
    """Return whether the text of such an event is all that counts of what came so far."""
    return any(_REPLACES.match(name.lower()) for name in types)


def is_end(types: Sequence[str], text: str, *, is_alone: bool) -> bool:
    """Return whether a text is the mark of the end, such as ``[DONE]``.

    ``is_alone``: it is all of the event's data, so more marks count.
    """
    words = frozenset().union(*map(words_of, types))
    mark = ALONE if is_alone else END
    return bool(mark.match(text.strip()) or (not ENDS.isdisjoint(words) and _BARE_END.match(text)))


def is_passing(types: Sequence[str]) -> bool:
    """Return whether a failure that such an event tells of may be that of a step only."""
    return is_aside(types) or any(not _ON_THE_WAY.isdisjoint(words_of(name)) for name in types)


def read(text: str) -> Any:
    """Return the JSON that a text is; raises TargetError if too deep, ValueError if it is none."""
    try:
        return read_json(text)
    except LimitError:
        raise TargetError(f"replied JSON {TOO_DEEP}") from None


IS_FIELD: Final = re.compile(r"(?:data|event|id|retry|message)?(?::|$)")
"""A line of server-sent events: a field, a remark (which begins with the colon), or what some
servers send beside them, ``message:``."""


def events_of(text: str) -> Iterator[Event]:
    """Yield server-sent events, their data parsed where it is JSON.

    Raises TargetError for an object of JSON that is cut off, and for a line that is no field: the
    rest of a text with line breaks, or an error that a server wrote into its stream.
    """
    for block in text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n"):
        for line in block.split("\n"):
            if line.strip() and not (IS_FIELD.match(line) or END.match(line.strip())):
                raise TargetError(f"replied a stream with a line that is no event: {line[:100]!r}")
        named = re.findall(r"(?m)^event:(.*)$", block)
        name = named[-1].strip() if named else ""
        lines = [line[5:] for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(line.removeprefix(" ") for line in lines)
        if lines:
            yield Event(_parsed(data), data, name)
        elif name or END.match(block.strip()):
            yield Event(block.strip() if not name else None, None, name)


def _parsed(data: str) -> Any:
    try:
        value = read(data)
    except ValueError:
        if re.match(r'\s*\{\s*"', data):
            raise TargetError("replied a stream with broken JSON") from None
        return data
    return value if isinstance(value, dict | list | str) else data


def json_lines(text: str) -> Iterator[Event]:
    """Yield the values of JSON lines; raises TargetError for a line that is none."""
    for line in text.split("\n"):  # not splitlines: JSON's texts may hold U+2028 and others
        if line.strip():
            try:
                yield Event(read(line))
            except ValueError:
                raise TargetError("replied broken JSON lines") from None


_AI_SDK = {
    "0": "text",
    "3": "error",
    **dict.fromkeys("2k", "metadata"),
    "d": "finish",
    "e": "finish-step",
    "f": "start-step",
    "8": "annotations",
    **dict.fromkeys("9abc", "tool"),
    **dict.fromkeys("gij", "reasoning"),
    "h": "source",
}
"""The letters before the lines of a data stream of Vercel's AI SDK 4."""


def is_ai_sdk(line: str) -> bool:
    """Return whether a line is one of Vercel's AI SDK 4: a letter, a colon, JSON; no score 3:0."""
    is_json = line[2:3] in ('"', "{", "[") or line[2:].strip() == "null"
    return line[:1] in _AI_SDK and line[1:2] == ":" and is_json


def ai_sdk_lines(text: str) -> Iterator[Event]:
    """Yield the events of lines for which ``is_ai_sdk`` holds; TargetError for broken JSON."""
    for line in filter(str.strip, text.split("\n")):
        try:
            yield Event(read(line[2:]), line[2:], _AI_SDK[line[0]])
        except ValueError:
            raise TargetError("replied a stream with broken JSON") from None
