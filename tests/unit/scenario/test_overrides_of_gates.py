"""A14: overrides of gates, thresholds and weights, by the names that results use for metrics."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import patch_scenario
from pytest_rageval.engine.planning.binding import metric_name
from pytest_rageval.gates.base import GATE_REGISTRY
from pytest_rageval.gates.mean import OwnMeanSpec
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.short_forms import CHECKS, OF_MEAN, OF_SCENARIO
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
        # One that is called as one of ours: the alias means it, as in the file.
        ("[{column: acc}]", "accuracy=0.1", {"acc": 0.1}),
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


@pytest.mark.parametrize(
    ("gates", "option", "expected"),
    [
        # Bounds of the mean alone, in any form, are replaced.
        ("{f1: {value: 0.4}}", "f1=0.2", {"f1": 0.2}),
        ("{f1: {min: 0.4}}", "f1=0.2", {"f1": 0.2}),
        ("{f1: {min: 0.4, max: 0.9}}", "f1=0.2", {"f1": 0.2}),
        ("{f1: 0.9}", "f1=0.2", {"f1": 0.2}),
        ("{f1: '9e-1'}", "f1=0.2", {"f1": 0.2}),
        ("{f1: {mean: 0.9}}", "f1={lower_bound: 0.1}", {"f1": {"lower_bound": 0.1}}),
        # Keys that are no checks of a metric.
        ("{pass_rate: {min: 0.9}}", "pass_rate=0.5", {"pass_rate": 0.5}),
        ("{unscored: {f1: 0.1}}", "unscored=0.05", {"unscored": 0.05}),
        ("{unscored: {lower_bound: 0.1}}", "unscored=0.05", {"unscored": 0.05}),
        ("{invalid: {max: 0.1}}", "invalid=0.05", {"invalid": 0.05}),
        ("{no_regression: {max_drop: 0.1}}", "no_regression=0.05", {"no_regression": 0.05}),
        (
            "{compare_fail: {f1: {max_drop: 0.1}}}",
            "compare_fail.f1=2%",
            {"compare_fail": {"f1": "2%"}},
        ),
        # A metric that is called as a check.
        ("{mean: 0.9, selective: 0.9}", "mean=0.2", {"mean": 0.2, "selective": 0.9}),
        # null takes the whole gate, a mapping replaces it, a check its own.
        ("{f1: {mean: 0.9, lower_bound: 0.8}}", "f1=null", {}),
        ("{f1: {lower_bound: 0.8}}", "f1=null", {}),
        ("{f1: {lower_bound: 0.8}}", "f1={min: 0.1}", {"f1": {"min": 0.1}}),
        ("{f1: {lower_bound: 0.8}}", "f1.lower_bound=0.1", {"f1": {"lower_bound": 0.1}}),
        ("{f1: {lower_bound: 0.8}}", "f1.mean=0.1", {"f1": {"lower_bound": 0.8, "mean": 0.1}}),
        # A check of a plugin, or none: the number is not told to be one.
        ("{f1: {own: 0.5, x-a: 1}}", "f1=0.2", {"f1": {"own": 0.5, "x-a": 1, "mean": 0.2}}),
        ("{by: {lang: {f1: {min: 0.5}}}}", "by.lang.f1=0.1", {"by": {"lang": {"f1": 0.1}}}),
        # What else a bound has, beside a number.
        *(
            (f"{{f1: {number}}}", "f1.max_flip=2", {"f1": {"value": found, "max_flip": 2}})
            for number, found in (("0.4", 0.4), ("'4e-1'", "4e-1"))
        ),
        (
            "{f1: {min: 0.4, x-why: ours}}",
            "f1.lower_bound=0.1",
            {"f1": {"mean": {"min": 0.4, "x-why": "ours"}, "lower_bound": 0.1}},
        ),
    ],
)
def test_what_has_no_other_checks_is_replaced(gates: str, option: str, expected: Any) -> None:
    assert overridden(f"gates: {gates}", f"gates.{option}")["gates"] == expected


@pytest.mark.parametrize(
    "check",
    [
        "lower_bound: 0.9",
        "quantile: {0.1: 0.5}",
        "agreement: {kappa: 0.6}",
        "selective: {coverage: 0.8, min: 0.9}",
        "aurc: 0.1",
        "lower_bound: 0.9, mean: {min: 0.5}, x-note: ours",
    ],
)
def test_a_number_leaves_every_other_check_alone(check: str, tmp_path: Path) -> None:
    """Without a mean among them, the number took the others away: red was green."""
    gate = {**parse_yaml(f"{{{check}}}", "").data, "mean": 0.2}
    assert overridden(f"gates: {{f1: {{{check}}}}}", "gates.f1=0.2") == {"gates": {"f1": gate}}
    by = overridden(f"gates: {{by: {{lang: {{f1: {{{check}}}}}}}}}", "gates.by.lang.f1=0.2")
    assert by == {"gates": {"by": {"lang": {"f1": gate}}}}
    head = "name: s\nmetrics: [f1]\ndataset: r.jsonl\n"
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"{head}gates: {{f1: {{{check}}}}}\n", "utf-8")
    tree = parse_yaml(f"{path.read_text('utf-8')}variants: {{v: {{gates: {{f1: 0.2}}}}}}", "s.yaml")
    assert inspect_tree(tree, path, variant="v")[0].scenario.gates == {"f1": gate}
    if "lower_bound" in check:
        assert patch_scenario(path, {"gates.f1": 0.2}) == ("gates.f1.mean",)
        assert parse_yaml(path.read_text("utf-8"), "").data["gates"] == {"f1": gate}


@pytest.mark.parametrize(
    ("gate", "option", "expected"),
    [
        ("{value: 0.4, corrected: true}", "=0.5", {"corrected": True, "value": 0.5}),
        ("{min: 0.4, corrected: true}", "='5e-1'", {"corrected": True, "value": "5e-1"}),
        (
            "{min: 0.4, max: 0.9, max_flip: 0.1, not_applicable: 0.3}",
            "=0.5",
            {"max_flip": 0.1, "not_applicable": 0.3, "value": 0.5},
        ),
        ("{mean: {min: 0.4, x-a: 1}}", "=0.5", {"mean": {"x-a": 1, "value": 0.5}}),
        ("{min: 0.4, x-a: 1}", "=0.5", {"x-a": 1, "value": 0.5}),
        (
            "{lower_bound: {min: 0.4, confidence: 0.99}}",
            ".lower_bound=0.5",
            {"lower_bound": {"confidence": 0.99, "value": 0.5}},
        ),
        (
            "{agreement: {kappa: {lower_bound: 0.2}}}",
            ".agreement.kappa=0.5",
            {"agreement": {"kappa": {"lower_bound": 0.2, "value": 0.5}}},
        ),
        ("{min: 0.4, corrected: true}", "={min: 0.5}", {"min": 0.5}),
        # Another check moves the bound, with all it says, to the mean.
        (
            "{min: 0.4, corrected: true}",
            ".lower_bound=0.5",
            {"mean": {"min": 0.4, "corrected": True}, "lower_bound": 0.5},
        ),
        ("'0.4'", ".lower_bound=0.5", {"mean": "0.4", "lower_bound": 0.5}),
        ("{min: 0.4}", ".corrected=true", {"min": 0.4, "corrected": True}),
    ],
)
def test_a_number_leaves_how_a_bound_is_judged_alone(
    gate: str, option: str, expected: Any, tmp_path: Path
) -> None:
    """A lax number took ``corrected``, ``max_flip`` and ``confidence`` away: red was green."""
    text = f"gates: {{f1: {gate}}}"
    assert overridden(text, f"gates.f1{option}") == {"gates": {"f1": expected}}
    below = overridden(f"gates: {{by: {{lang: {{f1: {gate}}}}}}}", f"gates.by.lang.f1{option}")
    assert below == {"gates": {"by": {"lang": {"f1": expected}}}}
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"name: s\nmetrics: [f1]\ndataset: r.jsonl\n{text}\n", "utf-8")
    if option == "=0.5":
        laid = f"{path.read_text('utf-8')}variants: {{v: {{gates: {{f1: 0.5}}}}}}"
        found = inspect_tree(parse_yaml(laid, "s.yaml"), path, variant="v")[0].scenario.gates
        assert found == {"f1": expected if "mean" in expected else {"mean": expected}}
        assert patch_scenario(path, {"gates.f1": 0.5})
        assert parse_yaml(path.read_text("utf-8"), "").data["gates"] == {"f1": expected}
        assert not patch_scenario(path, {"gates.f1": 0.5})


def test_what_gates_are_called_is_known_to_overrides() -> None:
    """Those of the whole scenario have no checks; those of a metric are its checks."""
    assert OwnMeanSpec.model_fields.keys() == OF_MEAN
    scopes = {"scenario": OF_SCENARIO, "metric": CHECKS}
    for scope, names in scopes.items():
        assert {kind.name for kind in GATE_REGISTRY if kind.scope == scope} == names
