"""[R10] A model of which no reply can be used is not asked for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients.base import Message
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.errors import InvalidOutputError, NotAskedError
from pytest_rageval.clients.limits.limited_call import UnusableReplies
from pytest_rageval.clients.settings import ClientSettings, RunSettings

Settings = Callable[..., ClientSettings]
Within = Callable[..., Any]


def asked(
    within: Within, settings: ClientSettings, count: int = 40, run: RunSettings | None = None
) -> list[Any]:
    """Ask for ``count`` numbers, all at once; return replies and errors."""

    async def work(clients: Clients) -> list[Any]:
        chat = clients.chat(settings)
        questions = (chat.complete([Message("user", f"{n}")], accept=float) for n in range(count))
        return await asyncio.gather(*questions, return_exceptions=True)

    found: list[Any] = within(work, run or RunSettings())
    return found


def test_after_so_many_replies_that_cannot_be_used_nothing_is_asked(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R10] 40 questions, 3 requests each: 20 requests, and a reply is shown."""
    server.options.answer = lambda body: "no\nnumber"
    found = asked(within, settings(concurrency=1, max_failures=20))
    assert len(server.chats) == 20
    # First come first served: one reply for each of twenty.
    assert [type(one) for one in found] == [InvalidOutputError] * 20 + [NotAskedError] * 20
    assert str(found[-1]) == (
        "not asked: judge 'm' gave 20 replies in a row that cannot be used (judge.max_failures is "
        "20; null: never stop); one was 'no number'"
    )


def test_what_is_in_flight_ends_with_its_own_reply(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R10] None of it is asked for again: 20 and those in flight at most."""
    server.options.answer = lambda body: "no"
    server.options.latency_s = 0.02
    found = asked(within, settings(concurrency=32, max_failures=5), 240)
    assert len(server.chats) <= 5 + 32
    assert sum(isinstance(one, NotAskedError) for one in found) >= 240 - 37


@pytest.mark.parametrize(("usable", "asked_for"), [(0, 21), (4, 25), (18, 39), (21, 20)])
def test_a_usable_reply_begins_the_count_anew(
    usable: int, asked_for: int, server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R6] 20 in a row, wherever they begin: one usable reply keeps no judge for ever."""
    server.options.answer = lambda body: "1" if len(server.chats) == usable + 1 else "no"
    found = asked(within, settings(concurrency=1, reasks=0, max_failures=20))
    assert len(server.chats) == asked_for
    assert sum(isinstance(one, NotAskedError) for one in found) == 40 - asked_for


def test_null_is_never(server: FakeOpenAI, settings: Settings, within: Within) -> None:
    """[R10]"""
    server.options.answer = lambda body: "no"
    asked(within, settings(max_failures=None))
    assert len(server.chats) == 40 * 3


def test_a_reply_in_the_cache_shows_that_the_model_can(
    server: FakeOpenAI, settings: Settings, within: Within, tmp_path: Path
) -> None:
    """[R10] The first question is answered by an earlier run."""
    run = RunSettings(cache_dir=tmp_path)
    server.options.answer = lambda body: "1"
    asked(within, settings(concurrency=1, max_failures=20), 1, run)
    server.options.answer = lambda body: "no"
    found = asked(within, settings(concurrency=1, reasks=0, max_failures=20), 21, run)
    assert not any(isinstance(one, NotAskedError) for one in found)


def test_all_processes_count_together(tmp_path: Path) -> None:
    """[R10] [R6] Two objects stand for two processes; a third begins later, a fourth can do it."""
    settings = ClientSettings("m", max_failures=4)
    one, other = (UnusableReplies(settings, tmp_path) for _ in range(2))
    one.note_unusable("no")
    UnusableReplies(settings, tmp_path).note_usable()
    for _ in range(2):
        assert one.problem() is None
        one.note_unusable("first «reply»")
        assert other.problem() is None
        other.note_unusable("another")
    third = UnusableReplies(settings, tmp_path)
    assert str(third.problem()).startswith("not asked: judge 'm' gave 4 replies in a row")
    assert str(one.problem()).endswith("one was 'first «reply»'")
    assert UnusableReplies(ClientSettings("n", max_failures=4), tmp_path).problem() is None
    UnusableReplies(settings, tmp_path).note_usable()
    assert other.problem() is None  # it had not given up
    assert one.problem() is not None


def test_where_nothing_can_be_written_each_process_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    replies = UnusableReplies(ClientSettings("m", max_failures=2), tmp_path / "file" / "shared")
    replies.note_unusable("one")
    replies.note_unusable("two")
    assert replies.problem() is not None
