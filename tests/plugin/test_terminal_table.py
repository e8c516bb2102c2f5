"""The table after the run: weighted means, intervals, weights, counts, gates, the folder."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, red

# em 1, 0; acc 1, 1. Documents weigh 3 and 1: em (3*1 + 1*0)/4 = 0.75, acc 1.
# Per sample with weights em 1, acc 0.25: (1 + 0.25)/1.25 = 1 and (0 + 0.25)/1.25 = 0.2;
# overall (3*1 + 1*0.2)/4 = 0.8.
WEIGHTED = """
    name: support-bot
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 0.25}
    doc_weights: {heavy.pdf: 3}
    gates: {weighted_score: 0.8, em: 0.9}
    dataset:
      - {id: a, doc_name: heavy.pdf, answer: Paris, references: [Paris]}
      - {id: b, doc_name: light.pdf, answer: in Paris, references: [Paris]}
"""


@pytest.mark.parametrize(
    ("args", "shown"), [(("-q",), True), (("-qq",), False), (("--no-summary",), False)]
)
def test_quiet_options_leave_the_table_out(
    project: Project, args: tuple[str, ...], shown: bool
) -> None:
    """[A11] ``-qq`` and ``--no-summary``; the files are written and the gate fails all the same."""
    project.scenario(WEIGHTED)
    result = red(project.pytest(*args))
    assert ("rageval: support-bot" in result.stdout.str()) is shown
    assert (project.folder("support-bot") / "results.json").is_file()
