"""What of a text is spelled out before anyone is shown it."""

from __future__ import annotations

import pytest

from pytest_rageval.text.printable import one_line, printable

# Unicode's Bidi_Control property, https://www.unicode.org/Public/UCD/latest/ucd/PropList.txt
BIDI = [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize("code", BIDI)
def test_what_turns_the_direction_of_writing_is_spelled_out(code: int) -> None:
    """[R4] Else ``passed`` could be shown for a name that ends in ``dessap``."""
    assert printable(f"a{chr(code)}b") == f"a\\u{code:04x}b"


def test_texts_in_any_script_stay() -> None:
    """[R4] Right-to-left letters need no control, and an emoji may hold a joiner."""
    text = "שלום السلام 支持\t👩\u200d💻\nnext"
    assert printable(text) == text


def test_a_heading_is_one_line_that_is_no_command() -> None:
    """[R4] A line break in a name would let the rest of it begin a line of the log."""
    assert one_line("::a\n::error::b\x1b[2J ##[c]") == r"\x3a:a \x3a:error::b\x1b[2J \x23#[c]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        ("a\n \t::error::x", "a\n \t\\x3a:error::x"),
        ("a ::error::x", r"a \x3a:error::x"),
        ("a :: b, std::vector ::", "a :: b, std::vector ::"),
        ("::::", r"\x3a:::"),
        ("a ##[error]x", r"a \x23#[error]x"),
        ("###[x", r"#\x23#[x"),
        ("std::vector # [1]", "std::vector # [1]"),
        ("\r::x", r"\r::x"),
        ("\u3000::x", "\u3000\\x3a:x"),
    ],
)
def test_what_the_runner_of_github_takes_for_a_command_is_spelled_out(
    text: str, shown: str
) -> None:
    """E15: it trims white space before ``::``, and looks for ``##[`` in the whole line."""
    assert printable(text) == shown
