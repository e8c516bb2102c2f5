"""E8: samples are judged while earlier ones are being reported, a window of them at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future

import pytest

from pytest_rageval.clients.limits.limits import Limits
from pytest_rageval.clients.limits.slots import LocalPool, Slots
from pytest_rageval.engine.scoring import window as ahead_module
from pytest_rageval.engine.scoring.window import EventLoop, Judgement, SampleWindow, waited_for
from pytest_rageval.extras import loading
from pytest_rageval.model import Sample, Score

SAMPLES = [Sample(f"s{at}", index=at) for at in range(12)]


class FakeJudge:
    """Judges a sample when it is told to, and keeps a log."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.most_open = 0
        self.raises: dict[str, BaseException] = {}
        self._open = 0
        self._gates: dict[str, asyncio.Event] = {}
        self.holds = False

    async def __call__(self, sample: Sample) -> Judgement:
        self.began.append(sample.id)
        self._open += 1
        self.most_open = max(self.most_open, self._open)
        try:
            if self.holds:
                await self._gates.setdefault(sample.id, asyncio.Event()).wait()
            await asyncio.sleep(0)
            if sample.id in self.raises:
                raise self.raises[sample.id]
        except asyncio.CancelledError:
            self.cancelled.append(sample.id)
            raise
        finally:
            self._open -= 1
        self.ended.append(sample.id)
        return Judgement({"m": Score("m", sample.index / 10)})

    def release(self, *names: str) -> None:
        """Let the judging of these samples end; for ``EventLoop.call``."""
        for name in names:
            self._gates.setdefault(name, asyncio.Event()).set()


@pytest.fixture(autouse=True)
def _polls_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead_module, "_POLL_S", 0.01)


@pytest.fixture
def runner() -> Iterator[EventLoop]:
    made = EventLoop()
    yield made
    made.close()


@pytest.fixture
def judge() -> FakeJudge:
    return FakeJudge()


@pytest.fixture
def ahead(runner: EventLoop, judge: FakeJudge) -> SampleWindow:
    return SampleWindow(runner, judge, window=3)


def nothing() -> None:
    pass


def settle(runner: EventLoop) -> None:
    """Wait until the loop has nothing to do that needs no event from outside."""

    async def turns() -> None:
        for _ in range(50):
            await asyncio.sleep(0)

    runner.submit(turns()).result(5)


def after(polls: int, error: Exception | BaseException) -> Callable[[], None]:
    """Return what raises ``error`` when it is called for the ``polls``-th time."""
    calls = iter(range(polls - 1))

    def poll() -> None:
        if next(calls, None) is None:
            raise error

    return poll


def test_a_judgement_has_the_scores_and_the_time_it_took(runner: EventLoop) -> None:
    async def slow(sample: Sample) -> Judgement:
        await asyncio.sleep(0.03)
        return Judgement({"m": Score("m", 0.7)})

    found = SampleWindow(runner, slow, 1).wait(SAMPLES[0], nothing)
    assert found.scores == {"m": Score("m", 0.7)}
    # A clock that is coarse may call 0.03 s a little less.
    assert 0.02 < found.latency_s < 60.0


def test_what_was_not_fed_is_judged_when_it_is_waited_for(
    ahead: SampleWindow, judge: FakeJudge
) -> None:
    assert ahead.wait(SAMPLES[4], nothing).scores["m"].value == 0.4
    assert judge.began == ["s4"]


def test_what_was_fed_is_judged_without_anybody_waiting(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    ahead.feed(SAMPLES[:2])
    settle(runner)
    assert judge.ended == ["s0", "s1"]
    assert ahead.finished == 2


def test_samples_begin_in_the_order_in_which_they_were_fed(
    judge: FakeJudge, runner: EventLoop
) -> None:
    ahead = SampleWindow(runner, judge, window=1)
    ahead.feed([SAMPLES[5], SAMPLES[1]])
    ahead.feed([SAMPLES[3]])
    settle(runner)
    assert judge.began == ["s5", "s1", "s3"]


def test_no_more_than_the_window_are_in_work(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    """Three of twelve, and the next one as soon as any of them is done."""
    judge.holds = True
    ahead.feed(SAMPLES)
    settle(runner)
    assert judge.began == ["s0", "s1", "s2"]
    runner.call(lambda: judge.release("s1"))
    settle(runner)
    assert judge.began == ["s0", "s1", "s2", "s3"]
    runner.call(lambda: judge.release(*(sample.id for sample in SAMPLES)))
    settle(runner)
    assert len(judge.ended) == 12
    assert judge.most_open == 3


def test_feeding_a_sample_twice_judges_it_once(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    ahead.feed(SAMPLES[:2])
    ahead.feed(SAMPLES[:3])
    ahead.wait(SAMPLES[1], nothing)
    settle(runner)
    assert judge.began == ["s0", "s1", "s2"]


def test_a_sample_that_is_waited_for_again_is_judged_again(
    ahead: SampleWindow, judge: FakeJudge
) -> None:
    """Plugins run cases again; the cache makes that cheap."""
    first = ahead.wait(SAMPLES[1], nothing)
    second = ahead.wait(SAMPLES[1], nothing)
    assert first.scores == second.scores
    assert judge.began == ["s1", "s1"]


def test_the_wait_for_one_does_not_hold_up_the_others(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    """s0 never ends; s1 to s4 are judged meanwhile, in the places that are left."""
    judge.holds = True
    ahead.feed(SAMPLES[:5])
    runner.call(lambda: judge.release("s1", "s2", "s3", "s4"))
    settle(runner)
    assert judge.ended == ["s1", "s2", "s3", "s4"]


def test_meanwhile_is_called_until_the_judgement_is_there(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    judge.holds = True
    polls: list[int] = []

    def meanwhile() -> None:
        polls.append(len(polls))
        if len(polls) == 3:
            runner.call(lambda: judge.release("s0"))

    assert ahead.wait(SAMPLES[0], meanwhile).scores["m"].value == 0.0
    assert len(polls) >= 3


class JustLate(Future[int]):
    """A future that is done right after the wait for it was over."""

    def __init__(self, error: BaseException | None = None) -> None:
        super().__init__()
        self._error = error

    def result(self, timeout: float | None = None) -> int:
        if self.done():
            return super().result(timeout)
        if self._error is None:
            self.set_result(5)
        else:
            self.set_exception(self._error)
        raise TimeoutError


def test_what_is_done_just_after_a_wait_is_no_timeout() -> None:
    assert waited_for(JustLate(), lambda: None) == 5
    for error in (TimeoutError("its own"), ValueError("its own")):
        with pytest.raises(type(error), match="its own"):
            waited_for(JustLate(error), lambda: None)


def test_ctrl_c_gets_through_while_a_judge_is_waited_for(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    """And closing then cancels the judge."""
    judge.holds = True
    with pytest.raises(KeyboardInterrupt):
        ahead.wait(SAMPLES[0], after(2, KeyboardInterrupt()))
    runner.close()
    assert judge.cancelled == ["s0"]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("broken"),
        TimeoutError("too slow"),
        OSError(2),
        SystemExit("over"),
        KeyboardInterrupt(),
    ],
)
def test_what_a_judge_raises_is_raised_to_who_waits(
    ahead: SampleWindow, judge: FakeJudge, error: BaseException
) -> None:
    """Also what looks like "not yet", or would end the loop; the next sample is judged as ever."""
    judge.raises["s0"] = error
    ahead.feed(SAMPLES[:2])
    for_ever = after(400, AssertionError("waited for ever"))
    with pytest.raises(type(error)):
        ahead.wait(SAMPLES[0], for_ever)
    assert ahead.wait(SAMPLES[1], for_ever).scores["m"].value == 0.1


def test_what_is_cut_is_forgotten_but_for_what_is_on_its_way(
    judge: FakeJudge, runner: EventLoop
) -> None:
    """F6: s0 has a slot for its request, s1 and s2 wait for one, s3 to s6 have not begun."""
    slots = Slots(LocalPool(1))

    async def ask(sample: Sample) -> Judgement:
        async with Limits(slots, None).slot():
            return await judge(sample)

    judge.holds = True
    ahead = SampleWindow(runner, ask, window=3)
    ahead.feed(SAMPLES[:7])
    settle(runner)
    ahead.cut(kept=SAMPLES[2])
    settle(runner)
    assert [ahead.has(sample) for sample in SAMPLES[:4]] == [True, False, True, False]
    runner.call(lambda: judge.release(*(sample.id for sample in SAMPLES)))
    assert ahead.wait(SAMPLES[0], nothing).scores["m"].value == 0.0
    assert ahead.wait(SAMPLES[2], nothing).scores["m"].value == 0.2
    assert judge.began == ["s0", "s2"]
    assert ahead.wait(SAMPLES[3], nothing).scores["m"].value == 0.3  # it can still be asked for


def test_closing_cancels_what_is_in_work_and_begins_nothing_more(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop
) -> None:
    judge.holds = True
    ahead.feed(SAMPLES)
    settle(runner)
    runner.close()
    assert sorted(judge.cancelled) == ["s0", "s1", "s2"]
    assert judge.began == ["s0", "s1", "s2"]


@pytest.mark.parametrize("at", [0, 7], ids=["in work", "still waiting"])
def test_waiting_for_what_was_cancelled_does_not_hang(
    ahead: SampleWindow, judge: FakeJudge, runner: EventLoop, at: int
) -> None:
    judge.holds = True
    ahead.feed(SAMPLES)
    settle(runner)
    runner.close()
    with pytest.raises((RuntimeError, CancelledError, asyncio.CancelledError)):
        ahead.wait(SAMPLES[at], after(20, AssertionError("waited for ever")))


@pytest.mark.full
def test_a_judgement_is_not_kept_once_it_was_given_out(
    ahead: SampleWindow, runner: EventLoop
) -> None:
    """A run of 100,000 samples must not hold the scores of all of them twice."""
    import gc

    def judgements() -> list[Judgement]:
        return [held for held in gc.get_objects() if isinstance(held, Judgement) and held.scores]

    others = {id(judgement) for judgement in judgements()}  # of other tests in this process
    for sample in SAMPLES:
        ahead.wait(sample, nothing)
    settle(runner)
    gc.collect()
    assert [judgement for judgement in judgements() if id(judgement) not in others] == []


def test_judging_runs_beside_the_main_thread(runner: EventLoop) -> None:
    threads: list[threading.Thread] = []

    async def judge(sample: Sample) -> Judgement:
        threads.append(threading.current_thread())
        return Judgement()

    SampleWindow(runner, judge, 1).wait(SAMPLES[0], nothing)
    assert threads[0] is not threading.main_thread()


def test_the_first_samples_are_under_way_before_the_last_begin(runner: EventLoop) -> None:
    """One begins in each turn of the loop: else no request is sent before all have begun."""
    log: list[str] = []

    async def judge(sample: Sample) -> Judgement:
        log.append(f"{sample.id} begins")
        for _ in range(3):
            await asyncio.sleep(0)
        log.append(f"{sample.id} asks")
        return Judgement()

    ahead = SampleWindow(runner, judge, len(SAMPLES))
    ahead.feed(SAMPLES)
    ahead.wait(SAMPLES[-1], lambda: None)
    assert log.index("s0 asks") < log.index("s11 begins")
    assert [line for line in log if line.endswith("begins")] == [f"{s.id} begins" for s in SAMPLES]


def test_waiting_for_what_is_loaded_once_is_no_time_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[U6] The clock says 0 and 10 s, between which loading ends at 9 s: 1 s is the sample's."""

    async def judge(_: Sample) -> Judgement:
        with loading():
            pass
        return Judgement()

    clock = iter([0.0, 9.0, 10.0])
    monkeypatch.setattr(ahead_module.time, "perf_counter", lambda: next(clock))
    runner = EventLoop()
    try:
        found = SampleWindow(runner, judge, 1).wait(SAMPLES[0], lambda: None)
    finally:
        monkeypatch.undo()
        runner.close()
    assert found.latency_s == 1.0
