"""E26: questions that are nearly the same as one that was asked before."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from others_data import others_data
from within_a_minute import within_a_minute

from pytest_rageval.questions.duplicates import _ALIKE, AskedBefore, _chrf, _highest, _pairs, _Text

ROWS = tomllib.loads(Path(__file__).with_name("question_pairs.toml").read_text("utf-8"))

REWORDED = ROWS["reworded"]
"""A question and its answer, and both in other words."""

TWO = ROWS["two"]
"""Two questions and their answers."""

PAIR = ("question", "answer", "other", "its_answer")


def _found(question: str, answer: str, other: str, its_answer: str) -> str | None:
    asked = AskedBefore()
    asked.add("something", "Why is the sky blue?", "It scatters light.")
    asked.add("first", question, answer)
    return asked.find(other, its_answer)


@pytest.mark.parametrize(PAIR, REWORDED)
def test_a_reworded_question_is_found(
    question: str, answer: str, other: str, its_answer: str
) -> None:
    """In both orders."""
    assert _found(question, answer, other, its_answer) == "first"
    assert _found(other, its_answer, question, answer) == "first"


@pytest.mark.parametrize(PAIR, TWO)
def test_two_questions_are_two(question: str, answer: str, other: str, its_answer: str) -> None:
    """A number, a name, an opposite or one expression makes another question."""
    assert _found(question, answer, other, its_answer) is None
    assert _found(other, its_answer, question, answer) is None


@pytest.mark.parametrize(
    "again", ["who founded Ａcme", "Who founded ACME ?!", "“Who  founded Acme?”", "Whofounded-Acme"]
)
def test_the_same_wording_is_a_duplicate_whatever_the_answer(again: str) -> None:
    """One of the two answers is wrong, then."""
    assert _found("Who founded Acme?", "Ann Lee", again, "In 1999") == "first"


@pytest.mark.parametrize(
    ("answer", "its_answer"),
    [("Two years", "One month"), ("2 years", "3 years"), ("two years", ""), ("", "two years")],
)
def test_reworded_questions_with_other_answers_are_two(answer: str, its_answer: str) -> None:
    """A missing answer is not like one that is there."""
    question, other = "What is the warranty period of A100?", "How long is the warranty of A100?"
    assert _found(question, "Two years", other, "two years.") == "first"
    assert _found(question, answer, other, its_answer) is None


def test_without_answers_the_whole_wording_has_to_be_alike() -> None:
    """Nothing else tells "where" from "when"."""
    question = "When did the Acme company open its office in Berlin?"
    assert _found(question, "", "When did the company Acme open its office in Berlin?", "")
    assert not _found(question, "", "Why did Acme open its office in Berlin?", "")


def test_the_first_of_several_is_told() -> None:
    """And of the same wording, the one that was added first."""
    asked = AskedBefore()
    for row_id, question in (
        ("a", "Who runs Acme?"),
        ("b", "Who founded Acme?"),
        ("c", "Who was the founder of Acme?"),
        ("d", "who founded acme"),
    ):
        asked.add(row_id, question, "Ann Lee")
    assert asked.find("By whom was Acme founded?", "Ann Lee") == "b"
    assert asked.find("Who founded Acme", "") == "b"
    assert AskedBefore().find("Who founded Acme?", "") is None


@pytest.mark.parametrize("question", ["", "?", "Who?", "谁？"])
def test_questions_without_much_in_them_are_no_error(question: str) -> None:
    """They equal themselves."""
    assert _found(question, "", question, "") == "first"
    assert _found(question, "x", "Where is Acme?", "x") is None


def test_chrf_is_that_of_its_definition() -> None:
    """Worked by hand: abcd and abce have 3 of 4, 2 of 3, 1 of 2 and 0 of 1 n-grams in common."""
    assert _chrf("abcd", "abce") == pytest.approx((3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)
    assert _chrf("ab", "abab") == pytest.approx(
        2 * 1 * (2 / 4 + 1 / 3) / 2 / (1 + (2 / 4 + 1 / 3) / 2)
    )
    assert _chrf("same", "same") == 1.0
    assert _chrf("", "ab") == _chrf("cd", "ab") == 0.0


def _cmrc() -> Iterator[tuple[str, str, str]]:
    """Yield passage, question and answer; several questions are about one passage."""
    path = others_data("data/cmrc2018/original/cmrc2018_dev.json.gz")
    data = json.loads(gzip.decompress(path.read_bytes()))["data"]
    for paragraph in (one for article in data for one in article["paragraphs"]):
        for row in paragraph["qas"]:
            yield paragraph["context"], row["question"], row["answers"][0]["text"]


@pytest.mark.full
def test_no_pair_is_passed_over_that_is_alike() -> None:
    """The bound by which candidates are found is not below chrF."""
    questions = [_Text(question) for _, question, _ in _cmrc()][:150]
    questions += [_Text(row[at]) for row in (*REWORDED, *TWO) for at in (0, 2)]
    alike = 0
    for one, other in combinations(questions, 2):
        chrf = _chrf(one.content, other.content)
        common = len(set(_pairs(one.content)) & set(_pairs(other.content)))
        order = 2 if one.content > "z" else 6
        assert (
            common == 0
            or chrf <= _highest(common, len(one.content), len(other.content), order) + 1e-9
        )
        assert common or chrf < _ALIKE
        alike += chrf >= _ALIKE
    assert alike > 20


@pytest.mark.full
def test_people_who_ask_about_one_passage_ask_no_duplicates() -> None:
    """All 3,219 questions of CMRC 2018: one pair has the same wording, about two rivers."""
    asked, found = AskedBefore(), []
    with within_a_minute():
        for number, (_, question, answer) in enumerate(_cmrc()):
            if asked.find(question, answer) is not None:
                found.append(question)
            asked.add(str(number), question, answer)
    assert number == 3218
    assert found == ["雅芳河的发源地是哪里？"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("劲松站呈什么走向？", "请问，劲松站呈什么走向？"),
        ("为什么带电物体能吸引小纸片？", "请问，为何带电物体能吸引小纸片？"),
        ("How long is Acme's warranty?", "Can you tell me: how long is Acme's warranty, please?"),
    ],
)
def test_a_courtesy_makes_no_other_question_whatever_the_answer(one: str, other: str) -> None:
    asked = AskedBefore()
    asked.add("first", one, "南北走向")
    assert asked.find(other, "It is another answer.") == "first"
