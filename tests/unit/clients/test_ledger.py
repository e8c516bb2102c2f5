"""What was used, by which process and scenario, and the budget of all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import BudgetError
from pytest_rageval.clients.ledger import Ledger, run_usage, scenario_usage
from pytest_rageval.clients.purpose import Purpose, asking


def test_usage_adds_up_and_an_unknown_price_is_not_zero() -> None:
    priced = Usage(100, 10, calls=1, cost_usd=0.25)
    assert priced + Usage(1, 2, cached=3) == Usage(101, 12, calls=1, cached=3, cost_usd=0.25)
    assert priced + priced == Usage(200, 20, calls=2, cost_usd=0.5)
    assert (Usage(calls=1) + Usage(calls=1)).cost_usd is None


def test_the_budget_stops_before_it_would_be_exceeded() -> None:
    """0.3 + 0.3 + 0.3 fits into 1.0, a fourth does not."""
    ledger = Ledger(1.0)
    for _ in range(3):
        with ledger.reserve(0.3):
            ledger.count(Usage(calls=1, cost_usd=0.3))
    with pytest.raises(BudgetError) as caught:
        ledger.reserve(0.3).__enter__()
    assert str(caught.value) == (
        "the budget of 1 USD is spent: 3 calls cost 0.9000 USD, and a call of about 0.3000 USD "
        "would exceed it; nothing more is asked"
    )
    with pytest.raises(BudgetError):
        ledger.reserve(0.0).__enter__()  # nor what would be cheaper, from then on


def test_a_request_under_way_counts_with_its_estimate_and_then_with_its_cost() -> None:
    ledger = Ledger(1.0)
    with ledger.reserve(0.9):
        ledger.count(Usage(calls=1, cost_usd=0.1))
    with ledger.reserve(0.9):  # 0.1 + 0.9 is the budget
        pass


def test_a_budget_too_small_for_one_call_says_what_a_call_costs() -> None:
    """Nothing was asked, so nothing is spent; costs are shown with two digits at least."""
    ledger = Ledger(0.0001)
    with pytest.raises(BudgetError) as caught:
        ledger.reserve(0.000214).__enter__()
    assert str(caught.value) == (
        "the budget of 0.0001 USD does not reach for a call of about 0.00021 USD; nothing is asked"
    )


def test_a_budget_that_is_taken_by_calls_on_their_way_says_so() -> None:
    ledger = Ledger(1.0)
    with ledger.reserve(0.4), ledger.reserve(0.5), pytest.raises(BudgetError) as caught:
        ledger.reserve(0.3).__enter__()
    assert "is spent: those on their way about 0.9000 USD, and a call of about 0.3000" in str(
        caught.value
    )


def test_no_budget_is_never_spent() -> None:
    ledger = Ledger()
    with ledger.reserve(1e9):
        ledger.count(Usage(cost_usd=1e9))
    with ledger.reserve(1e9):
        pass


def test_the_budget_is_that_of_all_processes(tmp_path: Path) -> None:
    """Two ledgers stand for two processes: each has a file of its own."""
    one, other = Ledger(1.0, tmp_path), Ledger(1.0, tmp_path)
    with one.reserve(0.5):
        one.count(Usage(calls=1, cost_usd=0.5))
    # 0.5 spent and 0.4 under way leave less than 0.2.
    with other.reserve(0.4), pytest.raises(BudgetError):
        one.reserve(0.2).__enter__()
    one.close()
    other.close()


def test_what_all_processes_used_is_known_after_they_ended(tmp_path: Path) -> None:
    one, other = Ledger(None, tmp_path), Ledger(None, tmp_path)
    one.count(Usage(10, 1, calls=1, cost_usd=0.25))
    other.count(Usage(5, 2, calls=1, cached=3))
    one.close()
    other.close()
    assert run_usage(tmp_path) == Usage(15, 3, calls=2, cached=3, cost_usd=0.25)


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
    with asking(Purpose("f", scenario="a")), ledger.reserve(0.5):
        pass
    ledger.close()
    assert scenario_usage(tmp_path, "a") == Usage()
    assert scenario_usage(tmp_path, "b") is None
    assert scenario_usage(tmp_path / "absent", "a") is None


def test_a_damaged_account_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "usage-1-x").write_bytes(b"half")
    assert run_usage(tmp_path) == Usage()
    assert run_usage(tmp_path / "absent") == Usage()
