"""Normalises texts before a comparison: as UltraRAG, as SQuAD, or for any script."""

from __future__ import annotations

import re
import string
import sys
import unicodedata
from collections.abc import Callable
from functools import cache

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
# UltraRAG adds these four quotation marks to ASCII punctuation, and turns each into a space.
_ULTRARAG_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation + "‘’´`"), " ")
_SQUAD_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


def normalize_ultrarag(text: str) -> str:
    """Return ``text`` as UltraRAG's evaluation server normalises it.

    A text that is just ``True`` or ``False`` becomes ``yes`` or ``no``; then lower case,
    punctuation to spaces, the articles a, an, the removed, runs of white space to one space.
    Source: OpenBMB/UltraRAG, servers/evaluation.

    >>> normalize_ultrarag("The 54 Mbit/s!")
    '54 mbit s'
    """
    text = {"True": "yes", "False": "no"}.get(text, text)
    text = text.lower().translate(_ULTRARAG_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_squad(text: str) -> str:
    """Return ``text`` as the SQuAD evaluation normalises it (ALCE's definition is the same).

    Lower case, ASCII punctuation deleted, the articles a, an, the removed, runs of white space to
    one space. Source: Rajpurkar et al. 2016.

    >>> normalize_squad("The 54 Mbit/s!")
    '54 mbits'
    """
    text = text.lower().translate(_SQUAD_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_unicode(text: str) -> str:
    """Return ``text`` folded for comparison in any script.

    Unicode NFKC and case folding (full-width digits and letters become plain ones), every
    punctuation mark and symbol of any script to a space, runs of white space to one space.
    Articles are kept.

    >>> normalize_unicode("ＲＡＧ，北京。")
    'rag 北京'
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.translate(_unicode_punctuation()).split())


@cache
def _unicode_punctuation() -> dict[int, str]:
    return {
        code: " "
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "PS"
    }


NORMALIZERS: dict[str, Callable[[str], str]] = {
    "ultrarag": normalize_ultrarag,
    "squad": normalize_squad,
    "unicode": normalize_unicode,
}
