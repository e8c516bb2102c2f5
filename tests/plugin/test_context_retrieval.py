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


@pytest.mark.full
def test_a_miss_fails_and_shows_what_was_retrieved(chinese: Project, plain: Run) -> None:
    """[B1, E1] No traceback."""
    result = plain("--rag-threshold=hit_rate=1")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*hit_rate 0.0000 < 1.0000*"])
    text = result.stdout.str()
    assert "Traceback" not in text
    assert "保修期为两年。" in text


@pytest.mark.full
@pytest.mark.parametrize(
    ("match", "hits"),
    [("exact", [0.0, 1.0, 0.0]), ("normalized", [1.0, 1.0, 0.0]), ("contains", [1.0, 1.0, 0.0])],
)
def test_the_kind_of_match_is_the_scenarios(
    chinese: Project, match: str, hits: list[float]
) -> None:
    """[B4] Full-width digits and a full stop are no difference unless they should be."""
    chinese.pytest("--rag-set", f"match={match}")
    assert scores(chinese, "hit_rate") == hits


def test_a_match_by_document_needs_no_texts(chinese: Project, plain: Run) -> None:
    """[B4] Of contexts that say where they come from; the first comes from another document."""
    contexts = [{"text": "x", "doc_name": "退货.pdf"}, {"text": "y", "doc_name": "保修.pdf"}]
    chinese.rows([{"id": "保修", "doc_name": "保修.pdf", "contexts": contexts}])
    plain("--rag-set", "match=doc_name").assert_outcomes(passed=1)
    assert scores(chinese, "mrr") == [0.5]


@pytest.mark.full
def test_a_metric_may_have_a_match_of_its_own(chinese: Project) -> None:
    """[B4] Two metrics of one kind under two names."""
    chinese.scenario(
        SCENARIO.replace(
            "[hit_rate, mrr", "[{hit_rate: {match: exact, name: exact}}, hit_rate, mrr"
        )
    )
    chinese.pytest()
    assert scores(chinese, "exact") == [0.0, 1.0, 0.0]
    assert scores(chinese, "hit_rate") == [1.0, 1.0, 0.0]


@pytest.mark.full
def test_top_k_really_cuts_the_contexts(chinese: Project, plain: Run) -> None:
    """[B8] The second hit stands at rank 2; what is cut is not shown either."""
    plain("--rag-set", "top_k=1")
    assert scores(chinese, "hit_rate") == [1.0, 0.0, 0.0]
    assert [len(sample["contexts"]) for sample in chinese.results()["samples"]] == [1, 1, 1]


def test_a_row_may_say_itself_what_it_expects(chinese: Project) -> None:
    """[B7] Its own ``reference_contexts`` come before the corpus."""
    chinese.rows([{**ROWS[1], "reference_contexts": ["退货期为三十天。"]}])
    chinese.pytest()
    assert scores(chinese, "mrr") == [1.0]


def test_a_document_that_the_corpus_does_not_know(chinese: Project, plain: Run) -> None:
    """[B7, A20] Warned of, and its row is no zero: nothing is known of what it expects."""
    chinese.rows([*ROWS, {"id": "x", "doc_name": "别的.pdf", "contexts": ["一"]}])
    result = plain("-W", "default")
    assert result.parseoutcomes()["errors"] == 1
    result.stdout.fnmatch_lines(["*chunks.jsonl has no chunk of these documents: 别的.pdf"])
    sample = chinese.results()["samples"][3]
    assert sample["scores"]["hit_rate"] is None
    assert chinese.results()["metrics"]["hit_rate"]["n"] == 3


def test_nothing_retrieved_is_a_miss_and_nothing_said_is_none(chinese: Project) -> None:
    """[A19, B1] An empty list is a search that found nothing; no list is no search."""
    chinese.rows([{**ROWS[0], "contexts": []}, {"id": "x", "doc_name": "保修.pdf"}, ROWS[1]])
    chinese.pytest()
    assert scores(chinese, "hit_rate") == [0.0, None, 1.0]


def test_the_names_of_dbgpt(chinese: Project) -> None:
    """[B1, B2] RetrieverHitRateMetric and RetrieverMRRMetric."""
    chinese.scenario(
        SCENARIO.replace("[hit_rate, mrr", "[RetrieverHitRateMetric, RetrieverMRRMetric")
    )
    chinese.pytest("--rag-threshold=RetrieverMRRMetric=0.4").assert_outcomes(passed=2, failed=1)
    assert list(chinese.results()["metrics"])[:2] == ["hit_rate", "mrr"]


@pytest.mark.full
def test_ids_come_before_contexts(project: Project) -> None:
    """[D4] A row with both is measured by its ids; a mixture is warned of."""
    project.scenario("name: qa\nmetrics: [mrr]\ndataset: qa.jsonl\n")
    both = {
        "contexts": ["a"],
        "reference_contexts": ["a"],
        "retrieved_ids": ["x", "d"],
        "reference_ids": {"d": 2},
    }
    project.rows([{"id": "both", **both}])
    project.pytest().assert_outcomes(passed=1)
    assert scores(project, "mrr") == [0.5]
    project.rows([{"id": "both", **both}, {"contexts": ["a"], "reference_contexts": ["a"]}])
    result = project.pytest("-W", "default")
    result.stdout.fnmatch_lines(["*'mrr' compares reference_ids and retrieved_ids in 1 of 2 rows*"])
    assert scores(project, "mrr") == [0.5, 1.0]


@pytest.mark.full
def test_rows_with_ids_have_all_measures_of_trec(project: Project, run: Run) -> None:
    """[D4] Grades as in qrels; ids of the data, in Chinese with blanks."""
    project.scenario(
        """
        name: qa
        metrics: [map, "nDCG@2", "P(rel=2)@1", bpref]
        dataset:
          - id: a
            retrieved_ids: ["文档 一", "文档 二"]
            reference_ids: {"文档 二": 2, "文档 三": 1}
          - {id: b, retrieved_ids: ["文档 一"], reference_ids: ["文档 一"]}
        """
    )
    run().assert_outcomes(passed=2)
    assert scores(project, "map") == [0.25, 1.0]
    assert scores(project, "precision(rel=2)@1") == [0.0, 0.0]


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics: [hit_rate]\ndataset: [{contexts: [a]}]", "*needs 'reference_contexts'*"),
        ("metrics: [map]\ndataset: [{contexts: [a]}]", "*'map' needs * and 'retrieved_ids'*"),
        ("metrics: [mrr]\nmatch: doc_name\ndataset: [{contexts: [a], doc_name: b}]",
         "*'mrr' needs 'context_docs'*no contexts that name their document*"),
        ("metrics: [mrr]\ncorpus: no.jsonl\ndataset: [{contexts: [a], doc_name: b}]",
         "*corpus: no file 'no.jsonl'*"),
        ("metrics: [em@5]\ndataset: [{answer: a, references: [a]}]", "*'em' has no cutoff (@k)*"),
        ("metrics: ['mrr@0']\ndataset: [{contexts: [a]}]", "*cutoff must be a whole number >= 1*"),
        ("metrics: [mrr]\ntop_k: 0\ndataset: [{contexts: [a]}]", "*top_k: expected a number >= 1*"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_before_anything_runs(
    project: Project, text: str, message: str
) -> None:
    """[E12] With the line, no traceback."""
    project.scenario(f"name: qa\n{text}\n")
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])
    assert "Traceback" not in result.stdout.str()
    assert project.wrote_nothing


@pytest.mark.full
@pytest.mark.parametrize("surrogate", ["retrieved_ids", "reference_ids"])
def test_no_id_ends_the_process(project: Project, surrogate: str) -> None:
    """[D5, E1] Half a character of UTF-16, as JSON can spell it, and a null character."""
    row = {"id": "a", "retrieved_ids": ["x", "a\0b"], "reference_ids": ["a\0b"]}
    project.rows([{**row, surrogate: ["\ud800", "a\0b"]}])
    project.scenario("name: qa\nmetrics: [mrr, ndcg]\ndataset: qa.jsonl\n")
    result = project.pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
