"""B1, B2, B4, B7, B8: contexts against what a row, or the corpus for its document, expects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

CORPUS = [
    {"id": "1", "text": "双源CT有两个X射线管。", "doc_name": "双源CT.pdf"},
    {"id": "2", "text": "时间分辨率为75毫秒。", "doc_name": "双源CT.pdf"},
    {"id": "3", "text": "保修期为两年。", "doc_name": "保修.pdf"},
    {"id": "4", "text": "退货期为三十天。", "doc_name": "退货.pdf"},
]
# One hit at rank 1 (but for full-width letters), one at rank 2, none.
ROWS: list[dict[str, Any]] = [
    {"id": "分辨率", "question": "时间分辨率是多少？", "doc_name": "双源CT.pdf",
     "contexts": ["时间分辨率为７５毫秒", "保修期为两年。"]},
    {"id": "保修", "question": "保修多久？", "doc_name": "保修.pdf",
     "contexts": ["退货期为三十天。", "保修期为两年。"]},
    {"id": "退货", "question": "退货期？", "doc_name": "退货.pdf",
     "contexts": ["保修期为两年。"]},
]  # fmt: skip
SCENARIO = """
    name: qa
    metrics: [hit_rate, mrr, "hit_rate@1", recall, precision]
    corpus: chunks.jsonl
    dataset: qa.jsonl
"""


@pytest.fixture
def chinese(project: Project) -> Project:
    """Return a project with three questions about three documents."""
    project.scenario(SCENARIO)
    project.file(
        "chunks.jsonl", "".join(json.dumps(chunk, ensure_ascii=False) + "\n" for chunk in CORPUS)
    )
    project.rows(ROWS)
    return project


def scores(project: Project, metric: str) -> list[float | None]:
    return [sample["scores"][metric] for sample in project.results()["samples"]]


@pytest.mark.full
def test_the_chunks_of_a_rows_document_are_what_it_expects(chinese: Project, run: Run) -> None:
    """[B1, B2, B7] Recall of the first: one of two chunks; precision: one of two contexts."""
    run("-v").assert_outcomes(passed=3)
    assert scores(chinese, "hit_rate") == [1.0, 1.0, 0.0]
    assert scores(chinese, "hit_rate@1") == [1.0, 0.0, 0.0]
    assert scores(chinese, "mrr") == [1.0, 0.5, 0.0]
    assert scores(chinese, "recall") == [0.5, 1.0, 0.0]
    assert scores(chinese, "precision") == [0.5, 0.5, 0.0]
