"""Tells the encoding of a text from its bytes: surely, or by how plausible the text is."""

from __future__ import annotations

import codecs
import re
from typing import Final

_WESTERN: Final = frozenset(
    "äöüÄÖÜßàâçéèêëîïôûùÿæœÀÇÉÈÊåøÅØáíóúñÁÍÓÚÑ¿¡ãõìò“”‘’„‚–—…«»€£§°·•©®™×\xa0"
)
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]+")
PLAUSIBLE: Final = 0.6
"""The share from which a text may be in an encoding."""


def sure_encoding(raw: bytes) -> str:
    """Return the encoding that shows in the bytes of a whole text; "" where it does not.

    ASCII shows nothing: other encodings use these bytes too.

    >>> sure_encoding("标".encode()), sure_encoding("标".encode("gb18030")), sure_encoding(b"a")
    ('utf-8', '', '')
    """
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8" if not raw.isascii() and decoded_as(raw, "utf-8") else ""


def likely_encoding(raw: bytes) -> str:
    r"""Return which of UTF-8, gb18030 and cp1252 a whole text is plausible in, "" if in none.

    >>> likely_encoding("标题：说明".encode("gb18030")), likely_encoding(b"\x81\x8d")
    ('gb18030', '')
    """
    if decoded_as(raw, "utf-8"):
        return "utf-8"
    shares = {name: plausible_share(decoded_as(raw, name), name) for name in ("gb18030", "cp1252")}
    best = max(shares, key=lambda name: shares[name])
    return best if shares[best] >= PLAUSIBLE else ""


def decoded_as(raw: bytes, encoding: str) -> str:
    """Return the text, "" if the bytes are not in this encoding."""
    try:
        return raw.decode(encoding)
    except UnicodeError:
        return ""


def plausible_share(text: str, encoding: str) -> float:
    """Return the share of the non-ASCII characters that are common in such texts, 0..1.

    Such texts are Chinese for gb18030, Western for any other encoding. 0 without such characters.
    """
    runs = _FOREIGN.findall(text)
    total = max(1, sum(map(len, runs)))
    if encoding == "gb18030":
        return sum(map(_is_common_chinese, "".join(runs))) / total
    # In Western texts, non-ASCII letters occur alone or in short runs.
    short = "".join(run for run in runs if len(run) <= 3)
    return sum(map(_WESTERN.__contains__, short)) / total


def _is_common_chinese(char: str) -> bool:
    """Return whether ``char`` is punctuation or one of the 3,755 frequent ones of GB 2312."""
    try:
        first = char.encode("gb2312")[0]
    except UnicodeEncodeError:
        return False
    return first in (0xA1, 0xA3) or 0xB0 <= first <= 0xD7
