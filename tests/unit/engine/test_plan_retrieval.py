"""D4, B4, B7, B8: retrieval scenarios: names with cutoffs, what rows must have, the corpus."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import ScenarioResult
from pytest_rageval.engine.plan import Plan
from pytest_rageval.model import Bound, InvalidRow, Sample

ROWS = tomllib.loads(Path(__file__).with_name("plan_retrieval.toml").read_text("utf-8"))

MakePlan = Callable[..., Plan]
Problems = Callable[..., list[str]]

TREC = {
    "q.txt": "q1 0 d1 1\nq2 0 d1 1\n",
    "r.txt": "q1 Q0 d1 1 1 r\nq2 Q0 d9 1 2 r\nq2 Q0 d1 2 1 r\n",
}
HEAD = "name: s\nqrels_path: q.txt\nrun_path: r.txt\n"  # three lines
IDS = "dataset: [{id: a, retrieved_ids: [x, d], reference_ids: {d: 1}}]\n"
CHUNKS = {
    "c.jsonl": (
        '{"text": "one", "doc_name": "a.pdf"}\n{"text": "two", "doc_name": "a.pdf"}\n'
        '{"text": "else", "doc_name": "b.pdf"}\n'
    )
}


def samples(made: Plan) -> list[Sample]:
    return [case for case in made.cases if isinstance(case, Sample)]


# Names


def test_names_with_cutoffs_are_found_in_any_notation(plan: MakePlan) -> None:
    """D4: under weights, thresholds, gates and compare."""
    made = plan(
        HEAD
        + "metrics: ['nDCG@10', 'P(rel=2)@5', RR]\n"
        + "metric_weights: {'ndcg@10': 2, 'precision(rel=2)@5': 1, recip_rank: 0}\n"
        + "thresholds: {'NDCG@10': 0.5, mrr: 0.1}\n"
        + "gates: {'nDCG@10': 0.5, by: {doc_name: {'P(rel=2)@5': 0.1}}, "
        + "no_regression: {metrics: ['nDCG@10']}, compare_fail: {RR: 0.1}}\n"
        + "compare: {run_old_path: r.txt, metrics: [RR]}\n",
        TREC,
    )
    assert [column.name for column in made.info.metrics] == [
        "ndcg@10",
        "precision(rel=2)@5",
        "mrr",
    ]
    assert [column.weight for column in made.info.metrics] == [2.0, 1.0, 0.0]
    assert made.info.thresholds == {"ndcg@10": Bound(min=0.5), "mrr": Bound(min=0.1)}
    assert made.info.gates == {
        "ndcg@10": 0.5,
        "by": {"doc_name": {"precision(rel=2)@5": 0.1}},
        "no_regression": {"metrics": ["ndcg@10"]},
        "compare_fail": {"mrr": 0.1},
    }
    (compare,) = made.info.compare
    assert compare.metrics == ("mrr",)
    assert made.required == {"ndcg@10", "mrr", "precision(rel=2)@5"}


def test_a_metric_that_is_called_like_a_note_may_not_fall(plan: MakePlan) -> None:
    made = plan(
        HEAD
        + "metrics: [{precision: {k: 5, name: x-p5}}]\ncompare: {run_old_path: r.txt}\n"
        + "gates: {compare_fail: {x-p5: 0.1, x-why: ours}}\n",
        TREC,
    )
    assert made.info.gates == {"compare_fail": {"x-p5": 0.1}}
    assert "x-p5" in made.required


def test_definitions_tell_measures_apart(plan: MakePlan) -> None:
    """D6: what a score means, whatever it is called."""
    made = plan(HEAD + "metrics: ['P(rel=2)@5', {precision: {k: 5, name: p5}}]\n", TREC)
    first, second = (column.definition for column in made.info.metrics)
    assert first.startswith("precision v1 (")
    assert "k=5" in first
    assert "rel=2" in first
    assert "rel=1" in second


@pytest.mark.parametrize(
    ("metrics", "message"),
    ROWS["a_name_that_cannot_be_is_refused_on_its_line"],
)
def test_a_name_that_cannot_be_is_refused_on_its_line(
    problems: Problems, metrics: str, message: str
) -> None:
    """D4, E12."""
    found = problems(HEAD + f"metrics: {metrics}\n", TREC)
    assert len(found) == 1
    assert found[0].startswith("s.yaml:4: ")
    assert message in found[0]


def test_an_unknown_measure_is_one_problem_however_many_cutoffs(problems: Problems) -> None:
    """E12: under the name that the user wrote."""
    (problem,) = problems(HEAD + "ir_metrics: [ndgc]\n", TREC)
    assert problem.startswith("s.yaml:4: ir_metrics[0]: unknown metric 'ndgc'")


def test_what_stands_in_for_missing_metrics_is_not_complained_of(problems: Problems) -> None:
    """E12: nobody named em."""
    for text in ("ks: [1]\n", "ir_metrics: []\n", "metrics: mrr\n", "metrics: [3]\n"):
        found = problems(HEAD + text, TREC)
        assert found
        assert not [problem for problem in found if "'em'" in problem], text


# What rows must have


@pytest.mark.parametrize(
    ("row", "metric", "message"),
    ROWS["a_data_set_without_the_fields_is_refused"],
)
def test_a_data_set_without_the_fields_is_refused(
    problems: Problems, row: str, metric: str, message: str
) -> None:
    """B4, E12: of two ways to score, the one that is begun."""
    found = problems(f"name: s\nmetrics:\n- {metric}\ndataset: [{row}]\n")
    assert any(message in problem for problem in found)
    assert all(problem.startswith("s.yaml:3: ") for problem in found)


def test_a_row_that_lacks_the_fields_is_invalid_or_unscored(run: Callable[..., Any]) -> None:
    """A19, A20: b has neither way, c one of two metrics."""
    made: ScenarioResult = run(
        "name: s\nmetrics: [hit_rate, map]\ndataset:\n"
        "- {id: a, retrieved_ids: [x], reference_ids: [x]}\n"
        "- {id: b, question: Q?}\n"
        "- {id: c, contexts: [y], reference_contexts: [y]}\n"
    )
    first, second, third = made.samples
    assert first.scores == {"hit_rate": 1.0, "map": 1.0}
    assert second.invalid is not None
    assert "retrieved_ids" in second.invalid or "contexts" in second.invalid
    assert third.scores == {"hit_rate": 1.0, "map": None}
    assert third.reasons["map"] == "the row has no reference_ids and no retrieved_ids"


def test_a_mixture_of_both_ways_is_a_warning(plan: MakePlan) -> None:
    """B4: the mean would be of two different things."""
    made = plan(
        "name: s\nmetrics: [mrr, {hit_rate: {on: contexts}}]\ndataset:\n"
        "- {id: a, retrieved_ids: [x], reference_ids: [x]}\n"
        "- {id: b, contexts: [y], reference_contexts: [y]}\n"
    )
    assert made.info.warnings == (
        "s.yaml: metric 'mrr' compares reference_ids and retrieved_ids in 1 of 2 rows, contexts "
        "and reference_contexts in the others; set its option 'on'",
    )


# match, corpus, top_k


def test_match_is_an_option_of_every_metric_that_has_it(plan: MakePlan) -> None:
    """B4: unless the metric, or metric_options, says otherwise."""
    text = (
        "name: s\nmetrics: [mrr, {hit_rate: {match: exact}}, em]\nmatch: contains\n"
        "dataset: [{contexts: [a], reference_contexts: [a], answer: x, references: [x]}]\n"
    )
    definitions = [column.definition for column in plan(text).info.metrics]
    assert "match=contains" in definitions[0]
    assert "match=exact" in definitions[1]
    assert "match" not in definitions[2]
    over = plan(text + "metric_options: {match: normalized}\n").info.metrics[0].definition
    assert "match=normalized" in over


def test_the_corpus_says_what_a_row_expects(plan: MakePlan) -> None:
    """B7: a row's own expectation, and one without a document, stay as they are."""
    made = plan(
        "name: s\nmetrics: [hit_rate]\ncorpus: c.jsonl\ndataset:\n"
        "- {id: a, contexts: [one], doc_name: a.pdf}\n"
        "- {id: b, contexts: [one], doc_name: a.pdf, reference_contexts: [own]}\n"
        "- {id: c, contexts: [one], reference_contexts: [own]}\n",
        CHUNKS,
    )
    assert [sample.reference_contexts for sample in samples(made)] == [
        ("one", "two"),
        ("own",),
        ("own",),
    ]
    assert made.info.warnings == ()


def test_documents_that_the_corpus_lacks_are_named(plan: MakePlan) -> None:
    """B7: each once; their rows are invalid, for nothing is known of what they expect."""
    rows = "".join(f"- {{contexts: [one], doc_name: d{at}.pdf}}\n" for at in (1, 2, 3, 4, 5, 6, 1))
    made = plan(
        "name: s\nmetrics: [hit_rate]\ncorpus: c.jsonl\ndataset:\n"
        "- {contexts: [one], doc_name: a.pdf}\n" + rows,
        CHUNKS,
    )
    assert made.info.warnings == (
        "s.yaml: c.jsonl has no chunk of these documents: d1.pdf, d2.pdf, d3.pdf, d4.pdf, d5.pdf "
        "and 1 more",
    )
    assert [isinstance(case, InvalidRow) for case in made.cases] == [False] + [True] * 7


def test_a_corpus_without_any_of_the_documents_is_the_problem(problems: Problems) -> None:
    """E12: it is not a field that is missing."""
    found = problems(
        "name: s\nmetrics: [hit_rate]\ncorpus: c.jsonl\n"
        "dataset: [{contexts: [one], doc_name: z.pdf}]\n",
        CHUNKS,
    )
    assert any(
        "no row names, in doc_name, a document of the corpus c.jsonl" in one for one in found
    )


def test_problems_of_the_corpus_come_with_the_others(problems: Problems) -> None:
    """E12."""
    found = problems(
        "name: s\nmetrics: [hit_rate, f11]\ncorpus: c.jsonl\ndataset: [{contexts: [one]}]\n",
        {"c.jsonl": '{"text": "one"}\n'},
    )
    assert any(problem.startswith("c.jsonl:1: a chunk needs its document") for problem in found)
    assert any("unknown metric 'f11'" in problem for problem in found)


@pytest.mark.parametrize(("top_k", "mrr"), [(1, 0.0), (2, 0.5), (99, 0.5)])
def test_top_k_cuts_ids_contexts_and_their_documents(
    run: Callable[..., Any], top_k: int, mrr: float
) -> None:
    """B8: for every metric, before it sees them."""
    made: ScenarioResult = run(
        f"name: s\ntop_k: {top_k}\n"
        "metrics: [mrr, {mrr: {on: contexts, name: by_text}},\n"
        "  {mrr: {on: contexts, match: doc_name, name: by_document}}]\n"
        "dataset:\n"
        "- {id: a, retrieved_ids: [x, d], reference_ids: [d], doc_name: d.pdf,\n"
        "   contexts: [{text: x, source: x.pdf}, {text: d, source: d.pdf}],\n"
        "   reference_contexts: [d]}\n"
    )
    assert made.samples[0].scores == {"mrr": mrr, "by_text": mrr, "by_document": mrr}
    assert len(made.samples[0].contexts or ()) == min(top_k, 2)


# The snapshot


def test_the_snapshot_of_a_retrieval_scenario_runs_the_same(plan: MakePlan) -> None:
    """A12: TREC files, corpus and comparison included."""
    text = (
        HEAD
        + "ir_metrics: [mrr, ndcg]\nks: [1, 3]\ntop_k: 7\nmissing_queries: skip\n"
        + "compare: {run_old_path: r.txt, metrics: [RR], alpha: 0.1}\n"
        + "gates: {no_regression: {metrics: [mrr], max_drop: '5%'}, mrr: {quantile: {0.1: 0}}}\n"
    )
    made = plan(text, TREC)
    snapshot = yaml.safe_load(made.info.snapshot)
    assert snapshot["dataset"]["qrels_path"] == "q.txt"
    assert snapshot["compare"]["run_old_path"] == "r.txt"
    assert snapshot["top_k"] == 7
    again = plan(made.info.snapshot, TREC)
    assert again.info.snapshot == made.info.snapshot
    assert again.info.metrics == made.info.metrics
    assert again.info.compare == made.info.compare
    assert again.cases == made.cases


def test_the_snapshot_of_a_corpus_scenario_runs_the_same(plan: MakePlan) -> None:
    text = (
        "name: s\nmetrics: [hit_rate]\ncorpus: c.jsonl\nmatch: contains\n"
        "dataset: [{id: a, contexts: [one], doc_name: a.pdf}]\n"
    )
    made = plan(text, CHUNKS)
    assert yaml.safe_load(made.info.snapshot)["corpus"]["path"] == "c.jsonl"
    assert plan(made.info.snapshot, CHUNKS).cases == made.cases


# Details


def test_what_a_search_returned_is_among_the_details(run: Callable[..., Any]) -> None:
    """D8: beginnings only; a ranking may have a thousand documents."""
    names = ", ".join(f"d{at}" for at in range(50))
    made: ScenarioResult = run(
        "name: s\nmetrics: [mrr]\ndataset:\n"
        f"- {{id: a, retrieved_ids: [{names}], reference_ids: {{d3: 2, d4: 0, z: 1}}}}\n"
    )
    details = made.samples[0].details["retrieval"]
    assert (details["retrieved"], details["relevant"], details["found"]) == (50, 2, 1)
    assert details["first"][:5] == [["d0", None], ["d1", None], ["d2", None], ["d3", 2], ["d4", 0]]
    assert len(details["first"]) == 10


def test_grades_beside_ids_are_asked_about_where_citations_take_the_ids(
    problems: Problems, plan: MakePlan
) -> None:
    """A document of grade 0 was gold."""
    row = "{answer: 'It is [1].', retrieved_ids: [d1], reference_ids: [d1, d2], relevance: [0, 2]}"
    text = f"name: s\ndataset: [{row}]\nmetrics: [source_precision]\ncitations: {{base: 1}}\n"
    (found,) = problems(text)
    assert "'relevance' has values of 0 or below" in found
    # Where all rows say what is to be cited, the ids are not read.
    assert plan(text.replace("{answer:", "{reference_citations: [1], answer:")).required
