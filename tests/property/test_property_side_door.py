"""G1, G2: no gate turns green because an answer says less.

But crag_score: by its definition a refusal is better than a wrong answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claim_tables import source_of, statements_of
from fake_judge import share
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_models import ScriptedJudge
from table_judge import table_judge

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import Sample, SampleResult
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import strip_citations
from pytest_rageval.text.refusals import kind_of
from pytest_rageval.text.sentences import split_sentences

SCENARIO = """
name: door
judge: {model: j, base_url: "http://127.0.0.1:9/v1"}
citations: auto
refusals: phrases
metrics: [em, f1, acc, stringem, rouge1, bleu, chrf, must_include, must_not_include,
          citation_validity, citation_coverage, source_precision, source_recall,
          citation_recall, citation_precision, support_precision, support_recall,
          refusal, over_refusal]
thresholds: {f1: 0.4, citation_coverage: 0.5, must_not_include: 1, over_refusal: 0,
             citation_precision: 0.5, support_recall: 0.5}
dataset:
  - {question: q, answer: a, contexts: [b], references: [a], doc_name: d, answerable: true,
     must_include: a, must_not_include: zzz}
"""
REFUSALS = ("I don't know.", "The documents do not say.", "无法回答。", "抱歉，资料中没有提到。")
MARKERS = st.sampled_from(["[1]", "[2]", "[9]", "[1, 2]", ""])
WORDS = st.sampled_from(
    ["the tower opened in 1889", "It costs 5 euros", "I know", "该塔于1889年开放", "do not", "zzz"]
)
SENTENCES = st.tuples(WORDS, MARKERS).map(lambda parts: f"{parts[0]} {parts[1]}.")
ANSWERS = st.one_of(
    st.lists(SENTENCES, min_size=1, max_size=4).map(" ".join), st.sampled_from(REFUSALS)
)
ROWS = st.builds(
    Sample,
    st.just("s"),
    question=st.just("When?"),
    answer=ANSWERS,
    contexts=st.lists(WORDS, min_size=1, max_size=3).map(tuple),
    references=st.lists(WORDS, min_size=1, max_size=2).map(tuple),
    context_docs=st.none(),
    doc_name=st.sampled_from(["d", None]),
    reference_citations=st.sampled_from([None, (1,), (1, 2)]),
    answerable=st.sampled_from([True, None]),
    must_include=st.sampled_from([None, ("tower",), ("do not",)]),
    must_not_include=st.sampled_from([None, ("zzz",)]),
)


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path: Path = tmp_path_factory.mktemp("door") / "s.yaml"
    path.write_text(SCENARIO, "utf-8")
    return make_plan(path)


def weaker(sample: Sample, way: str) -> Sample:
    """Return the sample with an answer that says less."""
    answer = sample.answer or ""
    if way == "uncited":
        return replace(sample, answer=strip_citations(answer, CitationRule(), 3))
    return replace(sample, answer=way)


def is_better(column: Any, one: float | None, other: float | None) -> bool:
    """Return whether ``one`` is a better score than ``other``; none is better than a missing."""
    if one is None or other is None:
        return one is not None and other is None
    gain = one - other if column.higher_is_better else other - one
    return gain > 1e-9


def score(plan: Plan, sample: Sample, table: int) -> SampleResult:
    """Return the result of a sample by a judge whose ``table`` holds a level for each cell."""

    def look(text: str, sources: Sequence[str]) -> str:
        cell = share(f"{text} {'|'.join(sources)}", str(table))
        return ("none", "partial", "full")[int(3 * cell)]

    models = Models(judge=table_judge(look))
    found = asyncio.run(judge_sample(plan, sample, models))
    return score_case(plan, sample, Judgement(found))


def means(plan: Plan, results: Sequence[SampleResult]) -> Any:
    numbered = [replace(result, index=at) for at, result in enumerate(results)]
    return summarize_scenario(plan.info, numbered, complete=True)


@pytest.mark.full
@given(st.lists(ROWS, min_size=1, max_size=4), st.integers(0, 1000), st.data())
@settings(max_examples=150, deadline=None)
def test_saying_less_never_helps(
    door: Plan, rows: list[Sample], table: int, data: st.DataObject
) -> None:
    """Neither a mean that a gate compares, nor the weighted score, nor a threshold."""
    at = data.draw(st.integers(0, len(rows) - 1))
    way = data.draw(st.sampled_from(["uncited", "", "  ", *REFUSALS]))
    before = [score(door, row, table) for row in rows]
    after = list(before)
    after[at] = score(door, weaker(rows[at], way), table)
    was, now = means(door, before), means(door, after)
    for column in door.info.metrics:
        if column.name == "refusal" and rows[at].answerable is None:
            continue
        old, new = was.metrics[column.name].weighted_mean, now.metrics[column.name].weighted_mean
        assert not (old is not None and is_better(column, new, old)), (column.name, way, rows[at])
    old, new = was.weighted_score.mean, now.weighted_score.mean
    assert old is None or new is None or new <= old + 1e-9, (way, rows[at])
    missed = {fall.name for fall in shortfalls(before[at], door.info.thresholds)}
    still = {fall.name for fall in shortfalls(after[at], door.info.thresholds)}
    assert missed <= still, (way, rows[at])


CLAIMS = """
name: claims
judge: {model: m, base_url: http://127.0.0.1:9/v1}
citations: auto
refusals: phrases
metrics: [claim_precision, claim_recall, claim_f1, context_claim_recall, context_claim_precision,
          claim_utilization, noise_in_relevant, noise_in_irrelevant, hallucination,
          self_knowledge, claim_faithfulness]
thresholds: {claim_f1: 0.4, claim_faithfulness: 0.5, hallucination: 0.2, noise_in_relevant: 0}
metric_weights: {self_knowledge: 1}
dataset:
  - {question: q, answer: a, contexts: [b], references: [a], answerable: true}
"""


@pytest.fixture(scope="module")
def claims_door(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    path: Path = tmp_path_factory.mktemp("claims-door") / "s.yaml"
    path.write_text(CLAIMS, "utf-8")
    return make_plan(path)


def claims_in(prompt: str) -> Any:
    """Return each sentence as a claim; a refusal makes none."""
    found = split_sentences(source_of(prompt))
    return {"claims": [claim for claim in found if kind_of(claim) != "refused"]}


def support_by(prompt: str) -> Any:
    """Return full support where the source has a claim's words."""
    source = source_of(prompt)
    levels = ["full" if text.rstrip(".") in source else "none" for text in statements_of(prompt)]
    return {
        "verdicts": [
            {"n": n, "support": level, "reason": "no" if level == "none" else ""}
            for n, level in enumerate(levels, 1)
        ]
    }


def judged_by_words(plan: Plan, sample: Sample) -> SampleResult:
    models = Models(ScriptedJudge({"claims": claims_in, "support": support_by}))
    scores = asyncio.run(judge_sample(plan, sample, models))
    return score_case(plan, sample, Judgement(scores=scores))


@pytest.mark.full
@given(ROWS, st.sampled_from(["", "  ", *REFUSALS]))
@settings(max_examples=100, deadline=None)
def test_claiming_nothing_never_helps(claims_door: Plan, row: Sample, way: str) -> None:
    """No figure that a gate compares, no weighted score, no threshold; on any row with a claim."""
    row = replace(row, references=row.references and row.references[:1])
    before = judged_by_words(claims_door, row)
    after = judged_by_words(claims_door, weaker(row, way))
    assert before.errors == after.errors == {}
    for column in claims_door.info.metrics:
        old, new = before.scores[column.name], after.scores[column.name]
        # Nor may a figure leave its mean; what had none, for nothing was retrieved, is no gain.
        assert old is None or new is not None, (column.name, way, row)
        assert old is None or not is_better(column, new, old), (column.name, way, row)
    old, new = before.weighted_score, after.weighted_score
    assert old is None or new is None or new <= old + 1e-9, (way, row)
    missed = {fall.name for fall in shortfalls(before, claims_door.info.thresholds)}
    still = {fall.name for fall in shortfalls(after, claims_door.info.thresholds)}
    assert missed <= still, (way, row)
