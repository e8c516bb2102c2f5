"""Divides texts into sentences, English and Chinese; code is no sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pytest_rageval.text.tokenize import has_cjk

_END: Final = re.compile(
    r"[.!?]+(?:[\"'”’)\]*_]+)?(?=\s|$)"
    r"|(?:[。！？；｡]+|[!?]+(?=[\u4e00-\u9fff])|……)[”’」』）】\"'）]*"
    r"|\n+"
)
_CODE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TITLE_WORDS: Final = (
    "dr mr mrs ms prof st gen col sgt rev hon capt lt sen rep gov vs cf ca approx dept est e.g i.e "
    "viz resp min max"
)
_TITLES: Final = frozenset(_TITLE_WORDS.split())
"""What ends in a full stop and goes on."""
_NUMBERED_WORDS: Final = (
    "fig figs eq sec ch pp p vol no nos art para ed eds jan feb mar apr jun jul aug sep sept oct "
    "nov dec tel ext"
)
_NUMBERED: Final = frozenset(_NUMBERED_WORDS.split())
"""What goes on where a number follows."""
_ENDING_WORDS: Final = "etc inc ltd co corp jr sr u.s u.k a.m p.m ph.d d.c b.c a.d e.u"
_MAY_END: Final = frozenset(_ENDING_WORDS.split())
"""What ends a sentence where a capital letter follows."""
_WORD_BEFORE: Final = re.compile(r"[A-Za-z.]*$")
_LIST_NUMBER: Final = re.compile(r"^\s*(?:[-*•]\s*)?\d{1,3}$")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each without white space around it.

    >>> split_sentences("Dr. Eiffel built it in 1889. It is 330.5 m high! 很高。是的；对")
    ['Dr. Eiffel built it in 1889.', 'It is 330.5 m high!', '很高。', '是的；', '对']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence begins and ends; code blocks are left out."""
    at = 0
    for code in _CODE.finditer(text) if "```" in text or "~~~" in text else ():
        yield from _spans(text, at, code.start())
        at = code.end()
    yield from _spans(text, at, len(text))


def _spans(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    begin = start
    for end in _END.finditer(text, start, stop):
        if _goes_on(text, begin, end):
            continue
        yield from _trimmed(text, begin, end.end())
        begin = end.end()
    yield from _trimmed(text, begin, stop)


def _trimmed(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[begin:end]
    left = len(part) - len(part.lstrip())
    part = part.strip()
    if any(char.isalnum() for char in part):
        yield begin + left, begin + left + len(part)


def _goes_on(text: str, begin: int, end: re.Match[str]) -> bool:
    """Return whether a full stop ends no sentence: of an abbreviation, an initial, a number."""
    if not end[0].startswith("."):
        return False
    before = text[begin : end.start()]
    if _LIST_NUMBER.match(before):
        return True
    word = _WORD_BEFORE.search(before)
    last = word[0] if word is not None else ""
    following = text[end.end() : end.end() + 40].lstrip(" \t")
    if following[:1].islower():
        return True
    if last.lower() in _TITLES and following[:1] not in ("", "\n"):
        return True
    if last.lower() in _NUMBERED and following[:1].isdecimal():
        return True
    if last.lower() in _MAY_END:
        return False
    is_initial = len(last) == 1 and last.isalpha() and last.isupper() and last != "I"
    return is_initial and following[:1].isupper()


def counts_as_sentence(text: str) -> bool:
    """Return whether a sentence states something: no heading, no question, not too short.

    It has three words or, in Chinese, four letters, digits or characters.
    """
    plain = text.strip()
    if plain.startswith("#") or plain.rstrip("\"'”’」』)）*_ ").endswith(("?", "？")):
        return False
    if has_cjk(plain):
        return sum(char.isalnum() for char in plain) >= 4
    return sum(any(char.isalnum() for char in word) for word in plain.split()) >= 3
