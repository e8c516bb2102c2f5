"""V5, V6: what a score depends on is the same in both runs, or that is said."""

from __future__ import annotations

import re
import sys

import pytest

from tests.plugin.conftest import Project, Run, green, wrong_use

pytestmark = pytest.mark.full
OWN = """
    name: qa
    metrics: [{use: "%s:polite"}]
    dataset: qa.jsonl
"""


def write_metric(project: Project, module: str, score: float) -> None:
    """Write the module of a metric anew, and forget the one that was imported."""
    project.file(f"{module}.py", f"def polite(answer):\n    return {score}\n")
    sys.modules.pop(module, None)


ANSWERS = [{"id": f"s{at}", "question": "?", "answer": "please"} for at in range(4)]


def test_changed_code_of_a_metric_is_compared_and_said(project: Project, run: Run) -> None:
    """[V6] In yellow below the table, in summary.md and on the page; once for the metric."""
    project.scenario(OWN % "own_polite")
    project.rows(ANSWERS)
    write_metric(project, "own_polite", 0.5)
    assert run("--rag-save=main").ret == pytest.ExitCode.OK
    assert "has changed" not in run("--rag-compare=main").stdout.str()
    write_metric(project, "own_polite", 0.75)
    result = green(run("--rag-compare=main", "--color=yes", "--rag-report=html,md"))
    said = "the code of polite (own_polite) has changed; compared all the same"
    (line,) = [one for one in result.outlines if said in one]
    assert "\x1b[33m" in line
    folder = project.folders()[-1]
    assert "has changed; compared all the same" in (folder / "summary.md").read_text("utf-8")
    assert said in (folder / "report.html").read_text("utf-8")


def test_a_changed_constant_of_another_module_is_said(project: Project, run: Run) -> None:
    """[V6] A number that is imported does not say where it came from; the import statement does."""
    project.scenario(OWN % "own_bounded")
    project.rows(ANSWERS)
    code = "def polite(sample):\n    return float(len(sample.answer) >= LEAST)\n"
    project.file("own_bounded.py", f"from own_limits import LEAST\n{code}")
    for least, said in ((2, False), (1, True)):
        project.file("own_limits.py", f"LEAST = {least}\n")
        sys.modules.pop("own_bounded", None)
        sys.modules.pop("own_limits", None)
        if not said:
            assert run("--rag-save=main").ret == pytest.ExitCode.OK
        text = run("--rag-compare=main").stdout.str()
        assert ("the code of polite (own_limits) has changed" in text) == said


@pytest.mark.parametrize("changed", [False, True])
def test_shards_scored_by_other_code_do_not_merge(
    project: Project, run: Run, changed: bool
) -> None:
    """[V5] A machine has an older checkout: the metric and both shards are named."""
    module = f"own_shards_{changed}".lower()
    project.scenario(OWN % module)
    project.rows(ANSWERS)
    write_metric(project, module, 0.5)
    assert project.pytest("--rag-shard=1/2", "--rag-output=one").ret == pytest.ExitCode.OK
    if changed:
        write_metric(project, module, 0.75)
    assert run("--rag-shard=2/2", "--rag-output=two").ret == pytest.ExitCode.OK
    result = project.pytest("--rag-merge=one", "--rag-merge=two")
    if not changed:
        green(result)
        return
    wrong_use(result)
    text = result.stdout.str() + result.stderr.str()
    said = rf"shard 2/2 was scored by other code of polite \({module}\) than shard 1/2, \S*one/"
    assert re.search(said, " ".join(text.split()))


def test_what_crag_score_takes_for_right_is_compared_with_it(project: Project, run: Run) -> None:
    """[V6] A gate on it alone: by another f1 an answer that is the same is right or wrong."""
    text = """
        name: qa
        metrics: [{f1: {tokenizer: %s}}, {crag_score: {correct: f1}}]
        dataset: qa.jsonl
    """
    rows = [{"id": f"s{at}", "question": "?", "answer": "y", "reference": "y"} for at in range(8)]
    project.rows(rows)
    project.scenario(text % "auto")
    assert run("--rag-save=main").ret == pytest.ExitCode.OK
    gate = "    gates: {no_regression: {baseline: main, metrics: [crag_score]}}\n"
    project.scenario(text % "auto" + gate)
    assert run().ret == pytest.ExitCode.OK
    project.scenario(text % "char" + gate)
    result = run()
    wrong_use(result)
    assert "f1 was f1 v1 (tokenizer=auto)" in result.stdout.str() + result.stderr.str()
