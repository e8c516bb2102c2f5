"""Text in terminal cells: Chinese characters take two, accents on a letter none."""

from __future__ import annotations

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.text.printable import cells, cut, pad, wrapped

MIXED = (
    "gate 退款政策.pdf: 0.4875 < 0.5000 aVeryLongNameThatFillsMoreThanOneLine 会员等级如何计算？"
)


@pytest.mark.parametrize(
    ("text", "count"), [("f1", 2), ("准确率", 6), ("e\u0301", 1), ("", 0), ("a\u200db", 2)]
)
def test_characters_are_counted_as_terminals_draw_them(text: str, count: int) -> None:
    assert cells(text) == count


def test_text_is_filled_up_to_a_width() -> None:
    assert pad("退款", 6) == "退款  "
    assert pad("退款", 3) == "退款"


@pytest.mark.parametrize("width", range(2, 30))
def test_cut_text_is_never_wider(width: int) -> None:
    """[U2] Half a character is never shown: 7 cells hold three of them and the ellipsis."""
    assert cells(cut(MIXED, width)) <= width
    assert cut("退款政策说明", 7) == "退款政…"


@pytest.mark.parametrize("width", range(2, 40))
def test_wrapped_lines_are_never_wider_and_lose_nothing(width: int) -> None:
    """[U2] Long words are broken inside."""
    lines = wrapped(MIXED, width)
    assert max(map(cells, lines)) <= width
    assert "".join(lines).replace(" ", "") == MIXED.replace(" ", "")


@pytest.mark.parametrize("text", ["ab ::error::x " * 9, "退款::error:::x::::y", ":" * 99 + "z::"])
def test_no_line_begins_with_a_command_of_the_data(text: str) -> None:
    """[E15] GitHub runs a line that begins with ``::``, wherever a sentence is broken."""
    lines = [line for width in range(1, 40) for line in wrapped(text, width)]
    assert not [line for line in lines if line.startswith("::")]


def test_nothing_has_no_lines() -> None:
    assert wrapped("  ", 10) == []


@pytest.mark.full
def test_a_long_word_is_broken_into_lines_one_after_another() -> None:
    """Half a million characters of two cells: 20 to a line of 40, without reading the rest."""
    with within_a_minute():
        lines = wrapped("退" * 500_000 + "款", 40)
    assert (len(lines), set(lines[:-1]), lines[-1]) == (25_001, {"退" * 20}, "款")


def test_characters_that_take_no_cell_stay_with_those_before_them() -> None:
    assert wrapped("e\u0301e\u0301e\u0301", 2) == ["e\u0301e\u0301", "e\u0301"]
    assert wrapped("退款", 1) == ["退", "款"]
    assert cut("e\u0301" * 3, 3) == "e\u0301" * 3
