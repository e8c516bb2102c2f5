"""Reads bytes as text: by their byte order mark, by what a page declares, or by what fits."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Final

from pytest_rageval.questions.documents.base import UnreadableError
from pytest_rageval.text.encodings import likely_encoding, sure_encoding

_DECLARED: Final = re.compile(
    rb"""<(?:meta\b[^>]{0,200}?\bcharset|\?xml\b[^>]{0,100}?\bencoding)\s*=\s*["']?([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_WIDER: Final = {
    **dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030"),
    **dict.fromkeys(("big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("shift_jis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("euc_kr", "windows-949", "ks_c_5601-1989"), "cp949"),
    **dict.fromkeys(("iso8859-1", "ascii", "x-cp1252"), "cp1252"),
    "iso8859-9": "cp1254",
    **dict.fromkeys(("tis-620", "iso8859-11", "windows-874", "dos-874"), "cp874"),
}
"""What pages that declare an encoding are really in, by Python's name of it or a name that Python
lacks. Browsers read them so."""

_NO_PAGE: Final = {"unicode-escape", "raw-unicode-escape", "utf-7", "punycode", "idna"}
"""Encodings of Python that browsers do not know; they would change a page of plain ASCII."""


def read_text(path: Path) -> str:
    """Return the text of a file, its lines ended by a line feed.

    Raises UnreadableError for bytes that are no text in a usual encoding, or blank.
    """
    return decoded(path.read_bytes())


def decoded(raw: bytes, declared: str = "") -> str:
    """Return the bytes as text, by their mark, the encoding declared, or what fits.

    ``declared`` is what ``declared_encoding`` returned. Bytes that declare UTF-8 and are something
    else are read as what fits. Raises UnreadableError where nothing fits, where the bytes are not
    in another encoding that is declared, and for blank or binary ones.
    """
    if not raw.strip():
        raise UnreadableError("empty")
    sure = sure_encoding(raw)
    by_label = _codec(declared) if declared and not sure else ""
    encoding = sure or by_label or ("utf-8" if raw.isascii() else likely_encoding(raw))
    try:
        text = raw.decode(encoding or "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if by_label == "utf-8":  # what templates write, whatever the page was saved in
            return decoded(raw)
        if by_label:
            raise UnreadableError(_why_not_as_declared(raw, error.start, declared)) from error
        reason = f"not {encoding}: {error}" if encoding else _why_not_utf8(raw, error.start)
        raise UnreadableError(reason) from error
    if "\0" in text:
        raise UnreadableError(f"binary: a null character at {text.index(chr(0))}")
    return with_line_feeds(text)


def with_line_feeds(text: str) -> str:
    """Return the text with its lines ended by a line feed, whatever ended them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def declared_encoding(raw: bytes) -> str:
    """Return the encoding that an HTML page declares at its beginning, "" without a known one.

    One that cannot be true is not returned: what is found as ASCII bytes is not UTF-16, and rot13
    is no encoding.
    """
    found = _DECLARED.search(raw[:4096])
    if found is None:
        return ""
    try:
        label = found[1].decode()
        codec = _codec(label)
        reads_itself = found[0].decode(codec) == found[0].decode()
    except (LookupError, UnicodeError):
        return ""
    return label if reads_itself and codec not in _NO_PAGE else ""


def _codec(label: str) -> str:
    """Return Python's name of what a page with this label is in; LookupError for none known."""
    label = label.lower()
    name = label if label in _WIDER else codecs.lookup(label).name
    return _WIDER.get(name, name)


def _why_not_as_declared(raw: bytes, start: int, declared: str) -> str:
    # Not guessed: most guesses would be another script, and nobody would see that.
    return f"declares {declared}, but {_place(raw, start)} is not in it; save it as UTF-8"


def _why_not_utf8(raw: bytes, start: int) -> str:
    if b"\0" in raw:
        return f"binary: a null byte at offset {raw.index(0)}"
    place = _place(raw, start)
    return f"not UTF-8 ({place}), nor surely another encoding; save it as UTF-8"


def _place(raw: bytes, start: int) -> str:
    line = raw.count(b"\n", 0, start) + 1
    return f"byte 0x{raw[start]:02x} in line {line}"
