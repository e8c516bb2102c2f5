"""G1: citations that are hard to tell from other brackets, or to take out of a sentence."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import find_style, read_citations, strip_citations
from pytest_rageval.text.sentences import split_sentences

AUTO = CitationRule()
CONTEXTS = 5

CASES = tomllib.loads(Path(__file__).with_name("hard_citations.toml").read_text("utf-8"))["cases"]


@pytest.mark.parametrize(("answer", "cited", "stripped"), CASES)
def test_hard_citations_are_read_and_taken_out(
    answer: str, cited: Sequence[int | str], stripped: str
) -> None:
    read = read_citations(answer, AUTO, CONTEXTS)
    assert read.citations == tuple(cited)
    assert read.stripped == stripped
    assert strip_citations(answer, AUTO, CONTEXTS) == read.stripped


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("A is high. [1] B is low. [2]", [("A is high.", (1,)), ("B is low.", (2,))]),
        ("A is high.[1]B is low.[2]", [("A is high.", (1,)), ("B is low.", (2,))]),
        ("Plan B [1]. Then C [2].", [("Plan B.", (1,)), ("Then C.", (2,))]),
        ("[1] A is high.\n[2] B is low.", [("A is high.", (1,)), ("B is low.", (2,))]),
        ("A is high.\n[1][2]\n\nB is low.", [("A is high.", (1, 2)), ("B is low.", ())]),
        ("该塔很高。[1]票价5元。[2]", [("该塔很高。", (1,)), ("票价5元。", (2,))]),
        ("他说：“很高。”[1]然后走了。", [("他说：“很高。”", (1,)), ("然后走了。", ())]),
        ('He said "yes."[1] Then he left.', [('He said "yes."', (1,)), ("Then he left.", ())]),
        ("- A is high [1]\n- B is low [2]", [("- A is high", (1,)), ("- B is low", (2,))]),
    ],
)
def test_citations_belong_to_the_sentence_that_a_reader_gives_them(
    answer: str, sentences: list[tuple[str, tuple[int, ...]]]
) -> None:
    read = read_citations(answer, AUTO, CONTEXTS)
    assert [(sentence.text, sentence.citations) for sentence in read.sentences] == sentences


def test_a_table_of_contents_is_not_cut_where_text_follows() -> None:
    """What looks like a list of sources is one only at the end."""
    answer = "Sources:\n- a.pdf\n\nBoth say that it is high [1]."
    assert read_citations(answer, AUTO, CONTEXTS).stripped.startswith("Sources:\n- a.pdf")


def test_two_styles_in_as_many_answers_are_asked_about() -> None:
    found = find_style(["It is [1].", "It is [2].", "It is.¹", "It is.²"], [3] * 4)
    assert "which one is meant" in found.problem
    assert "which one is meant" in find_style(["It is [1]【2】."], [3]).problem
    assert not find_style(["It is [1].", "It is [2].", "It is.¹"], [3] * 3).problem
    assert not find_style(["It is [1].", "很高【2】。"], [3] * 2).problem
    assert not find_style(["It is [1]."] * 30 + ["It is.¹"], [3] * 31).problem


def test_superscripts_are_the_one_style_in_a_tenth_of_the_answers_or_no_style() -> None:
    assert find_style(["It is.¹"] + ["It is."] * 9, [3] * 10).rule.superscripts
    assert not find_style(["It is.¹"] + ["It is."] * 10, [3] * 11).rule.superscripts
    assert find_style([], []).hold == 0


def test_a_name_in_the_users_pattern_stays_whole() -> None:
    rule = CitationRule(r"<<(.+?)>>")
    assert read_citations("It is <<guide, 2>> <<1, 3-4>>.", rule, 5).citations == (
        "guide, 2",
        1,
        3,
        4,
    )


WORDS = "It opened 1889. Dr. 该塔开放。 高330米； x_y f( np.a ` ``` ( ) [ ] [[ ]] - 1. ... ? !"
MARKERS = (
    "[1] [2,3] [0,1] [1-2] 【1†source】 ［2］ [^1] [^1]: [doc1] [citation:1,2] (source:a.pdf) "
    "[b.md] （ ） 【 】 [2024] ¹ .² (http://a.b) Sources: ##"
)
BLANKS = (" ", "\n", "\n\n", "\nReferences:\n", "\n[1] a.pdf\n")
PIECES = st.sampled_from([*WORDS.split(), *MARKERS.split(), *BLANKS])
CODE = re.compile(r"^[ \t]*```.*?(^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def letters(text: str) -> list[str]:
    return re.findall(r"[^\W_]", text)


RULES = st.sampled_from(
    [AUTO, CitationRule(superscripts=True), CitationRule(base=0), CitationRule("brackets")]
)


@given(st.lists(PIECES, max_size=25).map("".join), RULES)
def test_any_text_is_read_whole(answer: str, rule: CitationRule) -> None:
    """Nothing raises, no marker stays, sentences hold all words, and each citation has its own."""
    read = read_citations(answer, rule, CONTEXTS)
    again = read_citations(read.stripped, rule, CONTEXTS)
    assert again.citations == ()
    assert again.stripped == read.stripped
    assert letters(" ".join(s.text for s in read.sentences)) == letters(CODE.sub("", read.stripped))
    if read.sentences:
        assert [source for s in read.sentences for source in s.citations] == [*read.citations]


@given(st.lists(PIECES, max_size=25).map("".join))
def test_sentences_hold_all_words_but_code(text: str) -> None:
    plain = text.replace("```", "")
    assert letters("".join(split_sentences(plain))) == letters(plain)


def test_numbers_may_begin_at_0_where_the_base_is_not_written() -> None:
    answers = ["It is [0].", "It is [0][1]."]
    assert "write {base: 0}" in find_style(answers, [3, 3]).problem
    assert find_style(answers, [3, 3], base_is_written=True).problem == ""
    brackets = find_style(answers, [3, 3], CitationRule("brackets"))
    assert "write {base: 0}" in brackets.problem
    assert brackets.rule == CitationRule("brackets")
