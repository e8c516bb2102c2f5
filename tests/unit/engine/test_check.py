"""A15, E12: the names in a scenario are looked at without its data, its models and saved runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.engine.check import find_problems
from pytest_rageval.scenario.yaml_tree import parse_yaml

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
        ("{f1: 0.5,", "{f1: 2,", "s.yaml:8: thresholds.f1: 2 is outside the range 0..1"),
        ("pass_rate: 0.9", "pass_rat: 0.9", "s.yaml:11: gates.pass_rat: unknown"),
        ("{mean: 0.5,", "{meen: 0.5,", "s.yaml:12: gates.f1"),
        ("name: s", "name: []", "s.yaml:2: name: expected text"),
    ],
)
def test_names_and_bounds_are(old: str, new: str, problem: str) -> None:
    assert problem in "\n".join(found(SOUND.replace(old, new)))


def test_a_file_of_which_too_little_is_left_has_its_problems() -> None:
    assert found("metrics: 1\n")
