"""Prepares the numbers in a judge's reply: numerals become digits, other numbers are removed."""

from __future__ import annotations

import re
from collections.abc import Callable

_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_TO_DIGITS = str.maketrans("零〇一二两三四五六七八九点", "001223456789.")


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


def _english(found: re.Match[str]) -> str:
    before = found[0][: found.start("word") - found.start()]
    return f"{before}{_ENGLISH.index(found['word'])}"


def _chinese(found: re.Match[str]) -> str:
    return found[0].translate(_TO_DIGITS)


def _fraction(found: re.Match[str]) -> str:
    return f" {found[2]}/{found[1]}".translate(_TO_DIGITS)


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
_TO = r"(?:-|–|—|~|\bto\b|\bthrough\b|到|至)"
_HIGH = r"<high>(?![\d.]*\d)"
_LEVEL = rf"{_ANY}\s*=[^\n,;.)]*"
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
    rf"\(?\s*(?:\b(?:from|of)\s+)?(?<![\d.,])-?<low>\s*{_TO}\s*{_HIGH}\s*(?:分|points?\b)?\s*\)?",
    rf"\bbetween\s+<low>\s+and\s+{_HIGH}",
    # a 5-point scale, 5分制, 满分5分, 5分满分, 总分5分 before what was got of it, maximum score: 5
    r"(?<![\d.])<high>\s*[- ]?(?:[分星]制|point(?!s)(?:\s+(?:likert\s+)?scale)?)",
    r"(?<![得给打评出])(?:满分|最高分?|上限)\s*[为是:]?\s*<high>\s*分?",
    r"(?<![\d.得给打评出:为是=])(?<!: )<high>\s*分\s*[为是]?\s*满分",
    r"总分\s*[为是]?\s*<high>\s*分?(?=\s*,\s*(?:\S{0,6}得|给))",
    r"\bmax(?:imum)?\.?\s*(?:possible\s+)?(?:score|points|rating)?\s*(?:is|:|=|being)?\s*" + _HIGH,
    # 5 being the best; where 0 = poor; 0 = poor, 5 = good
    rf"{_ANY}\s*{_STANDS_FOR}[^\n,;.)]*",
    rf"(?:\b(?:where|with|and)\b|\()\s*{_LEVEL}",
    rf"{_LEVEL}(?:[,;]\s*(?:and\s+)?{_LEVEL})+",
    # minus 1 point, 扣1分, 2 points each
    rf"{_DEDUCT}{_ANY}\s*(?:points?|marks?|分)?",
    rf"{_ANY}\s*points?\s+(?:(?:is|are|was|were)\s+)?(?:deducted|off|lost|each)\b",
)
