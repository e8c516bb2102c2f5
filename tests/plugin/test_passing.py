"""F7: what a metric returns as ``passing`` decides the case, wherever that is told."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

import pytest

from tests.plugin.conftest import Project, Run, red

pytestmark = pytest.mark.full

METRICS = """
from pytest_rageval import Score
from pytest_rageval.metrics.dbgpt import EvaluationMetric, EvaluationResult

PASSING = {"good": True, "bad": False, "silent": None}

class Own(EvaluationMetric):
    def sync_compute(self, prediction, contexts=None, query=None):
        return EvaluationResult(score=0.5, passing=PASSING[prediction])

def ours(sample):
    return Score("ours", 0.5, details={"passing": PASSING[sample.answer]})
"""
TEST = """
from pathlib import Path

import pytest
from pytest_rageval import evaluate

@pytest.mark.rag_scenario("qa.rageval.yaml")
def test_answer(rageval, rag_sample):
    rageval.check()

def test_script():
    result = evaluate(Path(__file__).parent / "qa.rageval.yaml")
    assert [sample.outcome for sample in result.samples] == ["passed", "failed", "passed"]
"""
SAID = "{name} does not pass: the metric itself returned passing = False"


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ``sys.path`` back as it was; pytester does that with ``sys.modules``."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture(params=["Own", "ours"])
def name(project: Project, request: pytest.FixtureRequest) -> str:
    """Return the name of a metric written for DB-GPT, and of a function, in a project with both."""
    project.rows([{"id": answer, "answer": answer} for answer in ("good", "bad", "silent")])
    project.file("qa_metrics.py", METRICS)
    name: str = request.param
    return name


def scenario(project: Project, name: str, more: str = "") -> None:
    use = f'[{{use: "qa_metrics:{name}", name: {name}}}]'
    project.scenario(f"name: qa\ndataset: qa.jsonl\nmetrics: {use}\n{more}\n")


def test_false_fails_the_case_without_a_threshold(project: Project, run: Run, name: str) -> None:
    """[F7] Terminal, results.json, JUnit, summary and DB-GPT's rows say the same."""
    scenario(project, name)
    result = red(run("--junitxml=junit.xml", "--rag-report=dbgpt"))
    result.assert_outcomes(passed=2, failed=1)
    said = SAID.format(name=name)
    result.stdout.fnmatch_lines([said, f"{name} *0.5000*does not pass", f"FAILED *{said}*"])
    assert project.outcomes() == {"good": "passed", "bad": "failed", "silent": "passed"}
    failures = ElementTree.parse(project.path / "junit.xml").iter("failure")
    told = [failure.attrib["message"].partition("\n")[0] for failure in failures]
    assert told == [f"Failed: {said}"]
    folder = project.folders()[-1]
    assert said in (folder / "summary.md").read_text("utf-8")
    groups = json.loads((folder / "evaluation_rows.json").read_text("utf-8"))["data"]
    assert [row["passing"] for rows in groups for row in rows] == [True, False, None]
    assert project.results()["samples"][1]["details"][name] == {"passing": False}


def test_a_tolerated_case_is_left_to_pass_rate(project: Project, plain: Run, name: str) -> None:
    """[F7]"""
    more = f"thresholds: {{{name}: 0.5}}\ntolerate: pass_rate\ngates: {{pass_rate: 0.6}}"
    scenario(project, name, more)
    plain().assert_outcomes(passed=4, xfailed=1)


def test_a_script_and_a_test_get_the_same_verdict(project: Project, plain: Run, name: str) -> None:
    """[F7]"""
    scenario(project, name)
    project.file("test_own.py", TEST)
    result = plain("test_own.py")
    result.assert_outcomes(passed=3, failed=1)  # two answers, the script; one answer
