"""E26: the passages that have the most words of a text."""

from __future__ import annotations

import json
import math
import resource

import pytest
from others_data import others_data
from within_a_minute import within_a_minute

from pytest_rageval.questions.base import Passage
from pytest_rageval.questions.nearest import Nearest


def _passages(*texts: str, doc_name: str = "1") -> list[Passage]:
    return [Passage(doc_name, "", text, number) for number, text in enumerate(texts, 1)]


def test_scores_are_those_of_bm25() -> None:
    """Worked by hand: three passages of 3, 2 and 4 words, and the name of their document.

    idf: red is in one, ln(1 + 2.5/1.5); apple in two, ln(1 + 1.5/2.5). Norms with 4 words on
    average: 1.2 · 1 for the first, 1.2 · (0.25 + 0.75 · 3/4) = 0.975 for the second.
    """
    nearest = Nearest(_passages("Red apple, red!", "green apple", "the sky is blue"))
    assert nearest._scores("A red, red apple") == pytest.approx(
        {
            0: math.log(8 / 3) * 2 * 2.2 / 3.2 + math.log(1.6) * 2.2 / 2.2,
            1: math.log(1.6) * 2.2 / 1.975,
        }
    )


def test_the_nearest_stands_first_and_of_equal_ones_the_earlier() -> None:
    """The order does not depend on anything else; a passage without a common word is not near."""
    first, second, third = _passages("the red house", "the blue house", "a green tree")
    nearest = Nearest([first, second, third])
    assert nearest.find("blue house", 5) == [second, first]
    assert nearest.find("a house", 2) == [third, first]
    assert nearest.find("HOUSE", 1) == [first]
    assert nearest.find("blue red", 2) == [first, second]
    assert nearest.find("nothing", 5) == []


def test_passages_are_left_out_and_others_move_up() -> None:
    """Also from other documents."""
    here, there = _passages("the red house"), _passages("a red car", "a dog", doc_name="b/c.md")
    nearest = Nearest([*here, *there])
    assert nearest.find("red house", 1) == here
    assert nearest.find("red house", 1, but=here) == [there[0]]
    assert nearest.find("red house", 3, but=[here[0], there[0]]) == []


def test_headings_and_the_name_of_the_document_count() -> None:
    """They name the subject that the text calls "it"."""
    text = "It is replaced free of charge."
    pump = Passage("manual/pump.md", "Warranty > Broken parts", text, 1)
    other = Passage("manual/valve.md", "Warranty", text, 1)
    nearest = Nearest([other, pump])
    assert nearest.find("Is the pump replaced?", 1) == [pump]
    assert nearest.find("broken", 5) == [pump]


def test_chinese_is_found_by_pairs_of_characters() -> None:
    """A single character stands everywhere; words in Latin script stay whole."""
    tower, city = _passages("铁塔高330米，用AWEL建成。", "塔城在铁路旁边，高度awe不详。")
    nearest = Nearest([tower, city])
    assert nearest.find("铁塔", 5) == [tower]
    assert nearest.find("ＡＷＥＬ", 5) == [tower]
    assert nearest.find("塔", 5) == []
    assert Nearest(_passages("Q 塔 Q")).find("塔", 1)


@pytest.mark.parametrize("texts", [[], [""], ["", "word"]])
def test_few_or_empty_passages_are_no_error(texts: list[str]) -> None:
    """Nothing is found, or what is there."""
    nearest = Nearest(_passages(*texts))
    assert [passage.text for passage in nearest.find("word", 3)] == [text for text in texts if text]


@pytest.mark.full
def test_an_index_of_passages_is_small() -> None:
    """With the vocabulary of real ones; 10,000 are to take less than 200 MB."""
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["contexts"][0] for line in lines]
    passages = _passages(*(f"{texts[at % len(texts)]} {at}" for at in range(3_000)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with within_a_minute():
        nearest = Nearest(passages)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024
    assert nearest.find("2999", 3) == [passages[2999]]
