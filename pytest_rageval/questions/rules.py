"""What can be said of a made question without a model: its quote stands there, it stands alone."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.sentences import sentence_spans
from pytest_rageval.text.tokenize import has_cjk, split_characters

_LEAST_WORDS: Final = 3
_LEAST_CHARACTERS: Final = 4
"""Of Chinese, Japanese or Korean."""

_QUOTATION: Final = "\"'`´‘’‚‛“”„‟«»‹›「」『』〝〞〟′″＂＇"
_DASHES: Final = "-‐‑‒–—―−－"
# What is no part of the wording. Between digits a sign may be a figure's: 5'10, 2*3, 2\*3, ~~1~~2.
_MARKS: Final = re.compile(
    rf"(?<!\d)(?<!\d\\)[{_QUOTATION}]+|[{_QUOTATION}]+(?!\d)"
    r"|(?<![\s\d])(?<!\d\\)\*+|\*+(?![\s\d])|(?<![^\W_])(?<![^\W_]\\)_+|_+(?![^\W_])"
    r"|(?<!\d)~~|~~(?!\d)"
    r"|^[ \t]*(?:>[ \t]?|#{1,6}[ \t]+|[-*+•][ \t]+)+"
    r"|!?\[(?=[^\[\]\n]*\]\()|(?<=[^\s\[])\]\([^()\s]*\)"
    r"|\\(?=[!-/:-@\[-`{-~])",
    re.MULTILINE,
)

# The end of a line is the end of a sentence to sentence_spans, and not in wrapped texts.
_WRAPPED: Final = re.compile(r"(?<=[^\n]{60})\n(?=[ \t]*[^\W\d_])|(?<=[^\n])\n(?=[ \t]*[a-z])")


class _Folded(NamedTuple):
    """A text in which equal wordings are equal, and where each of its characters comes from."""

    text: str
    places: list[int]


def find_quote(quote: str, text: str) -> str | None:
    """Return the whole sentences of ``text`` in which ``quote`` stands, or None if it does not.

    It stands there verbatim, but for white space, the width of characters, quotation marks,
    dashes, the marks of Markdown, full stops at its ends and the case of its first letter. A quote
    that leaves out its middle ("...") does not stand there. Fewer than 3 words (4 Chinese
    characters) are no quote, unless they are a whole sentence.

    >>> find_quote("costs 5 euros", "It is new. It **costs** 5 euros a month. It is red.")
    'It **costs** 5 euros a month.'
    """
    folded = _fold(text)
    wanted = _fold(quote).text.strip(".。 ")
    span = _find(wanted, folded)
    if span is None:
        return None
    start, end = folded.places[span[0]], folded.places[span[1] - 1] + 1
    inside = [one for one in _spans(text) if one[0] < end and start < one[1]]
    start, end = min([start, *(one[0] for one in inside)]), max([end, *(one[1] for one in inside)])
    grown = text[start:end]
    is_whole = len(_fold(grown).text.strip(".。 ")) == len(wanted)
    return grown if is_whole or _is_long(quote) else None


def sentences_in(text: str) -> list[str]:
    """Return the sentences of ``text`` as they stand there, also over the ends of wrapped lines."""
    return [text[start:end] for start, end in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    return sentence_spans(_WRAPPED.sub(" ", text))


def _is_long(quote: str) -> bool:
    least = _LEAST_CHARACTERS if has_cjk(quote) else _LEAST_WORDS
    return len(split_characters(quote)) >= least


def _find(wanted: str, folded: _Folded) -> tuple[int, int] | None:
    """Return where the wording stands first without cutting a word or a number."""
    if not any(map(str.isalnum, wanted)):
        return None
    pattern = re.compile(f"(?i:{re.escape(wanted[0])}){re.escape(wanted[1:])}")
    at = -1
    while found := pattern.search(folded.text, at + 1):
        at = found.start()
        if not _cuts(folded.text, at) and not _cuts(folded.text, found.end()):
            return found.span()
    return None


_IN_A_WORD: Final = re.compile(r"(?<=[^\W_])(?=[^\W_])|(?<=\d)(?=[.,:/]\d)|(?<=\d[.,:/])(?=\d)")


def _cuts(text: str, at: int) -> bool:
    """Return whether a cut there goes through a word or a number."""
    return _IN_A_WORD.match(text, at) is not None and not has_cjk(text[max(0, at - 1) : at + 1])


def _fold(text: str) -> _Folded:
    """Return the text without what is no part of its wording.

    A blank stays between letters or digits, or "1 2" would be "12"; in Chinese it goes.
    """
    letters, places = [], []
    end = 0
    marks = [found.span() for found in _MARKS.finditer(text)]
    for start, after in [*marks, (len(text), len(text))]:
        for at in range(end, start):
            for letter in _folded_letter(text[at]):
                letters.append(letter)
                places.append(at)
        end = after
    return _without_blanks(letters, places)


def _without_blanks(letters: list[str], places: list[int]) -> _Folded:
    kept, kept_places = [""], [0]
    blank = -1
    for letter, at in zip(letters, places, strict=True):
        if letter == " ":
            blank = at
            continue
        if blank >= 0 and _is_latin(kept[-1]) and _is_latin(letter):
            kept.append(" ")
            kept_places.append(blank)
        if letter != "-" or kept[-1] != "-":
            kept.append(letter)
            kept_places.append(at)
        blank = -1
    return _Folded("".join(kept), kept_places[1:])


@cache
def _is_latin(letter: str) -> bool:
    return letter.isalnum() and not has_cjk(letter)


@cache
def _folded_letter(letter: str) -> str:
    """Return a letter in its normal width, without what is not seen; a power stays one."""
    if letter in _DASHES:
        return "-"
    if letter.isspace():
        return " "
    if unicodedata.category(letter) == "Cf":
        return ""
    if unicodedata.decomposition(letter).startswith(("<super>", "<sub>")):
        return letter
    return unicodedata.normalize("NFKD", letter)


def why_not_alone(question: str) -> str:
    """Return the words of ``question`` that cannot be understood without the passage, or "".

    Only what is certain is found: "according to the passage", "根据上文", and a pronoun or "this
    company" where nothing before it in the question can be what it means. English and Chinese.

    >>> why_not_alone("When was it founded?")
    'it'
    """
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    found = (
        pattern.search(text) for pattern in _patterns("chinese" if has_cjk(text) else "english")
    )
    return next((one["words"].strip(" ,") for one in found if one), "")


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, phrases_in(__package__, "rules.toml")[language]))
