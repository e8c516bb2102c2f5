"""What a failed gate shows in the terminal: the worst samples, the place, the page."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET

import pytest

from pytest_rageval.text.printable import cells
from tests.plugin.conftest import Project, Run, red

# em 0, 1, 0: mean 1/3 < 0.9. The gate is on line 5, the rows are on lines 7 to 9.
SCENARIO = """\
name: qa
metrics: [em]
thresholds: {em: 0.5}
gates:
  em: 0.9
dataset:
  - {id: wrong, question: "退款需要多少天才能到账？", answer: Rome, references: [Paris]}
  - {id: right, question: "What?", answer: Paris, references: [Paris]}
  - {id: half, question: "Where?", answer: in Paris, references: [Paris]}
"""


@pytest.mark.full
def test_a_failed_gate_shows_its_worst_samples(project: Project, run: Run) -> None:
    """[U2, P10] In JUnit XML, and in the terminal with -v; the quoted message is the verdict alone.

    Without -v the terminal has them once, where the table begins.
    """
    project.file("qa.rageval.yaml", SCENARIO)
    listed = [
        "em is below 0.9 in 2 of 3 samples; the lowest:",
        "  0.0000  wrong  退款需要多少天才能到账？",
        "  0.0000  half   Where?",
    ]
    run("-v").stdout.fnmatch_lines(["_* qa: gate em.mean *_", "0.3333 < 0.9000", "", *listed])
    result = run("--junitxml=junit.xml")
    result.stdout.fnmatch_lines(["_* qa: gate em.mean *_", "0.3333 < 0.9000", "=* rageval: qa *="])
    result.stdout.no_fnmatch_line(listed[0])
    result.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::gate:em.mean - Failed: 0.3333 < 0.9000"])
    root = ET.parse(project.path / "junit.xml").getroot()
    (failure,) = root.findall(".//testcase[@name='gate:em.mean']/failure")
    assert failure.get("message") == "Failed: 0.3333 < 0.9000"
    assert "wrong  退款" in str(failure.text)


def test_failures_are_placed_in_the_scenario(project: Project, run: Run) -> None:
    """[U2] With ``--tb=line``: the rows on lines 7 and 9, the gate on line 5; no line of ours."""
    project.file("qa.rageval.yaml", SCENARIO)
    lines = run("--tb=line").outlines
    path = project.path / "qa.rageval.yaml"
    found = {line for line in lines if ": Failed: " in line}
    assert found == {
        f"{path}:7: Failed: em 0.0000 < 0.5000",
        f"{path}:9: Failed: em 0.0000 < 0.5000",
        f"{path}:5: Failed: 0.3333 < 0.9000",
    }
    assert "pytest_rageval" not in "\n".join(lines)


def test_what_a_test_of_the_user_says_keeps_its_place(project: Project) -> None:
    """[U2] A test function over the scenario fails where it checks, on line 5."""
    project.file("qa.rageval.yaml", SCENARIO)
    project.file(
        "test_qa.py",
        "import pytest\n\n@pytest.mark.rag_scenario('qa.rageval.yaml')\n"
        "def test_qa(rag_sample, rageval):\n    rageval.check('Rome')\n",
    )
    lines = project.pytest("--tb=line", "test_qa.py::test_qa[wrong]").outlines
    assert f"{project.path / 'test_qa.py'}:5: Failed: em 0.0000 < 0.5000" in lines


@pytest.mark.full
def test_the_tables_fit_the_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """[U2] pytest's own width counts; the path of the run is one word and stays whole."""
    name = "一个很长的中文指标名称"
    project.file("qa.rageval.yaml", SCENARIO.replace("[em]", f"[em, {{acc: {{name: {name}}}}}]"))
    project.pytest("--rag-save-failed", "main")
    monkeypatch.setenv("COLUMNS", "60")
    lines = project.pytest("--rag-compare", "main").outlines
    start = next(at for at, line in enumerate(lines) if line.endswith("=") and "rageval: " in line)
    table = [line for line in lines[start + 1 :] if not line.startswith("run ")]
    assert [line for line in table if cells(line) > 60] == []
    assert any(line.startswith(name) for line in table)


@pytest.mark.full
def test_the_page_is_named_where_it_was_written_and_stays_within_reach(
    project: Project, run: Run
) -> None:
    """[U2] A run without a page names none; ``report.html`` beside ``latest`` leads to the newest.

    ``latest`` has none then.
    """
    project.file("qa.rageval.yaml", SCENARIO)
    lines = [one for one in run("--rag-report=html").outlines if one.startswith("page ")]
    newest = project.folder() / "report.html"
    assert {project.path / line.split()[1] for line in lines} == {newest}
    assert run().outlines[-2] == "next  the same command with --rag-report=html"
    base = project.path / ".rageval" / "qa"
    assert not (base / "latest" / "report.html").exists()
    assert (base / "report.html").read_bytes() == newest.read_bytes()
    assert os.path.realpath(base / "report.html") == str(newest.resolve())


def test_without_a_terminal_gates_fail_all_the_same(project: Project) -> None:
    """[U2] ``-p no:terminal``: there is no width to ask for."""
    project.file("qa.rageval.yaml", SCENARIO)
    assert project.pytest("-p", "no:terminal").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.full)])
def test_an_error_at_teardown_fails_the_run_in_all_outputs(
    project: Project, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """The run exits with 1 though every score is good; the rows of another scenario are its own."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "step.md"))
    rows = "dataset:\n  - {id: a, question: Where?, references: [Paris]}\n"
    for name in ("one", "two"):
        text = f"name: {name}\ntarget: fixture\nmetrics: [em]\ngates: {{em: 0.9}}\n{rows}"
        project.file(f"{name}.rageval.yaml", text)
    project.file(
        "conftest.py",
        "import pytest\n\n@pytest.fixture\ndef rag_target(request):\n"
        "    yield lambda question: 'Paris'\n"
        "    if 'one.' in request.node.nodeid:\n        raise RuntimeError('gone')\n",
    )
    result = red(project.pytest(*workers))
    lines = [line for line in result.outlines if "1 of 1 cases passed" in line]
    assert lines == [
        "FAILED: 1 of 3 gates failed; 1 of 1 cases passed",
        "passed: 2 gates passed; 1 of 1 cases passed",
    ]
    said = "1 case ended with an error at teardown: RuntimeError: gone"
    failed = ["teardown", "failed", said]
    saved = project.results("one")["gates"][-1]
    assert [saved["name"], saved["outcome"], saved["message"]] == failed
    assert [gate["outcome"] for gate in project.results("two")["gates"]] == ["passed"] * 2
    summary = project.folder("one") / "summary.md"
    for text in (summary.read_text("utf-8"), (project.path / "step.md").read_text("utf-8")):
        assert "**FAILED**: 1 of 3 gates failed; 1 of 1 cases passed" in text
        assert said in text
    (command,) = [line for line in result.outlines if line.startswith("::error")]
    assert command.endswith(f"::{said}")
    (row,) = [line for line in project.pytest("--rag-history").outlines if "1 of 3" in line]
    assert "FAILED" in row.split()
