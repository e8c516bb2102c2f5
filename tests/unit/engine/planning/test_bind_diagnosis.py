"""E21: what ``diagnose`` names is bound, and what the data lack is said before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario

from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.planning.bind_keys import bind_diagnosis
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.metrics.base import MetricInfo
from pytest_rageval.model import Bound, Diagnosis, MetricColumn, ScenarioInfo
from pytest_rageval.text.codec import from_json, to_json

F1 = "name: s\nmetrics: [f1]\ndataset: [{answer: x, references: [x], contexts: [x]}]\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", None),
        ("diagnose: false", None),
        ("diagnose: true", Diagnosis()),
        ("diagnose: {}", Diagnosis()),
        ("diagnose: {retrieval: non_llm_context_recall}", Diagnosis("non_llm_context_recall")),
    ],
)
def test_metrics_are_named_or_left_to_words(
    plan: Callable[..., Plan], said: str, expected: Diagnosis | None
) -> None:
    """E21: it survives the way to the main process."""
    rows = "dataset: [{answer: x, references: [x], contexts: [x], reference_contexts: [x]}]\n"
    info = plan(f"name: s\nmetrics: [f1, non_llm_context_recall]\n{rows}{said}\n").info
    assert info.diagnose == expected
    assert from_json(to_json(info), ScenarioInfo) == info
    assert ("cause" in info.fields) is (expected is not None)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("true", None),
        ("{retrieval: f1}", "s.yaml:4: diagnose.retrieval: 'f1' looks at the answer; name a metric "
         "of the contexts alone"),
        ("{generation: f1}", "s.yaml:4: diagnose.generation: 'f1' does not compare the answer with "
         "the contexts; name one that does"),
        ("{generation: f11}", "s.yaml:4: diagnose.generation: unknown metric 'f11'. Did you mean "
         "'f1'? Known: f1"),
        ("{retreival: f1}", "s.yaml:4: unknown key 'retreival' under diagnose. Did you mean "
         "'retrieval'? Known: generation, retrieval"),
        ("yes please", "s.yaml:4: diagnose: expected true or {retrieval: METRIC, generation: "
         "METRIC}, found 'yes please'"),
    ],
)  # fmt: skip
def test_what_cannot_tell_causes_is_refused_with_its_line(
    plan: Callable[..., Plan],
    problems: Callable[..., list[str]],
    said: str,
    message: str | None,
) -> None:
    """E21."""
    text = f"{F1}diagnose: {said}\n"
    if message is None:
        plan(text)
    else:
        assert problems(text) == [message]


@pytest.mark.parametrize(
    ("row", "needed"),
    [
        ("references: [x]", "'contexts'"),
        ("references: [x], contexts: []", "'contexts'"),
    ],
)
def test_data_without_contexts_are_refused(
    problems: Callable[..., list[str]], row: str, needed: str
) -> None:
    """E21: contexts that are empty in every row are most likely a wrong column."""
    text = f"name: s\nmetrics: [f1]\ndataset: [{{answer: x, {row}}}]\ndiagnose: true\n"
    (problem,) = problems(text)
    assert problem.startswith(f"s.yaml:4: diagnose: needs {needed}, and no row of ")


def test_data_with_a_column_of_that_name_are_refused(problems: Callable[..., list[str]]) -> None:
    """E21: its values would be taken for causes."""
    text = F1.replace("contexts: [x]", "contexts: [x], cause: y") + "diagnose: true\n"
    (problem,) = problems(text)
    assert "has a column 'cause', as the causes are called; rename it" in problem


def test_slices_by_cause_need_causes(
    plan: Callable[..., Plan], problems: Callable[..., list[str]]
) -> None:
    """E21."""
    gate = "gates: {by: {cause: {f1: 0.5}}}\n"
    plan(f"{F1}diagnose: true\n{gate}")
    (problem,) = problems(F1 + gate)
    assert problem.endswith("causes are found with 'diagnose: true'")


def test_a_target_may_give_the_contexts(plan: Callable[..., Plan]) -> None:
    """E21: what it did not return is said of each low answer."""
    pytest.importorskip("aiohttp")
    rows = "dataset: [{question: q, references: [x]}]\n"
    target = "target: http://127.0.0.1:9/ask\n"
    assert plan(f"name: s\nmetrics: [f1]\n{rows}{target}diagnose: true\n").info.diagnose


@pytest.mark.parametrize("written", ["{retrieval: lost}", "true"])
def test_a_metric_without_a_middle_needs_a_threshold(
    write: Callable[..., Path], written: str
) -> None:
    """E21: lost passages, without an upper end. ``context_recall`` is taken without being named."""
    name = "lost" if "lost" in written else "context_recall"
    column = MetricColumn(name, ends=(0.0, None), higher_is_better=False)
    metric: Any = None
    bound = BoundMetric(column, MetricInfo(name, frozenset({"contexts"})), metric, 0)
    binding = Binding(load_scenario(write(f"{F1}diagnose: {written}\n"), shown="s.yaml"))
    assert bind_diagnosis(binding, [bound], {}) == Diagnosis()
    said = "no middle of its range to tell low scores by; give it a threshold"
    assert [problem.message for problem in binding.problems] == (
        [f"diagnose.retrieval: 'lost' has {said}"] if name == "lost" else []
    )
    assert bind_diagnosis(binding, [bound], {name: Bound(max=2.0)}) == Diagnosis(name)
