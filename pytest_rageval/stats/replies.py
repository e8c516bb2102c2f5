"""How many replies of a judge could not be used, by what was wrong with them (R5, R6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_rageval.model import FAULTS, NOT_ASKED, USABLE, SampleResult


def reply_counts(samples: Iterable[SampleResult], name: str) -> dict[str, int]:
    """Return how many replies a metric got: ``usable`` ones, then the others by their fault.

    {} where all that are on record could be used.
    """
    found: Counter[str] = Counter()
    for sample in samples:
        found.update(sample.replies.get(name) or {})
    faulty = {fault: found[fault] for fault in FAULTS if found[fault]}
    return {USABLE: found[USABLE], **faulty} if faulty else {}


def judge_failure(sample: SampleResult) -> str:
    """Return why a judge scored nothing of a sample, equal for equal kinds of replies.

    "" where it did, or where anything else went wrong.
    """
    said = []
    for name, error in sample.errors.items():
        found = sample.replies.get(name) or {}
        kinds = [words for fault, words in FAULTS.items() if found.get(fault)]
        if error.startswith(NOT_ASKED):
            kinds = ["not asked"]
        if not kinds or sample.scores.get(name) is not None:
            return ""
        said.append(f"{name}: {', '.join(kinds)}")
    return "; ".join(said)


def replies_text(counts: Mapping[str, int]) -> str:
    """Return in words what ``reply_counts`` found.

    >>> replies_text({"usable": 6, "example": 3, "cut_off": 1})
    "4 of 10 replies could not be used (40 %): repeats the prompt's example 3, cut off 1"
    """
    asked = sum(counts.values())
    bad = asked - counts[USABLE]
    kinds = ", ".join(f"{said} {counts[one]}" for one, said in FAULTS.items() if one in counts)
    return f"{bad} of {asked} replies could not be used ({_percent(bad, asked)}): {kinds}"


def _percent(part: int, whole: int) -> str:
    return "< 1 %" if 100 * part < whole else f"{100 * part // whole} %"
