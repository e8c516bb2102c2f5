"""What a judge's reply says: its score, its verdict, its reason, its JSON.

Language models reply as they please, whatever they were told. These functions read a reply as a
person would, and refuse what a person would ask back about; then they raise UnreadableReplyError,
a ValueError whose text says what was found.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_rageval.text.loose_json import iter_json
from pytest_rageval.text.reply_score import read_score
from pytest_rageval.text.reply_text import UnreadableReplyError, strip_thinking
from pytest_rageval.text.reply_verdict import read_verdict

__all__ = [
    "UnreadableReplyError",
    "find_json",
    "read_reason",
    "read_score",
    "read_verdict",
    "strip_thinking",
]


def find_json(text: str) -> Any:
    """Return the first complete JSON object or array of a reply, one in a fence before others.

    Almost-JSON is read, too: single quotes, trailing commas, keys without quotes, Python's
    constants. An array of numbers is taken for a citation, ``[1]``, if there is anything else.
    NaN becomes None. Raises UnreadableReplyError when there is none.

    >>> find_json("As [1] says: {'verdict': 1,}")
    {'verdict': 1}
    """
    text = strip_thinking(text)
    fenced = re.findall(r"(?s)```[a-zA-Z]*\n?(.*?)```", text)
    citation: Any = None
    for part in (*fenced, text):
        for found in iter_json(part):
            if not _is_citation(found.value):
                return found.value
            citation = found.value if citation is None else citation
    if citation is None:
        raise UnreadableReplyError("there is no complete JSON object or array in it")
    return citation


def _is_citation(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int | float) for item in value)


def read_reason(text: str) -> str:
    r"""Return what a reply says besides its score; empty when it says nothing else.

    In JSON that is its reason; else the text without lines that only state the score.

    >>> read_reason("4.0\n很好"), read_reason('{"reason": "short", "score": 4}')
    ('很好', 'short')
    """
    plain = strip_thinking(text)
    parts, at = [], 0
    for found in iter_json(plain, "{"):
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
