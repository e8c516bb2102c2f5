"""E26: every run says how many of its questions are made by a model, wherever it is shown."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval import evaluate
from tests.plugin.conftest import Project, Run, green

SCENARIO = """
    name: qa
    metrics: [em]
    gates: {em: 0.5}
    dataset: qa.jsonl
"""
BOT = """
import pytest

@pytest.mark.rag_scenario("qa.rageval.yaml")
def test_bot(rag_sample, rageval):
    rageval.check(rag_sample.answer)
"""
SAID = "2 of 4 questions are made by a model, 0 of them reviewed by a person"
APART = "em is 1.0000 (*) over 2 made questions, 0.5000 (*) over 2 others"
MADE = {"count": 2, "reviewed": 0, "rejected": 0, "rows": 4}


def rows(project: Project, made: str = "mm..") -> None:
    """Write rows of which those with an m are made; the last is wrong."""
    found: list[dict[str, Any]] = [
        {"id": "abcd"[at], "answer": "x" if at < 3 else "y", "references": ["x"]} for at in range(4)
    ]
    by_model = {"made_by": "model"}
    project.rows([{**row, **(by_model if made[at] == "m" else {})} for at, row in enumerate(found)])


@pytest.fixture(autouse=True)
def _files(project: Project) -> None:
    rows(project)
    project.scenario(SCENARIO)


@pytest.mark.full
def test_terminal_files_and_summary_of_github_say_it(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no warning: the run is green, also where warnings are errors, and is saved."""
    step = project.path / "step.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))
    result = green(run("-W", "error", "--rag-report=html", "--rag-strict", "--rag-save=main"))
    result.stdout.fnmatch_lines([SAID, APART, "gate em.mean *", "baseline main saved: *"])
    assert project.results()["made"] == MADE
    assert SAID in (project.folder() / "summary.md").read_text("utf-8")
    assert SAID in step.read_text("utf-8")
    assert SAID in (project.folder() / "report.html").read_text("utf-8")
    project.pytest("--rag-history").stdout.fnmatch_lines([f"*{SAID}"])


@pytest.mark.full
def test_it_is_yellow(run: Run) -> None:
    run("--color=yes").stdout.fnmatch_lines([f"*[[]33m{SAID}*"])


def test_a_run_of_real_questions_says_nothing(project: Project, run: Run) -> None:
    rows(project, "....")
    run().stdout.no_fnmatch_line("*made*")
    assert "made" not in project.results()


@pytest.mark.full
def test_all_of_the_data_are_counted_whichever_rows_run(project: Project, run: Run) -> None:
    """Rows left out have no score; those beyond a limit are none of the data."""
    run("--rag-where=made_by=model").stdout.fnmatch_lines(
        [SAID, "em is 1.0000 (*) over 2 made questions, - over 0 others", "partial run: 2 of 4 *"]
    )
    run("--rag-limit=1").stdout.fnmatch_lines(["1 made question, 0 reviewed by a person; *"])


@pytest.mark.full
def test_each_variant_says_it_and_so_does_what_compares_them(project: Project, run: Run) -> None:
    project.scenario(SCENARIO + "    variants: {one: {}, two: {top_k: 3}}\n")
    lines = run().outlines
    assert lines.count(SAID) == 3
    assert project.results("qa/one")["made"] == MADE


def test_evaluate_counts_alike(project: Project) -> None:
    made = evaluate(project.path / "qa.rageval.yaml").info.made
    assert made is not None
    assert {name: getattr(made, name) for name in MADE} == MADE


@pytest.mark.full
def test_a_test_function_says_it(project: Project, run: Run) -> None:
    project.file("test_bot.py", BOT)
    run("test_bot.py").stdout.fnmatch_lines([SAID, APART])
