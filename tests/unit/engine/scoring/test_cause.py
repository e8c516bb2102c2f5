"""E21: the cause of a low answer, from scores where there are any, else from words.

G6: by its claims: the most of them decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from claim_tables import ALL, Table

from pytest_rageval.engine.scoring.cause import find_cause, with_cause
from pytest_rageval.metrics.base import AnswerKind, AnswerReading
from pytest_rageval.model import (
    SUPPORT,
    Bound,
    Diagnosis,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
)

Info = Callable[..., ScenarioInfo]
RIGHT = "Faust is a play by Goethe."
WRONG = "Don Carlos is a play by Schiller."
BY_WORDS = Diagnosis()
BY_SCORES = Diagnosis("context_recall", "faithfulness")
COLUMNS = (MetricColumn("context_recall"), MetricColumn("faithfulness"))


def sample(answer: str | None = "Schiller", *contexts: str, **fields: Any) -> Sample:
    known = {"question": "Who wrote Faust?", "references": ("Goethe",), "contexts": contexts}
    return Sample("q", answer=answer, **(known | fields))


def cause(
    info: ScenarioInfo, asked: Sample, diagnosis: Diagnosis = BY_WORDS, **scores: float | None
) -> tuple[str, str]:
    found = find_cause(info, diagnosis, asked, SampleResult("q", 0, scores=scores))
    return found.cause, found.reason


HELD = "the contexts hold the reference"
SAYS = f"{HELD}, but not what the answer says:"


@pytest.mark.parametrize(
    ("asked", "expected", "reason"),
    [
        (sample("Schiller", WRONG), "retrieval", "no context holds the reference"),
        (sample("Schiller"), "retrieval", "there are no contexts"),
        (sample("Goethe", WRONG), "retrieval", "no context holds the reference"),
        (sample("a play", WRONG, RIGHT), "generation", f"{HELD}, and the answer missed it"),
        (sample("Who wrote?", RIGHT), "generation", f"{HELD}, and the answer missed it"),
        (sample(" ", RIGHT), "generation", f"{HELD}, and the answer is empty"),
        (sample("I don't know.", RIGHT), "generation", f"{HELD}, and the answer refuses"),
        (sample("Thanks for asking! I don't know.", RIGHT), "generation",
         f"{HELD}, and the answer refuses"),
        (sample("Thanks for asking! Schiller.", RIGHT), "unfaithful",
         f"{SAYS} thanks, asking, schiller"),
        (sample("Schiller", RIGHT), "unfaithful", f"{SAYS} schiller"),
        (sample("A play of 1759", RIGHT), "unfaithful", f"{SAYS} 1759"),
        (sample("席勒", "浮士德是歌德的", references=("歌德",)), "unfaithful",
         f"{SAYS} 席勒"),
        (sample(None, RIGHT), "unknown", f"{HELD}, and there is no answer"),
        (sample(contexts=None), "unknown", "no contexts"),
        (sample("x", RIGHT, references=None), "unknown", "no references"),
        (sample("x", RIGHT, references=("Yes.",)), "unknown", "no words to look for in 'Yes.'"),
        (sample(None, WRONG), "retrieval", "no context holds the reference"),
    ],
)  # fmt: skip
def test_words_tell_the_cause(info: Info, asked: Sample, expected: str, reason: str) -> None:
    """E21: "A play of 1759" has two words; one of them, half, is nowhere else."""
    assert cause(info(), asked) == (expected, reason)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        # 3 of the 5 words: 0.6.
        ("Four stalls close.", "generation"),
        ("Four stalls open.", "retrieval"),
    ],
)
def test_contexts_hold_a_reference_with_three_fifths_of_its_words(
    info: Info, context: str, expected: str
) -> None:
    """E21: a reference in other words."""
    asked = sample("", context, references=("The market stalls close at four daily.",))
    assert cause(info(), asked)[0] == expected


@pytest.mark.parametrize(
    "context", ["Faust, a play by Goethe", "He wrote Faust, a play by Goethe, early."]
)
def test_a_part_or_the_whole_of_an_expected_context_is_enough(info: Info, context: str) -> None:
    """E21: chunks are cut differently; no reference answer is needed."""
    fields: dict[str, Any] = {
        "references": None,
        "reference_contexts": ("Faust, a play by Goethe",),
    }
    assert cause(info(), sample("", context, **fields))[0] == "generation"
    assert cause(info(), sample("", "a play", **fields))[0] == "generation"
    assert cause(info(), sample("", WRONG, **fields))[0] == "retrieval"


@pytest.mark.parametrize(
    ("recall", "faithfulness", "expected", "reason"),
    [
        (0.4, 1.0, "retrieval", "context_recall 0.4000 < 0.5000"),
        (0.5, 0.9, "generation", "context_recall 0.5000 >= 0.5000, and the answer missed it"),
        (
            0.9,
            0.1,
            "unfaithful",
            "context_recall 0.9000 >= 0.5000, and faithfulness 0.1000 < 0.5000",
        ),
        (None, None, "retrieval", "no context holds the reference"),
    ],
)
def test_scores_tell_the_cause_where_there_are_any(
    info: Info, recall: float | None, faithfulness: float | None, expected: str, reason: str
) -> None:
    """E21: the middle of the range is the cut."""
    asked = sample("Schiller", WRONG)
    scores = {"context_recall": recall, "faithfulness": faithfulness}
    assert cause(info(*COLUMNS), asked, BY_SCORES, **scores) == (expected, reason)


def test_a_threshold_is_the_cut_of_its_metric(info: Info) -> None:
    """E21."""
    strict = info(*COLUMNS, thresholds={"context_recall": Bound(min=0.95)})
    assert cause(strict, sample("x", WRONG), BY_SCORES, context_recall=0.9)[0] == "retrieval"


def test_the_cut_is_the_middle_also_where_lower_is_better(info: Info) -> None:
    """E21: missing passages, 0 to 4: 3 is bad, 1 good."""
    lost = info(MetricColumn("lost", ends=(0.0, 4.0), higher_is_better=False))
    found = [cause(lost, sample("", WRONG), Diagnosis("lost"), lost=at)[0] for at in (3.0, 1.0)]
    assert found == ["retrieval", "generation"]


def test_where_a_reference_stands_the_cause_is_never_retrieval(info: Info) -> None:
    """E21: whatever a judge says."""
    found = cause(info(*COLUMNS), sample("", RIGHT), BY_SCORES, context_recall=0.0)
    assert found == ("generation", f"{HELD}, and the answer is empty")


def test_an_answer_that_holds_the_reference_did_not_miss_it(info: Info) -> None:
    """What is low is named instead."""
    expected = f"{HELD}, and so does the answer: em is low"
    columns = MetricColumn("f1"), MetricColumn("em")
    found = find_cause(
        info(*columns),
        Diagnosis(),
        sample("It is by Goethe", RIGHT),
        SampleResult("q", 0, scores={"f1": 0.5, "em": 0.0}),
    )
    assert (found.cause, found.reason) == ("generation", expected)


@pytest.mark.parametrize(
    ("thresholds", "low"),
    [
        ({}, "em"),
        ({"weighted_score": Bound(min=0.9)}, "em"),
        ({"f1": Bound(min=0.5)}, "f1"),
        ({"f1": Bound(min=0.5), "em": Bound(min=1.0)}, "em"),
        ({"latency_s": Bound(max=2.0)}, "latency_s"),
        ({"latency_s": Bound(max=9.0)}, "em"),
    ],
)
def test_what_is_low_misses_a_threshold_or_enters_the_score(
    info: Info, thresholds: dict[str, Bound], low: str
) -> None:
    """2.5 s would be -1.5 in units of a score, and ``cited`` is worst: neither weighs anything."""
    seconds = MetricColumn("latency_s", 0.0, (0.0, None), higher_is_better=False)
    made = info(
        MetricColumn("f1"), MetricColumn("em"), seconds, MetricColumn("cited", 0.0),
        thresholds=thresholds,
    )  # fmt: skip
    scores = {"f1": 0.13, "em": 0.1, "latency_s": 2.5, "cited": 0.0}
    expected = f"{HELD}, and so does the answer: {low} is low"
    assert cause(made, sample("Goethe", RIGHT), **scores) == ("generation", expected)


def test_a_refusal_is_not_unfaithful(info: Info) -> None:
    """E21: though a judge finds no support for it."""
    asked = sample("I cannot answer that.", RIGHT)
    assert cause(info(*COLUMNS), asked, BY_SCORES, faithfulness=0.0)[0] == "generation"


REFUSES = ("generation", f"{HELD}, and the answer refuses")
GIVEN = ("unfaithful", "the documents hold no answer, and the answer gives one")


@pytest.mark.parametrize(
    ("answer", "kind", "expected"),
    [
        ("Dazu liegt nichts vor.", "refused", REFUSES),
        # The fact that was expected, in words that refuse.
        ("I cannot answer that.", "answered", ("unfaithful", f"{SAYS} cannot, answer")),
        # The judge who was to tell it failed: phrases do.
        ("I cannot answer that.", "failed", REFUSES),
        ("Dazu liegt nichts vor.", None, ("unfaithful", f"{SAYS} dazu, liegt, nichts")),
    ],
)
def test_refusals_are_told_as_the_scenario_tells_them(
    info: Info, answer: str, kind: AnswerKind | None, expected: tuple[str, str]
) -> None:
    low = SampleResult("q", 0, weighted_score=0.0)
    reading = AnswerReading(kind) if kind else None
    given = info(diagnose=BY_WORDS)
    found = with_cause(given, sample(answer, RIGHT), low, reading)
    assert (found.cause, found.cause_reason) == expected
    unanswerable = with_cause(given, sample(answer, RIGHT, answerable=False), low, reading)
    is_refused = expected == REFUSES
    assert (unanswerable.cause, unanswerable.cause_reason) == (REFUSES if is_refused else GIVEN)


def test_an_answer_of_nothing_but_markers_gives_none(info: Info) -> None:
    low, markers = SampleResult("q", 0, weighted_score=0.0), AnswerReading("empty")
    found = with_cause(
        info(diagnose=BY_WORDS), sample("[1]", RIGHT, answerable=False), low, markers
    )
    assert (found.cause, found.cause_reason) == ("generation", f"{HELD}, and the answer is empty")


def test_an_answer_that_may_refuse_in_another_language_gives_none(info: Info) -> None:
    low, asked = SampleResult("q", 0, weighted_score=0.0), sample("Ei tietoa.", RIGHT)
    asked = replace(asked, answerable=False)
    found = with_cause(info(diagnose=BY_WORDS), asked, low, AnswerReading("unclear"))
    may = "the answer may refuse, in a language whose refusals are not known"
    expected = ("unknown", f"the documents hold no answer, and {may}")
    assert (found.cause, found.cause_reason) == expected


def test_only_low_answers_have_a_cause_and_only_where_it_is_asked_for(info: Info) -> None:
    """E21: without thresholds low is below ``bands.warn``."""
    asked = sample("Schiller", WRONG)
    result = SampleResult("q", 0, weighted_score=0.5)
    given = {"diagnose": BY_WORDS, "bands": (0.8, 0.6)}
    assert with_cause(info(**given), asked, result).cause == "retrieval"
    assert with_cause(info(bands=(0.8, 0.6)), asked, result) is result
    assert with_cause(info(**(given | {"bands": (0.8, 0.5)})), asked, result) is result
    kept = info(**given, thresholds={"weighted_score": Bound(min=0.4)})
    assert with_cause(kept, asked, result) is result
    missed = info(**given, thresholds={"weighted_score": Bound(min=0.7)})
    assert with_cause(missed, asked, result).cause == "retrieval"
    assert with_cause(info(**given), asked, SampleResult("q", 0)).cause is None


def table(*nuggets: tuple[str, str, str | None, str | None]) -> dict[str, Any]:
    """Return the details of nuggets: importance, text, its levels in answer and contexts."""
    return {
        "support": {
            "statements": [
                {"text": text, "of": "nugget", "number": at, "cites": [], "importance": importance}
                for at, (importance, text, *_) in enumerate(nuggets, 1)
            ],
            "sources": [{"kind": "answer", "index": []}, {"kind": "contexts", "index": [1, 2]}],
            "cells": [
                [None if level is None else [level, ""] for level in levels]
                for _, _, *levels in nuggets
            ],
        }
    }


@pytest.mark.parametrize(
    ("nuggets", "expected", "reason"),
    [
        ([("vital", "a", "none", "full")], "generation",
         'the answer lacks nuggets: 1 that the contexts have ("a")'),
        ([("vital", "a", "partial", "partial"), ("vital", "b", "full", "none")], "retrieval",
         'the answer lacks nuggets: 1 that no context has ("a")'),
        ([("vital", "a", "none", "full"), ("vital", "b", "none", "none")], "retrieval",
         'the answer lacks nuggets: 1 that no context has ("b"), 1 that the contexts have ("a")'),
        ([("vital", "a", "none", "full"), ("okay", "b", "none", "none")], "generation",
         'the answer lacks nuggets: 1 that the contexts have ("a")'),
        ([("okay", "b", "none", "none")], "retrieval",
         'the answer lacks nuggets: 1 that no context has ("b")'),
        ([("vital", "a", "full", "none")], "retrieval", "no context holds the reference"),
        ([("vital", "a", "none", None)], "retrieval", "no context holds the reference"),
        ([("vital", "a", "none", "failed")], "retrieval", "no context holds the reference"),
    ],
)  # fmt: skip
def test_nuggets_that_were_looked_for_in_both_decide(
    info: Info, nuggets: Any, expected: str, reason: str
) -> None:
    """G7: vital ones first; else, as here in the last three, the words of the reference."""
    made = info(MetricColumn("nugget_recall"), diagnose=BY_WORDS)
    low = SampleResult("q", 0, scores={"nugget_recall": 0.0}, details=table(*nuggets))
    found = with_cause(made, sample("Schiller", WRONG), replace(low, weighted_score=0.0))
    assert (found.cause, found.cause_reason) == (expected, reason)


@pytest.mark.parametrize(
    ("name", "details", "expected"),
    [
        ("support", {}, "retrieval"),
        ("support", {"other": {"mine": 1}}, "retrieval"),
        ("mine", {"mine": {"statements": 1}}, "retrieval"),
        ("mine", {"mine": {"mine": 1}, "target": {"id": 7}}, "retrieval"),
        ("nugget_recall", table(("vital", "a", "none", "full")), "generation"),
        ("nugget_recall", table(("vital", "a", "full", "none")), "retrieval"),
        # A metric of that name has details of its own: the name is refused beside such a table.
        ("support", {"support": {"mine": 1}}, "retrieval"),
        ("support", {"support": {"statements": ["a"], "cells": []}}, "retrieval"),
        ("support", {"support": {"sources": ["a.md"]}}, "retrieval"),
        ("support", {"support": {"statements": 3, "sources": 2, "cells": 6}}, "retrieval"),
    ],
)
def test_details_of_a_metric_called_support_are_no_table(
    info: Info, name: str, details: dict[str, Any], expected: str
) -> None:
    made = info(MetricColumn(name), diagnose=BY_WORDS)
    low = SampleResult("q", 0, scores={name: 0.0}, details=details, weighted_score=0.0)
    found = with_cause(made, sample("Schiller", WRONG), low)
    assert (found.cause, found.details) == (expected, details)


def cause_of_claims(
    info: ScenarioInfo,
    table: Table,
    names: tuple[str, ...] = ALL,
    asked: Sample | None = None,
    **scores: float,
) -> tuple[str, str]:
    result = SampleResult("s", 0, scores=scores, details={SUPPORT: table.fill(names).details()})
    found = find_cause(info, Diagnosis(), asked or table.sample, result)
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
    assert cause_of_claims(info(), table) == (expected, reason)


@pytest.mark.parametrize(
    "names",
    [("claim_recall",), ("claim_recall", "claim_precision"), ("context_claim_recall",)],
)
def test_words_decide_where_the_contexts_or_the_answer_were_not_asked(
    info: Info, names: tuple[str, ...]
) -> None:
    """``claim_recall`` alone does not know what the contexts have."""
    table = Table(1, "N", "N", ["N"], ["N"])
    asked = replace(table.sample, references=("context 1 says",), answer="What is it?")
    assert cause_of_claims(info(), table, names, asked)[0] == "generation"


def test_words_decide_where_no_claim_is_missing_and_contexts_were_not_asked(info: Info) -> None:
    table = Table(1, "E", "E", ["E"], ["E"])
    asked = replace(table.sample, references=("nowhere to be found",))
    found = cause_of_claims(info(), table, ("claim_recall",), asked)
    assert found == ("retrieval", "no context holds the reference")


def test_what_the_judge_failed_at_has_no_cause(info: Info) -> None:
    """A context that was not judged may have the claim."""
    table = Table(2, "E", "N", ["EE"], ["NN"])
    details: dict[str, Any] = table.fill().details()
    place = [source["index"] for source in details["sources"]].index([2])
    for cells in details["cells"]:
        cells[place] = ["failed", "no reply"]
    asked = replace(table.sample, references=("context 1 says otherwise",), answer="is it")
    result = SampleResult("s", 0, details={SUPPORT: details})
    found = find_cause(info(), Diagnosis(), asked, result)
    assert (found.cause, found.reason) == (
        "generation", "the contexts hold the reference, and the answer missed it"
    )  # fmt: skip


def test_an_answer_whose_claims_are_all_right_missed_nothing(info: Info) -> None:
    """Its citations may be wrong. A claim is one fact, in words of the judge's own."""
    table = Table(1, "E", "EE", ["E"], ["E", "E"])
    expected = "no claim is missing, and each is in the contexts: citation_recall is low"
    columns = (MetricColumn("claim_recall"), MetricColumn("citation_recall"))
    scores = {"claim_recall": 1.0, "citation_recall": 0.0}
    assert cause_of_claims(info(*columns), table, **scores) == ("generation", expected)


def test_an_answer_with_each_claim_of_the_reference_did_not_miss_it(info: Info) -> None:
    """Whatever else it says: its own claims were not asked for."""
    table = Table(1, "E", "E", ["E"], ["E"])
    asked = replace(table.sample, references=("context 1 says",), answer="is it")
    found = cause_of_claims(info(), table, ("claim_recall",), asked, claim_recall=1.0)
    assert found == (
        "generation", "the contexts hold the reference, and so does the answer: its score is low"
    )  # fmt: skip


def test_a_reference_that_stands_in_a_context_is_no_fault_of_retrieval(info: Info) -> None:
    """Whatever the judge says of its claims."""
    table = Table(1, "E", "N", ["E"], ["N"])
    asked = replace(table.sample, references=("context 1 says",), answer="is it")
    assert cause_of_claims(info(), table, asked=asked)[0] == "generation"


def test_an_answer_to_what_has_none_stays_unfaithful(info: Info) -> None:
    table = Table(1, "N", "N", ["N"], ["N"])
    asked = replace(table.sample, answerable=False)
    assert cause_of_claims(info(), table, asked=asked) == (
        "unfaithful", "the documents hold no answer, and the answer gives one"
    )  # fmt: skip
