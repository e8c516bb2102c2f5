"""G1: markers of citations, what looks like one and is none, and the sentences they belong to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.text.citations import (
    CitationRule,
    find_style,
    read_citations,
    strip_citations,
    structured_answer,
    structured_citations,
)

ROWS = tomllib.loads(Path(__file__).with_name("citations.toml").read_text("utf-8"))

AUTO = CitationRule()


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("It opened in 1889 [1, 3].", (1, 3)),
        ("It opened in 1889 [1-3].", (1, 2, 3)),
        ("It opened in 1889 ［2］.", (2,)),
        ("It opened in 1889[1] and is 330 m high[2].", (1, 2)),
        ("该塔于1889年开放【4†source】。", (4,)),
        ("该塔于1889年开放［1、2］。", (1, 2)),
        ("该塔于1889年开放（来源：铁塔.pdf）。", ("铁塔.pdf",)),
        ("It opened in 1889 (Source: tower.pdf, b.md).", ("tower.pdf", "b.md")),
        ("It opened in 1889 [tower guide.pdf].", ("tower guide.pdf",)),
        ("It opened in 1889【1†tower.pdf】.", (1,)),
        ("It opened in 1889【2†tower.pdf】【3†b.md】.", (2, 3)),
        ("It opened in 1889【4:0†source】.", ()),
        ("It opened in 1889【tower.pdf】.", ("tower.pdf",)),
        ("It opened in 1889 [tower.pdf, b.md].", ("tower.pdf", "b.md")),
        ("It opened in 1889【4:0†tower.pdf】.", ("tower.pdf",)),
        ("该塔于1889年开放【8:12†铁塔 指南.pdf】【8:3†b.md】。", ("铁塔 指南.pdf", "b.md")),
        ("It opened in 1889【4:0†tower.pdf, 4:1†b.md】.", ("tower.pdf", "b.md")),
        ("It opened in 1889【made_up.pdf, 4:1†b.md】.", ("made_up.pdf", "b.md")),
        ("It opened in 1889 [Doc 4].", (4,)),
        ("It opened in 1889 [doc1][doc2].", (1, 2)),
        ("It opened in 1889 [citation:2, 5].", (2, 5)),
        ("It opened in 1889.[^2]", (2,)),
        ("It opened in 1889 [0].", (0,)),
        ("It opened in 1889 [99].", (99,)),
        ("See version 1.2 [3].", (3,)),
        ("It is the U.S.[2] tower.", (2,)),
    ],
)
def test_spellings_are_read(text: str, cited: Sequence[object]) -> None:
    assert read_citations(text, AUTO, 5).citations == tuple(cited)


@pytest.mark.parametrize(
    ("said", "cited"),
    [
        ("a.pdf, Section 4.2", ("a.pdf",)),
        ("a.pdf, section 4; b.md, §2, p. 3", ("a.pdf", "b.md")),
        # Of a source that is not known, it may be one itself; and so may what is no section.
        ("a.pdf, b.md", ("a.pdf", "b.md")),
        ("a.pdf, made_up.pdf", ("a.pdf", "made_up.pdf")),
        ("c.pdf, Section 4", ("c.pdf", "Section 4")),
        ("a.pdf, Policy 2023", ("a.pdf", "Policy 2023")),
        ("a.pdf, Section", ("a.pdf", "Section")),
        ("a.pdf, Section 4 of the annex", ("a.pdf", "Section 4 of the annex")),
        ("Section 4.2", ("Section 4.2",)),
        ("Section 4.2, a.pdf", ("Section 4.2", "a.pdf")),
        ("a.pdf, 2", ("a.pdf", 2)),
    ],
)
def test_a_section_of_a_known_source_is_no_source(said: str, cited: Sequence[object]) -> None:
    rule = CitationRule(names=frozenset(("a.pdf", "b.md")))
    assert read_citations(f"It opened (Source: {said}).", rule, 5).citations == tuple(cited)


@pytest.mark.parametrize("names", [(), ("a.pdf", "Section 1 - Returns.pdf"), ("a.pdf", "§ 4")])
def test_a_section_is_a_source_where_sections_are_known(names: Sequence[str]) -> None:
    rule = CitationRule(names=frozenset(names))
    read = read_citations("It opened (Source: a.pdf, Section 4.2).", rule, 5)
    assert read.citations == ("a.pdf", "Section 4.2")


@pytest.mark.parametrize(
    "text",
    ROWS["what_is_no_citation_stays_text"],
)
def test_what_is_no_citation_stays_text(text: str) -> None:
    read = read_citations(text, AUTO, 5)
    assert read.citations == ()
    assert text.startswith("[^") or strip_citations(text, AUTO, 5) == text


def test_many_contexts_make_large_numbers_citations() -> None:
    assert read_citations("It opened [120].", AUTO, 200).citations == (120,)
    assert read_citations("It opened [120].", AUTO, 50).citations == ()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "It opened in 1889. [1] It is 330 m high. [2]",
            [("It opened in 1889.", (1,)), ("It is 330 m high.", (2,))],
        ),
        (
            "[1] The tower opened in 1889.\n[2] It is high.",
            [("The tower opened in 1889.", (1,)), ("It is high.", (2,))],
        ),
        ("据报道[1]，该塔很高。票价5元[2]。", [("据报道，该塔很高。", (1,)), ("票价5元。", (2,))]),
        (
            "It cost $5 [1]; that was cheap, e.g. for Dr. Who [2].",
            [("It cost $5; that was cheap, e.g. for Dr. Who.", (1, 2))],
        ),
        (
            "It is [[1]].\nIt was [2].\n[3] So.",
            [("It is.", (1,)), ("It was.", (2,)), ("So.", (3,))],
        ),
        (
            "A is [[1], 2]. B is [3]. C is [4].",
            [("A is [, 2].", (1,)), ("B is.", (3,)), ("C is.", (4,))],
        ),
        # What is left of the first one is a marker that cites nothing, and moves none behind it.
        ("It is [[1]2]. It was [2]. So [3].", [("It is.", (1,)), ("It was.", (2,)), ("So.", (3,))]),
        (
            "It is [[1]2].\n[2] It was.\nSo.[3]",
            [("It is.", (1,)), ("It was.", (2,)), ("So.", (3,))],
        ),
        ("[[1]2] It is. It was [2]. So [3].", [("It is.", (1,)), ("It was.", (2,)), ("So.", (3,))]),
        (
            "One [[[1]2]3] is. Two [2]. Six [[4]5]. Ten [5].",
            [("One is.", (1,)), ("Two.", (2,)), ("Six.", (4,)), ("Ten.", (5,))],
        ),
        (
            "A is [1]. B [[1]2]is. [[2]3] C is. [3]",
            [("A is.", (1,)), ("B is.", (1, 2)), ("C is.", (3,))],
        ),
    ],
)
def test_a_marker_belongs_to_the_sentence_before_it(
    text: str, sentences: list[tuple[str, tuple[int, ...]]]
) -> None:
    read = read_citations(text, AUTO, 5)
    assert [(s.text, s.citations) for s in read.sentences] == sentences


@pytest.mark.parametrize(
    "tail",
    [
        "\n\nReferences:\n[1] tower.pdf\n[2] b.pdf",
        "\n\n## Sources\n- [1] tower.pdf\n- https://example.org",
        "\n\n**Sources:**\n1. tower.pdf\n2. b.pdf",
        "\n\n参考文献\n[1] 铁塔.pdf",
        "\n\nSources: [1] tower.pdf; [2] b.pdf",
    ],
)
def test_the_list_of_sources_is_no_text(tail: str) -> None:
    read = read_citations("It opened in 1889 [1]." + tail, AUTO, 5)
    assert read.stripped == "It opened in 1889."
    assert read.citations == (1,)


@pytest.mark.parametrize(
    "text",
    [
        "It opened in 1889 [1].\nIt is 330 m high [2].",
        "## When it opened [1]\n\n- It opened in 1889 [1].\n- Is it high?",
        "It opened in 1889 [1].\n\n```\nrows[1] = [2]\nIt is said to be high.",
        "It opened in 1889 [1].\nCall `rows[1]` twice.\nIt is high. [2]\n",
        "It has two parts.\n\nSources of income are rent and sales.\nThey rise [2].",
        "It opened [1].\n\nSources: [1] tower.pdf; [2] b.pdf\n",
        "It opened in 1889.[^1]\n\n[^1]: tower.pdf\n",
        "It opened in 1889 [1].\n\n~~~python\nrows[1]\n~~~\n\nIt is 330 m high [2].",
        "```\nrows[1]\n```\nIt opened in 1889 [1].\n```\nrows[2]\n```\nIt is high [2].",
        "It opened in 1889 [1].\n\nReferences:\n[1] The tower, 1889\n[2] Its height\n",
        "It opened in 1889.[^1]\n\n---\n**Sources**\n\n1. The tower, in 1889\n",
        "该塔于1889年开放[1]。\n\n参考文献\n[1] 铁塔的历史\n",
        "It opened in 1889 [1].\n\n[1]: https://a.org/x\n[2] tower.pdf\nIt is high [2].",
    ],
)
def test_windows_line_ends_change_nothing(text: str) -> None:
    """A block of code that seems to have no end would hide all that follows it."""
    read = read_citations(text, AUTO, 5)
    windows = read_citations(text.replace("\n", "\r\n"), AUTO, 5)
    assert (windows.sentences, windows.citations) == (read.sentences, read.citations)
    assert windows.stripped.replace("\r\n", "\n") == read.stripped


def test_an_answer_about_sources_is_no_list_of_them() -> None:
    text = "The report has two parts.\n\nSources of income are rent and sales."
    assert strip_citations(text, AUTO) == text


def test_what_needs_no_citation_is_not_counted() -> None:
    text = "## Opening\n\nWhen did it open? It opened in 1889. Yes.\n- Of course"
    counted = [s.is_counted for s in read_citations(text, AUTO).sentences]
    assert counted == [False, False, True, False, False]


def test_a_pattern_of_the_scenario_reads_one_group() -> None:
    rule = CitationRule(r"\{\{ref (\w+)\}\}")
    read = read_citations("It opened {{ref 2}} in May {{ref guide}}.", rule, 3)
    assert read.citations == (2, "guide")
    assert read.stripped == "It opened in May."


def test_numbers_from_0_are_counted_from_1() -> None:
    assert read_citations("Yes [0][2].", CitationRule(base=0), 3).citations == (1, 3)


def test_superscripts_stand_behind_a_word_too() -> None:
    """Most people write years¹. A unit is none."""
    rule = CitationRule(style="superscript")
    said = (
        *(
            "Covered for 3 years¹.",
            "两年²。",
            "A basin², and 9 metres¹.",
            "小米²，密码²，在这里²。",
            "In the log². In the yard².",
            "20 square metres², 67 cents per mile². 限高2米²。",
        ),
        *("5 m², 40 km², x³ and 10³", "1000千克/米³", "9.8米/秒²", "30 metres² of grass, sin² x"),
    )
    found = [read_citations(text, rule, 4).citations for text in said]
    assert found == [(1,), (2,), (2, 1), (2, 2, 2), (2, 2), (2, 2, 2), (), (), (), ()]


def test_superscripts_are_read_where_they_are_the_one_style() -> None:
    found = find_style(["It opened.¹", "It is high.²", "No."], [2, 2, 2])
    assert found.rule.superscripts
    assert found.hold == 2
    mixed = find_style(["It opened.¹", "It is high [2]."], [2, 2])
    assert not mixed.rule.superscripts


def test_numbers_that_may_begin_at_0_are_asked_about() -> None:
    assert "begin at 0 or at 1" in find_style(["A [0].", "B [0] and [1]."], [3, 3]).problem
    assert not find_style(["A [0].", "B [0][3]."], [3, 3]).problem
    assert not find_style(["A [1].", "B [0]."], [3, 3]).problem


def test_fields_name_sources_by_number_name_or_object() -> None:
    given = [1, "2", "a.pdf", {"document_id": "d7", "score": 1}, {"index": 3}, 4.0]
    assert structured_citations(given) == (1, 2, "a.pdf", "d7", 3, 4)
    for wrong in (True, [None], [1.5], [{"score": 1}]):
        with pytest.raises(ValueError, match="expected"):
            structured_citations(wrong)


def test_trec_counts_from_0() -> None:
    parts = [{"text": "It opened.", "citations": [0, 2]}, {"text": "It is high."}]
    assert structured_answer(parts) == (("It opened.", (1, 3)), ("It is high.", ()))
    assert structured_answer("It opened.") is None


MARKS = st.sampled_from(["[1]", "[2, 3]", "【1】", "[^1]", "(source: a.pdf)", "[doc2]", " "])
WORDS = st.sampled_from(
    ["It", "opened", "1889.", "高。", "and", "Dr.", "\n", "x_[1]", "why?", "- a"]
)


@given(st.lists(st.one_of(MARKS, WORDS), max_size=30))
def test_stripping_loses_no_word_and_leaves_no_marker(parts: list[str]) -> None:
    text = " ".join(parts)
    read = read_citations(text, AUTO, 5)
    assert strip_citations(text, AUTO, 5).strip() == read.stripped
    assert not read_citations(read.stripped, AUTO, 5).citations
    for word in ("opened", "1889", "高", "Dr"):
        assert len(re.findall(word, read.stripped)) == len(re.findall(word, text))


@given(st.text(alphabet="[]【】()^1-, .\n`~#aA高:。source pdf", max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    read = read_citations(text, AUTO, 5)
    assert all(isinstance(sentence.text, str) for sentence in read.sentences)
