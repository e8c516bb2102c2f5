"""E26: quotes that stand in a text, and questions that stand on their own."""

from __future__ import annotations

import gzip
import json
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from others_data import others_data
from within_a_minute import within_a_minute

from pytest_rageval.questions.rules import find_quote, why_not_alone
from pytest_rageval.text.sentences import counts_as_sentence

ROWS = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text("utf-8"))

TEXT = """# The tower
He said: “It is a ``1.5 mm – thick’’ plate.” It **costs** 5 euros
a month. See [the guide](https://example.org/a_(b)) for 10² _more_ things!
- one item of the list
- max_size: 2 * 3
「高三百米」，由甲公司建造。它在Ｂ城！
"""


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("It **costs** 5 euros\na month.", "It **costs** 5 euros\na month."),
        ("It costs 5 euros a month", "It **costs** 5 euros\na month."),
        ("it costs 5 euros  a month...", "It **costs** 5 euros\na month."),
        ("“costs 5 euros”", "It **costs** 5 euros\na month."),
        ("5 euros a month. See the guide", TEXT[TEXT.index("It **") : TEXT.index("\n- one")]),
        ("it is a '1.5 mm — thick' plate", "He said: “It is a ``1.5 mm – thick’’ plate.”"),
        (
            "for 10² more things",
            "See [the guide](https://example.org/a_(b)) for 10² _more_ things!",
        ),
        ("one item of the", "- one item of the list"),
        ("max_size: 2 * 3", "- max_size: 2 * 3"),
        ("The tower", "# The tower"),
        ("# The tower", "# The tower"),
        ('"高三百米",由甲公司', "「高三百米」，由甲公司建造。"),
        ("甲公司 建造", "「高三百米」，由甲公司建造。"),
        ("它在B城", "它在Ｂ城！"),
    ],
)
def test_a_quote_is_found_and_grown_to_whole_sentences(quote: str, found: str) -> None:
    """White space, width, quotation marks, dashes, Markdown and the last full stop do not count."""
    assert find_quote(quote, TEXT) == found


@pytest.mark.parametrize("quote", ROWS["no_quotes"])
def test_what_does_not_stand_there_is_no_quote(quote: str) -> None:
    """A word, a number, case or a sign is another, something is left out, or it is too short."""
    assert find_quote(quote, TEXT) is None


def test_a_later_place_is_found_where_the_first_cuts_a_word() -> None:
    """And a short quote counts if it is a whole sentence."""
    assert find_quote("use it now", "We reuse it now. They use it now.") == "They use it now."
    assert find_quote("It grows", "It grows slowly. Yes. It grows.") is None
    assert find_quote("It grows", "It grows. Yes.") == "It grows."
    assert find_quote("见上", "甲乙丙。见上。") == "见上。"


@pytest.mark.parametrize("sign", ["~~", r"\_", r"\*", r"\'"])
def test_marks_between_digits_join_no_numbers(sign: str) -> None:
    """They are marks elsewhere, also with a backslash before them."""
    assert find_quote("It costs 12 euros.", f"It costs 1{sign}2 euros.") is None
    assert find_quote("It costs two euros.", f"It {sign}costs{sign} two euros.") is not None


def test_two_dashes_are_one() -> None:
    """As they are typed."""
    assert find_quote("a plate -- a thick one", "It is a plate – a thick one.") is not None
    assert find_quote("a plate—a thick one", "It is a plate -- a thick one.") is not None


def test_a_decomposed_letter_equals_a_composed_one() -> None:
    """PDFs have both, and ligatures and soft hyphens."""
    text = "Le caf\u0065\u0301 est tr\u00e8s o\ufb03ciel au\u00adjourd'hui."
    assert find_quote("caf\u00e9 est tre\u0300s officiel aujourd’hui", text) == text


@within_a_minute()
def test_long_texts_and_odd_ones_take_no_time() -> None:
    """2,000 characters in a few milliseconds, also of signs that open something."""
    for text in (TEXT * 8, "[" * 2000, "*_~" * 700, "“" * 2000, "a1.2" * 500, "> - # " * 330):
        assert find_quote("not in there at all", text) is None
        assert find_quote(text[:1990] + "x", text) is None
        assert find_quote(text, text) in (None, text.strip())
        assert why_not_alone(text) == ""


@pytest.mark.full
def test_the_evidence_of_people_is_found() -> None:
    """Each sentence that annotators of ClapNQ marked; none with another letter."""
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, lines):
        text = row["contexts"][0]
        for sentence in filter(counts_as_sentence, chain(*row.get("evidence_sentences") or [])):
            found = find_quote(sentence.replace("``", '"').replace(" ,", ","), text)
            assert found is not None, sentence
            assert sentence.strip(" '-") in found
            assert find_quote(sentence.replace("a", "e", 1), text) is None or "a" not in sentence


DEPENDENT = ROWS["dependent"]

ALONE = ROWS["alone"]


@pytest.mark.parametrize(("question", "words"), DEPENDENT)
def test_words_that_need_the_passage_are_told(question: str, words: str) -> None:
    """With or without the question mark; white space and width do not count."""
    assert why_not_alone(question) == words
    assert why_not_alone(question.rstrip("?？")) == words
    assert why_not_alone(f" {question} ".replace("?", " ？")) == words


@pytest.mark.parametrize("question", ALONE)
def test_a_question_that_may_stand_on_its_own_is_not_flagged(question: str) -> None:
    """What is not certain is left to the judge."""
    assert why_not_alone(question) == ""


def test_questions_of_people_who_saw_no_passage_are_not_flagged() -> None:
    """All 600 of ClapNQ, which are from a search engine; also with a capital, as models write."""
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    assert len(questions) == 600
    both = [*questions, *(one[:1].upper() + one[1:] for one in questions)]
    assert [question for question in both if why_not_alone(question)] == []


def test_few_questions_of_people_who_saw_the_passage_are_flagged() -> None:
    """In CMRC 2018, 19 of 3,219; each of these needs the passage, by eye."""
    path = others_data("data/cmrc2018/original/cmrc2018_dev.json.gz")
    data = json.loads(gzip.decompress(path.read_bytes()))["data"]
    rows = (row for one in data for part in one["paragraphs"] for row in part["qas"])
    flagged = [row["question"] for row in rows if why_not_alone(row["question"])]
    assert len(flagged) == 19
    assert {"他司职什么位置？", "文中的“严重影响”指什么？", "谁设计了该教堂？"} < set(flagged)
