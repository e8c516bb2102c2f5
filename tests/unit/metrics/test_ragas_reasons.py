"""ragas' metrics as ours: what a developer reads, and what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from judged_scoring import CLAIMS, NLI, SAMPLE, STATEMENTS, input_of, score
from scripted_models import ScriptedJudge, nli

from pytest_rageval.model import Sample, json_plain

pytest.importorskip("ragas")


def test_faithfulness_says_which_claims_are_not_supported() -> None:
    """C2: 1 of 3, by hand 1/3."""
    reply = nli(CLAIMS, [0, 1, 0])
    reply["statements"][0]["reason"] = "the context says 30 days"
    found = score("faithfulness", {STATEMENTS: [{"statements": CLAIMS}], NLI: [reply]})
    assert found.value == pytest.approx(1 / 3)
    assert found.reason == (
        "1 of 3 claims is supported; not supported: "
        '"Opened items can be returned within 60 days" (the context says 30 days), '
        '"The shop is open"'
    )
    assert found.details == {
        "claims": [
            {"claim": CLAIMS[0], "verdict": 0, "reason": "the context says 30 days"},
            {"claim": CLAIMS[1], "verdict": 1, "reason": ""},
            {"claim": CLAIMS[2], "verdict": 0, "reason": ""},
        ]
    }


def test_claims_are_shown_as_they_were_asked_and_not_as_the_judge_repeats_them() -> None:
    reply = nli(["claim one", "claim two"], [1, 0])
    found = score("faithfulness", {STATEMENTS: [{"statements": CLAIMS[:2]}], NLI: [reply]})
    assert [one["claim"] for one in (found.details or {})["claims"]] == CLAIMS[:2]


def test_answer_relevancy_shows_the_questions_that_the_answer_would_answer() -> None:
    """Cosines 1.0, 0.0 and 0.6: mean 0.5333."""
    replies = [
        {"question": "same", "noncommittal": 0},
        {"question": "orth", "noncommittal": 1},
        {"question": "c", "noncommittal": 0},
    ]
    vectors = {SAMPLE.question: [1, 0], "same": [1, 0], "orth": [0, 1], "c": [0.6, 0.8]}
    found = score("answer_relevancy", {"AnswerRelevanceOutput": replies}, vectors)
    assert found.value == pytest.approx(1.6 / 3)
    assert found.reason == (
        'it would answer "same" (similarity 1.00), "orth" (similarity 0.00), '
        '"c" (similarity 0.60); noncommittal in 1 of 3 replies'
    )
    assert (found.details or {})["questions"][2] == {
        "question": "c",
        "noncommittal": 0,
        "similarity": pytest.approx(0.6),
    }


def test_an_answer_that_fits_no_question_says_so() -> None:
    replies = [{"question": "", "noncommittal": 0}] * 3
    found = score("answer_relevancy", {"AnswerRelevanceOutput": replies}, {SAMPLE.question: [1, 0]})
    assert found.value == 0
    assert found.reason == "the judge found no question that the answer would fit; that scores 0"


def test_all_replies_must_call_the_answer_noncommittal() -> None:
    """The rule of ragas 0.4: older versions gave 0 for a single one."""
    vectors = {SAMPLE.question: [1, 0], "same": [1, 0]}
    for flags, value in (([1, 1, 0], 1.0), ([1, 1, 1], 0.0)):
        replies = [{"question": "same", "noncommittal": flag} for flag in flags]
        found = score("answer_relevancy", {"AnswerRelevanceOutput": replies}, vectors)
        assert found.value == pytest.approx(value)
        assert "noncommittal" in (found.reason or "")


def test_context_precision_says_which_contexts_are_of_no_use() -> None:
    def say(prompt: str) -> Any:
        return {"reason": "r", "verdict": int(input_of(prompt)["context"] == SAMPLE.contexts[1])}

    found = score("context_precision", {"ContextPrecisionOutput": say})
    assert found.value == pytest.approx(0.5, abs=1e-9)
    assert found.reason == "1 of 2 contexts is useful for the reference; not useful: [1]"
    assert (found.details or {})["contexts"][1] == {"rank": 2, "verdict": 1, "reason": "r"}
    found = score("context_utilization", {"ContextPrecisionOutput": say})
    assert found.reason == "1 of 2 contexts is useful for the answer; not useful: [1]"


def test_answer_correctness_says_what_is_wrong_and_what_is_missing() -> None:
    """TP 1, FP 1, FN 1: F1 0.5; similarity 0.6: 0.75 * 0.5 + 0.25 * 0.6 = 0.525."""
    classified = {
        "TP": [{"statement": "receipt", "reason": "yes"}],
        "FP": [{"statement": "60 days", "reason": "it is 30"}],
        "FN": [{"statement": "30 days", "reason": ""}],
    }
    found = score(
        "answer_correctness",
        {STATEMENTS: [{"statements": ["a", "b"]}], "ClassificationWithReason": [classified]},
        {SAMPLE.answer: [1, 0], "30 days.": [0.6, 0.8]},
    )
    assert found.value == pytest.approx(0.525)
    assert found.reason == (
        "claims: 1 right, 1 wrong, 1 missing; similarity 0.60; "
        'wrong: "60 days" (it is 30); missing: "30 days"'
    )
    assert (found.details or {})["FP"] == [{"claim": "60 days", "reason": "it is 30"}]


def test_noise_sensitivity_names_the_wrong_claims_and_their_contexts() -> None:
    """The claim "60 days" is wrong, and context 1, which holds the reference's claim, says it."""

    def statements(prompt: str) -> Any:
        is_answer = input_of(prompt)["answer"] == SAMPLE.answer
        return {"statements": ["60 days", "receipt"] if is_answer else ["30 days"]}

    def judged(prompt: str) -> Any:
        asked = input_of(prompt)
        known = {
            "Returns: 30 days.": {"30 days", "60 days"},
            "Bring the receipt.": {"receipt"},
            "30 days.": {"receipt"},
        }[asked["context"]]
        return nli(asked["statements"], [int(one in known) for one in asked["statements"]])

    replies = {STATEMENTS: statements, "StatementFaithfulnessOutput": judged}
    found = score("noise_sensitivity", replies)
    assert found.value == pytest.approx(0.5)
    assert found.reason == (
        '1 of 2 claims is wrong and supported by relevant contexts; wrong: "60 days"'
    )
    details = found.details or {}
    assert details["relevant_contexts"] == [1]
    assert [one["contexts"] for one in details["claims"]] == [[1], [2]]
    assert score("noise_sensitivity_irrelevant", replies).value == 0.0


def test_the_entities_that_are_missing_are_named_and_all_of_them_are_a_full_score() -> None:
    def say(prompt: str) -> Any:
        is_reference = input_of(prompt)["text"] == "30 days."
        return {"entities": ["Rome", "1889", "Rome"] if is_reference else ["1889"]}

    found = score("context_entity_recall", {"EntitiesList": say})
    assert found.value == 0.5
    assert found.reason == "1 of 2 entities is in the contexts; missing: Rome"
    assert score("context_entity_recall", {"EntitiesList": [{"entities": ["Rome"]}]}).value == 1.0


def test_the_feedback_of_a_rubric_is_the_reason() -> None:
    reply = {"feedback": "Right,\nbut short.", "score": 4}
    found = score("domain_specific_rubrics", {"RubricScoreOutput": [reply]})
    assert (found.value, found.reason) == (4.0, "Right, but short.")
    assert found.details == {"score": 4, "feedback": "Right,\nbut short."}


def test_details_are_json_plain() -> None:
    reply = nli(CLAIMS, [0, 1, 0])
    found = score("faithfulness", {STATEMENTS: [{"statements": CLAIMS}], NLI: [reply]})
    assert json_plain(found.details) == found.details
    assert json.loads(json.dumps(found.details)) == found.details


LEVELS = {"score0_description": "bad", "score1_description": "good"}


def test_own_rubrics_are_in_the_prompt_and_make_the_scale() -> None:
    judge = ScriptedJudge({"RubricScoreOutput": [{"feedback": "fine", "score": 0}]})
    assert score("rubrics_score", judge, rubrics=LEVELS).value == 0.0
    assert "score0_description: bad\nscore1_description: good" in judge.prompts[0]
    assert input_of(judge.prompts[0]) == {
        "user_input": SAMPLE.question,
        "response": SAMPLE.answer,
        "retrieved_contexts": list(SAMPLE.contexts or ()),
        "reference_contexts": ["Returns within 30 days."],
        "reference": "30 days.",
    }


def test_a_rubric_needs_the_answer_alone() -> None:
    judge = ScriptedJudge({"RubricScoreOutput": [{"feedback": "", "score": 3}]})
    found = score("rubrics_score", judge, sample=Sample("s", answer="a"))
    assert (found.value, found.reason) == (3.0, "the judge gave no feedback")
    assert input_of(judge.prompts[0]) == {"response": "a"}


@pytest.mark.parametrize("rubrics", [LEVELS, json.dumps(LEVELS)])
def test_rubrics_of_a_row_come_from_its_column(rubrics: Any) -> None:
    """A mapping, or in a CSV file the JSON of one."""
    sample = replace(SAMPLE, metadata={"levels": rubrics})
    judge = ScriptedJudge({"InstanceRubricScoreOutput": [{"feedback": "f", "score": 1}]})
    found = score("instance_rubrics", judge, sample=sample, column="levels", scale=[0, 1])
    assert found.value == 1.0
    assert input_of(judge.prompts[0])["rubrics"] == LEVELS


def test_contexts_that_only_repeat_the_question_are_not_relevant() -> None:
    """ragas gives 0 without asking; the contexts of the second row are a part of the question."""
    for contexts in ((SAMPLE.question or "",), ("the return",)):
        found = score("context_relevance", {}, sample=replace(SAMPLE, contexts=contexts))
        assert (found.value, "no more than the question" in (found.reason or "")) == (0.0, True)
