"""E22: what is measured by the fields that were found, and what is only a comment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_rageval.datasets.proposer.columns import Table, columns_of
from pytest_rageval.datasets.proposer.propose import map_columns
from pytest_rageval.first_scenario.measures import A_JUDGE, Measures, measures_for

ROW = {"question": "How long do refunds take?", "reference": "five days"}


def measures(*rows: Mapping[str, Any]) -> Measures:
    table = Table(tuple(columns_of(rows)), len(rows), (), rows)
    return measures_for(table, map_columns(table, "data", {}))


def test_answers_and_references_are_compared_at_once() -> None:
    """Judged metrics are a comment: they need a model."""
    found = measures({**ROW, "answer": "five"}, {**ROW, "question": "Who?", "answer": "six"})
    assert found.metrics == ("em", "f1", "rouge-l")
    assert found.asks == ()
    assert found.later == ((("answer_correctness",), A_JUDGE),)


def test_without_answers_a_system_is_asked_for_them() -> None:
    """The search is a comment as long as nothing says what it found."""
    found = measures({**ROW, "relevant_ids": ["a"]})
    assert (found.metrics, found.asks) == (("coverem", "f1", "rouge-l"), ("answer",))
    assert found.later[0] == (("recall@5", "mrr"), "retrieved_ids: in each row, or from a target")


def test_gold_of_a_search_alone_asks_for_what_was_found() -> None:
    """Ids, or passages."""
    found = measures({"question": "Who pays?", "relevant_ids": ["a"]})
    assert (found.metrics, found.asks) == (("recall@5", "mrr"), ("retrieved_ids",))
    rows = ({"question": f"Who {at}?", "reference_contexts": [f"text {at}"]} for at in range(2))
    found = measures(*rows)
    assert (found.metrics, found.asks) == (("recall@5", "mrr"), ("contexts",))


def test_a_recorded_search_is_measured_without_answers() -> None:
    """The metrics of answers wait for answers."""
    found = measures({**ROW, "relevant_ids": ["a"], "retrieved_ids": ["a", "b"]})
    assert (found.metrics, found.asks) == (("recall@5", "mrr"), ())
    assert found.later[0] == (("em", "f1", "rouge-l"), "answers: in each row, or a target")


def test_answers_with_gold_of_a_search_that_was_not_recorded_measure_nothing() -> None:
    """No metric, then, rather than one that is always missing."""
    row = {"question": "Who pays?", "generated_answer": "the shop", "relevant_ids": ["a"]}
    assert measures(row).metrics == ("recall@5", "mrr")
    assert measures(row).asks == ("retrieved_ids",)


def test_nuggets_are_looked_for_by_a_judge() -> None:
    """G7: a comment beside what needs no model."""
    alone = measures({"question": "Who?", "nuggets": ["the shop", "the sender"]})
    assert (alone.metrics, alone.asks, alone.judged) == (("nugget_recall",), ("answer",), True)
    beside = measures({**ROW, "generated_answer": "five", "nuggets": ["five days"]})
    assert beside.metrics == ("em", "f1", "rouge-l")
    assert beside.later[-1] == (("nugget_recall", "answer_correctness"), A_JUDGE)


def test_checks_of_the_rows_are_metrics() -> None:
    """Also without references."""
    row = {"question": "Who pays?", "response": "the shop", "must_include": ["shop"]}
    assert measures(row).metrics == ("must_include",)


def test_long_references_do_not_count_for_equality() -> None:
    """Hardly an answer equals a paragraph: the weight of em is 0, and all weights are named."""
    row = {"question": "Who?", "answer": "the shop", "reference": "The shop pays. " * 6}
    assert dict(measures(row).weights) == {"em": 0.0, "f1": 1.0, "rouge-l": 1.0}
    assert measures({**ROW, "answer": "five"}).weights == ()


SENTENCE = "You get the money back, which takes {} from the day on that we have the parcel."


def sentences(*references: str, given: str = SENTENCE) -> Measures:
    return measures(
        *(
            {"question": f"What is {at}?", "answer": given.format(one), "expected": one}
            for at, one in enumerate(references)
        )
    )


def test_sentences_around_short_references() -> None:
    """What counts is whether the answer holds a reference, by tokens."""
    found = sentences("five days", "two weeks")
    assert found.are_sentences
    assert found.weights == (("coverem", 1.0), ("f1", 0.0), ("rouge-l", 0.0))
    found = sentences("五天", "两周", given="我们收到包裹之后，{}之内就可以退款给您。")
    assert found.weights == (("coverem", 1.0), ("acc", 1.0), ("f1", 0.0), ("rouge-l", 0.0))
    assert found.gates == (("coverem", 0.5), ("acc", 0.5))


def test_a_system_that_is_asked_may_answer_in_sentences() -> None:
    """Where the references are short: a right answer holds one, however long it is."""
    assert measures(ROW).metrics == ("coverem", "f1", "rouge-l")
    assert measures(ROW).weights == (("coverem", 1.0), ("f1", 0.0), ("rouge-l", 0.0))
    assert not measures({**ROW, "reference": SENTENCE}).are_sentences
    assert not measures({**ROW, "answer": "five"}).are_sentences


def test_sentences_are_told_by_most_rows() -> None:
    """Three times as long as the reference, of at most 8 tokens; 1.5 times if none is equal."""
    assert sentences("five days", given="It takes {} on average").are_sentences
    assert sentences("five days", given="It takes {} there").are_sentences
    assert not sentences("in five days", given="{} now").are_sentences
    assert sentences(*("five days",) * 3, "the whole of it " * 9, given=SENTENCE).are_sentences
    eight = "one two three four five six seven eight"
    assert sentences(eight, given="{0} {0} {0}").are_sentences
    assert not sentences(f"{eight} nine", given="{0} {0} {0}").are_sentences


@pytest.mark.parametrize("reference", ["B", "the", "-", "€"])
def test_references_that_any_sentence_holds_are_not_looked_for(reference: str) -> None:
    """A letter to choose, an article, a mark: nothing of them is left, or they are everywhere."""
    assert not sentences("five days", "two weeks", reference).are_sentences
    assert sentences("five days", "two weeks", "no").are_sentences


def test_checks_do_not_make_up_for_low_scores() -> None:
    """They have gates of their own, unless some rows have nothing else."""
    row = {**ROW, "answer": "five", "must_include": ["five"]}
    found = measures(row)
    assert found.weights[-1] == ("must_include", 0.0)
    assert found.gates == (("weighted_score", 0.5), ("must_include", 1.0))
    found = measures(row, {**row, "question": "Who?", "reference": None})
    assert found.weights == ()
    assert found.gates == (("weighted_score", 0.5), ("must_include", 1.0))


@pytest.mark.parametrize(
    ("row", "gated"),
    [
        ({"reference": "five days", "answer": SENTENCE}, ["coverem"]),
        (
            {"reference": "五天", "answer": "我们收到包裹之后，五天之内就可以退款给您。"},
            ["coverem", "acc"],
        ),
        ({"reference": "five days", "answer": "five days"}, ["f1"]),
        ({"reference": [["five days"], ["no fee"]], "answer": "five days"}, ["stringem"]),
        ({"must_include": ["five"], "response": "five days"}, []),
    ],
)
def test_a_good_search_does_not_make_up_for_wrong_answers(
    row: Mapping[str, Any], gated: list[str]
) -> None:
    """With all answers wrong, recall@5 and mrr of 1 made a mean of 0.5 to 0.6667."""
    found = measures(
        *(
            {"question": f"{at}?", **row, "relevant_ids": ["a"], "retrieved_ids": ["a"]}
            for at in "ab"
        )
    )
    checks = [("must_include", 1.0)] if "must_include" in row else []
    assert found.gates == (*((name, 0.5) for name in [*gated, "recall@5"]), *checks)


def test_a_row_without_what_a_gate_needs_is_no_error_of_it() -> None:
    """Such a row has a weighted_score by its search alone, and a comment says so."""
    row = {**ROW, "answer": "five", "relevant_ids": ["a"], "retrieved_ids": ["a"]}
    found = measures(row, {**row, "reference": None})
    assert found.gates == (("weighted_score", 0.5), ("recall@5", 0.5))
    assert found.about_gates == ("Not all rows have all metrics: a high one may hide a low one.",)
    for name in ("relevant_ids", "retrieved_ids"):
        found = measures(row, {**row, name: None})
        assert found.gates == (("f1", 0.5), ("weighted_score", 0.5))
    assert measures(row, {**row, "retrieved_ids": []}).gates == (("f1", 0.5), ("recall@5", 0.5))
    bare = {"question": "Who?", "answer": "you", "reference": None}
    assert measures({**ROW, "answer": "five"}, bare).about_gates == ()


def test_expected_passages_inside_of_found_chunks() -> None:
    """match: contains, unless they are equal."""

    def match(found: str, gold: str) -> str:
        row = {**ROW, "answer": "five", "contexts": [found], "reference_contexts": [gold]}
        other = {**row, "contexts": ["Ask us."], "reference_contexts": ["Yet another one."]}
        return measures(row, {**other, "question": "Who?"}).match

    assert match("Refunds: they take five days. See below.", "They take five days.") == "contains"
    assert match("They take five days.", "they take five days") == ""


def test_the_script_of_the_texts() -> None:
    """Characters for Chinese; words of other scripts, which ROUGE's own tokens leave out."""
    assert (
        measures({"question": "多久？", "answer": "五天", "reference": "五个工作日"}).script
        == "cjk"
    )
    assert measures({"question": "Когда?", "answer": "да", "reference": "пять"}).script == "letters"
    assert measures({**ROW, "answer": "five"}).script == ""


def test_groups_are_columns_with_few_values_that_repeat() -> None:
    """Not fields, scores, texts, or what is different in nearly each row; a document is one."""
    rows = [
        {
            **ROW,
            "question": f"What is {at}?",
            "source": f"{at % 3}.md",
            "level": "hard" if at % 2 else "easy",
            "constant": "x",
            "score": 0.5 * (at % 2),
            "note": f"note {at}",
        }
        for at in range(8)
    ]
    assert measures(*rows).groups == ("doc_name", "level")


@pytest.mark.parametrize(
    ("answer", "script"),
    [
        ("click on “Forgot password”", "punctuation"),
        ("five days—counted", "punctuation"),
        ("five％ of days", "punctuation"),
        ("don’t wait five days", ""),  # the default normaliser knows this one
        ("don't wait - five days", ""),
    ],
)
def test_punctuation_that_the_default_keeps_asks_for_another_normaliser(
    answer: str, script: str
) -> None:
    """One row in a thousand is enough: a right answer there would be wrong."""
    rows = [{**ROW, "question": f"{at}?", "answer": "five days"} for at in range(999)]
    assert measures(*rows, {**ROW, "answer": answer}).script == script


def test_groups_of_right_answers_are_each_looked_for() -> None:
    """K14: in RGB's integration sets, an answer needs one text of each group."""
    gold = [["five days", "5 days"], ["no fee"]]
    found = measures({**ROW, "reference": gold, "answer": "five days, and no fee"})
    assert found.metrics == ("stringem", "rouge-l")
    assert found.weights == (("stringem", 1.0), ("rouge-l", 0.0))


def test_odd_references_are_named_and_decide_nothing() -> None:
    """K8: one of forty cannot be searched for; by the row of each, from 1."""
    rows = [
        {**ROW, "question": f"Who {at}?", "answer": "in five days, as it is"} for at in range(40)
    ]
    found = measures(*rows[:30], {**rows[30], "reference": "---"}, *rows[31:])
    assert found.metrics[0] == "coverem"
    assert found.odd_rows == (31,)


def test_answers_with_contexts_and_no_gold_are_judged() -> None:
    """A30: what production answered, held against what its search found."""
    found = measures({"question": "Who?", "response": "you, as it says", "contexts": ["You."]})
    assert (found.metrics, found.asks, found.judged) == (("faithfulness",), (), True)
