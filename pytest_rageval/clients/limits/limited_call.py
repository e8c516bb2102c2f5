"""Requests to one model, and the count of its unusable replies.

Requests are retried, within the model's limits and the run's budget.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol, TypeVar

from pytest_rageval.clients.accounting import Ledger, current_purpose
from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import CallTimeoutError, ClientError, NotAskedError
from pytest_rageval.clients.limits.limits import Limits
from pytest_rageval.clients.limits.retry import Patience, Retry
from pytest_rageval.clients.settings import ClientSettings, Price
from pytest_rageval.clients.tokens import Estimate, TokenGuess
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOT_ASKED


class _Reply(Protocol):
    @property
    def usage(self) -> Usage: ...

    @property
    def is_counted(self) -> bool: ...


ReplyT = TypeVar("ReplyT", bound=_Reply)

_LOST_FIRST = 1 << 40  # larger than any order; subtracted, so that what timed out is first


class LimitedModel:
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
        self.limits = limits
        self.retry = retry
        self._ledger = ledger
        self._guess = guess
        self._price = price

    async def ask(
        self,
        texts: Iterable[str],
        send: Callable[[], Awaitable[ReplyT]],
        patience: Patience | None = None,
    ) -> tuple[ReplyT, Usage]:
        """Return what ``send`` returns, and its usage with the cost, which the ledger has counted.

        ``texts`` is what the request will send, for the estimate of its size. Raises ClientError.
        """
        parts = list(texts)
        left = patience or self.retry.patience()
        attempts = count()

        def attempt() -> Awaitable[tuple[ReplyT, Usage]]:
            self._ledger.sent_again += next(attempts) > 0  # all but the first
            return self._attempt(parts, send, left)

        return await self.retry.run(attempt, left)

    async def _attempt(
        self, texts: list[str], send: Callable[[], Awaitable[ReplyT]], patience: Patience
    ) -> tuple[ReplyT, Usage]:
        order = current_purpose().order - (_LOST_FIRST if patience.is_lost else 0)
        async with (
            self.limits.slot(order),
            self._ledger.reserve(lambda: self._expected_usd(texts)),
        ):
            if (problem := self.unusable.problem()) is not None:
                raise problem
            estimate = self._guess.make(texts)
            start = await self.limits.start(estimate.total, patience)
            try:
                with self.limits.pausing(patience), self._ledger.sending():
                    answer = await send()
            except CallTimeoutError as late:
                # The server may have worked on it: what that may have cost is counted.
                self._count_lost(estimate)
                self.was_late_alone |= late.is_alone
                raise
            except ClientError as odd:
                if odd.billed is not None:
                    self._ledger.count(self._priced(Usage(*odd.billed, calls=1)))
                raise
            usage = self._priced(answer.usage)
            self._ledger.count(usage)
            self._ledger.is_estimate |= not answer.is_counted
        self._guess.learn(estimate, usage)
        used = usage.prompt_tokens + usage.completion_tokens
        self.limits.correct(start, used - estimate.total)
        return answer, usage

    def _count_lost(self, estimate: Estimate) -> None:
        tokens = Usage(round(estimate.prompt), round(estimate.completion), calls=1)
        self._ledger.count(self._priced(tokens))
        self._ledger.is_estimate = True

    def _expected_usd(self, texts: list[str]) -> float:
        """Return about how many US dollars a request will cost, 0.0 without a price."""
        estimate = self._guess.make(texts)
        return self._cost(estimate.prompt, estimate.completion) or 0.0

    def _priced(self, usage: Usage) -> Usage:
        cost = self._cost(usage.prompt_tokens, usage.completion_tokens)
        return replace(usage, cost_usd=cost, unpriced=usage.calls if cost is None else 0)

    def _cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        if self._price is None:
            return None
        return self._price.cost_usd(prompt_tokens, completion_tokens)


_SHOWN = 200
_YES, _NO = b"+", b"-"


class UnusableReplies:
    """Counts the replies of one model in a row that cannot be used, over all processes of a run.

    From the first unusable reply on, each reply adds a byte to a file in ``folder``: its end shows
    the last replies, whichever process got them, and reading it takes no longer as it grows. If it
    cannot be written, or there is no ``folder``, each process counts alone. Once given up, a model
    is asked no more.
    """

    def __init__(self, settings: ClientSettings, folder: Path | None = None) -> None:
        self._settings = settings
        self._most = settings.max_failures
        self._last = ""
        self._count = 0
        self._is_given_up = False
        what = (settings.provider, settings.endpoint, settings.model, self._most)
        name = f"unusable-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"
        self._file = folder / name if folder is not None else None

    def note_usable(self) -> None:
        """Note a reply that can be used: counting begins again."""
        self._count = 0
        if self._most is not None and self._file is not None and self._file.exists():
            self._append(_YES)

    def note_unusable(self, reply: str) -> None:
        """Note a reply that cannot be used."""
        if self._most is not None:
            self._last = shorten(" ".join(reply.split()), _SHOWN)
            self._count += 1
            self._append(_NO)

    def problem(self) -> NotAskedError | None:
        """Return why the model is not asked any more, None if it is."""
        if self._most is None or not (self._is_given_up or self._in_a_row() >= self._most):
            return None
        self._is_given_up = True
        last = f"; one was {self._last!r}" if self._last else ""
        return NotAskedError(
            f"{NOT_ASKED}{self._settings.shown} gave {self._most} replies in a row that cannot be "
            f"used ({self._settings.role}.max_failures is {self._most}; null: never stop)"
            f"{last}"
        )

    def _in_a_row(self) -> int:
        """Return how many of the last replies are unusable; a file tells up to ``max_failures``."""
        if self._file is None or self._most is None or not self._file.exists():
            return self._count
        try:
            with self._file.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - self._most))
                last = file.read(self._most)
        except OSError:
            return self._count
        return len(last) - len(last.rstrip(_NO))

    def _append(self, byte: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab", buffering=0) as file:
                file.write(byte)
        except OSError:
            self._file = None
