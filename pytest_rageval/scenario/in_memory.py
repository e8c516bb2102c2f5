"""A scenario that stands in no file: a Scenario or a mapping as the tree that a file would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_rageval.scenario.changes import plain_value
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml_tree import YamlTree


def tree_of(scenario: Scenario | Mapping[str, Any]) -> YamlTree:
    """Return the tree of a scenario; its name stands for the file's in messages.

    Raises ScenarioError for a value that no file could hold. Rows are taken as they are.
    """
    if isinstance(scenario, Scenario):
        data = scenario_data(scenario)
    else:
        data = {
            str(key): _dataset(value) if key in ("dataset", "datasets") else plain_value(value, key)
            for key, value in scenario.items()
        }
    return YamlTree(data, str(data.get("name") or data.get("scenario_name") or "scenario"))


def _dataset(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [dict(row) if isinstance(row, Mapping) else row for row in value]
    if not isinstance(value, Mapping):
        return plain_value(value, "dataset")
    return {
        str(key): _dataset(part) if key == "rows" else plain_value(part, f"dataset.{key}")
        for key, part in value.items()
    }


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """Return what a file would have to say for this scenario: what was set, without defaults.

    Profiles have been filled in where they were used; they stand in it no more where a model is
    called as one of them.
    """
    data = scenario.model_dump(exclude_unset=True)
    data["metrics"] = [_metric(metric) for metric in data["metrics"]]
    if data.get("target") is not None:
        options = data["target"].pop("options", {})
        data["target"] = {**data["target"], **options}
    used = [data[role]["model"] for role in ("judge", "embedding") if data.get(role) is not None]
    if set(used) & set(data.get("models", ())):
        del data["models"]
    return data


def _metric(plain: dict[str, Any]) -> Any:
    """Return a metric in the form that a file has: its name over its options."""
    options = plain.pop("options", {})
    name = plain.pop("metric")
    said = {key: value for key, value in plain.items() if value is not None} | options
    if "use" in said:
        return said
    return {name: said} if said else name
