"""E15: --rag-report html, with and without workers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

SCENARIO = """
    name: qa
    metrics: [em, f1]
    metric_weights: {em: 0.3, f1: 0.7}
    doc_weights: {a.pdf: 2.0}
    thresholds: {f1: 0.6}
    gates: {weighted_score: 0.3, by: {doc_name: {f1: 0.2}}}
    tolerate: null
    dataset: qa.jsonl
"""


def page_data(folder: Path) -> dict[str, Any]:
    page = (folder / "report.html").read_text("utf-8")
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_is_the_same_with_workers(project: Project) -> None:
    """[E2] But for the run and the trend."""
    project.scenario(SCENARIO)
    project.rows(
        [
            {"id": f"q{at}", "question": "\ud800?", "answer": "one two", "references": [text]}
            | {"doc_name": "a.pdf" if at % 2 else None, "level": at % 3}
            for at, text in enumerate(["one two", "one", "three", "two one"])
        ]
    )
    project.pytest("--rag-report=html", "-p", "no:xdist")
    project.pytest("--rag-report=html", "-n", "2")
    plain, distributed = map(page_data, project.folders())
    assert [len(data.pop("run")["trend"]) for data in (plain, distributed)] == [1, 2]
    assert plain == distributed
    assert plain["samples"]["outcome"] == ["passed", "passed", "failed", "passed"]
    assert plain["scenario"]["doc_weights"] == [["a.pdf", 2.0]]


def test_no_page_without_asking(project: Project) -> None:
    project.scenario(SCENARIO)
    project.rows([{"id": "a", "answer": "one", "references": ["one"], "doc_name": "a.pdf"}])
    project.pytest()
    assert not (project.folder() / "report.html").exists()
