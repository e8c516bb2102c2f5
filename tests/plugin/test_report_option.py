"""[E15] Reports that are written on request only: --rag-report, RAGEVAL_REPORT, rageval_reports."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em]
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
"""
GRADED = """
    name: qa
    metrics: [em, f1]
    metric_weights: {em: 0.3, f1: 0.7}
    doc_weights: {a.pdf: 2.0}
    thresholds: {f1: 0.6}
    gates: {weighted_score: 0.9, by: {doc_name: {f1: 0.2}}}
    tolerate: null
    dataset: qa.jsonl
"""
A_REPORT = """
    from pytest_rageval.reports.base import REPORT_REGISTRY

    class Postcard:
        name = "postcard.txt"
        aliases = ("postcard",)
        on_request = True

        def write(self, result, run, folder):
            folder.put(self.name, [f"{result.info.name} {result.weighted_score.mean}"])

    if REPORT_REGISTRY.canonical("postcard") is None:
        REPORT_REGISTRY.add(Postcard())
"""


def page_data(folder: Path) -> dict[str, Any]:
    page = (folder / "report.html").read_text("utf-8")
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(autouse=True)
def _own_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out again the report that a run in this process adds."""
    from pytest_rageval.reports.base import REPORT_REGISTRY

    own = {entry.name: entry for entry in REPORT_REGISTRY}
    monkeypatch.setattr(REPORT_REGISTRY, "_entries", own)
    monkeypatch.setattr(REPORT_REGISTRY, "_aliases", dict(REPORT_REGISTRY._aliases))


@pytest.fixture
def reporting(project: Project) -> Project:
    """Return a project whose conftest.py adds a report."""
    text = "\n".join(line[4:] for line in A_REPORT.splitlines())
    (project.path / "conftest.py").write_text(text, encoding="utf-8")
    project.scenario(SCENARIO)
    return project


@pytest.mark.full
def test_a_report_on_request_is_written_only_then(reporting: Project, run: Run) -> None:
    run()
    assert not list(reporting.path.glob("**/postcard.txt"))
    assert run("--rag-report=postcard").ret == pytest.ExitCode.OK
    assert (reporting.folders()[-1] / "postcard.txt").read_text("utf-8") == "qa 1.0"


@pytest.mark.full
def test_what_others_read_is_the_same_with_workers(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E2] The page but for the run and the trend, JUnit's properties, and what GitHub is told."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    project.scenario(GRADED)
    project.rows(
        [
            {"id": f"q{at}", "question": "\ud800?", "answer": "one two", "references": [text]}
            | {"doc_name": "a.pdf" if at % 2 else None, "level": at % 3}
            for at, text in enumerate(["one two", "one", "three", "two one"])
        ]
    )
    told, properties, workers = [], [], []
    for args in (("-p", "no:xdist"), ("-n", "2")):
        result = project.pytest("--rag-report=html", "--junitxml=junit.xml", *args)
        told.append([line for line in result.outlines if line.startswith("::")])
        cases = ET.parse(project.path / "junit.xml").getroot().iter("testcase")
        found = {
            str(case.get("name")): [tuple(one.items()) for one in case.iter("property")]
            for case in cases
        }
        properties.append(found)
        workers.append(project.results()["run"]["workers"])
    assert workers == [0, 2]
    assert told[0] == told[1]
    assert len(told[0]) == 2
    assert properties[0] == properties[1]
    assert len(properties[0]["q0"]) == 4
    plain, distributed = map(page_data, project.folders())
    assert [len(data.pop("run")["trend"]) for data in (plain, distributed)] == [1, 2]
    assert plain == distributed
    assert plain["samples"]["outcome"] == ["passed", "passed", "failed", "passed"]
    assert plain["scenario"]["doc_weights"] == [["a.pdf", 2.0]]
