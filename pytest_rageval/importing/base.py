"""What an import gives: a scenario, its rows, and what could not be taken."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_rageval.redaction import names_secret, shown_text


class NotTakenError(ValueError):
    """A part of the file has no counterpart here; the message says why."""


@dataclass(slots=True)
class Losses:
    """Everything that was not taken so far, in order: what it is and why, with its places.

    ``in_use`` are variables of the environment that the file reads itself.
    """

    in_use: Collection[str] = ()
    _places: dict[str, dict[str, None]] = field(default_factory=dict)
    _variables: dict[str, str] = field(default_factory=dict)

    def note(self, where: str, what: str, why: object) -> None:
        """Note that a part is not taken; secrets in what is said are hidden."""
        said = shown_text(" ".join(f"{what}: {why}".split()))
        self._places.setdefault(said, {})[where] = None

    def secret(self, where: str, what: str, secret: str, name: str) -> str:
        """Note that a secret is not copied; return the variable that is read instead of it.

        One secret has one variable, and no two share it.
        """
        if secret not in self._variables:
            name = re.sub(r"(?<=[a-z\d])(?=[A-Z])|\W+", "_", name, flags=re.ASCII).strip("_")
            name = name.upper() if names_secret(name) else f"{name.upper()}_KEY".lstrip("_")
            # A shell sets PWD itself.
            name = f"RAG_{name}" if name[:1].isdigit() or name == "PWD" else name
            names = itertools.chain([name], (f"{name}_{at}" for at in itertools.count(2)))
            taken = {*self.in_use, *self._variables.values()}
            self._variables[secret] = next(one for one in names if one not in taken)
        variable = self._variables[secret]
        self.note(where, what, f"is not copied; put it into the environment variable {variable}")
        return variable

    def grouped(self) -> list[tuple[str, str]]:
        """Return the places and what is lost there, ``("tests.yaml:3, 7", "assert x: ...")``."""
        return [(_joined(list(places)), said) for said, places in self._places.items()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)


_SHOWN = 20


def _joined(places: list[str]) -> str:
    """Return places, those of one file with its name once, and how many more there are."""
    lines: dict[str, list[str]] = {}
    for place in places[:_SHOWN]:
        name, _, line = place.rpartition(":")
        lines.setdefault(name or place, []).append(line if name else "")
    listed = ", ".join(
        f"{name}:{', '.join(numbers)}" if numbers != [""] else name
        for name, numbers in lines.items()
    )
    rest = len(places) - _SHOWN
    return f"{listed} and {rest} more" if rest > 0 else listed


@dataclass(frozen=True, slots=True)
class Imported:
    """A scenario as its keys, its rows, and what is said beside them.

    ``checks`` counts what the rows ask for; ``losses`` are places and what is lost there;
    ``remarks`` are about what was taken otherwise.
    """

    scenario: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    checks: int
    losses: Sequence[tuple[str, str]]
    remarks: Sequence[str] = ()
    module: str = ""
    """The text of the Python module that the scenario's targets are in; empty without one."""
