"""G2: answers that refuse, in whole or in part, and those that answer, in English and Chinese."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from pytest_rageval.text.refusals import RefusalRule, fits, kind_of

ANSWERS = [
    json.loads(line)
    for line in Path(__file__).with_name("refusal_answers.jsonl").read_text("utf-8").splitlines()
]
"""150 answers in each language, with the kind that their writer, who knew no phrase, gave them."""

KINDS = tomllib.loads(Path(__file__).with_name("answer_kinds.toml").read_text("utf-8"))
SERVICES = tomllib.loads(Path(__file__).with_name("service_sentences.toml").read_text("utf-8"))


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
    ("answer", "kind"), [(answer, kind) for kind, answers in KINDS.items() for answer in answers]
)
def test_the_kind_of_an_answer_is_told(answer: str, kind: str) -> None:
    assert kind_of(answer) == kind


def test_blank_lines_hide_no_refusal() -> None:
    assert kind_of("I do not know." + "\n" * 20_000) == "refused"


def test_what_is_quoted_refuses_nothing() -> None:
    assert kind_of('The minister said "I do not know" and left.') == "answered"
    assert kind_of("部长说“我不知道”，然后离开了。") == "answered"


def test_texts_of_the_scenario_refuse_as_whole_sentences() -> None:
    rule = RefusalRule(also=("Ask the front desk.",))
    assert kind_of("Ask the front desk", rule) == "refused"
    assert kind_of("You may ask the front desk at any time.", rule) == "answered"
    rule = RefusalRule(also=("Sorry,  *no*\u00a0hit.",))
    assert kind_of("Sorry,  *no*\u00a0hit.", rule) == "refused"


def test_html_that_the_scenario_lists_refuses_as_a_whole() -> None:
    html = "<p>I cannot answer that.</p><p>The help desk knows more about it.</p>"
    assert kind_of(html) == "partial"
    for also in (html, html.upper(), f" {html}\n", "The help desk knows more about it."):
        assert kind_of(html, RefusalRule(also=("No hit.", also))) == "refused"
        beside = f"<p>The pump costs 5 euros.</p>{html}"
        assert kind_of(beside, RefusalRule(also=(also,))) == "partial"
    german = "<div class='a'>\n<p>Das weiß ich nicht.</p>\n<p>Ask the desk.</p>\n</div>"
    assert kind_of(german, RefusalRule(also=(german,))) == "refused"
    assert kind_of("<p>It costs 5 euros.</p>", RefusalRule(also=(html,))) == "answered"
    assert kind_of("<p>I don't know.</p>", RefusalRule(also=(html,))) == "refused"


def test_only_the_languages_that_are_asked_for_are_known() -> None:
    assert kind_of("无法回答。", RefusalRule(("en",))) == "unclear"
    assert kind_of("I don't know.", RefusalRule(("zh",))) != "refused"


@pytest.mark.parametrize("answer", ["1889", "Wien", "Jane Austen", "€ 5", "A-17"])
def test_a_number_or_a_name_is_in_any_language(answer: str) -> None:
    assert fits(answer, ("en",))


def test_a_sentence_is_in_its_own_language_alone() -> None:
    assert not fits("The tower was opened in 1889 and stands in Paris.", ("zh",))


@pytest.mark.parametrize("kind", ["refused", "answered"])
def test_sentences_of_services_are_told_as_they_were(kind: str) -> None:
    """A phrase that mends one must break no other; what one mends goes from missed to told."""
    for name, is_right in (("told", True), ("missed", False)):
        for text in SERVICES[kind][name]:
            assert ((kind_of(text) == "refused") == (kind == "refused")) is is_right, text
