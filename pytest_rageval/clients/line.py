"""One request to a model on its way out: retries around limits around the account of costs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import RateLimitError
from pytest_rageval.clients.estimates import Estimate, TokenGuess
from pytest_rageval.clients.ledger import Ledger
from pytest_rageval.clients.limits import Limits
from pytest_rageval.clients.purpose import current_purpose
from pytest_rageval.clients.retry import Retry
from pytest_rageval.clients.settings import Price


class _Answer(Protocol):
    @property
    def usage(self) -> Usage: ...


AnswerT = TypeVar("AnswerT", bound=_Answer)


class Line:
    """Asks one model, within its limits and the run's budget."""

    def __init__(
        self, limits: Limits, retry: Retry, ledger: Ledger, guess: TokenGuess, price: Price | None
    ) -> None:
        self._limits = limits
        self._retry = retry
        self._ledger = ledger
        self._guess = guess
        self._price = price

    async def ask(
        self,
        texts: Iterable[str],
        send: Callable[[], Awaitable[AnswerT]],
        count: Callable[[Usage], None],
    ) -> tuple[AnswerT, Usage]:
        """Return what ``send`` returns and what it used, which was given to ``count``.

        ``texts`` is what the request will send, for the estimate of its size. Raises ClientError.
        """
        parts = list(texts)
        return await self._retry.run(lambda: self._attempt(parts, send, count))

    async def _attempt(
        self,
        texts: list[str],
        send: Callable[[], Awaitable[AnswerT]],
        count: Callable[[Usage], None],
    ) -> tuple[AnswerT, Usage]:
        async with self._limits.slot(current_purpose().order):
            estimate = self._guess.make(texts)
            with self._ledger.reserve(self._cost(estimate.prompt, estimate.completion) or 0.0):
                start = await self._limits.start(estimate.total)
                answer = await self._send(send)
                usage = self._priced(answer.usage)
                count(usage)
        self._learn(start, estimate, usage)
        return answer, usage

    async def _send(self, send: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        try:
            return await send()
        except RateLimitError as error:
            # A wait that is too long for this request is not imposed on the others either.
            if error.retry_after_s and error.retry_after_s <= self._retry.max_wait_s:
                self._limits.pause(error.retry_after_s)
            raise

    def _learn(self, start: float, estimate: Estimate, usage: Usage) -> None:
        self._guess.learn(estimate, usage)
        used = usage.prompt_tokens + usage.completion_tokens
        self._limits.correct(start, used - estimate.total)

    def _priced(self, usage: Usage) -> Usage:
        return replace(usage, cost_usd=self._cost(usage.prompt_tokens, usage.completion_tokens))

    def _cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        if self._price is None:
            return None
        return self._price.cost_usd(prompt_tokens, completion_tokens)
