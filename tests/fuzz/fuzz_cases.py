"""What a reader is, and its cases: valid input with something wrong, known by seed and number."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fuzz_forms import Form, as_is, json_text, odd_text, replaced, shaken
from fuzz_ground import Ground
from fuzz_values import (
    MOST_DEEP,
    MOST_DIGITS,
    deep,
    digits,
    mutated,
    number,
    plain,
    value,
    with_one,
)

from pytest_rageval import RagevalError

Feed = Callable[[Ground, Any, random.Random], object]
"""Reads what a case gives; whatever else it chooses, it chooses by the third argument."""

SLOW, QUICK = 1, 9
"""How many turns a reader has that takes some 15 ms a case, and one that takes one or two."""

OBJECTS: Final = None
"""The form of what Python code hands over: the objects themselves."""


@dataclass(frozen=True)
class Reader:
    """Something of the package that reads what others wrote.

    ``seeds`` are valid: trees of JSON, texts or bytes. A case is one of them with something wrong,
    in a ``form``: bytes, or objects as they are. ``feed`` reads it; of all that it may raise, only
    ``errors`` are what its users are promised.
    """

    name: str
    seeds: Sequence[Any]
    feed: Feed
    form: Form | None = as_is
    errors: tuple[type[Exception], ...] = (RagevalError,)
    turns: int = 3
    """How many cases it has of each lap: the quicker, the more."""


@dataclass(frozen=True)
class Case:
    """What one reader is fed; ``chance`` is for what it chooses beside it."""

    reader: Reader
    kind: str
    given: Any
    chance: random.Random


KINDS: Final = ("tree", "depth", "bytes", "tree", "number", "tree", "bytes", "both")
_STEP: Final = 1009
"""Prime: a small part of the depths and sizes, too, has some of every size."""


def make_case(readers: Sequence[Reader], seed: int, at: int) -> Case:
    """Return case ``at`` of a seed, always the same one."""
    reader, turn = turn_of(readers, at)
    chance = random.Random(f"{seed}/{reader.name}/{turn}")
    kind, size = kind_of(seed, turn)
    given = chance.choice(reader.seeds)
    make = _objects if reader.form is OBJECTS else _raw
    shown = f"{kind} {size}" if kind in _SIZED else kind
    return Case(reader, shown, *make(chance, reader, given, kind, size))


def turn_of(readers: Sequence[Reader], at: int) -> tuple[Reader, int]:
    """Return whose case it is, and how many cases this reader had before."""
    most = max(one.turns for one in readers)
    lap_order = [(one, turn) for turn in range(most) for one in readers if turn < one.turns]
    lap, place = divmod(at, len(lap_order))
    reader, turn = lap_order[place]
    return reader, lap * reader.turns + turn


def kind_of(seed: int, turn: int) -> tuple[str, int]:
    """Return what is wrong in the case of a turn: the kind, and how deep or how many digits."""
    kind, step = KINDS[turn % len(KINDS)], (seed + turn // len(KINDS)) * _STEP
    return kind, 1 + step % (MOST_DEEP if kind == "depth" else MOST_DIGITS)


_SIZED: Final = ("depth", "number")


def of_depth(reader: Reader, seed: Any, depth: int) -> Case:
    """Return the case of a seed of a reader with something nested so deep."""
    chance = random.Random(f"{reader.name}/{depth}")
    make = _objects if reader.form is OBJECTS else _raw
    return Case(reader, f"depth {depth}", *make(chance, reader, seed, "depth", depth))


def _objects(
    chance: random.Random, reader: Reader, seed: Any, kind: str, size: int
) -> tuple[Any, random.Random]:
    return plain(_changed(chance, seed, kind, size)), chance


def _raw(
    chance: random.Random, reader: Reader, seed: Any, kind: str, size: int
) -> tuple[bytes, random.Random]:
    assert reader.form is not None
    if isinstance(seed, bytes | str) and kind != "bytes":
        if kind in _SIZED:
            text = odd_text(chance, kind, size)
        else:
            odd = value(chance, 1)
            text = odd if isinstance(odd, str) else json_text(odd)
        return replaced(chance, reader.form(chance, seed), text), chance
    raw = reader.form(chance, _changed(chance, seed, kind, size))
    return (shaken(chance, raw) if kind in ("bytes", "both") else raw), chance


def _changed(chance: random.Random, seed: Any, kind: str, size: int) -> Any:
    """Return a tree with something wrong; as it is where only its bytes will be changed."""
    if kind == "depth":
        return with_one(chance, seed, lambda old: deep(chance, size, _scalar(old)))
    if kind == "number":
        whole = chance.random() < 0.6
        return with_one(chance, seed, lambda _: digits(chance, size) if whole else number(chance))
    return seed if kind == "bytes" else mutated(chance, seed)


def _scalar(old: Any) -> Any:
    return old if isinstance(old, bool | int) else "x"
