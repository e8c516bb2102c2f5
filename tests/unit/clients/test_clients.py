"""The clients of a process, put together."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY, Message, Usage
from pytest_rageval.clients.clients import Clients, check_chat, check_embedding
from pytest_rageval.clients.settings import ClientSettings, Price, RunSettings
from pytest_rageval.registry import UnknownNameError

Run = Callable[..., RunSettings]
Settings = Callable[..., ClientSettings]
Within = Callable[..., Any]


@pytest.mark.full
def test_importing_it_all_loads_no_heavy_package_and_no_pytest() -> None:
    code = (
        "import sys\n"
        "from pytest_rageval.clients import base, clients\n"
        "base.CHAT_REGISTRY.names(), base.EMBEDDING_REGISTRY.names()\n"
        "heavy = {'aiohttp', 'numpy', 'pytest', 'pydantic', 'fastembed', 'sentence_transformers'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_providers_are_found_by_name_and_alias() -> None:
    assert "openai" in CHAT_REGISTRY.names()
    assert EMBEDDING_REGISTRY.names() == ["fastembed", "openai", "python", "sentence-transformers"]
    assert CHAT_REGISTRY.get("openai_compatible").name == "openai"
    with pytest.raises(UnknownNameError, match="Did you mean 'openai'"):
        check_chat(ClientSettings("m", provider="opnai"), RunSettings())


def test_equal_settings_get_the_same_client_in_a_run() -> None:
    clients = Clients(RunSettings())
    one, same = ClientSettings("m", price=Price(1.0)), ClientSettings("m", price=Price(1.0))
    assert clients.chat(one) is clients.chat(same)
    assert clients.chat(one) is not clients.chat(replace(one, model="n"))
    assert clients.embedding(one) is clients.embedding(same)
    asyncio.run(clients.aclose())


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("other", "most"),
    [
        ({}, 1),
        ({"temperature": 1.0}, 1),
        ({"max_tokens": 9, "reasks": 0}, 1),
        *[({"role": "target"}, 2), ({"model": "n"}, 2), ({"api_key_env": "OTHER_KEY"}, 2)],
        ({"headers": {"api-key": "${OTHER_KEY}"}}, 2),
        ({"rpm": 10_000}, 2),
        ({"concurrency": 2}, 3),
    ],
)
def test_a_model_has_its_limits_once_however_it_is_asked(
    other: dict[str, Any],
    most: int,
    processes: int,
    server: FakeOpenAI,
    settings: Settings,
    within: Within,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As judges of two scenarios that ask it otherwise; other limits or accounts have their own."""
    monkeypatch.setenv("OTHER_KEY", "another-key")
    server.options.latency_s = 0.03

    async def work(clients: Clients) -> None:
        models = [settings(concurrency=1), settings(**{"concurrency": 1, **other})]
        questions = [[Message("user", f"{number}?")] for number in range(6)]
        await asyncio.gather(
            *(clients.chat(one).complete(asked) for asked in questions for one in models)
        )

    within(work, run(processes=processes))
    assert server.most_in_flight == most


def test_an_alias_of_a_provider_has_the_same_cache(
    server: FakeOpenAI, ask: Callable[..., Any]
) -> None:
    ask(provider="openai")
    assert ask(provider="openai_compatible").cached
    assert len(server.chats) == 1


def test_nothing_is_made_on_disk_before_something_is_asked(run: Run, tmp_path: Path) -> None:
    clients = Clients(run())
    clients.chat(ClientSettings("m"))
    clients.embedding(ClientSettings("m"))
    asyncio.run(clients.aclose())
    assert list(tmp_path.iterdir()) == []


def test_a_budget_needs_a_price() -> None:
    pytest.importorskip("aiohttp")
    run = RunSettings(budget_usd=1.0)
    (problem,) = check_chat(ClientSettings("m"), run)
    assert problem.startswith("price: needed for a budget")
    assert problem.endswith("{input: 0.15, output: 0.60}")  # without output, replies were free
    assert check_chat(ClientSettings("m", price=Price(0.1)), run) == []
    assert check_embedding(ClientSettings("m:f", provider="python"), run) == []
    (problem,) = check_embedding(ClientSettings("m"), run)
    assert problem.endswith("{input: 0.02}")


def test_replay_needs_no_key_but_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY")
    settings = ClientSettings("m", api_key_env="JUDGE_KEY")
    assert check_chat(settings, RunSettings(cache_mode="replay")) == []
    assert len(check_chat(settings, RunSettings())) >= 1
    with pytest.raises(ValueError, match="replay needs a cache folder"):
        Clients(RunSettings(cache_mode="replay"))


def test_the_calls_of_earlier_samples_are_sent_first(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def work(clients: Clients) -> None:
        chat = clients.chat(settings(concurrency=1))

        async def one(order: int) -> None:
            with asking(Purpose(order=order)):
                await chat.complete([Message("user", f"{order}")])

        await asyncio.gather(*map(one, (0, 3, 1, 2)))

    within(work)
    assert [seen.body["messages"][0]["content"] for seen in server.chats] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(("other", "processes"), [("judge", 1), ("judge", 2), ("target", 2)])
def test_requests_start_no_faster_than_the_rate(
    other: str,
    processes: int,
    server: FakeOpenAI,
    settings: Settings,
    within: Within,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five in 0.2 s; retries count, too: eight questions and two faults are ten requests."""
    from pytest_rageval.clients.limits import limits

    monkeypatch.setattr(limits.open_limits, "__defaults__", (0.2,))
    starts: list[tuple[float, float]] = []
    start = limits.Limits.start

    async def noted(self: limits.Limits, tokens: float, patience: Any) -> float:
        allowed = await start(self, tokens, patience)
        starts.append((allowed, time.monotonic()))
        return allowed

    monkeypatch.setattr(limits.Limits, "start", noted)

    async def work(clients: Clients) -> None:
        chats = [clients.chat(settings(rpm=5, role=role)) for role in ("judge", other)]
        await asyncio.gather(*(chats[n % 2].complete([Message("user", f"{n}")]) for n in range(8)))

    server.then("429:0.01", "ok", "429:0.01")
    within(work, run(processes=processes))
    assert len(server.chats) == len(starts) == 10
    times = sorted(allowed for allowed, _ in starts)
    # Not when they arrive, which a busy machine delays.
    assert all(later - earlier > 0.199 for earlier, later in zip(times, times[5:], strict=False))
    assert all(went > allowed - 0.001 for allowed, went in starts)


@pytest.mark.full
def test_every_moment_is_a_good_one_to_be_cancelled(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """Whatever a call waits for, slot, rate, answer or its next attempt, nothing is left behind."""
    rng = random.Random(7)

    async def work(clients: Clients) -> Usage:
        chat = clients.chat(settings(concurrency=4, tpm=100_000))
        embedder = clients.embedding(settings(role="embedding", model="e", concurrency=2))

        async def impatient(number: int) -> None:
            call = (
                embedder.embed([f"text {number % 7}"])
                if number % 3 == 0
                else chat.complete([Message("user", f"{number % 50}")])
            )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(call, rng.uniform(0.0, 0.06))

        await asyncio.gather(*map(impatient, range(300)))
        server.most_in_flight = 0
        await asyncio.gather(*(chat.complete([Message("user", f"new {n}")]) for n in range(50)))
        assert (
            server.most_in_flight >= 4
        )  # no slot was lost; a cancelled call may still be answered
        return clients.usage

    server.options.latency_s = 0.005
    server.options.embedding_latency_s = 0.01
    server.options.fault_rates = {"429:0.02": 0.1, "reset": 0.1}
    assert within(work).calls > 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files")
def test_no_file_stays_open(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run, tmp_path: Path
) -> None:
    def open_files() -> list[str]:
        links = []
        for link in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):  # the server's thread may close one meanwhile
                links.append(str(link.readlink()))
        return [link for link in links if link.startswith(str(tmp_path))]

    async def work(clients: Clients) -> int:
        await clients.chat(settings(rpm=1000)).complete([Message("user", "Well?")])
        await clients.embedding(settings(role="embedding")).embed(["a text"])
        return len(open_files())

    # Two limits, the rates, the claims, the account, and replies, vectors and their keys.
    assert within(work, run(processes=2)) == 9
    assert open_files() == []


def test_two_runs_after_each_other_in_one_process(
    server: FakeOpenAI, ask: Callable[..., Any]
) -> None:
    """Each has a loop of its own and closes what it opened."""
    assert [ask(str(n), RunSettings()).cached for n in range(3)] == [False] * 3
    assert server.connections == 3


LOADS = """
import sys, threading
from pathlib import Path
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.clients import preload_clients

provider, mode, folder = sys.argv[1:]
settings = ClientSettings("json:dumps", provider=provider)
run = RunSettings(cache_dir=Path(folder), cache_mode=mode)
if provider == "python":
    preload_clients(None, settings, run)
else:
    preload_clients(settings, None, run)
for thread in threading.enumerate():
    if thread.name.startswith("rageval-"):
        thread.join(60)
print("aiohttp" in sys.modules)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("provider", "mode", "is_filled", "is_loaded"),
    [
        ("openai", "readwrite", False, True),
        ("openai", "readwrite", True, False),
        ("openai", "refresh", True, True),
        ("openai", "off", True, True),
        ("openai", "replay", False, False),
        ("python", "readwrite", False, False),
    ],
)
def test_what_requests_need_is_loaded_ahead_where_there_will_be_some(
    provider: str, mode: str, is_filled: bool, is_loaded: bool, tmp_path: Path
) -> None:
    """In a thread: an import in the event loop would hold up all calls."""
    pytest.importorskip("aiohttp")
    if is_filled:
        (tmp_path / "x.reply.jsonl").write_text("")
    command = [sys.executable, "-c", LOADS, provider, mode, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(is_loaded)]
