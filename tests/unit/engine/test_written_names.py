"""Messages name the keys that the user wrote, and list what is known once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval import UserError, evaluate

ROW = {"answer": "a", "references": ["a"]}
RANKED = {"retrieved_ids": ["a"], "reference_ids": ["a"]}


def messages(scenario: dict[str, Any]) -> list[str]:
    with pytest.raises(UserError) as caught:
        evaluate(scenario)
    return [problem.message for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("scenario", "start"),
    [
        ({"name": "s", "metrics": ["emm"], "dataset": [ROW]}, "metrics[0]: unknown"),
        (
            {"name": "s", "ir_metrics": ["mrr", "mapp"], "ks": [1, 2], "dataset": [RANKED]},
            "ir_metrics[1]: unknown",
        ),
        (
            {"scene_key": "app", "evaluate_metrics": ["emm"], "datasets": [ROW]},
            "evaluate_metrics[0]: unknown",
        ),
        (
            {"name": "s", "evaluation": {"metrics": ["emm"]}, "dataset": [ROW]},
            "evaluation.metrics[0]: unknown",
        ),
        (
            {"scenario_name": [3], "metrics": ["em"], "dataset": [ROW]},
            "scenario_name: expected text",
        ),
        (
            {"name": "s", "metrics": ["em"], "judge_model": [3], "dataset": [ROW]},
            "judge_model: expected text",
        ),
    ],
)
def test_a_message_names_the_key_that_was_written(scenario: dict[str, Any], start: str) -> None:
    """[U6] In every dialect, from a mapping as from a file."""
    (message,) = messages(scenario)
    assert message.startswith(start)


def test_a_file_in_another_dialect_has_its_own_keys_in_messages(
    write: Callable[..., Any],
) -> None:
    """[U6] With the line, and once for all cutoffs that it stands for."""
    path = write("name: s\nir_metrics:\n  - mrr\n  - ndcg: {bad: 1}\nks: [1, 5]\ndataset: []\n")
    with pytest.raises(UserError) as caught:
        evaluate(path)
    found = [str(one) for one in caught.value.problems if "bad" in one.message]
    assert len(found) == 1
    assert found[0].startswith("s.yaml:4: ir_metrics[1].ndcg: unknown option 'bad'")


def test_what_is_known_is_listed_once() -> None:
    """[U6] With the first of two thresholds; of metrics, each has those that are similar."""
    scenario = {
        "name": "s",
        "metrics": ["emm", "f11", "acc", "zz"],
        "thresholds": {"foo": 1, "bar": 1},
        "dataset": [ROW],
    }
    found = messages(scenario)
    assert [" Known: " in message for message in found] == [True, True, True, True, False]
    assert found[0].startswith("metrics[0]: unknown metric 'emm'. Did you mean 'em'? Known: ")
    assert found[1:3] == [
        "metrics[1]: unknown metric 'f11'. Did you mean 'f1'? Known: f1; "
        "docs/reference/metrics.md lists all. A function of your own: {use: 'my_metrics:f11'}",
        "metrics[3]: unknown metric 'zz'. Known: docs/reference/metrics.md lists all. "
        "A function of your own: {use: 'my_metrics:zz'}",
    ]
    assert found[3:] == [
        "thresholds: unknown metric 'foo'. Known: acc, weighted_score",
        "thresholds: unknown metric 'bar'.",
    ]
