"""Asking the system under test: limits, times, retries, and what becomes of a sample."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.clients.errors import BudgetError, RateLimitError, ServerError
from pytest_rageval.clients.limits import retry
from pytest_rageval.clients.limits.limits import open_limits
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.plan import TargetPlan
from pytest_rageval.engine.scoring.ask_target import TargetClient, TargetReply, filled, question_key
from pytest_rageval.model import Sample
from pytest_rageval.targets.base import Answer, TargetError, answer_of

SAMPLE = Sample("s", question="q", answer="old", contexts=("o",), context_docs=("o.md",))


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first wait be a hundredth of what it is."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.005)
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 0.3)


class Fake:
    """A target that does what it is told, one after the other; the last for ever."""

    def __init__(self, *steps: Any, wait_s: float = 0.0) -> None:
        self.steps = list(steps)
        self.wait_s = wait_s
        self.asked: list[str] = []
        self.times: list[float] = []
        self.open = self.most = self.closed = 0

    async def answer(self, sample: Sample) -> Answer:
        self.asked.append(sample.id)
        self.times.append(time.monotonic())
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await asyncio.sleep(self.wait_s)
        finally:
            self.open -= 1
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        if isinstance(step, BaseException):
            raise step
        assert isinstance(step, Answer)
        return step

    async def aclose(self) -> None:
        self.closed += 1


def plan(target: Any, **fields: Any) -> TargetPlan:
    settings = ClientSettings("m", role="target", timeout_s=60.0, retries=0)
    names = ("timeout_s", "retries", "max_wait_s", "concurrency", "rpm")
    limits = {name: fields.pop(name) for name in names if name in fields}
    made = TargetPlan("app", frozenset(), replace(settings, **limits), make=lambda: target)
    return replace(made, **fields)


def no_clients() -> Any:
    raise AssertionError("no model is asked")


@contextmanager
def answering(
    target_plan: TargetPlan, run: RunSettings | None = None
) -> Iterator[Callable[..., list[TargetReply]]]:
    """Yield a function that asks about samples, all at once, in one loop."""
    loop = asyncio.new_event_loop()
    run = run or RunSettings()
    asker = TargetClient(target_plan, run, open_limits(target_plan.settings, run), no_clients)

    def ask(*samples: Sample) -> list[TargetReply]:
        async def all_of_them() -> list[TargetReply]:
            return await asyncio.gather(
                *(asker.answer(sample, at) for at, sample in enumerate(samples))
            )

        return loop.run_until_complete(all_of_them())

    try:
        yield ask
    finally:
        loop.run_until_complete(asker.aclose())
        loop.close()


def once(target: Any, sample: Sample = SAMPLE, **fields: Any) -> TargetReply:
    with answering(plan(target, **fields)) as ask:
        return ask(sample)[0]


def test_an_answer_stands_in_the_place_of_what_the_data_held() -> None:
    """[A21] What it says nothing about stays, but for the documents of other contexts."""
    found = once(Fake(Answer("new", ("n",), extra={"t": 1})))
    assert found.error is None
    assert (found.sample.answer, found.sample.contexts) == ("new", ("n",))
    assert found.sample.context_docs is None
    assert found.extra == {"t": 1}
    assert found.latency_s is not None
    kept = once(Fake(Answer("new"))).sample
    assert (kept.contexts, kept.context_docs) == (("o",), ("o.md",))


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        # A new text takes its citations and confidence along, new contexts their ids.
        ({"answer": "a"}, {"contexts", "context_docs", "retrieved_ids"}),
        ({"answer": "a", "contexts": ["n"]}, set()),
        ({"contexts": ["n"]}, set()),
        ({"contexts": [{"text": "n", "id": "1"}, {"text": "m"}]}, set()),
        ({"retrieved_ids": ["n"]}, {"contexts", "context_docs"}),
    ],
)
def test_nothing_of_an_earlier_answer_goes_with_a_new_one(
    answer: dict[str, Any], kept: set[str]
) -> None:
    """[A21] It made a system green that had returned nonsense."""
    said: dict[str, Any] = {
        "answer": "old",
        "contexts": ("o",),
        "context_docs": ("o.md",),
        "retrieved_ids": ("o",),
        "citations": (1,),
        "cited_sentences": (("old", (1,)),),
        "confidence": 0.9,
    }
    found = filled(replace(SAMPLE, **said), answer_of(answer), {})
    assert {name for name, old in said.items() if getattr(found, name) == old} == kept


def test_what_a_system_says_beside_its_text_is_read_where_the_scenario_reads_it() -> None:
    """[A21]"""
    both = {"citations": ("refs", "citations"), "confidence": ("confidence",)}
    answer = answer_of({"answer": "a", "citations": [2, "x"], "confidence": 0.25})
    found = filled(SAMPLE, answer, both)
    assert (found.citations, found.confidence) == ((2, "x"), 0.25)
    named = filled(SAMPLE, answer_of({"answer": "a", "refs": [3]}), both)
    assert named.citations == (3,)  # as the key_map calls it in the data
    found = filled(SAMPLE, answer, {})
    assert (found.citations, found.confidence) == (None, None)
    with pytest.raises(TargetError, match="its confidence must be a number from 0 to 1"):
        filled(SAMPLE, answer_of({"answer": "a", "confidence": "high"}), both)


def test_a_search_that_finds_nothing_has_no_ids() -> None:
    """[A21] Its recall is 0; without ids it would not apply."""
    assert answer_of({"answer": "a", "contexts": []}).retrieved_ids == ()
    assert answer_of({"contexts": [{"id": "d1", "text": ""}]}).retrieved_ids == ("d1",)
    assert answer_of({"contexts": ["a text"]}).retrieved_ids is None
    found = answer_of({"contexts": [{"id": "d1", "text": " "}, {"id": "d2", "text": "b"}, ""]})
    assert found.retrieved_ids == ("d1", "d2")


def test_top_k_cuts_what_is_answered() -> None:
    """[B8]"""
    answer = Answer("a", ("1", "2", "3"), (None, "b", "c"), ("x", "y", "z"))
    found = filled(SAMPLE, answer, {}, 2)
    assert (found.contexts, found.context_docs) == (("1", "2"), (None, "b"))
    assert found.retrieved_ids == ("x", "y")


XYZ = ["x", "y", "z"]


@pytest.mark.parametrize(
    ("answer", "top_k", "ids", "placed"),
    [
        ({"contexts": XYZ[:2], "retrieved_ids": ["a", "b"]}, None, ("a", "b"), None),
        ({"contexts": XYZ[:1], "retrieved_ids": ["a", "b", "c"]}, 2, ("a", "b"), None),
        ({"contexts": XYZ[:2], "retrieved_ids": ["a", "a", "b"]}, None, ("a", "b"), None),
        ({"contexts": XYZ, "retrieved_ids": ["a", "a"]}, None, ("a",), None),
        ({"contexts": ["", *XYZ], "retrieved_ids": ["a", "a", "b"]}, None, ("a", "b"), None),
        ({"contexts": ["", "x", "y"], "retrieved_ids": ["a", "a", "b"]}, None, ("a", "b"), None),
        ({"retrieved_ids": ["a", "a", "b"]}, None, ("a", "b"), None),
        ({"contexts": XYZ}, None, None, None),
        ({}, None, ("o",), ("o", "o")),
        ({"contexts": XYZ, "retrieved_ids": ["a", "a", "b"]}, None, ("a", "b"), ("a", "a", "b")),
        ({"contexts": XYZ, "retrieved_ids": ["a", "a", "b"]}, 3, ("a", "b"), ("a", "a", "b")),
        ({"contexts": [*XYZ, "w"], "retrieved_ids": [*"aabb"]}, 3, ("a", "b"), ("a", "a", "b")),
        # The ids are cut after the repeated one is gone.
        ({"contexts": XYZ, "retrieved_ids": ["a", "a", "b"]}, 2, ("a", "b"), None),
        ({"contexts": [{"text": t, "id": "a"} for t in "xy"]}, None, ("a",), ("a", "a")),
        (Answer("a", ("x", "y", "z"), None, ("b", "b", "a")), None, ("b", "a"), ("b", "b", "a")),
        (Answer("a", ("x", "y", "z"), ("b", "a", "b"), ("b", "b", "a")), None, ("b", "a"), None),
    ],
)
def test_contexts_keep_the_ids_of_their_places(
    answer: Any, top_k: int | None, ids: tuple[str, ...] | None, placed: tuple[str, ...] | None
) -> None:
    """A citation [3] means the third one, where the first two are of one document."""
    old = replace(SAMPLE, contexts=("1", "2"), retrieved_ids=("o",), context_ids=("o", "o"))
    given = {"answer": "a", **answer} if isinstance(answer, dict) else answer
    found = filled(old, answer_of(given), {}, top_k)
    assert (found.retrieved_ids, found.context_ids) == (ids, placed)


def test_places_of_an_earlier_search_change_no_question_and_no_digest() -> None:
    """Answers that are kept, and digests of control rows, are those of versions without them."""
    placed = replace(SAMPLE, context_ids=("o", "o"))
    for sends_history in (True, False):
        target = plan(None, fields=None, sends_history=sends_history)
        assert target.asked(placed) == target.asked(SAMPLE)
        assert question_key(target, placed) == question_key(target, SAMPLE)
    assert repr(placed) == repr(SAMPLE)


def test_a_blank_context_keeps_its_place_where_places_are_cited() -> None:
    """[2] is the second one, whatever the first holds."""
    answer = answer_of({"answer": "a [2]", "contexts": ["", {"text": "b", "source": "b.pdf"}]})
    plain = filled(SAMPLE, answer, {})
    placed = filled(SAMPLE, answer, {"citations": ("citations",)})
    assert (plain.contexts, plain.context_docs) == (("b",), ("b.pdf",))
    assert (placed.contexts, placed.context_docs) == (("", "b"), (None, "b.pdf"))
    assert answer_of({"answer": "a", "contexts": ["", " "]}).contexts == ()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TargetError("returned nothing"), "app: returned nothing"),
        (ServerError("host: HTTP 500"), "app: host: HTTP 500"),
        # As of a judge's metric: gates look for the prefix, and a run that stopped is not green.
        (BudgetError("the budget is spent"), "budget: app: the budget is spent"),
        (KeyError("chunks"), "app: KeyError: 'chunks'"),
        (TimeoutError("its own"), "app: TimeoutError: its own"),
        # These would end the event loop, with everybody in it, or look as if we had cancelled.
        (asyncio.CancelledError("its own"), "app: CancelledError: its own"),
        (SystemExit(3), "app: SystemExit: 3"),
    ],
)
def test_every_failure_is_an_error_with_its_words(error: BaseException, message: str) -> None:
    """[A21] The sample is as it was."""
    found = once(Fake(error))
    assert found.sample is SAMPLE
    assert (found.error or "").startswith(message)


def test_a_target_that_hangs_is_left_alone() -> None:
    """[A21]"""
    target = Fake(Answer("late"), wait_s=600.0)
    found = once(target, timeout_s=0.05)
    assert found.error == "app: did not answer within 0.05 s (timeout_s)"
    assert target.open == 0  # cancelled


def test_cancelling_reaches_the_target_and_comes_back() -> None:
    """Ctrl-C and -x: a cancelled sample has no error."""
    target, run = Fake(Answer("late"), wait_s=60.0), RunSettings()
    asked = plan(target)

    async def stop() -> None:
        asker = TargetClient(asked, run, open_limits(asked.settings, run), no_clients)
        task = asyncio.ensure_future(asker.answer(SAMPLE, 0))
        while not target.open:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    assert target.open == 0


def test_what_fails_in_passing_is_asked_again() -> None:
    """[A21] As often as is said, and nothing else is."""
    passing = ServerError("503", is_transient=True)
    assert once(Fake(passing, passing, Answer("a")), retries=2).sample.answer == "a"
    target = Fake(passing)
    assert once(target, retries=2).error == "app: 503 (3 attempts)"
    assert len(target.asked) == 3
    for final in (TargetError("no"), ServerError("500"), RuntimeError("no")):
        target = Fake(final)
        once(target, retries=2)
        assert len(target.asked) == 1


def test_the_latency_is_that_of_the_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of failed attempts nor of waiting for one's turn: by a clock that answers move."""
    target = Fake(Answer("a"))
    answered = SimpleNamespace(perf_counter=lambda: 10.0 * (len(target.asked) - target.open))
    monkeypatch.setattr("pytest_rageval.engine.scoring.ask_target.time", answered)
    samples = [Sample(f"s{at}", question="q") for at in range(6)]
    with answering(plan(target, concurrency=1)) as ask:
        found = ask(*samples)
    assert target.most == 1
    assert [one.latency_s for one in found] == [10.0] * 6
    assert target.asked == [sample.id for sample in samples]


def test_a_server_that_asks_to_wait_stops_all() -> None:
    """[A21] As long as it said; the questions behind wait as well."""
    error = RateLimitError("429", is_transient=True, retry_after_s=0.2)
    target = Fake(error, Answer("a"))
    samples = [Sample(f"s{at}", question="q") for at in range(3)]
    with answering(plan(target, concurrency=1, retries=1)) as ask:
        found = ask(*samples)
    assert [one.error for one in found] == [None] * 3
    assert target.times[1] - target.times[0] >= 0.2


def test_a_target_is_not_waited_for_longer_than_max_wait_s() -> None:
    """[R1]"""
    target = Fake(RateLimitError("429", is_transient=True, retry_after_s=9.0))
    assert once(target, max_wait_s=1.0).error == (
        "app: 429 (1 attempt; the server asks to wait 9 s more, max_wait_s is 1)"
    )


def test_a_target_that_limits_itself_is_asked_as_it_is() -> None:
    """[A16] A model has its own limits, times and retries; and says how long it took."""
    target = Fake(Answer("a", latency_s=0.5), wait_s=0.05)
    samples = [Sample(f"s{at}", question="q") for at in range(4)]
    with answering(plan(target, concurrency=1, timeout_s=0.01, limits_itself=True)) as ask:
        found = ask(*samples)
    assert target.most == 4
    assert [one.latency_s for one in found] == [0.5] * 4


def test_the_target_is_made_once_and_closed() -> None:
    target = Fake(Answer("a"))
    made: list[Fake] = []

    def make() -> Fake:
        made.append(target)
        return target

    with answering(replace(plan(target), make=make)) as ask:
        ask(SAMPLE, SAMPLE)
        ask(SAMPLE)
    assert len(made) == 1
    assert target.closed == 1


def test_a_fixture_is_there_when_pytest_runs_it_only() -> None:
    found = once(None, make=None)
    assert found.error == "app: its fixture exists only when pytest runs the scenario"


# Answers that are kept.


def kept(folder: Path, target: Fake, mode: Any = "readwrite", **fields: Any) -> list[TargetReply]:
    run = RunSettings(cache_dir=folder, cache_mode=mode)
    own = plan(target, cache_answers=True, identity={"type": "t"}, **fields)
    with answering(own, run) as ask:
        return ask(SAMPLE)


def test_an_answer_is_kept_whole(tmp_path: Path) -> None:
    """[E9] It has no latency of this run."""
    answer = Answer("甲\ud800", ("c", "d"), (None, "d.md"), ("1", "2"), {"t": [1, {"a": None}]})
    (first,) = kept(tmp_path, Fake(answer))
    target = Fake(TargetError("asked again"))
    (second,) = kept(tmp_path, target)
    assert second.error is None
    assert second.sample == first.sample
    assert second.extra == {"t": [1, {"a": None}]}
    assert (second.latency_s, target.asked) == (None, [])


def test_the_remark_of_an_answer_is_said_once_and_of_a_kept_one_too(tmp_path: Path) -> None:
    run = RunSettings(cache_dir=tmp_path, cache_mode="readwrite")
    for target in (Fake(Answer("a ***", remark="hidden")), Fake(TargetError("asked again"))):
        own = plan(target, cache_answers=True, identity={"type": "t"})
        client = TargetClient(own, run, open_limits(own.settings, run), no_clients)

        async def ask_twice(client: TargetClient = client) -> None:
            await asyncio.gather(*(client.answer(SAMPLE, order) for order in (0, 1)))
            await client.aclose()

        asyncio.run(ask_twice())
        assert client.problems == ("app: hidden",)


def test_an_error_is_never_kept(tmp_path: Path) -> None:
    kept(tmp_path, Fake(TargetError("no")))
    (found,) = kept(tmp_path, Fake(Answer("a")))
    assert found.sample.answer == "a"


def test_the_key_is_the_identity_and_what_is_shown(tmp_path: Path) -> None:
    """[E9] Of a row, only the fields that the target may see."""
    target = Fake(Answer("a"))
    kept(tmp_path, target, fields=frozenset({"question"}))
    run = RunSettings(cache_dir=tmp_path)

    def asks(sample: Sample, **changes: Any) -> int:
        fields = {"fields": frozenset({"question"}), "identity": {"type": "t"}, **changes}
        other = Fake(Answer("b"))
        with answering(plan(other, cache_answers=True, **fields), run) as ask:
            ask(sample)
        return len(other.asked)

    assert asks(SAMPLE) == 0
    assert asks(replace(SAMPLE, references=("r",), id="t", index=3)) == 0
    assert asks(replace(SAMPLE, question="other")) == 1
    assert asks(SAMPLE, identity={"type": "u"}) == 1
    assert asks(SAMPLE, fields=None) == 1
    assert asks(replace(SAMPLE, metadata={"x": 1}), fields=None) == 1
    assert asks(SAMPLE, fields=frozenset({"question", "metadata.x"})) == 0
    assert (
        asks(replace(SAMPLE, metadata={"x": 1}), fields=frozenset({"question", "metadata.x"})) == 1
    )


def test_a_damaged_entry_is_asked_anew(tmp_path: Path) -> None:
    kept(tmp_path, Fake(Answer("a")))
    (file,) = tmp_path.glob("*.answer.jsonl")
    file.write_text(file.read_text("utf-8").replace('"text": "a"', '"text": 7'), "utf-8")
    (found,) = kept(tmp_path, Fake(Answer("b")))
    assert found.sample.answer == "b"


def test_replay_asks_no_service(tmp_path: Path) -> None:
    """[E9] Kept or not; a function that keeps nothing is part of the run."""
    run = RunSettings(cache_dir=tmp_path, cache_mode="replay")
    target = Fake(Answer("a"))
    with answering(plan(target, is_remote=True), run) as ask:
        assert "replay sends no requests, and this target keeps no answers" in (
            ask(SAMPLE)[0].error or ""
        )
    (found,) = kept(tmp_path, target, "replay")
    assert "no answer in the cache (replay sends no requests)" in (found.error or "")
    assert target.asked == []
    with answering(plan(target), run) as ask:
        assert ask(SAMPLE)[0].error is None
