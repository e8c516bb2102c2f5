"""Reads a judge's reply: its score, its reason, its JSON.

Language models do not always reply in the form that was asked for. These functions read a reply as
a person would. For an ambiguous one they raise UnreadableReplyError, a ValueError that says what
was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any

from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_json import refuse_more
from pytest_rageval.text.reply_score import read_level, read_score
from pytest_rageval.text.reply_text import (
    BEGUN,
    UnreadableReplyError,
    objects_in,
    strip_thinking,
    to_lines,
)

__all__ = [
    "UnreadableReplyError",
    "find_objects",
    "is_cut_off",
    "read_level",
    "read_reason",
    "read_score",
    "refuse_additions",
    "refuse_other_level",
    "strip_thinking",
]


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the complete JSON objects of a reply in their order, each once: where it stands last.

    Almost-JSON is accepted: single quotes, trailing commas, keys without quotes, Python's
    constants. NaN becomes None. Objects inside another one are part of it. One that is nested too
    deep is an UnreadableReplyError.

    >>> find_objects("As {it} says: {'verdict': 1,}")
    [{'verdict': 1}]
    """
    text = strip_thinking(text)
    outer = list(objects_in(text))
    placed = [(found.start, found.value) for found in outer]
    inside = {at for found in outer for at in range(found.start, found.end)}
    # A brace before a fence may hide the objects in the fence. A fence within an object is a quote.
    for fence in re.finditer(r"(?s)```[a-zA-Z]*\n?(.*?)```", text):
        within = ((fence.start(1) + found.start, found.value) for found in objects_in(fence[1]))
        placed += [(at, value) for at, value in within if at not in inside]
    objects: list[dict[str, Any]] = []
    for _, value in sorted(placed, key=itemgetter(0), reverse=True):
        if value not in objects:
            objects.append(value)
    return objects[::-1]


def refuse_additions(text: str) -> None:
    """Raise UnreadableReplyError where words stand behind the JSON that may take it back.

    Between objects, too, a correction may be announced.
    """
    plain = strip_thinking(text)
    objects = list(objects_in(plain))
    between = [plain[one.end : then.start] for one, then in pairwise(objects)]
    if any(re.search(_PHRASES["replaces"][0], to_lines(words)) for words in between):
        raise UnreadableReplyError("it corrects itself between its JSON")
    if objects:
        refuse_more(plain[objects[-1].end :])


def is_cut_off(text: str) -> bool:
    """Return whether a reply ends in JSON without an end, which may correct what is before it.

    >>> is_cut_off('{"score": 1} No: {"score": 0, "rea'), is_cut_off('{"score": 1} As {I} say')
    (True, False)
    """
    plain = strip_thinking(text)
    rest, at = "", 0  # outside of whole objects; one without an end may hold some
    for found in objects_in(plain):
        rest, at = rest + plain[at : found.start], found.end
    is_open = rest.count("{") > rest.count("}") and re.search(BEGUN, rest)
    return bool(is_open or re.search(BEGUN, plain[at:]))


def read_reason(text: str) -> str:
    r"""Return what a reply says besides its score, "" if nothing.

    In JSON that is the first reason with words, however deep; otherwise the text without lines that
    only state the score.

    >>> read_reason("4.0\n很好"), read_reason('{"reason": "short", "score": 4}')
    ('很好', 'short')
    """
    plain = strip_thinking(text)
    parts, at = [], 0
    for found in objects_in(plain):
        if reason := next(_reasons(found.value), ""):
            return reason
        parts.append(plain[at : found.start])
        at = found.end
    rest = "".join([*parts, plain[at:]])
    rest = rest if "\n" in rest.strip() else rest.replace("\\n", "\n")
    rest = re.sub(_PHRASES["score_line"][0], "", re.sub(_FENCE, "", rest))
    return re.sub(_PHRASES["reason_label"][0], "", rest.strip()).strip()


def _reasons(value: Any) -> Iterator[str]:
    """Yield what stands under each key of a reason; several texts are one with lines."""
    parts = dict(enumerate(value)) if isinstance(value, list) else value
    for key, part in parts.items() if isinstance(parts, Mapping) else ():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(key)).lower()
        if re.search(_PHRASES["reason"][0], name):
            texts = part if isinstance(part, list) else [part]
            said = "\n".join(text.strip() for text in texts if isinstance(text, str)).strip()
            if any(map(str.isalpha, said)):  # else it is a score of the reason
                yield said
        yield from _reasons(part)


def refuse_other_level(reason: str, score: float, levels: str) -> None:
    """Raise UnreadableReplyError where the reason is the text of a level other than ``score``.

    Only letters and digits are compared, in any case. ``levels`` are lines such as
    "0: It does not answer the question."
    """
    said = _letters(reason)
    lines = [line.replace("：", ":").partition(":") for line in levels.splitlines()]
    # Levels that differ in signs alone, as "< 5 %" and "> 5 %", cannot be told apart.
    alike = [number for number, _, text in lines if said and said == _letters(text)]
    numbers = [number for number in map(_as_float, alike) if number is not None]
    if numbers and score not in numbers:
        raise UnreadableReplyError(f"its reason is the text of level {numbers[0]:g}, not {score:g}")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _as_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_PHRASES = phrases_in(__package__, "scores.toml")
_FENCE = r"(?m)^```\w*[ \t]*$"
