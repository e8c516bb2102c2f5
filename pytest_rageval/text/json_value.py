"""JSON values: paths into them (``hits[*].text``), their texts changed, and as messages show them.

Libraries for JSONPath and JMESPath treat a missing key like null. Here a mistyped path must be an
error, not an answer without contexts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pytest_rageval.errors import RagevalError, did_you_mean, shorten
from pytest_rageval.text.codec import excess

EVERY: Final = "*"
"""The step to every item of a list."""

_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]*'"\s][^.\[\]]*)     # name
      | \[\s*(?P<index>-?\d+)\s*\]              # [0], [-1]
      | \[\s*(?P<every>\*)\s*\]                 # [*]
      | \[\s*(?P<quote>['"])(?P<key>.*?)(?P=quote)\s*\]   # ["a.b"]
    """,
    re.VERBOSE,
)
_LISTED = 10
_NO_PATH = "{} is not a path; write 'data.answer', 'choices[0].text' or 'hits[*].text'"


def json_kind(value: object) -> str:
    """Return the JSON type of ``value`` with its article."""
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        type(None): "null",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def json_text(value: object) -> str:
    """Return the beginning of ``value`` as JSON, or as Python's repr if JSON has no such value.

    Of a value beyond the limits of reading, return what kind it is.
    """
    if excess(value):
        return json_kind(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # rows made by a program
        text = repr(value)
    return shorten(text, 500)


def sorted_json(value: object) -> str:
    """Return ``value`` as JSON in ASCII with sorted keys; what JSON lacks, as its repr."""
    return json.dumps(value, sort_keys=True, default=repr)


def digest(value: object) -> str:
    """Return 64 hexadecimal digits for a value: SHA-256 of its ``sorted_json``."""
    return sha256(sorted_json(value).encode("ascii")).hexdigest()


def digests(values: Mapping[str, Any]) -> dict[str, str]:
    """Return 16 hexadecimal digits for each value, which may be a secret."""
    return {name: digest(value)[:16] for name, value in values.items()}


def change_texts(
    value: Any, change: Callable[[str], Any], of_key: Callable[[str], str] = str
) -> Any:
    """Return ``value`` with every text in it replaced by ``change(text)``, keys by ``of_key``."""
    if isinstance(value, Mapping):
        return {of_key(str(key)): change_texts(one, change, of_key) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [change_texts(part, change, of_key) for part in value]
    return change(value) if isinstance(value, str) else value


class LostPathError(RagevalError):
    """A path leads nowhere; the text says how far it leads and what was found instead.

    ``in_list``: an item of a list lacks it, after ``[*]``.
    """

    def __init__(self, message: str, in_list: bool) -> None:
        super().__init__(message)
        self.in_list = in_list


@dataclass(frozen=True, slots=True)
class Trail:
    """A value that a path leads to, and what lies above it.

    ``above`` are the objects on the way below the first ``[*]``, the nearest last. ``key`` is the
    key of an object whose values the last ``[*]`` went over, None for the items of a list.
    """

    value: Any
    above: tuple[Mapping[str, Any], ...] = ()
    key: str | None = None


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path as ``written``, and its steps: keys, and positions (from the end if negative)."""

    written: str
    steps: tuple[str | int, ...]
    every: frozenset[int] = frozenset()
    """Which of the steps go to every item of a list."""

    @property
    def root(self) -> str | None:
        """The first key of the path; None if it begins with a position or ``[*]``."""
        first = self.steps[0] if self.steps else None
        return first if isinstance(first, str) and 0 not in self.every else None

    def pick(self, value: Any) -> Any:
        """Return the value at the path, with ``[*]`` a flat list; raises LostPathError."""
        values = [value]
        for at, step in enumerate(self.steps):
            if at in self.every:
                values = [item for part in values for item in self._items(part, at)]
            else:
                values = [self._step(part, step, at) for part in values]
        return values if self.every else values[0]

    def trails(self, value: Any) -> list[Trail]:
        """Return each value at the path; ``[*]`` also goes over the values of an object.

        Raises LostPathError where a step leads nowhere. Of an object, ``[*]`` passes over texts,
        numbers and booleans that a further step could only be lost in.
        """
        trails, first = [Trail(value)], min(self.every, default=len(self.steps))
        for at, step in enumerate(self.steps):
            if at in self.every:
                trails = [inner for trail in trails for inner in self._every(trail, at)]
            else:
                trails = [
                    Trail(
                        self._step(trail.value, step, at),
                        (*trail.above, trail.value)
                        if at > first and isinstance(trail.value, Mapping)
                        else trail.above,
                        trail.key,
                    )
                    for trail in trails
                ]
        return trails

    def _every(self, trail: Trail, at: int) -> Iterator[Trail]:
        if not isinstance(trail.value, Mapping):
            for item in self._items(trail.value, at):
                yield Trail(item, trail.above)
            return
        is_last = at + 1 == len(self.steps)
        for key, item in trail.value.items():
            if is_last or not isinstance(item, str | int | float):
                yield Trail(item, trail.above, str(key))

    def _items(self, value: Any, at: int) -> list[Any]:
        if isinstance(value, list | tuple):
            return list(value)
        raise self._lost(value, at)

    def _step(self, value: Any, step: str | int, at: int) -> Any:
        try:
            if isinstance(value, Mapping) and isinstance(step, str):
                return value[step]
            if isinstance(value, list | tuple) and isinstance(step, int):
                return value[step]
        except LookupError:
            pass
        raise self._lost(value, at)

    def _lost(self, value: Any, at: int) -> LostPathError:
        before = _dotted(self.steps[:at], self.every)
        there = _what_is_there(value, self.steps[at])
        if isinstance(value, list | tuple) and isinstance(self.steps[at], str):
            rest = _dotted(self.steps[at:], frozenset(number - at for number in self.every))
            dot = "" if rest.startswith("[") else "."
            there += (
                f"; write '{before}[0]{dot}{rest}' for one item, '{before}[*]{dot}{rest}' for all"
            )
        place = before or "its top"
        in_list = any(number < at for number in self.every)
        return LostPathError(f"nothing at {self.written!r}: at {place} {there}", in_list)


def path_in(text: str) -> JsonPath | None:
    """Return the path in a column's name, ``hits[*].text``; None if it is not a path."""
    if "." not in text and "[" not in text:
        return None
    try:
        return parse_path(text)
    except ValueError:
        return None


def head_of(text: str) -> str:
    """Return the column in which a path begins; a plain name is returned unchanged.

    >>> head_of("meta.source"), head_of("hits[*].text"), head_of("answer")
    ('meta', 'hits', 'answer')
    """
    path = path_in(text)
    return (path and path.root) or text


def may_meet(one: str, other: str) -> bool:
    """Return whether two columns, or paths, lead to the same value, however they are written.

    >>> may_meet("o.x", 'o["x"]'), may_meet("o[0]", "o[*]"), may_meet("o.x", "o.y")
    (True, True, False)
    """
    steps, others = _steps_of(one), _steps_of(other)
    return len(steps) == len(others) and all(
        mine == theirs or (EVERY in (mine, theirs) and {int} & {type(mine), type(theirs)})
        for mine, theirs in zip(steps, others, strict=True)
    )


def _steps_of(text: str) -> tuple[str | int, ...]:
    path = path_in(text)
    return (text,) if path is None else path.steps


def parse_path(text: str) -> JsonPath:
    """Return the path in ``text``; raises ValueError if it is not a path.

    A leading ``$`` is the whole value, as in JSONPath.

    >>> parse_path("$.hits[*].text").pick({"hits": [{"text": "a"}, {"text": "b"}]})
    ['a', 'b']
    """
    rest = text.strip().removeprefix("$")
    steps: list[str | int] = []
    every = set()
    while rest:
        match = _STEP.match(rest)
        if match is None or (match["name"] and steps and not rest.startswith(".")):
            raise ValueError(_NO_PATH.format(shorten(repr(text))))
        if match["every"]:
            every.add(len(steps))
        steps.append(_parsed(match))
        rest = rest[match.end() :]
    if not steps and text.strip() != "$":
        raise ValueError(_NO_PATH.format(shorten(repr(text))))
    return JsonPath(text, tuple(steps), frozenset(every))


def _parsed(match: re.Match[str]) -> str | int:
    if match["index"]:
        return int(match["index"])
    return match["name"] or match["key"] or EVERY


def _dotted(steps: tuple[str | int, ...], every: frozenset[int]) -> str:
    parts = (_written(step, is_every=at in every) for at, step in enumerate(steps))
    return "".join(parts).lstrip(".")


def _written(step: str | int, *, is_every: bool) -> str:
    if is_every or isinstance(step, int):
        return "[*]" if is_every else f"[{step}]"
    quote = "'" if '"' in step else '"'
    return f"[{quote}{step}{quote}]" if _NEEDS_QUOTES.search(step) else f".{step}"


_NEEDS_QUOTES = re.compile(r"""[.\[\]*'"]|^\s|^$""")


def _what_is_there(value: Any, step: str | int) -> str:
    """Return what was found instead of a value that has ``step``."""
    if isinstance(value, Mapping):
        keys = ", ".join(shorten(repr(key), 40) for key in list(value)[:_LISTED]) or "no keys"
        hint = did_you_mean(step, value) if isinstance(step, str) else ""
        return f"there are {keys}{'.' if hint else ''}{hint}"
    if isinstance(value, list | tuple):
        return f"there is a list of {len(value)}"
    return f"there is {shorten(repr(value), 60)}"
