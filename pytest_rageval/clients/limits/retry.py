"""Asking again: what is worth it, how long to wait before, and when to give up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from pytest_rageval.clients.errors import (
    AskAgain,
    CallTimeoutError,
    ClientError,
    RateLimitError,
)

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]

MOST_REQUESTS: Final = 12
"""A call gives up when its 12th request fails, those to a server that is starting not counted."""

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
"""Waits double from the first one to this one."""

MOST_ALONE: Final = 2
"""A call gives up when so many of its requests timed out alone: one is a hiccup, two the model."""

_MOST_LESSONS = 5  # how often one request may be changed before it suits a server


class Patience:
    """What one call has spent, and may still spend: seconds of waiting, and requests."""

    def __init__(self, max_wait_s: float) -> None:
        self.max_wait_s = self.left_s = max_wait_s
        self.requests = 0
        """How many it has sent, but for those to a server that was still starting."""
        self.timed_out_alone = 0
        """How many requests timed out though no other one was in flight."""
        self.is_lost = False
        """Whether the last request was lost in a queue of the server: the next one goes first."""

    def take(self, seconds: float) -> float:
        """Spend ``seconds``, or what is left of them; return how many were spent."""
        taken = min(seconds, self.left_s)
        self.left_s -= taken
        return taken


class Outage:
    """How long something has gone wrong without a success in between."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._since: float | None = None
        self._last = 0.0

    def lasts_s(self, now: float) -> float:
        """Note that it has gone wrong again ``now``; return for how many seconds so far."""
        # What went wrong long ago, with nothing since, says nothing about now.
        if self._since is None or now - self._last > self._longest_s:
            self._since = now
        self._last = now
        return now - self._since

    def end(self) -> None:
        """Note a success."""
        self._since = None


class Retry:
    """Runs requests to one server until they succeed or there is no point in going on.

    A failing request is sent ``retries`` times more at most, and once more for each other form that
    it can take (``ClientError.last_resort``); rate limits do not count as failures, nor do
    time-outs while others succeed, nor, until the first success, that a server is not there yet: it
    may be loading its model. What times out alone in flight is sent once more only: that no other
    request is in its way makes the model no faster. A call gives up when its request number
    ``MOST_REQUESTS`` fails, when its waits would exceed ``max_wait_s``, and when calls have failed
    for longer than that and none has succeeded. So a server that is down costs a run ``max_wait_s``
    once, not once a call. It is the same with rate limits: once no call that met one has succeeded
    for ``max_wait_s``, each new call gives up; if others succeed, a new call still waits once
    before it does, as long as the server says. A caller that is cancelled cancels its request or
    wait.
    """

    def __init__(
        self,
        retries: int = 4,
        max_wait_s: float = 120.0,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._retries = retries
        self._max_wait_s = max_wait_s
        self._sleep = sleep
        self._clock = clock
        self._down, self._full = Outage(max_wait_s), Outage(max_wait_s)
        self._has_worked = False
        self.waiting = ""
        """How long calls may wait for a server that is starting, and its error; "" if none does."""

    def patience(self) -> Patience:
        """Return what a new call may spend."""
        return Patience(self._max_wait_s)

    async def run(self, attempt: Callable[[], Awaitable[T]], patience: Patience) -> T:
        """Return what ``attempt`` returns; raise its last ClientError with the attempts counted.

        Requests that belong to one call share its ``patience``.
        """
        attempts = failures = limited = 0
        while True:
            try:
                result = await self._adapted(attempt, patience)
            except ClientError as error:
                attempts += 1
                is_starting = self._is_starting(error)
                self.waiting = f"{self._max_wait_s:g} s for {error.message}" if is_starting else ""
                patience.is_lost = isinstance(error, CallTimeoutError) and not error.uses_up_a_retry
                patience.timed_out_alone += isinstance(error, CallTimeoutError) and error.is_alone
                patience.requests -= is_starting
                failures += error.uses_up_a_retry and not is_starting
                limited += isinstance(error, RateLimitError)
                error.attempts = attempts
                why_hopeless = self._noted_outage(error)
                is_last = failures > self._retries or patience.timed_out_alone >= MOST_ALONE
                # `last_resort` changes the form of the next request: called when all else gives up.
                if not error.is_transient or (is_last and not error.last_resort()):
                    raise
                # A server that starts is there all at once: it is looked for every few seconds. A
                # request that was lost in a queue has waited enough.
                wait_s = _wait(min(attempts, 4) if is_starting else attempts, error.retry_after_s)
                wait_s = 0.0 if patience.is_lost else wait_s
                error.gave_up = self._out_of_patience(error, wait_s, patience) or why_hopeless
                if error.gave_up:
                    self.waiting = ""
                    raise
            else:
                self._down.end()
                self._has_worked, self.waiting = True, ""
                if limited:  # it met a rate limit, and waiting has helped
                    self._full.end()
                return result
            await self._sleep(patience.take(wait_s))

    async def _adapted(self, attempt: Callable[[], Awaitable[T]], patience: Patience) -> T:
        """Send a request again at once while its provider learns what the server accepts."""
        lessons = 0
        while True:
            patience.requests += 1
            try:
                return await attempt()
            except AskAgain as lesson:
                lessons += 1
                if lessons > _MOST_LESSONS:
                    raise lesson.refused from lesson

    def _is_starting(self, error: ClientError) -> bool:
        """Return whether a server may not be there yet; who wants no retries does not wait."""
        return error.may_be_starting and not self._has_worked and self._retries > 0

    def _noted_outage(self, error: ClientError) -> str:
        """Note the failure; return why no call that fails like this need wait, "" if it may."""
        if not error.is_transient:
            return ""
        if isinstance(error, CallTimeoutError) and not error.uses_up_a_retry:  # others succeed
            self._down.end()
            return ""
        down_s = self._down.lasts_s(self._clock())
        if down_s > self._max_wait_s:
            return f"nothing has succeeded for {down_s:.0f} s"
        if not isinstance(error, RateLimitError):
            return ""
        full_s = self._full.lasts_s(self._clock())
        # One wait each has in any case: else none could show that the server takes requests again.
        if full_s <= self._max_wait_s or error.attempts == 1:
            return ""
        return f"no call that was told to wait has succeeded for {full_s:.0f} s"

    def _out_of_patience(self, error: ClientError, wait_s: float, patience: Patience) -> str:
        """Return why the call ends here, "" if it may wait and go on."""
        longest, left = self._max_wait_s, patience.left_s
        if patience.requests >= MOST_REQUESTS:
            return f"a call gives up after {MOST_REQUESTS} requests"
        if wait_s <= left:
            return ""
        asked_s = error.retry_after_s or 0.0
        waited = f"waited {longest - left:.0f} s"
        why = f"the server asks to wait {asked_s:g} s more" if asked_s > left else waited
        return f"{why}, max_wait_s is {longest:g}"


def _wait(attempts: int, asked_for: float | None) -> float:
    """Return how many seconds to wait after so many attempts."""
    longest = min(FIRST_WAIT_S * 2.0 ** min(attempts - 1, 30), LONGEST_WAIT_S)
    # So little jitter that each wait is longer than the one before, up to the longest.
    own = random.uniform(0.75, 1.0) * longest
    if asked_for is None or asked_for <= own:  # a server cannot make us hurry
        return own
    # Never before the time that the server named, and not all calls at the same moment.
    return asked_for + random.uniform(0.0, 0.5) * longest
