"""W3: what is proposed for bytes that are not in the encoding of the scenario."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from others_data import others_data

from pytest_rageval.datasets.base import encoding_hint


def _hint(raw: bytes, encoding: str = "utf-8") -> str:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        return encoding_hint(raw, error.start, encoding, "dataset")
    raise AssertionError("the bytes are in the encoding")


def test_a_german_line_is_shown_as_both_encodings_read_it() -> None:
    """W3: 0xf6 0xdf is one rare Chinese character in gb18030."""
    assert _hint("Größe\n".encode("cp1252")) == (
        " (the line reads as cp1252 'Größe', as gb18030 'Gr鲞e': "
        "set dataset.encoding: cp1252 if that is right)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "Wie groß ist die Rückgabefrist für „Bücher“ – 20 €?",
        "Où est l'élève ? Il a été à la fête",
        "¿Dónde está el niño? Mañana",
    ],
)
def test_western_lines_are_cp1252(text: str) -> None:
    """W3."""
    assert "set dataset.encoding: cp1252 if" in _hint(text.encode("cp1252"))


@pytest.mark.parametrize("text", ["北京是中华人民共和国的首都。", "双源CT成像", "报销，10天"])
def test_chinese_lines_are_gb18030(text: str) -> None:
    """W3: as before, now shown."""
    hint = _hint(text.encode("gb18030"))
    assert f"as gb18030 {text!r}" in hint
    assert "set dataset.encoding: gb18030 if" in hint


@pytest.mark.parametrize(
    ("text", "encoding"), [("Привет мир, это вопрос", "cp1251"), ("これは質問です", "shift_jis")]
)
def test_what_reads_wrong_in_both_is_not_proposed(text: str, encoding: str) -> None:
    """W3."""
    hint = _hint(text.encode(encoding))
    assert "wrong" in hint
    assert "set dataset.encoding to that of the file" in hint


def test_the_line_of_the_mistake_is_shown_and_no_other() -> None:
    """W3."""
    raw = "frage,antwort\nWie hoch?,2 m\nWie groß?,3 m\n".encode("cp1252")
    hint = _hint(raw)
    assert "'Wie groß?,3 m'" in hint
    assert "hoch" not in hint


@pytest.mark.parametrize(
    ("raw", "encoding", "proposed"),
    [("groß".encode("utf-16"), "utf-8", "utf-16"), ("größer".encode(), "ascii", "utf-8")],
)
def test_what_is_sure_comes_first(raw: bytes, encoding: str, proposed: str) -> None:
    assert _hint(raw, encoding).endswith(f"set dataset.encoding: {proposed})")


def test_bytes_of_no_candidate() -> None:
    assert _hint(b"\x81\xff") == " (set dataset.encoding, or save the file as UTF-8)"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [("cmrc2018/dev_800.jsonl", "gb18030"), ("openqa-eval/judged_nq301.jsonl", "cp1252")],
)
def test_real_texts_are_never_said_to_be_in_the_other(name: str, encoding: str) -> None:
    """W3: none at all is proposed for less than 2 % of them, lone names of rare characters."""
    path = others_data(f"data/{name}")
    hints = [
        hint
        for line in path.read_text("utf-8").splitlines()
        for text in json.loads(line).values()
        if isinstance(text, str) and (hint := _hint_or_none(text, encoding))
    ]
    right = [hint for hint in hints if f"set dataset.encoding: {encoding} if" in hint]
    unsure = [hint for hint in hints if "set dataset.encoding to that of the file" in hint]
    assert len(right) + len(unsure) == len(hints) > 0
    assert len(unsure) < 0.02 * len(hints)


def _hint_or_none(text: str, encoding: str) -> str | None:
    try:
        raw = text.encode(encoding)
        raw.decode("utf-8")
    except UnicodeEncodeError:
        return None
    except UnicodeDecodeError as error:
        return encoding_hint(raw, error.start, "utf-8", "dataset")
    return None


def test_the_message_of_a_table_names_line_and_encoding(
    refused: Callable[..., list[str]],
) -> None:
    """W3."""
    (problem,) = refused("de.csv", "answer,references\n5,5\nGröße,Größe\n".encode("cp1252"))
    assert problem.startswith("de.csv:3: not utf-8: byte 0xf6 at offset 24 (the line reads as ")
    assert problem.endswith("set dataset.encoding: cp1252 if that is right)")
