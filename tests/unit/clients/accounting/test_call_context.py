"""Whom a call is for, and what the calls of a block used."""

from __future__ import annotations

import asyncio

from pytest_rageval.clients.accounting import (
    Purpose,
    asking,
    count_answer,
    current_purpose,
    in_flight,
)


def test_a_purpose_is_known_inside_its_block_and_in_the_tasks_started_there() -> None:
    async def purpose_in_a_task() -> Purpose:
        with asking(Purpose("faithfulness", sample="s1")):
            return await asyncio.create_task(_current())

    async def _current() -> Purpose:
        return current_purpose()

    assert asyncio.run(purpose_in_a_task()).sample == "s1"
    assert current_purpose() == Purpose()
    assert str(Purpose("f1", sample="s1")) == "sample 's1', metric f1"


def test_a_block_inside_another_counts_for_both() -> None:
    with asking(Purpose(sample="s1")) as sample:
        with asking(Purpose("faithfulness")) as one:
            count_answer()
        with asking(Purpose("recall")) as other:
            count_answer()
            count_answer()
    count_answer()  # outside of any block: of no tally
    assert (one.answers, other.answers, sample.answers) == (1, 2, 3)


def test_a_block_can_wait_for_calls_that_are_still_in_flight() -> None:
    """Of a block inside of it, too; another's are none of its business."""
    ended: list[str] = []

    async def call(name: str, turns: int) -> None:
        with in_flight():
            for _ in range(turns):
                await asyncio.sleep(0)
        ended.append(name)

    async def main() -> list[str]:
        with asking(Purpose(sample="other")):
            other = asyncio.create_task(call("other", 1000))
        with asking(Purpose(sample="s1")) as sample:
            outer = asyncio.create_task(call("outer", 20))
            with asking(Purpose("recall")):
                inner = asyncio.create_task(call("inner", 10))
            await asyncio.sleep(0)
            assert ended == []
            await sample.settle()
            await sample.settle()  # nothing is left to wait for
        found = list(ended)
        await asyncio.gather(other, outer, inner)
        return found

    assert asyncio.run(main()) == ["inner", "outer"]


def test_tallies_of_concurrent_tasks_do_not_mix() -> None:
    async def count(answers: int) -> int:
        with asking(Purpose(sample=str(answers))) as tally:
            for _ in range(answers):
                await asyncio.sleep(0)
                count_answer()
        return tally.answers

    async def main() -> list[int]:
        return await asyncio.gather(*map(count, range(5)))

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]
