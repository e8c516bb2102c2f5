"""The chat client: cache, replay, re-asks, and who is counted for what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients.accounting import Purpose, asking, run_usage, scenario_usage
from pytest_rageval.clients.base import Accept, ChatClient, Message, Reply, ReplySchema, Usage
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.errors import (
    BudgetError,
    ClientError,
    InvalidOutputError,
    NotAskedError,
    RefusedError,
    ReplayMissError,
    ServerError,
    TruncatedError,
)
from pytest_rageval.clients.settings import ClientSettings, Price, RunSettings

SCHEMA = ReplySchema("Verdict", {"type": "object", "properties": {"score": {"type": "integer"}}})
Ask = Callable[..., Any]
Run = Callable[..., RunSettings]
Settings = Callable[..., ClientSettings]
Within = Callable[..., Any]


def json_only(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        raise ValueError("it is not JSON") from None


def entries(folder: Path) -> list[str]:
    """Return the lines of replies in the cache."""
    files = folder.rglob("*.reply.jsonl")
    return [line for file in files for line in file.read_text().splitlines()]


async def question(
    client: ChatClient, text: str = "Well?", accept: Accept | None = json_only
) -> Reply:
    return await client.complete([Message("user", text)], schema=SCHEMA, accept=accept)


@pytest.fixture
def judged(settings: Settings, within: Within) -> Ask:
    """Return a function: ask one question for JSON; return the reply."""

    def ask(text: str = "Well?", run: RunSettings | None = None, **fields: Any) -> Reply:
        async def work(clients: Clients) -> Reply:
            return await question(clients.chat(settings(**fields)), text)

        reply: Reply = within(work, run)
        return reply

    return ask


@pytest.mark.parametrize(
    ("mode", "requests", "kept"),
    [("off", 2, 0), ("read", 2, 0), ("readwrite", 1, 1), ("refresh", 1, 1)],
)
def test_modes_ask_and_keep_as_they_say(
    mode: str, requests: int, kept: int, server: FakeOpenAI, run: Run, within: Within,
    settings: Settings, tmp_path: Path,
) -> None:  # fmt: skip
    """The same question twice in one run."""

    async def work(clients: Clients) -> None:
        chat = clients.chat(settings())
        await question(chat)
        await question(chat)

    within(work, run(cache_mode=mode))
    assert len(server.chats) == requests
    assert len(entries(tmp_path)) == kept


def test_refresh_asks_anew_what_an_earlier_run_has_kept(
    server: FakeOpenAI, ask: Ask, run: Run
) -> None:
    ask()
    server.options.answer = lambda body: "something new"
    ask(run=run(cache_mode="refresh", shared_dir=None))
    assert ask().text == "something new"
    assert len(server.chats) == 2


def test_replay_needs_no_server_no_key_and_no_socket(
    server: FakeOpenAI, ask: Ask, run: Run, monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    recorded = ask()
    monkeypatch.delenv("JUDGE_KEY")
    request.getfixturevalue("no_sockets")
    replayed = ask(run=run(cache_mode="replay"))
    assert (replayed.text, replayed.cached) == (recorded.text, True)


def test_a_miss_in_replay_sends_nothing_and_says_what_differs(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run, request: Any
) -> None:
    async def work(clients: Clients, model: str) -> None:
        with asking(Purpose("faithfulness", sample="s1")):
            await question(clients.chat(settings(model=model)))

    within(lambda clients: work(clients, "old"))
    request.getfixturevalue("no_sockets")
    with pytest.raises(ReplayMissError) as caught:
        within(lambda clients: work(clients, "new"), run(cache_mode="replay"))
    assert str(caught.value) == (
        "judge 'new': no reply in the cache for sample 's1', metric faithfulness (replay sends "
        "no requests); the nearest entry differs: model: 'new' here, 'old' in the cache"
    )
    assert len(server.chats) == 1


def test_the_socket_block_of_these_tests_does_block(
    server: FakeOpenAI, ask: Ask, no_sockets: None
) -> None:
    with pytest.raises(AssertionError, match="a socket was opened"):
        ask()


def test_equal_questions_at_the_same_time_are_asked_once(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def work(clients: Clients) -> list[Reply]:
        chat = clients.chat(settings())
        return await asyncio.gather(*(question(chat) for _ in range(5)))

    server.options.latency_s = 0.05
    replies = within(work)
    assert len(server.chats) == 1
    assert [reply.cached for reply in replies] == [False, True, True, True, True]
    assert len({reply.text for reply in replies}) == 1


def test_repeats_are_different_questions(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def work(clients: Clients) -> None:
        for repeat in (0, 1, 0):
            with asking(Purpose("f", repeat=repeat)):
                await question(clients.chat(settings()))

    within(work)
    assert len(server.chats) == 2


def test_usage_is_counted_for_each_scenario_and_for_the_run(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run, tmp_path: Path
) -> None:
    async def sample(clients: Clients, scenario: str, text: str) -> None:
        with asking(Purpose("f", scenario=scenario)):
            await question(clients.chat(settings(price=Price(1.0, 1.0))), text)

    async def work(clients: Clients) -> Usage:
        await sample(clients, "one", "Is it?")
        await asyncio.gather(
            sample(clients, "other", "Is it not?"), sample(clients, "again", "Is it?")
        )
        return clients.usage

    total = within(work)
    one, other, again = (
        scenario_usage(tmp_path / "run", name) for name in ("one", "other", "again")
    )
    assert one is not None
    assert other is not None
    assert (one.calls, other.calls, again) == (1, 1, Usage(cached=1))
    assert total == one + other + Usage(cached=1)
    assert total.cost_usd == pytest.approx((total.prompt_tokens + total.completion_tokens) / 1e6)
    assert run_usage(tmp_path / "run") == total


def test_a_reply_that_is_not_accepted_is_asked_for_again_with_the_reason(
    server: FakeOpenAI, judged: Ask
) -> None:
    server.then("prose", "ok")
    reply = judged()
    assert json.loads(reply.text) == {"score": json.loads(reply.text)["score"]}
    assert reply.usage.calls == 2
    again = server.chats[1].body["messages"]
    assert [turn["role"] for turn in again] == ["user", "assistant", "user"]
    assert again[1]["content"] == "It looks fine."
    assert again[2]["content"] == (
        "That reply cannot be used: it is not JSON\nReply again, with the JSON only."
    )


def test_what_is_never_accepted_is_an_error_with_the_reply_and_is_not_kept(
    server: FakeOpenAI, judged: Ask, tmp_path: Path
) -> None:
    server.then("prose", "prose", "prose")
    with pytest.raises(InvalidOutputError) as caught:
        judged()
    assert str(caught.value) == (
        "judge 'm': the reply cannot be used: it is not JSON; it was 'It looks fine.' (3 attempts)"
    )
    assert entries(tmp_path) == []
    assert judged().text  # the next run asks again


def test_a_reply_without_content_is_asked_for_again(server: FakeOpenAI, judged: Ask) -> None:
    server.then("null", "ok")
    judged()
    assert [turn["role"] for turn in server.chats[1].body["messages"]] == ["user", "user"]


def test_a_reply_that_is_cut_off_is_asked_for_again_with_more_room(
    server: FakeOpenAI, judged: Ask
) -> None:
    server.then("length", "length", "ok")
    assert json.loads(judged(max_tokens=100).text)
    assert [seen.body["max_tokens"] for seen in server.chats] == [100, 200, 400]


def test_a_reply_that_is_always_cut_off_is_an_error(server: FakeOpenAI, judged: Ask) -> None:
    server.then(*["length"] * 3)
    with pytest.raises(TruncatedError) as caught:
        judged()
    assert str(caught.value).startswith(
        "judge 'm': the reply is cut off where the server ends it; judge.max_tokens may allow more;"
    )
    assert str(caught.value).endswith(" (3 attempts)")


@pytest.mark.parametrize(
    ("reasks", "words"),
    [(0, "at judge.max_tokens 100;"), (2, "at 400 tokens, asked for after judge.max_tokens 100 ")],
)
def test_a_reply_that_is_cut_off_says_how_long_it_could_be(
    reasks: int, words: str, server: FakeOpenAI, judged: Ask
) -> None:
    server.then(*["length"] * 3)
    with pytest.raises(TruncatedError) as caught:
        judged(max_tokens=100, reasks=reasks)
    assert f"the reply is cut off {words}" in str(caught.value)


def test_a_refusal_is_not_asked_again(server: FakeOpenAI, judged: Ask) -> None:
    server.then("refusal")
    with pytest.raises(RefusedError):
        judged()
    assert len(server.chats) == 1


def test_calls_without_a_price_are_counted_beside_a_cost(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """Else a part of the cost would pass for all of it. Three calls, of which two have no price."""

    async def work(clients: Clients) -> Usage:
        for text, price in (("one", Price(1.0)), ("two", None), ("three", None)):
            await question(clients.chat(settings(price=price)), text)
        return clients.usage

    usage = within(work)
    assert (usage.calls, usage.unpriced) == (3, 2)
    assert usage.cost_usd > 0.0


def test_what_an_error_cost_is_counted(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def work(clients: Clients) -> Usage:
        with pytest.raises(InvalidOutputError):
            await question(clients.chat(settings(price=Price(1.0))))
        return clients.usage

    server.then("prose", "prose", "prose")
    usage = within(work)
    assert usage.calls == 3
    assert usage.cost_usd > 0.0


def test_a_kept_reply_that_is_not_accepted_any_more_is_asked_for_again(
    server: FakeOpenAI, ask: Ask, judged: Ask, run: Run, tmp_path: Path
) -> None:
    judged()
    (path,) = tmp_path.rglob("*.reply.jsonl")
    entry = json.loads(path.read_text())
    entry["value"]["text"] = "spoilt"
    path.write_text(json.dumps(entry) + "\n")
    with pytest.raises(InvalidOutputError, match="it is not JSON; it was 'spoilt'"):
        judged(run=run(cache_mode="replay"))
    assert json.loads(judged().text)
    assert len(server.chats) == 2
    assert json.loads(judged(run=run(cache_mode="replay")).text)


def test_a_cache_that_cannot_be_written_costs_no_reply(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run, tmp_path: Path
) -> None:
    async def work(clients: Clients) -> Any:
        return await question(clients.chat(settings())), clients.problems

    (tmp_path / "cache").write_text("a file in the way")
    reply, problems = within(work, run())
    assert reply.text
    assert len(problems) == 1
    assert problems[0].startswith("replies are not kept: ")


def test_the_budget_ends_the_asking_but_not_the_cache(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run
) -> None:
    """A reply costs 1 USD at 500,000 a million tokens of 2; the budget is for three."""
    server.options.answer = lambda body: "12345678"  # 2 tokens

    async def work(clients: Clients) -> Any:
        chat = clients.chat(settings(price=Price(0.0, 500_000.0), max_tokens=2, concurrency=1))
        return await asyncio.gather(
            *(question(chat, f"{n}", None) for n in [*range(10), 0]), return_exceptions=True
        )

    results = within(work, run(budget_usd=3.5))
    assert [isinstance(result, BudgetError) for result in results] == [False] * 3 + [True] * 7 + [
        False
    ]
    assert len(server.chats) == 3
    again = within(work, run(budget_usd=3.5, shared_dir=None))
    assert [isinstance(result, BudgetError) for result in again] == [False] * 6 + [True] * 4 + [
        False
    ]


def test_a_budget_is_used_up_whatever_calls_in_flight_hold_back(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R11] 21 USD, guessed 5 a call and 2 in fact: ten calls, though twenty begin at once."""
    server.options.answer = lambda body: "12345678"  # 2 tokens of 1 USD
    server.options.latency_s = 0.02

    async def work(clients: Clients) -> Any:
        chat = clients.chat(settings(price=Price(0.0, 1e6), max_tokens=5, concurrency=20))
        return await asyncio.gather(
            *(question(chat, f"{n}", None) for n in range(20)), return_exceptions=True
        )

    results = within(work, RunSettings(budget_usd=21.0))
    assert sum(isinstance(result, BudgetError) for result in results) == 10
    assert len(server.chats) == 10


def test_a_run_that_was_stopped_pays_only_for_the_rest(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def stopped(clients: Clients) -> int:
        chat = clients.chat(settings(concurrency=4))
        tasks = [asyncio.create_task(question(chat, f"{n}?")) for n in range(20)]
        await asyncio.wait(tasks[:8])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return sum(not task.cancelled() for task in tasks)

    async def whole(clients: Clients) -> None:
        chat = clients.chat(settings())
        await asyncio.gather(*(question(chat, f"{n}?") for n in range(20)))

    server.options.latency_s = 0.02
    finished = within(stopped)
    assert 8 <= finished < 20
    server.forget()
    within(whole)
    # Requests of tasks that were cancelled may still arrive: each question counts once.
    asked = {seen.body["messages"][0]["content"] for seen in server.chats}
    assert len(asked) == 20 - finished


@pytest.mark.full
def test_faults_that_clear_leave_the_replies_of_a_run_without_faults(
    server: FakeOpenAI, settings: Settings, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(clients: Clients, timeout_s: float) -> list[str]:
        chat = clients.chat(settings(timeout_s=timeout_s))
        replies = await asyncio.gather(*(question(chat, f"{n}?") for n in range(120)))
        return [reply.text for reply in replies]

    from pytest_rageval.clients.limits import retry

    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.005)
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 0.3)
    calm = within(lambda clients: work(clients, 10.0), RunSettings())
    assert len(server.chats) == 120
    server.forget()
    faults = ("429:0.01", "429", "500", "prose", "length", "reset", "cut", "hang", "not_json")
    server.options.fault_rates = dict.fromkeys(faults, 0.03)
    assert within(lambda clients: work(clients, 0.5), RunSettings()) == calm
    assert len(server.chats) > 130


def test_a_server_with_one_slot_loses_nothing_to_time_outs(
    run: Run, within: Within, tmp_path: Path
) -> None:
    """[R1] 16 rows, 32 in flight by default: it serves three in the time that a request has."""
    pytest.importorskip("aiohttp")
    with FakeOpenAI(slots=1, latency_s=0.2) as server:
        settings = ClientSettings("m", base_url=server.base_url, timeout_s=0.76, retries=3)

        async def work(clients: Clients) -> tuple[list[Reply], Clients]:
            chat = clients.chat(settings)
            return await asyncio.gather(*(question(chat, f"{n}?") for n in range(16))), clients

        replies, clients = within(work)
    assert len(replies) == 16
    assert (clients.usage.calls, clients.usage.cost_usd) == (len(server.chats), None)
    assert clients.usage.prompt_tokens > sum(reply.usage.prompt_tokens for reply in replies)
    assert len(server.chats) < 80
    _, said = clients.problems
    lost, rest = said.removeprefix("judge: ").split(" of ", 1)
    assert int(lost) == len(server.chats) - 16
    assert rest.startswith(f"{len(server.chats)} requests timed out while 1")
    assert "at a time: write judge.concurrency: " in rest
    assert rest.endswith("or raise judge.timeout_s. Their tokens are estimated")


def test_a_loop_that_is_alone_is_asked_for_less(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R1] At 7 tokens a second 60 s end before 2,048 tokens do; the next ones begin with 256."""
    server.options.answer = lambda body: '{"score": "' + "It is so. " * 200
    server.then("hang", "length", "length")

    async def work(clients: Clients) -> None:
        chat = clients.chat(settings(timeout_s=0.3, retries=4))
        for text in ("one", "two"):
            with pytest.raises(TruncatedError, match="repeats itself until") as caught:
                await question(chat, text)
            assert caught.value.faults == {"cut_off": 1}

    within(work)
    assert [seen.body.get("max_tokens") for seen in server.chats] == [2048, 256, 256]


def test_those_that_wait_behind_a_loop_are_asked_for_less(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R1] One of five loops takes the whole time-out, not each."""
    server.options.answer = lambda body: '{"score": "' + "It is so. " * 200
    server.then("hang", *["length"] * 5)

    async def work(clients: Clients) -> list[Any]:
        chat = clients.chat(settings(timeout_s=0.3, concurrency=1))
        asked = (question(chat, f"{n}") for n in range(5))
        return await asyncio.gather(*asked, return_exceptions=True)

    assert all(isinstance(one, TruncatedError) for one in within(work))
    assert [seen.body.get("max_tokens") for seen in server.chats] == [2048] + [256] * 5


def test_a_reply_longer_than_after_a_time_out_is_not_lost(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R1] One hiccup: what needed the whole length gives it back to the next questions."""

    async def work(clients: Clients) -> None:
        chat = clients.chat(settings(timeout_s=0.3))
        for text in ("one", "two"):
            assert (await question(chat, text)).text

    server.then("hang", "length", "length", "ok", "ok")
    within(work)
    sent = [seen.body.get("max_tokens") for seen in server.chats]
    assert sent == [2048, 256, 512, None, 2048]


@pytest.mark.parametrize("most", [None, 400])
def test_a_call_that_is_late_alone_is_sent_once_more(
    most: int | None, server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R1] Then it is a reply that cannot be used; after two such calls nobody is asked."""
    server.options.fault_rates, server.options.sticky = {"hang": 1.0}, True

    async def work(clients: Clients) -> list[ClientError]:
        chat = clients.chat(settings(timeout_s=0.2, retries=4, max_failures=2, max_tokens=most))
        found = []
        for text in ("one", "two", "three"):
            with pytest.raises(ClientError) as caught:
                await question(chat, text)
            found.append(caught.value)
        return found

    first, second, third = within(work)
    assert str(first).endswith(
        "no answer in time (timeout_s is 0.2), though no other request was in flight; raise "
        "judge.timeout_s, or write a smaller judge.max_tokens (2 attempts)"
    )
    assert first.faults == second.faults == {"late": 1}
    assert isinstance(third, NotAskedError)
    assert len(server.chats) == 4


def test_a_loop_is_not_asked_for_again(server: FakeOpenAI, judged: Ask) -> None:
    """[R7] Neither with more tokens nor without a limit."""
    server.options.answer = lambda body: '{"score": "' + "It is so. " * 200
    server.then("length", "length")
    for most in (None, 64):
        with pytest.raises(TruncatedError) as caught:
            judged(max_tokens=most)
        assert "the reply repeats itself until it is cut off; it was" in str(caught.value)
    assert len(server.chats) == 2


def test_a_limit_that_nobody_wrote_loses_no_long_reply(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """[R1] The last request has none; what was enough is where the next question begins."""

    async def work(clients: Clients) -> None:
        chat = clients.chat(settings())
        for text in ("one", "two", "three"):
            await question(chat, text)

    server.then("length", "ok", "ok", "length", "length", "ok")
    within(work)
    sent = [seen.body.get("max_tokens") for seen in server.chats]
    assert sent == [2048, 4096, 4096, 4096, 8192, None]


def test_a_limit_that_nobody_wrote_is_left_out_where_it_does_not_fit(
    server: FakeOpenAI, judged: Ask
) -> None:
    """[R1] vLLM refuses a limit that is above what its context has left."""
    server.then("400 'max_tokens' is too large: 2048. You requested 2048 in the completion")
    assert judged().text
    assert [seen.body.get("max_tokens") for seen in server.chats] == [2048, None]


@pytest.mark.parametrize(
    ("status", "words", "forms"),
    [
        ("422", "unknown field response_format", ["json_schema", "json_object"]),
        ("500", "Input should be 'text' or 'json_object'", ["json_schema", "json_object"]),
        ("501", "grammar is not supported", ["json_schema", "json_object"]),
        ("500", "oops", ["json_schema", "json_schema", "json_object"]),
        ("503", "oops", ["json_schema"] * 3),
    ],
)
def test_a_form_that_is_refused_in_any_way_is_left(
    status: str, words: str, forms: list[str], server: FakeOpenAI, judged: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """[R2] At once where the server names it, else before it is given up after a retry."""
    monkeypatch.setattr("pytest_rageval.clients.limits.retry.FIRST_WAIT_S", 0.001)
    server.then(*[f"{status} {words}"] * (len(forms) - 1))
    assert judged(retries=1).text
    assert [seen.body["response_format"]["type"] for seen in server.chats] == forms


def test_a_failure_that_may_be_the_form_names_its_key(server: FakeOpenAI, judged: Ask) -> None:
    """[R2]"""
    server.then("500")
    with pytest.raises(ServerError, match=r"judge\.form says how JSON is asked for: json_object"):
        judged(retries=0, form="json_object")
