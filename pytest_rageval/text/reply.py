"""Reads a judge's reply: its score, its verdict, its reason, its JSON.

Language models do not always reply in the form that was asked for. These functions read a reply as
a person would. For an ambiguous one they raise UnreadableReplyError, a ValueError that says what
was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from operator import itemgetter
from typing import Any

from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_score import read_level, read_score
from pytest_rageval.text.reply_text import (
    BEGUN,
    DECLINES,
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
    "read_verdict",
    "stated",
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
    placed = [(found.start, found.value) for found in objects_in(text)]
    # A brace before a fence may keep what is in it from being seen.
    for fence in re.finditer(r"(?s)```[a-zA-Z]*\n?(.*?)```", text):
        placed += [(fence.start(1) + found.start, found.value) for found in objects_in(fence[1])]
    objects: list[dict[str, Any]] = []
    for _, value in sorted(placed, key=itemgetter(0), reverse=True):
        if value not in objects:
            objects.append(value)
    return objects[::-1]


def is_cut_off(text: str) -> bool:
    """Return whether a reply ends in JSON without an end: what it corrects is not known.

    >>> is_cut_off('{"score": 1} No: {"score": 0, "rea'), is_cut_off('{"score": 1} As {I} say')
    (True, False)
    """
    plain = strip_thinking(text)
    ends = [found.end for found in objects_in(plain)]
    return re.search(BEGUN, plain[max(ends, default=0) :]) is not None


def stated(name: str, text: str) -> list[Any]:
    """Return what the objects of a reply say under a name, leaving out null and "...".

    Raises UnreadableReplyError for a reply whose last object has no end.
    """
    if is_cut_off(text):
        raise UnreadableReplyError("its JSON has no end")
    values = (found.get(name) for found in find_objects(text))
    return [value for value in values if value not in (None, "...", "…")]


def read_reason(text: str) -> str:
    r"""Return what a reply says besides its score, "" if nothing.

    In JSON that is the reason; otherwise the text without lines that only state the score.

    >>> read_reason("4.0\n很好"), read_reason('{"reason": "short", "score": 4}')
    ('很好', 'short')
    """
    plain = strip_thinking(text)
    parts, at = [], 0
    for found in objects_in(plain):
        for name, value in found.value.items():
            if isinstance(value, str) and re.search(_PHRASES["REASON"][0], str(name).lower()):
                return value.strip()
        parts.append(plain[at : found.start])
        at = found.end
    rest = "".join([*parts, plain[at:]]).replace("\\n", "\n")
    rest = re.sub(_PHRASES["score_line"][0], "", re.sub(_FENCE, "", rest))
    return re.sub(_PHRASES["reason_label"][0], "", rest.strip()).strip()


_PHRASES = phrases_in(__package__, "verdicts.toml")
_FENCE = r"(?m)^```\w*[ \t]*$"


def read_verdict(text: str) -> bool:
    """Return whether the reply ``text`` says yes: correct, right, true, 是, 正确, {"verdict": 1}.

    ``Final verdict: no`` counts before any other label and a line with ``CORRECT`` alone, these
    before the first word of the reply, and that before a sentence like ``the answer is not
    correct``. "Partially correct" means correct, "not entirely correct" means not correct. Raises
    UnreadableReplyError without a verdict, or with both.

    >>> read_verdict("No, the candidate is not correct."), read_verdict("答案是正确的")
    (False, True)
    """
    lines = to_lines(text)
    labelled = list(_matches("labelled", lines))
    final = [found for found in labelled if re.search(r"\bfinal|最终|最后", found[0])]
    alone = [*labelled, *_matches("alone", lines)]
    for stated in (final, alone, _matches("first_word", lines)):
        if verdicts := set(map(_is_yes, stated)):
            return _only(verdicts)
    if re.search(DECLINES, lines):
        raise UnreadableReplyError("it declines to judge")
    if verdicts := set(_described(lines)):
        return _only(verdicts)
    raise UnreadableReplyError("it states no verdict, neither yes nor no")


def _only(verdicts: set[bool]) -> bool:
    if len(verdicts) > 1:
        raise UnreadableReplyError("it states both verdicts, yes and no")
    return next(iter(verdicts))


def _is_yes(found: re.Match[str]) -> bool:
    parts = found.groupdict()
    return (parts.get("yes") is not None) != (parts.get("negated") is not None)


def _matches(name: str, lines: str) -> Iterator[re.Match[str]]:
    for pattern in _compiled(name):
        yield from pattern.finditer(lines)


def _described(lines: str) -> Iterable[bool]:
    """Yield the verdicts of sentences about the answer that are not hypothetical."""
    for found in _matches("sentences", lines):
        clause = (
            re.split(r"[\n,.;!?。]", lines[max(0, found.start() - 200) : found.start()])[-1]
            + found[0]
        )
        if not re.search(r"\b(?:if|whether|unless|had|should)\b|是否|如果|若", clause):
            yield _is_yes(found)


@cache
def _compiled(name: str) -> list[re.Pattern[str]]:
    return list(map(re.compile, _PHRASES[name]))
