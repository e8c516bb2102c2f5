"""The variables of a promptfoo test: read from files, filled into each other, value by value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import Losses, NotTakenError
from pytest_rageval.importing.files import Folder, Part
from pytest_rageval.importing.templates import fill

_MOST: Final = 10_000
_ROUNDS: Final = 5
"""How deep promptfoo looks for variables in variables."""


def variables_of(
    layers: list[Part], options: Mapping[str, Any], folder: Folder, part: Part, losses: Losses
) -> Iterator[dict[str, Any]]:
    """Yield the variables of a test, with each value of those that are lists or several files.

    ``layers`` is what has some: what tests share, and the test. Raises NotTakenError for variables
    that cannot be read.
    """
    expands = options.get("disableVarExpansion") is not True
    given = _variables(layers, folder)
    choices = [_choices(value, folder, expands=expands) for value in given.values()]
    for at, values in enumerate(itertools.product(*choices)):
        if at == _MOST:
            losses.note(part.where, "test", f"its lists of variables make more than {_MOST} tests")
            return
        yield _resolved(dict(zip(given, values, strict=True)))


def _variables(layers: list[Part], folder: Folder) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for layer in layers:
        value = layer.of("vars").value
        named = folder.named(value) if isinstance(value, str) else []
        for given in [folder.data(file).value for file in named] or [value]:
            if given is not None and not isinstance(given, dict):
                raise NotTakenError(f"vars is no mapping: {shorten(repr(given))}")
            found |= {str(name): part for name, part in (given or {}).items()}
    return found


def _choices(value: Any, folder: Folder, *, expands: bool) -> list[Any]:
    """Return the values that a variable takes in turn; only a list of texts has several."""
    if isinstance(value, str) and value.startswith("file://"):
        files = folder.named(value) if expands else [folder.one(value)]
        return [folder.variable(file) for file in files]
    if expands and isinstance(value, list) and value and isinstance(value[0], str):
        return [_read(part, folder) for part in value]
    return [[_read(part, folder) for part in value] if isinstance(value, list) else value]


def _read(value: Any, folder: Folder) -> Any:
    is_file = isinstance(value, str) and value.startswith("file://")
    return folder.variable(folder.one(value)) if is_file else value


def _resolved(variables: dict[str, Any]) -> dict[str, Any]:
    """Return variables with the ones filled in that their texts name, without a last line end."""
    found = {
        name: value.removesuffix("\n") if isinstance(value, str) else value
        for name, value in variables.items()
    }
    for _ in range(_ROUNDS):
        before, found = found, {name: _filled(value, found) for name, value in found.items()}
        if found == before:
            break
    return found


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_filled(part, variables) for part in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    try:
        return fill(value, variables)
    except NotTakenError:
        return value
