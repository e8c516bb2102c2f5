"""``limit`` and ``--rag-limit`` cut the data, and the cut is what the run is complete of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# em: 1, 1, 0, 0.
FOUR = """
    name: qa
    metrics: [em]
    gates: {em: 1}
    dataset:
      limit: LIMIT
      rows:
        - {id: a, answer: Paris, references: [Paris]}
        - {id: b, answer: Paris, references: [Paris]}
        - {id: c, answer: Rome, references: [Paris]}
        - {id: d, answer: Rome, references: [Paris]}
"""


def test_the_first_rows_are_a_complete_run(project: Project, run: Run) -> None:
    """[A22] Two of four rows, both right: the gate em >= 1 is decided, and holds."""
    project.scenario(FOUR.replace("LIMIT", "2"))
    result = run()
    result.assert_outcomes(passed=2 + 2)
    assert project.outcomes() == {"a": "passed", "b": "passed"}
    assert project.results()["counts"]["samples"] == 2
    assert project.results()["complete"] is True


def test_the_option_replaces_the_limit_of_the_file(project: Project) -> None:
    """[A14, A22, G10] Three of four instead of two rows: a part of the data, gates undecided."""
    project.scenario(FOUR.replace("LIMIT", "2"))
    result = project.pytest("--rag-limit=3")
    result.assert_outcomes(passed=3, skipped=2)
    assert project.results()["scenario"]["overridden"] == ["dataset.limit"]


def test_minus_one_means_all(project: Project) -> None:
    """[A22] Also over a limit of the file."""
    project.scenario(FOUR.replace("LIMIT", "2"))
    project.pytest("--rag-limit", "-1")
    assert project.results()["counts"]["samples"] == 4


@pytest.mark.full
def test_zero_is_refused(project: Project) -> None:
    """[A22, E12] It would run nothing and be green."""
    project.scenario(FOUR.replace("LIMIT", "0"))
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.rageval.yaml:5: dataset.limit: 0 *"])


@pytest.mark.parametrize("text", ["three", "1.5", "--3", ""])
def test_what_is_no_number_is_wrong_use(project: Project, text: str) -> None:
    """[A22, E12] Exit status 4; nothing at all is what an unset variable of a script leaves."""
    project.scenario(FOUR.replace("LIMIT", "2"))
    result = project.pytest(f"--rag-limit={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = f"*--rag-limit {text}*whole number*" if text else "*--rag-limit: *found nothing*"
    result.stderr.fnmatch_lines([expected])
    assert "Traceback" not in result.stderr.str()
    assert project.wrote_nothing


@pytest.mark.parametrize("dataset", ["qa.jsonl", "{path: qa.jsonl}", "ROWS", "{rows: ROWS}"])
@pytest.mark.parametrize("option", ["--rag-limit=2", "--rag-set=dataset.limit=2"])
def test_every_form_of_a_data_set_can_be_cut(project: Project, dataset: str, option: str) -> None:
    """[A14, A22] A bare path and a bare list are short forms, which have a limit all the same."""
    rows = [{"id": name, "answer": "a", "references": ["a"]} for name in "abcd"]
    project.rows(rows)
    data = dataset.replace("ROWS", json.dumps(rows))
    project.scenario(f"name: qa\nmetrics: [em]\ndataset: {data}")
    project.pytest(option).assert_outcomes(passed=2)
    assert project.results()["scenario"]["overridden"] == ["dataset.limit"]
