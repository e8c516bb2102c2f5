"""A15, E12: the names in a scenario are looked at without its data, its models and saved runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.engine.planning.bind_keys import find_problems
from pytest_rageval.scenario.yaml.tree import parse_yaml

SOUND = """
name: s
dataset: nowhere.jsonl
target: nowhere:answer
metrics: [em, f1, ndcg@10, llm_answer_relevancy]
judge: {model: m, api_key_env: A_KEY_THAT_NOBODY_HAS}
metric_weights: {em: 2}
thresholds: {f1: 0.5, weighted_score: 0.4}
compare: nowhere
gates:
  pass_rate: 0.9
  f1: {mean: 0.5, lower_bound: 0.4}
  by: {doc_name: {weighted_score: 0.5}}
  no_regression: {baseline: nowhere, metrics: [f1]}
"""


def found(text: str) -> list[str]:
    tree = parse_yaml(text, "s.yaml")
    return [str(problem) for problem in find_problems(tree, Path("s.yaml"))]


def test_what_lies_outside_of_the_file_is_not_looked_for() -> None:
    assert found(SOUND) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("em, f1", "em, f2", "s.yaml:5: metrics[1]: unknown metric 'f2'"),
        ("{em: 2}", "{emm: 2}", "s.yaml:7: metric_weights: unknown metric 'emm'. Did you"),
        ("{f1: 0.5,", "{f1: 2,", "s.yaml:8: thresholds.f1: min 2 is outside the range 0..1"),
        ("pass_rate: 0.9", "pass_rat: 0.9", "s.yaml:11: gates.pass_rat: unknown"),
        ("{mean: 0.5,", "{meen: 0.5,", "s.yaml:12: gates.f1"),
        ("name: s", "name: []", "s.yaml:2: name: expected text"),
    ],
)
def test_names_and_bounds_are(old: str, new: str, problem: str) -> None:
    assert problem in "\n".join(found(SOUND.replace(old, new)))


def test_a_file_of_which_too_little_is_left_has_its_problems() -> None:
    assert found("metrics: 1\n")


def test_fields_of_rows_and_a_comparison_count_as_named() -> None:
    """``patch_scenario`` refused gates by a field of the rows, or without a baseline."""
    text = SOUND.replace("{doc_name:", "{level: {f1: 0.5}, x-own: 1, doc_name:")
    assert found(text.replace("baseline: nowhere, metrics", "metrics")) == []
    wrong = text.replace("{level: {f1: 0.5}", "{level: {f2: 0.5}")
    assert "gates.by.level.f2: unknown" in "".join(found(wrong))


@pytest.mark.parametrize(
    "metrics", ["[{em: 3}, em: {}]", "[]", "[{use: 'a.polite', name: f1}, em: 1]", "{em: {}}"]
)
def test_names_of_metrics_that_could_not_be_read_are_not_called_unknown(metrics: str) -> None:
    text = (
        f"name: s\ndataset: r.jsonl\nmetrics: {metrics}\nmetric_weights: {{f1: 2}}\n"
        "thresholds: {em: 0.5}\ngates: {f1: 0.5, by: {doc_name: {em: 0.5}}, pass_rat: 1}\n"
    )
    problems = found(text)
    assert all(problem.startswith("s.yaml:3: metrics") for problem in problems[:-1])
    assert problems[-1].startswith("s.yaml:6: gates.pass_rat: unknown gate or metric 'pass_rat'")
