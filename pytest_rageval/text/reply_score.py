"""Reads a score from a judge's reply: the value of a key of JSON, or a line with nothing else.

Sentences are not read: those about an answer are full of numbers, and a judge that is asked again
costs less than a wrong verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_json import ReplyParts, refuse_more, take_apart
from pytest_rageval.text.reply_text import (
    FoundJson,
    UnreadableReplyError,
    objects_in,
    plain_characters,
    strip_thinking,
    to_lines,
)

_PHRASES: Final = phrases_in(__package__, "scores.toml")
_END_TOKENS: Final = r"(?:<\|(?!end_of_box)[^|<>\n]{1,40}\|>\s*)+\Z"
"""What ends a reply of a model whose server leaves it in, such as <|im_end|>; no box of a score."""

_LISTED: Final = 5
_LONGEST_LINE: Final = 100
_SHORT: Final = 40
_NUMBER_WITHOUT_END: Final = r"[\d.]{400}"
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
        # Judges begin a scale at 0 or 1, whatever was asked.
        low = f"(?:{_spelled(self.low)}|0|1)"
        for pattern in _PHRASES[name]:
            yield pattern.replace("<low>", low).replace("<high>", _spelled(self.high))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with a number and perhaps its name; ``end`` is the offset where it ends.

    ``is_score``: it is called the score of the answer, or has no name, where a score may stand.
    ``is_called``: it is called the score, wherever it stands, perhaps with words behind.
    """

    value: float
    end: int
    is_score: bool
    is_called: bool


def read_score(text: str, low: float, high: float) -> float:
    r"""Return the score from ``low`` to ``high`` that the reply ``text`` states.

    It is the value of a key of the reply's JSON; without such a key, a line that is nothing but the
    score, such as ``Score: 4`` or ``4/5``, at the beginning or the end. Raises UnreadableReplyError
    if there is none, if several differ, for one on another scale or out of range, and for one that
    is taken back.

    >>> read_score("得分：４分", 0, 5), read_score("3.5/5\nThe date is missing.", 0, 5)
    (4.0, 3.5)
    """
    plain = re.sub(_END_TOKENS, "", strip_thinking(text))
    if _is_taken_for_thought(text.strip(), plain):
        raise UnreadableReplyError("a tag of its thinking, such as </think>, follows its score")
    if re.search(_NUMBER_WITHOUT_END, plain):
        raise UnreadableReplyError("it has a number without an end")
    if not text[-1:].isspace() and re.search(_CUT_OFF, plain):
        raise UnreadableReplyError("its JSON has no end, and its number may have none")
    scale, parts = _Scale(low, high), take_apart(plain_characters(plain))
    if any(top != high for top in parts.tops):
        raise _other_scale(scale)
    if parts.is_cut_off:
        raise UnreadableReplyError("its JSON has no end")
    if parts.is_quoted:
        raise UnreadableReplyError("its JSON stands within a sentence")
    return _read_key(parts, scale) if parts.scores else _read_lines(parts, scale)


def _is_taken_for_thought(text: str, plain: str) -> bool:
    """Return whether a score stood before a lone </think>, which the judge may have quoted."""
    if re.match(r"[<\[◁]", text):
        return False
    lines = [line for line in text.split("\n") if line not in plain]
    is_json = re.match(r"(?:```\w*\s*)?\{\s*[\"'“]", text) is not None
    return any(map(_states_score, lines)) or (is_json and text[:8] not in plain)


def read_level(text: str, low: float, high: float) -> float:
    """Return the level that the reply to a question of few levels states, such as 0 or 1.

    Raises UnreadableReplyError as ``read_score``, for what is no whole number, for a line among
    others without JSON, and, where ``high`` is 1, if the reply says the opposite of its level.

    >>> read_level('{"reason": "It names the fee.", "score": 1}', 0, 1)
    1.0
    """
    level = read_score(text, low, high)
    lines, objects = to_lines(text), list(objects_in(strip_thinking(text)))
    if "\n" in lines and not objects:
        raise UnreadableReplyError("its level is neither in JSON nor alone")
    if not level.is_integer():
        raise UnreadableReplyError(f"its score {level:g} is between two levels")
    # With more levels, a rubric's own words may contain "not" (5: "does not contradict ...").
    if high == 1.0:
        _refuse_opposite(level, lines, objects)
    return level


def _refuse_opposite(level: float, lines: str, objects: Iterable[FoundJson]) -> None:
    """Raise UnreadableReplyError if a reply says the opposite of 0 or 1, in words or in JSON."""
    is_met = level == 1.0
    if re.search(_PHRASES["says_not_met" if is_met else "says_met"][0], lines):
        raise UnreadableReplyError(f"it says {level:g}, and the opposite")
    same, opposite = ("yes", "denied") if is_met else ("no", "yes")
    for key, value in (pair for found in objects for pair in found.value.items()):
        said = str(value).strip().lower().replace("_", " ")
        is_verdict = re.search(_PHRASES["key_of_verdict"][0], key.lower().replace("_", " "))
        # What a verdict says has to be the same; another short text may not be its opposite.
        if (is_verdict and not re.fullmatch(_PHRASES[same][0], said)) or (
            len(said) <= _SHORT and re.fullmatch(_PHRASES[opposite][0], said)
        ):
            raise UnreadableReplyError(f"it says {key}: {value}, and a score of {level:g}")


def _read_key(parts: ReplyParts, scale: _Scale) -> float:
    """Return the score that keys state; what stands around the JSON may not state another one."""
    stated = []
    for text in parts.scores:
        found = re.fullmatch(_PHRASES["value"][0], _lines(text, scale))
        if found is None:
            raise UnreadableReplyError(f"its score is {shorten(text)!r}, not one number")
        stated.append(_value(found, scale))
    before, behind = _lines(parts.before, scale), _lines(parts.behind, scale)
    stated += [line.value for line in _numbered(before, scale) if line.is_score or line.is_called]
    told = re.sub(_PHRASES["list_number"][0], "", behind)
    numbers = [*parts.others, *re.findall(_PHRASES["other_number"][0], told)]
    value = _only([*stated, *filter(scale.has, map(float, numbers))])
    _refuse_taken_back(value, behind, scale)
    _refuse_others("concluded", value, f"{before}\n{to_lines(parts.texts)}", scale)
    refuse_more(parts.behind)
    return value


def _read_lines(parts: ReplyParts, scale: _Scale) -> float:
    """Return the score that a line states."""
    lines = _lines(f"{parts.before}\n{parts.behind}", scale)
    found = list(_numbered(lines, scale))
    scores = [line for line in found if line.is_score]
    if not scores:
        if re.search(_PHRASES["declines"][0], lines):
            raise UnreadableReplyError("it declines to judge")
        place = "under a key or in a line of its own"
        raise UnreadableReplyError(f"it states no score from {scale}, {place}")
    first = min(line.end for line in scores)
    counted = (line for line in found if line.is_score or line.is_called or line.end > first)
    value = _only(line.value for line in counted)
    _refuse_taken_back(value, lines[first:], scale)
    return value


def _lines(text: str, scale: _Scale) -> str:
    """Return plain lines without mentions of the scale; raises UnreadableReplyError for another."""
    if scale.low < 0:  # a dash before a digit is a minus; one before a blank may be a bullet
        text = re.sub(r"[-–—]\s+(?=\d)", "?", re.sub(r"[-–—](?=\d)", " -", text))
    lines = to_lines(text)
    for pattern in scale.phrases("other_scale"):
        if any(float(found["top"]) != scale.high for found in re.finditer(pattern, lines)):
            raise _other_scale(scale)
    for name, mark in (("of_all", " points"), ("of_the_scale", " ")):
        for pattern in scale.phrases(name):
            lines = re.sub(pattern, mark, lines)
    return lines.replace("%", " ") if scale.high == 100 else lines


def _numbered(lines: str, scale: _Scale) -> Iterator[_Line]:
    """Yield the lines that are nothing but a number of the scale, and perhaps its name.

    The name may stand in the line before. Lines that begin with a named score and go on in words
    are yielded as ``is_called`` only. Raises UnreadableReplyError for a score that is not on
    the scale.
    """
    rows, end = lines.split("\n"), -1
    for at, row in enumerate(rows):
        end += 1 + len(row)
        found = re.fullmatch(_PHRASES["numbered"][0], row) if len(row) < _LONGEST_LINE else None
        if found is None:
            yield from _begun(row, end, scale)
            continue
        before = rows[at - 1].rstrip(" :=") if at else ""
        is_headed = found["name"] in (None, "box") and _names_the_score(before)
        is_called = is_headed or _names_the_score(found["name"] or "")
        if is_called:
            is_score = _is_at_an_end(at - is_headed, at, rows)
            led_up = rows[at - 1 - is_headed] if at > is_headed else ""
            is_score = is_score and not _announces_others(led_up)
        else:
            is_score = _may_be_alone(found, at, rows)
        is_part = found["out_of"] and not (is_called or is_score)  # Main point: 2/2
        if is_score or (scale.has(_as_number(found)) and not _is_no_score(found) and not is_part):
            yield _Line(_value(found, scale), end, is_score, is_called)


def _announces_others(line: str) -> bool:
    """Return whether a line with a colon announces something else than a score."""
    return line.endswith(":") and not re.search(_PHRASES["announces_score"][0], line)


def _begun(row: str, end: int, scale: _Scale) -> Iterator[_Line]:
    """Yield the named score that a row begins with; words follow."""
    found = re.match(_PHRASES["numbered"][0], row[:_LONGEST_LINE])
    name = found["name"] or "" if found else ""
    is_named = _names_the_score(name) and "level" not in name
    if found and is_named and scale.has(_as_number(found)):
        yield _Line(_as_number(found), end, is_score=False, is_called=True)


def _is_at_an_end(first: int, last: int, rows: list[str]) -> bool:
    """Return whether lines begin a reply, perhaps below a heading, or end it."""
    is_below = first == 1 and re.fullmatch(_PHRASES["heading"][0], rows[0])
    return first == 0 or bool(is_below) or last == len(rows) - 1


def _states_score(line: str) -> bool:
    """Return whether a line is nothing but a named score, without JSON or tags."""
    is_plain = not re.search(r"[<{\[]", line)
    found = re.fullmatch(_PHRASES["numbered"][0], to_lines(line[:_LONGEST_LINE]))
    return is_plain and found is not None and _names_the_score(found["name"] or "")


def _names_the_score(name: str) -> bool:
    return len(name) < _LONGEST_LINE and bool(re.fullmatch(_PHRASES["score_of_answer"][0], name))


def _may_be_alone(found: re.Match[str], at: int, rows: list[str]) -> bool:
    """Return whether a number without a name may be the score: as the first or the last line.

    "2." may be of a list, "[2]" of a citation, a box at the beginning of the answer, and the last
    line may end a sentence: The number of moons is / 3.
    """
    if found["name"] not in (None, "box"):
        return False
    if len(rows) > 1 and re.search(r"[\[\](){}]|[.:、]$", found[0].strip()):
        return False
    may_be_last = at == len(rows) - 1 and (not at or re.search(_PHRASES["ends"][0], rows[at - 1]))
    return bool(may_be_last) or (at == 0 and found["name"] is None)


def _is_no_score(found: re.Match[str]) -> bool:
    """Return whether a number is no score: a box, one at the end of a sentence, a confidence."""
    if found["name"] in (None, "box"):
        return found["name"] == "box"
    is_named = re.search("[:=]", found["between"]) is not None
    return not is_named or re.search(_PHRASES["confidence"][0], found["name"]) is not None


def _value(found: re.Match[str], scale: _Scale) -> float:
    """Return the number that was found; raises UnreadableReplyError if it is not on the scale."""
    value = _as_number(found)
    if found["out_of"] and float(found["out_of"]) != scale.high:
        stated = f"{value:g}/{found['out_of']}"
        raise UnreadableReplyError(f"its score {stated} is on another scale than {scale}")
    if not scale.has(value):
        raise UnreadableReplyError(f"its score {value:g} is outside of {scale}")
    return value


def _as_number(found: re.Match[str]) -> float:
    return float(found["value"].replace(",", ".")) + 0.0  # not -0.0


def _refuse_taken_back(value: float, behind: str, scale: _Scale) -> None:
    """Raise UnreadableReplyError if what stands behind a score takes it back."""
    for name in ("corrected", "concluded"):
        _refuse_others(name, value, behind, scale)
    is_start = value == scale.high and re.search(_PHRASES["deducted"][0], behind)
    if is_start or re.search(_PHRASES["takes_back"][0], behind):
        raise UnreadableReplyError(f"it says {value:g} and takes it back")


def _refuse_others(name: str, value: float, text: str, scale: _Scale) -> None:
    """Raise UnreadableReplyError if phrases of a ``name`` give another score."""
    for pattern in _PHRASES[name]:
        for found in re.finditer(pattern, text):
            if scale.has(other := float(found["value"])) and other != value:
                raise UnreadableReplyError(f"it says {value:g}, and {other:g} in its place")


def _only(values: Iterable[float]) -> float:
    """Return the one value; raises UnreadableReplyError if several differ."""
    if len(different := set(values)) > 1:
        listed = ", ".join(f"{value:g}" for value in sorted(different)[:_LISTED])
        raise UnreadableReplyError(f"it states several scores: {listed}")
    return different.pop()


def _other_scale(scale: _Scale) -> UnreadableReplyError:
    return UnreadableReplyError(f"it names another scale than {scale}")


def _spelled(number: float) -> str:
    """Return a pattern for a number of the scale, with or without decimals."""
    whole = f"{number:.0f}"
    return rf"{whole}(?:\.0+)?" if number == float(whole) else re.escape(f"{number:g}")
