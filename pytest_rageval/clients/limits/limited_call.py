"""One request to a model: retried, and within its limits and the budget of the run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import Protocol, TypeVar

from pytest_rageval.clients.accounting.call_context import current_purpose
from pytest_rageval.clients.accounting.estimates import Estimate, TokenGuess
from pytest_rageval.clients.accounting.ledger import Ledger
from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import CallTimeoutError
from pytest_rageval.clients.limits.limits import Limits
from pytest_rageval.clients.limits.retry import Patience, Retry
from pytest_rageval.clients.limits.unusable import UnusableReplies
from pytest_rageval.clients.settings import Price


class _Answer(Protocol):
    @property
    def usage(self) -> Usage: ...

    @property
    def is_counted(self) -> bool: ...


AnswerT = TypeVar("AnswerT", bound=_Answer)

_LOST_FIRST = 1 << 40  # above any order: what timed out in a queue is sent before all others


class LimitedCall:
    """Asks one model, within its limits and the run's budget, until its replies prove unusable.

    Callers count the replies that they can and cannot use in ``unusable``.
    """

    def __init__(
        self,
        limits: Limits,
        retry: Retry,
        ledger: Ledger,
        guess: TokenGuess,
        price: Price | None,
        unusable: UnusableReplies,
    ) -> None:
        self.unusable = unusable
        self.was_late_alone = False
        """Whether a request timed out alone in flight; for a caller to act on, and to unset."""
        self._limits = limits
        self._retry = retry
        self._ledger = ledger
        self._guess = guess
        self._price = price

    @property
    def waiting(self) -> str:
        """How long calls wait for what server that is starting, and why; "" if none does."""
        return self._retry.waiting

    def problem(self, role: str) -> str | None:
        """Return what went wrong without failing a call, for the summary."""
        return self._limits.problem(role)

    def patience(self) -> Patience:
        """Return what all requests of one call may spend together."""
        return self._retry.patience()

    async def ask(
        self,
        texts: Iterable[str],
        send: Callable[[], Awaitable[AnswerT]],
        patience: Patience | None = None,
    ) -> tuple[AnswerT, Usage]:
        """Return what ``send`` returns, and its usage with the cost, which is in the ledger then.

        ``texts`` is what the request will send, for the estimate of its size. Raises ClientError.
        """
        parts = list(texts)
        left = patience or self.patience()
        numbers = count()

        def attempt() -> Awaitable[tuple[AnswerT, Usage]]:
            self._ledger.sent_again += next(numbers) > 0
            return self._attempt(parts, send, left)

        return await self._retry.run(attempt, left)

    async def _attempt(
        self, texts: list[str], send: Callable[[], Awaitable[AnswerT]], patience: Patience
    ) -> tuple[AnswerT, Usage]:
        order = current_purpose().order - (_LOST_FIRST if patience.is_lost else 0)
        async with (
            self._limits.slot(order),
            self._ledger.reserve(lambda: self._about(texts)),
        ):
            if (problem := self.unusable.problem()) is not None:
                raise problem
            estimate = self._guess.make(texts)
            start = await self._limits.start(estimate.total, patience)
            try:
                with self._limits.pausing(patience), self._ledger.waiting():
                    answer = await send()
            except CallTimeoutError as late:  # the server has worked on it, nobody knows how long
                self._count_lost(estimate)
                self.was_late_alone |= late.is_alone
                raise
            usage = self._priced(answer.usage)
            self._ledger.count(usage)
            self._ledger.is_estimate |= not answer.is_counted
        self._guess.learn(estimate, usage)
        used = usage.prompt_tokens + usage.completion_tokens
        self._limits.correct(start, used - estimate.total)
        return answer, usage

    def _count_lost(self, estimate: Estimate) -> None:
        tokens = Usage(round(estimate.prompt), round(estimate.completion), calls=1)
        self._ledger.count(self._priced(tokens))
        self._ledger.is_estimate = True

    def _about(self, texts: list[str]) -> float:
        """Return about how many dollars a request will cost, 0 without a price."""
        estimate = self._guess.make(texts)
        return self._cost(estimate.prompt, estimate.completion) or 0.0

    def _priced(self, usage: Usage) -> Usage:
        return replace(usage, cost_usd=self._cost(usage.prompt_tokens, usage.completion_tokens))

    def _cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        if self._price is None:
            return None
        return self._price.cost_usd(prompt_tokens, completion_tokens)
