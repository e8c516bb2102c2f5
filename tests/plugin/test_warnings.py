"""What is allowed and probably not meant is a warning, once, and an error where users want that."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, green

# f1 has no weight, and no row is of b.pdf.
WARNS = """
    name: qa
    metrics: [em, f1]
    metric_weights: {em: 0.5}
    doc_weights: {b.pdf: 2}
    dataset: [{id: a, doc_name: a.pdf, answer: Paris, references: [Paris]}]
"""


@pytest.mark.parametrize(
    "args", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)], ids=["plain", "xdist"]
)
def test_warnings_are_in_pytests_summary_and_on_record(
    project: Project, args: tuple[str, ...]
) -> None:
    """[A3, A4, A12, U6] Two, with the scenario's name, also with two workers; the run is green."""
    project.scenario(WARNS)
    result = green(project.pytest("-W", "default", *args))
    result.assert_outcomes(passed=1, warnings=2)
    result.stdout.fnmatch_lines(["*qa.rageval.yaml*metric_weights*f1*"])
    result.stdout.fnmatch_lines(["*qa.rageval.yaml*doc_weights*b.pdf*"])
    text = (project.folder() / "metadata.json").read_text("utf-8")
    assert "b.pdf" in text
    assert "f1" in text
