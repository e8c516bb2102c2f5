"""Guesses of tokens: Habits forecasts a run from the cache, TokenGuess corrects itself in a run."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_rageval.clients.base import Usage

_PIECES = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,2}|[!-/:-@\[-`{-~]{1,3}|\n\s*")
_A_CONVERSATION: Final = 10
"""Tokens of a prompt beside its texts: a server's template adds 7 (OpenAI) to 30."""

_FEW: Final = 10
_MANY: Final = 1000
"""Tokens of a reply, while a model has too few in the cache to tell."""

ENOUGH: Final = 5
"""So many replies tell how long the next ones are."""

_MARGIN_SDS: Final = 2.5
"""Standard deviations, for nine of ten runs. A normal law takes 1.6; five replies do not tell their
standard deviation well, and lengths are skewed (``test_habits`` tries it)."""

# How far a model may be from the guess, as standard deviations of the relative error:
_ASCII_SD: Final = 0.1  # for ASCII
_OTHER_SD: Final = 1.0  # for other scripts
_KIND_SD: Final = 0.07  # for the prompts of one metric, on top
_REPLY_SD: Final = 0.03  # for the texts of one row, on top
_ROUNDS: Final = 100  # of solving for the kinds and for the two scales, in turns


def token_parts(text: str) -> tuple[float, float]:
    """Return about how many tokens a text has: of ASCII characters, and of all others.

    A token each: up to nine letters, two digits or three marks, and a line's end with the spaces
    that follow; a Chinese character is one, a Cyrillic or accented letter half of one. For the
    English prompts of ragas, that is within 15 % of three tokenizers (``test_ragas_forecast``).

    >>> token_parts('"seven": 12,'), token_parts("检索 RAG")
    ((5.0, 0.0), (1.0, 2.0))
    """
    others = 0.0 if text.isascii() else (len(text.encode("utf-8", "replace")) - len(text)) / 2
    return float(len(_PIECES.findall(text))), others


@dataclass(frozen=True, slots=True)
class CachedCall:
    """One call that the cache has: what kind of question it was, its texts and its tokens."""

    kind: str
    texts: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    took_one_request: bool = True
    """Else the tokens are those of several requests together."""
    reply: str = ""


class Habits:
    """How many tokens a model counts for a text and writes in a reply, by what the cache has."""

    def __init__(self, calls: Iterable[CachedCall] = (), max_tokens: int | None = None) -> None:
        kept = list(calls)
        self._scales = _scales([call for call in kept if call.took_one_request])
        self._lengths: dict[str, list[int]] = {}
        for one in kept:
            self._lengths.setdefault(one.kind, []).append(one.completion_tokens)
        self._max_tokens = max_tokens

    def prompt(self, texts: Iterable[str], kind: str = "", *, is_chat: bool = True) -> float:
        """Return about how many tokens the server will count for these texts."""
        plain, others = _parts(texts)
        of_kind = self._scales.plain + self._scales.kinds.get(kind, 0.0)
        return of_kind * plain + self._scales.others * others + _A_CONVERSATION * is_chat

    def completion(self, kinds: Mapping[str, int]) -> tuple[float, float]:
        """Return the least and the most tokens that replies to so many questions will have.

        Meant to hold in nine of ten runs. A reply of a kind that the cache has too few of is taken
        to have 10 to 1,000 tokens. No reply is taken to have more than ``max_tokens``.
        """
        found = [self._of_kind(kind, count) for kind, count in kinds.items()]
        return sum(least for least, _ in found), sum(most for _, most in found)

    def _of_kind(self, kind: str, count: int) -> tuple[float, float]:
        known = self._lengths.get(kind, ())
        if len(known) < ENOUGH:
            most = _MANY if self._max_tokens is None else self._max_tokens
            return float(count * min(_FEW, most)), float(count * min(_MANY, most))
        mean = count * statistics.fmean(known)
        # Chance in the replies to come, and in those that the mean is from.
        chance = statistics.stdev(known) * math.sqrt(count + count**2 / len(known))
        margin = max(_MARGIN_SDS * chance, 0.1 * mean)
        # Replies in the cache may be from a time without this limit.
        limit = math.inf if self._max_tokens is None else float(count * self._max_tokens)
        return min(max(mean - margin, 0.0), limit), min(mean + margin, limit)


def _parts(texts: Iterable[str]) -> tuple[float, float]:
    found = [token_parts(text) for text in texts]
    return sum(plain for plain, _ in found), sum(others for _, others in found)


@dataclass(frozen=True, slots=True)
class _Scales:
    """By what the guesses for ASCII and for other characters are multiplied.

    ``kinds`` is what each kind of question adds to the first: its prompts share fixed words, and so
    are all off in the same way.
    """

    plain: float
    others: float
    kinds: Mapping[str, float]


class _Sums(NamedTuple):
    """Sums of products over the calls of a kind, for the normal equations.

    ``p`` are tokens of ASCII, ``o`` of other characters, ``w`` of the whole without the template,
    each as a share of what the server counted.
    """

    pp: float = 0.0
    po: float = 0.0
    oo: float = 0.0
    pw: float = 0.0
    ow: float = 0.0

    def plus(self, other: _Sums) -> _Sums:
        """Return the sums over both."""
        return _Sums(*(a + b for a, b in zip(self, other, strict=True)))


def _scales(calls: Iterable[CachedCall]) -> _Scales:
    """Return the scales with the least squares of the relative errors, drawn towards 1.

    What a kind adds is drawn towards 0.
    """
    sums: dict[str, _Sums] = {}
    for one in calls:
        plain, others = (part / one.prompt_tokens for part in _parts(one.texts))
        whole = 1.0 - _A_CONVERSATION / one.prompt_tokens
        new = _Sums(plain**2, plain * others, others**2, plain * whole, others * whole)
        sums[one.kind] = sums.get(one.kind, _Sums()).plus(new)
    pulls = [(_REPLY_SD / sd) ** 2 for sd in (_ASCII_SD, _OTHER_SD, _KIND_SD)]
    plain_scale, others_scale, kinds = 1.0, 1.0, dict.fromkeys(sums, 0.0)
    for _ in range(_ROUNDS if sums else 0):
        for kind, of_kind in sums.items():
            left = of_kind.pw - plain_scale * of_kind.pp - others_scale * of_kind.po
            kinds[kind] = left / (of_kind.pp + pulls[2])
        pp = pulls[0] + sum(one.pp for one in sums.values())
        po = sum(one.po for one in sums.values())
        oo = pulls[1] + sum(one.oo for one in sums.values())
        pw = pulls[0] + sum(one.pw - kinds[kind] * one.pp for kind, one in sums.items())
        ow = pulls[1] + sum(one.ow - kinds[kind] * one.po for kind, one in sums.items())
        size = pp * oo - po**2
        plain_scale, others_scale = (pw * oo - ow * po) / size, (ow * pp - pw * po) / size
    return _Scales(max(plain_scale, 0.1), max(others_scale, 0.1), kinds)


_FIRST_GUESS = 256  # completion tokens, until the first reply is known
_CHARACTERS_A_TOKEN = 4.0


def estimate_tokens(text: str) -> float:
    """Return about how many tokens ``text`` has: 4 characters each, a Chinese character is one.

    Quicker than ``token_parts`` and less exact: ``TokenGuess`` corrects it.

    >>> estimate_tokens("four letters"), estimate_tokens("检索增强")
    (3.0, 4.0)
    """
    if text.isascii():
        return len(text) / _CHARACTERS_A_TOKEN
    # A Chinese character has two bytes more than characters, an accented letter has one.
    wide = (len(text.encode("utf-8", "replace")) - len(text)) / 2.0
    return wide + max(len(text) - wide, 0.0) / _CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True)
class Estimate:
    """The tokens that a request will probably take; ``raw``: of the prompt, before any learning."""

    raw: float
    prompt: float
    completion: float

    @property
    def total(self) -> float:
        """Prompt and completion together."""
        return self.prompt + self.completion


class TokenGuess:
    """Guesses the tokens of requests to one model, better with each reply.

    The guess for prompts is scaled by the sum of real sizes over the sum of guesses; the guess for
    completions is their mean (256 before the first), never more than ``max_tokens``.
    """

    def __init__(self, max_tokens: int | None = None) -> None:
        self._max_tokens = max_tokens
        self._raw = self._real = 0.0
        self._completions = self._replies = 0

    def make(self, texts: Iterable[str]) -> Estimate:
        """Return the guess for a request with these texts."""
        raw = sum(map(estimate_tokens, texts))
        scale = self._real / self._raw if self._raw and self._real else 1.0
        return Estimate(raw, raw * scale, self._completion())

    def learn(self, estimate: Estimate, usage: Usage) -> None:
        """Improve the guess by what the request with this estimate used."""
        self._raw += estimate.raw
        self._real += usage.prompt_tokens
        self._completions += usage.completion_tokens
        self._replies += 1

    def _completion(self) -> float:
        mean = self._completions / self._replies if self._replies else float(_FIRST_GUESS)
        return mean if self._max_tokens is None else min(mean, self._max_tokens)
