"""Asking again: what is worth it, how long to wait before, and when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_rageval.clients.errors import AskAgain, ClientError, RateLimitError

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]

_MOST_LESSONS = 5  # how often one request may be changed before it suits a server


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How stubborn to be. Waits double from ``first_wait_s`` to ``longest_wait_s``.

    A failing request is sent ``retries`` times more at most; one that hits a rate limit as often
    as needed. Both end when the waits of one request, or the time since anything at all succeeded,
    would exceed ``max_wait_s``: a server that is down costs a run that long once, not once a call.
    """

    retries: int = 4
    max_wait_s: float = 120.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0


class Retry:
    """Runs requests to one server until they succeed or there is no point in going on.

    Cancelling the caller cancels the request or the wait; nothing runs in the background.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        rng: random.Random | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._clock = clock
        self._failing_since: float | None = None
        self._failed_last = 0.0

    @property
    def max_wait_s(self) -> float:
        """The longest time that the waits of one request may take together."""
        return self._policy.max_wait_s

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what ``attempt`` returns; raise its last ClientError with the attempts counted."""
        course = _Course(self._policy, self._rng)
        while True:
            try:
                result = await self._adapted(attempt)
            except ClientError as error:
                wait = course.wait_after(error, self._outage(error))
                if wait is None:
                    raise
            else:
                self._failing_since = None
                return result
            await self._sleep(wait)

    async def _adapted(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Send a request again, at once, as long as its provider learns how to put it."""
        for _ in range(_MOST_LESSONS):
            try:
                return await attempt()
            except AskAgain:
                continue
        return await attempt()

    def _outage(self, error: ClientError) -> float:
        """Return for how many seconds nothing has succeeded."""
        if not error.is_transient:
            return 0.0
        now, last = self._clock(), self._failed_last
        self._failed_last = now
        # A failure long ago, with nothing asked since, says nothing about now.
        if self._failing_since is None or now - last > self._policy.max_wait_s:
            self._failing_since = now
        return now - self._failing_since


class _Course:
    """What one request has been through."""

    def __init__(self, policy: RetryPolicy, rng: random.Random) -> None:
        self._policy = policy
        self._rng = rng
        self._attempts = 0
        self._counted = 0
        self._waited_s = 0.0

    def wait_after(self, error: ClientError, outage_s: float) -> float | None:
        """Return how many seconds to wait before the next attempt, or None to give up."""
        self._attempts += 1
        error.attempts = self._attempts
        self._counted += not isinstance(error, RateLimitError)
        if not error.is_transient or self._counted > self._policy.retries:
            return None
        wait = self._wait(error.retry_after_s)
        error.gave_up = self._out_of_time(error, wait, outage_s)
        if error.gave_up:
            return None
        self._waited_s += wait
        return wait

    def _wait(self, asked_for: float | None) -> float:
        policy = self._policy
        longest = min(
            policy.first_wait_s * 2.0 ** min(self._attempts - 1, 30), policy.longest_wait_s
        )
        if asked_for is None:
            return self._rng.uniform(0.5, 1.0) * longest
        # Never before the time that the server named, and not all at the same moment.
        return asked_for + self._rng.uniform(0.0, 0.5) * min(longest, asked_for)

    def _out_of_time(self, error: ClientError, wait: float, outage_s: float) -> str:
        longest = self._policy.max_wait_s
        if self._waited_s + wait > longest and error.retry_after_s:
            return (
                f"the server asks to wait {error.retry_after_s:g} s more, max_wait_s is {longest:g}"
            )
        if self._waited_s + wait > longest:
            return f"waited {self._waited_s:.0f} s, max_wait_s is {longest:g}"
        if outage_s > longest:
            return f"nothing has succeeded for {outage_s:.0f} s"
        return ""
