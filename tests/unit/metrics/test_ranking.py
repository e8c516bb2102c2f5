"""D4, B1, B2: measures of a search result, worked by hand, by ids and by contexts."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_metrics import made
from pydantic import ValidationError

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.metrics.ranking import RankingMetric, score_rankings
from pytest_rageval.model import Sample, Score

ROWS = tomllib.loads(Path(__file__).with_name("ranking.toml").read_text("utf-8"))

# b, d and x are relevant (3 of them), b and d were found at the ranks 2 and 4; c and e are not
# judged. Best order: d 3, x 2, b 1.
SEARCH = Sample(
    "q",
    retrieved_ids=("a", "b", "c", "d", "e"),
    reference_ids={"a": 0, "b": 1, "d": 3, "x": 2},
)
LOG3, LOG5 = math.log2(3), math.log2(5)


def score(name: str, sample: Sample = SEARCH, **options: Any) -> Score:
    found: Score = made(name, **options).score(sample, ScoringContext())
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("precision@1", 0.0),
        ("precision@2", 1 / 2),
        ("precision@5", 2 / 5),
        ("precision@10", 2 / 10),
        ("precision", 2 / 5),
        ("recall@1", 0.0),
        ("recall@2", 1 / 3),
        ("recall@100", 2 / 3),
        ("recall", 2 / 3),
        ("mrr", 1 / 2),
        ("mrr@1", 0.0),
        ("mrr@2", 1 / 2),
        ("hit_rate@1", 0.0),
        ("hit_rate@2", 1.0),
        ("hit_rate", 1.0),
        ("map", (1 / 2 + 2 / 4) / 3),
        ("map@3", (1 / 2) / 3),
        ("rprec", 1 / 3),
        # The one judged document that is not relevant stands above both.
        ("bpref", 0.0),
        ("ndcg", (1 / LOG3 + 3 / LOG5) / (3 + 2 / LOG3 + 1 / 2)),
        ("ndcg@2", (1 / LOG3) / (3 + 2 / LOG3)),
        ("ndcg@1", 0.0),
        # From grade 2 upwards: d and x, of which d was found at rank 4.
        ("precision(rel=2)@5", 1 / 5),
        ("recall(rel=2)", 1 / 2),
        ("mrr(rel=2)", 1 / 4),
        ("mrr(rel=2)@3", 0.0),
        ("hit_rate(rel=2)@3", 0.0),
        ("hit_rate(rel=2)@4", 1.0),
        ("map(rel=2)", (1 / 4) / 2),
        ("rprec(rel=2)", 0.0),
        ("mrr(rel=4)", 0.0),
        # Without c and e the ranking is a, b, d.
        ("precision(judged_only=True)@3", 2 / 3),
        ("precision(judged_only=True)", 2 / 3),
        ("recall(judged_only=True)@3", 2 / 3),
        ("map(judged_only=True)", (1 / 2 + 2 / 3) / 3),
        ("mrr(rel=2,judged_only=True)", 1 / 3),
        ("hit_rate(rel=2,judged_only=True)@3", 1.0),
        ("ndcg(judged_only=True)@3", (1 / LOG3 + 3 / 2) / (3 + 2 / LOG3 + 1 / 2)),
        # A gain for each grade; 2 is its own.
        ("ndcg(gains={1: 10, 3: 0})", (10 / LOG3) / (10 + 2 / LOG3)),
    ],
)
def test_measures_of_a_search(name: str, expected: float) -> None:
    """D4, B1, B2."""
    assert score(name).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("written", "label"),
    ROWS["other_systems_names_are_ours"],
)
def test_other_systems_names_are_ours(written: str, label: str) -> None:
    """D4, B1, B2: ir-measures, trec_eval and DB-GPT."""
    assert score(written).metric == label


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ndcg", {"k": 0}),
        ("ndcg", {"k": -1}),
        ("ndcg", {"k": 1.5}),
        ("ndcg", {"k": "10"}),
        ("ndcg", {"k": True}),
        ("ndcg", {"k": 2**63}),
        ("mrr", {"k": 10**400}),
        ("precision", {"rel": 0}),
        ("precision", {"rel": 1.0}),
        ("rprec", {"k": 5}),
        ("map", {"match": "exact"}),
        ("ndcg", {"dcg": "exp-log2"}),
        ("ndcg", {"gains": {1: "many"}}),
        ("ndcg", {"gains": {1: 10**9}}),
        ("mrr", {"on": "texts"}),
        ("mrr", {"match": "fuzzy"}),
    ],
)
def test_options_that_no_measure_has(name: str, options: dict[str, Any]) -> None:
    """D4: refused before anything reaches trec_eval's C code."""
    with pytest.raises(ValidationError):
        made(name, **options)


MEASURES = ("precision@5", "recall@5", "mrr", "map", "ndcg@5", "hit_rate@5", "rprec", "bpref")


@pytest.mark.parametrize("name", MEASURES)
def test_a_search_without_results_scores_zero(name: str) -> None:
    """D5: as trec_eval -c; an answer, and no missing one."""
    assert score(name, Sample("q", retrieved_ids=(), reference_ids={"a": 1})).value == 0.0


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("judged", [{"a": 0}, {"a": -1}, {"x": 0}])
def test_a_search_without_relevant_documents_scores_zero(name: str, judged: Any) -> None:
    """D5: as trec_eval -c, which counts such a query."""
    assert score(name, Sample("q", retrieved_ids=("a",), reference_ids=judged)).value == 0.0


@pytest.mark.parametrize("name", MEASURES)
def test_a_search_that_nobody_judged_is_unscored(name: str) -> None:
    """A6: there is nothing to be right about."""
    found = score(name, Sample("q", retrieved_ids=("a",), reference_ids={}))
    assert (found.value, found.reason) == (
        None,
        "no document is judged: reference_ids are empty",
    )


@pytest.mark.parametrize(
    "ids",
    [("文档 一", "文档 二"), ("a b", "a\tb"), ("", " "), ("q::1", "q::2"), ("0", "00")],
)
def test_ids_may_be_any_text(ids: tuple[str, str]) -> None:
    """D5: blanks, Chinese, none at all: the second is relevant and stands first."""
    sample = Sample("q", retrieved_ids=(ids[1], ids[0]), reference_ids={ids[1]: 1})
    assert score("mrr", sample).value == 1.0


@pytest.mark.full
@pytest.mark.parametrize(
    "ids", [("x", "\ud800"), ("\ud800", "x"), ("a\0b", "a\0c"), ("a", "a\0")], ids=ascii
)
def test_ids_that_no_c_string_can_hold(ids: tuple[str, str]) -> None:
    """D5: trec_eval's C code must never see them. In a process of its own, which such an id ended.

    The second one is relevant and stands second: 1/2.
    """
    code = f"""
from pytest_rageval.metrics.ranking import METRICS
from pytest_rageval.metrics.base import ScoringContext
from pytest_rageval.model import Sample
(mrr,) = (found for found in METRICS if found.name == "mrr")
sample = Sample("q", retrieved_ids={ids!a}, reference_ids={{{ids[1]!a}: 1}})
print(mrr.make("mrr", mrr.options()).score(sample, ScoringContext()).value)
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.5\n", "")


@pytest.mark.full
@pytest.mark.parametrize("judged", [{"x": -2}, {"x": -1, "y": -2}, {"x": -1000}, {"x": -1}])
def test_grades_that_no_c_array_can_hold(judged: dict[str, int]) -> None:
    """D5: TREC's web tracks mark spam with -2; a query with nothing else ended the process.

    There is nothing to find in it: 0 for each measure, and 1 for the sample beside it.
    """
    code = f"""
from pytest_rageval.metrics.ranking import METRICS, score_rankings
from pytest_rageval.model import Sample
made = [found.make(found.name, found.options()) for found in METRICS]
spam = Sample("q", 0, retrieved_ids=("a", "x", "b", "c"), reference_ids={judged})
good = Sample("g", 1, retrieved_ids=("a",), reference_ids=dict(a=1))
for row in score_rankings(made, [spam, good]):
    assert [score.value for score in row] == [0.0, 1.0], row
print("alive")
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "alive\n", "")


@pytest.mark.parametrize("grade", [10, 1000])
@pytest.mark.parametrize("name", MEASURES)
def test_grades_may_be_large(name: str, grade: int) -> None:
    """D4: only nDCG weighs by grade, and a single relevant document stands where it should."""
    expected = 1 / 5 if name == "precision@5" else 1.0
    assert score(name, Sample("q", retrieved_ids=("x",), reference_ids={"x": grade})).value == (
        expected
    )


@pytest.mark.full
def test_the_order_is_that_of_the_row_and_not_of_the_ids() -> None:
    """D5: no score is made up that could tie, however long the ranking."""
    names = tuple(f"d{number:05d}" for number in range(20_000))
    for at in (0, 9_999, 16_777, 19_999):
        sample = Sample("q", retrieved_ids=names, reference_ids={names[at]: 1})
        assert score("mrr", sample).value == pytest.approx(1 / (at + 1), abs=1e-15)
        assert score(f"mrr@{at + 1}", sample).value == pytest.approx(1 / (at + 1), abs=1e-15)
        assert score(f"mrr@{at or 1}", sample).value == (1.0 if at == 0 else 0.0)


# Many at once


def search(index: int, retrieved: Sequence[str], judged: Mapping[str, int]) -> Sample:
    return Sample(f"q{index}", index, retrieved_ids=tuple(retrieved), reference_ids=judged)


def test_a_batch_scores_each_sample_as_it_would_be_alone() -> None:
    """D4: one call of ir-measures; samples may have equal ids."""
    samples = [
        search(0, "ab", {"a": 1}),
        search(1, "ab", {"b": 1}),
        search(2, "", {"b": 1}),
        search(3, "ab", {"c": 1}),
    ]
    metrics = [made("mrr"), made("hit_rate@1"), made("hit_rate"), made("mrr@1")]
    found = score_rankings(metrics, samples)
    assert [[one.value for one in row] for row in found] == [
        [1.0, 0.5, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
    ]
    for metric, row in zip(metrics, found, strict=True):
        assert [one.metric for one in row] == [metric.name] * 4
        alone = [metric.score(sample, ScoringContext()) for sample in samples]
        assert alone == row


def test_ir_measures_is_asked_once_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """D4: one batch, whatever the number of samples; equal measures are asked once."""
    import ir_measures

    calls: list[Any] = []
    original: Callable[..., Any] = ir_measures.pytrec_eval.iter_calc

    def counted(measures: Any, qrels: Any, run: Any) -> Any:
        calls.append((sorted(map(str, measures)), len(qrels)))
        return original(measures, qrels, run)

    monkeypatch.setattr(ir_measures.pytrec_eval, "iter_calc", counted)
    samples = [search(at, "abc", {"b": 1}) for at in range(50)]
    score_rankings([made("mrr"), made("mrr@2"), made("hit_rate@1"), made("P@2")], samples)
    assert calls == [(["P@2", "RR"], 50)]


def test_nothing_to_score_is_no_call() -> None:
    assert score_rankings([made("mrr")], []) == [[]]
    assert score_rankings([], [SEARCH]) == []


# Contexts

CONTEXTS = Sample("s", contexts=("x", "B!", "a"), reference_contexts=("a", "b", "c"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hit_rate", 1.0),
        ("hit_rate@1", 0.0),
        ("mrr", 1 / 2),
        ("mrr@1", 0.0),
        ("precision", 2 / 3),
        ("precision@2", 1 / 2),
        ("recall", 2 / 3),
        ("recall@2", 1 / 3),
    ],
)
def test_contexts_are_compared_where_there_are_no_ids(name: str, expected: float) -> None:
    """B1, B2, B4: "B!" is the expected "b" but for spelling."""
    assert score(name, CONTEXTS).value == pytest.approx(expected, abs=1e-15)


def test_the_match_is_an_option() -> None:
    """B4: exactly, only "a" at rank 3 is expected."""
    assert score("mrr", CONTEXTS, match="exact").value == pytest.approx(1 / 3, abs=1e-15)


def test_ids_come_first_unless_told_otherwise() -> None:
    """B1: by ids the first hit is at rank 2, by contexts at rank 1."""
    both = Sample(
        "s",
        contexts=("a",),
        reference_contexts=("a",),
        retrieved_ids=("x", "d"),
        reference_ids={"d": 1},
    )
    assert score("mrr", both).value == 1 / 2
    assert score("mrr", both, on="ids").value == 1 / 2
    assert score("mrr", both, on="contexts").value == 1.0
    assert score("mrr", both, on="contexts").reason is None
    lost = replace(both, retrieved_ids=None)
    assert score("mrr", lost).value == 1.0
    assert score("mrr", lost).reason == "ids are expected, and none were retrieved"


@pytest.mark.parametrize(
    ("sample", "options", "reason"),
    [
        (
            Sample("s", contexts=("a",), reference_contexts=()),
            {},
            "the row has no contexts, or expects none (reference_contexts)",
        ),
        (CONTEXTS, {"on": "ids"}, "the row has no retrieved_ids and reference_ids"),
        (
            Sample("s", contexts=("a",), context_docs=None, doc_name="a.pdf"),
            {"match": "doc_name"},
            "no context names its document, or the row has no doc_name",
        ),
    ],
)
def test_what_cannot_be_compared_is_unscored(
    sample: Sample, options: dict[str, Any], reason: str
) -> None:
    """A6: a reason, and never 0."""
    found = score("hit_rate", sample, **options)
    assert (found.value, found.reason) == (None, reason)


def test_measures_of_whole_rankings_know_ids_only() -> None:
    assert score("map", CONTEXTS).value is None
    assert score("ndcg@5", CONTEXTS).value is None


@pytest.mark.parametrize(
    ("options", "needs", "or_needs"),
    [
        ({}, {"retrieved_ids", "reference_ids"}, {"contexts", "reference_contexts"}),
        ({"on": "ids"}, {"retrieved_ids", "reference_ids"}, set()),
        ({"on": "contexts"}, {"contexts", "reference_contexts"}, set()),
        ({"match": "doc_name"}, {"retrieved_ids", "reference_ids"}, {"context_docs", "doc_name"}),
        ({"match": "doc_name", "on": "contexts"}, {"context_docs", "doc_name"}, set()),
    ],
)
def test_what_a_metric_needs_depends_on_what_it_compares(
    options: dict[str, Any], needs: set[str], or_needs: set[str]
) -> None:
    """B4: so that a scenario without these fields is refused before anything runs."""
    definition = METRIC_REGISTRY.get("hit_rate")
    info = definition.options.model_validate(options).adapt(definition.info)
    assert (info.needs, info.or_needs) == (needs, or_needs)


def test_rows_of_both_kinds_are_scored_in_one_batch() -> None:
    metric: RankingMetric = made("mrr")
    samples = [SEARCH, Sample("c", 1, contexts=("x", "a"), reference_contexts=("a",))]
    ((by_ids, by_contexts),) = score_rankings([metric], samples)
    assert (by_ids.value, by_contexts.value) == (1 / 2, 1 / 2)
