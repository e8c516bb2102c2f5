"""Paths into a JSON reply: ``choices[0].message.content``, ``hits[*].text``.

Our own, and no more than that: the libraries for JSONPath and JMESPath take a key that is not there
for one that is null, and a mistyped path must not look like an answer without contexts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import did_you_mean, shorten
from pytest_rageval.targets.base import TargetError

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


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path as it was ``written``, and its steps: a key, a position (from the end if negative)."""

    written: str
    steps: tuple[str | int, ...]
    every: frozenset[int] = frozenset()
    """Which of the steps go to every item of a list."""

    @property
    def root(self) -> str | None:
        """The key of the reply under which the path goes on; None where it is a list."""
        first = self.steps[0] if self.steps else None
        return first if isinstance(first, str) and 0 not in self.every else None

    def pick(self, value: Any) -> Any:
        """Return what is there; with ``[*]`` a list of it, in one row however deep it was.

        Raises TargetError that says how far the path leads and what is there instead.
        """
        found = [value]
        for at, step in enumerate(self.steps):
            if at in self.every:
                found = [part for one in found for part in self._items(one, at)]
            else:
                found = [self._step(one, step, at) for one in found]
        return found if self.every else found[0]

    def _items(self, value: Any, at: int) -> list[Any]:
        if isinstance(value, list):
            return value
        raise self._lost(value, at)

    def _step(self, value: Any, step: str | int, at: int) -> Any:
        try:
            if isinstance(value, dict) and isinstance(step, str):
                return value[step]
            if isinstance(value, list) and isinstance(step, int):
                return value[step]
        except LookupError:
            pass
        raise self._lost(value, at)

    def _lost(self, value: Any, at: int) -> TargetError:
        place = _dotted(self.steps[:at], self.every) or "its top"
        return TargetError(
            f"its reply has nothing at {self.written!r}: at {place} {_there(value, self.steps[at])}"
        )


def parse_path(text: str) -> JsonPath:
    """Return the path that ``text`` spells; raise ValueError for one that is none.

    A leading ``$`` is the whole reply, as in JSONPath.

    >>> parse_path("$.hits[*].text").pick({"hits": [{"text": "a"}, {"text": "b"}]})
    ['a', 'b']
    """
    rest = text.strip().removeprefix("$")
    steps: list[str | int] = []
    every = set()
    while rest:
        found = _STEP.match(rest)
        if found is None or (found["name"] and steps and not rest.startswith(".")):
            raise ValueError(_NO_PATH.format(shorten(repr(text))))
        if found["every"]:
            every.add(len(steps))
        steps.append(_parsed(found))
        rest = rest[found.end() :]
    if not steps and text.strip() != "$":
        raise ValueError(_NO_PATH.format(shorten(repr(text))))
    return JsonPath(text, tuple(steps), frozenset(every))


_NO_PATH = "{} is no path; write 'data.answer', 'choices[0].text' or 'hits[*].text'"


def _parsed(found: re.Match[str]) -> str | int:
    if found["index"]:
        return int(found["index"])
    return found["name"] or found["key"] or EVERY


def _dotted(steps: tuple[str | int, ...], every: frozenset[int]) -> str:
    parts = [
        "[*]" if at in every else f"[{step}]" if isinstance(step, int) else f".{step}"
        for at, step in enumerate(steps)
    ]
    return "".join(parts).lstrip(".")


def _there(value: Any, step: str | int) -> str:
    """Return what is there in the place of something that has ``step``."""
    if isinstance(value, dict):
        keys = ", ".join(shorten(repr(key), 40) for key in list(value)[:_LISTED]) or "no keys"
        hint = did_you_mean(step, value) if isinstance(step, str) else ""
        return f"there are {keys}{'.' if hint else ''}{hint}"
    if isinstance(value, list):
        return f"there is a list of {len(value)}"
    return f"there is {shorten(repr(value), 60)}"
