"""Reads a score from a judge's reply: the value of a key of JSON, or a line that states it.

What no key and no such line states is not read: sentences about an answer are full of numbers, and
a judge that is asked again costs less than a wrong verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_json import ReplyParts, take_apart
from pytest_rageval.text.reply_text import (
    UnreadableReplyError,
    plain_characters,
    strip_thinking,
    to_lines,
)

_PHRASES: Final = phrases_in(__package__, "scores.toml")
_LISTED: Final = 5
_CUT_OFF: Final = r"\{[^{}]*[:：]\s*[\"'“]?[-\d.]+\Z"
"""JSON that ends in a number: 8 may be the beginning of 80."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """The scale that was asked for."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def phrases(self, name: str) -> Iterator[str]:
        """Yield the patterns of a name, for this scale."""
        low = f"(?:{_spelled(self.low)}|0|1)"
        for pattern in _PHRASES[name]:
            yield pattern.replace("<low>", low).replace("<high>", _spelled(self.high))


@dataclass(frozen=True, slots=True)
class _Statement:
    """A score that a line states, and where it ends; ``is_final``: it calls itself the last word.

    ``criterion`` is what it is the score of, "" for the answer.
    """

    value: float
    end: int
    is_final: bool = False
    criterion: str = ""


def read_score(text: str, low: float, high: float) -> float:
    """Return the score from ``low`` to ``high`` that the reply ``text`` states.

    Where a key of its JSON states it, the value of that key alone does; else a line such as
    ``Score: 4``, a number alone in the first or last line, or "I give it a 4". Raises
    UnreadableReplyError if there is none, if several differ, for one beside other numbers that may
    be the score, on another scale or out of range, and for one that is taken back.

    >>> read_score("得分：４分", 0, 5), read_score("I give it 3.5/5, because ...", 0, 5)
    (4.0, 3.5)
    """
    return _read(text, _Scale(low, high))[0]


def read_level(text: str, low: float, high: float) -> float:
    """Return the level that the reply to a question of few levels states, such as 0 or 1.

    Raises UnreadableReplyError as ``read_score``, for what is no whole number, and for one of 0 and
    1 if the reply says the opposite.

    >>> read_level("Level: 1. It names the fee.", 0, 1)
    1.0
    """
    level, behind = _read(text, _Scale(low, high))
    if not level.is_integer():
        raise UnreadableReplyError(f"its score {level:g} is between two levels")
    # Of more levels the highest may be a "not": the answer does not answer.
    opposite = _PHRASES["not_met" if level == 1.0 else "met"][0]
    says_no = level == 1.0 and re.search(_PHRASES["says_not_met"][0], to_lines(text))
    if high == 1.0 and (says_no or re.search(opposite, behind)):
        raise UnreadableReplyError(f"it says {level:g} and takes it back")
    return level


def _read(text: str, scale: _Scale) -> tuple[float, str]:
    """Return the score, and what stands behind it."""
    plain = strip_thinking(text)
    if not text[-1:].isspace() and re.search(_CUT_OFF, plain):
        raise UnreadableReplyError("its JSON has no end, and its number may have none")
    parts = take_apart(plain_characters(plain))
    if any(top != scale.high for top in parts.tops):
        raise _other_scale(scale)
    if parts.is_cut_off:
        raise UnreadableReplyError("its JSON has no end")
    return _read_key(parts, scale) if parts.scores else _read_words(parts, scale)


def _read_key(parts: ReplyParts, scale: _Scale) -> tuple[float, str]:
    """Return the score that keys state; the prose around may not state another one."""
    stated = [_number(_lines(score, scale), scale) for score in parts.scores]
    if not all(stated):
        raise _none_stated(scale)
    before, behind = _lines(parts.before, scale), _lines(parts.behind, scale)
    # A box before them may be one of the answer.
    around = [*_stated(before, scale), *_statements(behind, scale)]
    value = _only([number for number, _ in filter(None, stated)] + [one.value for one in around])
    _refuse_correction(value, behind, scale)
    # What follows on the lowest score says why.
    if value > scale.low and re.search(_PHRASES["takes_back"][0], behind):
        raise UnreadableReplyError(f"it says {value:g} and takes it back")
    return value, f"{behind}\n{to_lines(parts.after)}"


def _read_words(parts: ReplyParts, scale: _Scale) -> tuple[float, str]:
    """Return the score that a line states."""
    lines = _lines(f"{parts.before}\n{parts.behind}", scale)
    stated = _statements(lines, scale) or _of_criterion(lines, scale) or list(_lone(lines, scale))
    if not stated and re.search(_PHRASES["declines"][0], lines):
        raise UnreadableReplyError("it declines to judge")
    if not stated:
        raise _none_stated(scale)
    last = stated[-1]
    value = last.value if _is_last_word(last, lines) else _only(one.value for one in stated)
    behind = lines[last.end :]
    _refuse_correction(value, behind, scale)
    return value, behind


def _is_last_word(last: _Statement, lines: str) -> bool:
    return last.is_final and not re.search(r"\w", lines[last.end :])


def _lines(text: str, scale: _Scale) -> str:
    """Return plain lines without mentions of the scale; raises UnreadableReplyError for another."""
    lines = to_lines(text)
    for pattern in scale.phrases("other_scale"):
        if any(float(found["top"]) != scale.high for found in re.finditer(pattern, lines)):
            raise _other_scale(scale)
    for name, mark in (("of_all", " points"), ("of_the_scale", " ")):
        for pattern in scale.phrases(name):
            lines = re.sub(pattern, mark, lines)
    lines = re.sub(r"(?m)^[\s,;:]+", "", lines)
    return lines.replace("%", " ") if scale.high == 100 else lines


def _statements(lines: str, scale: _Scale) -> list[_Statement]:
    """Return what lines state, in their order; a box counts behind other statements."""
    stated = _stated(lines, scale)
    end = max((one.end for one in stated), default=0)
    boxed = [one for one in _begun("box", lines, scale) if one.end > end]
    return sorted([*stated, *boxed], key=lambda one: one.end)


def _stated(lines: str, scale: _Scale) -> list[_Statement]:
    """Return what lines state of the answer by a label, or in the first person."""
    labelled = [one for one in _labelled(lines, scale) if not one.criterion]
    return [*labelled, *_begun("spoken", lines, scale)]


def _of_criterion(lines: str, scale: _Scale) -> list[_Statement]:
    """Return the one score of a criterion such as relevance, if there is no score of another."""
    found = list(_labelled(lines, scale))
    if found and not all(re.search(_PHRASES["criterion"][0], one.criterion) for one in found):
        raise _none_stated(scale)
    return found


def _labelled(lines: str, scale: _Scale) -> Iterator[_Statement]:
    for found in re.finditer(_PHRASES["label"][0], lines):
        is_plain = re.fullmatch(_PHRASES["head_of_score"][0], found["head"])
        with nullcontext() if is_plain else suppress(UnreadableReplyError):
            if (number := _number(lines[found.end() :], scale)) is None:
                continue
            end, said = found.end() + number[1], f"{found['head']}{found['label']}"
            # In the midst of a line it may be told of another; not as the last word of all.
            if found["midst"] is None or re.match(_PHRASES["at_the_end"][0], lines[found.end() :]):
                is_final = re.search(_PHRASES["final"][0], found[0]) is not None
                yield _Statement(number[0], end, is_final, "" if is_plain else said)


def _begun(name: str, lines: str, scale: _Scale) -> Iterator[_Statement]:
    for found in re.finditer(_PHRASES[name][0], lines):
        if number := _number(lines[found.end() :], scale):
            yield _Statement(number[0], found.end() + number[1])


def _lone(lines: str, scale: _Scale) -> Iterator[_Statement]:
    """Yield the numbers that stand alone in the first line, and in the last one."""
    last = lines.rfind("\n") + 1
    for at in sorted({0, last}):
        said = re.sub(r"\A[\s,\"“(\[]+", "", lines[at:])
        is_begun = at > 0 and not re.search(_PHRASES["sentence_end"][0], lines[at - 2 : at])
        if not is_begun and (number := _number(said, scale, is_alone=True)):
            yield _Statement(number[0], len(lines) - len(said) + number[1])


def _number(said: str, scale: _Scale, *, is_alone: bool = False) -> tuple[float, int] | None:
    """Return the number that a text begins with, and its length; None if there is no such number.

    Raises UnreadableReplyError for one out of range, and beside others that may be the score.
    """
    found = re.match(_PHRASES["number"][0], said)
    if found is None:
        return None
    is_bare = is_alone and not found["unit"] and not found["out_of"]
    if is_bare and not re.match(_PHRASES["ends_alone"][0], said[found.end() :]):
        return None
    value = float(found["value"].replace(",", ".")) + 0.0  # not -0.0
    line = said.partition("\n")[0]
    if found["out_of"] and float(found["out_of"]) != scale.high:
        raise UnreadableReplyError(f"its score {found[0]} is on another scale than {scale}")
    if not scale.has(value):
        raise UnreadableReplyError(f"its score {value:g} is outside of {scale}")
    rest = line[found.end() :]
    beside = map(float, re.findall(_PHRASES["other_number"][0], rest))
    if any(scale.has(other) and other != value for other in beside):
        raise UnreadableReplyError(f"other numbers stand beside its score: {shorten(line)!r}")
    if re.search(_PHRASES["declines"][0], rest):
        raise UnreadableReplyError("it declines to judge")
    return value, found.end()


def _refuse_correction(value: float, behind: str, scale: _Scale) -> None:
    """Raise UnreadableReplyError if what stands behind a score names another one in its place."""
    for pattern in _PHRASES["corrected"]:
        for found in re.finditer(pattern, behind):
            if scale.has(other := float(found["value"])) and other != value:
                raise UnreadableReplyError(f"it takes {value:g} back: {other:g}")


def _only(values: Iterable[float]) -> float:
    """Return the one value; raises UnreadableReplyError if several differ."""
    if len(different := set(values)) > 1:
        raise _several(different)
    return different.pop()


def _several(values: Iterable[float]) -> UnreadableReplyError:
    listed = ", ".join(f"{value:g}" for value in sorted(set(values))[:_LISTED])
    return UnreadableReplyError(f"it states several scores: {listed}")


def _none_stated(scale: _Scale) -> UnreadableReplyError:
    return UnreadableReplyError(f"it states no score from {scale}")


def _other_scale(scale: _Scale) -> UnreadableReplyError:
    return UnreadableReplyError(f"it names another scale than {scale}")


def _spelled(number: float) -> str:
    """Return a pattern for a number of the scale, with or without decimals."""
    whole = f"{number:.0f}"
    return rf"{whole}(?:\.0+)?" if number == float(whole) else re.escape(f"{number:g}")
