"""A23: the base scenario keys of rag_eval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario, load_scenario

BASE = (
    "scenario_name: s\n"
    "mode: offline\n"
    "dataset: rows.csv\n"
    "judge_model: gpt-4o-mini\n"
    "embedding_model: text-embedding-3-small\n"
    "metrics: [em]\n"
    "output_dir: out\n"
)


@pytest.fixture
def load(write: Callable[..., Path]) -> Callable[[str], LoadedScenario]:
    return lambda text: load_scenario(write(text), shown="s.yaml")


def refused(load: Callable[[str], LoadedScenario], text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load(text)
    return [str(problem) for problem in caught.value.problems]


def test_the_base_scenario_is_accepted_unchanged(load: Callable[[str], LoadedScenario]) -> None:
    """A23."""
    text = BASE + (
        "runtime: {batch_size: 4, app_concurrency: null, metric_concurrency: 8, max_samples: 3}\n"
        "app_adapter: null\n"
    )
    scenario = load(text).scenario
    assert (scenario.name, scenario.output_dir) == ("s", "out")
    assert scenario.judge is not None
    assert scenario.judge.model == "gpt-4o-mini"
    assert scenario.embedding is not None
    assert scenario.embedding.model == "text-embedding-3-small"
    assert (scenario.dataset.path, scenario.dataset.limit) == ("rows.csv", 3)


def test_max_samples_is_the_limit_of_any_form_of_dataset(
    load: Callable[[str], LoadedScenario],
) -> None:
    """A22, A23."""
    for dataset in ("rows.csv", "{path: rows.csv}", "[{answer: x}]", "{rows: [{answer: x}]}"):
        text = f"name: s\nmetrics: [em]\ndataset: {dataset}\nruntime: {{max_samples: 2}}\n"
        assert load(text).scenario.dataset.limit == 2, dataset


def test_what_has_no_effect_is_a_warning(load: Callable[[str], LoadedScenario]) -> None:
    """A23: nothing is dropped in silence."""
    found = load(BASE + "runtime: {batch_size: 4, app_concurrency: 2}\n").warnings
    assert len(found) == 2
    assert "runtime.batch_size has no effect" in found[0]
    assert load(BASE).warnings == ()


@pytest.mark.parametrize("value", ["0", "-1", "true", "x", "1.5", "[1]"])
@pytest.mark.parametrize("key", ["batch_size", "max_samples", "metric_concurrency"])
def test_a_runtime_value_that_is_no_count_is_refused_with_its_line(
    load: Callable[[str], LoadedScenario], key: str, value: str
) -> None:
    (problem,) = refused(load, BASE + f"runtime:\n  {key}: {value}\n")
    assert problem.startswith(f"s.yaml:9: runtime.{key}: expected a whole number >= 1, found ")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mode: x", "mode: expected 'offline' or 'online', found 'x'"),
        ("mode: [a]", "mode: expected 'offline' or 'online'"),
        ("mode: online", "mode: online needs 'app_adapter'"),
        ("app_adapter: {type: http}", "app_adapter: has no place in mode 'offline'"),
        ("runtime: {batch: 1}", "unknown key 'runtime'"),
        ("runtime: [1]", "unknown key 'runtime'"),
    ],
)
def test_what_cannot_run_is_refused(
    load: Callable[[str], LoadedScenario], line: str, message: str
) -> None:
    """A21, A23."""
    (problem,) = refused(load, "name: s\ndataset: x\nmetrics: [em]\n" + line)
    assert problem.startswith("s.yaml:4: ")
    assert message in problem


@pytest.mark.parametrize("judge", ["gpt-4o", "[1]", "{model: gpt-4o}", "7"])
def test_a_model_that_is_named_in_both_ways_is_no_crash(
    load: Callable[[str], LoadedScenario], judge: str
) -> None:
    """A16, A23: one name must win or the double naming be refused, with its line."""
    found = refused(load, BASE + f"judge: {judge}\n")
    assert any("judge" in problem and problem.startswith("s.yaml:") for problem in found)


def test_both_names_of_a_scenario_are_one_too_many(load: Callable[[str], LoadedScenario]) -> None:
    (problem,) = refused(load, BASE + "name: t\n")
    assert "scenario_name" in problem


def test_a_scenario_of_ours_is_left_alone(load: Callable[[str], LoadedScenario]) -> None:
    loaded = load("name: s\ndataset: x\nmetrics: [em]\n")
    assert (loaded.scenario.judge, loaded.scenario.output_dir, loaded.warnings) == (None, None, ())
