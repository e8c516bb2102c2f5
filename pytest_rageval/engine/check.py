"""What is wrong with a scenario as far as its file and the names in it go; no data are read."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.engine.bind_bounds import (
    bind_gates,
    bind_thresholds,
    bind_weights,
    resolve_gates,
)
from pytest_rageval.engine.bind_metrics import bind_metrics
from pytest_rageval.engine.binding import Binding
from pytest_rageval.errors import Problem
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.yaml_tree import YamlTree


def find_problems(tree: YamlTree, path: Path) -> list[Problem]:
    """Return the problems of a scenario's keys, and of its metrics, weights, bounds and gates.

    Runs to compare with are not looked for. ``tree`` is changed.
    """
    loaded, problems = inspect_tree(tree, path)
    if loaded is None:
        return problems
    binding = Binding(loaded, is_sound=not problems)
    metrics = bind_weights(binding, bind_metrics(binding))
    info = ScenarioInfo(
        name=loaded.scenario.name,
        path=tree.source,
        nodeid="",
        metrics=tuple(metric.column for metric in metrics),
        thresholds=bind_thresholds(binding, metrics),
        gates=resolve_gates(binding, metrics),
    )
    bind_gates(binding, info)
    return [*problems, *binding.problems]
