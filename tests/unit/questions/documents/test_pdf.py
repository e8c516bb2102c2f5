"""PDF: pages, bookmarks, and the reasons for those that cannot be read."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_rageval import extras
from pytest_rageval.questions.base import Documents

Read = Callable[..., Documents]
RETURNS = "You may send back any kettle within thirty days, unless its seal is broken by you."
COSTS = "We pay for the parcel if the kettle was faulty; otherwise the sender pays for it."


def made(pages: Sequence[Sequence[str]], finish: Callable[[Any], None] = lambda _: None) -> bytes:
    """Return a PDF with these lines on its pages; ``finish`` changes its writer."""
    pypdf = pytest.importorskip("pypdf", reason="needs the extra pdf")
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )
    for lines in pages:
        page = writer.add_blank_page(612, 792)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        stream = DecodedStreamObject()
        shown = "".join(f"({line}) Tj T* " for line in lines)
        stream.set_data(f"BT /F1 9 Tf 14 TL 40 700 Td {shown}ET".encode("cp1252"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    finish(writer)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def sections(documents: Documents) -> list[tuple[str, str]]:
    return [(passage.section_path, passage.text) for passage in documents.passages]


def reasons(documents: Documents) -> list[str]:
    return [file.reason for file in documents.left_out]


def test_pages_have_their_number_as_heading(read: Read) -> None:
    found = read({"a.pdf": made([[RETURNS], [COSTS[:40], COSTS[40:]]])})
    assert sections(found) == [
        ("page 1", RETURNS),
        ("page 2", f"{COSTS[:40]}\n{COSTS[40:]}"),
    ]
    assert found.read == {"PDF": 1}


def test_bookmarks_are_headings_above_the_line_with_their_words(read: Read) -> None:
    def bookmark(writer: Any) -> None:
        above = writer.add_outline_item(title="Kettle", page_number=0)
        writer.add_outline_item(title="Returns", page_number=0, parent=above)
        writer.add_outline_item(title="Costs", page_number=1, parent=above)

    raw = made([["Kettle", "Returns", RETURNS], [RETURNS.upper(), "Costs", COSTS]], bookmark)
    assert sections(read({"a.pdf": raw})) == [
        ("Kettle > Returns", f"{RETURNS}\n\n\n{RETURNS.upper()}"),
        ("Kettle > Costs", COSTS),
    ]


def test_what_cannot_be_read_is_named_with_its_reason(read: Read) -> None:

    def lock(writer: Any) -> None:
        writer.encrypt("secret", algorithm="RC4-128")

    sound = made([[RETURNS], [COSTS]])
    found = read(
        {
            "1.pdf": made([[], []]),
            "2.pdf": made([[RETURNS]], lock),
            "3.pdf": sound[:40],
            "4.pdf": b"",
            "5.pdf": b"no PDF" * 100,
            "6.pdf": made([[RETURNS], []]),
        }
    )  # fmt: skip
    assert [passage.doc_name for passage in found.passages] == ["6.pdf"]
    starts = (
        *("no text in 2 pages: images need OCR", "encrypted: it opens with a password only"),
        *("a broken PDF: ", "a broken PDF: ", "a broken PDF: ", "1 of 2 pages without text"),
    )
    for reason, start in zip(reasons(found), starts, strict=True):
        assert reason.startswith(start)


def test_a_pdf_that_opens_without_a_password_is_read(read: Read) -> None:
    """Many are encrypted only against changes."""

    def lock(writer: Any) -> None:
        writer.encrypt("", owner_password="secret", algorithm="RC4-128")

    assert [text for _, text in sections(read({"a.pdf": made([[RETURNS]], lock)}))] == [RETURNS]


def test_a_pdf_cut_anywhere_is_read_or_named(read: Read) -> None:
    raw = made([[RETURNS], [COSTS]])
    found = read({f"{part}.pdf": raw[: len(raw) * part // 10] for part in range(1, 10)})
    named = {file.name for file in found.left_out} | {one.doc_name for one in found.passages}
    assert named == {f"{part}.pdf" for part in range(1, 10)}


def test_without_the_package_the_reason_says_what_to_install(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "installed", lambda module: module != "pypdf")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (reason,) = reasons(read({"a.pdf": b"%PDF-1.7"}))
    assert reason == "reading PDF needs the package 'pypdf': pip install \"pytest-rageval[pdf]\""
