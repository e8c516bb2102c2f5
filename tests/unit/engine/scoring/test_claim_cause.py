"""G6: the cause of a low answer by its claims: the most of them decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from claim_tables import ALL, Table

from pytest_rageval.engine.scoring.cause import find_cause
from pytest_rageval.model import (
    SUPPORT,
    Diagnosis,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
)

Info = Callable[..., ScenarioInfo]


def cause(
    info: ScenarioInfo,
    table: Table,
    names: tuple[str, ...] = ALL,
    sample: Sample | None = None,
    **scores: float,
) -> tuple[str, str]:
    result = SampleResult("s", 0, scores=scores, details={SUPPORT: table.fill(names).details()})
    found = find_cause(info, Diagnosis(), sample or table.sample, result)
    return found.cause, found.reason


@pytest.mark.parametrize(
    ("table", "expected", "reason"),
    [
        # Reference claims: two nowhere, one in the first context.
        (Table(2, "E", "NNN", ["NN"], ["NN", "NN", "EN"]), "retrieval",
         "2 reference claims are in no context, 1 is in contexts[1] and not in the answer"),
        (Table(2, "E", "NPN", ["NN"], ["NE", "EN", "NN"]), "generation",
         "2 reference claims are in contexts[1], contexts[2] and not in the answer, 1 is in no "
         "context"),
        # As many: retrieval first, then what is made up.
        (Table(1, "E", "NN", ["N"], ["N", "E"]), "retrieval",
         "1 reference claim is in no context, 1 is in contexts[1] and not in the answer"),
        (Table(1, "N", "N", ["N"], ["E"]), "unfaithful",
         "1 answer claim is in no context and not in the reference, "
         "1 reference claim is in contexts[1] and not in the answer"),
        (Table(1, "N", "N", ["N"], ["N"]), "retrieval",
         "1 reference claim is in no context, "
         "1 answer claim is in no context and not in the reference"),
        (Table(1, "NNE", "NE", ["N", "N", "N"], ["N", "E"]), "unfaithful",
         "2 answer claims are in no context and not in the reference, "
         "1 reference claim is in no context"),
        (Table(0, "E", "N", [""], [""]), "retrieval", "1 reference claim is in no context"),
        # What the answer says of itself, and is right, is no fault; nor what a context says.
        (Table(1, "EN", "N", ["N", "E"], ["E"]), "generation",
         "1 reference claim is in contexts[1] and not in the answer"),
        # Earlier turns may support it.
        (Table(1, "N", "N", ["N"], ["E"], history="E"), "generation",
         "1 reference claim is in contexts[1] and not in the answer"),
    ],
)  # fmt: skip
def test_the_cause_of_most_claims_decides(
    info: Info, table: Table, expected: str, reason: str
) -> None:
    assert cause(info(), table) == (expected, reason)


@pytest.mark.parametrize(
    "names",
    [("claim_recall",), ("claim_recall", "claim_precision"), ("context_claim_recall",)],
)
def test_words_decide_where_the_contexts_or_the_answer_were_not_asked(
    info: Info, names: tuple[str, ...]
) -> None:
    """``claim_recall`` alone does not know what the contexts have."""
    table = Table(1, "N", "N", ["N"], ["N"])
    sample = replace(table.sample, references=("context 1 says",), answer="What is it?")
    assert cause(info(), table, names, sample)[0] == "generation"


def test_words_decide_where_no_claim_is_missing_and_contexts_were_not_asked(info: Info) -> None:
    table = Table(1, "E", "E", ["E"], ["E"])
    sample = replace(table.sample, references=("nowhere to be found",))
    found = cause(info(), table, ("claim_recall",), sample)
    assert found == ("retrieval", "no context holds the reference")


def test_what_the_judge_failed_at_has_no_cause(info: Info) -> None:
    """A context that was not judged may have the claim."""
    table = Table(2, "E", "N", ["EE"], ["NN"])
    details: dict[str, Any] = table.fill().details()
    place = [source["index"] for source in details["sources"]].index([2])
    for cells in details["cells"]:
        cells[place] = ["failed", "no reply"]
    sample = replace(table.sample, references=("context 1 says otherwise",), answer="is it")
    result = SampleResult("s", 0, details={SUPPORT: details})
    found = find_cause(info(), Diagnosis(), sample, result)
    assert (found.cause, found.reason) == (
        "generation", "the contexts hold the reference, and the answer missed it"
    )  # fmt: skip


def test_an_answer_whose_claims_are_all_right_missed_nothing(info: Info) -> None:
    """Its citations may be wrong. A claim is one fact, in words of the judge's own."""
    table = Table(1, "E", "EE", ["E"], ["E", "E"])
    expected = "no claim is missing, and each is in the contexts: citation_recall is low"
    columns = (MetricColumn("claim_recall"), MetricColumn("citation_recall"))
    scores = {"claim_recall": 1.0, "citation_recall": 0.0}
    assert cause(info(*columns), table, **scores) == ("generation", expected)


def test_an_answer_with_each_claim_of_the_reference_did_not_miss_it(info: Info) -> None:
    """Whatever else it says: its own claims were not asked for."""
    table = Table(1, "E", "E", ["E"], ["E"])
    sample = replace(table.sample, references=("context 1 says",), answer="is it")
    found = cause(info(), table, ("claim_recall",), sample, claim_recall=1.0)
    assert found == (
        "generation", "the contexts hold the reference, and so does the answer: its score is low"
    )  # fmt: skip


def test_a_reference_that_stands_in_a_context_is_no_fault_of_retrieval(info: Info) -> None:
    """Whatever the judge says of its claims."""
    table = Table(1, "E", "N", ["E"], ["N"])
    sample = replace(table.sample, references=("context 1 says",), answer="is it")
    assert cause(info(), table, sample=sample)[0] == "generation"


def test_an_answer_to_what_has_none_stays_unfaithful(info: Info) -> None:
    table = Table(1, "N", "N", ["N"], ["N"])
    sample = replace(table.sample, answerable=False)
    assert cause(info(), table, sample=sample) == (
        "unfaithful", "the documents hold no answer, and the answer gives one"
    )  # fmt: skip
