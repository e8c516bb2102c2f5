"""Messages that say where, what, and what was probably meant."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from pytest_rageval import evaluate
from pytest_rageval.errors import (
    MissingExtraError,
    Problem,
    RagevalError,
    ScenarioError,
    UserError,
    describe_error,
    did_you_mean,
    error_line,
    hide_secrets,
    listed,
    nearest,
    shorten,
    unknown_name,
)
from pytest_rageval.extras import installed, require


def test_a_user_error_reads_as_all_its_problems() -> None:
    error = ScenarioError([Problem("s.yaml:3", "one"), Problem("", "two")])
    assert str(error) == "s.yaml:3: one\ntwo"
    assert isinstance(error, UserError)
    assert isinstance(error, RagevalError)


def test_an_unknown_name_lists_what_is_known() -> None:
    message = unknown_name("metric", "faithfullness", ["f1", "faithfulness"])
    assert message == (
        "unknown metric 'faithfullness'. Did you mean 'faithfulness'? Known: f1, faithfulness"
    )
    assert unknown_name("metric", "zzz", ["f1"]) == "unknown metric 'zzz'. Known: f1"
    assert unknown_name("metric", "zzz", []) == "unknown metric 'zzz'."


def test_of_many_names_eight_are_listed_and_the_page_with_all() -> None:
    known = [f"score_{number}" for number in range(30)] + ["zzz"]
    said = unknown_name("metric", "score_x", known, "metrics.md")
    head, _, listed = said.partition(" Known: ")
    assert head.startswith("unknown metric 'score_x'. Did you mean 'score_")
    names, _, page = listed.partition("; ")
    assert (len(names.split(", ")), "zzz" in names, page) == (8, False, "metrics.md lists all")
    said = unknown_name("metric", "???", known, "metrics.md")
    assert said == "unknown metric '???'. Known: metrics.md lists all"


@pytest.mark.parametrize(
    ("name", "guess"), [("EMM", "em"), ("rougel", "rouge-l"), ("zzz", None), ("", None)]
)
def test_the_nearest_name_is_guessed_in_any_case(name: str, guess: str | None) -> None:
    assert nearest(name, ["em", "rouge-l", "f1"]) == guess


def test_a_hint_is_there_only_where_something_is_near() -> None:
    """It begins with a blank: it is what a message goes on with."""
    assert did_you_mean("rougel", ["em", "rouge-l"]) == " Did you mean 'rouge-l'?"
    assert did_you_mean("zzz", ["em", "rouge-l"]) == ""
    assert did_you_mean("zzz", []) == ""


def test_long_text_is_cut_with_an_ellipsis() -> None:
    assert shorten("x" * 80) == "x" * 80
    assert shorten("x" * 81) == "x" * 79 + "…"
    assert len(unknown_name("metric", "x" * 10_000, ["em"])) < 200


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    assert not installed("no_such_package_of_anyone.sub")
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-rageval\[zh\]"') as caught:
        require("no_such_package_of_anyone", extra="zh", purpose="tokenizer 'jieba'")
    assert "tokenizer 'jieba' needs the package 'no_such_package_of_anyone'" in str(caught.value)


def test_an_installed_package_is_imported() -> None:
    assert installed("json.decoder")
    assert require("json.decoder", extra="x", purpose="y").JSONDecoder


def test_known_names_are_text_that_can_be_encoded() -> None:
    """[E12] A validator whose message cannot is a UnicodeEncodeError of pydantic's."""
    assert unknown_name("profile", "cheap", ["c\ud800heap", "é"]).endswith(r"Known: c\ud800heap, é")
    tree = {"name": "s", "metrics": ["em"], "dataset": [{"answer": "x"}], "judge": {"profile": "x"}}
    with pytest.raises(ScenarioError, match=r"unknown profile 'x'\. Known: c\\ud800heap"):
        evaluate({**tree, "models": {"c\ud800heap": {"model": "m"}}})


def raised_by(action: Callable[[], object]) -> BaseException:
    try:
        action()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


def placed(error: BaseException) -> str:
    """Return the description with the line of this file as N."""
    return re.sub(r"(test_errors\.py):\d+", r"\1:N", describe_error(error))


def test_an_error_is_described_with_its_place_in_a_users_code() -> None:
    assert (
        placed(raised_by(lambda: 1 / 0)) == "ZeroDivisionError: division by zero (test_errors.py:N)"
    )
    # Python's own code, and this package's, is not where it is to be repaired.
    assert placed(raised_by(lambda: json.loads("{"))).endswith("(char 1) (test_errors.py:N)")
    assert placed(raised_by(lambda: require("nosuch", "x"))).endswith("(test_errors.py:N)")
    assert placed(ValueError("never raised")) == "ValueError: never raised"
    assert placed(ValueError()) == "ValueError"
    leaky = "http://h/?key=s3cret&x=1, password=s3cret"
    assert placed(ValueError(leaky)) == "ValueError: http://h/?key=***&x=1, password=***"
    assert error_line(ValueError(leaky)) == "ValueError: http://h/?key=***&x=1, password=***"
    urls = ("postgres://me:pa@ss@h/", "['http://me:pass@h','a@b']")
    assert hide_secrets(" ".join(urls)) == "postgres://me:***@h/ ['http://me:***@h','a@b']"


def test_an_error_without_a_place_has_that_of_its_cause() -> None:
    outer = RuntimeError("no score")
    outer.__cause__ = raised_by(lambda: 1 / 0)
    assert placed(outer) == "RuntimeError: no score (test_errors.py:N)"


def test_a_list_that_is_cut_short_says_how_many_more_there_are() -> None:
    assert listed(["a", "b"], 2) == "a, b"
    assert listed(iter(["a", "b", "c"]), 2) == "a, b and 1 more"
    assert listed(["a", "b", "c", "d"], 1, "; ") == "a; and 3 more"
    assert listed([], 2) == ""
