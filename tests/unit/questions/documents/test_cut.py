"""Cutting a text into passages: sizes, neighbours of what is too short, and nothing lost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.questions.documents.base import Piece, ReadFile
from pytest_rageval.questions.documents.cut import LONGEST, cut, width
from pytest_rageval.questions.documents.formats.markdown import markdown_parts
from pytest_rageval.questions.documents.formats.text import text_parts

WORDS = "The kettle boils a litre of water in four minutes and then it switches itself off. "
ZH = "水壶四分钟内可以把一升水烧开，然后自动断电。"


def of(text: str) -> ReadFile:
    """Return the passages of a text in Markdown."""
    return cut(text, markdown_parts(text))


def shown(found: ReadFile) -> list[tuple[str, str]]:
    return [(" > ".join(piece.headings), piece.text) for piece in found.pieces]


def test_paragraphs_are_joined_up_to_the_longest() -> None:
    """85 characters each: 13 make 1,129 with the blank lines, 14 would be 1,216."""
    paragraphs = [f"{WORDS.strip()[:-1]} {at}." for at in range(10, 46)]
    assert {len(paragraph) for paragraph in paragraphs} == {85}
    found = of("\n\n".join(paragraphs))
    counts = [piece.text.count("\n\n") + 1 for piece in found.pieces]
    assert counts == [13, 13, 10]


def test_a_character_of_chinese_is_two_wide() -> None:
    assert (width("高330米。"), width("abc")) == (8, 3)
    found = of(ZH * 100)
    assert all(len(piece.text) <= LONGEST // 2 + 50 for piece in found.pieces)


@pytest.mark.parametrize("sentence", [WORDS, ZH])
def test_a_long_paragraph_is_cut_at_the_ends_of_sentences(sentence: str) -> None:
    """Also where its lines end elsewhere."""
    text = "\n".join(re.findall(r".{1,50}(?: |$)|.{1,50}", sentence * 60)).strip()
    found = of(text)
    assert len(found.pieces) >= 3
    assert all(piece.text.endswith((".", "。")) for piece in found.pieces)
    assert "".join("".join(piece.text for piece in found.pieces).split()) == "".join(text.split())


def test_what_has_no_sentences_is_cut_at_lines_or_blanks_or_anywhere() -> None:
    for text in ("word " * 1000, "x" * 5000, "字" * 5000, "name, value\n" * 500):
        found = of(text)
        assert all(width(piece.text) <= LONGEST for piece in found.pieces)
        joined = "".join(piece.text for piece in found.pieces)
        assert "".join(joined.split()) == "".join(text.split())
    assert all(not piece.text.startswith("value") for piece in found.pieces)


def test_code_is_cut_only_if_it_is_huge() -> None:
    """3,600 is the limit: 100 lines of 30 stay whole, 200 are cut at their ends."""
    lines = [f"value_{at:03} = compute({at:03}) * 7" for at in range(200)]
    whole = "\n".join(["```", *lines[:100], "```"])
    assert [piece.text for piece in of(whole).pieces] == [whole]
    huge = of("\n".join(["```", *lines, "```"]))
    assert len(huge.pieces) > 3
    assert [line for piece in huge.pieces for line in piece.text.split("\n")][1:-1] == lines


SAID = "Whoever opens the lid while the water boils loses the guarantee of two years."
LIST = "[10.0.1](https://example.org/compare/v10.0.0...v10.0.1) (2023-11-02)"
CALL = "`pipeline(source[, ...transforms], destination[, options], callback)`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"# Kettle\n\n{WORDS}\n\n## Colours\n\n# Lid\n\n{WORDS}", [("Kettle", 1), ("Lid", 1)]),
        (f"# Kettle\n\n## {SAID}\n\n{WORDS}", [(f"Kettle > {SAID}", 1)]),
        (f"# {SAID}\n\n## Lid\n\n{WORDS}", [(f"{SAID} > Lid", 1)]),
        (f"---\ntitle: {SAID}\n---\n# Lid\n\n{WORDS}", [("Lid", 1)]),
        (f"# Kettle\n\n{WORDS}\n\n## Red", [("Kettle", 1)]),
        (f"# Lid\n\n{WORDS}\n\n## {CALL}\n\n## {LIST}\n\n{'What it was' * 9}\n===", [("Lid", 1)]),
        # A sentence as long as a passage, without a text or a heading below it.
        (f"# Lid\n\n{WORDS}\n\n## {SAID}\n\n## Red\n\n{WORDS}",
         [("Lid", 1)] * 2 + [("Lid > Red", 1)]),
        (f"# Lid\n\n## {SAID}", [("Lid", 1)]),
        (f"# {SAID}\n\n# Red\n\n{WORDS}", [("", 1), ("Red", 1)]),
        (f"# Lid\n\n### {SAID}\n\n### Now, too: {SAID}\n\n## Red\n\n{WORDS}",
         [("Lid", 1)] * 2 + [("Lid > Red", 1)]),
    ],
)  # fmt: skip
def test_a_heading_that_is_a_sentence_is_a_passage(
    text: str, expected: list[tuple[str, int]]
) -> None:
    """It states something, and would be in no passage and no path; a short one names something."""
    said = re.compile(f"{SAID}|boils a")
    assert [(path, len(said.findall(text))) for path, text in shown(of(text))] == expected


def test_what_is_too_short_joins_the_section_above_or_below() -> None:
    """The heading of a section that joins is in the text, since it is not in the path."""
    above = f"# Kettle\n\n{WORDS}\n\n## Colour\n\nRed.\n"
    joined = f"{WORDS.strip()} \n\n## Colour\n\nRed."
    assert shown(of(above)) == [("Kettle", joined)]
    below = f"# Kettle\n\nIn short:\n\n## Boiling\n\n{WORDS}\n"
    assert shown(of(below)) == [("Kettle", f"In short:\n\n## Boiling\n\n{WORDS.strip()}")]


def test_short_sections_under_one_heading_become_one_passage() -> None:
    """Questions with short answers, say: the headings are half of what they say."""
    text = "# FAQ\n\n## How long is it?\n\nThirty days.\n\n## Who pays for it?\n\nThe sender.\n"
    assert shown(of(text)) == [("FAQ", text.partition("\n\n")[2].strip())]


def test_what_is_too_short_and_far_from_others_is_no_passage() -> None:
    text = f"# A\n\n## B\n\n### C\n\nShort.\n\n# D\n\n{WORDS}\n"
    found = of(text)
    assert shown(found) == [("D", WORDS.strip())]
    assert found.too_short == [Piece("Short.", ("A", "B", "C"))]
    assert of("Short.").too_short == [Piece("Short.")]


_SENTENCES = st.lists(
    st.sampled_from([WORDS, ZH, "No. ", "好。", "- ", "1. ", "a|b", "`x`", "\u3000", "é" * 90]),
    min_size=1,
    max_size=40,
).map("".join)
_BLOCKS = st.lists(
    st.one_of(
        _SENTENCES.map(lambda text: ("text", text)),
        st.integers(1, 4).map(lambda level: ("heading", f"{'#' * level} Heading {level}")),
        _SENTENCES.map(lambda text: ("text", f"```\n{text}\n\n{text}\n```")),
    ),
    max_size=12,
)


@given(_BLOCKS)
def test_every_paragraph_of_markdown_is_in_a_passage_or_too_short(
    blocks: list[tuple[str, str]],
) -> None:
    text = "\n\n".join(block for _, block in blocks)
    found = of(text)
    at = 0
    covered = set[int]()
    for piece in found.pieces:  # each stands in the text, behind the one before it
        begin = text.index(piece.text, at)
        at = begin + len(piece.text)
        assert piece.text == piece.text.strip()
        covered |= set(range(begin, at))
    start, lost = 0, 0
    for kind, block in blocks:
        marks = [start + at for at, char in enumerate(block) if not char.isspace()]
        lost += kind == "text" and not covered.issuperset(marks)
        start += len(block) + 2
    assert found.too_short or lost == 0


@given(st.text(alphabet="aB. \n#-=`|~*>1一、第章。\u3000", max_size=400) | st.text())
def test_any_text_is_cut_into_stretches_of_itself_in_order(text: str) -> None:
    for parts in (markdown_parts(text), text_parts(text)):
        assert all(0 <= part.start <= part.end <= len(text) for part in parts)
        at = 0
        for piece in cut(text, parts).pieces:
            at = text.index(piece.text, at) + len(piece.text)
        ends = [part.end for part in parts]
        assert ends == sorted(ends)


@given(st.lists(_SENTENCES, max_size=12))
def test_every_character_of_a_plain_text_is_in_a_passage_a_heading_or_too_short(
    paragraphs: list[str],
) -> None:
    text = "\n\n".join(paragraphs)
    parts = text_parts(text)
    found = cut(text, parts)
    in_parts = "".join(text[part.start : part.end] for part in parts)
    assert sorted("".join(in_parts.split())) == sorted("".join(text.split()))
    kept = sum(len("".join(piece.text.split())) for piece in found.pieces)
    below = sum(len("".join(text[p.start : p.end].split())) for p in parts if not p.level)
    assert kept >= below or found.too_short


_MEASURED = """
import sys, tracemalloc
from pathlib import Path
from pytest_rageval.questions.documents.read import read_documents
tracemalloc.start()
found = read_documents(Path(sys.argv[1]))
print(len(found.passages), tracemalloc.get_traced_memory()[1] / 2**20)
"""


@pytest.mark.full
def test_ten_thousand_passages_take_little_memory(tmp_path: Path) -> None:
    """Some 20 MB in 95 files; in a process of its own, which has loaded nothing else."""
    for number in range(95):
        sections = [
            f"## Part {number}.{at}\n\n" + (f"{number} {at} " + (WORDS if at % 2 else ZH) * 26)
            for at in range(110)
        ]
        (tmp_path / f"{number}.md").write_text("# Book\n\n" + "\n\n".join(sections), "utf-8")
    command = [sys.executable, "-c", _MEASURED, str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    count, peak_mb = map(float, out.split())
    assert count >= 10_000
    assert peak_mb < 300
