"""Short forms in a scenario: which mapping a bare value stands for, by its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree

ABSENT: Any = object()
"""Stands for a value that is not there, not even null."""

# Section -> the key whose value a bare value in its place is.
_SHORT_FORMS: Final = {
    "dataset": "path",
    "judge": "model",
    "embedding": "model",
    "compare": "baseline",
    "answers": "path",
    "corpus": "path",
    "human": "file",
    "best": "at_least",
    "citations": "style",
    "refusals": "detect",
    "sample": "n",
}
_ON_OR_OFF: Final = ("citations", "refusals", "conversation", "fill", "diagnose")
"""The sections that ``true`` and ``false`` switch."""
_INNER: Final = {"price": "input", "controls": "mode"}
"""As ``_SHORT_FORMS``, for the keys of a model."""

CHECKS: Final = {"mean", "lower_bound", "quantile", "agreement", "selective", "aurc"}
"""What gates check of one metric."""
_ENDS: Final = ("value", "min", "max")
OF_MEAN: Final = {*_ENDS, "corrected", "max_flip", "not_applicable"}
"""The keys of a bound of the mean: a gate with no others is short for one with the check."""
_BY_NAME: Final = [("quantile",), ("agreement",)]
"""The checks whose keys are names, each with a bound of its own."""
OF_SCENARIO: Final = {
    "by",
    "compare_fail",
    "fail_under",
    "invalid",
    "no_regression",
    "pass_rate",
    "unscored",
}
"""The gates that are about no metric."""

ROLES: Final = ("judge", "embedding", "target")
"""The sections that may name a profile of ``models``."""

TYPE_BY_KEY: Final = {
    "dbgpt": "dbgpt",  # before the model of its app
    "use": "python",
    "url": "http",
    "fixture": "fixture",
    "model": "chat",
    "profile": "chat",
}
"""The keys that tell the type of a target: the first of them that it has."""


def short_key(path: YamlPath, present: Mapping[str, Any]) -> str:
    """Return the key that a bare value at ``path`` is short for, "" if none.

    ``present`` are the keys of the mapping at ``path`` that the value would change.
    """
    path = _of_scenario(path)
    if not path:
        return ""
    if len(path) == 1:
        return _SHORT_FORMS.get(str(path[0]), "")
    if is_metric_gate(path) and not CHECKS.isdisjoint(present):
        return "mean"  # the other checks stay
    is_of_model = path[:-1] in [(role,) for role in ROLES] or path[:-2] == ("models",)
    return _INNER.get(str(path[-1]), "") if is_of_model else ""


def expanded_short_form(path: YamlPath, value: Any) -> dict[str, Any] | None:
    """Return the mapping that ``value`` at ``path`` is or stands for; None for other values.

    {} for null, for ABSENT, and for a section that ``true`` switches on; None for one that is off.
    """
    path = _of_scenario(path)
    if value is ABSENT or value is None:
        return {}
    if isinstance(value, dict):
        return value
    if isinstance(value, bool) and _is_switch(path):
        return {} if value else None
    if path == ("dataset",):
        return {"rows" if isinstance(value, list) else "path": value}
    if path == ("human",) and isinstance(value, list):
        return {"file": value}
    if path == ("target",) and isinstance(value, str):
        return named_target(value)
    key = short_key(path, {"mean": None})  # a bare number at a metric's gate bounds its mean
    return {key: value} if key and isinstance(value, str | int | float) else None


def expand_short_forms(tree: YamlTree, path: YamlPath) -> None:
    """Turn the short forms of ``tree`` that ``path`` leads through into mappings, in place."""
    for length in range(1, len(path)):
        parent = path[:length]
        found = value_at(tree.data, parent)
        if isinstance(found, list) and str(path[length]).isdecimal():
            return  # a place in the list
        mapping = expanded_short_form(parent, as_profile(tree.data, parent, found))
        if isinstance(found, bool) and _is_switch(parent):
            tree.put(parent, {})  # what is set in it switches it on, also where it was off
        elif mapping and mapping is not found:
            tree.put(parent, mapping)


def value_at(data: Any, path: YamlPath) -> Any:
    """Return the value at ``path``, also where a short form says it; else ABSENT."""
    for at, step in enumerate(path):
        mapping = expanded_short_form(path[:at], data)
        data = ABSENT if mapping is None else mapping.get(str(step), ABSENT)
    return data


def _of_scenario(path: YamlPath) -> YamlPath:
    """Return the path without the variant in front: the path of what the variant replaces."""
    return path[2:] if path[:1] == ("variants",) else path


def _is_switch(path: YamlPath) -> bool:
    """Return whether ``true`` and ``false`` switch the section at ``path``, also of a variant."""
    inside = _of_scenario(path)
    return len(inside) == 1 and inside[0] in _ON_OR_OFF


def named_target(text: str) -> dict[str, Any]:
    """Return the keys of a target that is only a text.

    >>> named_target("my_app.rag:answer")
    {'type': 'python', 'use': 'my_app.rag:answer'}
    >>> named_target("http://127.0.0.1:8000/ask")
    {'type': 'http', 'url': 'http://127.0.0.1:8000/ask'}
    >>> named_target("fixture")
    {'type': 'fixture'}
    """
    if "://" in text:
        return {"type": "http", "url": text}
    if ":" in text or "." in text:
        return {"type": "python", "use": text}
    return {"type": text}


def type_of_target(keys: Iterable[str]) -> str | None:
    """Return the type that the first key of ``TYPE_BY_KEY`` among ``keys`` tells, None without."""
    given = set(keys)
    return next((name for key, name in TYPE_BY_KEY.items() if key in given), None)


def as_profile(data: Any, path: YamlPath, value: Any) -> Any:
    """Return a bare target that names a profile as a mapping; other values as they are."""
    is_target = _of_scenario(path) == ("target",) and isinstance(value, str)
    # The profiles of the file and, in a variant, those of its own.
    at_hand = (data, value_at(data, path[:-1])) if is_target else ()
    is_named = any(isinstance(keys, dict) and names_profile(keys, value) for keys in at_hand)
    return {"profile": value} if is_named else value


def names_profile(data: Any, name: Any) -> bool:
    """Return whether the scenario has a profile of this name."""
    models = data.get("models")
    return isinstance(models, dict) and isinstance(name, str) and name in models


def is_metric_gate(path: YamlPath) -> bool:
    """Return whether ``path`` is where a gate checks a metric; any name may be a metric's."""
    inside = _of_scenario(path)
    is_gate = inside[:1] == ("gates",) and inside[1:2] != ("compare_fail",)
    is_named = is_gate and 0 < metric_step(path) == len(path) - 1
    return is_named and inside[-1] not in OF_SCENARIO


def beside_number(path: YamlPath, present: Any, value: Any) -> Any:
    """Return what ``value`` puts at ``path``: of a bound, a number replaces the ends alone.

    The other keys of the mapping ``present`` stay: ``corrected``, ``max_flip``, ``confidence``.

    >>> beside_number(("gates", "f1"), {"min": 0.4, "corrected": True}, 0.5)
    {'corrected': True, 'value': 0.5}
    """
    at = metric_step(path) + 1
    is_bound = is_metric_gate(path[:at]) and path[at:] not in _BY_NAME
    is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
    if not (is_bound and is_number and isinstance(present, dict)):
        return value
    kept = {key: part for key, part in present.items() if key not in _ENDS}
    others = {key for key in kept if not str(key).startswith("x-")} - OF_MEAN
    end = "mean" if others and not path[at:] else "value"  # beside another check
    return {**kept, end: value} if kept else value


def metric_step(path: YamlPath) -> int:
    """Return which step of ``path`` names a metric, 0 if none can."""
    if path[:1] == ("variants",) and path[2:]:
        inside = metric_step(path[2:])
        return inside + 2 if inside else 0
    match path:
        case ("gates", "by", *_):
            at = 3
        case ("gates", "compare_fail", *_):
            at = 2
        case ("gates" | "metric_weights" | "thresholds", *_):
            at = 1
        case _:
            at = 0
    return at if at < len(path) else 0
