"""Reads a judge's reply: its score, its verdict, its reason, its JSON.

Language models do not always reply in the form that was asked for. These functions read a reply as
a person would. For an ambiguous one they raise UnreadableReplyError, a ValueError that says what
was found.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_rageval.text.reply_score import read_score
from pytest_rageval.text.reply_text import UnreadableReplyError, objects_in, strip_thinking
from pytest_rageval.text.reply_verdict import read_verdict

__all__ = [
    "UnreadableReplyError",
    "find_objects",
    "read_reason",
    "read_score",
    "read_verdict",
    "strip_thinking",
]


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the complete JSON objects of a reply, those in fences before others, each once.

    Almost-JSON is accepted: single quotes, trailing commas, keys without quotes, Python's
    constants. NaN becomes None. Objects inside another one are part of it. One that is nested too
    deep is an UnreadableReplyError.

    >>> find_objects("As {it} says: {'verdict': 1,}")
    [{'verdict': 1}]
    """
    text = strip_thinking(text)
    fenced = re.findall(r"(?s)```[a-zA-Z]*\n?(.*?)```", text)
    objects: list[dict[str, Any]] = []
    for part in (*fenced, text):
        for found in objects_in(part):
            if found.value not in objects:
                objects.append(found.value)
    return objects


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
            if isinstance(value, str) and re.search(_REASON, str(name).lower()):
                return value.strip()
        parts.append(plain[at : found.start])
        at = found.end
    rest = "".join([*parts, plain[at:]]).replace("\\n", "\n")
    rest = re.sub(_FENCE, "", rest)
    return re.sub(_REASON_LABEL, "", re.sub(_SCORE_LINE, "", rest).strip()).strip()


_REASON = "reason|feedback|explanation|rationale|justification|comment|理由|原因|解释|反馈"
_REASON_LABEL = rf"(?i)\A[^\w\n]*(?:{_REASON})[\w ]{{0,10}}[^\w\n:：]*[:：][^\w\n]*"
_FENCE = r"(?m)^```\w*[ \t]*$"
_MARKS = r"(?:_|[^\w\n])*"
_SCORE_LINE = (
    rf"(?im)^{_MARKS}(?:(?:final|overall|total|score|rating|grade|level"
    rf"|最终|总分|得分|评分|分数|打分){_MARKS})*"
    r"\d{1,9}(?:[.,．]\d{1,9})?(?:e\d)?\s?(?:(?:/|out of)\s?\d{1,9}(?:\.\d{1,9})?)?\s?"
    rf"(?:points?|分)?{_MARKS}$"
)
