"""A14: values that replace values of the file, without editing it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.errors import OptionError, ScenarioError
from pytest_rageval.scenario.overrides import (
    Override,
    number_override,
    parse_assignment,
    set_override,
)
from pytest_rageval.scenario.yaml_tree import parse_yaml


def applied(text: str, override: Override) -> tuple[Any, str]:
    tree = parse_yaml(text, "s.yaml")
    name = override.apply(tree)
    return tree.data, name


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("dataset.limit=10", ("dataset", "limit"), 10),
        ("name=x", ("name",), "x"),
        ("metrics=[em, f1]", ("metrics",), ["em", "f1"]),
        ("thresholds.f1={max: 0.5}", ("thresholds", "f1"), {"max": 0.5}),
        ('doc_weights."a.pdf"=2', ("doc_weights", "a.pdf"), 2),
        ('doc_weights."a=b.pdf"=2', ("doc_weights", "a=b.pdf"), 2),
        (r'doc_weights."a\"b"=2', ("doc_weights", 'a"b'), 2),
        ("description=a=b", ("description",), "a=b"),
        ("description=", ("description",), None),
        (" name = x ", ("name",), "x"),
        ("thresholds.rouge-l=0.5", ("thresholds", "rouge-l"), 0.5),
    ],
)
def test_a_path_and_a_value_as_yaml(text: str, path: tuple[str, ...], value: Any) -> None:
    """A14: --rag-set path.to.key=value."""
    found = set_override("--rag-set", text)
    assert (found.path, found.value) == (path, value)
    assert found.flag.startswith("--rag-set ")


@pytest.mark.parametrize("text", ["", "name", "=x", ".a=1", "a..b=1", 'a."b=1', "a.=1", '"a"b=1'])
def test_what_is_no_assignment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionError, match=r"expected PATH=VALUE, for instance dataset\.limit=10"):
        set_override("--rag-set", text)


@pytest.mark.parametrize("value", ["[1", "{a: b: c}", "'x", "\x00", "*a", "\udcff"])
def test_a_value_that_is_no_yaml_is_refused(value: str) -> None:
    """A14: the last is what an argument becomes that is no UTF-8."""
    with pytest.raises(OptionError, match="--rag-set name="):
        set_override("--rag-set", f"name={value}")


@pytest.mark.parametrize(
    ("text", "found"),
    [("f1=0.5", ("f1", 0.5)), ("a=b.pdf=2", ("a=b.pdf", 2.0)), (" f1 = 1e-3 ", ("f1", 0.001))],
)
def test_a_name_and_a_number(text: str, found: tuple[str, float]) -> None:
    """A14: --rag-metric-weight M=W; a document's name may hold the sign itself."""
    assert parse_assignment("--rag-metric-weight", text) == found


@pytest.mark.parametrize("text", ["f1", "f1=", "=1", "f1=x", "f1=nan", "f1=inf", "", " =1"])
def test_what_is_no_name_and_number_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected NAME=NUMBER") as caught:
        parse_assignment("--rag-metric-weight", text)
    assert str(caught.value).startswith("--rag-metric-weight")


def test_a_number_goes_to_its_section() -> None:
    """A14: a dot in a document's name is part of it, one in a gate's name leads deeper."""
    weight = number_override("doc_weights")("--rag-doc-weight", "a.pdf=2")
    assert weight.path == ("doc_weights", "a.pdf")
    gate = number_override("gates")("--rag-gate", "f1.mean=0.5")
    assert gate.path == ("gates", "f1", "mean")


def test_an_override_replaces_and_names_what_it_replaced() -> None:
    """A14."""
    override = set_override("--rag-set", "dataset.limit=2")
    data, name = applied("dataset: {path: x, limit: 9}", override)
    assert data == {"dataset": {"path": "x", "limit": 2}}
    assert name == "dataset.limit"


def test_an_override_makes_the_section_that_is_not_there() -> None:
    data, _ = applied("name: x", number_override("thresholds")("--rag-threshold", "f1=0.5"))
    assert data == {"name": "x", "thresholds": {"f1": 0.5}}


def test_digits_are_places_where_there_is_a_list() -> None:
    data, name = applied("metrics: [em, f1]", set_override("--rag-set", "metrics.1=acc"))
    assert (data, name) == ({"metrics": ["em", "acc"]}, "metrics.1")
    data, _ = applied("doc_weights: {'1': 2}", set_override("--rag-set", "doc_weights.1=3"))
    assert data == {"doc_weights": {"1": 3}}


@pytest.mark.parametrize("text", ["metrics.5=acc", "metrics.x=acc", "name.x=1"])
def test_a_path_that_leads_nowhere_is_the_overrides_problem(text: str) -> None:
    with pytest.raises(ScenarioError, match="--rag-set"):
        applied("name: x\nmetrics: [em, f1]", set_override("--rag-set", text))


def test_a_number_for_a_gate_with_several_checks_is_its_mean() -> None:
    """A14: --rag-gate f1=0.9 leaves the other checks of f1 alone."""
    override = number_override("gates")("--rag-gate", "f1=0.9")
    data, name = applied("gates: {f1: {mean: 0.5, unscored: 0.1}}", override)
    assert data == {"gates": {"f1": {"mean": 0.9, "unscored": 0.1}}}
    assert name == "gates.f1.mean"
    data, name = applied("gates: {f1: 0.5}", override)
    assert (data, name) == ({"gates": {"f1": 0.9}}, "gates.f1")
