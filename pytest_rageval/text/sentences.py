"""Splits answers in English and Chinese into sentences, and says which of them state something."""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.text.tokenize import has_cjk, one_of

Span = tuple[int, int]

_CLOSING: Final = "\"'”’」』）)]］】》〉*_"
_CLOSING_CLASS: Final = f"[{re.escape(_CLOSING)}]"
# What may follow a full stop as a citation: brackets with digits, a prefix and digits, a file or
# nothing, or superscripts; no Markdown link.
_MARKER: Final = (
    r"(?:[\[［]\^?(?:[A-Za-z]{0,9}[:：_ -]? ?\d[^\[\]［］\n]{0,60}|[^\[\]［］\n]{1,80}\.\w{2,4})?"
    r"[\]］](?!\()|【\d[^【】\n]{0,60}】|[⁰¹²³⁴-⁹]+)"
)
_STOP: Final = re.compile(
    rf"\n|([.!?。！？；…]+)({_CLOSING_CLASS}*)((?:[ \t]?{_MARKER})*{_CLOSING_CLASS}*)"
)
# Citations behind the end of a sentence. A "]" before them does not show one: it may be that of
# another citation, in a sentence without a full stop.
_CITED_END: Final = re.compile(
    rf"(?<=[.!?。！？；…{re.escape(_CLOSING.replace(']', ''))}])(?:[ \t]?{_MARKER})++$"
)
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1\s*?$|\Z)", re.MULTILINE | re.DOTALL)
_LAST_WORD: Final = re.compile(r"(?:[A-Za-z]+\.)*[A-Za-z]+$")
_LIST_NUMBER: Final = re.compile(r"[ \t]*(?:[-*+>•][ \t]+)?(?:\*\*)?(?:\d{1,3}|[a-zA-Z])$")
# What may open a sentence (blanks, quotes, brackets, marks of Markdown), and its first word.
_NEXT: Final = re.compile(r"[ \t]*[\"'“‘「『（(\[《*_`]*([^\W_]+)?")
_WORD: Final = r"(?>[^\W_]+(?:['’.,:/@-][^\W_]+)*)"
_THREE_WORDS: Final = re.compile(rf"[\W_]*+{_WORD}(?:[\W_]++{_WORD}){{2}}")
_ALPHANUMERIC: Final = re.compile(r"[^\W_]")
# What stands before an item of a list. "3.5" is a number, "e.g." an abbreviation, and a capital
# with a full stop more often an initial ("J. Smith won") than an item: so it counts as a word.
_PREFIX: Final = re.compile(
    r"\s*(?:[-*+>•]\s+|\(?(?:(?:\d{1,3}|[a-zA-Z])[)、]|\d{1,3}\.(?!\d)|[a-z]\.(?![\da-zA-Z]))\s*)*"
)
_INITIALS: Final = re.compile(r"(?:[a-z]\.)*[a-z]$")
_INITIAL_IS_NEXT: Final = re.compile(r" [A-Z]\. ?[A-Z]")
_BEGINS: Final = re.compile(r"\s+[A-Z][a-z]+(?: [a-z]|, )")
"""How a sentence begins behind a time of day: a capital word, then a small one or a comma."""

_NEVER_LAST: Final = one_of(
    "dr mr mrs ms prof e.g eg i.e ie vs cf approx gen sen hon rev gov capt lt sgt viz resp messrs "
    "mme mlle pres supt adm maj hrsg bzw incl excl"
)
_BEFORE_A_NUMBER: Final = one_of(
    "no nos fig figs eq eqs vol vols p pp art arts sec secs ch chap para paras ed nr tab ver v "
    "jan feb mar apr jun jul aug sep sept oct nov dec est c fl"
)
# These end a sentence only if what follows cannot be a name: "Apple Inc. CEO", "in the U.S. It".
_BEFORE_A_NAME: Final = one_of(
    "al inc ltd co corp jr sr bros ph.d b.sc m.sc m.a b.a llc esq plc mt ft univ assn ca col dept "
    "rep st"
)
_BEFORE_A_SMALL_LETTER: Final = one_of("etc min max hr hrs sq avg temp dist ext tel")
_UNITS: Final = one_of("ms ft in")
# What follows a time of day within a sentence: "at 5 p.m. Monday", "at 9 a.m. EST".
_AFTER_A_TIME: Final = one_of(
    "mon tue tues wed thu thur thurs fri sat sun eastern pacific central mountain european local "
    "jan feb mar apr jun jul aug sep sept oct nov dec january february march april may june july "
    "august september october november december monday tuesday wednesday thursday friday saturday "
    "sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays est edt et pst pdt pt "
    "cst cdt ct mst mdt mt gmt bst utc cet cest ist jst hkt sgt aest"
)
_STARTERS: Final = one_of(
    "a about additionally after all also although an and are as at because before both but by can "
    "do does during each for from furthermore he her here his how however i if in instead is it "
    "its many moreover most my next no not on once one only or our please several she since so "
    "some that the their then there therefore these they this those thus to today two under until "
    "we were what when where which while who why with yes you your"
)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``; a line end ends one, and blocks of code are left out.

    Closing quotes, brackets and citations after the full stop belong to the sentence before them.
    What holds neither letter nor digit is left out; a text without any gives an empty list.

    >>> split_sentences("Dr. Eiffel built it.[1] It is 330.5 m high. 高330米。")
    ['Dr. Eiffel built it.[1]', 'It is 330.5 m high.', '高330米。']
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[Span]:
    """Return where the sentences of ``split_sentences`` begin and end, in order."""
    spans: list[Span] = []
    start = 0
    if "```" in text or "~~~" in text:
        for block in _FENCE.finditer(text):
            _add_spans(text, start, block.start(), spans)
            start = block.end()
    _add_spans(text, start, len(text), spans)
    return spans


def counts_as_sentence(text: str) -> bool:
    """Return whether ``text`` states something: no heading, no question, and not too short.

    A text is long enough with three words; with Chinese, Japanese or Korean script also with four
    letters, digits or characters. The number or letter of an item in a list is no word, nor is a
    citation behind the full stop.

    >>> [counts_as_sentence(text) for text in ("## How it was built", "Why?", "高330米。")]
    [False, False, True]
    """
    text = _CITED_END.sub("", text.strip())
    if text.startswith("#") or text.rstrip(_CLOSING + " \t").endswith(("?", "？")):
        return False
    body = text[_PREFIX.match(text).end() :]  # type: ignore[union-attr]  # may match nothing
    if _THREE_WORDS.match(body):
        return True
    return has_cjk(body) and len(_ALPHANUMERIC.findall(body)) >= 4


def _add_spans(text: str, start: int, end: int, spans: list[Span]) -> None:
    for stop in _STOP.finditer(text, start, end):
        if stop.group() == "\n":
            _add(text, start, stop.start(), spans)
            start = stop.end()
        elif _is_end(text, stop, end):
            _add(text, start, stop.end(), spans)
            start = stop.end()
    _add(text, start, end, spans)


def _add(text: str, start: int, end: int, spans: list[Span]) -> None:
    """Add the span without blanks around it, if it holds a letter or digit."""
    piece = text[start:end]
    if _ALPHANUMERIC.search(piece):
        left = len(piece) - len(piece.lstrip())
        spans.append((start + left, start + len(piece.rstrip())))


def _is_end(text: str, stop: re.Match[str], end: int) -> bool:
    """Return whether a sentence ends at ``stop``, which is no line end, in ``text[:end]``."""
    signs = stop[1]
    if not signs.isascii() and signs.strip(".!?…"):  # a Chinese sign ends one anywhere
        return True
    after = text[stop.end() : stop.end() + 1] if stop.end() < end else ""
    if not after or after == "\n":
        return True
    if not after.isspace():
        return _ends_before_script(text, stop, after)
    following = _NEXT.match(text, stop.end(), end)
    word = (following and following[1]) or ""
    if signs != "." or stop[2].strip("*_"):  # no end in "Yahoo! is" and in '"Why?" he asked'
        return not word[:1].islower() or (signs == "." and bool(stop[3]))
    return bool(stop[3]) or not _is_abbreviation(text, stop.start(), word)


def _ends_before_script(text: str, stop: re.Match[str], after: str) -> bool:
    """Return whether a stop without a blank behind it is an end: Chinese has no blanks."""
    if not has_cjk(after) or stop[1].startswith("..") or stop[1] == "…":
        return False
    return stop[1] != "." or has_cjk(text[max(0, stop.start() - 1) : stop.start()])


def _is_abbreviation(text: str, full_stop: int, following: str) -> bool:
    """Return whether the full stop there marks an abbreviation or the number of an item."""
    line = text.rfind("\n", 0, full_stop) + 1
    if full_stop - line < 10 and _LIST_NUMBER.match(text, line, full_stop):
        return True
    before = _LAST_WORD.search(text, max(line, full_stop - 24), full_stop)
    if before is None:
        return False
    word = before.group().lower()
    is_unit = _is_unit(text, before)
    if word in _NEVER_LAST and not is_unit:
        return True
    if word in _BEFORE_A_NUMBER and following[:1].isdigit():
        return True
    if word in _BEFORE_A_SMALL_LETTER or is_unit:  # inches may follow feet: "5 ft. 3"
        return following[:1].islower() or (word == "ft" and following[:1].isdigit())
    if word in ("a.m", "p.m") and following.lower() not in _STARTERS:
        begins = following.lower() not in _AFTER_A_TIME and _BEGINS.match(text, full_stop + 1)
        return not begins
    if word in _BEFORE_A_NAME or _INITIALS.match(word):
        is_initial = len(following) == 1 and _INITIAL_IS_NEXT.match(text, full_stop + 1)
        return following.lower() not in _STARTERS or following[:1].islower() or bool(is_initial)
    return False


def _is_unit(text: str, word: re.Match[str]) -> bool:
    """Return whether a word is a unit, as in "330 m. Visitors", and no initial or title."""
    before = text[max(0, word.start() - 3) : word.start()].rstrip()
    is_one = len(word.group()) == 1 or word.group() in _UNITS
    return is_one and before[-1:].isdigit()
