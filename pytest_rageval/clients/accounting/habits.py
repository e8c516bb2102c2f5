"""What a model's replies in the cache tell of its tokens: how it counts, and how much it writes."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_PIECES = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,2}|[!-/:-@\[-`{-~]{1,3}|\n\s*")
_A_CONVERSATION: Final = 10  # a server's template adds 7 (OpenAI) to 30 tokens
_FEW, _MANY = 10, 1000  # tokens of a reply, while a model has too few in the cache to tell
ENOUGH: Final = 5
"""So many replies tell how long the next ones are."""

# How far a model's own tokens may be from the guess: little for ASCII, far for other scripts. The
# figures are standard deviations, relative to what one reply tells.
_ASCII_SD, _OTHER_SD, _REPLY_SD = 0.1, 1.0, 0.05


def token_parts(text: str) -> tuple[float, float]:
    """Return about how many tokens a text has: those of its ASCII characters, and the others.

    A token each: up to nine letters, two digits or three marks, and a line's end with the spaces
    that follow; a Chinese character is one, a Cyrillic or accented letter half of one. For the
    prompts of ragas in English, that is within 15 % of six tokenizers (``test_habits``).

    >>> token_parts('"seven": 12,'), token_parts("检索 RAG")
    ((5.0, 0.0), (1.0, 2.0))
    """
    others = 0.0 if text.isascii() else (len(text.encode("utf-8", "replace")) - len(text)) / 2
    return float(len(_PIECES.findall(text))), others


@dataclass(frozen=True, slots=True)
class KeptCall:
    """One call that the cache has: what kind of question it was, its texts and its tokens."""

    kind: str
    texts: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    is_first: bool = True
    """Whether one request was enough; the tokens of several are added up."""


class Habits:
    """How many tokens a model counts for a text and writes in a reply, by what the cache has."""

    def __init__(self, calls: Iterable[KeptCall] = (), max_tokens: int | None = None) -> None:
        kept = list(calls)
        self._ascii, self._others = _scales([one for one in kept if one.is_first])
        self._lengths: dict[str, list[int]] = {}
        for one in kept:
            self._lengths.setdefault(one.kind, []).append(one.completion_tokens)
        self._most = _MANY if max_tokens is None else max_tokens

    def prompt(self, texts: Iterable[str], *, is_chat: bool = True) -> float:
        """Return about how many tokens the server will count for these texts."""
        plain, others = _parts(texts)
        return self._ascii * plain + self._others * others + _A_CONVERSATION * is_chat

    def completion(self, kinds: Mapping[str, int]) -> tuple[float, float]:
        """Return the least and the most tokens that replies to so many questions will have.

        Meant to hold in nine of ten runs. Of a kind without replies in the cache, one has 10 to
        1,000 tokens, ``max_tokens`` at most.
        """
        found = [self._of_kind(kind, count) for kind, count in kinds.items()]
        return sum(least for least, _ in found), sum(most for _, most in found)

    def _of_kind(self, kind: str, count: int) -> tuple[float, float]:
        known = self._lengths.get(kind, ())
        if len(known) < ENOUGH:
            return float(count * min(_FEW, self._most)), float(count * min(_MANY, self._most))
        mean = count * statistics.fmean(known)
        # Chance in the replies to come, and in those that the mean is from.
        chance = statistics.stdev(known) * math.sqrt(count + count**2 / len(known))
        margin = max(2.5 * chance, 0.1 * mean)
        return max(mean - margin, 0.0), mean + margin


def _parts(texts: Iterable[str]) -> tuple[float, float]:
    found = [token_parts(text) for text in texts]
    return sum(plain for plain, _ in found), sum(others for _, others in found)


def _scales(calls: Iterable[KeptCall]) -> tuple[float, float]:
    """Return by what to multiply the guesses for ASCII and for other characters.

    Least squares of the relative errors, drawn towards 1: little data, or prompts that all have
    the same share of both, change what is known less (ASCII) least.
    """
    plain2, both, others2 = (_REPLY_SD / _ASCII_SD) ** 2, 0.0, (_REPLY_SD / _OTHER_SD) ** 2
    plain_error = others_error = 0.0
    for one in calls:
        plain, others = (part / one.prompt_tokens for part in _parts(one.texts))
        error = 1.0 - _A_CONVERSATION / one.prompt_tokens - plain - others
        plain2, both, others2 = plain2 + plain**2, both + plain * others, others2 + others**2
        plain_error, others_error = plain_error + plain * error, others_error + others * error
    size = plain2 * others2 - both**2
    return (
        max(1.0 + (plain_error * others2 - others_error * both) / size, 0.1),
        max(1.0 + (others_error * plain2 - plain_error * both) / size, 0.1),
    )
