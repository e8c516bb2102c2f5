"""How many tokens a request will take: a guess that improves with each reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_rageval.clients.base import Usage

_FIRST_GUESS = 256  # completion tokens, until the first reply is known
_CHARACTERS_A_TOKEN = 4.0


def estimate_tokens(text: str) -> float:
    """Return about how many tokens ``text`` has: 4 characters each, a Chinese character is one.

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
    """The tokens that a request will probably take; ``raw`` is the guess before any learning."""

    raw: float
    prompt: float
    completion: float

    @property
    def total(self) -> float:
        """Prompt and completion together."""
        return self.prompt + self.completion


class TokenGuess:
    """Guesses the tokens of requests to one model, better with each reply.

    The guess for prompts is scaled by the mean ratio of real size to guess; the guess for
    completions is their mean, never more than ``max_tokens``.
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
