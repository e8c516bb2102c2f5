"""Takes a judge's reply apart: what its JSON says under the keys of a score, and the prose around.

Where a key states the score, only its value is read as the score: what a reason says of scores is
about the answer, or quoted from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_text import (
    BEGUN,
    FoundJson,
    UnreadableReplyError,
    leaves_of,
    objects_in,
)

_PHRASES: Final = phrases_in(__package__, "scores.toml")


class _Rank(IntEnum):
    """How well a key says that its value is the score, the best first."""

    PLAIN = 0  # score, final score, overall, level, at the top of an object
    SCORE = 1  # the same, deeper down
    NUMBER = 2  # another number
    OTHER = 3


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A value within an object, as a line of text, and the keys that lead to it."""

    keys: str
    text: str
    rank: _Rank


@dataclass(frozen=True, slots=True)
class ReplyParts:
    """A reply: ``scores`` are the values in its JSON whose keys say best that they are the score.

    ``others`` are the numbers behind the first of them; those before it may be scores of parts.
    ``before`` and ``behind`` are the prose around the objects, ``texts`` the other values in them;
    ``tops`` are the upper ends of scales that they name. ``is_cut_off``: it ends in an object
    without an end, and this cannot be read, or no object has a score. ``is_quoted``: an object with
    a score stands within a sentence, or is announced as the answer's.
    """

    scores: tuple[str, ...]
    others: tuple[str, ...]
    before: str
    behind: str
    texts: str
    tops: tuple[float, ...]
    is_cut_off: bool
    is_quoted: bool


def take_apart(text: str) -> ReplyParts:
    """Return the parts of a reply, whose thoughts are stripped and whose characters are plain."""
    if re.match(_PAIR, text):
        text = f"{{{text}}}"  # its braces are lost
    objects = list(objects_in(text))
    end = objects[-1].end if objects else 0
    begun = re.search(BEGUN, text[end:])
    if begun:
        objects += _cut_object(text, end + begun.start())
    each = [list(_leaves(found.value)) for found in objects]
    leaves = [leaf for group in each for leaf in group]
    rank = min((leaf.rank for leaf in leaves), default=_Rank.OTHER)
    scores = [at for at, leaf in enumerate(leaves) if leaf.rank == rank <= _Rank.SCORE]
    after = leaves[scores[0] + 1 :] if scores else []
    with_scores = [
        found
        for found, group in zip(objects, each, strict=True)
        if any(leaf.rank == rank <= _Rank.SCORE for leaf in group)
    ]
    return ReplyParts(
        scores=tuple(leaves[at].text for at in scores),
        others=tuple(
            leaf.text.removeprefix("level ") for leaf in after if rank < leaf.rank < _Rank.OTHER
        ),
        before="\n".join(_before(text, objects)),
        behind=text[objects[-1].end :] if objects else "",
        texts="\n".join(leaf.text for leaf in leaves if leaf.rank == _Rank.OTHER),
        tops=tuple(_tops(each)),
        is_cut_off=begun is not None and not (bool(scores) and objects[-1].end == len(text)),
        is_quoted=any(_is_quoted(found, text) for found in with_scores),
    )


def refuse_more(behind: str) -> None:
    """Raise UnreadableReplyError for words behind the JSON of a reply that may take it back.

    Explanations and courtesies do not.
    """
    words = " ".join(re.sub(r"<[^<>\n]{1,40}>", " ", behind).lower().split())
    if not re.match(_PHRASES["may_follow"][0], words):
        raise UnreadableReplyError(f"it goes on behind its JSON: {shorten(words, 40)!r}")


def _is_quoted(found: FoundJson, text: str) -> bool:
    """Return whether an object stands within a sentence, or is announced as the answer's."""
    led_up = text[: found.start].rpartition("\n")[2]
    return bool(
        re.match(_WORDS_FOLLOW, text[found.end :])
        or re.search(
            _PHRASES["announces_others"][0], text[max(found.start - 200, 0) : found.start].lower()
        )
        or (re.search(r"\w[\s\"'`“]*\Z", led_up) and not re.search(_NAMES_JSON, led_up))
    )


def _before(text: str, objects: list[FoundJson]) -> Iterator[str]:
    """Yield what stands before each object; all of a text without one."""
    at = 0
    for found in objects:
        yield text[at : found.start]
        at = found.end
    if not objects:
        yield text


def _leaves(value: Any) -> Iterator[_Leaf]:
    for path, text in leaves_of(value):
        keys = [" ".join(re.sub(r"[_-]+", " ", key).lower().split()) for key in path]
        plain = re.sub(r"^(?:Level|等级) *(?=\d+$)", "level ", text)
        yield _Leaf(" ".join(keys), plain, _rank(keys, plain))


def _rank(keys: list[str], text: str) -> _Rank:
    path, key, is_top = " ".join(keys), keys[-1] if keys else "", len(keys) == 1
    is_template = bool(text) and not any(map(str.isalnum, text))
    is_of_others = re.search(_PHRASES["key_of_others"][0], " ".join(keys[:-1])) is not None
    if is_template or is_of_others or not text or re.search(_PHRASES["key_of_scale"][0], path):
        return _Rank.OTHER
    is_number = re.fullmatch(r"(?:level )?[-+]?\d+(?:\.\d+)?", text) is not None
    is_score = re.search(_PHRASES["key_of_score"][0], key) is not None
    if re.fullmatch(_PHRASES["key_of_plain"][0], key) and (is_score or is_number):
        return _Rank.PLAIN if is_top else _Rank.SCORE
    return _Rank.NUMBER if is_number else _Rank.OTHER


def _tops(each: list[list[_Leaf]]) -> Iterator[float]:
    """Yield the upper ends of scales that objects with a number name."""
    for leaves in each:
        if all(leaf.rank == _Rank.OTHER for leaf in leaves):
            continue
        ends: dict[str, float] = {}  # a scale may be a list of its ends
        for leaf in leaves:
            if re.fullmatch(_PHRASES["key_of_top"][0], leaf.keys):
                numbers = map(float, re.findall(r"\d{1,9}(?:\.\d{1,9})?", leaf.text))
                ends[leaf.keys] = max(numbers, default=0.0)
        yield from filter(None, ends.values())
        number = r"(?:level )?[-+]?\d+(?:\.\d+)?"
        told = [leaf for leaf in leaves if re.fullmatch(number, leaf.text)]
        is_pair = len(told) == 2 and told[0].text != told[1].text
        if is_pair and any(leaf.rank == _Rank.PLAIN for leaf in told):
            sums = (one for one in told if re.fullmatch(_PHRASES["key_of_sum"][0], one.keys))
            # Beside a sum of parts these would stand.
            yield from (10.0**n for leaf in sums for n in (1, 2) if float(leaf.text) == 10.0**n)


_WORDS_FOLLOW = r"(?:<[^<>\n]{1,40}>|[^\w\n{\[<])*\w"
"""A word in the line of an object, behind marks such as ``</s>``."""

_NAMES_JSON = r"(?i)(?:json\w*|output|result|verdict|evaluation|assessment|judge?ment)(?: is)?\W*\Z"

_QUOTE = r"[\"'“”]"
_PAIR = (
    rf"\s*{_QUOTE}(?P<key>[^\"'“”\n]{{1,60}}){_QUOTE}\s*[:：]\s*"
    r"(?:\"(?P<text>(?:[^\"\\]|\\.)*)\"|(?P<number>[-+]?\d[\d.]*)|(?P<word>true|false|null))\s*"
    r"(?:,|\Z)"
)
_CUT_TEXT = rf"\s*(?:{_QUOTE}[^\"'“”\n{{}}]{{1,60}}(?:{_QUOTE}\s*[:：]\s*\"[^{{}}\"]*)?)?[\s`]*"


def _cut_object(text: str, start: int) -> list[FoundJson]:
    """Return what an object without an end begins with: its complete pairs; [] if there are none.

    [] also if the cut-off pair may hold a number.
    """
    pairs: dict[str, Any] = {}
    at, pattern = start + 1, re.compile(_PAIR)
    while found := pattern.match(text, at):
        words = found["text"] if found["text"] is not None else found["number"] or found["word"]
        pairs[found["key"]] = words
        at = found.end()
    is_cut = re.fullmatch(_CUT_TEXT, text[at:]) is not None  # in a key or a text
    return [FoundJson(pairs, start, len(text))] if pairs and is_cut else []
