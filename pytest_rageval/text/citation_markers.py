"""Finds the markers of citations in a text, in all usual spellings, and what looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

Source = int | str
"""What a citation names: a number, counted from 1, or a name."""

LONGEST: Final = 20_000
"""How many characters of an answer a user's own pattern reads: it may be slow."""


@dataclass(frozen=True, slots=True)
class CitationRule:
    """How citations are spelt, the number of the first source, and what they name.

    ``style``: one of the known styles, ``auto`` for all of them (superscripts only if
    ``superscripts``), or a regular expression with one group. ``ids`` are those of the row that are
    numbers, where citations name ids; ``names`` those that the row's sources have.
    """

    style: str = "auto"
    base: int = 1
    of: str = "contexts"
    superscripts: bool = False
    ids: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()


_NUMBER: Final = r"\d{1,4}(?:\s?[-–—~～]\s?\d{1,4})?"
_SEPARATOR: Final = r"\s?[,，;；、]\s?"
_NUMBERS: Final = rf"{_NUMBER}(?:{_SEPARATOR}{_NUMBER})*"
_CARET: Final = r"\^"
_CITATION: Final = r"(?i:citation|cite|ref|引用)\s?[:：]?\s?"
_DOCUMENT: Final = (
    r"(?i:docs?|documents?|sources?|passage|context|文档|来源|文献|资料)[ _#:：-]?\s?#?"
)
EXTENSION: Final = (
    r"\.(?i:pdf|docx?|xlsx?|pptx?|txt|md|rst|html?|csv|tsv|jsonl?|ya?ml|xml|rtf|odt|epub|eml|log)"
)
"""How names of files end, as a regular expression."""


def _prefixed(prefix: str) -> str:
    """Return the form of numbers of which each, or only the first, has ``prefix`` before it."""
    return rf"{prefix}{_NUMBER}(?:{_SEPARATOR}(?:{prefix})?{_NUMBER})*"


_FORMS: Final = {
    "brackets": rf"[\[［]\s?{_NUMBERS}\s?[\]］](?!\]?\()",
    "lenticular": rf"【\s?{_NUMBERS}\s?(?:†[^【】\n]{{0,80}})?】",
    "footnote": rf"\[(?:{_prefixed(_CARET)}|\^[\w-]{{1,20}})\](?![(:])",
    "citation": rf"[\[［【]{_prefixed(_CITATION)}[\]］】](?!\()",
    "doc": rf"[\[［【(（]{_prefixed(_DOCUMENT)}[\]］】)）](?!\()",
    "source": (
        r"[(（\[［【](?i:sources?|来源|出处|资料来源)\s?[:：]\s?"
        r"[^()（）\[\]［］【】\n]{1,200}[)）\]］】](?!\()"
    ),
    "file": rf"[\[［【][^\[\]［］【】()\n]{{0,200}}?{EXTENSION}(?:{_SEPARATOR}[^\[\]［］【】\n]"
    rf"{{1,200}})?[\]］】](?!\()",
    # Behind a sign, a Chinese character, or three letters of a word: km² is a unit.
    "superscript": (
        r"(?:(?<=[.,;:!?。，；：！？\"”’」』\u4e00-\u9fff])|(?<=[^\W\d_]{3}))"
        r"[⁰¹²³⁴-⁹]+(?:\s?[,，⁻–˒]\s?[⁰¹²³⁴-⁹]+)*(?!\w)"
    ),
}

_UNIT: Final = re.compile(
    r"(?:(?i:[\d/]\s?(?:(?:kilo|centi|milli)?met(?:re|er)s?|feet|foot|inch(?:es)?|miles?|yards?)"
    r"|/\s?sec)|[\d/每][厘毫千分微纳公英海市]?[米里尺寸秒])\Z"
)
"""A unit that ² or ³ raises to a power, with the end of its number or the "/" before it.

Behind km and other short units no superscript is looked for.
"""
_FUNCTION: Final = re.compile(r"\b(?:sin|cos|tan|cot|log)\Z")
_ARGUMENT: Final = re.compile(r"\(|\s?[b-zα-ω](?!\w)")
_GOES_ON: Final = re.compile(r"\s?\w")

_MAYBE: Final = re.compile(r"[\[【［(（¹²³⁰⁴-⁹]")  # what a marker begins with
_CODE: Final = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1\s*?$|\Z)|(`+)[^\n]+?\2", re.MULTILINE | re.DOTALL
)
# name.part, some_name, call(x) or call( directly before a bracket: an index, no citation.
_IDENTIFIER: Final = re.compile(
    r"(?:[A-Za-z]\w*\.[A-Za-z]\w*|[A-Za-z]\w*_\w*[A-Za-z0-9]|\w\([^()\s]*\)|\w\()"
    r"(?:\[\d+\])*$",
    re.ASCII,
)
_DIGITS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒", "0123456789-,")
_SPLIT: Final = re.compile(r"[,，;；、]")
_NUMBER_OR_RANGE: Final = re.compile(r"\s*(\d{1,9})(?:\s?[-–—~～]\s?(\d{1,9}))?\s*")
_LIST_OF_NUMBERS: Final = re.compile(_NUMBERS)
_CITES: Final = re.compile(r"(?i)[\[【](?:(?:doc|citation:|cite:)\d|\d+†)")
_WITH_PREFIX: Final = ("footnote", "citation", "doc")
_NO_NUMBER: Final = re.compile(r"[^\d,，;；、\s–—~～-]+|(?<=[^\W\d_])[-_]")
_DIGIT: Final = re.compile(r"\d")
_COLON: Final = re.compile("[:：]")
_FILE: Final = re.compile(rf"{EXTENSION}\s*$")
_SECTION: Final = re.compile(r"(?:(?i:section)|§+)\s*\d[\d.]*")
_PAGE: Final = re.compile(r"(?:(?i:pp?\.\s*|pages?\s+)|第\s*)\d.*")


class Marker(NamedTuple):
    """A citation in a text: where it is, its style, and the sources as the text has them."""

    start: int
    end: int
    style: str
    sources: tuple[Source, ...]


def find_markers(text: str, rule: CitationRule, most: int | None = None) -> list[Marker]:
    """Return the citations in ``text`` in order, with numbers as they are written.

    Numbers above ``most``, the number of sources, and above 99 are taken for years and the like,
    but not in ``[doc150]``.
    """
    if rule.style not in _FORMS and rule.style != "auto":
        return list(_own_markers(text, rule.style))
    if not _MAYBE.search(text):
        return []
    code = [block.span() for block in _CODE.finditer(text)] if "`" in text or "~~~" in text else []
    markers: list[Marker] = []
    for match in _candidates(text, _pattern(rule.style, rule.superscripts)):
        start, end = match.span()
        style = match.lastgroup or ""
        sources = _without_sections(_sources(match.group(), style), rule.names)
        if (
            sources
            and _may_be(match.group(), style, sources, rule, most)
            and not any(begin <= start < stop for begin, stop in code)
            and not _is_index(text, match, markers)
            and not _is_power(text, match)
        ):
            markers.append(Marker(start, end, style, sources))
    return markers


def _candidates(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of ``pattern``; most of a text holds no sign that one begins with."""
    at = 0
    while sign := _MAYBE.search(text, at):
        match = pattern.match(text, sign.start())
        if match is not None:
            yield match
        at = match.end() if match is not None else sign.end()


@cache
def _pattern(style: str, superscripts: bool) -> re.Pattern[str]:
    """Return the pattern of a style; its one named group is the style that was found."""
    if style != "auto":
        return re.compile(rf"(?P<{style}>{_FORMS[style]})")
    styles = [style for style in _FORMS if superscripts or style != "superscript"]
    return re.compile("|".join(rf"(?P<{style}>{_FORMS[style]})" for style in styles))


def _own_markers(text: str, pattern: str) -> Iterator[Marker]:
    """Yield what a user's regular expression finds in the first ``LONGEST`` characters."""
    for match in re.compile(pattern).finditer(text, 0, LONGEST):
        if match.group() and match[1]:
            yield Marker(match.start(), match.end(), "own", _sources(match[1], "own"))


def _sources(marker: str, style: str) -> tuple[Source, ...]:
    """Return the numbers or names in a marker; () as for ``_items``."""
    if style == "own":
        is_list = _LIST_OF_NUMBERS.fullmatch(marker.strip())
        return _items(marker) if is_list else (marker.strip(),)
    if style == "superscript":
        return _items(marker.translate(_DIGITS))
    body = marker[1:-1]
    if style == "source":
        return _items(_COLON.split(body, maxsplit=1)[1])
    if style == "file":
        # 【4:0†guide.pdf】: where a search of OpenAI's found it.
        files = (item.rpartition("†")[2] for item in _SPLIT.split(body) if _FILE.search(item))
        return tuple(map(str.strip, files))
    if style == "footnote" and not _DIGIT.match(body, 1):
        return (body[1:],)
    if style in _WITH_PREFIX:
        body = _NO_NUMBER.sub("", body)
    return _items(body.partition("†")[0])


def _items(body: str) -> tuple[Source, ...]:
    """Return what commas stand between, ranges as their numbers, pages left out.

    () if a range runs downwards, or over more than 1000 numbers.
    """
    sources: list[Source] = []
    for item in map(str.strip, _SPLIT.split(body)):
        numbers = _NUMBER_OR_RANGE.fullmatch(item)
        if numbers is None:
            sources += [item] if item and not _PAGE.fullmatch(item) else []
            continue
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last < first or last - first > 999:
            return ()
        sources.extend(range(first, last + 1))
    return tuple(sources)


def _without_sections(sources: tuple[Source, ...], names: frozenset[str]) -> tuple[Source, ...]:
    """Return sources without a section of the one before it, as in ``a.pdf, Section 4.2``.

    They stay where the one before is not among ``names``, or one of these begins as a section.
    """
    has_section = any(_SECTION.fullmatch(str(source)) for source in sources[1:])
    if not has_section or any(map(_SECTION.match, names)):
        return sources
    rest = (
        source
        for before, source in pairwise(sources)
        if before not in names or not _SECTION.fullmatch(str(source))
    )
    return (sources[0], *rest)


def _may_be(
    marker: str, style: str, sources: tuple[Source, ...], rule: CitationRule, most: int | None
) -> bool:
    """Return whether numbers in brackets may be citations: no year, and no interval from 0.

    A number above 99 is a year or the like, unless there are so many sources, it is an id, or it
    cannot be but a citation: ``[doc150]``.
    """
    if style not in ("brackets", "lenticular", "citation", "doc") or _CITES.match(marker):
        return True
    numbers = [source for source in sources if isinstance(source, int)]
    if any(number > max(99, most or 0) and number not in rule.ids for number in numbers):
        return False
    is_pair = len(re.findall(r"\d+", marker)) == 2
    return not (rule.base == 1 and is_pair and numbers[0] == 0)


def _is_power(text: str, match: re.Match[str]) -> bool:
    """Return whether ² or ³ is an exponent: ``1 kg/metre³``, ``30 metres² of grass``, ``sin² x``.

    At the end of a clause it cites: ``over 12 miles².``
    """
    start, end = match.span()
    if match.lastgroup != "superscript" or text[start] not in "²³":
        return False
    begin = max(0, start - 20)
    if _FUNCTION.search(text, begin, start):
        return _ARGUMENT.match(text, end) is not None
    unit = _UNIT.search(text, begin, start)
    is_quotient = unit is not None and unit.group()[0] == "/"
    return is_quotient or (unit is not None and _GOES_ON.match(text, end) is not None)


def _is_index(text: str, match: re.Match[str], markers: list[Marker]) -> bool:
    """Return whether brackets directly follow an identifier, as in ``rows_of[1]``."""
    start = match.start()
    if match.lastgroup in ("superscript", "source") or not start or text[start - 1].isspace():
        return False
    if markers and markers[-1].end == start:
        return False
    return _IDENTIFIER.search(text, max(0, start - 60), start) is not None
