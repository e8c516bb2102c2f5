"""Reads which sources an answer cites, sentence by sentence, and strips the citations from it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pytest_rageval.text.citation_markers import (
    EXTENSION,
    CitationRule,
    Marker,
    Source,
    find_markers,
)
from pytest_rageval.text.sentences import Span, counts_as_sentence, sentence_spans

_BETWEEN: Final = re.compile(r"[ \t]*[,，、;；]?[ \t]*")
_DEFINITION: Final = re.compile(
    rf"^[ \t]*(?:\[\^\w+\][:：].*(?:\n[ \t]+\S.*)*|\[\d{{1,3}}\][:：]?[ \t]+"
    rf"(?:<?https?://\S+|\S+{EXTENSION})\s*?$)",
    re.MULTILINE,
)
_LIST_HEADING: Final = re.compile(
    r"^(?:[ \t]*-{3,}\s*\n)?[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*|__)?"
    r"(?i:references?|sources?|citations?|bibliography|footnotes?|works cited|sources used|"
    r"参考资料|参考文献|参考来源|引用来源|资料来源|引用|来源|文献|出处|參考資料|參考文獻|來源)"
    r"(?:\*\*|__)?[ \t]*"
    r"(?:[:：](?:\*\*|__)?[ \t]*(?=\r?\n|[\[［【\d]|https?:|\S+\.\w{2,4}\b)|(?=\r?\n))",
    re.MULTILINE,
)
_ENTRY: Final = re.compile(
    r"[ \t]{2,}\S|\s*(?:[-*•+]\s|[\[［【]|\(?\d{1,3}[.)、:：]|[⁰¹²³⁴-⁹]|\^|https?:|"
    rf".*{EXTENSION}\b|.*https?://|$)"
)


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence without its citations, what it cites, and whether metrics count it."""

    text: str
    citations: tuple[Source, ...]
    is_counted: bool


@dataclass(frozen=True, slots=True)
class CitedText:
    """An answer without citations, and what it cites: numbers from 1, or names, by occurrence."""

    stripped: str
    sentences: tuple[CitedSentence, ...]
    citations: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class StyleFound:
    """The rule that all answers are read by, what has to be asked, and how many answers cite."""

    rule: CitationRule
    problem: str
    hold: int


class _Stripped(NamedTuple):
    text: str
    # For each marker: where it was in ``text``, and whether a line begins with it.
    places: list[tuple[int, bool]]
    markers: list[Marker]


def read_citations(text: str, rule: CitationRule, most: int | None = None) -> CitedText:
    """Return what ``text`` cites by ``rule``, and the text and its sentences without citations.

    ``most`` is the number of contexts; numbers in brackets above 99 that exceed it, as years, cite
    only if they are ids of the row (``rule.ids``).
    Blocks of code, footnotes' definitions and the list of sources at the end are no sentences.
    """
    found = _strip(text, rule, most)
    citations = [_from_one(marker.sources, rule.base) for marker in found.markers]
    stripped = found.text.strip()
    spans = sentence_spans(stripped)
    by_sentence: list[list[Source]] = [[] for _ in spans]
    if spans:
        starts = [start for start, _ in spans]
        for (place, is_first), sources in zip(found.places, citations, strict=True):
            # Of the sentence that it is in or behind, unless it begins the line of the next one.
            at = bisect_left(starts, place)
            if not (is_first and at < len(starts) and starts[at] == place):
                at = max(at - 1, 0)
            by_sentence[at].extend(sources)
    sentences = tuple(
        CitedSentence(piece, tuple(sources), counts_as_sentence(piece))
        for piece, sources in zip(
            (stripped[start:end] for start, end in spans), by_sentence, strict=True
        )
    )
    every = tuple(source for sources in citations for source in sources)
    return CitedText(stripped, sentences, every)


def strip_citations(text: str, rule: CitationRule, most: int | None = None) -> str:
    """Return ``text`` without citations, footnotes' definitions and list of sources."""
    return _strip(text, rule, most).text


def find_style(
    texts: Iterable[str],
    counts: Iterable[int | None],
    rule: CitationRule | None = None,
    *,
    base_is_written: bool = False,
) -> StyleFound:
    """Decide from all answers, each with its number of contexts, how ``auto`` reads them.

    Superscripts are read only if they are the one style in a tenth of the answers. ``problem``
    asks what cannot be told: the base, or which of two equally frequent styles is meant, where an
    answer has two, or superscripts are frequent.
    """
    rule = rule or CitationRule()
    everything = replace(rule, superscripts=True)
    rows: dict[str, int] = {}
    total = begin_at_zero = holding_others = 0
    reaches_count = meets = False
    for text, count in zip(texts, counts, strict=True):
        total += 1
        markers = find_markers(_without_lists(text), everything, count)
        styles = {marker.style for marker in markers}
        for style in styles:
            rows[style] = rows.get(style, 0) + 1
        meets |= len(styles - {"superscript"}) > 1
        holding_others += bool(styles - {"superscript"})
        numbers = {
            source
            for marker in markers
            if marker.style != "superscript"
            for source in marker.sources
            if isinstance(source, int)
        }
        begin_at_zero += 0 in numbers
        reaches_count |= count is not None and any(number >= count for number in numbers)
    of_marks = rows.get("superscript", 0)
    frequent = {style for style, number in rows.items() if number * 10 >= total}
    if rule.style == "auto":
        rule = replace(rule, superscripts=frequent == {"superscript"})
    problem = ""
    # Brackets of two kinds in different answers are read together: they are of two languages.
    if rule.style == "auto" and (meets or "superscript" in frequent):
        problem = _asked_style({style: rows[style] for style in frequent})
    if begin_at_zero >= 2 and not reaches_count and not base_is_written:
        problem = problem or (
            f"{begin_at_zero} answers cite [0], and no number reaches the count of contexts: "
            "do numbers begin at 0 or at 1? write {base: 0} or {base: 1}"
        )
    reads_marks = rule.superscripts or rule.style == "superscript"
    hold = of_marks if reads_marks and not holding_others else holding_others
    return StyleFound(rule, problem, hold)


def _asked_style(rows: dict[str, int]) -> str:
    """Return the question which style is meant, if the two most frequent ones tie."""
    first, *others = sorted(rows, key=lambda style: -rows[style]) or [""]
    if not others or rows[others[0]] < rows[first]:
        return ""
    return (
        f"{rows[first]} answers cite in the style {first}, as many in the style {others[0]}: "
        "which one is meant? write style"
    )


def _without_lists(text: str) -> str:
    """Return ``text`` without definitions of footnotes and the list of sources at its end."""
    if "\n" in text:
        for heading in reversed(list(_LIST_HEADING.finditer(text))):
            lines = text[heading.end() :].splitlines()
            if not any(map(str.strip, lines)) or not all(map(_ENTRY.match, lines)):
                break
            text = text[: heading.start()]
    return _DEFINITION.sub("", text) if "[" in text else text


def _strip(text: str, rule: CitationRule, most: int | None) -> _Stripped:
    kept = _without_lists(text)
    markers = find_markers(kept, rule, most)
    if not markers:
        return _Stripped(text if kept == text else kept.rstrip(), [], [])
    stripped, places, _ = _cut(kept, markers)
    # What is left may form a marker anew, as in "[[1]2]": it goes too, and cites nothing.
    while again := find_markers(rest := _without_lists(stripped), rule, most):
        stripped, _, cuts = _cut(rest, again)
        places = [(_moved(place, cuts), is_first) for place, is_first in places]
    lead = len(rest) - len(rest.lstrip())
    places = [(max(place - lead, 0), is_first) for place, is_first in places]
    return _Stripped(rest.strip(), places, markers)


def _cut(
    text: str, markers: list[Marker]
) -> tuple[str, list[tuple[int, bool]], list[tuple[int, int, int]]]:
    """Return ``text`` without markers and the blanks before them, and where each of them was.

    Of each cut also its begin and end in ``text``, and how long the text is that stays before it.
    """
    pieces: list[str] = []
    places: list[tuple[int, bool]] = []
    cuts: list[tuple[int, int, int]] = []
    length = end = 0
    for run in _runs(text, markers):
        start, stop = _around(text, run)
        piece = text[end:start]
        is_first = start == 0 or text[start - 1] == "\n"
        pieces.append(piece)
        length += len(piece)
        places.extend([(length, is_first)] * len(run))
        end = stop
        if is_first:
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
        elif _would_join(text, start, end):
            pieces.append(" ")
            length += 1
        cuts.append((start, end, length))
    return "".join([*pieces, text[end:]]), places, cuts


def _moved(place: int, cuts: list[tuple[int, int, int]]) -> int:
    """Return where a place in a text is after ``cuts`` of it; where the cut was that it is in."""
    at = bisect_right(cuts, place, key=lambda cut: cut[0]) - 1
    if at < 0:
        return place
    _, end, length = cuts[at]
    return length + max(0, place - end)


def _runs(text: str, markers: list[Marker]) -> list[list[Marker]]:
    """Return markers in groups, within which only blanks, a comma or a semicolon divide them."""
    runs = [[markers[0]]]
    for marker in markers[1:]:
        if _BETWEEN.fullmatch(text, runs[-1][-1].end, marker.start):
            runs[-1].append(marker)
        else:
            runs.append([marker])
    return runs


def _around(text: str, run: list[Marker]) -> Span:
    """Return what goes with a run of markers: brackets around nothing else, blanks before it."""
    start, end = run[0].start, run[-1].end
    while text[start - 1 : start] + text[end : end + 1] in ("()", "（）", "[]"):
        start, end = start - 1, end + 1
    while start and text[start - 1] in " \t":
        start -= 1
    return start, end


def _would_join(text: str, start: int, end: int) -> bool:
    """Return whether words before and behind a cut would become one."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return before.isascii() and after.isascii() and before not in "([" and after.isalnum()


def _from_one(sources: tuple[Source, ...], base: int) -> tuple[Source, ...]:
    return tuple(source + 1 - base if isinstance(source, int) else source for source in sources)


_KEYS: Final = ("document_id", "doc_id", "id", "source", "index")


def structured_citations(value: Any) -> tuple[Source, ...]:
    """Return the sources of a field: numbers, names, or objects that have an id.

    Raises ValueError for other values.
    """
    items = value if isinstance(value, list | tuple) else [value]
    return tuple(_item(item) for item in items)


def _item(item: Any) -> Source:
    if isinstance(item, Mapping):
        named = [item[key] for key in _KEYS if item.get(key) is not None]
        if not named:
            raise ValueError(
                f"expected a source with one of {', '.join(_KEYS)}, found {item!r:.80}"
            )
        item = named[0]
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise ValueError(f"expected numbers, names or objects with an id, found {item!r:.80}")
    if isinstance(item, float):
        if not item.is_integer():
            raise ValueError(f"expected a whole number as a source, found {item!r}")
        return int(item)
    if isinstance(item, str) and item.strip().isascii() and item.strip().isdecimal():
        return int(item)
    return item


def structured_answer(value: Any) -> tuple[tuple[str, tuple[Source, ...]], ...] | None:
    """Return the sentences of an answer as TREC writes it, with what they cite; None if it is none.

    Such numbers begin at 0; they are returned as counted from 1. Raises ValueError for sources that
    ``structured_citations`` refuses.
    """
    if not isinstance(value, list | tuple) or not value:
        return None
    if not all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in value):
        return None
    return tuple(
        (part["text"], _from_one(structured_citations(part.get("citations") or ()), 0))
        for part in value
    )
