"""E15: the step summary and the annotations on GitHub Actions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.model import (
    Counts,
    GateResult,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.plugin.github import (
    ANNOTATIONS,
    SUMMARY_BYTES,
    annotation_lines,
    append_summary,
)
from pytest_rageval.plugin.names import printable
from pytest_rageval.reports.run_info import ci_commit
from pytest_rageval.reports.summary_md import summary_text

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

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

Workflow = Callable[..., Path]


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


# The step summary


def test_the_step_summary_is_what_summary_md_has(
    project: Project, run: Run, workflow: Path
) -> None:
    """Means, gates and the worst samples, from one source; with workers it is there once."""
    project.scenario(SCENARIO)
    run()
    summary = (project.folder() / "summary.md").read_text("utf-8")
    assert workflow.read_text("utf-8") == f"\n{summary}"
    assert "## Metric Means (weighted)" in summary
    assert "**FAILED**: 1 of 4 gates failed; 1 of 3 cases passed, 2 failed" in summary


def test_what_stands_there_already_stays(project: Project, workflow: Path) -> None:
    """Other steps and tools append to the same file; a blank line parts us from them."""
    workflow.write_bytes("# 之前的".encode())
    project.scenario(SCENARIO)
    project.scenario(SCENARIO.replace("name: qa", "name: 双源CT"), "other")
    project.pytest()
    text = workflow.read_text("utf-8")
    assert text.startswith("# 之前的\n# ")
    assert text.index("\n# 双源CT\n") > 0
    assert text.index("\n# qa\n") > 0


def test_a_summary_file_alone_is_enough(
    project: Project, workflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services that are compatible with GitHub set the one and not the other."""
    monkeypatch.delenv("GITHUB_ACTIONS")
    project.scenario(SCENARIO)
    result = project.pytest()
    assert "# qa" in workflow.read_text("utf-8")
    assert commands(result) == []


def test_outside_of_a_workflow_nothing_is_told(project: Project, plain: Run) -> None:
    project.scenario(SCENARIO)
    result = plain()
    assert commands(result) == []
    assert "GITHUB" not in result.stdout.str()


def test_it_can_be_switched_off(project: Project, plain: Run, workflow: Path) -> None:
    """For who annotates by another tool."""
    project.scenario(SCENARIO)
    result = plain("-o", "rageval_github=false")
    assert workflow.read_text("utf-8") == ""
    assert commands(result) == []
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("kind", ["folder", "no folder", "pipe"])
def test_a_file_that_cannot_be_written_is_a_remark(
    project: Project, workflow: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """And changes neither the outcome nor the files; a pipe that nobody reads does not block."""
    workflow.unlink()
    if kind == "folder":
        workflow.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes with names here")
        os.mkfifo(workflow)
    else:
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(workflow / "deeper" / "file"))
    project.scenario(SCENARIO.replace("thresholds: {em: 0.5}", "").replace("em: 0.5", "em: 0.1"))
    result = project.pytest()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["GITHUB_STEP_SUMMARY: not written: *"])
    assert (project.folder() / "results.json").exists()


def test_a_file_that_is_not_there_yet_is_made(project: Project, workflow: Path) -> None:
    workflow.unlink()
    project.scenario(SCENARIO)
    project.pytest()
    assert "# qa" in workflow.read_text("utf-8")


RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


def made(name: str = "qa", **changed: Any) -> ScenarioResult:
    """Return the result of one sample, as an engine would make it."""
    column = MetricColumn("em")
    info = ScenarioInfo(name, "qa.yaml", "qa.yaml", (column,), total=1, selected=1)
    sample = SampleResult("a", 0, weighted_score=1.0, question="什么？" * 20, scores={"em": 1.0})
    overall = WeightedSummary(1.0, 1, 0, None, None)
    counts = Counts(samples=1, ran=1, scored=1, passed=1)
    return replace(ScenarioResult(info, counts, True, {}, overall, [sample]), **changed)


def test_what_is_too_large_is_cut_to_the_verdict_and_then_left_out(tmp_path: Path) -> None:
    """GitHub shows nothing of a summary above 1 MiB, so that none may go beyond."""
    path = tmp_path / "summary.md"
    whole = len(f"\n{summary_text(made(), RUN)}".encode())
    short = len(b"\n# qa\n\n**passed**: no gates; 1 of 1 cases passed\n")
    assert whole > 2 * short
    path.write_bytes(b"x" * (SUMMARY_BYTES - whole - short))
    runs = [(made(), RUN)] * 3
    problem = append_summary(runs, {"GITHUB_STEP_SUMMARY": str(path)})
    assert problem is not None
    assert "no room for 1 of 3 scenarios" in problem
    assert path.stat().st_size == SUMMARY_BYTES
    text = path.read_text("utf-8").lstrip("x")
    assert text.count("# qa\n\n**passed**") == 2
    assert text.count("## Metric Means") == 1
    assert append_summary(runs, {"GITHUB_STEP_SUMMARY": str(path)}) is not None
    assert path.stat().st_size == SUMMARY_BYTES


def test_text_that_utf_8_cannot_hold_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert append_summary([(made("odd \ud800"), RUN)], {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert path.read_text("utf-8").startswith("\n# odd \\ud800\n")


# Annotations


def test_failed_gates_are_errors_and_failed_cases_warnings(
    project: Project, run: Run, workflow: Path
) -> None:
    """On the lines that they come from; the case with the lower score first (f1 0 against 2/3)."""
    project.scenario(SCENARIO)
    assert commands(run()) == [
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


def test_a_case_that_could_not_be_judged_comes_first(
    project: Project, run: Run, workflow: Path
) -> None:
    project.with_broken_metrics()
    project.scenario(
        """
        name: qa
        metrics: [em, raises]
        thresholds: {raises: 0.5, em: 0.5}
        dataset:
          - {id: wrong, answer: Rome, references: [Paris]}
          - {id: broken, answer: raise, references: [raise]}
        """
    )
    first, second = commands(run())[-2:]
    assert first[3] == "qa%3A broken"
    assert "RuntimeError: the judge is away" in first[4]
    assert second[3] == "qa%3A wrong"


def test_a_case_without_what_a_metric_needs_says_so(
    project: Project, run: Run, workflow: Path
) -> None:
    """A metric's reason to give no score is no error of its own; the case is an ERROR with it."""
    project.scenario(
        """
        name: qa
        metrics: [f1, recall]
        thresholds: {f1: 0.5}
        dataset:
          - {id: right, answer: Paris, references: [Paris]}
          - {id: bare, question: "How?", answer: Paris, retrieved_ids: [d], reference_ids: [d]}
        """
    )
    (*_, (_, _, _, title, message)) = commands(run())
    assert title == "qa%3A bare"
    assert message == "f1: the row has no references%0Aquestion: How?"


def test_files_are_named_from_the_workspace(
    project: Project, workflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is where the repository is, whatever pytest's rootdir."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(project.path.parent))
    project.scenario(SCENARIO)
    ((_, file, *_), *_) = commands(project.pytest())
    assert file == f"{project.path.name}/qa.rageval.yaml"


def test_ten_of_each_kind_are_all_that_github_shows(project: Project, workflow: Path) -> None:
    """Twelve gates and fifteen cases fail; the ten worst cases are those with the lowest scores."""
    rows = [
        {"id": f"q{at}", "answer": " ".join(["x"] * at + ["Paris"]), "references": ["Paris"]}
        for at in range(15, 0, -1)
    ]
    project.rows(rows)
    gates = "".join(f"    0.{at:02}: 0.999\n" for at in range(1, 13))
    project.scenario(
        "name: qa\nmetrics: [f1]\nthresholds: {f1: 0.99}\ndataset: qa.jsonl\n"
        f"gates:\n  f1:\n   quantile:\n{gates}"
    )
    found = commands(project.pytest())
    errors = [line for line in found if line[0] == "error"]
    warnings = [line for line in found if line[0] == "warning"]
    assert len(errors) == len(warnings) == ANNOTATIONS == 10
    assert [title for _, _, _, title, _ in warnings] == [f"qa%3A q{at}" for at in range(15, 5, -1)]


def test_they_are_printed_without_a_summary_too(project: Project, workflow: Path) -> None:
    """``-qq`` is for the reader of the log; the annotations are for a program."""
    project.scenario(SCENARIO)
    assert len(commands(project.pytest("-qq"))) == 3


def test_a_scenario_file_that_is_gone_is_annotated_on_its_first_line(tmp_path: Path) -> None:
    failed = made(gates=[GateResult("em.mean", "failed", 0.1, 0.2, "0.1000 < 0.2000")])
    (line,) = annotation_lines([failed], tmp_path, {"GITHUB_ACTIONS": "true"})
    assert line == "::error file=qa.yaml,line=1,title=qa%3A gate em.mean::0.1000 < 0.2000"


@pytest.mark.parametrize(
    ("gate", "line"),
    [
        ("em.mean", 3),
        ("f1.v2.mean", 5),
        ("f1.v2.lower_bound", 6),
        ("f1.quantile.0.1", 4),
        ("pass_rate", 7),
        ("by.doc_name.em.mean", 10),
        ("by.level.em.mean", 8),
        ("unscored", 2),
    ],
)
def test_a_gate_is_found_in_the_file(tmp_path: Path, gate: str, line: int) -> None:
    """Or the nearest key that holds it; names of metrics may have dots."""
    (tmp_path / "qa.yaml").write_text(
        "name: qa\ngates:\n  em: 0.5\n  f1: {mean: 1}\n  f1.v2:\n    lower_bound: 0.5\n"
        "  pass_rate: 0.5\n  by:\n    doc_name:\n      em: 0.5\n",
        "utf-8",
    )
    failed = made(gates=[GateResult(gate, "failed", 0.1, 0.2, "m")])
    (found,) = annotation_lines([failed], tmp_path, {"GITHUB_ACTIONS": "true"})
    assert f",line={line}," in found


def test_properties_and_messages_are_escaped(tmp_path: Path) -> None:
    """As the toolkit of GitHub does it: % first, then line ends, and : and , in properties.

    What no terminal should get is spelled out.
    """
    gate = GateResult("g,1::x", "failed", 0.1, 0.2, "50%\r\nfell, x::y \x1b[31m\ud800")
    (line,) = annotation_lines([made("a:b\n", gates=[gate])], tmp_path, {"GITHUB_ACTIONS": "true"})
    assert line.endswith(
        "title=a%3Ab%0A%3A gate g%2C1%3A%3Ax::50%25\\r%0Afell, x::y \\x1b[31m\\ud800"
    )
    assert "\n" not in line


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    gate = GateResult("g", "failed", 0.1, 0.2, "m" * 100_000)
    (line,) = annotation_lines([made(gates=[gate])], tmp_path, {"GITHUB_ACTIONS": "true"})
    assert len(line) < 1000


# Nothing of the data is a command

EVIL = "fine\n::add-mask::a\n  ::error::b\n##[command]c ##[error]d\r::stop-commands::e"


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        ("a\n \t::error::x", "a\n \t\\x3a:error::x"),
        ("a ::error::x", "a ::error::x"),
        ("::::", r"\x3a:::"),
        ("a ##[error]x", r"a \x23#[error]x"),
        ("###[x", r"#\x23#[x"),
        ("std::vector # [1]", "std::vector # [1]"),
        ("\r::x", r"\r::x"),
        ("\u3000::x", "\u3000\\x3a:x"),
    ],
)
def test_what_the_runner_takes_for_a_command_is_spelled_out(text: str, shown: str) -> None:
    """It trims white space before ``::``, and looks for ``##[`` in the whole line."""
    assert printable(text) == shown


# The commit


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"GITHUB_SHA": "C0FFEE" + "0" * 34}, "c0ffee" + "0" * 34),
        ({"CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "", "CI_COMMIT_SHA": "1234567"}, "1234567"),
        ({"GITHUB_SHA": "main; rm -rf"}, None),
        ({"GIT_COMMIT": "1234567"}, None),
    ],
)
def test_the_commit_is_what_the_service_names(
    environ: dict[str, str], expected: str | None
) -> None:
    assert ci_commit(environ) == expected


def test_the_commit_stands_in_metadata_json(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SHA", "c0ffee0")
    project.scenario(SCENARIO)
    run()
    assert '"commit": "c0ffee0"' in (project.folder() / "metadata.json").read_text("utf-8")


def test_a_run_that_told_nothing_loads_no_yaml_for_it(tmp_path: Path) -> None:
    """Lines are looked for only where something failed."""
    module = "pytest_rageval.scenario.yaml_tree"
    kept = sys.modules.pop(module, None)
    try:
        assert annotation_lines([made()], tmp_path, {"GITHUB_ACTIONS": "true"}) == []
        assert module not in sys.modules
    finally:
        if kept is not None:
            sys.modules[module] = kept
