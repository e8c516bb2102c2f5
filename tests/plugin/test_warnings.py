"""What is allowed and probably not meant is a warning, once, and an error where users want that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# f1 has no weight, and no row is of b.pdf.
WARNS = """
    name: qa
    metrics: [em, f1]
    metric_weights: {em: 0.5}
    doc_weights: {b.pdf: 2}
    dataset: [{id: a, doc_name: a.pdf, answer: Paris, references: [Paris]}]
"""


def test_warnings_are_in_pytests_summary(project: Project, run: Run) -> None:
    """[A3, A4] Two, with the scenario's name; the run stays green."""
    project.scenario(WARNS)
    result = run("-W", "default")
    # Each of two workers collects the scenario.
    result.assert_outcomes(passed=1, warnings=4 if run.distributed else 2)
    result.stdout.fnmatch_lines(["*qa.rageval.yaml*metric_weights*f1*"])
    result.stdout.fnmatch_lines(["*qa.rageval.yaml*doc_weights*b.pdf*"])
    assert result.ret == pytest.ExitCode.OK


def test_warnings_are_on_record(project: Project) -> None:
    """[A12] In metadata.json."""
    project.scenario(WARNS)
    project.pytest("-W", "ignore")
    text = (project.folder() / "metadata.json").read_text("utf-8")
    assert "b.pdf" in text
    assert "f1" in text


def test_a_warning_can_be_an_error(project: Project) -> None:
    """[E12] With ``filterwarnings = error``: a collection error, without a traceback."""
    project.pytester.makeini("[pytest]\nfilterwarnings = error")
    project.scenario(WARNS)
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.rageval.yaml*metric_weights*f1*"])
    assert "INTERNALERROR" not in result.stdout.str()
    assert "collect.py:" not in result.stdout.str()
    assert "warn_explicit" not in result.stdout.str()
    assert project.wrote_nothing


def test_a_scenario_that_is_meant_as_it_is_does_not_warn(project: Project) -> None:
    """[A5] Without weights there is nothing to warn of, errors or not."""
    project.pytester.makeini("[pytest]\nfilterwarnings = error")
    project.scenario(WARNS.replace("metric_weights: {em: 0.5}", "").replace("doc_weights", "x-d"))
    project.pytest().assert_outcomes(passed=1)
