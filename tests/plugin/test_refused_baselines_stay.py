"""V1: a saved run that exists and cannot be compared with is never replaced by ``--rag-save``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Project, Run, green, red

pytestmark = pytest.mark.full

SCENARIO = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
"""
GATED = f"""{SCENARIO}
    compare: main
    gates: {{no_regression: {{metrics: [em]}}}}
"""
MAIN = ".rageval/qa/baselines/main.json"


def rows(wrong: int = 0, question: str = "Capital?", more: int = 0) -> list[dict[str, Any]]:
    """Return 30 rows; the first ``wrong`` are wrong, and the last one has the ``question``."""
    found = [
        {
            "id": f"s{at}",
            "question": "Capital?",
            "answer": "Rome" if at < wrong else "Paris",
            "references": ["Paris"],
        }
        for at in range(30 + more)
    ]
    found[-1]["question"] = question
    return found


@pytest.fixture
def saved(project: Project) -> Project:
    """Return a project that compares with ``main``, saved of 30 right answers."""
    project.scenario(GATED)
    project.rows(rows())
    assert project.pytest("--rag-save", "main").ret == pytest.ExitCode.OK
    return project


def mean(project: Project, file: str = MAIN) -> float:
    found: float = json.loads((project.path / file).read_text("utf-8"))["weighted_score"]["mean"]
    return found


def not_saved(project: Project, result: pytest.RunResult, file: str = MAIN) -> str:
    """Return what the run said, which is red and left the baseline as it was."""
    text = result.stdout.str()
    assert result.ret == pytest.ExitCode.TESTS_FAILED, text
    assert mean(project, file) == 1.0
    assert "NOT saved: it is there, and this run cannot be compared with it (" in text
    return text


@pytest.mark.parametrize("strict", [(), ("--rag-strict",)], ids=["", "strict"])
def test_a_changed_question_does_not_replace_the_baseline(
    saved: Project, run: Run, strict: tuple[str, ...]
) -> None:
    """The finding: 11 answers got worse and one question is edited; both ways out are said."""
    saved.rows(rows(wrong=11, question="And the capital?"))
    assert saved.pytest(*strict).ret == pytest.ExitCode.USAGE_ERROR
    text = not_saved(saved, run("--rag-save", "main", *strict))
    assert "1 of 30 shared samples have another question" in text
    assert "To replace it all the same: --rag-save-failed main; to keep it: another name" in text
    assert saved.gates()["no_regression"] == "skipped"
    assert saved.pytest(*strict).ret == pytest.ExitCode.USAGE_ERROR, "nothing is green for good"


def test_the_same_with_processes(saved: Project, workers: Run) -> None:
    saved.rows(rows(wrong=11, question="And the capital?"))
    not_saved(saved, workers("--rag-save", "main"))


def test_both_ways_out_work(saved: Project) -> None:
    """On purpose it is replaced, and compared with from then on; under another name it is kept."""
    saved.rows(rows(wrong=11, question="And the capital?"))
    green(saved.pytest("--rag-compare=next", "--rag-save=next"))
    assert mean(saved) == 1.0
    assert saved.pytest("--rag-save-failed=main").ret == pytest.ExitCode.OK
    assert mean(saved) == pytest.approx(19 / 30)
    assert saved.pytest().ret == pytest.ExitCode.OK
    saved.rows(rows(wrong=22, question="And the capital?"))
    assert saved.pytest().ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize(
    "content",
    ["", '{"schema": 1}', '{"schema": 99, "samples": []}', "[]", '{"samples": [{"id"'],
    ids=["empty", "cut", "newer", "list", "broken"],
)
def test_a_damaged_baseline_stays(saved: Project, content: str) -> None:
    """What it held may be in another copy, or in version control."""
    saved.file(MAIN, content)
    result = red(saved.pytest("--rag-save=main"))
    assert (saved.path / MAIN).read_text("utf-8") == content
    assert "To replace it all the same: --rag-save-failed main" in result.stdout.str()
    assert saved.pytest("--rag-save-failed=main").ret == pytest.ExitCode.OK
    assert mean(saved) == 1.0


def test_the_run_of_another_scenario_stays(saved: Project) -> None:
    """Compared with and written to one path: nothing in it is of this scenario."""
    kept = saved.path / "kept.json"
    kept.write_bytes((saved.path / MAIN).read_bytes())
    saved.scenario(GATED.replace("name: qa", "name: other").replace(": main", ": kept.json"))
    saved.rows([{**one, "id": f"other-{at}"} for at, one in enumerate(rows(wrong=11))])
    not_saved(saved, saved.pytest("--rag-save=kept.json"), "kept.json")


def test_a_metric_that_a_gate_compares_and_the_baseline_lacks(saved: Project) -> None:
    """Refused without ``--rag-save`` (exit status 4), and so not replaced with it."""
    saved.scenario(GATED.replace("[em]", "[em, acc]"))
    saved.rows(rows(wrong=11))
    assert saved.pytest().ret == pytest.ExitCode.USAGE_ERROR
    assert "it has no acc, which a gate compares" in not_saved(
        saved, saved.pytest("--rag-save=main")
    )
    assert saved.pytest("--rag-save-failed=main").ret == pytest.ExitCode.OK


def test_without_a_gate_it_stays_too(saved: Project) -> None:
    """What is compared is only shown; a run that shows nothing replaces nothing."""
    saved.scenario(f"{SCENARIO}    compare: main\n")
    saved.rows(rows(question="And the capital?"))
    not_saved(saved, saved.pytest("--rag-save=main"))


def test_compared_anyway_it_is_replaced_by_a_green_run(saved: Project) -> None:
    """``anyway`` makes it comparable: the gate decides."""
    saved.scenario(GATED.replace("compare: main", "compare: {baseline: main, anyway: true}"))
    saved.rows(rows(wrong=11, question="And the capital?"))
    assert saved.pytest("--rag-save=main", "-W", "ignore").ret == pytest.ExitCode.TESTS_FAILED
    assert mean(saved) == 1.0
    saved.rows(rows(wrong=1, question="And the capital?"))
    assert saved.pytest("--rag-save=main", "-W", "ignore").ret == pytest.ExitCode.OK
    assert mean(saved) == pytest.approx(29 / 30)


@pytest.mark.parametrize("args", [("--rag-save=main",), ("--rag-compare=other", "--rag-save=main")])
def test_a_run_that_does_not_compare_with_that_name_replaces_it(
    saved: Project, args: tuple[str, ...]
) -> None:
    """It compares with nothing, or with other names only: nothing is got around."""
    assert saved.pytest("--rag-compare=other", "--rag-save=other").ret == pytest.ExitCode.OK
    saved.scenario(SCENARIO)
    saved.rows(rows(wrong=11) if "--rag-compare=other" in args else rows(11, "And the capital?"))
    assert saved.pytest(*args).ret == pytest.ExitCode.OK
    assert mean(saved) == pytest.approx(19 / 30)


def test_each_variant_has_its_own_baseline(project: Project, run: Run) -> None:
    """One is refused and stays; that of the other variant is replaced."""
    project.scenario(f"{GATED}    variants: {{a: {{}}, b: {{dataset: b.jsonl}}}}\n")
    project.rows(rows())
    project.rows(rows(), "b.jsonl")
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    project.rows(rows(wrong=1))
    project.rows(rows(wrong=11, question="And the capital?"), "b.jsonl")
    places = {name: f".rageval/qa/{name}/baselines/main.json" for name in ("a", "b")}
    not_saved(project, run("--rag-save=main"), places["b"])
    assert mean(project, places["a"]) == pytest.approx(29 / 30)


def test_a_test_function_over_a_scenario_replaces_no_refused_baseline(project: Project) -> None:
    project.file("eval.yaml", "name: qa\nmetrics: [em]\ndataset: qa.jsonl\ncompare: main\n")
    project.tested_by("rageval.check(rageval.sample.metadata['said'])", of="eval.yaml")
    said = [{**one, "said": one.pop("answer")} for one in rows()]
    project.rows(said)
    assert project.pytest("--rag-save=main", "test_bot.py").ret == pytest.ExitCode.OK
    files = [*(project.path / ".rageval").rglob("baselines/main.json")]
    assert len(files) == 1
    said[-1]["question"] = "And the capital?"
    project.rows([{**one, "said": "Rome"} for one in said])
    result = project.pytest("--rag-save=main", "test_bot.py")
    not_saved(project, result, str(files[0]))


def test_a_red_run_does_not_replace_the_file_beside_the_scenario(project: Project) -> None:
    """V1: ``compare`` may name a file relative to its own; that, too, is what it judges by."""
    project.rows(rows())
    project.scenario(SCENARIO)
    assert project.pytest("--rag-save", "eval/base.json").ret == pytest.ExitCode.OK
    project.file("eval/qa.jsonl", project.rows(rows(wrong=11)).read_text("ascii"))
    moved = project.scenario(GATED.replace("main", "base.json"))
    moved.rename(project.path / "eval" / moved.name)
    result = red(project.pytest("eval", "--rag-save-failed", "eval/base.json"))
    said = "*eval/base.json NOT saved: the run is red (gate no_regression) and was compared with*"
    result.stdout.fnmatch_lines([said])
    assert mean(project, "eval/base.json") == 1.0
