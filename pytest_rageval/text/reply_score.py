"""Reads a score from a judge's reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from pytest_rageval.extras import loading
from pytest_rageval.text.reply_text import DECLINES, UnreadableReplyError, to_lines

_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_TO_DIGITS = str.maketrans("零〇一二两三四五六七八九点", "001223456789.")
_LISTED = 5


def read_score(text: str, low: float, high: float) -> float:
    """Return the score from ``low`` to ``high`` that the reply ``text`` states.

    Raises UnreadableReplyError if there is none, if several differ, for a range, and for a score on
    another scale or out of range.

    >>> read_score("得分：４分", 0, 5), read_score("I give it 3.5/5, because ...", 0, 5)
    (4.0, 3.5)
    """
    lines = drop_other_numbers(write_digits(to_lines(text)), low, high)
    claims = _strongest(list(_claims(lines)), lines, low, high)
    if not claims:
        raise UnreadableReplyError(f"it states no score from {low:g} to {high:g}")
    values = sorted({claim.value for claim in claims})
    if len(values) > 1:
        listed = ", ".join(f"{value:g}" for value in values[:_LISTED])
        raise UnreadableReplyError(f"it states several scores: {listed}")
    for claim in claims:
        claim.check(low, high)
    return values[0]


def write_digits(lines: str) -> str:
    """Return ``lines`` with numerals in words as digits, if they can be a score.

    >>> write_digits("四分半, score: four, one of 五分之四")
    '4.5分, score: 4, one of  4/5'
    """
    for pattern, digits in _SPELLINGS:
        lines = re.sub(pattern, digits, lines)
    return lines


def drop_other_numbers(lines: str, low: float, high: float) -> str:
    """Return ``lines`` without deductions and mentions of the scale from ``low`` to ``high``.

    >>> drop_other_numbers("score (0-5): 3, 5-point scale, minus 1 point", 0, 5)
    'score  : 3,  ,  '
    """
    lowest, highest = f"(?:{_spelled(low)}|0|1)", _spelled(high)
    for pattern in _NO_SCORES:
        exact = pattern.replace("<low>", lowest).replace("<high>", highest)
        lines = re.sub(exact, " ", lines)
    return lines.replace("%", " ") if high == 100 else lines


def _spelled(number: float) -> str:
    """Return a pattern for a number of the scale, with or without decimals."""
    whole = f"{number:.0f}"
    return rf"{whole}(?:\.0+)?" if number == float(whole) else re.escape(f"{number:g}")


def _english(match: re.Match[str]) -> str:
    before = match[0][: match.start("word") - match.start()]
    return f"{before}{_ENGLISH.index(match['word'])}"


def _chinese(match: re.Match[str]) -> str:
    return match[0].translate(_TO_DIGITS)


def _fraction(match: re.Match[str]) -> str:
    return f" {match[2]}/{match[1]}".translate(_TO_DIGITS)


_NUMERAL = "[零〇一二两三四五六七八九]"
_DECIMAL = rf"{_NUMERAL}(?:点{_NUMERAL})?"
_WORD = f"(?P<word>{'|'.join(_ENGLISH)})"
_BEFORE_A_NUMBER = (
    r"(?:[:=]|\b(?:of|is|an?|as|it|answer|give|rate|level|to|from|between|and)\b)[ \t\"'(]*"
)

NOT_POINTS = "[之钟析类别布割组成歧享]"
"""Characters after 分 where it does not mean a point: 分之, 分钟, 分析, ..."""

_POINTS_IN_CHINESE = (
    rf"(?<![十百千万零〇一二两三四五六七八九第]){_DECIMAL}(?=\s*(?:分(?!{NOT_POINTS})|颗?星))"
)
_LABELLED_IN_CHINESE = (
    rf"(?:得分|评分|分数|打分|总分|评级|等级)\s*[:为是]?\s*{_DECIMAL}(?![\u4e00-\u9fff])"
)
# Elsewhere 十分 means "very".
_TEN_POINTS = r"(?:(?<=[得打给评为:出])|(?<=[:为] )|(?m:^))十分(?=\s*(?:[,.;。!?)]|$))"
_BEFORE_A_UNIT = rf"\b{_WORD}\b(?=\s*(?:/|out of\b|(?:-\s?)?(?:stars?|points?)\b))"

_SPELLINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"({_NUMERAL})分之({_NUMERAL})", _fraction),
    (r"百分之\S", "%"),
    (_POINTS_IN_CHINESE, _chinese),
    (_LABELLED_IN_CHINESE, _chinese),
    (_TEN_POINTS, "10分"),
    (r"(\d)分半", r"\1.5分"),
    (rf"{_BEFORE_A_NUMBER}{_WORD}\b", _english),
    (_BEFORE_A_UNIT, _english),
    (rf"(?m)^\W*{_WORD}(?=\W*$)", _english),
    (r"(\d)(?: and a half| 1/2)\b", r"\1.5"),
)

_ANY = r"(?<!\d)\d{1,9}(?:\.\d{1,9})?"
_RANGE_WORD = r"(?:-|–|—|~|\bto\b|\bthrough\b|到|至)"
_HIGH = r"<high>(?![\d.]*\d)"
_LEVEL_WORD = rf"{_ANY}\s*=[^\n,;.)]*"
_DEDUCT = (
    r"(?:\b(?:deduct(?:ed|ing)?|subtract(?:ed|ing)?|minus|los(?:es|ing|e|t)|dock(?:ed|ing)?"
    r"|remov(?:ed|ing|e)|take off)\s+(?:an?\s+)?|[扣减加][除去掉了]*\s*)"
)
_STANDS_FOR = (
    r"(?:表示|代表|意味着|(?:being|means|meaning|stands for"
    r"|is (?:the )?(?:best|highest|worst|lowest|perfect|maximum|minimum))\b)"
)

_NO_SCORES = (
    # (0-5), on a scale from 0 to 5, between 0 and 5, 0到5分
    rf"\(?\s*(?:\b(?:from|of)\s+)?(?<![\d.,])-?<low>\s*{_RANGE_WORD}\s*{_HIGH}\s*(?:分|points?\b)?\s*\)?",
    rf"\bbetween\s+<low>\s+and\s+{_HIGH}",
    # a 5-point scale, 5分制, 满分5分, 5分满分, 总分5分 before what was got of it, maximum score: 5
    r"(?<![\d.])<high>\s*[- ]?(?:[分星]制|point(?!s)(?:\s+(?:likert\s+)?scale)?)",
    r"(?<![得给打评出])(?:满分|最高分?|上限)\s*[为是:]?\s*<high>\s*分?",
    r"(?<![\d.得给打评出:为是=])(?<!: )<high>\s*分\s*[为是]?\s*满分",
    r"总分\s*[为是]?\s*<high>\s*分?(?=\s*,\s*(?:\S{0,6}得|给))",
    r"\bmax(?:imum)?\.?\s*(?:possible\s+)?(?:score|points|rating)?\s*(?:is|:|=|being)?\s*" + _HIGH,
    # 5 being the best; where 0 = poor; 0 = poor, 5 = good
    rf"{_ANY}\s*{_STANDS_FOR}[^\n,;.)]*",
    rf"(?:\b(?:where|with|and)\b|\()\s*{_LEVEL_WORD}",
    rf"{_LEVEL_WORD}(?:[,;]\s*(?:and\s+)?{_LEVEL_WORD})+",
    # minus 1 point, 扣1分, 2 points each
    rf"{_DEDUCT}{_ANY}\s*(?:points?|marks?|分)?",
    rf"{_ANY}\s*points?\s+(?:(?:is|are|was|were)\s+)?(?:deducted|off|lost|each)\b",
)


class _Rank(IntEnum):
    """How explicitly a score is stated, the most explicit way first."""

    FINAL = 0  # Final score: 4
    OVERALL = 1  # Overall: 4; or a line with 4 alone
    LABELLED = 2  # Score: 4
    PHRASED = 3  # a score of 4
    FORMED = 4  # I give it a 4; 4/5; 4分
    NAMED = 5  # Relevance: 4
    OTHER = 6  # Documents: 4, which is not a score, but casts doubt on NAMED


@dataclass(frozen=True, slots=True)
class _Claim:
    """A stated score: ``out_of`` and ``to`` are the ends of a fraction and a range."""

    rank: _Rank
    value: float
    out_of: float | None
    to: float | None

    def check(self, low: float, high: float) -> None:
        """Raise UnreadableReplyError unless this is one number on the scale."""
        scale = f"{low:g} to {high:g}"
        if self.to is not None:
            stated = f"{self.value:g}-{self.to:g}"
            raise UnreadableReplyError(f"its score {stated} is a range; one number is wanted")
        if self.out_of not in (None, high):
            stated = f"{self.value:g}/{self.out_of:g}"
            raise UnreadableReplyError(f"its score {stated} is on another scale than {scale}")
        if not low <= self.value <= high:
            raise UnreadableReplyError(f"its score {self.value:g} is outside of {scale}")

    def is_possible(self, low: float, high: float) -> bool:
        """Return whether ``check`` does not raise."""
        return self.to is None and self.out_of in (None, high) and low <= self.value <= high


def _strongest(claims: list[_Claim], lines: str, low: float, high: float) -> list[_Claim]:
    """Return the claims of the strongest rank, which may still contradict each other."""
    rank = min((claim.rank for claim in claims), default=_Rank.OTHER)
    if rank > _Rank.LABELLED and re.search(_WITHHELD, lines):
        raise UnreadableReplyError("it says that there is no score (N/A)")
    if rank > _Rank.PHRASED and re.search(DECLINES, lines):
        raise UnreadableReplyError("it declines to judge")
    if rank == _Rank.OTHER:
        return []
    strongest = [claim for claim in claims if rank in (claim.rank, _Rank.NAMED)]
    if rank in (_Rank.LABELLED, _Rank.PHRASED):
        return strongest
    # Impossible ones (a sum of partial scores, a year) are left out if others are possible.
    return [claim for claim in strongest if claim.is_possible(low, high)] or strongest


def _claims(lines: str) -> Iterator[_Claim]:
    """Yield every score that any rule finds."""
    if len(re.findall(_ENUMERATOR, lines)) > 1:
        lines = re.sub(_ENUMERATOR, "", lines)
    for rank, rule in _rules():
        for match in rule.finditer(lines):
            near = lines[max(0, match.start() - 200) : match.start()]
            before = re.split(r"[\n.;!?。\d]", near)[-1]  # the beginning of its sentence
            lead = match[0][: match.start("value") - match.start()]
            if rank < _Rank.PHRASED or not _is_supposed(before + lead):
                yield _claim(_promoted(rank, before, lead), match.groupdict())


def _is_supposed(before: str) -> bool:
    """Return whether these words before a score deny it or make it hypothetical."""
    clause = before.rpartition(",")[2]
    return bool(re.search(_CONDITION, before) or re.search(_DENIAL, clause))


def _promoted(rank: _Rank, before: str, lead: str) -> _Rank:
    """Return the rank of a claim, raised by words before it such as "final" or "overall"."""
    if rank == _Rank.NAMED and not re.search(_CRITERION, lead):
        rank = _Rank.OTHER
    for word, higher in ((_FINAL, _Rank.FINAL), (_OVERALL, _Rank.OVERALL)):
        opens = re.match(rf"\W*(?:{word})", before + lead)
        if opens or (rank <= _Rank.PHRASED and re.search(rf"(?:{word})(?:\s+[a-z]+)?\s*$", before)):
            return min(rank, higher)
    return rank


def _claim(rank: _Rank, parts: dict[str, str | None]) -> _Claim:
    # In many languages a comma is the decimal point. Adding zero turns -0 into 0.
    value = float((parts["value"] or "").replace(",", ".")) + 0.0
    out_of, to = parts.get("out_of"), parts.get("to")
    end = float(to) if to and float(to) != value else None
    return _Claim(rank, value, float(out_of) if out_of else None, end)


# Compiled when a reply is read: it takes milliseconds.
@cache
def _rules() -> tuple[tuple[_Rank, re.Pattern[str]], ...]:
    with loading():
        return tuple((rank, re.compile(rule)) for rank, rules in _RULES.items() for rule in rules)


_ENUMERATOR = r"(?m)^\d{1,3}[.):] (?=[^\s\d])"
_FINAL = r"(?:in )?\bfinal(?:ly)?\b|最终|最后"
_OVERALL = r"\b(?:overall|(?:in )?total|(?:on )?average)\b|总体|综合|总分|总评|总得分|总计|平均"
_CRITERION = (
    r"relevan|accura|correct|precis|complete|quality|faithful|grounded|fluen|coheren|helpful"
    r"|answer|result|value|verdict|level|nota\b|note\b|puntua|bewertung|punkt"
    r"|相关|准确|正确|完整|质量|忠实|流畅|有用|结果|答案|结论|等级"
)
_CONDITION = r"\b(?:if|unless)\b|如果|若|才能"
_DENIAL = (
    r"(?:\b(?:not|never|cannot|without|instead of|rather than|to (?:get|reach|earn|achieve))|n't)\b"
    r"(?: \S+){0,3} ?$"
    r"|\b(?:than|least|most|below|above|under|over) (?:an? )?$"
    r"|(?:不|没有?|未|并非|低于|高于|至少|超过)[能会应该值到足得给是配打出]{0,4} ?$"
)

# A number, the end of a fraction (4/5, 4 out of 5), the end of a range (3-4, 3 or 4).
_NUMBER = (
    r"(?P<value>(?<![a-z0-9.])(?<![a-z]-)(?<!\d,)"
    r"[-+]?(?:\d{1,40}(?:\.\d{1,40}|,\d{1,2}(?!\d))?|\.\d{1,40})(?:e[-+]?\d{1,3})?)"
    r"(?!\d|\.\d|,\d{3}|\s?%|(?!points|pts|stars|out)[a-z])"
)
_OUT_OF = (
    r"(?:\s*(?:/|\(?\s*(?:out )?of\b)\s*(?:(?:a|possible|total|maximum|max|score|of)\s+)*"
    r"(?P<out_of>\d{1,9}(?:\.\d{1,9})?))"
)
_LAST_OF_SEVERAL = r"(?=\s*\d{1,9}(?:\.\d{1,9})?\s*(?:[,.;\n]|\Z))"
# "I would say 5. Or 0." is as ambiguous as "5 or 0".
_SECOND_THOUGHT = (
    r"\s*[.,;!?。]?\s*(?:\b(?:or|maybe|perhaps)\b|或者|也许)"
    r"(?:\s*\b(?:even|rather|maybe|perhaps|an?|just|only)\b|也许|是|给){0,3}"
)
_TO = (
    rf"(?:(?:\s*(?:-|–|—|~|->|→|/|、|到|至|或|\b(?:to|or)\b|(?:,|&|\band\b){_LAST_OF_SEVERAL})"
    rf"|{_SECOND_THOUGHT})\s*(?P<to>\d{{1,9}}(?:\.\d{{1,9}})?)(?!\d|\s?%))"
)
_CLAIM = f"{_NUMBER}{_OUT_OF}?{_TO}?"

# Text before a number, between its label and it within the sentence, and after it.
_OPEN = r"[ \"'“‘(\[<$]*(?:(?:a|an|about|around|roughly|exactly|only|just|full|大约|约) ){0,3}"
_GAP = r"[^\n\d.;!?。:=]{0,50}?"
_POINTS = rf"(?:分(?!{NOT_POINTS})|points?\b|pts\b|marks?\b|(?:颗\s*)?星|stars?\b)"
_FOLLOW = (
    rf"(?=\s*(?:\Z|[\n,;:!?)\]}}\"'”’。、(—–因由理]|\.(?!\w)|-(?!\w)|/|{_POINTS}|"
    r"(?:out of|because|since|as|for|given|due|on|in|and|but|which|with|overall|here|rating|score"
    r"|grade|to (?:this|the|it))\b))"
)
_BEGINS = rf"(?=\s*(?:[,:;!)(—–]|-\s|\.(?!\w)|because\b|since\b|{_POINTS}))"
_CLOSE = r"[)\]\"'”’]*\s*(?:\([^)\n]*\))?[.!,。\s]*$"

_LABEL = (
    r"(?:(?<![a-z])(?:scor(?:e|es|ed)|ratings?|grades?|marks?)(?![a-z])"
    r"|得分|评分|分数|打分|评级|分值|总分|总评|给分|成绩|スコア|点数|評価|점수|평점)"
)
_SEPARATOR = r"[\"')\]”’\s]*(?::|=|->|→|⇒|–|—|\s-+\s)"
_IS = r"(?:\b(?:is|was|be|of|as|at)\b|[为是给打了])"
_GIVE = rf"\b(?:i|we)\b{_GAP}\b(?:give|gave|rate|rated|assign|award|say|choose|pick)\b"
_DESERVES = r"\b(?:deserves?|earns?|merits?|gets?|worth|receives?|rated|giving|awarded)\b"
_IT_A = r"\b(?:it|this|that)(?:'s|\s+(?:is|as|at))?\s+an?"
_LEVEL = r"(?:\blevel|等级|级别)\s*(?:[:=为是]|is|of)?\s*"
_WITHHELD = (
    rf"{_LABEL}{_GAP}{_SEPARATOR}[\s\"']*"
    r"(?:n/?a\b|none\b|null\b|nan\b|inf|unknown\b|undefined\b|not applicable|无|没有|不适用|未知)"
)
_RULES = {
    _Rank.OVERALL: [rf"(?m)^{_OPEN}{_CLAIM}\s*{_POINTS}?{_CLOSE}"],
    _Rank.LABELLED: [
        rf"{_LABEL}{_SEPARATOR}{_OPEN}{_CLAIM}",
        rf"{_LABEL}{_GAP}{_SEPARATOR}{_OPEN}{_CLAIM}{_FOLLOW}",
    ],
    _Rank.PHRASED: [
        rf"{_LABEL}{_GAP}{_IS}{_OPEN}{_CLAIM}{_FOLLOW}",
        rf"{_LABEL}{_OPEN}{_CLAIM}{_FOLLOW}",
    ],
    _Rank.FORMED: [
        rf"(?:{_GIVE}|{_DESERVES}){_GAP}\s{_OPEN}{_CLAIM}{_FOLLOW}",
        rf"{_IT_A}\s{_CLAIM}{_FOLLOW}",
        rf"(?:\band|,) {_NUMBER} for\b",
        rf"[给打评判记得](?:出|予|了|为|分)*\s*{_CLAIM}{_FOLLOW}",
        rf"{_LEVEL}{_OPEN}{_CLAIM}{_FOLLOW}",
        rf"{_NUMBER}{_OUT_OF}{_FOLLOW}",
        rf"{_NUMBER}\s*分(?!{NOT_POINTS})",
        rf"\A{_OPEN}{_CLAIM}{_BEGINS}",
    ],
    _Rank.NAMED: [rf"(?m)^[^\n\d:=]{{1,40}}[:=]{_OPEN}{_CLAIM}\s*{_POINTS}?(?=[\s.,;。(]|$)"],
}
