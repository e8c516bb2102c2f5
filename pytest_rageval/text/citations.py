"""Reads the citations in answers, in all usual spellings, and takes them out of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.text.sentences import counts_as_sentence, sentence_spans

Source = int | str
"""What a citation names: a number, counted from 1, or a name."""

LONGEST: Final = 20_000
"""Of a longer answer, a pattern of the user's reads the beginning: it may be slow."""
_MOST: Final = 99
_SHARE_OF_SUPERSCRIPTS: Final = 0.1


@dataclass(frozen=True, slots=True)
class CitationRule:
    """How answers cite: ``style``, the number of the first source, and what a citation names.

    ``auto`` reads all spellings, superscripts only if ``superscripts`` says so. A style that is
    none of the known ones is a regular expression with one group.
    """

    style: str = "auto"
    base: int = 1
    of: str = "contexts"
    superscripts: bool = False


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence without its markers, and what it cites; ``is_counted``: it should cite."""

    text: str
    citations: tuple[Source, ...]
    is_counted: bool


@dataclass(frozen=True, slots=True)
class CitedText:
    """An answer without markers and list of sources, and its citations by occurrence."""

    stripped: str
    sentences: tuple[CitedSentence, ...]
    citations: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class StyleFound:
    """How the answers of a data set cite; ``problem`` is what they leave open, "" if nothing.

    ``hold`` counts the answers that hold a citation.
    """

    rule: CitationRule
    problem: str = ""
    hold: int = 0


_NUMBERS: Final = (
    r"\d{1,4}(?:\s*[-–—~～]\s*\d{1,4})?(?:\s*[,，、;；]\s*\d{1,4}(?:\s*[-–—~～]\s*\d{1,4})?)*"
)
_SUFFIXES: Final = "pdf|docx?|txt|md|html?|csv|xlsx?|pptx?|json|xml|rst|epub|odt"
_STYLES: Final[Mapping[str, str]] = {
    "brackets": rf"[\[［](?P<numbers>{_NUMBERS})[\]］](?!\()",
    "lenticular": rf"【(?P<lenticular>{_NUMBERS})(?:†[^】\n]{{0,80}})?】",
    "footnote": r"\[\^(?P<footnote>[\w-]{1,20})\](?!:)",
    "citation": rf"[\[【](?:citation|cite|ref|引用)\s*[:：]?\s*(?P<citation>{_NUMBERS})[\]】]",
    "doc": r"[\[【(（](?:docs?|documents?|sources?|passage|context|文档|来源|文献|资料)"
    rf"\s*#?(?P<doc>{_NUMBERS})[\]】)）]",
    "source": r"[(（\[【](?:sources?|来源|出处|资料来源)\s*[:：]\s*"
    r"(?P<source>[^()（）\[\]【】\n]{1,200})[)）\]】]",
    "file": rf"[\[【](?P<file>[^\[\]【】\n]{{1,150}}?\.(?:{_SUFFIXES}))[\]】](?!\()",
    "superscript": r"(?<=[.!?。！？；”’\"'」])"
    r"(?P<superscript>[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}(?:[,，·˒‚ʼ]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})*)",
}
_FIRST: Final = re.compile(r"[\[［【(（⁰¹²³⁴-⁹]")
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_CODE: Final = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)
_IDENTIFIER: Final = re.compile(r"[\w.()]*$")
_DEFINITION: Final = re.compile(r"^[ \t]*\[\^[\w-]{1,20}\]:.*(?:\n[ \t]+\S.*)*\n?", re.MULTILINE)
_HEADINGS: Final = (
    r"references?|sources?|citations?|bibliography|works cited|footnotes?|sources? used"
    r"|参考资料|参考文献|参考来源|资料来源|引用来源|引用|来源|文献|參考資料|參考文獻|來源"
)
_LIST: Final = re.compile(
    rf"(?:^|\n)[ \t]*(?:-{{3,}}\s*\n\s*)?(?:#+[ \t]*)?\**(?:{_HEADINGS})\**[ \t]*[:：]?\**[ \t]*"
    r"(?P<entries>(?:\n\s*(?:[-*•]|\[|［|【|\(?\d{1,3}[.)\]、]|https?:|[¹²³⁴⁵⁶⁷⁸⁹]|[^\s。！？!?]+\.\w{2,5}\b)"
    r"[^\n]*)+|[ \t]*(?:\[|［|【|\d{1,3}[.)])[^\n]*)\s*\Z",
    re.IGNORECASE,
)


@lru_cache(maxsize=32)
def _pattern(style: str, superscripts: bool) -> re.Pattern[str]:
    if style == "auto":
        parts = [p for name, p in _STYLES.items() if name != "superscript" or superscripts]
        # The longer spellings first: [citation:1] is no file, and [doc1] no name.
        return re.compile("|".join(parts), re.IGNORECASE)
    known = _STYLES.get(style)
    return re.compile(known, re.IGNORECASE) if known is not None else re.compile(style)


@dataclass(frozen=True, slots=True)
class _Marker:
    start: int
    end: int
    sources: tuple[Source, ...]


def read_citations(text: str, rule: CitationRule, most: int | None = None) -> CitedText:
    """Return what an answer cites, by sentence; ``most`` is how many sources it could cite.

    Numbers above 99 are citations only where there are so many.
    """
    kept = _without_list(text)
    stripped, placed = _taken_out(kept, list(_markers(kept, rule, most)))
    spans = list(sentence_spans(stripped))
    cited: list[list[Source]] = [[] for _ in spans]
    for offset, sources in placed:
        owner = _owner(spans, offset)
        if owner is not None:
            cited[owner] += sources
    sentences = tuple(
        CitedSentence(sentence, tuple(sources), counts_as_sentence(sentence))
        for (start, end), sources in zip(spans, cited, strict=True)
        for sentence in (stripped[start:end],)
    )
    every = tuple(source for _, sources in placed for source in sources)
    return CitedText(stripped, sentences, every)


def strip_citations(text: str, rule: CitationRule, most: int | None = None) -> str:
    """Return an answer without its markers and the list of sources at its end."""
    if _FIRST.search(text) is None and _is_known(rule.style):
        return text
    kept = _without_list(text)
    markers = list(_markers(kept, rule, most))
    if not markers and kept == text:
        return text
    return _taken_out(kept, markers)[0]


def _is_known(style: str) -> bool:
    return style == "auto" or style in _STYLES


def _without_list(text: str) -> str:
    if "[" not in text and "【" not in text and "\n" not in text:
        return text
    if "[^" in text:
        text = _DEFINITION.sub("", text)
    found = _LIST.search(text) if "\n" in text else None
    return text if found is None else text[: found.start()]


def _markers(text: str, rule: CitationRule, most: int | None) -> Iterator[_Marker]:
    if _is_known(rule.style):
        if _FIRST.search(text) is None:
            return
        found = _pattern(rule.style, rule.superscripts).finditer(text)
        is_code = _in_code(text)
    else:
        found = _pattern(rule.style, False).finditer(text, 0, LONGEST)
        is_code = _in_code(text)
    for match in found:
        if is_code(match.start()):
            continue
        sources = _sources(text, match, rule, most)
        if sources:
            yield _Marker(match.start(), match.end(), sources)


def _in_code(text: str) -> Any:
    spans = [match.span() for match in _CODE.finditer(text)] if "`" in text or "~~~" in text else []
    return lambda at: any(start <= at < end for start, end in spans)


def _sources(
    text: str, match: re.Match[str], rule: CitationRule, most: int | None
) -> tuple[Source, ...]:
    """Return what a match cites, () where it is no citation."""
    if not _is_known(rule.style):
        return _named(match[1], rule.base)
    kind = match.lastgroup or ""
    said = match[kind]
    if kind == "superscript":
        parts = re.split(r"[^⁰¹²³⁴⁵⁶⁷⁸⁹]+", said)
        return tuple(int(part.translate(_RAISED)) + 1 - rule.base for part in parts)
    if kind == "source":
        return tuple(part.strip() for part in re.split(r"[,;，；、]", said) if part.strip())
    if kind == "file":
        return tuple(part.strip() for part in re.split(r"[,;，；、]\s*", said) if part.strip())
    if kind == "footnote":
        return _named(said, rule.base)
    if kind == "numbers" and _is_index(text, match.start()):
        return ()
    return _numbers(said, rule.base, most)


def _named(said: str, base: int) -> tuple[Source, ...]:
    plain = said.strip()
    if plain.isascii() and plain.isdecimal():
        return (int(plain) + 1 - base,)
    return (plain,) if plain else ()


def _numbers(said: str, base: int, most: int | None) -> tuple[Source, ...]:
    """Return the numbers in ``1, 3-5``, counted from 1; () where they are no citations."""
    parts = [part.strip() for part in re.split(r"[,，、;；]", said)]
    found: list[int] = []
    for part in parts:
        ends = [int(end) for end in re.split(r"\s*[-–—~～]\s*", part)]
        if len(ends) == 2 and not 0 < ends[1] - ends[0] <= _MOST:
            return ()
        found += range(ends[0], ends[-1] + 1)
    largest = max(_MOST, most or 0)
    is_interval = len(found) > 1 and found[0] == 0 and base == 1
    if is_interval or any(number > largest for number in found):
        return ()
    return tuple(number + 1 - base for number in found)


def _is_index(text: str, at: int) -> bool:
    """Return whether a bracket directly follows an identifier: ``my_list[1]``, ``a.b[0]``."""
    before = _IDENTIFIER.search(text[max(0, at - 60) : at])
    word = before[0] if before is not None else ""
    if not word or word.endswith(".") or not any(char.isalpha() for char in word):
        return False
    return "_" in word or "." in word or "(" in word


def _taken_out(
    text: str, markers: Sequence[_Marker]
) -> tuple[str, list[tuple[int, tuple[Source, ...]]]]:
    """Return the text without the markers, and where in it each of them was."""
    parts: list[str] = []
    placed: list[tuple[int, tuple[Source, ...]]] = []
    length = at = 0
    for marker in markers:
        before = text[at : marker.start]
        end = marker.end
        joined = before.rstrip(" \t")
        is_first = (joined.endswith("\n") or not joined) and (length == 0 or bool(joined))
        if is_first:  # at the beginning of a line: what follows moves up
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
        else:
            before = joined
        parts.append(before)
        length += len(before)
        placed.append((length, marker.sources))
        at = end
    parts.append(text[at:])
    stripped = "".join(parts)
    lead = len(stripped) - len(stripped.lstrip())
    return stripped.strip(), [(max(0, place - lead), sources) for place, sources in placed]


def _owner(spans: Sequence[tuple[int, int]], offset: int) -> int | None:
    """Return the sentence that a marker belongs to: that before it, where one ends there."""
    for number, (start, end) in enumerate(spans):
        if offset <= end:
            return (
                number - 1
                if offset < start and number and offset <= spans[number - 1][1]
                else number
            )
    return len(spans) - 1 if spans else None


def find_style(texts: Iterable[str], counts: Iterable[int | None]) -> StyleFound:
    """Return how the answers cite, by all of them; ``counts`` are the numbers of their contexts.

    Superscripts are citations only if a tenth of the answers have them and nothing else cites.
    Where numbers may begin at 0 or at 1, that is a problem.
    """
    hold = raised = total = zeros = tops = 0
    rule, with_raised = CitationRule(base=0), CitationRule("superscript")
    for text, count in zip(texts, counts, strict=True):
        total += 1
        if _FIRST.search(text) is None:
            continue
        numbers = [
            source - 1
            for marker in _markers(text, rule, count)
            for source in marker.sources
            if isinstance(source, int)
        ]
        if any(_markers(text, CitationRule(), count)):
            hold += 1
            zeros += 0 in numbers
            tops += count is not None and count in numbers
        elif any(_markers(text, with_raised, count)):
            raised += 1
    superscripts = not hold and raised >= max(1, _SHARE_OF_SUPERSCRIPTS * total)
    problem = ""
    if zeros >= 2 and not tops:
        problem = (
            f"do numbers begin at 0 or at 1? {zeros} answers cite [0], and none the last context "
            "by its number from 1; write {base: 0} or {base: 1}"
        )
    return StyleFound(CitationRule(superscripts=superscripts), problem, hold or raised)


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

    Such numbers begin at 0; they are returned as counted from 1.
    """
    if not isinstance(value, list | tuple) or not value:
        return None
    if not all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in value):
        return None
    return tuple(
        (
            part["text"],
            tuple(
                source + 1 if isinstance(source, int) else source
                for source in structured_citations(part.get("citations") or ())
            ),
        )
        for part in value
    )
