"""What was used, by which process and scenario, and the budget of all of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_rageval.clients.accounting import Ledger, Purpose, asking, run_usage, scenario_usage
from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import BudgetError


def test_usage_adds_up_and_an_unknown_price_is_not_zero() -> None:
    priced = Usage(100, 10, calls=1, cost_usd=0.25)
    assert priced + Usage(1, 2, cached=3) == Usage(101, 12, calls=1, cached=3, cost_usd=0.25)
    assert priced + priced == Usage(200, 20, calls=2, cost_usd=0.5)
    assert (Usage(calls=1) + Usage(calls=1)).cost_usd is None
    assert (priced + Usage(calls=2, unpriced=2)).unpriced == 2


class Held:
    """Costs that are held back, one after the other, in an event loop."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def settle(self, about: float, cost: float | None = None, wait_s: float = 0.0) -> None:
        """Ask for about ``about`` USD, which take ``wait_s`` and cost ``cost`` in the end."""
        async with self.ledger.reserve(lambda: about):
            await asyncio.sleep(wait_s)
            if cost is not None:
                self.ledger.count(Usage(calls=1, cost_usd=cost))


def settle(ledger: Ledger, about: float, cost: float | None = None) -> None:
    asyncio.run(Held(ledger).settle(about, cost))


def test_the_budget_stops_before_it_would_be_exceeded() -> None:
    """0.3 + 0.3 + 0.3 fits into 1.0, a fourth does not."""
    ledger = Ledger(1.0)
    for _ in range(3):
        settle(ledger, 0.3, 0.3)
    with pytest.raises(BudgetError) as caught:
        settle(ledger, 0.3)
    assert str(caught.value) == (
        "the budget of 1 USD is spent: 3 calls cost 0.9000 USD, and a call of about 0.3000 USD "
        "would exceed it; nothing more is asked"
    )
    with pytest.raises(BudgetError):
        settle(ledger, 0.0)  # nor what would be cheaper, from then on


def test_a_request_under_way_counts_with_its_estimate_and_then_with_its_cost() -> None:
    ledger = Ledger(1.0)
    settle(ledger, 0.9, 0.1)
    settle(ledger, 0.9)  # 0.1 + 0.9 is the budget


def test_a_budget_too_small_for_one_call_says_what_a_call_costs() -> None:
    """Nothing was asked, so nothing is spent; costs are shown with two digits at least."""
    ledger = Ledger(0.0001)
    with pytest.raises(BudgetError) as caught:
        settle(ledger, 0.000214)
    assert str(caught.value) == (
        "the budget of 0.0001 USD is too small for a call of about 0.00021 USD; nothing is asked"
    )


def test_what_is_held_back_delays_calls_and_does_not_end_the_run() -> None:
    """[R11] Twenty calls of about 0.3 that cost 0.1, in a budget of 1: 8, and then 0.8 + 0.3 > 1.

    Never more than three are on their way.
    """

    async def main() -> list[BaseException | None]:
        held = Held(Ledger(1.0))
        calls = (held.settle(0.3, 0.1, wait_s=0.001) for _ in range(20))
        return await asyncio.gather(*calls, return_exceptions=True)

    found = asyncio.run(main())
    assert [error is None for error in found] == [True] * 8 + [False] * 12
    assert all(isinstance(error, BudgetError) for error in found[8:])
    assert "8 calls cost 0.8000 USD, and a call of about 0.3000 USD would exceed" in str(found[8])


def test_an_estimate_that_gets_better_while_one_waits_counts() -> None:
    """[R11] The first guess, 0.9, would never fit beside the 0.5 that are spent."""

    async def main() -> None:
        ledger = Ledger(1.0)
        first = asyncio.create_task(Held(ledger).settle(0.5, 0.5, wait_s=0.03))
        await asyncio.sleep(0)
        async with ledger.reserve(lambda: 0.2 if first.done() else 0.9):
            assert first.done()

    asyncio.run(asyncio.wait_for(main(), 60.0))


def test_who_is_cancelled_while_waiting_holds_nothing_back() -> None:
    async def main() -> None:
        held = Held(Ledger(1.0))
        async with held.ledger.reserve(lambda: 0.9):
            waiting = asyncio.create_task(held.settle(0.9))
            await asyncio.sleep(0.001)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await held.settle(0.9)

    asyncio.run(asyncio.wait_for(main(), 60.0))


def test_no_budget_is_never_spent() -> None:
    ledger = Ledger()
    settle(ledger, 1e9, 1e9)
    settle(ledger, 1e9)


def test_the_budget_is_that_of_all_processes(tmp_path: Path) -> None:
    """Two ledgers stand for two processes: each has a file of its own.

    Nobody can tell whether the other one lives: what it holds back counts as spent.
    """
    one, other = Ledger(1.0, tmp_path), Ledger(1.0, tmp_path)
    settle(one, 0.5, 0.5)

    async def main() -> None:
        # 0.5 spent and 0.4 under way leave less than 0.2.
        async with other.reserve(lambda: 0.4):
            with pytest.raises(BudgetError):
                await Held(one).settle(0.2)

    asyncio.run(main())
    one.close()
    other.close()


def test_what_all_processes_used_is_known_after_they_ended(tmp_path: Path) -> None:
    one, other = Ledger(None, tmp_path), Ledger(None, tmp_path)
    one.count(Usage(10, 1, calls=1, cost_usd=0.25))
    other.count(Usage(5, 2, calls=1, cached=3, unpriced=1))
    one.close()
    other.close()
    assert run_usage(tmp_path) == Usage(15, 3, calls=2, cached=3, cost_usd=0.25, unpriced=1)


def test_a_folder_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ledger = Ledger(None, tmp_path / "file")
    ledger.count(Usage(calls=1))
    ledger.count(Usage(calls=1))
    assert ledger.usage.calls == 2
    assert ledger.problem is not None
    assert ledger.problem.startswith(f"usage is not shared: {tmp_path / 'file'}: ")


def test_each_scenario_has_an_account_of_its_own(tmp_path: Path) -> None:
    """Over two processes. A block inside of another is for that one's scenario."""
    one, other = Ledger(None, tmp_path), Ledger(None, tmp_path)
    with asking(Purpose("f", scenario="a")):
        one.count(Usage(1, 2, calls=1, cost_usd=0.25))
    with asking(Purpose("f", scenario="b")), asking(Purpose("prompts")):
        one.count(Usage(3, 4, calls=1))
        other.count(Usage(cached=1))
    with asking(Purpose("f", scenario="a")):
        one.count(Usage(5, 6, calls=1, cost_usd=0.5))
    one.count(Usage(calls=7))
    one.close()
    other.close()
    assert scenario_usage(tmp_path, "a") == Usage(6, 8, calls=2, cost_usd=0.75)
    assert scenario_usage(tmp_path, "b") == Usage(3, 4, calls=1, cached=1)
    assert run_usage(tmp_path) == Usage(9, 12, calls=10, cached=1, cost_usd=0.75)


def test_a_scenario_whose_calls_all_fail_has_asked_and_another_has_not(tmp_path: Path) -> None:
    ledger = Ledger(1.0, tmp_path)
    with asking(Purpose("f", scenario="a")):
        settle(ledger, 0.5)
    ledger.close()
    assert scenario_usage(tmp_path, "a") == Usage()
    assert scenario_usage(tmp_path, "b") is None
    assert scenario_usage(tmp_path / "absent", "a") is None


def test_a_damaged_account_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "usage-1-x").write_bytes(b"half")
    assert run_usage(tmp_path) == Usage()
    assert run_usage(tmp_path / "absent") == Usage()
