"""[R5] A reply that gives back the prompt's example is told from one that speaks of the row."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.text.echo import Examples, RepeatedExampleError, examples_in, refuse_repeated

ROWS = tomllib.loads(Path(__file__).with_name("echo.toml").read_text("utf-8"))

EINSTEIN = (
    "Albert Einstein was born on 14 March 1879. He was a German-born theoretical physicist. "
    "He received the 1921 Nobel Prize in Physics."
)
SHOWN = Examples.of(
    {
        "claims": [
            {
                "statement": "Albert Einstein, born on 14 March 1879, was a theoretical physicist.",
                "reason": "The date of birth of Einstein is mentioned clearly in the context.",
            },
            {"statement": "He published 4 papers in 1905.", "reason": "no evidence for this here"},
            {"statement": "Mount Everest.", "reason": "There is no evidence in the given context."},
        ],
        "entities": ["Eiffel Tower", "Paris", "1889", "World's Fair"],
    },
    {"context": f"{EINSTEIN} In 1905, he published 4 papers. The Eiffel Tower is in Paris: 1889."},
)
PLANT = ["When is the plant watered?", "On Mondays.", "The office plant is watered on Tuesdays."]


def repeats(reply: Any, own: Any = PLANT, shown: Examples = SHOWN) -> bool:
    try:
        refuse_repeated(reply, shown, own)
    except RepeatedExampleError:
        return True
    return False


@pytest.mark.parametrize(
    "said",
    ROWS["an_example_is_known_again"],
)
def test_an_example_is_known_again(said: str) -> None:
    """Whatever its case, width and punctuation; a part of it, what holds it, and in other words."""
    assert repeats({"classifications": [{"statement": said, "attributed": 1}]})


@pytest.mark.parametrize(
    "said",
    [
        "The office plant is watered on Tuesdays.",
        "There is no evidence in the given context.",  # true of many a row
        "Mount Everest.",  # too short to tell
        "a theoretical physicist",
        "Physicist is not mentioned in the answer.",
        "This physicist is not mentioned in the answer.",  # one word, and no name
    ],
)
def test_what_may_be_said_of_any_row_is_no_echo(said: str) -> None:
    assert not repeats([said])


@pytest.mark.parametrize(
    ("said", "own"),
    [
        ("He was a German-born theoretical physicist.", [EINSTEIN]),
        (
            "Albert Einstein, born on 14 March 1879, was a theoretical physicist.",
            ["Who was he?", "The physicist Albert Einstein (14 March 1879; theoretical work)."],
        ),
        ("The date of birth of Einstein is mentioned clearly in the context.", [EINSTEIN]),
        (  # the row matches a part of the example, not all of it
            "Albert Einstein was a theoretical physicist.",
            ["Who was the physicist?", "Einstein, in theoretical physics."],
        ),
    ],
)
def test_a_row_about_the_same_thing_may_say_it(said: str, own: list[str]) -> None:
    assert not repeats(said, own)


@pytest.mark.parametrize(
    ("said", "own", "is_echo"),
    [
        (["Eiffel Tower", "Paris", "1889", "World's Fair"], PLANT, True),
        (["1889", "Eiffel Tower", "Paris"], PLANT, True),  # in any order
        (["Paris", "1889"], PLANT, True),
        (["Paris"], PLANT, False),
        (["Paris", "Office"], PLANT, False),
        (["Paris", "1889"], ["The fair in Paris."], False),
        (["1", "0", "1", "1", "1", "1"], PLANT, False),
        (["Eiffel Tower", "Paris"], ["埃菲尔铁塔在法国巴黎，1889年。"], False),
        (["Eiffel Tower", "Paris", "1889"], ["埃菲尔铁塔在法国巴黎，1889年。"], False),
        (["Eiffel Tower", "Paris", "1889"], ["办公室的植物每周二浇水。"], True),
    ],
)
def test_short_texts_of_a_list_count_together(
    said: list[str], own: list[str], is_echo: bool
) -> None:
    """Entities and key phrases have a word or two each."""
    assert repeats({"entities": said}, own) is is_echo


CAPITAL = "What is the capital of France?"
RELATIVITY = "Albert Einstein developed the theory of relativity."


@pytest.mark.parametrize(
    ("said", "own", "is_echo"),
    [
        (CAPITAL, ["法国的首都是哪里？", "法国的首都是巴黎。"], False),
        (CAPITAL, ["Столица Франции?", "Париж."], False),
        (CAPITAL, ["What is the capital of Germany?", "Berlin."], True),
        (
            "Albert Einstein was a German-born theoretical physicist.",
            ["爱因斯坦出生于德国。"],
            False,
        ),
        ("Albert Einstein was born on 14 March 1879.", ["爱因斯坦生于1879年3月14日。"], False),
        ("Albert Einstein was born on 14 March 1879.", ["办公室的植物每周二浇水。"], True),
        (RELATIVITY, ["Who developed relativity?", "Einstein."], False),
        (RELATIVITY, PLANT, True),
    ],
)
def test_a_row_may_say_it_in_another_script_or_in_part(
    said: str, own: list[str], is_echo: bool
) -> None:
    """Across scripts, figures tell: other words have nothing to be compared with."""
    shown = Examples.of({"question": CAPITAL}, "Paris is the capital of France.") + Examples.of(
        [RELATIVITY], f"{EINSTEIN} {RELATIVITY}"
    )
    assert repeats([said], own, shown) is is_echo


def test_chinese_needs_twelve_characters() -> None:
    said = "爱因斯坦是一位出生于德国的理论物理学家。"
    shown = Examples.of([said, "给定的上下文中没有支持这一点的证据。"], [said])
    assert repeats("爱因斯坦是一位出生于德国的理论物理学家", ["办公室的植物每周二浇水。"], shown)
    assert not repeats("理论物理学家", ["办公室的植物每周二浇水。"], shown)
    assert not repeats("给定的上下文中没有支持这一点的证据", ["办公室的植物。"], shown)
    assert not repeats(said, ["出生于德国的理论物理学家爱因斯坦，是一位名人。"], shown)


def test_an_example_in_the_text_of_a_prompt() -> None:
    """Its JSON counts, a JSON Schema and the form of a reply do not."""
    prompt = (
        'Judge {query}. Reply as {"reason": "...", "score": ...} by {"properties": {"score": '
        '{"description": "how well the answer fits the question"}}}. For example: '
        '{"reason": "The lighthouse keeper is named, but not his boat.", "score": 3}'
    )
    shown = examples_in(prompt)
    assert repeats("The lighthouse keeper is named, but not his boat.", shown=shown)
    assert not repeats("how well the answer fits the question", shown=shown)
    assert examples_in("Judge {answer} by {context}.") == Examples()


def test_without_examples_nothing_is_an_echo() -> None:
    reply: Mapping[str, Any] = {"reason": "as long as it likes to be, and longer"}
    assert not repeats(reply, shown=Examples())
