"""Reads a score from a judge's reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final

from pytest_rageval.extras import loading
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.reply_json import take_apart
from pytest_rageval.text.reply_text import (
    DECLINES,
    UnreadableReplyError,
    plain_characters,
    strip_thinking,
    to_lines,
)

_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_TO_DIGITS = str.maketrans("零〇一二两三四五六七八九点", "001223456789.")
_LISTED = 5
_NEAR: Final = 60
"""How far behind a number words may stand that take it back, in characters."""


def read_score(text: str, low: float, high: float, *, must_be_named: bool = False) -> float:
    """Return the score from ``low`` to ``high`` that the reply ``text`` states.

    Where a key of its JSON states it, the value of that key alone does. One that ``must_be_named``
    is called a score, or stands alone: "1: no" may be the first of a list. Raises
    UnreadableReplyError if there is none, if several differ, for a range, for a score on another
    scale or out of range, and for one that is taken back.

    >>> read_score("得分：４分", 0, 5), read_score("I give it 3.5/5, because ...", 0, 5)
    (4.0, 3.5)
    """
    return _read(text, low, high, must_be_named=must_be_named)[0]


def _read(text: str, low: float, high: float, *, must_be_named: bool) -> tuple[float, str]:
    """Return the score, and what stands behind it."""
    plain = strip_thinking(text)
    if not text[-1:].isspace() and re.search(_CUT_OFF, plain):
        raise UnreadableReplyError("its JSON has no end, and its number may have none")
    parts = take_apart(plain_characters(plain))
    if any(top != high for top in parts.tops):
        raise _other_scale(low, high)
    if not parts.is_named:
        if parts.is_cut_off:
            raise UnreadableReplyError("its JSON has no end")
        whole = f"{parts.before}\n{parts.stated}\n{parts.behind}"
        return _read_lines(to_lines(whole), low, high, must_be_named=must_be_named)
    value, _ = _read_lines(to_lines(parts.stated), low, high, must_be_named=must_be_named)
    _refuse_several_numbers(parts.stated)
    behind = to_lines(parts.behind)
    _refuse_correction(value, behind, low, high)
    _refuse_others(value, to_lines(parts.before), behind, low, high)
    # What follows on the lowest score says why.
    if value > low and re.search(_PHRASES["takes_back"][0], behind):
        raise UnreadableReplyError(f"it says {value:g} and takes it back")
    if parts.is_cut_off:
        raise UnreadableReplyError("its JSON has no end")
    return value, f"{behind}\n{to_lines(parts.after)}"


def _read_lines(lines: str, low: float, high: float, *, must_be_named: bool) -> tuple[float, str]:
    """Return the score that plain lines state, and what stands behind it."""
    lines = write_digits(lines)
    if any(float(scale["top"]) != high for scale in _found("other_scale", lines)):
        raise _other_scale(low, high)
    if re.search(_PHRASES["reckoned"][0], lines):
        raise UnreadableReplyError("it reckons with the number behind its label")
    lines = _scores_alone(lines, low, high)
    claims = _strongest(list(_claims(lines)), lines, low, high)
    if not claims or (must_be_named and claims[0].rank > _Rank.PHRASED):
        raise UnreadableReplyError(f"it states no score from {low:g} to {high:g}")
    values = {claim.value for claim in claims}
    if len(values) > 1:
        raise _several(values)
    for claim in claims:
        claim.check(low, high)
    value, behind = values.pop(), lines[max(one.end for one in claims) :]
    _refuse_correction(value, behind, low, high)
    if claims[0].rank < _Rank.LABELLED:
        # "Final score: 5" may be a line of the answer, "Total score: 5" the best there is; a final
        # score that is the last word of all takes the place of one before it.
        is_last = claims[0].rank == _Rank.FINAL and not re.search(r"\w", behind)
        others = set() if is_last else _lines_of_scores("plain_score_line", lines) - {value}
        if others:
            raise _several({value, *others})
    return value, behind


def _scores_alone(lines: str, low: float, high: float) -> str:
    return _without_list_numbers(drop_other_numbers(lines, low, high))


def _other_scale(low: float, high: float) -> UnreadableReplyError:
    return UnreadableReplyError(f"it names another scale than {low:g} to {high:g}")


def _several(values: Iterable[float]) -> UnreadableReplyError:
    listed = ", ".join(f"{value:g}" for value in sorted(values)[:_LISTED])
    return UnreadableReplyError(f"it states several scores: {listed}")


def _lines_of_scores(rule: str, lines: str) -> set[float]:
    found = re.finditer(_PHRASES[rule][0], lines)
    return {float(one["value"].replace(",", ".")) for one in found}


def _refuse_several_numbers(stated: str) -> None:
    """Raise UnreadableReplyError if the value of a key has other numbers than score and scale."""
    for line in stated.splitlines():
        said = re.sub(r"(?:/|\bof|满分)\s*\d[\d.]*", "", line.partition(": ")[2])
        numbers = set(map(float, re.findall(r"\d+(?:\.\d+)?", said)))
        if len(numbers) > 1 or said.endswith("+"):
            raise UnreadableReplyError(f"its score is {said.strip()!r}, not one number")


def _refuse_others(value: float, before: str, behind: str, low: float, high: float) -> None:
    """Raise UnreadableReplyError if the prose around JSON states another score.

    Before it, where the answer may be quoted, only a line that is nothing else; behind it, any.
    """
    others = _lines_of_scores("score_line", _scores_alone(write_digits(before), low, high))
    for claim in _claims(_scores_alone(write_digits(behind), low, high)):
        if claim.rank <= _Rank.FORMED and claim.is_possible(low, high):
            others.add(claim.value)
    if others - {value}:
        raise _several({value, *others})


def read_level(text: str, low: float, high: float) -> float:
    """Return the level that the reply to a question of few levels states, such as 0 or 1.

    It is called a score or a level, or stands alone. Raises UnreadableReplyError as ``read_score``,
    for what is no whole number, and for one of 0 and 1 if the reply goes on to say the opposite.

    >>> read_level("Level: 1. It names the fee.", 0, 1)
    1.0
    """
    named = re.sub(_PHRASES["level"][0], "score: ", strip_thinking(text).lower())
    score, behind = _read(named, low, high, must_be_named=True)
    if not score.is_integer():
        raise UnreadableReplyError(f"its score {score:g} is between two levels")
    # Of more levels the highest may be a "not": the answer does not answer.
    opposite = _PHRASES["not_met" if score == 1.0 else "met"][0]
    if high == 1.0 and re.search(opposite, behind):
        raise UnreadableReplyError(f"it says {score:g} and takes it back")
    return score


def _refuse_correction(score: float, behind: str, low: float, high: float) -> None:
    """Raise UnreadableReplyError if what stands behind a score names another one in its place."""
    for found in _found("corrected", behind):
        if low <= (value := float(found["value"])) <= high and value != score:
            raise UnreadableReplyError(f"it takes {score:g} back: {value:g}")


def _found(name: str, lines: str) -> Iterator[re.Match[str]]:
    for rule in _PHRASES[name]:
        yield from re.finditer(rule, lines)


def _without_list_numbers(lines: str) -> str:
    """Return ``lines`` without the numbers of a list, which look like scores."""
    enumerator = _PHRASES["enumerator"][0]
    if len(re.findall(enumerator, lines)) > 1:
        return re.sub(enumerator, "", lines)
    return re.sub(_PHRASES["first_item"][0], "", lines)


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
    is_got = re.search(_PHRASES["got"][0], lines) is not None
    for pattern in _PHRASES["no_scores"] + _PHRASES["all_there_is"] * is_got:
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
# Not the beginning of a longer numeral: zero point eight, one hundred, three and a quarter.
_ENDS = r"\b(?!\s+(?:point\b|hundred|half|and (?:an? |three )?quarter)|-)"
_BEFORE_A_NUMBER = (
    r"(?:[:=]|\b(?:of|is|an?|as|it|answer|give|rate|level|to|from|between|and)\b)[ \t\"'(]*"
)

_PHRASES = phrases_in(__package__, "scores.toml")
_NOT_POINTS = _PHRASES["NOT_POINTS"][0]
_FINAL, _OVERALL, _DENIAL = (_PHRASES[name][0] for name in ("final", "overall", "denial"))
_SO = r"(?:(?:so|thus|hence|therefore|then|the|my|an?|因此|所以|故)\W*)*"
_SUM_ALONE = _PHRASES["sum_alone"][0]

_POINTS_IN_CHINESE = (
    rf"(?<![十百千万零〇一二两三四五六七八九第]){_DECIMAL}(?=\s*(?:分(?!{_NOT_POINTS})|颗?星))"
)
_LABELLED_IN_CHINESE = (
    rf"(?:得分|评分|分数|打分|总分|评级|等级)\s*[:为是]?\s*{_DECIMAL}(?![\u4e00-\u9fff])"
)
# Elsewhere 十分 means "very".
_TEN_POINTS = r"(?:(?<=[得打给评为:出])|(?<=[:为] )|(?m:^))十分(?=\s*(?:[,.;。!?)]|$))"
_BEFORE_A_UNIT = rf"\b{_WORD}\b(?=\s*(?:/|out of\b|(?:-\s?)?(?:stars?|points?)\b)){_ENDS}"

_SPELLINGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"({_NUMERAL})分之({_NUMERAL})", _fraction),
    (r"百分之\S", "%"),
    (_POINTS_IN_CHINESE, _chinese),
    (_LABELLED_IN_CHINESE, _chinese),
    (_TEN_POINTS, "10分"),
    (r"(\d)分半", r"\1.5分"),
    (rf"{_BEFORE_A_NUMBER}{_WORD}{_ENDS}", _english),
    (_BEFORE_A_UNIT, _english),
    (rf"(?m)^\W*{_WORD}(?=\W*$)", _english),
    (r"(\d)(?: and a half| 1/2)\b", r"\1.5"),
)


_CUT_OFF = r"\{[^{}]*[:：]\s*[\"'“]?[-\d.]+\Z"
"""JSON that ends in a number: 8 may be the beginning of 80."""


class _Rank(IntEnum):
    """How explicitly a score is stated, the most explicit way first."""

    FINAL = 0  # Final score: 4
    OVERALL = 1  # Overall score: 4
    LABELLED = 2  # Score: 4
    SUMMED = 3  # Overall: 4; the final score is 4
    BOXED = 4  # \\boxed{4}
    LONE = 5  # a line with 4 alone
    PHRASED = 6  # a score of 4
    FORMED = 7  # I give it a 4; 4/5; 4分
    NAMED = 8  # Relevance: 4
    OTHER = 9  # Documents: 4, which is not a score, but casts doubt on NAMED


@dataclass(frozen=True, slots=True)
class _Claim:
    """A stated score: ``out_of`` and ``to`` are the ends of a fraction and a range.

    ``end`` is where it ends in the lines.
    """

    rank: _Rank
    value: float
    out_of: float | None
    to: float | None
    end: int

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
    if rank > _Rank.LABELLED and re.search(_PHRASES["withheld"][0], lines):
        raise UnreadableReplyError("it says that there is no score (N/A)")
    if rank > _Rank.PHRASED and _declines(claims, lines):
        raise UnreadableReplyError("it declines to judge")
    if rank == _Rank.OTHER:
        return []
    strongest = [claim for claim in claims if rank in (claim.rank, _Rank.NAMED)]
    if rank == _Rank.LABELLED and (last := _summed_up(claims, strongest, lines)):
        strongest = last
    elif rank in (_Rank.LABELLED, _Rank.PHRASED):
        return strongest
    # Impossible ones (a sum of partial scores, a year) are left out if others are possible.
    return [claim for claim in strongest if claim.is_possible(low, high)] or strongest


def _summed_up(claims: list[_Claim], labelled: list[_Claim], lines: str) -> list[_Claim]:
    """Return the sum of scores that are labelled by criteria, or what else is said beside a label.

    A sum or a box behind a plain label that differs from it leaves open which is the score.
    """
    end = max(claim.end for claim in labelled)
    boxed = [one for one in claims if one.rank == _Rank.BOXED and one.end > end]
    if boxed:
        return [*labelled, *boxed]
    sums = [claim for claim in claims if claim.rank == _Rank.SUMMED]
    if len({claim.value for claim in labelled}) > 1:
        return sums
    alone = _lines_of_scores("sum_line", lines)
    sums = [claim for claim in sums if claim.value in alone]
    if not _lines_of_scores("plain_score_line", lines):
        return sums
    later = [claim for claim in sums if claim.end > end]
    return [*labelled, *later] if later else []


def _declines(claims: list[_Claim], lines: str) -> bool:
    """Return whether the judge declines: behind a score such words are about the answer."""
    given = [claim.end for claim in claims if claim.rank == _Rank.FORMED]
    before = lines[: min(given)] if given else lines
    own = rf"\b(?:i|we)(?:'m| am| are)? (?:{DECLINES})"
    return bool(re.search(DECLINES, before) or re.search(own, lines))


def _claims(lines: str) -> Iterator[_Claim]:
    """Yield every score that any rule finds."""
    for rank, rule in _rules():
        for match in rule.finditer(lines):
            near = lines[max(0, match.start() - 200) : match.start()]
            before = re.split(r"[\n.;!?。\d]", near)[-1]  # the beginning of its sentence
            lead = match[0][: match.start("value") - match.start()]
            if _is_doubted(lead, lines[match.end() : match.end() + _NEAR]):
                continue
            if rank < _Rank.PHRASED or not _is_supposed(before + lead):
                yield _claim(_promoted(rank, before, lead), match.groupdict(), match.end())


def _is_doubted(lead: str, after: str) -> bool:
    """Return whether what stands around a number takes it back, or makes it a bound."""
    is_bound = lead.endswith("<") and not after.startswith(">")
    return is_bound or re.match(_PHRASES["doubted"][0], after) is not None


def _is_supposed(before: str) -> bool:
    """Return whether these words before a score deny it or make it hypothetical."""
    clause = before.rpartition(",")[2]
    return bool(re.search(_PHRASES["condition"][0], before) or re.search(_DENIAL, clause))


def _promoted(rank: _Rank, before: str, lead: str) -> _Rank:
    """Return the rank of a claim, raised by words before it such as "final" or "overall".

    Beside a label, a sum of anything else and a sentence about a final score are no more than it.
    """
    if rank in (_Rank.BOXED, _Rank.LONE):
        return rank
    if re.fullmatch(rf"\W*(?:{_SUM_ALONE})\s*[:=]\W*", before + lead):
        return _Rank.SUMMED
    if rank == _Rank.NAMED:
        is_criterion = re.search(_PHRASES["criterion"][0], lead)
        return rank if is_criterion and not re.search(_OVERALL, lead) else _Rank.OTHER
    for word, higher in ((_FINAL, _Rank.FINAL), (_OVERALL, _Rank.OVERALL)):
        if re.match(rf"\W*{_SO}(?:{word})", before + lead):
            return higher if rank == _Rank.LABELLED else min(rank, _Rank.SUMMED)
        if rank == _Rank.PHRASED and re.search(rf"(?:{word})(?:\s+[a-z]+)?\s*$", before):
            return _Rank.SUMMED
    return rank


def _claim(rank: _Rank, parts: dict[str, str | None], at: int) -> _Claim:
    # In many languages a comma is the decimal point. Adding zero turns -0 into 0.
    value = float((parts["value"] or "").replace(",", ".")) + 0.0
    out_of, to = parts.get("out_of"), parts.get("to")
    end = float(to) if to and float(to) != value else None
    return _Claim(rank, value, float(out_of) if out_of else None, end, at)


# Compiled when a reply is read: it takes milliseconds.
@cache
def _rules() -> tuple[tuple[_Rank, re.Pattern[str]], ...]:
    with loading():
        return tuple(
            (rank, re.compile(rule))
            for rank in _Rank
            for rule in _PHRASES.get(f"rank_{rank.name.lower()}", ())
        )
