"""What an import gives: a scenario, its rows, and what is not taken, such as secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_rageval.redaction import (
    host,
    looks_secret,
    names_secret,
    secret_pairs,
    shown_text,
    sounds_secret,
)
from pytest_rageval.text.numbered import free_name


class NotTakenError(ValueError):
    """A part of the file has no counterpart here; the message says why."""


@dataclass(slots=True)
class ImportNotes:
    """Everything that was not taken so far, in order: what it is and why, with its places.

    ``in_use`` are variables of the environment that the file reads itself.
    """

    in_use: Collection[str] = ()
    _places: dict[str, dict[str, None]] = field(default_factory=dict)
    _variables: dict[str, str] = field(default_factory=dict)

    def add(self, where: str, what: str, why: object) -> None:
        """Note that a part is not taken; secrets in what is said are hidden."""
        message = shown_text(" ".join(f"{what}: {why}".split()))
        self._places.setdefault(message, {})[where] = None

    def secret(self, where: str, what: str, secret: str, name: str) -> str:
        """Note that a secret is not copied; return the variable that is read instead of it.

        One secret has one variable, and no two share it.
        """
        if secret not in self._variables:
            name = re.sub(r"(?<=[a-z\d])(?=[A-Z])|\W+", "_", name, flags=re.ASCII).strip("_")
            name = name.upper() if names_secret(name) else f"{name.upper()}_KEY".lstrip("_")
            # A shell sets PWD itself.
            name = f"RAG_{name}" if name[:1].isdigit() or name == "PWD" else name
            taken = {*self.in_use, *self._variables.values()}
            self._variables[secret] = free_name(name, taken, "_")
        variable = self._variables[secret]
        self.add(where, what, f"is not copied; put it into the environment variable {variable}")
        return variable

    def grouped(self) -> list[tuple[str, str]]:
        """Return the places and what is lost there, ``("tests.yaml:3, 7", "assert x: ...")``."""
        return [(_joined(list(places)), loss) for loss, places in self._places.items()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)


_SHOWN = 20


def _joined(places: list[str]) -> str:
    """Return places, each file's name once with its lines, and how many more there are."""
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

    ``checks`` counts what the rows ask for; ``notes`` are places and what is lost there;
    ``remarks`` say what to know of the rest, such as where the answers are from.
    """

    scenario: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    checks: int
    notes: Sequence[tuple[str, str]]
    remarks: Sequence[str] = ()
    module: str = ""
    """The text of the Python module that the scenario's targets are in; empty without one."""
    scripts: str = ""
    """The text of the module with the asserts that are to be written; empty without one."""


_URL: Final = re.compile(r"(?:[A-Za-z][\w+.-]*://|\{\{-?\s*env\.\w+\s*-?\}\}/)[^\s\"'<>]+")
_USER: Final = re.compile(r"(?<=://)[^/?#@]+(?=@)")
_QUERY: Final = re.compile(r"(?<=[?&])(?P<name>[^=&#]+)=(?P<value>[^&#]+)")
PAIR: Final = re.compile(
    r"(?P<name>[\w-]+)(?P<between>[\"']?\s*[:=]\s*[\"']?)(?P<value>\{\{.*?\}\}|[^\s\"'&,;{}]+)"
)
# A long step of a path with letters and digits, no word and no name of a model: a webhook's key.
_STEP: Final = re.compile(r"(?<=/)(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])\w{24,}(?![^/?#])", re.ASCII)
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}|\$\{\w+\}")
_SCHEME: Final = re.compile(r"(?i)\s*(?:bearer|basic|token|digest|apikey)?\s*")

Named = Callable[[str], bool]


def without_secrets(
    value: Any, where: str, notes: ImportNotes, name: str = "", named: Named = names_secret
) -> Any:
    """Return a value of JSON with a variable for each secret in it; each is noted.

    A secret is what is named like one, what looks like one, or a password in a URL. ``named`` tells
    by the name of a text or whole number whether it is one.
    """
    if isinstance(value, Mapping):
        return {
            key: without_secrets(part, where, notes, str(key), named) for key, part in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(part, where, notes, name, named) for part in value]
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if named(name) and not is_variable(text):
        return _secret(text, where, notes, name)
    if not isinstance(value, str):
        return value
    text = _URL.sub(lambda found: _url(found[0], where, notes), text)
    text = secret_pairs(text, lambda own, part: without_secrets(part, where, notes, own))
    return _secret(text, where, notes, name) if looks_secret(text) else text


def body_without_secrets(body: str, where: str, notes: ImportNotes) -> str:
    """Return a text of names and values, such as a form, with a variable for each secret."""

    def without_secret(pair: re.Match[str]) -> str:
        value = without_secrets(pair["value"], where, notes, pair["name"])
        return f"{pair['name']}{pair['between']}{value}"

    return str(without_secrets(PAIR.sub(without_secret, body), where, notes, "body"))


def sounds_secret_in(name: str) -> bool:
    """Return whether a header or a part of a query may be a secret by its name."""
    return sounds_secret(name) or name.lower() == "code"


def is_variable(text: str) -> bool:
    """Return whether a text is nothing but variables, or empty, perhaps after a header's scheme."""
    return _SCHEME.fullmatch(_TEMPLATE.sub("", text)) is not None


def _secret(text: str, where: str, notes: ImportNotes, name: str) -> str:
    """Return the variable of a secret, after the scheme that stands before it."""
    scheme, blank, secret = text.partition(" ")
    if not blank or _SCHEME.fullmatch(scheme) is None:
        scheme, blank, secret = "", "", text
    variable = notes.secret(where, f"secret {name}", secret, name)
    return f"{scheme}{blank}{{{{env.{variable}}}}}"


def _url(url: str, where: str, notes: ImportNotes) -> str:
    def user(found: re.Match[str]) -> str:
        if not _TEMPLATE.sub("", found[0]).strip(":"):
            return found[0]
        name = f"{host(_TEMPLATE.sub('', url))} credentials"
        return _secret(found[0], where, notes, name)

    def pair(found: re.Match[str]) -> str:
        name = found["name"]
        value = without_secrets(found["value"], where, notes, name, sounds_secret_in)
        return f"{name}={value}"

    bare = _USER.sub(user, url)
    path, mark, rest = bare.partition("?")
    path = _STEP.sub(lambda step: _secret(step[0], where, notes, "path"), path)
    return f"{path}{_QUERY.sub(pair, mark + rest)}"
