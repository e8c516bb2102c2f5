"""Asking again, with a clock that only moves when somebody sleeps."""

from __future__ import annotations

import asyncio
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
from pytest_rageval.clients.limits import retry
from pytest_rageval.clients.limits.retry import Retry


class Course:
    """Runs requests that end as told, and records the waits between them."""

    def __init__(self, *ends: BaseException | str, **policy: float) -> None:
        self.now = 0.0
        self.waits: list[float] = []
        self.ends = list(ends)
        self.retry = Retry(sleep=self._sleep, clock=lambda: self.now, **policy)  # type: ignore[arg-type]

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    async def _attempt(self) -> str:
        end = self.ends.pop(0)
        if isinstance(end, BaseException):
            raise end
        return end

    def run(self) -> str:
        return asyncio.run(self.retry.run(self._attempt, self.retry.patience()))

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


def test_waits_double_with_jitter_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between three quarters and all of 0.5, 1, 2, 4, 8, 10, 10."""
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 10.0)
    course = Course(*server_errors(7), "yes", retries=7)
    assert course.run() == "yes"
    full = [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert all(0.75 * top <= wait <= top for top, wait in zip(full, course.waits, strict=True))
    assert len({wait / top for top, wait in zip(full, course.waits, strict=True)}) == 7


def test_retries_are_counted_and_the_error_says_how_many() -> None:
    course = Course(*server_errors(9), retries=4)
    assert str(course.fails()) == "down (5 attempts)"
    assert len(course.waits) == 4


def test_the_wait_that_the_server_asks_for_is_kept_and_spread() -> None:
    """Never before 3 s, and at most half of the own wait (0.5, then 1 s) after."""
    course = Course(*rate_limits(2, retry_after_s=3.0), "yes")
    course.run()
    assert 3.0 <= course.waits[0] <= 3.25
    assert 3.0 <= course.waits[1] <= 3.5


def test_a_rate_limit_does_not_count_as_a_failure() -> None:
    """Eight of them, although two retries are allowed: their waits are 91.5 s at most."""
    assert Course(*rate_limits(8, 0.1), "yes", retries=2).run() == "yes"


@pytest.mark.parametrize("retry_after_s", [None, 0.0, -3.0, 0.05, 0.4])
def test_a_server_cannot_make_us_ask_faster(
    retry_after_s: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R1] The own waits, from 0.5 s on and doubling, are the least."""
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 1e4)
    course = Course(*rate_limits(12, retry_after_s), max_wait_s=1e4)
    course.fails()
    full = [0.5 * 2**n for n in range(11)]
    assert all(wait >= 0.75 * top for wait, top in zip(course.waits, full, strict=True))
    assert all(late > early for early, late in zip(course.waits, course.waits[1:], strict=False))


@pytest.mark.parametrize("retries", [0, 4, 20])
def test_a_call_sends_twelve_requests_at_most(retries: int) -> None:
    """[R1] Whatever it may wait, and whatever else fails between the rate limits."""
    course = Course(*rate_limits(50, 0.0), max_wait_s=1e6, retries=retries)
    assert str(course.fails()) == "full (12 attempts; a call gives up after 12 requests)"
    course = Course(*server_errors(50), max_wait_s=1e6, retries=20)
    assert course.fails().attempts == 12


def test_requests_of_one_call_share_its_patience() -> None:
    """[R1] A reply that cannot be used is asked for again: 9 + 3 requests, 10 + 0 s of waits."""
    course = Course(*rate_limits(8, 0.0), "odd", *rate_limits(9, 0.0), max_wait_s=1e6)
    patience = course.retry.patience()
    assert asyncio.run(course.retry.run(course._attempt, patience)) == "odd"
    with pytest.raises(RateLimitError) as caught:
        asyncio.run(course.retry.run(course._attempt, patience))
    assert caught.value.attempts == 3
    assert patience.requests == 12
    assert patience.left_s == pytest.approx(1e6 - sum(course.waits))


@pytest.mark.parametrize("retry_after_s", [None, 0.0, 0.05, 7.0, 119.0])
def test_a_call_that_meets_nothing_but_rate_limits_ends_in_time(
    retry_after_s: float | None,
) -> None:
    """[R1] Its waits keep max_wait_s, 120 s."""
    course = Course(*rate_limits(12, retry_after_s))
    course.fails()
    assert course.now <= 120.0


def test_waits_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 + 4 fits into 10 s, a third does not."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.01)
    course = Course(*rate_limits(9, 4.0), max_wait_s=10.0)
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


def starting(count: int) -> list[ClientError]:
    errors = [ConnectionFailed("refused", is_transient=True) for _ in range(count)]
    for error in errors:
        error.may_be_starting = True
    return [*errors]


def test_a_server_that_is_starting_is_waited_for_until_it_has_worked_once() -> None:
    """[R9] 20 times refused: 0.5, 1, 2, then 17 times 4 s at most; after a success five times."""
    course = Course(*starting(20), "yes", *starting(9))
    assert course.run() == "yes"
    assert 52.0 < course.now <= 71.5
    assert course.retry.waiting == ""
    assert course.fails().attempts == 5


def test_a_server_that_never_starts_costs_the_run_its_longest_wait_once() -> None:
    """[R9] A call waits 120 s at most, whatever its retries; the next ones fail at once."""
    course = Course(*starting(100))
    assert "waited" in str(course.fails())
    assert 115.0 <= course.now <= 120.0
    course.now += 1.0
    course.fails()
    assert course.now <= 126.0
    assert Course(*starting(1), retries=0).fails().attempts == 1  # whoever wants no retries


def test_a_request_that_was_lost_in_a_queue_is_no_failure_but_one_of_twelve() -> None:
    """[R1] It is sent again at once; alone in flight it counts."""
    lost = [CallTimeoutError("late", is_transient=True) for _ in range(20)]
    for error in lost:
        error.uses_up_a_retry = False
    course = Course(*lost[:10], "yes", *lost, retries=0)
    assert course.run() == "yes"
    assert course.waits == [0.0] * 10
    assert str(course.fails()) == "late (12 attempts; a call gives up after 12 requests)"


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


def test_rate_limits_and_nothing_else_for_long_end_a_call_at_once() -> None:
    """The next call notices a server that takes requests again: it sends one."""
    course = Course(*rate_limits(20, 8.0), "yes", max_wait_s=20.0)
    while "nothing has succeeded for" not in str(course.fails()):
        pass
    waited = len(course.waits)
    assert course.fails().attempts == 1
    assert len(course.waits) == waited
    course.ends = ["yes"]
    assert course.run() == "yes"


async def ask_in_turn(
    course: Course, calls: int, least: int = 10**6, retry_after_s: float | None = None
) -> list[ClientError]:
    """Ask call after call, as a worker does: every third meets rate limits, ``least`` of them."""
    errors = []
    for number in range(calls):
        sent = 0

        async def attempt(number: int = number) -> str:
            nonlocal sent
            sent += 1
            course.now += 0.1  # each request takes a while
            if number % 3 == 0 and sent <= least:
                raise rate_limits(1, retry_after_s)[0]
            return "yes"

        try:
            await course.retry.run(attempt, course.retry.patience())
        except ClientError as error:
            errors.append(error)
    return errors


@pytest.mark.parametrize("max_wait_s", [10.0, 120.0])
def test_rate_limits_that_no_wait_ends_cost_a_run_its_longest_wait_once(max_wait_s: float) -> None:
    """[X11] Ten calls of thirty meet them for ever, one after the other; the others succeed.

    All waits of the first call and those of the second fit into max_wait_s and the longest wait.
    The eight others wait half a second each. Each request takes 0.1 s.
    """
    course = Course(max_wait_s=max_wait_s)
    errors = asyncio.run(ask_in_turn(course, 30))
    assert len(errors) == 10
    assert course.now <= max_wait_s + 30.0 + 8 * 0.5 + 60 * 0.1
    assert [error.attempts for error in errors[-7:]] == [2] * 7
    assert "full (2 attempts; no call that was told to wait has succeeded for" in str(errors[-1])


def test_a_wait_that_helps_gives_all_calls_their_patience_back() -> None:
    """[X11] Half a second is tried in any case, so a server that recovers is noticed.

    100 calls of 300 are told five times to wait: 15.5 s at most each, much more than 20 s together.
    """
    assert asyncio.run(ask_in_turn(Course(max_wait_s=20.0), 300, least=5)) == []
    course = Course(max_wait_s=10.0)
    assert asyncio.run(ask_in_turn(course, 12))[-1].attempts == 2
    assert asyncio.run(ask_in_turn(course, 3, least=1)) == []
    assert asyncio.run(ask_in_turn(course, 3))[-1].attempts > 2


def test_a_server_that_asks_for_a_long_wait_in_vain_is_waited_for_once_a_call() -> None:
    """[X11] Its word counts: a server that is only busy would lose calls that it soon takes."""
    course = Course(max_wait_s=20.0)
    errors = asyncio.run(ask_in_turn(course, 30, retry_after_s=8.0))
    assert [error.attempts for error in errors[-6:]] == [2] * 6
    assert course.now <= 2 * (20.0 + 8.5) + 8 * 8.5 + 60 * 0.1


def test_a_call_that_would_be_taken_after_its_wait_is_not_given_up_before() -> None:
    """[X11] A busy server: those before it have waited in vain, for others took their places."""
    course = Course(max_wait_s=20.0)
    assert asyncio.run(ask_in_turn(course, 30, retry_after_s=8.0)) != []
    assert asyncio.run(ask_in_turn(course, 3, retry_after_s=8.0, least=1)) == []


def test_a_request_put_differently_is_sent_at_once_and_is_no_failure() -> None:
    refused = ServerError("no such parameter")
    course = Course(AskAgain(refused), AskAgain(refused), "yes", retries=0)
    assert course.run() == "yes"
    assert course.waits == []


def test_a_request_that_no_change_suits_fails_with_what_the_server_said() -> None:
    """Six ways to put it are more than any provider has: what comes back is no signal of ours."""
    course = Course(*[AskAgain(ServerError(f"no {at}")) for at in range(9)], retries=0)
    assert str(course.fails()) == "no 5"
    assert len(course.ends) == 3


def test_cancelling_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 60.0)

    async def main() -> None:
        async def fails() -> None:
            raise ServerError("down", is_transient=True)

        patient = Retry()
        task = asyncio.create_task(patient.run(fails, patient.patience()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 60.0))
