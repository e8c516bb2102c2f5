"""Asking again, with a clock that only moves when somebody sleeps."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from pytest_rageval.clients.errors import (
    AskAgain,
    AuthError,
    CallTimeoutError,
    ClientError,
    ConnectionFailed,
    RateLimitError,
    ServerError,
)
from pytest_rageval.clients.retry import Retry, RetryPolicy


class Course:
    """Runs requests that end as told, and records the waits between them."""

    def __init__(self, *ends: BaseException | str, **policy: float) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.ends = list(ends)
        self.retry = Retry(
            RetryPolicy(**policy),  # type: ignore[arg-type]
            random.Random(0),
            self._sleep,
            lambda: self.now,
        )

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    async def _attempt(self) -> str:
        end = self.ends.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    def run(self) -> str:
        return asyncio.run(self.retry.run(self._attempt))

    def fails(self) -> ClientError:
        with pytest.raises(ClientError) as caught:
            self.run()
        return caught.value


def server_errors(count: int) -> Sequence[ServerError]:
    return [ServerError("down", is_transient=True) for _ in range(count)]


def rate_limits(count: int, retry_after_s: float | None = None) -> Sequence[RateLimitError]:
    return [
        RateLimitError("full", is_transient=True, retry_after_s=retry_after_s) for _ in range(count)
    ]


@pytest.mark.parametrize("kind", [ServerError, CallTimeoutError, ConnectionFailed, RateLimitError])
def test_what_may_pass_is_asked_again(kind: type[ClientError]) -> None:
    assert Course(kind("x", is_transient=True), "yes").run() == "yes"


def test_what_does_not_pass_is_not_asked_again() -> None:
    course = Course(AuthError("no"), "never")
    assert str(course.fails()) == "no"
    assert course.waits == []


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    """Between half and all of 0.5, 1, 2, 4, 8, 10, 10."""
    course = Course(*server_errors(7), "yes", retries=7, longest_wait_s=10.0)
    assert course.run() == "yes"
    full = [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert all(top / 2 <= wait <= top for top, wait in zip(full, course.waits, strict=True))
    assert len({wait / top for top, wait in zip(full, course.waits, strict=True)}) == 7


def test_retries_are_counted_and_the_error_says_how_many() -> None:
    course = Course(*server_errors(9), retries=4)
    assert str(course.fails()) == "down (5 attempts)"
    assert len(course.waits) == 4


def test_the_wait_that_the_server_asks_for_is_kept_and_spread() -> None:
    """Never before 3 s, and at most half of the usual wait (0.5, then 1 s) after."""
    course = Course(*rate_limits(2, retry_after_s=3.0), "yes")
    course.run()
    assert 3.0 <= course.waits[0] <= 3.25
    assert 3.0 <= course.waits[1] <= 3.5


def test_a_rate_limit_does_not_count_as_a_failure() -> None:
    """Ten of them, although two retries are allowed."""
    assert Course(*rate_limits(10, 0.1), "yes", retries=2).run() == "yes"


def test_waits_have_a_limit_together() -> None:
    """4 + 4 fits into 10 s, a third does not."""
    course = Course(*rate_limits(9, 4.0), max_wait_s=10.0, first_wait_s=0.01)
    assert str(course.fails()) == (
        "full (3 attempts; the server asks to wait 4 s more, max_wait_s is 10)"
    )


def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    course = Course(*rate_limits(1, 3600.0))
    assert "asks to wait 3600 s more, max_wait_s is 120" in str(course.fails())
    assert course.waits == []


def test_a_server_that_is_down_costs_the_run_its_longest_wait_once() -> None:
    """Each call would wait 7.5 s; after 20 s without any success the next fails at once."""
    course = Course(*server_errors(100), max_wait_s=20.0)
    errors = [course.fails() for _ in range(8)]
    assert errors[0].attempts == 5
    assert [error.attempts for error in errors[-2:]] == [1, 1]
    assert "nothing has succeeded for" in str(errors[-1])
    assert course.now < 20.0 + 7.5


def test_a_success_ends_the_outage() -> None:
    course = Course(*server_errors(15), "yes", *server_errors(5), max_wait_s=10.0)
    while course.ends[0] != "yes":
        course.fails()
    assert course.run() == "yes"
    assert course.fails().attempts == 5


def test_a_failure_long_ago_is_no_outage() -> None:
    course = Course(*server_errors(6), "yes", max_wait_s=10.0)
    course.fails()
    course.now += 100.0  # nothing was asked meanwhile
    assert course.run() == "yes"


def test_a_request_put_differently_is_sent_at_once_and_is_no_failure() -> None:
    course = Course(AskAgain(), AskAgain(), "yes", retries=0)
    assert course.run() == "yes"
    assert course.waits == []


def test_cancelling_ends_the_wait() -> None:
    async def main() -> None:
        async def fails() -> None:
            raise ServerError("down", is_transient=True)

        task = asyncio.create_task(Retry(RetryPolicy(first_wait_s=60.0)).run(fails))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 5.0))
