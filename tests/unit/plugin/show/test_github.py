"""E15: the step summary and the annotations on GitHub Actions, from results alone."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from decided_result import decided
from fake_config import config_of

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.model import (
    Bound,
    Contest,
    GateResult,
    RankedVariant,
    Ranking,
    RunInfo,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.plugin.show.github import (
    ANNOTATIONS,
    SUMMARY_BYTES,
    annotation_lines,
    append_summary,
)
from pytest_rageval.plugin.show.pytest_reports import Publisher, is_workflow
from pytest_rageval.reports.summary_md import summary_text

WORKFLOW = {"GITHUB_ACTIONS": "true"}
RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


def made(name: str = "qa", **changed: Any) -> ScenarioResult:
    """Return the result of one sample with em 1."""
    result = decided({"em": [1.0]}, {}, questions=["什么？" * 20])
    return replace(result, info=replace(result.info, name=name), **changed)


def with_gate(gate: str, message: str, name: str = "qa") -> ScenarioResult:
    """Return a result with one gate, which failed."""
    return made(name, gates=[GateResult(gate, "failed", 0.1, 0.2, message)])


def cases(*samples: SampleResult) -> ScenarioResult:
    """Return a result with these samples; em is to be 0.5 at least."""
    result = made(samples=samples)
    return replace(result, info=replace(result.info, thresholds={"em": Bound(min=0.5)}))


@pytest.mark.parametrize(
    ("environ", "ini", "asked"),
    [
        ({}, True, False),
        ({"GITHUB_ACTIONS": "false"}, True, False),
        (WORKFLOW, True, True),
        # Services that are compatible with GitHub set the one and not the other.
        ({"GITHUB_STEP_SUMMARY": "s.md"}, True, True),
        # For who annotates by another tool.
        ({**WORKFLOW, "GITHUB_STEP_SUMMARY": "s.md"}, False, False),
    ],
)
def test_github_is_told_where_it_listens(
    tmp_path: Path, environ: dict[str, str], ini: bool, asked: bool
) -> None:
    assert is_workflow(config_of(tmp_path, ini={"rageval_github": ini}), environ) is asked


def test_whoever_switches_it_off_gets_no_annotation_of_variants_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = with_gate("best", "b beats a")
    contest = VariantComparison(
        result.info, Contest(("a", "b"), "em"), (result,), gate=result.gates[0]
    )
    for is_on, written in ((True, 1), (False, 0)):
        publisher = Publisher(config_of(tmp_path, ini={"rageval_github": is_on}))
        publisher.add(made(), RUN, "not written")
        publisher.write_summary([contest])
        lines: list[str] = []
        terminal: Any = SimpleNamespace(ensure_newline=lambda: None, write_line=lines.append)
        publisher.print_annotations(terminal, is_quiet=True)
        assert len(lines) == written


# The step summary


def test_what_is_in_the_file_already_stays(tmp_path: Path) -> None:
    """Other steps and tools append to the same file; a blank line parts us from them."""
    path = tmp_path / "summary.md"
    environ = {"GITHUB_STEP_SUMMARY": str(path)}
    assert append_summary([(made(), RUN)], environ) is None
    whole = f"\n{summary_text(made(), RUN)}"
    assert path.read_text("utf-8") == whole
    path.write_bytes("# 之前的".encode())
    assert append_summary([(made(), RUN), (made("双源CT"), RUN)], environ) is None
    assert path.read_text("utf-8") == f"# 之前的{whole}{whole.replace('# qa', '# 双源CT')}"


@pytest.mark.parametrize("kind", ["folder", "no folder", "pipe"])
def test_a_file_that_cannot_be_written_is_a_remark(tmp_path: Path, kind: str) -> None:
    """A pipe that nobody reads does not block."""
    path = tmp_path / "summary"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes with names here")
        os.mkfifo(path)
    else:
        path = path / "deeper" / "file"
    said = append_summary([(made(), RUN)], {"GITHUB_STEP_SUMMARY": str(path)})
    assert said is not None
    assert said.startswith("GITHUB_STEP_SUMMARY: not written: ")


def test_what_is_too_large_is_cut_to_the_verdict_and_then_left_out(tmp_path: Path) -> None:
    """GitHub shows nothing of a summary above 1 MiB, so that none may go beyond."""
    path = tmp_path / "summary.md"
    whole = len(f"\n{summary_text(made(), RUN)}".encode())
    said = b"**not judged**: no gates and no thresholds; 1 of 1 cases passed"
    short = len(b"\n# qa\n\n" + said + b"\n")
    assert whole > 2 * short
    path.write_bytes(b"x" * (SUMMARY_BYTES - whole - short))
    runs = [(made(), RUN)] * 3
    problem = append_summary(runs, {"GITHUB_STEP_SUMMARY": str(path)})
    assert problem is not None
    assert "no room for 1 of 3 summaries" in problem
    assert path.stat().st_size == SUMMARY_BYTES
    text = path.read_text("utf-8").lstrip("x")
    assert text.count("# qa\n\n**not judged**") == 2
    assert text.count("## Metric Means") == 1
    assert append_summary(runs, {"GITHUB_STEP_SUMMARY": str(path)}) is not None
    assert path.stat().st_size == SUMMARY_BYTES


@pytest.mark.parametrize(("best", "left", "left_out"), [(True, 2, 0), (False, 1, 1)])
def test_a_comparison_of_variants_is_cut_to_its_gate(
    tmp_path: Path, best: bool, left: int, left_out: int
) -> None:
    """Nothing is left of one without a gate; it counts beside the summaries of its variants."""
    path = tmp_path / "summary.md"
    result = with_gate("best", "b beats a")
    gate = result.gates[0] if best else None
    ranking = Ranking("qa", "em", 0.05, [RankedVariant(name, 0.5, 0, 1, 9) for name in "ab"])
    contest = VariantComparison(result.info, Contest(("a", "b"), "em"), (), ranking, gate)
    short = b"\n# qa\n\ngate best failed: b beats a\n"
    verdict = b"\n# qa\n\n**not judged**: no gates and no thresholds; 1 of 1 cases passed\n"
    path.write_bytes(b"x" * (SUMMARY_BYTES - len(short) - len(verdict)))
    said = append_summary([(made(), RUN)], {"GITHUB_STEP_SUMMARY": str(path)}, [contest])
    text = path.read_text("utf-8").lstrip("x")
    assert text == f"{short.decode() if best else ''}{verdict.decode()}"
    assert text.count("# qa") == left
    assert (said or "").count(f"no room for {left_out} of 2 summaries") == left_out


def test_text_that_utf_8_cannot_hold_is_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert append_summary([(made("odd \ud800"), RUN)], {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert path.read_text("utf-8").startswith("\n# odd \\\\ud800\n")


# Annotations


@pytest.mark.parametrize("environ", [{}, {"GITHUB_STEP_SUMMARY": "s.md"}])
def test_outside_of_a_workflow_nothing_is_annotated(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    assert annotation_lines([with_gate("em.mean", "m")], tmp_path, environ) == []


def test_what_could_not_be_judged_comes_first_then_the_lowest(tmp_path: Path) -> None:
    """Each with its reasons; passed cases, and reasons of scores that are there, are left out."""
    found = cases(
        SampleResult("right", 0, weighted_score=1.0, scores={"em": 1.0}),
        SampleResult("low", 1, "failed", weighted_score=0.4, scores={"em": 0.4}, question="A?"),
        SampleResult("wrong", 2, "failed", weighted_score=0.0, scores={"em": 0.0}),
        SampleResult("broken", 3, "error", scores={"em": None}, errors={"em": "E: away"}),
        SampleResult("bare", 4, "error", scores={"em": None}, reasons={"em": "no references"}),
    )
    lines = annotation_lines([found], tmp_path, WORKFLOW)
    start = "::warning file=qa.rageval.yaml,line=1,title=qa%3A "
    assert lines == [
        f"{start}broken::em: E: away",
        f"{start}bare::em: no references",
        f"{start}wrong::em 0.0000 < 0.5000",
        f"{start}low::em 0.4000 < 0.5000%0Aquestion: A?",
    ]


def test_ten_of_each_kind_are_all_that_github_shows(tmp_path: Path) -> None:
    """Twelve gates and fifteen cases fail; the ten worst cases are those with the lowest scores."""
    samples = [
        SampleResult(f"q{at}", at, "failed", weighted_score=at / 50, scores={"em": at / 50})
        for at in range(14, -1, -1)
    ]
    gates = [GateResult(f"g{at}", "failed", 0.1, 0.2, "m") for at in range(12)]
    found = annotation_lines([replace(cases(*samples), gates=gates)], tmp_path, WORKFLOW)
    assert ANNOTATIONS == 10
    assert [line.partition(" ")[0] for line in found] == ["::error"] * 10 + ["::warning"] * 10
    assert [line.split("qa%3A ")[1].partition("::")[0] for line in found[10:]] == [
        f"q{at}" for at in range(10)
    ]


def test_the_worst_of_all_scenarios_are_annotated(tmp_path: Path) -> None:
    """Not the first ten of the first scenario."""
    better, worse = (
        made(
            name,
            samples=[
                SampleResult(f"q{at}", at, "failed", weighted_score=score, scores={"em": score})
                for at in range(count)
            ],
        )
        for name, score, count in (("aa", 0.5, 12), ("bb", 0.0, 8))
    )
    found = annotation_lines([better, worse], tmp_path, WORKFLOW)
    titles = [line.partition("title=")[2].partition("%3A")[0] for line in found]
    assert titles == ["bb"] * 8 + ["aa"] * 2


def test_files_are_named_from_the_workspace(tmp_path: Path) -> None:
    """Which is where the repository is, whatever pytest's rootdir; the file may be gone."""
    failed = [with_gate("em.mean", "0.1000 < 0.2000")]
    place = "{},line=1,title=qa%3A gate em.mean::0.1000 < 0.2000"
    for workspace, file in (
        (tmp_path, "evals/qa.rageval.yaml"),
        (tmp_path / "evals", "qa.rageval.yaml"),
        (tmp_path / "else", f"{tmp_path.as_posix()}/evals/qa.rageval.yaml"),
    ):
        environ = {**WORKFLOW, "GITHUB_WORKSPACE": str(workspace)}
        (line,) = annotation_lines(failed, tmp_path / "evals", environ)
        assert line == f"::error file={place.format(file)}"


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
    (tmp_path / "qa.rageval.yaml").write_text(
        "name: qa\ngates:\n  em: 0.5\n  f1: {mean: 1}\n  f1.v2:\n    lower_bound: 0.5\n"
        "  pass_rate: 0.5\n  by:\n    doc_name:\n      em: 0.5\n",
        "utf-8",
    )
    (found,) = annotation_lines([with_gate(gate, "m")], tmp_path, WORKFLOW)
    assert f",line={line}," in found


def test_properties_and_messages_are_escaped(tmp_path: Path) -> None:
    """As the toolkit of GitHub does it: % first, then line ends, and : and , in properties.

    What no terminal should get is spelled out.
    """
    failed = with_gate("g,1::x", "50%\r\nfell, x::y \x1b[31m\ud800", "a:b\n")
    (line,) = annotation_lines([failed], tmp_path, WORKFLOW)
    assert line.endswith(
        "title=a%3Ab%0A%3A gate g%2C1%3A%3Ax::50%25\\r%0Afell, x::y \\x1b[31m\\ud800"
    )
    assert "\n" not in line


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    (line,) = annotation_lines([with_gate("g", "m" * 100_000)], tmp_path, WORKFLOW)
    assert len(line) < 1000


def test_a_run_that_told_nothing_loads_no_yaml_for_it(tmp_path: Path) -> None:
    """Lines are looked for only where something failed."""
    module = "pytest_rageval.scenario.yaml.tree"
    kept = sys.modules.pop(module, None)
    try:
        assert annotation_lines([made()], tmp_path, WORKFLOW) == []
        assert module not in sys.modules
    finally:
        if kept is not None:
            sys.modules[module] = kept
