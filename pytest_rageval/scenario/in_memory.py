"""What Python code hands over as plain values: a scenario without a file, changes to one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Final

from pytest_rageval.errors import OptionError, Problem, ScenarioError, shorten
from pytest_rageval.import_path import path_of
from pytest_rageval.scenario.model_specs import filled_roles
from pytest_rageval.scenario.overrides import Override, key_name, set_override
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.short_forms import ROLES, expanded_short_form
from pytest_rageval.scenario.yaml.tree import YamlTree, refuse_depth

_SOURCES: Final = ("path", "rows", "qrels_path", "run_path", "format")
"""The keys of ``dataset`` that say where its rows are."""

Changes = Mapping[str, Any]
"""Nested as a scenario is, ``{"metric_weights": {"f1": 0.4}}``, or ``{"metric_weights.f1": 1}``."""


def overrides_of(given: Iterable[Override | str] | Changes) -> list[Override]:
    """Return the overrides that Python code asks for.

    ``given`` is a mapping, or a list of what ``--rag-set`` takes (``metric_weights.f1=0.4``).
    Raises OptionError for a text that is no override, and ScenarioError for a value that no file
    can hold.
    """
    if isinstance(given, str):
        message = "expected a list of texts, or a mapping, found one text"
        raise OptionError([Problem(f"overrides {shorten(given)}", message)])
    if isinstance(given, Mapping):
        refuse_depth(given, "overrides")
        return [
            Override(path, leaf, f"overrides {key_name(path)}")
            for key, value in given.items()
            for path, leaf in _below(steps_of(key), as_json_value(value, str(key)))
        ]
    known: Any = given
    changes = list(known) if isinstance(known, Iterable) else [known]
    wrong = [change for change in changes if not isinstance(change, str | Override)]
    if wrong:
        message = f"expected a list of texts, or a mapping, found {shorten(repr(wrong[0]))}"
        raise OptionError([Problem("overrides", message)])
    return [
        set_override("overrides", change) if isinstance(change, str) else change
        for change in changes
    ]


def _below(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _below((*path, key), part)
    else:
        yield path, value


def steps_of(key: str) -> tuple[str, ...]:
    """Return the path that a top-level key of a mapping of changes is short for.

    >>> steps_of("metric_weights"), steps_of('doc_weights."a.pdf"')
    (('metric_weights',), ('doc_weights', 'a.pdf'))
    """
    return set_override("changes", f"{key}=null").path


def as_json_value(value: Any, where: str) -> Any:
    """Return ``value`` as a scenario file can hold it; raises ScenarioError where it cannot.

    Tuples become lists, paths become text, numbers of other libraries become Python's.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json_value(part, f"{where}.{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_value(part, where) for part in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    kind = type(value).__name__
    message = f"expected text, a number, a list or a mapping, found a value of type {kind}"
    raise ScenarioError([Problem(where, message + _as_metric(value, where))])


def _as_metric(value: object, where: str) -> str:
    """Return what to write for a function that is given as a metric, or ""."""
    if where.partition(".")[0] != "metrics" or not callable(value):
        return ""
    path = path_of(value)
    if "<" in path:  # a lambda, or a function within another one
        return "; define it with a name in a module, and write {'use': 'module:name'}"
    return f"; write {{'use': {path!r}}}"


def tree_of(scenario: Scenario | Mapping[str, Any]) -> YamlTree:
    """Return the tree of a scenario; messages use its name in place of a file name.

    Raises ScenarioError for a value that no file could hold. Rows are taken as they are. A mapping
    needs no name.
    """
    if isinstance(scenario, Scenario):
        data = scenario_data(scenario)
    elif not isinstance(scenario, Mapping):
        kind = type(scenario).__name__
        message = (
            f"expected a path, a Scenario or a mapping, found a value of type {kind}; "
            "rows are given as dataset=..."
        )
        raise ScenarioError([Problem("scenario", message)])
    else:
        refuse_depth(scenario, "scenario")
        data = {
            str(key): _dataset(value)
            if key in ("dataset", "datasets")
            else as_json_value(value, key)
            for key, value in scenario.items()
        }
        measures = "metrics" in data or ("ir_metrics" in data and "benchmark" not in data)
        if measures and "scenario_name" not in data:
            data.setdefault("name", "evaluation")
    return YamlTree(data, str(data.get("name") or data.get("scenario_name") or "scenario"))


def name_given_rows(tree: YamlTree, shown: str) -> None:
    """Make rows from Python code, called ``shown``, the data; ``key_map`` and the like stay."""
    dataset = expanded_short_form(("dataset",), tree.data.get("dataset"))
    rest = {key: value for key, value in (dataset or {}).items() if key not in _SOURCES}
    tree.data["dataset"] = {**rest, "path": shown}


def _dataset(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [dict(row) if isinstance(row, Mapping) else row for row in value]
    if not isinstance(value, Mapping):
        return as_json_value(value, "dataset")
    return {
        str(key): _dataset(part) if key == "rows" else as_json_value(part, f"dataset.{key}")
        for key, part in value.items()
    }


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """Return what a file would have to say for this scenario: what was set, without defaults.

    Profiles are filled in already. One that would be filled in again, and change the judge, the
    embedding or the target that is called as it is, is left out.
    """
    data = scenario.model_dump(exclude_unset=True)
    data["metrics"] = [_metric(metric) for metric in data["metrics"]]
    if data.get("target") is not None:
        options = data["target"].pop("options", {})
        data["target"] = {**data["target"], **options}
    for name, keys in [*(data.get("models") or {}).items()]:
        filled = filled_roles({**data, "models": {name: keys}})
        if any(filled.get(role) != data.get(role) for role in ROLES):
            del data["models"][name]
    return data


def _metric(dumped: dict[str, Any]) -> Any:
    """Return a metric in the form that a file has: its name over its options."""
    options = dumped.pop("options", {})
    name = dumped.pop("metric")
    options = {key: value for key, value in dumped.items() if value is not None} | options
    if "use" in options:
        return options
    return {name: options} if options else name
