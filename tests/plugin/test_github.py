"""E15: the step summary and the annotations on GitHub Actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plugin.conftest import Project, Run, red

pytestmark = pytest.mark.full

# em 1, 0, 0: the mean 0.3333 < 0.5 fails. The gate em is on line 5, the rows are on lines 8 to 10.
SCENARIO = """\
name: qa
metrics: [em, f1]
thresholds: {em: 0.5}
gates:
  em: 0.5
  weighted_score: {mean: 0.1, lower_bound: 0.0}
dataset:
  - {id: right, question: "What, where?", answer: Paris, references: [Paris]}
  - {id: wrong, question: "100% sure:\\nno", answer: Rome, references: [Paris]}
  - {id: half, answer: in Paris, references: [Paris]}
"""
COMMAND = re.compile(r"^::(error|warning) file=(.*?),line=(\d+),title=(.*?)::(.*)$")


@pytest.fixture
def workflow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this a step of a workflow; return the file of its summary."""
    summary = project.path / "step-summary.md"
    summary.touch()
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path))
    return summary


def commands(result: pytest.RunResult) -> list[tuple[str, ...]]:
    """Return the workflow commands that a run printed, as the runner would read them."""
    found = [line for line in result.outlines if line.lstrip().startswith("::") or "##[" in line]
    matches = [COMMAND.match(line) for line in found]
    assert all(matches), found
    return [match.groups() for match in matches if match is not None]


def test_a_workflow_is_told_what_failed(
    project: Project, run: Run, workflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step summary is summary.md, once; annotations are on the lines of what failed.

    The case with the lower score comes first (f1 0 against 2/3). The commit is on record.
    """
    monkeypatch.setenv("GITHUB_SHA", "c0ffee0")
    project.scenario(SCENARIO)
    assert commands(run("-qq")) == [
        ("error", "qa.rageval.yaml", "5", "qa%3A gate em.mean", "0.3333 < 0.5000"),
        (
            "warning",
            "qa.rageval.yaml",
            "9",
            "qa%3A wrong",
            "em 0.0000 < 0.5000%0Aquestion: 100%25 sure:%0Ano",
        ),
        ("warning", "qa.rageval.yaml", "10", "qa%3A half", "em 0.0000 < 0.5000"),
    ]
    summary = (project.folder() / "summary.md").read_text("utf-8")
    assert workflow.read_text("utf-8") == f"\n{summary}"
    assert "**FAILED**: 1 of 4 gates failed; 1 of 3 cases passed, 2 failed" in summary
    assert '"commit": "c0ffee0"' in (project.folder() / "metadata.json").read_text("utf-8")


def test_it_can_be_switched_off(project: Project, workflow: Path) -> None:
    """For who annotates by another tool."""
    project.scenario(SCENARIO)
    result = red(project.pytest("-o", "rageval_github=false"))
    assert workflow.read_text("utf-8") == ""
    assert commands(result) == []


EVIL = "fine\n::add-mask::a\n  ::error::b\n##[command]c ##[error]d\r::stop-commands::e"
# As it is wrapped, at a blank or inside a word, one of many is the first of its line.
EVIL += "\n" + " ::error::f" * 20 + " 退款::error::g" * 20 + " " + "::error::h" * 40


def test_no_text_of_the_data_starts_a_command(
    project: Project, run: Run, workflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In questions, answers, ids, reasons and errors, however much pytest prints."""
    project.with_broken_metrics(
        """
    class Evil(Metric):
        def score(self, sample, context):
            return Score(self.name, 0.0, reason=sample.answer)

    class Broken(Metric):
        def score(self, sample, context):
            raise RuntimeError(sample.answer)

    if METRIC_REGISTRY.canonical("evil") is None:
        METRIC_REGISTRY.add(MetricDefinition(MetricInfo("evil", frozenset()), Evil))
        METRIC_REGISTRY.add(MetricDefinition(MetricInfo("broken", frozenset()), Broken))
"""
    )
    fields = {"question": EVIL, "answer": EVIL, "contexts": [EVIL], "references": [EVIL]}
    project.rows(
        [
            {"id": EVIL, **fields},
            {"id": f"::{EVIL}", **fields, "doc_name": EVIL},
            {"id": "skipped", **fields, "skip": EVIL},
            {"id": "expected", **fields, "xfail": EVIL},
            {"id": EVIL * 2, "answer": {"no": EVIL}},
        ]
    )
    project.scenario(
        r"""
        name: "::error::name"
        metrics: [evil, broken, {em: {name: "::debug::m"}}]
        thresholds: {evil: 0.5}
        gates: {evil: 0.5, by: {doc_name: {evil: 0.5}}}
        dataset: qa.jsonl
        """
    )
    result = run("-vv", "-rA", "--tb=long")
    assert len(commands(result)) >= 4
    for line in result.outlines + result.errlines:
        assert not line.lstrip().startswith("::") or COMMAND.match(line), line
        assert "##[" not in line, line
