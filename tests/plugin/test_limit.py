"""``limit`` and ``--rag-limit`` cut the data, and the cut is what the run is complete of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

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
