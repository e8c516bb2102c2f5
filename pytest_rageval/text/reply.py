"""Reads a judge's reply: its score, its verdict, its reason, its JSON.

Language models do not always reply in the form that was asked for. These functions read a reply as
a person would. For an ambiguous one they raise UnreadableReplyError, a ValueError that says what
was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from pytest_rageval.text.reply_score import read_score
from pytest_rageval.text.reply_text import (
    DECLINES,
    UnreadableReplyError,
    objects_in,
    strip_thinking,
    to_lines,
)

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
    labelled = list(_matches(_LABELLED, lines))
    final = [found for found in labelled if re.search(r"\bfinal|最终|最后", found[0])]
    for stated in (final, [*labelled, *_matches(_ALONE, lines)], _matches(_FIRST_WORD, lines)):
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


def _matches(patterns: tuple[str, ...], lines: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from _compiled(pattern).finditer(lines)


def _described(lines: str) -> Iterable[bool]:
    """Yield the verdicts of sentences about the answer that are not hypothetical."""
    for found in _matches(_SENTENCES, lines):
        clause = (
            re.split(r"[\n,.;!?。]", lines[max(0, found.start() - 200) : found.start()])[-1]
            + found[0]
        )
        if not re.search(r"\b(?:if|whether|unless|had|should)\b|是否|如果|若", clause):
            yield _is_yes(found)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Every pattern has groups ``yes``, ``no`` and, if it can be negated, ``negated``.
_GOOD = "correct|right|true|valid|accurate|acceptable|accepted|supported"
_BAD = "incorrect|wrong|false|invalid|inaccurate|unacceptable|rejected|unsupported"
_NOT = r"(?:(?P<negated>not)\s+)?"
_ADVERBS = r"(?:(?:[a-z]+ly|quite|also|indeed|all|both|thus)\s+){0,3}"
_ADJECTIVE = rf"(?:(?P<yes>{_GOOD})|(?P<no>{_BAD}))\b"
_WORD = (
    rf"(?:{_NOT}{_ADVERBS}(?:(?P<yes>(?:yes|{_GOOD}|pass(?:ed|es)?)\b"
    r"|是的?|对的?|(?:完全|部分|基本|大致)?正确的?|符合|通过|合格|成立)"
    rf"|(?P<no>(?:no|{_BAD}|fail(?:ed|s)?)\b"
    r"|否|不是的?|不对|不(?:完全|太)?正确的?|错误?的?|有误|不符合|不?未?通过|不合格|不成立|不)))"
)
_END = r"(?=\s*(?:\Z|[\n.,;:!?)\]}\"'”’。—–(]|-\s|(?:because|since|as)\b|因))"
_LABEL = (
    r"(?:(?<![a-z])(?:final|verdict|judge?ment|decision|conclusion|result|label|assessment|evaluation"
    r"|correct(?:ness)?(?!\s+answer)|acceptable|supported|accepted"
    r"|(?<!correct )(?<!right )(?<!true )(?<!gold )answer)"
    r"|结论|判断|判定|结果|评判|评价|裁决|是否正确|(?<!正确)(?<!标准)答案)"
)
_NAMES_A_VERDICT = (
    r"(?:\b(?:verdict|judge?ment|decision|conclusion|my answer)\s+(?:is|was|would be)\s+"
    r"|(?:结论|判断|判定)[是为])[\"'“(\[]*"
)
_AFTER_LABEL = rf"(?:\bfinal\s+|最终)?{_LABEL}[^\n:=.\d]{{0,25}}[:=]\s*[\"'“(\[]*"
_LABELLED = (
    rf"{_AFTER_LABEL}{_WORD}{_END}",
    rf"{_AFTER_LABEL}(?:(?P<yes>1)|(?P<no>0))(?:\.0)?{_END}",
    rf"{_NAMES_A_VERDICT}{_WORD}{_END}",
)

_ALONE = (
    rf"(?m)^[\"'“(\[]*(?:it is |it's |the answer is |答案是|回答)?{_WORD}[\s\"'”’)\].!。]*$",
    r"\A\W*(?:(?P<yes>1)|(?P<no>0))\W*\Z",
)
_FIRST_WORD = (
    rf"\A[\"'“(\[]*{_WORD}(?: (?:answer|response)(?=[.,!]))?{_END}",
    r"\A[\"'“(\[]*(?:(?P<yes>yes\b(?! (?:and|or|/)))|(?P<no>no(?= (?:the|it|this|that)\b)))",
)

_ABOUT = r"\b(?:candidate|answer|response|statement|claim|prediction|output|it|this|that)\b"
_GAP = r"[^\n.;!?]{0,80}?"
_IS = r"(?:\b(?:is|are|was|were|be|seems|appears|looks|as)|'s)"
_IS_NOT = r"\b(?:is|are|was|were)(?P<negated>n't)"
_GIVES = r"(?:provid|giv|gave|contain|stat|offer|answer|identif|match|respond)[a-z]*"
_DOES_NOT = r"(?P<negated>(?:does not|doesn't|did not|didn't|fails? to|failed to|not)\s+)?"
_RIGHTLY = r"(?:(?P<yes>correctly|accurately)|(?P<no>incorrectly|inaccurately|wrongly))\b"
_CHINESE = (
    r"(?P<negated>不是|并不|并非|没有|未能|不|未)?(?:给出|提供|包含|存在)?了?"
    r"(?:任何|明显|什么|是|算|完全|部分|基本|大致|都|太)*"
    r"(?:(?P<yes>正确|准确|对的|符合)|(?P<no>错误|错的|有误))"
)
_SENTENCES = (
    # the candidate is (not) correct
    rf"{_ABOUT}{_GAP}{_IS}\s+{_NOT}{_ADVERBS}{_ADJECTIVE}(?!\s+answer)",
    rf"{_ABOUT}{_GAP}{_IS_NOT}\s+{_ADVERBS}{_ADJECTIVE}",
    # it (does not) provide a correct answer, it answers the question (in)correctly
    rf"{_ABOUT}{_GAP}{_DOES_NOT}\b{_GIVES}\s+(?:an?|the)\s+{_ADJECTIVE}",
    rf"{_ABOUT}{_GAP}{_DOES_NOT}\b{_GIVES}\s+[^\n,.;!?]{{0,40}}?\b{_RIGHTLY}",
    rf"{_ABOUT}{_GAP}{_DOES_NOT}\b{_RIGHTLY}\s+{_GIVES}",
    # 答案(不)正确, but not 正确答案是
    rf"{_CHINESE}(?!的?(?:答案|回答|结果|选项)?(?:是|为|应|:))",
)
