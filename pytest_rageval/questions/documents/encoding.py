"""From the bytes of a text to the text, whatever usual encoding they have."""

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
_WIDER: Final = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
"""What pages that declare an encoding have in truth, as browsers read them."""

_NO_PAGE: Final = {"unicode-escape", "raw-unicode-escape", "utf-7", "punycode", "idna"}
"""Encodings of Python that would change a page of plain ASCII, and that browsers do not know."""


def read_text(path: Path) -> str:
    """Return the text of a file, its lines ended by a line feed.

    Raises UnreadableError for bytes that are no text in a usual encoding.
    """
    return decoded(path.read_bytes())


def decoded(raw: bytes, declared: str = "") -> str:
    """Return the text that bytes are, by their mark, the encoding declared, or what fits.

    Raises UnreadableError where nothing does.
    """
    if not raw.strip():
        raise UnreadableError("empty")
    sure = sure_encoding(raw)
    encoding = sure or declared or ("utf-8" if raw.isascii() else likely_encoding(raw))
    if not encoding:
        raise UnreadableError(_not_utf8(raw))
    try:
        text = raw.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        if declared and not sure:
            return decoded(raw)
        raise UnreadableError(f"not {encoding}: {error}") from error
    if "\0" in text:
        raise UnreadableError(f"binary: a null character at {text.index(chr(0))}")
    return with_line_feeds(text)


def with_line_feeds(text: str) -> str:
    """Return the text with its lines ended by a line feed, whatever ended them."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def declared_encoding(raw: bytes) -> str:
    """Return the encoding that a page of HTML declares at its beginning, "" for none known.

    None that cannot be: what is found as ASCII bytes is in no UTF-16, and rot13 is no encoding.
    """
    found = _DECLARED.search(raw[:4096])
    if found is None:
        return ""
    try:
        name = codecs.lookup(found[1].decode()).name
        reads_itself = found[0].decode(name) == found[0].decode()
    except (LookupError, UnicodeError):
        return ""
    if name in _NO_PAGE or not reads_itself:
        return ""
    return _WIDER.get(name, name)


def _not_utf8(raw: bytes) -> str:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        if b"\0" in raw:
            return f"binary: a null byte at offset {raw.index(0)}"
        line = raw.count(b"\n", 0, error.start) + 1
        place = f"byte 0x{raw[error.start]:02x} in line {line}"
        return f"not UTF-8 ({place}), nor surely another encoding; save it as UTF-8"
    return ""
