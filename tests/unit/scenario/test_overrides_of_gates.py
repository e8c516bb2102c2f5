"""A14: overrides of gates, thresholds and weights, by the names that results use for metrics."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pytest_rageval.engine.planning.binding import metric_name
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml


def overridden(text: str, option: str) -> Any:
    """Return the data of a scenario with one value replaced."""
    tree = parse_yaml(text, "s.yaml")
    set_override("--rag-set", option).apply(tree, partial(metric_name, known=METRIC_REGISTRY))
    return tree.data


@pytest.mark.parametrize(
    ("metrics", "option", "gates"),
    [
        ("[acc, f1]", "accuracy=0.1", {"acc": 0.1}),
        ("[{acc: {normalizer: unicode}}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {use: 'm:politeness'}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {column: latency_s}]", "accuracy=0.1", {"acc": 0.1}),
        # A metric of ours by another name: the outer key is no name any more.
        ("[acc, {accuracy: {name: mine}}]", "accuracy=0.1", {"acc": 0.1}),
        # The path of one that is given a name is none, nor is its column.
        ("[acc, {use: 'm:accuracy', name: mine}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {column: accuracy, name: mine}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {mine: {use: 'm:accuracy'}}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {mine: {column: accuracy}}]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {use: 'm:f', name: accuracy}]", "accuracy=0.1", {"acc": 0.9, "accuracy": 0.1}),
        ("[acc, {f1: {name: accuracy}}]", "accuracy=0.1", {"acc": 0.9, "accuracy": 0.1}),
        # What is no metric at all is somebody else's problem.
        ("acc", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {use: 5}, 7, {}, [accuracy]]", "accuracy=0.1", {"acc": 0.1}),
        ("[acc, {column: accuracy, nope: 1}]", "acc=0.1", {"acc": 0.1}),
    ],
)
def test_a_gate_is_found_by_any_name_of_its_metric(metrics: str, option: str, gates: Any) -> None:
    text = f"metrics: {metrics}\ngates: {{acc: 0.9}}"
    assert overridden(text, f"gates.{option}")["gates"] == gates


@pytest.mark.parametrize(
    "own",
    [
        "{column: accuracy, range: [0, 1]}",
        "{column: accuracy, lower_is_better: true, x-note: ours}",
        "{accuracy: {column: latency_s}}",
        "{use: 'm:accuracy'}",
        "{use: 'pkg.judges:Own.accuracy', level: 3}",
        "{accuracy: {use: 'm:exact_match'}}",
    ],
)
@pytest.mark.parametrize("section", ["gates", "thresholds", "metric_weights"])
def test_a_metric_of_ones_own_is_not_the_one_with_that_alias(own: str, section: str) -> None:
    """Its gate, on the command line, lowered that of ``acc``: red was green."""
    text = f"metrics: [acc, {own}]\n{section}: {{acc: 0.9}}"
    expected = {"acc": 0.9, "accuracy": 0.1}
    assert overridden(text, f"{section}.accuracy=0.1")[section] == expected
    given = f"metrics: [acc, {own}]\n{section}: {{accuracy: 0.9}}"
    assert overridden(given, f"{section}.acc=0.1")[section] == {"accuracy": 0.9, "acc": 0.1}
