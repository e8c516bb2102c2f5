"""Guesses the encoding of bytes that are not in the expected one, for the error message."""

from __future__ import annotations

import codecs
import re
from typing import Final

from pytest_rageval.errors import shorten

_WESTERN: Final = frozenset(
    "äöüÄÖÜßàâçéèêëîïôûùÿæœÀÇÉÈÊåøÅØáíóúñÁÍÓÚÑ¿¡ãõìò“”‘’„‚–—…«»€£§°·•©®™×\xa0"
)
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")
_SAMPLE_BYTES: Final = 2**16
_PLAUSIBLE: Final = 0.6


def sure_encoding(raw: bytes) -> str:
    """Return the encoding that shows in the bytes of a whole text; "" where it does not.

    ASCII shows nothing: other encodings use these bytes too.

    >>> sure_encoding("标".encode()), sure_encoding("标".encode("gb18030")), sure_encoding(b"a")
    ('utf-8', '', '')
    """
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8" if not raw.isascii() and _decoded(raw, "utf-8") else ""


def encoding_hint(raw: bytes, start: int, encoding: str, section: str) -> str:
    """Return what to do about bytes that are not in ``encoding`` from ``start`` on.

    It shows the line of ``start`` as gb18030 and cp1252 read it, if they can, and proposes the one
    that gives plausible text.
    """
    has_mark = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    sure = "utf-16" if has_mark else "utf-8"
    if not _is_same(sure, encoding) and _decoded(raw, sure):
        return f" (it can be read as {sure}: {_to_set(section, sure)})"
    line, lines = _lines(raw, start), _lines(raw, start, _SAMPLE_BYTES)
    shares = {
        name: _plausible_share(text, name)
        for name in ("gb18030", "cp1252")
        if not _is_same(name, encoding) and (text := _decoded(lines, name))
    }
    shown = {name: text for name in shares if (text := _decoded(line, name))}
    best = max(shown, key=lambda name: shares[name], default=None)
    if best is None:
        return f" (set {section}.encoding, or save the file as UTF-8)"
    names = sorted(shown, key=lambda name: name != best)
    read = ", ".join(f"as {name} {shorten(shown[name].strip(), 60)!r}" for name in names)
    if shares[best] < _PLAUSIBLE:
        read += ", which both look wrong" if len(names) > 1 else ", which looks wrong"
        return f" (the line reads {read}: set {section}.encoding to that of the file)"
    return f" (the line reads {read}: {_to_set(section, best)} if that is right)"


def _to_set(section: str, encoding: str) -> str:
    written = f"set {section}.encoding: {encoding}"
    # Files of labels are named on the command line, too, where there may be no section yet.
    return f"{written} or --rag-set human.encoding={encoding}" if section == "human" else written


def _is_same(name: str, other: str) -> bool:
    return codecs.lookup(name).name == codecs.lookup(other).name


def _lines(raw: bytes, start: int, more: int = 0) -> bytes:
    """Return the line of ``start``, and those of so many bytes after it."""
    begin = raw.rfind(b"\n", 0, start) + 1
    end = raw.find(b"\n", start + more)
    return raw[begin:] if end < 0 else raw[begin:end]


def _decoded(raw: bytes, encoding: str) -> str:
    """Return the text, "" if the bytes are not in this encoding."""
    try:
        return raw.decode(encoding)
    except UnicodeError:
        return ""


def _plausible_share(text: str, encoding: str) -> float:
    """Return the share of the non-ASCII characters that are common in such texts."""
    runs = _FOREIGN.findall(text)
    others = sum(map(len, runs))
    if encoding == "gb18030":
        return sum(map(_is_common_chinese, "".join(runs))) / max(1, others)
    # In Western texts, non-ASCII letters occur alone or in short runs.
    return sum(map(_WESTERN.__contains__, "".join(run for run in runs if len(run) <= 3))) / max(
        1, others
    )


def _is_common_chinese(char: str) -> bool:
    """Return whether it is punctuation or one of the 3,755 frequent characters of GB 2312."""
    try:
        first = char.encode("gb2312")[0]
    except UnicodeEncodeError:
        return False
    return first in (0xA1, 0xA3) or 0xB0 <= first <= 0xD7
