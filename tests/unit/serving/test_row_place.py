"""E25: the file and line of a saved run's sample, as long as the data are those of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.evaluation import evaluate
from pytest_rageval.results.layout import SavedScenario
from pytest_rageval.serving.saved_runs import read_run, row_place

LINES = """{"id": "a", "answer": "x", "references": ["x"]}

{"id": "b", "answer": "x", "references": ["x"]}
"""
CSV = 'id,answer,references\na,"x\ny",x\nb,x,x\n'
INLINE = """name: s
metrics: [em]
dataset:
  - {id: a, answer: x, references: [x]}
  - id: b
    answer: x
    references: [x]
"""

Place = Callable[..., str]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a function: run a scenario in ``sub``, then return the place of a sample."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)

    def place_of(
        name: str, scenario: str, data: dict[str, str], after: dict[str, str] | None = None
    ) -> str:
        file = root / "sub" / "s.rageval.yaml"
        file.write_text(scenario, "utf-8")
        for path, text in data.items():
            (root / "sub" / path).write_text(text, "utf-8")
        evaluate(file, write_to=root / "out")
        for path, text in (after or {}).items():
            (root / "sub" / path).write_text(text, "utf-8")
        run = root / "out" / "s" / "latest"
        stored = read_run(run)
        about = replace(stored.head.scenario, path="sub/s.rageval.yaml")
        return row_place(root, run, about, name)

    return place_of


def scenario(path: str, more: str = "") -> str:
    return f"name: s\nmetrics: [em]\ndataset: {{path: {path}{more}}}\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("d.jsonl", LINES, "sub/d.jsonl:3"),
        ("d.csv", CSV, "sub/d.csv:4"),
    ],
)
def test_a_row_of_a_file_has_its_line(place: Place, name: str, text: str, expected: str) -> None:
    """[E25] Not its number: lines may be blank, or belong to one row."""
    assert place("b", scenario(name), {name: text}) == expected


def test_a_shuffled_row_has_its_line(place: Place) -> None:
    shuffled = scenario("d.jsonl", ", shuffle: true, seed: 1")
    assert place("a", shuffled, {"d.jsonl": LINES}) == "sub/d.jsonl:1"
    assert place("b", shuffled, {"d.jsonl": LINES}) == "sub/d.jsonl:3"


def test_a_row_in_the_scenario_has_its_line(place: Place) -> None:
    """[E25] Also under ``rows``."""
    assert place("b", INLINE, {}) == "sub/s.rageval.yaml:5"
    below = INLINE.replace("dataset:\n", "dataset:\n  rows:\n")
    assert place("b", below, {}) == "sub/s.rageval.yaml:6"


def test_a_file_that_has_changed_has_no_lines(place: Place) -> None:
    """[E25] The line might be that of another row."""
    changed = {"d.jsonl": "\n" + LINES.replace("x", "y")}
    assert place("b", scenario("d.jsonl"), {"d.jsonl": LINES}, changed) == ""
    assert place("b", INLINE, {}, {"s.rageval.yaml": INLINE.replace("x", "y")}) == ""


def test_a_file_outside_of_the_root_is_not_read(place: Place) -> None:
    """[E25]"""
    assert place("b", scenario("../../d.jsonl"), {"../../d.jsonl": LINES}) == ""


def test_a_baseline_does_not_say_where_its_data_were(tmp_path: Path) -> None:
    about = SavedScenario(name="s", path="s.yaml")
    assert row_place(tmp_path, tmp_path / "main.json", about, "a") == ""
