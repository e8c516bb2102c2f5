"""G2: answers that refuse, in whole or in part, and those that answer, in English and Chinese."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.text.refusals import RefusalRule, fits, kind_of

ANSWERS = [
    json.loads(line)
    for line in Path(__file__).with_name("refusal_answers.jsonl").read_text("utf-8").splitlines()
]
"""150 answers in each language, with the kind that their writer, who knew no phrase, gave them."""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_at_least_85_of_100_answers_are_told_rightly(language: str) -> None:
    rows = [row for row in ANSWERS if row["language"] == language]
    right = sum(kind_of(row["answer"]) == row["kind"] for row in rows)
    assert len(rows) == 150
    assert right >= 0.85 * len(rows)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_at_most_one_answer_in_16_is_taken_for_a_refusal(language: str) -> None:
    answers = [r for r in ANSWERS if r["language"] == language and r["kind"] == "answered"]
    taken = [row["answer"] for row in answers if kind_of(row["answer"]) == "refused"]
    assert len(taken) <= len(answers) / 16, taken


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know.",
        "I’m sorry, but the context does not say.",
        "The provided context does not mention it [1][2].",
        "Not mentioned",
        "N/A",
        "抱歉，我无法回答。",
        "根据提供的资料【1】，无法回答这个问题。",
    ],
)
def test_refusals_are_known_whatever_they_cite(answer: str) -> None:
    assert kind_of(answer) == "refused"


@pytest.mark.parametrize(
    "answer",
    ["Nottingham", "No.", "Unknown Pleasures", "Sofia", "It is not far.", "我知道", "知识", "1889"],
)
def test_answers_are_no_refusals(answer: str) -> None:
    assert kind_of(answer) == "answered"


def test_what_is_quoted_refuses_nothing() -> None:
    assert kind_of('The minister said "I do not know" and left.') == "answered"
    assert kind_of("部长说“我不知道”，然后离开了。") == "answered"


def test_texts_of_the_scenario_refuse_as_whole_sentences() -> None:
    rule = RefusalRule(also=("Ask the front desk.",))
    assert kind_of("Ask the front desk", rule) == "refused"
    assert kind_of("You may ask the front desk at any time.", rule) == "answered"


def test_only_the_languages_that_are_asked_for_are_known() -> None:
    assert kind_of("无法回答。", RefusalRule(("en",))) == "unclear"
    assert kind_of("I don't know.", RefusalRule(("zh",))) != "refused"


@pytest.mark.parametrize(
    "answer",
    [
        "Die Garantie deckt Dichtungen für zwei Jahre ab, sagt das Handbuch.",
        "La garantie couvre les joints pendant deux ans selon le manuel.",
        "Гарантия на уплотнения составляет два года.",
        "保証期間は二年です。シールも対象です。",
        "보증 기간은 2년입니다.",
    ],
)
def test_answers_in_other_languages_are_unclear(answer: str) -> None:
    """Never answered: a refusal in a language without phrases looks like an answer."""
    assert kind_of(answer) == "unclear"


@pytest.mark.parametrize("answer", ["1889", "Wien", "Jane Austen", "€ 5", "A-17"])
def test_a_number_or_a_name_is_in_any_language(answer: str) -> None:
    assert fits(answer, ("en",))


@pytest.mark.parametrize(
    "answer",
    [
        '"I don\'t know."',
        "“I don’t know.”",
        "「无法回答。」",
        "I DON'T KNOW.",
        "I donʼt know",
        "I dont know.",
        "I do not know." + "\n" * 20_000,
    ],
)
def test_a_refusal_is_known_however_it_is_written(answer: str) -> None:
    assert kind_of(answer) == "refused"


@pytest.mark.parametrize(
    "answer",
    [
        "Refunds are outside the 30 day window.",
        "It is not possible to give a refund after 30 days.",
        "There is no information desk; ask at the bar.",
        "The ticket does not include the museum.",
        "The shop is beyond the bridge.",
        "该保单没有覆盖水损。",
    ],
)
def test_an_answer_about_what_there_is_not_answers(answer: str) -> None:
    assert kind_of(answer) == "answered"


@pytest.mark.parametrize("answer", ["Ich weiß es nicht.", "Je ne sais pas.", "No lo sé."])
def test_a_short_refusal_in_another_language_is_no_answer(answer: str) -> None:
    assert kind_of(answer) == "unclear"
