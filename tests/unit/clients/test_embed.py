"""The embedding client: batches, cache, replay, cancellation, texts that a server does not take."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI, vector_of

from pytest_rageval.clients.accounting import Ledger, Purpose, asking, current_purpose
from pytest_rageval.clients.base import Usage, Vectors
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.embed import CachedEmbeddings
from pytest_rageval.clients.errors import BadRequestError, ReplayMissError, ServerError
from pytest_rageval.clients.settings import ClientSettings, RunSettings

Run = Callable[..., RunSettings]
Settings = Callable[..., ClientSettings]
Within = Callable[..., Any]


class Model:
    """Embeds a text as its length, once ``go`` is set; notes the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.ledger = Ledger()
        self.purposes: list[Purpose] = []
        self.asked, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()
        self.cancelled = 0
        self.error: Exception | None = None

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        self.asked.set()
        self.purposes.append(current_purpose())
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        if any("poison" in text for text in texts):
            raise BadRequestError("poisoned")
        return Vectors([array("f", [len(text)]) for text in texts])

    async def aclose(self) -> None:
        """Nothing was opened."""


def play(work: Callable[[CachedEmbeddings, Model], Any], batch_size: int = 4) -> Any:
    async def main() -> Any:
        model = Model()
        settings = ClientSettings("m", role="embedding", batch_size=batch_size)
        client = CachedEmbeddings(settings, model, None, Cache(RunSettings()), model.ledger)
        try:
            async with asyncio.timeout(60.0):
                return await work(client, model)
        finally:
            await client.aclose()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(main())


def test_a_failure_that_a_metric_swallows_is_noted() -> None:
    """No score of it would be "does not apply", and pass a gate."""

    async def work(client: CachedEmbeddings, model: Model) -> None:
        with asking(Purpose("m")) as tally:
            await client.embed(["a"])
            for texts in ([""], ["a", ""]):  # of which no model is asked
                with pytest.raises(BadRequestError, match="an empty text has no embedding"):
                    await client.embed(texts)
            assert tally.failure is None
            with pytest.raises(BadRequestError, match="poisoned"):
                await client.embed(["poison"])
        assert isinstance(tally.failure, BadRequestError)

    play(work)


def test_what_is_asked_within_a_moment_is_sent_together_and_each_text_once() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        first, second = await asyncio.gather(
            client.embed(["a", "bb", "a"]), client.embed(["bb", "ccc"])
        )
        assert [vector[0] for vector in first] == [1.0, 2.0, 1.0]
        assert [vector[0] for vector in second] == [2.0, 3.0]
        assert model.batches == [["a", "bb", "ccc"]]

    play(work)


def test_a_batch_is_for_no_sample_in_particular() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        with asking(Purpose("f", sample="s1")):
            await client.embed(["a"])
        assert model.purposes == [Purpose()]

    play(work)


def test_a_batch_is_put_down_to_the_scenario_that_asked_first() -> None:
    """The other one that waits for the same text has its vector from another's call."""

    async def ask(client: CachedEmbeddings, scenario: str, *texts: str) -> None:
        with asking(Purpose("f", scenario=scenario)):
            await client.embed(texts)

    async def work(client: CachedEmbeddings, model: Model) -> None:
        await asyncio.gather(
            ask(client, "one", "a", "b"), ask(client, "two", "a"), ask(client, "two", "a", "c")
        )
        assert model.batches == [["a", "b"], ["c"]]
        assert [purpose.scenario for purpose in model.purposes] == ["one", "two"]
        assert model.ledger.usage == Usage(cached=1)

    play(work)


def test_a_full_batch_does_not_wait_and_none_is_larger() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        await client.embed([f"{n}" for n in range(10)])
        assert sorted(map(len, model.batches)) == [2, 4, 4]

    play(work)


def test_a_text_under_way_is_not_sent_again() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        model.go.clear()
        first = asyncio.create_task(client.embed(["a"]))
        await model.asked.wait()
        second = asyncio.create_task(client.embed(["a"]))
        await asyncio.sleep(0.02)
        model.go.set()
        assert await first == await second
        assert model.batches == [["a"]]

    play(work)


def test_no_texts_are_no_vectors_and_an_empty_text_is_an_error() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        assert await client.embed([]) == []
        with pytest.raises(BadRequestError, match="embedding 'm': an empty text"):
            await client.embed(["a", ""])
        assert model.batches == []

    play(work)


def test_a_text_that_is_not_taken_does_not_spoil_its_batch() -> None:
    """Halves: the four, two and two, then one and one of the half that fails."""

    async def work(client: CachedEmbeddings, model: Model) -> None:
        good = asyncio.create_task(client.embed(["a", "bb", "ccc"]))
        bad = asyncio.create_task(client.embed(["poison"]))
        assert [vector[0] for vector in await good] == [1.0, 2.0, 3.0]
        with pytest.raises(BadRequestError):
            await bad
        assert [len(batch) for batch in model.batches] == [4, 2, 2, 1, 1]

    play(work)


def test_an_error_is_that_of_all_in_the_batch_and_of_nobody_later() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        model.error = ServerError("down")
        tasks = [asyncio.create_task(client.embed([text])) for text in "ab"]
        for task in tasks:
            with pytest.raises(ServerError):
                await task
        model.error = None
        assert len(await client.embed(["a"])) == 1

    play(work)


def test_a_text_that_nobody_waits_for_any_more_is_not_sent() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        stays, leaves = (asyncio.create_task(client.embed([text])) for text in ("a", "b"))
        await asyncio.sleep(0)
        leaves.cancel()
        await stays
        assert model.batches == [["a"]]

    play(work)


def test_a_batch_is_cancelled_with_the_last_who_waits_and_can_be_asked_again() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        model.go.clear()
        tasks = [asyncio.create_task(client.embed([text])) for text in ("a", "b")]
        await model.asked.wait()
        tasks[0].cancel()
        await asyncio.sleep(0.01)
        assert model.cancelled == 0
        tasks[1].cancel()
        await asyncio.sleep(0)
        again = asyncio.create_task(client.embed(["a"]))
        model.go.set()
        assert (await again)[0][0] == 1.0
        assert model.cancelled == 1
        assert model.batches == [["a", "b"], ["a"]]

    play(work)


def test_closing_ends_those_who_wait() -> None:
    async def work(client: CachedEmbeddings, model: Model) -> None:
        model.go.clear()
        sent = asyncio.create_task(client.embed(["a"]))
        await model.asked.wait()
        queued = asyncio.create_task(client.embed(["b"]))
        await asyncio.sleep(0)
        await client.aclose()
        for task in (sent, queued):
            with pytest.raises(asyncio.CancelledError):
                await task

    play(work)


def test_vectors_are_kept_to_the_last_bit(
    server: FakeOpenAI, settings: Settings, within: Within, tmp_path: Path
) -> None:
    async def work(clients: Clients) -> Any:
        vectors = await clients.embedding(settings()).embed(["one", "two", "one"])
        return vectors, clients.usage

    first, _ = within(work)
    second, usage = within(work)
    assert first == second
    assert list(first[0]) == pytest.approx(vector_of("one"), abs=1e-7)
    assert len(server.embeddings) == 1
    assert usage == Usage(cached=1)
    (path,) = tmp_path.rglob("*.vector.jsonl")
    assert len(path.read_text().splitlines()) == 2


def test_a_damaged_vector_is_asked_for_again(
    server: FakeOpenAI, settings: Settings, within: Within, tmp_path: Path
) -> None:
    async def work(clients: Clients) -> Any:
        return await clients.embedding(settings()).embed(["one"])

    first = within(work)
    (path,) = tmp_path.rglob("*.vector.jsonl")
    path.write_text(path.read_text().replace('"float32": "', '"float32": "*'))
    assert within(work) == first
    assert len(server.embeddings) == 2


def test_replay_opens_no_socket_and_a_miss_says_how_many(
    server: FakeOpenAI, settings: Settings, within: Within, run: Run, request: Any
) -> None:
    async def work(clients: Clients, *texts: str) -> Any:
        with asking(Purpose("similarity", sample="s1")):
            return await clients.embedding(settings(role="embedding")).embed(texts)

    recorded = within(lambda clients: work(clients, "one", "two"))
    request.getfixturevalue("no_sockets")
    replay = run(cache_mode="replay")
    assert within(lambda clients: work(clients, "one", "two"), replay) == recorded
    with pytest.raises(ReplayMissError) as caught:
        within(lambda clients: work(clients, "one", "twin", "six"), replay)
    assert str(caught.value) == (
        "embedding 'm': 2 of the vectors are not in the cache for sample 's1', metric similarity "
        "(replay sends no requests); the nearest entry differs: the text differs from character 3: "
        "'twin' here, 'two' in the cache"
    )


def test_a_text_too_long_for_a_server_fails_alone(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    async def work(clients: Clients) -> Any:
        client = clients.embedding(settings())
        return await asyncio.gather(
            *(client.embed([text]) for text in ("one", "too long", "three")),
            return_exceptions=True,
        )

    one, error, three = within(work)
    assert len(one) == len(three) == 1
    assert isinstance(error, BadRequestError)
    assert "longer than 8192 tokens" in str(error)
