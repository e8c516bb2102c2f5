"""Pauses that a server asks for, and the patience of the calls that keep them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from pytest_rageval.clients.errors import RateLimitError, ServerError
from pytest_rageval.clients.limits.limits import Limits, _rates_name, limits_name, open_limits
from pytest_rageval.clients.limits.retry import Patience
from pytest_rageval.clients.settings import ClientSettings, RunSettings


def limits() -> Limits:
    return open_limits(ClientSettings("m"), RunSettings())


@pytest.mark.parametrize(
    ("run", "slots", "a_minute"),
    [
        (RunSettings(), 12, 600.0),
        (RunSettings(shards=3), 4, 200.0),
        (RunSettings(shards=3, processes=2), 2, 100.0),
        (RunSettings(shards=60), 1, 10.0),
    ],
)
def test_a_shard_has_its_part(run: RunSettings, slots: int, a_minute: float) -> None:
    """[E17] Of 12 slots, one at least, and of 600 requests a minute."""
    found = open_limits(ClientSettings("m", concurrency=12, rpm=600), run)
    assert found._slots.room.limit == slots
    assert found._rates is not None
    assert found._rates._windows._capacities[0] == a_minute
    assert found._rates._windows._parts == 600 / a_minute


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ({"concurrency": 2}, False),
        *[({"temperature": 1.0}, True), ({"timeout_s": 9.0, "reasks": 0}, True)],
        *[({"headers": {"X-Title": "Acme"}}, True), ({"role": "target"}, False)],
        *[({"base_url": "http://h/v1?backend=b"}, False), ({"api_key_env": "B"}, False)],
        ({"headers": {"api-key": "${B}"}}, False),
    ],
)
def test_models_of_one_role_and_account_have_the_same_limits(
    other: dict[str, Any], is_same: bool
) -> None:
    one = {"base_url": "http://h/v1?backend=a", "api_key_env": "A", "headers": {"X-Env": "test"}}
    names = {limits_name(ClientSettings("m", **{**one, **fields})) for fields in ({}, other)}
    assert (len(names) == 1) == is_same


def test_roles_of_a_model_share_its_rates_whatever_they_have_in_flight() -> None:
    """Judge and target took twice the requests a minute that the file allows."""
    one = ClientSettings("m", rpm=600, concurrency=8)
    other = ClientSettings("m", rpm=600, concurrency=4, role="target")
    assert _rates_name(one) == _rates_name(other) != _rates_name(ClientSettings("m", rpm=60))
    assert _rates_name(ClientSettings("m", rpm=600, api_key_env="B")) != _rates_name(one)


def test_a_pause_is_no_longer_than_the_patience_of_a_call() -> None:
    """[R1] Others may make the pause longer and longer; what this call waits is bounded."""

    async def main() -> float:
        ours, patience = limits(), Patience(0.02)
        ours.pause(60.0)
        await ours.start(1.0, patience)
        await ours.start(1.0, patience)
        return patience.left_s

    assert asyncio.run(asyncio.wait_for(main(), 60.0)) == 0.0


def test_the_time_that_a_rate_limit_takes_is_of_the_patience() -> None:
    """[R1] A server may be slow to say so."""

    async def main() -> float:
        patience = Patience(60.0)
        with suppress(RateLimitError), limits().pausing(patience):
            await asyncio.sleep(0.01)
            raise RateLimitError("full", is_transient=True)
        return patience.left_s

    assert asyncio.run(main()) <= 59.99


@pytest.mark.parametrize("error", [ServerError("down"), RateLimitError("full", retry_after_s=61.0)])
def test_what_one_call_does_not_wait_for_makes_no_other_wait(error: Exception) -> None:
    async def main() -> None:
        ours = limits()
        with pytest.raises(type(error)), ours.pausing(Patience(60.0)):
            raise error
        await ours.start(1.0, Patience(60.0))

    asyncio.run(asyncio.wait_for(main(), 60.0))
