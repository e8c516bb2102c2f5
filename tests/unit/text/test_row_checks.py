"""A28: the checks that a row brings along: how they are read, and what passes them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.scenario.fields import CHECK_FIELDS
from pytest_rageval.text.codec import LimitError
from pytest_rageval.text.row_checks import (
    CHECK_READERS,
    checks_of,
    included,
    read_checks,
    read_criteria,
    read_patterns,
    read_texts,
)

ROWS = tomllib.loads(Path(__file__).with_name("row_checks.toml").read_text("utf-8"))


def test_every_field_of_checks_has_a_reader() -> None:
    """[A28] A row with one that had none would end its run with a traceback."""
    assert CHECK_READERS.keys() == set(CHECK_FIELDS)


def search(pattern: str, text: str, ignore_case: bool) -> bool:
    return re.search(pattern, text, re.IGNORECASE if ignore_case else 0) is not None


def passes(check: dict[str, Any], answer: str, latency_s: float | None = None) -> bool | None:
    (found,) = checks_of([check])
    return found.passes(answer, search, latency_s)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    ROWS["a_check_and_its_opposite"],
)
def test_a_check_and_its_opposite(check: dict[str, Any], right: str, wrong: str) -> None:
    """[A28] What passes a check fails the one with not- before it."""
    ((kind, value),) = check.items()
    assert passes(check, right) is True
    assert passes(check, wrong) is False
    assert passes({f"not-{kind}": value}, right) is False
    assert passes({f"not-{kind}": value}, wrong) is True


def test_texts_are_compared_in_one_form_of_unicode() -> None:
    """[A28] é may be one character or two."""
    one, two = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    assert one != two
    assert passes({"contains": one}, two)
    assert passes({"contains": two}, one)
    assert passes({"regex": f"^{two}$"}, one)


def test_a_latency_that_nobody_measured_decides_nothing() -> None:
    """[A28] Answers of the data, or kept ones, took no time."""
    assert passes({"max_latency_s": 2}, "a", 2.0) is True
    assert passes({"max_latency_s": 2}, "a", 2.1) is False
    assert passes({"max_latency_s": 2}, "a") is None


def test_a_list_among_the_texts_is_of_alternatives() -> None:
    """[A28]"""
    texts = read_texts("must_include", ["30 days", ["refund", "money back"], 7])
    assert texts == ("30 days", ("refund", "money back"), "7")
    checks = included(texts or (), is_not=False, ignore_case=False)
    assert [c.passes("30 days, money back", search) for c in checks] == [True, True, False]
    checks = included(texts or (), is_not=True, ignore_case=True)
    assert [c.passes("MONEY BACK", search) for c in checks] == [True, False, True]


@pytest.mark.parametrize("nothing", [[], ""])
def test_nothing_asked_is_a_missing_field(nothing: Any) -> None:
    """[A28]"""
    assert read_texts("f", nothing) is read_patterns("f", nothing) is None
    assert read_checks("f", nothing) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([""], "must_include: an empty text is in every answer"),
        ([" \n"], "must_include: blanks alone are in nearly every answer"),
        ([["a", " "]], "must_include: blanks alone are in nearly every answer"),
        ([True], "must_include: expected a text in quotes, found True"),
        ([[]], "must_include: a list of alternatives is empty"),
        ({"a": 1}, "must_include: expected a text in quotes"),
    ],
)
def test_what_no_answer_could_fail_is_refused(value: Any, message: str) -> None:
    """[A28]"""
    with pytest.raises(ValueError, match=re.escape(message)):
        read_texts("must_include", value)


@pytest.mark.parametrize(
    ("value", "message"),
    ROWS["a_check_that_cannot_be_read_says_why"],
)
def test_a_check_that_cannot_be_read_says_why(value: Any, message: str) -> None:
    """[A28]"""
    with pytest.raises(ValueError, match=re.escape(message)):
        read_checks("answer_checks", value)


@pytest.mark.parametrize("pattern", ["(" * 3000, "a" * 20_000, "x{99999999999999999999}"])
def test_patterns_that_python_cannot_take_are_refused(pattern: str) -> None:
    """[A28]"""
    with pytest.raises(ValueError, match="is no regular expression"):
        read_patterns("must_match", [pattern])


@pytest.mark.parametrize("answer", ["{" * 100_000, "[" * 100_000, '{"a":' * 50_000])
def test_hostile_brackets_are_no_json(answer: str) -> None:
    """[A28] Neither a deep nor a wide answer stops the run."""
    assert passes({"is-json": True}, answer) is False
    assert passes({"contains-json": True}, answer) is False


@pytest.mark.parametrize("text", ["{" * 201, '{"a":' * 5_000, "{x} " * 200 + '{"a": 1}'])
def test_an_answer_that_is_not_looked_at_to_its_end_is_not_without_json(text: str) -> None:
    with pytest.raises(LimitError, match="^not-contains-json: not known: "):
        passes({"not-contains-json": True}, text)
    assert passes({"not-contains-json": True}, '{"a": 1}' + text) is False
    assert passes({"not-contains-json": True}, "{" * 199) is True


def test_a_blank_criterion_is_refused() -> None:
    """[A28] A judge may say anything of it; a blank may be a text of other checks."""
    with pytest.raises(ValueError, match="must_satisfy: blanks alone"):
        read_criteria("must_satisfy", [" "])
    assert read_checks("answer_checks", [{"not-contains": "\n"}]) == ({"not-contains": "\n"},)


@pytest.mark.parametrize(("least", "is_fine"), [(1.0, True), (2e-6, True), (1e-7, False)])
def test_a_weight_that_is_none_beside_the_others_is_refused(least: float, is_fine: bool) -> None:
    """[A28] A failed check would stay within the tolerance of a threshold of 1."""
    checks = [{"contains": "a"}, {"contains": "b", "weight": least}]
    if is_fine:
        assert read_checks("answer_checks", checks) == tuple(checks)
        return
    with pytest.raises(ValueError, match="a weight of 1e-07 of 1 counts for nothing; leave out"):
        read_checks("answer_checks", checks)


@pytest.mark.parametrize(
    ("check", "weight"),
    [
        ({"contains": "a"}, 1.0),
        ({"contains": "a", "weight": 2}, 2.0),
        ({"contains": "a", "regex": None, "weight": 0.5}, 0.5),
        ({"contains": "a", "regex": None, "weight": None}, 1.0),
        ({"equals": "", "weight": None}, 1.0),
    ],
)
def test_a_null_is_what_is_not_written(check: dict[str, Any], weight: float) -> None:
    """[A28] A Parquet structure has every key in every row."""
    assert read_checks("answer_checks", [check]) == (check,)
    assert [check.weight for check in checks_of([check])] == [weight]
