"""Takes a judge's reply apart: what its JSON says under the keys of a score, and the prose around.

Where a key states the score, the value of that key alone does: what a reason says of scores is
about the answer, or stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_text import BEGUN, FoundJson, leaves_of, objects_in

_PHRASES: Final = phrases_in(__package__, "scores.toml")
_SHORT: Final = 40


class _Rank(IntEnum):
    """How well a key says that its value is the score, the best first."""

    PLAIN = 0  # score, final score, overall, level, at the top of an object
    SCORE = 1  # a score of something, or deeper down
    NUMBER = 2  # another number: the score if it is the only one, and of a criterion
    OTHER = 3


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value within an object, as a line of text, and the keys that lead to it."""

    keys: str
    text: str
    rank: _Rank


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """A reply: ``scores`` are the texts of the values in its JSON that state the score.

    ``before`` and ``behind`` are the prose around, and ``after`` the texts in the last object that
    follow on the score. ``tops`` are the ends of the scales that objects name.
    """

    scores: tuple[str, ...]
    before: str
    behind: str
    after: str
    tops: tuple[float, ...]
    is_cut_off: bool


def take_apart(text: str) -> ReplyParts:
    """Return the parts of a reply without thoughts, in plain characters."""
    objects = list(objects_in(text))
    end = objects[-1].end if objects else 0
    begun = re.search(BEGUN, text[end:])
    if begun:
        objects += _cut_object(text, end + begun.start())
    each = [list(_leaves(found.value)) for found in objects]
    scores = _best(each)
    before = [*_before(text, objects)]
    return ReplyParts(
        scores=tuple(leaf.text for leaf in scores),
        before="\n".join(before),
        behind=text[objects[-1].end :] if objects else "",
        after="\n".join(_texts_after(each[-1], scores)) if scores else "",
        tops=tuple(_tops(each)),
        is_cut_off=begun is not None and not (bool(scores) and objects[-1].end == len(text)),
    )


def _before(text: str, objects: list[FoundJson]) -> Iterator[str]:
    """Yield what stands before each object; all of a text without one."""
    at = 0
    for found in objects:
        yield text[at : found.start]
        at = found.end
    if not objects:
        yield text


def _best(each: list[list[_Leaf]]) -> list[_Leaf]:
    """Return the leaves whose keys name the score best, of each object its own."""
    best = [
        [leaf for leaf in leaves if leaf.rank == min(one.rank for one in leaves)] for leaves in each
    ]
    found = [leaf for leaves in best for leaf in leaves]
    named = [leaf for leaf in found if leaf.rank <= _Rank.SCORE]
    numbers = [leaf for leaf in found if leaf.rank == _Rank.NUMBER]
    if not named and all(re.search(_PHRASES["criterion"][0], leaf.keys) for leaf in numbers):
        return numbers
    return named


def _leaves(value: Any) -> Iterator[_Leaf]:
    for path, text in leaves_of(value):
        keys = [" ".join(re.sub(r"[_-]+", " ", key).lower().split()) for key in path]
        yield _Leaf(" ".join(keys), text, _rank(keys, text))


def _rank(keys: list[str], text: str) -> _Rank:
    path, key, is_top = " ".join(keys), keys[-1] if keys else "", len(keys) == 1
    is_template = bool(text) and not any(map(str.isalnum, text))
    if is_template or not text or re.search(_PHRASES["key_of_scale"][0], path):
        return _Rank.OTHER
    if re.search(_PHRASES["key_of_score"][0], path):
        is_plain = re.fullmatch(_PHRASES["key_of_plain"][0], key)
        return _Rank.PLAIN if is_plain and is_top else _Rank.SCORE
    is_number = len(text) <= _SHORT and re.match(r"[\W_]*\d|null$", text)
    if is_number and is_top and re.fullmatch(_PHRASES["key_of_plain"][0], key):
        return _Rank.PLAIN
    is_reason = re.search(_PHRASES["key_of_reason"][0], key)
    return _Rank.NUMBER if is_number and not is_reason else _Rank.OTHER


def _texts_after(leaves: list[_Leaf], scores: list[_Leaf]) -> Iterator[str]:
    at = max((number for number, leaf in enumerate(leaves) if leaf in scores), default=-1)
    yield from (leaf.text for leaf in leaves[at + 1 :] if leaf.rank == _Rank.OTHER)


def _tops(each: list[list[_Leaf]]) -> Iterator[float]:
    for leaves in each:
        if all(leaf.rank == _Rank.OTHER for leaf in leaves):
            continue
        ends: dict[str, float] = {}  # a scale may be a list of its ends
        for leaf in leaves:
            if re.fullmatch(_PHRASES["key_of_top"][0], leaf.keys):
                numbers = map(float, re.findall(r"\d{1,9}(?:\.\d{1,9})?", leaf.text))
                ends[leaf.keys] = max(numbers, default=0.0)
        yield from filter(None, ends.values())


_QUOTE = r"[\"'“”]"
_PAIR = (
    rf"\s*{_QUOTE}(?P<key>[^\"'“”\n]{{1,60}}){_QUOTE}\s*[:：]\s*"
    r"(?:\"(?P<text>(?:[^\"\\]|\\.)*)\"|(?P<number>[-+]?\d[\d.]*)|(?P<word>true|false|null))\s*"
    r"(?:,|\Z)"
)


def _cut_object(text: str, start: int) -> list[FoundJson]:
    """Return an object without an end: of the complete pairs at its beginning, if any."""
    pairs: dict[str, Any] = {}
    at, pattern = start + 1, re.compile(_PAIR)
    while found := pattern.match(text, at):
        words = found["text"] if found["text"] is not None else found["number"] or found["word"]
        pairs[found["key"]] = words
        at = found.end()
    return [FoundJson(pairs, start, len(text))] if pairs else []
