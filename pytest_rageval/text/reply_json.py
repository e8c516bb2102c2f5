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
_NAMED: Final = 3
"""The last tier of keys that state a score by their name; what else has a number is behind it."""
_OTHER: Final = 4


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value within an object, as a line of text; ``tier`` says how well its key names a score."""

    key: str
    text: str
    tier: int

    @property
    def line(self) -> str:
        """The value as a line of a text."""
        # Whatever the words of its key: a level is a score, too.
        return f"score: {self.text}" if self.tier == _NAMED else f"{self.key}: {self.text}"


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
        label = " ".join(keys)
        yield Leaf(label, text, _tier_of(label, keys[-1] if keys else "", text))


def _tier_of(label: str, key: str, text: str) -> int:
    """Return 0 (final score), 1 (score), 2 (a score of something), 3 (level), 4, or 5: no score."""
    is_template = not any(map(str.isalnum, text))
    is_aside = any(re.search(_PHRASES[f"key_of_{name}"][0], key) for name in ("reason", "scale"))
    if is_template or is_aside:
        return _OTHER + 1
    if re.search(_PHRASES["key_of_score"][0], label):
        if re.search(_PHRASES["final"][0], label) or re.search(_PHRASES["overall"][0], label):
            return 0
        return 1 if re.fullmatch(_PHRASES["key_of_score"][0], key) else 2
    if re.fullmatch(_PHRASES["key_of_level"][0], key):
        return _NAMED
    is_number = len(text) <= _SHORT and re.match(r"[\W_]*\d|null$|zero|one\b|two\b|three", text)
    return _OTHER if is_number else _OTHER + 1


def _texts_after(leaves: list[Leaf]) -> Iterator[str]:
    at = max((number for number, leaf in enumerate(leaves) if leaf.tier <= _NAMED), default=-1)
    yield from (leaf.text for leaf in leaves[at + 1 :] if leaf.tier > _OTHER)


def _tops(each: list[list[Leaf]]) -> Iterator[float]:
    for leaves in each:
        scales = [leaf for leaf in leaves if re.fullmatch(_PHRASES["key_of_top"][0], leaf.key)]
        if any(leaf.tier <= _OTHER for leaf in leaves):
            numbers = (re.findall(r"\d{1,9}(?:\.\d{1,9})?", leaf.text) for leaf in scales)
            yield from (float(found[-1]) for found in numbers if found)


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
