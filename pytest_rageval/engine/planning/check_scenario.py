"""What is wrong with a scenario's file and the names in it; data and saved runs are not read."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from pytest_rageval.engine.planning.bind_bounds import bind_gates
from pytest_rageval.engine.planning.bind_keys import bind_keys
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import Problem
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.variants import variant_names
from pytest_rageval.scenario.yaml.tree import YamlTree


def find_problems(tree: YamlTree, path: Path) -> list[Problem]:
    """Return the problems of a scenario's keys, metrics, weights, thresholds and gates.

    Of each of its variants, if it has some.
    """
    found: list[Problem] = []
    for variant in variant_names(tree.data) or ("",):
        loaded, problems = inspect_tree(deepcopy(tree), path, variant=variant)
        binding = Binding(loaded)
        _, info = bind_keys(binding, tree.source)
        bind_gates(binding, info)
        found += [*problems, *binding.problems]
    return list(dict.fromkeys(found))
