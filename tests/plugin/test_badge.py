"""E15: --rag-report badge, with and without workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# em 1 and 0: 0.5, which is bad by default.
SCENARIO = """
    name: 双源CT
    metrics: [em]
    dataset:
      - {id: a, answer: 巴黎, references: [巴黎]}
      - {id: b, answer: 罗马, references: [巴黎]}
"""


@pytest.mark.parametrize("name", ["badge", "badge.svg"])
def test_the_badge_is_written_on_request(project: Project, run: Run, name: str) -> None:
    project.scenario(SCENARIO)
    run(f"--rag-report={name}")
    text = (project.folder("双源CT") / "badge.svg").read_text("utf-8")
    assert 'aria-label="双源CT: weighted score 0.5000 (bad)"' in text


def test_the_badge_of_a_partial_run_says_so(project: Project, run: Run) -> None:
    project.scenario(SCENARIO)
    run("--rag-report=badge", "qa.rageval.yaml::a")
    text = (project.folder("双源CT") / "badge.svg").read_text("utf-8")
    assert 'aria-label="双源CT: weighted score 1.0000, 1 of 2 (good)"' in text


def test_it_is_not_there_unasked(project: Project) -> None:
    project.scenario(SCENARIO)
    project.pytest()
    assert not (project.folder("双源CT") / "badge.svg").exists()
