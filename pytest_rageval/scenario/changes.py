"""Changes to a scenario that Python code asks for: which keys get which plain values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any

from pytest_rageval.errors import OptionError, Problem, ScenarioError, shorten
from pytest_rageval.scenario.overrides import Override, set_override
from pytest_rageval.scenario.yaml_tree import YamlPath

Changes = Mapping[str, Any]
"""Nested as a scenario is, ``{"metric_weights": {"f1": 0.4}}``, or ``{"metric_weights.f1": 1}``."""


def overrides_of(given: Iterable[Override | str] | Changes) -> list[Override]:
    """Return the overrides that Python code asks for.

    ``given`` is a mapping, or a list of what ``--rag-set`` takes (``metric_weights.f1=0.4``).
    Raises OptionError for a text that is none, ScenarioError for a value that no file can hold.
    """
    if isinstance(given, str):
        message = "expected a list of texts, or a mapping, found one text"
        raise OptionError([Problem(f"overrides {shorten(given)}", message)])
    if isinstance(given, Mapping):
        return [
            Override(path, value, f"overrides {dotted(path)}") for path, value in _leaves(given)
        ]
    return [set_override("overrides", one) if isinstance(one, str) else one for one in given]


def _leaves(changes: Changes) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in changes.items():
        yield from _below(steps_of(key), plain_value(value, str(key)))


def _below(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _below((*path, key), part)
    else:
        yield path, value


def steps_of(key: str) -> tuple[str, ...]:
    """Return the path that a key at the top of a mapping of changes stands for.

    >>> steps_of("metric_weights"), steps_of('doc_weights."a.pdf"')
    (('metric_weights',), ('doc_weights', 'a.pdf'))
    """
    return set_override("changes", f"{key}=null").path


def plain_value(value: Any, where: str) -> Any:
    """Return ``value`` as a scenario file can hold it; raises ScenarioError where it cannot.

    Tuples become lists, paths text, numbers of other libraries those of Python.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain_value(part, f"{where}.{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part, where) for part in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    kind = type(value).__name__
    message = f"expected text, a number, a list or a mapping, found a value of type {kind}"
    raise ScenarioError([Problem(where, message)])


def dotted(path: YamlPath) -> str:
    """Return the name of what stands at ``path``, as results list what was overridden."""
    return ".".join(str(step) for step in path)
