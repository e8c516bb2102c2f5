"""Finds what a request names among what there is; else says what there is, the nearest first."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from pytest_rageval.errors import Problem, UserError, did_you_mean, shorten

_LISTED: Final = 10


def pick(kind: str, name: str, known: Sequence[str], *, begins: bool = False) -> str:
    """Return the one of ``known`` that ``name`` is, or if ``begins``, the only one it begins.

    Raises UserError.
    """
    if name in known:
        return name
    begun = [one for one in known if one.startswith(name)] if begins and name else []
    if len(begun) == 1:
        return begun[0]
    shown = f"{kind} {shorten(name)!r}"
    if begun:
        raise _refusal(f"{shown} is the beginning of {len(begun)}: {_listed(begun)}")
    if not known:
        raise _refusal(f"unknown {shown}: there is none")
    nearest = sorted(known, key=lambda one: -SequenceMatcher(None, name[:100], one).ratio())
    raise _refusal(f"unknown {shown}.{did_you_mean(name, known)} Known: {_listed(nearest)}")


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    listed = ", ".join(shorten(name) for name in names[:_LISTED])
    return f"{listed}, and {more} more" if more > 0 else listed


def _refusal(message: str) -> UserError:
    return UserError([Problem("", message)])
