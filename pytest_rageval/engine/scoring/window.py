"""A window of samples that are judged concurrently; each result waits until it is asked for."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_rageval.clients.limits.limits import FIRST_SLOT
from pytest_rageval.engine.scoring.event_loop import EventLoop
from pytest_rageval.extras import timed_from
from pytest_rageval.model import Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.scoring.ask_target import TargetReply


# A heavy-tailed latency leaves slots idle when only as many samples are open as calls may be.
WINDOW_PER_CALL = 4
_POLL_S = 0.5


@dataclass
class Judgement:
    """What the target and the judges said about a sample, and how long it took altogether.

    ``scores`` are those of the judged metrics, ``answered`` what the system under test answered,
    None where none is asked.
    """

    scores: dict[str, Score] = field(default_factory=dict)
    latency_s: float = 0.0
    answered: TargetReply | None = None


Judge = Callable[[Sample], Coroutine[Any, Any, Judgement]]
"""Asks the target and the judges about a sample."""


T = TypeVar("T")


def waited_for(future: Future[T], meanwhile: Callable[[], None]) -> T:
    """Return the result of a future; Ctrl-C gets through, and ``meanwhile`` is called."""
    while True:
        try:
            return future.result(timeout=_POLL_S)
        except NotYetError:
            if future.done():
                raise
            meanwhile()


class SampleWindow:
    """Judges samples in an event loop, at most ``window`` of them at a time, in the order fed."""

    def __init__(self, loop: EventLoop, judge: Judge, window: int) -> None:
        self._loop = loop
        self._judge = judge
        self._window = window
        self._waiting: deque[Sample] = deque()
        self._futures: dict[int, Future[Judgement]] = {}
        self._tasks: dict[int, tuple[asyncio.Future[None], asyncio.Event]] = {}
        self._open = 0
        self.finished = 0
        """How many samples have been judged."""
        loop.on_stop(self._stop)

    def feed(self, samples: Iterable[Sample]) -> None:
        """Have these samples judged, after those fed before; one fed twice is judged once."""
        fresh = [sample for sample in samples if sample.index not in self._futures]
        if fresh:
            for sample in fresh:
                self._futures[sample.index] = Future()
            self._loop.call(lambda: self._take(fresh))

    def wait(self, sample: Sample, meanwhile: Callable[[], None]) -> Judgement:
        """Wait for the judgement of a sample and return it; Ctrl-C gets through.

        ``meanwhile`` is called about twice a second until then.
        """
        self.feed([sample])
        found = waited_for(self._futures[sample.index], meanwhile)
        # Returned once and forgotten: a case that runs again is judged again.
        del self._futures[sample.index]
        return found

    def has(self, sample: Sample) -> bool:
        """Return whether a sample was fed, and is not judged and returned yet."""
        return sample.index in self._futures

    def cut(self, kept: Sample | None = None) -> None:
        """Forget the samples that were fed and not asked about yet, but ``kept``.

        Those with a request on its way go on.
        """
        self._loop.submit(self._cut(kept.index if kept is not None else None)).result()

    async def _cut(self, kept: int | None) -> None:
        idle = [sample.index for sample in self._waiting if sample.index != kept]
        self._waiting = deque(sample for sample in self._waiting if sample.index == kept)
        for index, (task, first_slot) in self._tasks.items():
            if index != kept and not first_slot.is_set():
                task.cancel()
                idle.append(index)
        for index in idle:
            self._futures.pop(index, None)

    def _take(self, samples: Iterable[Sample]) -> None:
        self._waiting.extend(samples)
        self._fill()

    def _fill(self) -> None:
        """Start a sample if there is room for one; runs in the loop's thread only.

        One in each turn of the loop: the first requests are on their way before the prompts of
        hundreds of samples are written.
        """
        if self._waiting and self._open < self._window:
            self._open += 1
            sample = self._waiting.popleft()
            first_slot = asyncio.Event()
            task = asyncio.ensure_future(self._run(sample, first_slot))
            self._tasks[sample.index] = task, first_slot
            task.add_done_callback(lambda _task: self._freed(sample))
            asyncio.get_running_loop().call_soon(self._fill)

    def _stop(self) -> None:
        """Begin nothing more, and cancel what callers wait for."""
        self._window = 0
        self._waiting.clear()
        for future in list(self._futures.values()):
            future.cancel()

    def _freed(self, sample: Sample) -> None:
        self._tasks.pop(sample.index, None)
        self._open -= 1
        self.finished += 1
        self._fill()

    async def _run(self, sample: Sample, first_slot: asyncio.Event) -> None:
        FIRST_SLOT.set(first_slot)  # in the context of this task, and of those that it starts
        future, started = self._futures[sample.index], time.perf_counter()
        try:
            judgement = await self._judge(sample)
        except BaseException as error:
            if not future.done():
                future.set_exception(error)
            # The caller that waits raises it. If the task did too, a SystemExit or
            # KeyboardInterrupt would end the loop, and all others would wait for ever.
            if isinstance(error, asyncio.CancelledError | GeneratorExit):
                raise
        else:
            if not future.done():  # cancelled
                judgement.latency_s = time.perf_counter() - timed_from(started)
                future.set_result(judgement)
