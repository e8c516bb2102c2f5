"""Texts with places for fields of a row and variables: ``{question}``, ``${NAME}``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import Sample
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.targets.arguments import asked
from pytest_rageval.targets.base import TargetError
from pytest_rageval.text.json_value import change_texts

METADATA: Final = "metadata."

_NAME = r"[A-Za-z_]\w*(?:\.[^{}]+)?"
_PLACE = re.compile(
    rf"\$\{{(?P<variable>\w+)\}}|\{{(?P<literal>\{{{_NAME}\}})\}}|\{{(?P<name>{_NAME})\}}"
)
_FIELDS = sorted(FIELD_ALIASES.keys() - {"skip", "xfail"})


class Template:
    """A value of JSON whose texts may name fields of a row; ``fields`` are those that it names.

    A text that is nothing but one place becomes the field itself: contexts stay a list, numbers
    stay numbers, and what the row lacks is null. Anywhere else a field is put as text: of a list,
    its parts with a blank line between them. ``{{question}}`` is the text ``{question}`` itself.
    Raises TargetError for a name that is no field.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.fields = frozenset(_field(found["name"]) for found in places(value) if found["name"])
        self.variables = frozenset(
            found["variable"] for found in places(value) if found["variable"]
        )

    def fill(
        self,
        sample: Sample,
        variables: Mapping[str, str],
        escape: Callable[[str], str] = str,
    ) -> Any:
        """Return the value with the sample's fields; ``escape`` is for each text that is put in.

        Raises TargetError where the row has no question, or lacks what a longer text needs.
        """
        return change_texts(self.value, _Filling(sample, variables, escape).text)


@dataclass(frozen=True, slots=True)
class _Filling:
    """What the places of a template get."""

    sample: Sample
    variables: Mapping[str, str]
    escape: Callable[[str], str]

    def text(self, template: str) -> Any:
        whole = _PLACE.fullmatch(template)
        if whole is None or not whole["name"]:
            return _PLACE.sub(self._put, template)
        found = _value(self.sample, whole["name"])
        return self.escape(found) if isinstance(found, str) else found

    def _put(self, place: re.Match[str]) -> str:
        if place["literal"]:
            return str(place["literal"])
        if place["variable"]:
            return self.variables.get(place["variable"], "")
        value = _value(self.sample, place["name"])
        if value is None:
            raise TargetError(f"not asked: the row has no {place['name']}")
        return self.escape(_as_text(value))


def places(value: Any) -> Iterator[re.Match[str]]:
    """Yield the places in all texts of a value of JSON."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from places(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from places(part)
    elif isinstance(value, str):
        yield from _PLACE.finditer(value)


def outline(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables filled in, and a letter for each field."""

    def put(found: re.Match[str]) -> str:
        return variables.get(found["variable"], "") if found["variable"] else "x"

    return _PLACE.sub(put, text)


def _field(name: str) -> str:
    """Return the field that a place names, ``metadata.<column>`` for metadata."""
    if name.startswith(METADATA):
        return name
    field = FIELD_OF.get(name)
    if field is None or field not in _FIELDS:
        hint = f"{unknown_name('field', name, _FIELDS)}"
        columns = f"a column of your own is {{{METADATA}{shorten(name, 40)}}}"
        raise TargetError(f"{hint}; {columns}, and {{{{...}}}} is the text in braces itself")
    return field


def _value(sample: Sample, name: str) -> Any:
    """Return what a row has in a place, as JSON can say it."""
    field = _field(name)
    if field == "question":
        return asked(sample)
    if field.startswith(METADATA):
        return _metadata(sample, field.removeprefix(METADATA))
    found = getattr(sample, field)
    if isinstance(found, tuple):
        return list(found)
    return dict(found) if isinstance(found, Mapping) else found


def _metadata(sample: Sample, column: str) -> Any:
    if column in sample.metadata:
        return sample.metadata[column]
    found: Any = sample.metadata
    for step in column.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False)
