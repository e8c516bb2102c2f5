"""The answer of a streamed reply: which events have parts of it, and how these are joined.

A stream that breaks off, or tells of an error, is no answer: what came before is half of one. Where
the types of its events do not tell what is the answer, it is none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.ends import calls_tool, failure_in, is_raw_error, refuse
from pytest_rageval.targets.events import (
    ALONE,
    GENERIC,
    NODE,
    Event,
    is_answer,
    is_aside,
    is_end,
    is_thought,
    repeats,
    replaces,
    words_of,
)
from pytest_rageval.text.json_value import JsonPath, LostPathError, parse_path
from pytest_rageval.text.tokenize import one_of

_STREAMED = tuple(
    parse_path(path)
    for path in ("choices[0].delta.content", "delta", "token", "text", "content", "message.content")
)
"""The paths of the parts of a streamed answer, if the scenario names none."""

# Those of an answer that comes in one event.
_ANSWERS = tuple(map(parse_path, FIELD_ALIASES["answer"]))
_SOURCES = one_of(
    "source sources reference references citation citations context contexts document documents "
    "docs chunks outputs hits"
)
"""The words of the fields that come with a whole answer, not with a token of it."""

_MARK = re.compile(
    r" ?(?:\[(?:ID: *|\^|citation: *)?\d+(?: *[,，] *\d+)*\]|##\d+\$\$|\(ID: *\d+\)"
    r"|【\d+[^】]{0,80}】)",
    re.IGNORECASE,
)
"""Marks of citations, which some services put in at the end."""

_WHOLES = ("text", "answer", "output.text", "data.text", "payload.content", "result", "response")
"""Where services send all so far each time: "Yes" twice is one word, and "7", "7" is not."""

_NO_LETTER = re.compile(r"[\W_]+")

_NODES = (NODE, "nodeName")
_TURNS = ("langgraph_step", "langgraph_checkpoint_ns", "checkpoint_ns")
_ID = "id of the message"
"""What tells LangGraph's turns apart, the id only to find calls: it may change in a message."""

Kind = tuple[str, ...]
Turn = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A text of an event: where it stands there, of which types it is, and what comes with it.

    ``is_aside``: it is known to be no part of an answer. ``node`` is the step of a graph that said
    it, where the event names one (LangGraph, n8n), and ``turn`` what tells its message from others
    of that step. ``is_of_others``: the user's or a tool's, a thought or a mark. ``is_partial``: its
    event says that all of it comes again (Google's ADK).
    """

    text: str
    place: str = ""
    types: tuple[str, ...] = ()
    has_sources: bool = False
    is_aside: bool = False
    node: str = ""
    is_of_others: bool = False
    is_partial: bool = False
    turn: Turn = ()

    def before_call(self, node: str, turn: Turn) -> Part:
        """Return the part; if of this message, which calls a tool, as of no message of its own."""
        is_of_call = self.node == node and all(dict(turn).get(k, v) == v for k, v in self.turn)
        return replace(self, turn=()) if is_of_call else self

    @property
    def kind(self) -> Kind:
        """The types in lower case, without numbers."""
        return tuple(name.lower().rstrip("0123456789_-") or name for name in self.types)


class StreamedAnswer:
    """Takes events one by one; ``text`` is the answer.

    ``path`` leads to its parts, None for the usual ones. ``events`` are the only types that have
    parts, empty for those that are known; what takes an answer back still does.
    """

    def __init__(self, path: JsonPath | None, events: Iterable[str] = ()) -> None:
        self._path = path
        self._events = frozenset(name.lower() for name in events)
        self._parts: list[Part] = []
        self._called: dict[tuple[str, Turn], int] = {}
        self._repeats: list[Part] = []
        self._left_out: dict[str, None] = {}
        self._failure = ""
        self._is_formal = False
        self._is_raw = False

    def add(self, event: Event) -> bool:
        """Take one event; return whether a part of the answer, not blank, was in it.

        Raises TargetError for an event that says that there is no answer.
        """
        part = self._part_of(event)
        has_text = part is not None and bool(part.text.strip())
        is_taken = False
        if part is not None and not is_end(part.types, part.text, is_alone=not part.place):
            is_taken = self._take(part)
        if (teller := _teller_of(event.data))[1] and calls_tool(event, self._path):
            begin, self._called[teller] = self._called.get(teller, 0), len(self._parts)
            self._parts[begin:] = [part.before_call(*teller) for part in self._parts[begin:]]
        is_after_json = bool(self._parts and self._parts[0].place)
        steps = self._path.steps if self._path else ()

        def failure(one: Event) -> str:
            return failure_in(one, has_text=has_text, is_after_json=is_after_json, steps=steps)

        heard = event.without(lambda one: one.is_about_other)
        if said := failure(heard):
            # An envelope that calls this a success will call what follows one, too: it mends none.
            self._failure, self._is_formal = said, heard.has_succeeded
            # A failure of a tool or a step ends nothing yet: the answer may still come.
            refuse(failure(heard.without(lambda one: one.may_go_on)))
        elif heard.has_succeeded and not self._is_formal:
            self._failure = ""
        elif is_taken and len(self._parts) > 1 and self._is_raw and is_raw_error(str(event.data)):
            self._failure = str(event.data)  # if no more follows
        return is_taken

    def _take(self, part: Part) -> bool:
        """Put a text where it belongs; return whether that is in the answer."""
        others = [name for name in part.types if name.lower() not in self._events]
        is_listed = len(others) < len(part.types) or (
            not part.types and not self._events.isdisjoint(GENERIC)
        )
        is_left_out = part.is_aside
        if self._events:
            is_left_out = not is_listed or is_aside(others) or part.is_of_others
        if replaces(part.types) and not (is_left_out and "finished" in words_of(part.types[0])):
            # A snapshot that ends with the words of the user, or of a tool, has no answer yet.
            self._parts, self._failure = [] if part.is_of_others else [part], ""
            return bool(self._parts and part.text.strip())
        if is_left_out:
            if part.text.strip():
                self._left_out.update(dict.fromkeys(part.types))
        elif repeats(part.types) and not is_listed:
            self._repeats.append(part)
        else:
            self._parts.append(part)
            if part.text.strip():
                self._failure = ""
                return True
        return False

    def _part_of(self, event: Event) -> Part | None:
        """Return the text of an event, None if it has no place for one."""
        tried = (self._path,) if self._path else (*_STREAMED, *_ANSWERS)
        for path in (one for one in tried if may_lead(one, event.data)):
            try:
                text = _said(text_at(path, event.data))
            except LostPathError:
                continue
            if text is not None:
                types, has_sources = event.types(path), _has_sources(event.data)
                others, (node, turn) = event.is_of_others(path), _teller_of(event.data)
                aside = is_aside(types) or others
                partial = isinstance(event.data, dict) and event.data.get("partial") is True
                told = (has_sources, aside, node, others, partial, turn)
                return Part(text, path.written, types, *told)
        self._is_raw = self._is_raw or _is_raw(event)
        text, types = None if self._path else _plain_text(event, self._is_raw), event.types()
        return None if text is None else Part(text, "", types, is_aside=is_aside(types))

    @property
    def text(self) -> str:
        """The answer; raises TargetError where there is none, or none can be told from others."""
        refuse(self._failure)
        parts = self._parts or self._repeats[-1:]
        if not parts:
            raise TargetError(f"replied a stream in which no event has an answer{self._hint()}")
        return joined(parts, is_one=bool(self._events))

    def _hint(self) -> str:
        if not self._left_out:
            return ""
        names = list(self._left_out)
        return (
            f"; text is in events of the type {_listed(names)}. If it is the answer, name the type:"
            f" events: [{shorten(names[0], 60)}]"
        )


def may_lead(path: JsonPath, value: Any) -> bool:
    """Return whether a path may lead somewhere: faster than to word the error that it does not."""
    return path.root is None or (isinstance(value, Mapping) and path.root in value)


def text_at(path: JsonPath, value: Any) -> Any:
    """Return the value at a path; a list of texts is joined, and ``[*]`` leaves thoughts out.

    Raises LostPathError where the path leads nowhere.
    """
    found = _spoken(path, value) if path.every else path.pick(value)
    if isinstance(found, list) and found and all(isinstance(part, str) for part in found):
        return "".join(found)
    return found


def _spoken(path: JsonPath, value: Any) -> list[Any]:
    """Return the values at a path with ``[*]``, without items that are thoughts or calls."""
    values = [value]
    for at, step in enumerate(path.steps):
        if at in path.every:
            items = [item for one in values if isinstance(one, list) for item in one]
            values = [item for item in items if not _is_thought(item)]
            if items and not values:
                return []
        else:
            try:
                values = [JsonPath(path.written, (step,)).pick(one) for one in values]
            except LostPathError:
                return list(path.pick(value))  # whose error says how far the whole path leads
    return values or list(path.pick(value))


def _is_thought(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    kind = str(item.get("type", ""))
    return item.get("thought") is True or is_thought(kind) or "call" in words_of(kind)


def _is_raw(event: Event) -> bool:
    """Return whether the data are a token as it is; then a token may be JSON by chance: {}."""
    is_text = isinstance(event.data, str) and event.data == event.written
    return is_text and not ALONE.match(event.data.strip())


def _plain_text(event: Event, is_raw: bool) -> str | None:
    """Return the text that the data of an event are; no path leads to it."""
    if is_raw and not event.types() and (isinstance(event.data, str) or event.data in ({}, [])):
        return event.written
    if isinstance(event.data, str):
        return event.data
    is_list = isinstance(event.data, list) and not any(isinstance(one, dict) for one in event.data)
    return event.written if is_list else None  # the token [1]


def _said(value: Any) -> str | None:
    """Return the text at a path, or of a list of typed parts there, as some services mix both."""
    if isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
        texts = [part.get("text") for part in value if not _is_thought(part)]
        value = "".join(texts) if texts and all(isinstance(one, str) for one in texts) else None
    return value if isinstance(value, str) else None


def _teller_of(data: Any) -> tuple[str, Turn]:
    """Return the step of a graph that says a text, and its turn, by what is said about the text.

    That stands behind it in a pair, which may be under ``data``, or else under ``metadata``.
    """
    whole = data if isinstance(data, Mapping) else {}
    pairs = [one for one in (data, whole.get("data")) if isinstance(one, list) and len(one) == 2]
    for said, about in (*pairs, (None, whole.get("metadata"))):
        if node := _named_node(about):
            of = about | ({_ID: said.get("id")} if isinstance(said, Mapping) else {})
            told = ((key, of.get(key)) for key in (*_TURNS, _ID))
            return node, tuple((key, str(value)) for key, value in told if value is not None)
    return "", ()


def _named_node(about: Any) -> str:
    found = (about.get(key) for key in _NODES) if isinstance(about, Mapping) else ()
    return str(next(filter(None, found), ""))


def _has_sources(data: Any) -> bool:
    """Return whether sources, or other outputs, stand beside a text."""
    if not isinstance(data, Mapping):
        return False
    places = [data, *(place for place in data.values() if isinstance(place, Mapping))]
    return any(
        bool(value) and not _SOURCES.isdisjoint(words_of(str(key)))
        for place in places
        for key, value in place.items()
    )


def joined(parts: Sequence[Part], *, is_one: bool = False) -> str:
    """Return the answer of a stream; some repeat all that came before, at the end or each time.

    Raises TargetError for texts of several nodes or messages, for several that grow and, unless the
    scenario names the types (``is_one``), for those not known to be of one answer.
    """
    parts = _without_partial(parts)
    whole = "".join(part.text for part in parts)
    said = [part for part in parts if part.text.strip()]
    if len(said) < 2:
        return whole
    before = "".join(part.text for part in parts[: _position(parts, said[-1])])
    texts = [part.text for part in said]
    # What is called a delta is no more than that: "D", "DR" of DDR.
    may_grow = not all("delta" in part.place for part in said)
    marked = [_MARK.sub("", text) for text in texts]
    if may_grow and (_restates(said, before) or grow(texts) or grow(marked)):
        return said[-1].text
    is_twice = len(said) == 2 and texts[0] == texts[1] and not texts[0].strip().isdigit()
    if is_twice and said[0].place in _WHOLES:
        return texts[0]
    nodes = list(dict.fromkeys(part.node for part in said))
    if len(nodes) > 1:
        raise TargetError(
            f"replied a stream with text of the nodes {_listed(nodes)}; have the service stream "
            "what the node that answers says alone, or ask it in a function of your own"
        )
    _refuse_messages(said)
    if not is_one:
        _refuse_mixture(said)
    again = [one for one, then in pairwise(texts) if len(one) > 3 and then.startswith(one + " ")]
    if len(again) > 1:
        raise TargetError(
            "replied a stream with several texts that each grow from event to event; have the "
            "service stream the answer alone, or ask it in a function of your own"
        )
    return whole


def _refuse_messages(said: Sequence[Part]) -> None:
    """Raise TargetError for texts that one node says when it has its turn again."""
    turns: dict[str, dict[str, None]] = {}
    for key, value in (one for part in said for one in part.turn):
        turns.setdefault(key, {})[value] = None
    for key in _TURNS:
        if len(values := list(turns.get(key, ()))) > 1:
            raise TargetError(
                f"replied a stream with several messages of the node {said[0].node!r} ({key}: "
                f"{_listed(values)}); have the service stream the one that is the answer alone, "
                "or ask it in a function of your own"
            )


def _without_partial(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts without the partial ones that one behind them repeats as a whole."""
    kept: list[Part] = []
    for part in parts:
        begun = [one for one in kept if one.is_partial]
        if not part.is_partial and begun and "".join(one.text for one in begun) == part.text:
            kept = [one for one in kept if not one.is_partial]
        kept.append(part)
    return kept


def _position(parts: Sequence[Part], last: Part) -> int:
    return next(at for at in reversed(range(len(parts))) if parts[at] is last)


_NO_TOKEN = 8
"""Longer texts are repeated as a whole, and not by chance."""


def _restates(said: Sequence[Part], before: str) -> bool:
    """Return whether the last text is all that came ``before``, perhaps with citations."""
    last, first = said[-1], said[0]
    is_elsewhere = (last.place, last.kind) != (first.place, first.kind)
    comes_with_more = last.has_sources and not any(part.has_sources for part in said[:-1])
    if is_elsewhere or comes_with_more:
        begins = is_elsewhere and bool(before.strip()) and last.text.startswith(before.strip())
        return begins or _letters(last.text) == _letters(before) != ""
    if len(said) < 3:
        return False
    if len(before.strip()) > _NO_TOKEN and last.text.startswith(before.strip()):
        return True  # with its sources below
    if _MARK.search(last.text):
        before = _MARK.sub("", before)
    return _MARK.sub("", last.text).strip() == before.strip()


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _MARK.sub("", text)).casefold()


def grow(texts: Sequence[str]) -> bool:
    """Return whether each text is all that has been said so far.

    "7", "7", "7" are three digits and "1", "10" may be two numbers; no token has a blank within.
    """
    if not all(then.startswith(first) for first, then in pairwise(texts)):
        return False
    first, kinds = texts[0].strip(), len(set(texts))
    if kinds == 1 or not first:
        return " " in first
    is_long = len(first) > 2 or any(" " in text.strip() for text in texts)
    is_strict = all(one != then for one, then in pairwise(texts[:-1]))
    return kinds > 2 or is_long or (is_strict and any(map(str.isalpha, first)))


def _refuse_mixture(said: Sequence[Part]) -> None:
    """Raise TargetError for types that are not all known as answers, or a last text elsewhere."""
    kinds = _different({part.kind: part.types for part in said})
    if len(kinds) > 1 and not all(map(is_answer, kinds)):
        names = [types[-1] for types in kinds.values() if types]
        others = " and of no type" if () in kinds else ""
        raise TargetError(
            f"replied a stream with text in events of the types {_listed(names)}{others}; name"
            f" those that hold the answer: events: [{shorten(names[0], 60)}]"
        )
    last = said[-1]
    places = list(dict.fromkeys(part.place for part in said[:-1]))
    if last.place not in places and len(_letters(last.text)) > 2:  # another whole, or more?
        named = _listed([place or "data" for place in (*places, last.place)])
        raise TargetError(
            f"replied a stream with text at {named}; name the path of the answer: answer: "
            f"{last.place or places[0]}"
        )


def _different(kinds: dict[Kind, tuple[str, ...]]) -> dict[Kind, tuple[str, ...]]:
    """Return the types without those that are a part of another's, whose event left some away."""
    return {
        kind: types
        for kind, types in kinds.items()
        if not kind or not any(set(kind) < set(other) for other in kinds)
    }


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(shorten(name, 60)) for name in names[:5])
