"""What cannot be scored, and replies that ragas would score wrongly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from judged_scoring import CLAIMS, NLI, SAMPLE, STATEMENTS, input_of, score
from scripted_models import ScriptedJudge, nli

from pytest_rageval.clients.base import Reply
from pytest_rageval.clients.errors import (
    CallTimeoutError,
    InvalidOutputError,
    LocalModelError,
    RateLimitError,
)
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.ragas.checks import all_classified
from pytest_rageval.metrics.ragas.judge import Finding, Request
from pytest_rageval.metrics.ragas.metric import MetricRow, RagasMetric
from pytest_rageval.metrics.ragas.options import RagasOptions

pytest.importorskip("ragas")


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("faithfulness", {"answer": " \n"}, "the answer is empty"),
        ("faithfulness", {"question": ""}, "the question is empty"),
        ("noise_sensitivity", {"contexts": ()}, "there are no contexts, or they are empty"),
        ("context_recall", {"references": ("",)}, "the reference is empty"),
        ("context_entity_recall", {"references": ()}, "the reference is empty"),
        ("answer_correctness", {"answer": ""}, "the answer is empty"),
        ("rubrics_score", {"answer": ""}, "the answer is empty"),
        ("rubrics_score_with_reference", {"references": (" ",)}, "the reference is empty"),
        ("instance_rubrics", {}, "the row has no rubrics: a mapping of score1_description"),
        ("instance_rubrics", {"metadata": {"rubrics": "good"}}, "the row has no rubrics"),
        ("instance_rubrics", {"metadata": {"rubrics": {"score1": 1}}}, "the row has no rubrics"),
        ("summary_score", {"reference_contexts": ()}, "there are no reference_contexts"),
    ],
)
def test_empty_inputs_are_unscored_and_nobody_is_asked(
    name: str, fields: dict[str, Any], reason: str
) -> None:
    """C3: ragas raises for some of these and scores others; a judge without replies proves it."""
    found = score(name, {}, sample=replace(SAMPLE, **fields))
    assert found.value is None
    assert (found.reason or "").startswith(reason)


@pytest.mark.parametrize("contexts", [(), ("", " ")])
@pytest.mark.parametrize("name", ["faithfulness", "context_recall", "context_precision"])
def test_a_search_that_found_nothing_is_the_worst(name: str, contexts: tuple[str, ...]) -> None:
    """[C3] As for our own metrics: left out of the mean, it would make a broken index green."""
    found = score(name, {}, sample=replace(SAMPLE, contexts=contexts))
    assert (found.value, found.reason) == (0.0, "there are no contexts, or they are empty")


def test_empty_references_before_a_full_one_are_passed_over() -> None:
    sample = replace(SAMPLE, references=("", "30 days."))
    judge = ScriptedJudge(
        {"ContextRecallOutput": [{"classifications": [
            {"statement": "s", "reason": "", "attributed": 1}]}]}
    )  # fmt: skip
    assert score("context_recall", judge, sample=sample).value == 1.0
    assert input_of(judge.prompts[0])["answer"] == "30 days."


@pytest.mark.parametrize(
    ("name", "replies", "reason"),
    [
        ("faithfulness", {STATEMENTS: []}, "the judge found no claim in the answer"),
        ("answer_correctness", {STATEMENTS: []}, "the judge found no claim in the answer"),
        (
            "factual_correctness",
            {"ClaimDecompositionOutput": []},
            "the judge found no claim in the answer",
        ),
        ("noise_sensitivity", {STATEMENTS: []}, "the judge found no claim in the reference"),
        (
            "context_recall",
            {"ContextRecallOutput": []},
            "the judge found no claim in the reference",
        ),
        (
            "context_entity_recall",
            {"EntitiesList": []},
            "the judge found no entity in the reference",
        ),
    ],
)
def test_replies_that_hold_nothing_are_unscored(
    name: str, replies: dict[str, list[Any]], reason: str
) -> None:
    """C3: ragas gives NaN, 0, a perfect score, or an error of numpy."""
    field = {
        STATEMENTS: "statements",
        "ClaimDecompositionOutput": "claims",
        "ContextRecallOutput": "classifications",
        "EntitiesList": "entities",
    }
    said = {schema: [{field[schema]: empty}] for schema, empty in replies.items()}
    vectors = {SAMPLE.answer: [1, 0], "30 days.": [1, 0]}
    found = score(name, said, vectors)
    assert (found.value, found.reason) == (None, reason)


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_a_direction_is_a_failure_of_its_model(vector: list[float]) -> None:
    """ragas gives NaN for answer_relevancy and 0 for the similarity of answer_correctness."""
    classified = {"TP": [{"statement": "a", "reason": ""}], "FP": [], "FN": []}
    why = "the embedding of '60 days. Bring the receipt.' is all zeros, or not finite"
    with pytest.raises(LocalModelError, match=re.escape(why)):
        score(
            "answer_correctness",
            {STATEMENTS: [{"statements": ["a"]}], "ClassificationWithReason": [classified]},
            {SAMPLE.answer: vector, "30 days.": [1, 0]},
        )


def test_a_reply_that_cannot_be_right_is_asked_for_again() -> None:
    """Verdict 5, then too few verdicts, then prose; the judge is not asked a fourth time."""
    bad: list[Any] = [nli(CLAIMS, [0, 5, 0]), nli(CLAIMS[:1], [1]), "They look fine."]
    right = nli(CLAIMS, [1, 1, 1])
    judge = ScriptedJudge({STATEMENTS: [{"statements": CLAIMS}], NLI: [*bad[:2], right]})
    assert score("faithfulness", judge).value == 1.0
    judge = ScriptedJudge({STATEMENTS: [{"statements": CLAIMS}], NLI: [*bad, right]})
    with pytest.raises(InvalidOutputError, match="there is no JSON object in it"):
        score("faithfulness", judge)


@pytest.mark.parametrize(
    ("name", "replies", "message"),
    [
        ("context_precision", {"ContextPrecisionOutput": {"reason": "", "verdict": 5}}, "is 5"),
        (
            "context_recall",
            {"ContextRecallOutput": {"classifications": [
                {"statement": "", "reason": "", "attributed": 3}]}},
            "classifications.0.attributed is 3",
        ),
        (
            "answer_relevancy",
            {"AnswerRelevanceOutput": {"question": "q", "noncommittal": 2}},
            "noncommittal is 2",
        ),
        (
            "answer_correctness",
            {
                STATEMENTS: {"statements": ["a", "b"]},
                "ClassificationWithReason": {"TP": [], "FP": [], "FN": []},
            },
            "2 statements of the answer were given and 0 are in TP and FP",
        ),
        (
            "answer_correctness",
            {
                STATEMENTS: {"statements": ["a", "b"]},
                "ClassificationWithReason": {
                    "TP": [{"statement": "a", "reason": ""}, {"statement": "A.", "reason": ""}],
                    "FP": [], "FN": [],
                },
            },
            "is judged 2 times; judge each statement once",
        ),
        (
            "context_recall",
            {"ContextRecallOutput": {"classifications": [
                {"statement": "30 days", "reason": "", "attributed": 1}] * 2}},
            '"30 days" is judged 2 times',
        ),
        (
            "factual_correctness",
            {"ClaimDecompositionOutput": {"claims": ["a", "b"]}, NLI: nli(["a"], [1])},
            "2 statements were given and 1 are judged",
        ),
        (
            "noise_sensitivity",
            {STATEMENTS: {"statements": ["a"]}, "StatementFaithfulnessOutput": nli("ab", [1, 1])},
            "1 statements were given and 2 are judged",
        ),
        (
            "domain_specific_rubrics",
            {"RubricScoreOutput": {"feedback": "", "score": 6}},
            "score is 6, it must be one of 1, 2, 3, 4, 5",
        ),
        (
            "answer_accuracy",
            {"AnswerAccuracyOutput": {"rating": 3}},
            "rating is 3, it must be one of 0, 2, 4",
        ),
        (
            "summary_score",
            {
                "ExtractedKeyphrases": {"keyphrases": []},
                "QuestionsGenerated": {"questions": ["q1", "q2"]},
                "AnswersGenerated": {"answers": ["1"]},
            },
            "2 questions were given",
        ),
    ],
)  # fmt: skip
def test_replies_that_ragas_would_score_wrongly_are_errors(
    name: str, replies: dict[str, Any], message: str
) -> None:
    said = {schema: [reply] for schema, reply in replies.items()}
    vectors = {SAMPLE.answer: [1, 0], "30 days.": [1, 0]}
    with pytest.raises(InvalidOutputError, match=message):
        score(name, said, vectors)


def test_a_mark_is_one_of_the_levels_of_the_row() -> None:
    rubrics = {f"score{mark}_description": f"level {mark}" for mark in (1, 2, 3)}
    row = replace(SAMPLE, metadata={"rubrics": rubrics})
    reply = {"InstanceRubricScoreOutput": [{"feedback": "", "score": 5}]}
    with pytest.raises(InvalidOutputError, match="score is 5, it must be one of 1, 2, 3"):
        score("instance_rubrics", reply, sample=row)
    for low, high in ((0, 1), (6, 9), (1, 6)):
        rubrics = {f"score{mark}_description": "" for mark in (low, high)}
        row = replace(SAMPLE, metadata={"rubrics": rubrics})
        wanted = rf"levels {low}\.\.{high} are not within scale \[1, 5\]: .*\[{low}, {high}\]"
        with pytest.raises(ValueError, match=wanted):
            score("instance_rubrics", {}, sample=row)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        # Without its level 3, a judge could give no more than 2.
        ({"score1_description": "", "score2_description": "", "score3_descripton": ""},
         "'score3_descripton' must be .* Did you mean 'score3_description'?"),
        ({"good": "it is", "bad": "it is not"}, "'good' must be written as score1_description"),
        ({"score1_description": "", "score01_description": ""}, "each level once"),
        ({"score1_description": "all right"}, "two levels or more"),
    ],
)  # fmt: skip
def test_rubrics_of_a_row_are_held_as_those_of_a_scenario(
    levels: Mapping[str, str], message: str
) -> None:
    row = replace(SAMPLE, metadata={"rubrics": levels})
    with pytest.raises(ValueError, match=message):
        score("instance_rubrics", {}, sample=row)


def test_claims_of_the_reference_are_none_of_the_answer() -> None:
    """One claim, which is wrong, had 3 of 4 right; but a claim may be split, or in other words."""

    def reply(right: list[str], wrong: list[str]) -> Any:
        judged = ([SimpleNamespace(statement=one) for one in part] for part in (right, wrong))
        return SimpleNamespace(**dict(zip(("TP", "FP"), judged, strict=True)))

    check = all_classified(["It is red."], ["Grass is green.", "It grows."])
    split = (["it is", "it has a colour"], ["it is red in all", "It grows"])
    for right in (["It is red"], ["Grass is green"], *split):
        check(reply(right, []))
    for right, wrong in ((["It is red", "It grows"], []), (["It grows"], ["It is red"]),
                         (["It is red"], ["It grows"])):  # fmt: skip
        with pytest.raises(ValueError, match='"It grows" is of the reference'):
            check(reply(right, wrong))
    with pytest.raises(ValueError, match="1 statements of the answer were given and 0 are in TP"):
        check(reply([], ["It grows."]))


def test_errors_of_the_client_pass_through_unchanged() -> None:
    error = RateLimitError("429")
    for name, schema in (
        ("faithfulness", STATEMENTS),
        ("answer_relevancy", "AnswerRelevanceOutput"),
        ("answer_accuracy", "AnswerAccuracyOutput"),  # ragas swallows exceptions in this one
    ):
        with pytest.raises(RateLimitError) as caught:
            score(name, {schema: [error]})
        assert caught.value is error


def test_of_several_errors_the_first_question_decides_whoever_was_faster() -> None:
    """And the questions that were under way are not thrown away: they are paid for."""
    ended = []

    class Slow(ScriptedJudge):
        async def complete(self, messages: Any, **rest: Any) -> Reply:
            context = input_of(messages[0].content)["context"]
            while context == "slow" and len(ended) < 2:
                await asyncio.sleep(0)
            ended.append(context)
            if context == "slow":
                raise CallTimeoutError("slow")
            if context == "fast":
                raise RateLimitError("fast")
            return await super().complete(messages, **rest)

    judge = Slow({"ContextPrecisionOutput": [{"reason": "", "verdict": 1}]})
    sample = replace(SAMPLE, contexts=("slow", "fast", "good"))
    with pytest.raises(CallTimeoutError):
        score("context_precision", judge, sample=sample)
    assert ended == ["fast", "good", "slow"]


async def _ask_nothing(case: Request) -> Finding:
    return Finding("nothing was asked")


def test_questions_that_are_not_foreseen_are_asked_when_ragas_asks_them() -> None:
    """A newer ragas may have another pipeline: it costs time, the score is right."""
    row = MetricRow("Faithfulness", _ask_nothing, ("question", "answer", "contexts"))
    made = RagasMetric("faithfulness", RagasOptions(), row)
    judge = ScriptedJudge({STATEMENTS: [{"statements": CLAIMS}], NLI: [nli(CLAIMS, [1, 0, 0])]})
    assert asyncio.run(made.ascore(SAMPLE, Models(judge))).value == pytest.approx(1 / 3)
    judge = ScriptedJudge({STATEMENTS: [{"statements": []}]})
    found = asyncio.run(made.ascore(SAMPLE, Models(judge)))
    assert found.value is None
    assert found.reason == "ragas found nothing to score; nothing was asked"


def test_an_error_that_ragas_swallows_is_raised_all_the_same() -> None:
    """Its answer_accuracy turns any exception into NaN after five tries."""
    row = MetricRow("AnswerAccuracy", _ask_nothing, ("question", "answer", "reference"))
    made = RagasMetric("answer_accuracy", RagasOptions(), row)
    error = CallTimeoutError("too slow")
    judge = ScriptedJudge({"AnswerAccuracyOutput": [error]})
    with pytest.raises(CallTimeoutError) as caught:
        asyncio.run(made.ascore(SAMPLE, Models(judge)))
    assert caught.value is error
