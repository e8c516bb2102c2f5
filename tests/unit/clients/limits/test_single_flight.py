"""The same question at the same time, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pytest_rageval.clients.limits.single_flight import SingleFlight


class Questions:
    """Counts how often something is really asked; it takes until ``answer`` is set."""

    def __init__(self) -> None:
        self.flights: SingleFlight[str] = SingleFlight()
        self.asked = 0
        self.answer = asyncio.Event()
        self.error: Exception | None = None

    def ask(self, key: str = "k") -> asyncio.Task[str]:
        return asyncio.create_task(
            self.flights.run(key, lambda: None, self._ask, lambda text: f"shared {text}")
        )

    async def _ask(self) -> str:
        self.asked += 1
        await self.answer.wait()
        if self.error:
            raise self.error
        return "answer"


def play(work: Callable[[Questions], Awaitable[None]]) -> None:
    async def main() -> None:
        await work(Questions())

    asyncio.run(asyncio.wait_for(main(), 60.0))


def test_one_asks_and_all_get_the_answer() -> None:
    async def work(questions: Questions) -> None:
        tasks = [questions.ask() for _ in range(4)]
        await asyncio.sleep(0)
        questions.answer.set()
        assert await asyncio.gather(*tasks) == ["answer", *["shared answer"] * 3]
        assert questions.asked == 1

    play(work)


def test_different_questions_do_not_wait_for_each_other() -> None:
    async def work(questions: Questions) -> None:
        tasks = [questions.ask(key) for key in "ab"]
        await asyncio.sleep(0)
        assert questions.asked == 2
        questions.answer.set()
        await asyncio.gather(*tasks)

    play(work)


def test_when_the_one_who_asks_is_cancelled_the_next_one_asks() -> None:
    async def work(questions: Questions) -> None:
        first, second, third = (questions.ask() for _ in range(3))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        questions.answer.set()
        assert sorted(await asyncio.gather(second, third)) == ["answer", "shared answer"]
        assert questions.asked == 2

    play(work)


def test_when_one_who_waits_is_cancelled_the_others_do_not_notice() -> None:
    async def work(questions: Questions) -> None:
        first, second = questions.ask(), questions.ask()
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        questions.answer.set()
        assert await first == "answer"

    play(work)


def test_an_error_is_that_of_all_who_wait_and_of_nobody_later() -> None:
    async def work(questions: Questions) -> None:
        questions.error = ValueError("no")
        tasks = [questions.ask(), questions.ask()]
        await asyncio.sleep(0)
        questions.answer.set()
        for task in tasks:
            with pytest.raises(ValueError, match="no"):
                await task
        assert questions.asked == 1
        questions.error = None
        assert await questions.ask() == "answer"

    play(work)
