"""What is wrong with settings of the page: of all of them together, by their fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.serving.web.app_service import problems_of
from pytest_rageval.serving.web.settings import Settings


@pytest.mark.parametrize(
    ("text", "values", "wrong"),
    [
        ("", {("thresholds", "em"): 0.5, ("gates", "pass_rate"): 0.5}, []),
        ("", {("gates", "pass_rate"): 0.5}, [["gates", "pass_rate"]]),
        (
            "metric_weights: {em: 1, f1: 0}\n",
            {("metric_weights", "em"): 0, ("metric_weights", "f1"): 1},
            [],
        ),
        ("metric_weights: {em: 1, f1: 0}\n", {("metric_weights", "em"): 0}, [[]]),
        (
            "gates: {f1: {min: 0.2, max: 0.6}}\n",
            {("gates", "f1", "min"): 0.7, ("gates", "f1", "max"): 0.9},
            [],
        ),
        (
            "",
            {("gates", "by", "topic", "f1"): 7, ("thresholds", "em"): 0.5, ("gates", "em"): -1},
            [["gates", "by", "topic", "f1"], ["gates", "em"]],
        ),
    ],
)
def test_settings_that_are_good_together_are_good(
    tmp_path: Path, text: str, values: dict[tuple[str, ...], Any], wrong: list[list[str]]
) -> None:
    """[P4] One may need another."""
    path = tmp_path / "s.rageval.yaml"
    path.write_text(f"name: s\ndataset: r.jsonl\nmetrics: [f1, em]\n{text}")
    (tmp_path / "r.jsonl").write_text('{"answer": "a", "references": ["a"], "topic": "x"}\n')
    assert [one["path"] for one in problems_of(path, Settings(values))] == wrong
