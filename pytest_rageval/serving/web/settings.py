"""What the page changes of a scenario: weights, thresholds, gates and variants, checked by name."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import listed, shorten, unknown_name
from pytest_rageval.model import WEIGHTED_SCORE
from pytest_rageval.scenario.yaml.tree import inline_text
from pytest_rageval.serving.web.refusals import Refused

_LARGEST = 1e100  # sums of weights stay finite
_MOST_BOUNDS = 500
_LISTED = 10
_WEIGHTS: Final = {"metric_weights": "metric", "doc_weights": "doc"}
_OF_ALL: Final = ("pass_rate", "unscored", "invalid")
_OF_METRIC: Final = ((), ("lower_bound",))
_NOT_PLAIN: Final = frozenset(
    {"agreement", "aurc", "compare_fail", "no_regression", "quantile", "selective"}
)
"""Gates that say more than a bound: they are changed in the file."""

Steps = tuple[str, ...]
Setting = float | dict[str, float | None] | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Values by their path in the scenario; None removes one. A threshold may have both ends."""

    values: Mapping[Steps, Setting]

    @property
    def nested(self) -> dict[str, Any]:
        """The values as a scenario holds them."""
        return nested(self.values)

    def with_all_weights(self, metrics: Sequence[Mapping[str, Any]]) -> Settings:
        """Return the values, with the weights of all ``metrics`` if one of them is changed."""
        if not any(path[0] == "metric_weights" for path in self.values):
            return self
        known = weights_by_path({one["name"]: one["weight"] for one in metrics}, {})
        return Settings({**known, **self.values})

    def run_options(self) -> list[str]:
        """Return the options that give a run these values; a document without a weight weighs 1."""
        return [_option(path, value) for path, value in self.values.items()]


def nested(values: Mapping[Steps, Setting]) -> dict[str, Any]:
    """Return values by their paths as one mapping of mappings.

    >>> nested({("gates", "by", "doc", "f1"): 0.5, ("gates", "em"): None})
    {'gates': {'by': {'doc': {'f1': 0.5}}, 'em': None}}

    Refuses a value where another path leads through.
    """
    made: dict[str, Any] = {}
    for path, value in values.items():
        inner: Any = made
        for step in path[:-1]:
            inner = inner.setdefault(step, {}) if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or path[-1] in inner:
            raise Refused(400, f"{'.'.join(path)}: changed twice")
        inner[path[-1]] = value
    return made


def weights_by_path(
    metrics: Mapping[str, float | None], documents: Mapping[str, float | None]
) -> dict[Steps, Setting]:
    """Return weights by their path in the scenario."""
    named = {"metric_weights": metrics, "doc_weights": documents}
    return {(key, name): one for key, weights in named.items() for name, one in weights.items()}


def read_settings(body: Mapping[str, Any], outline: Mapping[str, Any]) -> Settings:
    """Return what a body changes of the scenario that ``outline`` is of.

    Refuses names that neither the scenario nor its data have, and what is no number.
    """
    metrics = _read_weights(
        body, "metric_weights", "metric", [one["name"] for one in outline["metrics"]]
    )
    if any(weight is None for weight in metrics.values()):
        raise Refused(400, "metric_weights: a metric needs a weight; 0 leaves it out")
    known = {**outline["docs"], **outline["doc_weights"]}
    documents = _read_weights(body, "doc_weights", "document", known)
    return Settings(
        {
            **weights_by_path(metrics, documents),
            **dict(_thresholds(body, outline)),
            **_gates(body, outline),
        }
    )


def read_variants(body: Mapping[str, Any], known: Sequence[str]) -> tuple[str, ...]:
    """Return the variants that a body chooses, in the order of the scenario; all without a choice.

    Refuses names that the scenario does not have, and a choice of none.
    """
    given = body.get("variants")
    if given is None:
        return tuple(known)
    if not isinstance(given, list) or not given:
        raise Refused(400, "variants: expected a list with one name at least")
    for name in given:
        if name not in known:
            shown = shorten(str(name))
            raise Refused(400, f"variants: {unknown_name('variant', shown, known)}")
    return tuple(name for name in known if name in given)


def refuse_own(variants: Mapping[str, Any], settings: Settings) -> None:
    """Refuse values that variants of a file say themselves: above them, these would do nothing."""
    for path in settings.values:
        own = [name for name, keys in variants.items() if _says(keys or {}, path)]
        if own:
            where = f"written in variants ({listed(own, _LISTED)}), where it would stay as it is"
            raise Refused(400, f"{'.'.join(path)}: {where}: change it there, in the file")


def _says(keys: Any, path: Steps) -> bool:
    """Return whether a variant has a value at ``path``, or one in place of what it leads through.

    None removes what the scenario has there, an empty mapping nothing.
    """
    for at, step in enumerate(path):
        if at and not isinstance(keys, Mapping):
            return True
        if step not in keys:
            return False
        keys = keys[step]
    return True


# Weights


def _read_weights(
    body: Mapping[str, Any], key: str, kind: str, known: Collection[str]
) -> dict[str, float | None]:
    given = _object(body, key)
    for name, weight in given.items():
        if name not in known:
            raise Refused(400, f"{key}: {unknown_name(kind, name, known)}")
        if weight is not None and not _is_weight(weight):
            raise Refused(400, f"{key}: {name}: expected a number of at least 0, found {weight!r}")
    # ``or 0``: not -0.0.
    return {name: weight if weight is None else weight or 0 for name, weight in given.items()}


def _object(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    given = {} if body.get(key) is None else body[key]
    if not isinstance(given, dict):
        raise Refused(400, f"{key}: expected an object of names and numbers")
    return given


def _is_weight(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST


# Thresholds


def _thresholds(
    body: Mapping[str, Any], outline: Mapping[str, Any]
) -> Iterator[tuple[Steps, Setting]]:
    of_file = {one["name"]: one for one in outline["metrics"]}
    of_file[WEIGHTED_SCORE] = {
        "threshold": outline["weighted_threshold"],
        "higher_is_better": True,
    }
    for name, ends in _object(body, "thresholds").items():
        if name not in of_file:
            raise Refused(400, f"thresholds: {unknown_name('metric', name, of_file)}")
        if not isinstance(ends, dict) or not ends.keys() <= {"min", "max"}:
            raise Refused(400, f"thresholds: {name}: expected an object with 'min' and 'max'")
        for end in ends.values():
            _check_number(end, f"thresholds: {name}")
        yield ("thresholds", name), _threshold(ends, of_file[name])


def _threshold(given: Mapping[str, float | None], metric: Mapping[str, Any]) -> Setting:
    """Return a threshold as a file writes it: a bare number where it is only the usual end."""
    ends = {end: number for end, number in given.items() if number is not None}
    usual = "min" if metric["higher_is_better"] else "max"
    if not ends:
        return None
    if ends.keys() == {usual}:
        return ends[usual]
    of_file = metric["threshold"] or {}
    # A mapping is written into that of the file: an end that goes has to be named.
    gone = {end: None for end, number in of_file.items() if number is not None and end not in ends}
    return {**gone, **ends}


# Gates


def _gates(body: Mapping[str, Any], outline: Mapping[str, Any]) -> dict[Steps, Setting]:
    given = body.get("gates") or []
    if not isinstance(given, list) or len(given) > _MOST_BOUNDS:
        raise Refused(400, f"gates: expected a list of at most {_MOST_BOUNDS} paths and numbers")
    there = dict(plain_gates(outline["gates"]))
    known = {*there, *_new_gates(outline)}
    changed: dict[Steps, float | None] = {}
    for one in given:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], list)):
            raise Refused(400, "gates: expected lists of a path and a number")
        path = tuple(map(str, one[0]))
        if path not in known:
            shown = shorten(".".join(path))
            raise Refused(400, f"gates: {unknown_name('gate', shown, map('.'.join, known))}")
        _check_number(one[1], f"gates: {'.'.join(path)}")
        changed[path] = one[1]
    whole = {*_leaf_paths(outline["gates"]), *changed}
    changed = {_spelt_out(path, whole): value for path, value in changed.items()}
    left = {_spelt_out(path, whole) for path in whole}
    left = {path for path in left if changed.get(path, 0.0) is not None}
    # Removed last: what is set beside a bare number makes a mapping of it.
    ordered = sorted(changed, key=lambda path: changed[path] is None)
    return {("gates", *_emptied(path, left, changed[path])): changed[path] for path in ordered}


def _spelt_out(path: Steps, paths: Collection[Steps]) -> Steps:
    """Return the path of a metric's mean in full where the metric has other gates below it."""
    is_bare = any(one[: len(path)] == path and one != path for one in paths)
    return (*path, "mean") if is_bare else path


def _leaf_paths(gates: Mapping[str, Any], above: Steps = ()) -> Iterator[Steps]:
    """Yield the path of each value that is no mapping."""
    for name, value in gates.items():
        if isinstance(value, Mapping) and value:
            yield from _leaf_paths(value, (*above, name))
        else:
            yield (*above, name)


def _emptied(path: Steps, left: Collection[Steps], value: float | None) -> Steps:
    """Return the shortest beginning of a removed gate's path below which nothing would be left."""
    if value is not None:
        return path
    starts = (path[:end] for end in range(1, len(path) + 1))
    return next(start for start in starts if all(one[: len(start)] != start for one in left))


def plain_gates(gates: Mapping[str, Any], above: Steps = ()) -> Iterator[tuple[Steps, float | int]]:
    """Yield the path and the number of each gate that is only a bound.

    >>> list(plain_gates({"em": 0.5, "f1": {"no_regression": {"margin": 0.1}}}))
    [(('em',), 0.5)]
    """
    for name, value in gates.items():
        path = (*above, name)
        if isinstance(value, Mapping) and name not in _NOT_PLAIN:
            yield from plain_gates(value, path)
        elif type(value) in (int, float):
            yield path, value


def _new_gates(outline: Mapping[str, Any]) -> Iterator[Steps]:
    """Yield the paths of the gates that the page can add."""
    yield from ((name,) for name in _OF_ALL)
    metrics = [WEIGHTED_SCORE, *(one["name"] for one in outline["metrics"])]
    of_metric = [(name, *more) for name in metrics for more in _OF_METRIC]
    yield from of_metric
    for field in outline["groups"]:
        yield from (("by", field, name) for name in (*metrics, "pass_rate"))


def _check_number(value: Any, where: str) -> None:
    is_number = type(value) in (int, float) and math.isfinite(_as_float(value))
    if value is not None and not is_number:
        raise Refused(400, f"{where}: expected a number, found {shorten(repr(value))}")


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number with hundreds of digits
        return math.inf


# As options


def _option(path: Steps, value: Setting) -> str:
    kind, name = _WEIGHTS.get(path[0]), path[-1]
    if kind and value is None:
        value = 1.0
    if kind and name == name.strip():
        return f"--rag-{kind}-weight={name}={value!r}"
    return f"--rag-set={'.'.join(map(_quoted, path))}={inline_text(value)}"


def _quoted(step: str) -> str:
    """Return a step of a path, in quotes, which keep dots and blanks, unless it is a plain word."""
    if step.isidentifier() and step.isascii():
        return step
    escaped = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
