"""Takes a judge's reply apart: what its JSON says under the keys of a score, and the prose around.

Where a key states the score, the value of that key alone does: what a reason says of scores is
about the answer, or stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_text import BEGUN, FoundJson, leaves_of, objects_in

_PHRASES: Final = phrases_in(__package__, "scores.toml")
_SHORT: Final = 40
_NAMED: Final = 4
"""The last tier of keys that state a score by their name; what else has a number is behind it."""
_OTHER: Final = 5


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value within an object, as a line of text; ``tier`` says how well its key names a score."""

    key: str
    text: str
    tier: int

    @property
    def line(self) -> str:
        """The value as a line of a text."""
        # Whatever the words of its key: a level is a score, too, and of two at the top neither
        # counts more than the other: {"score": 3, "total_score": 5} may say what is the best.
        is_score = self.tier in (0, _NAMED)
        return f"score: {self.text}" if is_score else f"{self.key}: {self.text}"


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """A reply: ``stated`` are the lines of its JSON that may state the score.

    ``is_named``: their keys say that it is one. ``before`` and ``behind`` are the prose around, and
    ``after`` the texts in the last object that follow on the score. ``tops`` are the ends of the
    scales that objects name.
    """

    stated: str
    is_named: bool
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
    leaves = _best(each)
    is_named = bool(leaves) and leaves[0].tier <= _NAMED
    return ReplyParts(
        stated="\n".join(leaf.line for leaf in leaves),
        is_named=is_named,
        before="\n".join(_prose(text, objects)),
        behind=text[objects[-1].end :] if objects else "",
        after="\n".join(_texts_after(each[-1])) if is_named else "",
        tops=tuple(_tops(each)),
        is_cut_off=begun is not None and not (is_named and objects[-1].end == len(text)),
    )


def _prose(text: str, objects: list[FoundJson]) -> Iterator[str]:
    """Yield what stands before the first object, and between them."""
    at = 0
    for found in objects:
        yield text[at : found.start]
        at = found.end
    if not objects:
        yield text


def _best(each: list[list[Leaf]]) -> list[Leaf]:
    """Return the leaves of the objects whose keys name the score best, of each object its own."""
    best = [[leaf for leaf in leaves if leaf.tier == min(map(_tier, leaves))] for leaves in each]
    found = [leaf for leaves in best for leaf in leaves]
    if any(leaf.tier <= _NAMED for leaf in found):
        return [leaf for leaf in found if leaf.tier <= _NAMED]
    return [leaf for leaf in found if leaf.tier == _OTHER]


def _tier(leaf: Leaf) -> int:
    return leaf.tier


def _leaves(value: Any) -> Iterator[Leaf]:
    for path, text in leaves_of(value):
        keys = [" ".join(re.sub(r"[_-]+", " ", key).lower().split()) for key in path]
        yield Leaf(" ".join(keys), text, _tier_of(keys, text))


def _tier_of(keys: list[str], text: str) -> int:
    """Return how well the keys that lead to a value say that it is the score.

    0 at the top (score, final score, overall, level), 1 a final score deeper down, 2 a
    score there, 3 a score of something, 4 a level, 5 another number, 6 no score.
    """
    label, key, is_top = " ".join(keys), keys[-1] if keys else "", len(keys) == 1
    is_template = bool(text) and not any(map(str.isalnum, text))
    if is_template or not text or re.search(_PHRASES["key_of_scale"][0], label):
        return _OTHER + 1
    if re.search(_PHRASES["key_of_score"][0], label):
        return _tier_of_score(label, key, is_top=is_top)
    if re.fullmatch(_PHRASES["key_of_level"][0], key):
        return 0 if is_top else _NAMED
    if re.search(_PHRASES["key_of_reason"][0], key):
        return _OTHER + 1
    is_number = len(text) <= _SHORT and re.match(r"[\W_]*\d|null$|zero|one\b|two\b|three", text)
    if is_number and is_top and re.fullmatch(_PHRASES["key_of_sum"][0], key):
        return 0
    return _OTHER if is_number else _OTHER + 1


def _tier_of_score(label: str, key: str, *, is_top: bool) -> int:
    is_plain = re.fullmatch(_PHRASES["key_of_score"][0], key)
    if any(re.search(_PHRASES[name][0], label) for name in ("final", "overall", "key_of_revised")):
        return 0 if is_top else 1
    if is_plain:
        return 0 if is_top else 2
    return 3


def _texts_after(leaves: list[Leaf]) -> Iterator[str]:
    at = max((number for number, leaf in enumerate(leaves) if leaf.tier <= _NAMED), default=-1)
    yield from (leaf.text for leaf in leaves[at + 1 :] if leaf.tier > _OTHER)


def _tops(each: list[list[Leaf]]) -> Iterator[float]:
    for leaves in each:
        if not any(leaf.tier <= _OTHER for leaf in leaves):
            continue
        ends: dict[str, float] = {}  # a scale may be a list of its ends
        for leaf in leaves:
            if re.fullmatch(_PHRASES["key_of_top"][0], leaf.key):
                numbers = map(float, re.findall(r"\d{1,9}(?:\.\d{1,9})?", leaf.text))
                ends[leaf.key] = max(numbers, default=0.0)
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
