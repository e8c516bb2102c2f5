"""An event loop for all that waits for the network, and a window of samples judged in it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_rageval.clients.deadline import GRACE_S, blocking, make_task
from pytest_rageval.clients.limits.limits import FIRST_SLOT
from pytest_rageval.clients.threads import DaemonThreads
from pytest_rageval.extras import timed_from
from pytest_rageval.model import Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.scoring.ask_target import TargetReply


# A heavy-tailed latency leaves slots idle when only as many samples are open as calls may be.
WINDOW_PER_CALL = 4
_POLL_S = 0.5
_STOP_TIMEOUT_S = 10.0
_LEFT: list[asyncio.Task[Any]] = []
"""Tasks that go on when they are cancelled; asyncio complains of one that is garbage-collected."""

T = TypeVar("T")


class EventLoop:
    """Runs coroutines while the main thread does other things; started by the first of them.

    One loop serves the whole process, so that connections, limits and caches are shared.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closers: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._stoppers: list[Callable[[], None]] = []
        self._is_closed = False
        self.is_blocked = False
        """What ``blocked`` found last."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        if self._is_closed:
            raise RuntimeError("the event loop is closed")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._loop.set_task_factory(make_task)
            self._loop.set_default_executor(DaemonThreads())
            self._thread = threading.Thread(
                target=_serve, args=(self._loop,), name="rageval-loop", daemon=True
            )
            self._thread.start()
        return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the future is for other threads to wait on."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, function: Callable[[], object]) -> None:
        """Have ``function`` called in the loop's thread, soon."""
        self.loop.call_soon_threadsafe(function)

    def blocked(self) -> str:
        """Return what function blocks the loop for longer than it may; "" where none does."""
        thread = self._thread
        if self._is_closed or thread is None or thread.ident is None:
            return ""
        found = blocking(thread.ident)
        self.is_blocked = bool(found)
        return found

    def on_stop(self, stopper: Callable[[], None]) -> None:
        """Have ``stopper`` called in the loop's thread first of all when the loop closes."""
        self._stoppers.append(stopper)

    def on_close(self, closer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have ``closer`` awaited when the loop closes, after everything was cancelled."""
        self._closers.append(closer)

    def close(self) -> None:
        """Cancel what runs, close what was opened, stop the loop; raises what a closer raised."""
        if self._is_closed:
            return
        loop, thread = self._loop, self._thread
        self._is_closed = True
        if loop is None or thread is None:
            return
        if not _turns(loop):
            return  # its thread is a daemon: it ends with the process
        try:
            with suppress(NotYetError):
                asyncio.run_coroutine_threadsafe(self._drain(), loop).result(_STOP_TIMEOUT_S)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_STOP_TIMEOUT_S)
            if not thread.is_alive():
                loop.close()

    async def _drain(self) -> None:
        for stop in self._stoppers:
            stop()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await _ended(running)
        closed = await asyncio.gather(
            *(closer() for closer in self._closers), return_exceptions=True
        )
        await _ended([asyncio.ensure_future(asyncio.get_running_loop().shutdown_asyncgens())])
        for error in closed:
            if isinstance(error, BaseException):
                raise error


def _turns(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether the loop does what it is told to: no function blocks it."""
    turned = threading.Event()
    loop.call_soon_threadsafe(turned.set)
    return turned.wait(2 * GRACE_S)


async def _ended(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Wait for tasks to end, and leave alone those that do not."""
    if not tasks:
        return
    done, left = await asyncio.wait(tasks, timeout=2 * GRACE_S)
    _LEFT.extend(left)
    await asyncio.gather(*done, return_exceptions=True)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped; no task can end it for the others.

    asyncio lets a SystemExit or KeyboardInterrupt of a task end the loop, even if it is awaited.
    """
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
        return


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


class BlockedError(Exception):
    """A function of the user blocks the loop; the message names it."""


def waited_for(
    future: Future[T], meanwhile: Callable[[], None], loop: EventLoop | None = None
) -> T:
    """Return the result of a future; Ctrl-C gets through, and ``meanwhile`` is called, every .5 s.

    Raises BlockedError where a function has blocked the ``loop`` for longer than it may; at once
    if it was blocked before, so that not each of many samples waits.
    """
    while True:
        try:
            is_blocked = loop is not None and loop.is_blocked
            return future.result(timeout=0.0 if is_blocked else _POLL_S)
        except NotYetError:
            if future.done():  # it raised that itself, or was done just after the wait
                return future.result()
            if loop is not None and (blocked := loop.blocked()):
                raise BlockedError(blocked) from None
            meanwhile()


class SampleWindow:
    """Judges samples in an event loop, at most ``window`` of them at a time, in the order fed.

    ``failed`` returns the judgement of a sample while a function of the user blocks the loop;
    without it ``wait`` raises BlockedError.
    """

    def __init__(
        self,
        loop: EventLoop,
        judge: Judge,
        window: int,
        failed: Callable[[Sample, str], Judgement] | None = None,
    ) -> None:
        self._failed = failed
        self._loop = loop
        self._judge = judge
        self.size = window
        self._waiting: deque[Sample] = deque()
        self._futures: dict[int, Future[Judgement]] = {}
        self._tasks: dict[int, tuple[asyncio.Future[None], asyncio.Event]] = {}
        self._open = 0
        self.finished = 0
        """How many samples have been judged, or were cut while they waited for a slot."""
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
        try:
            found = waited_for(self._futures[sample.index], meanwhile, self._loop)
        except BlockedError as error:
            if self._failed is None:
                raise
            found = self._failed(sample, str(error))
        # Returned once and forgotten: a case that runs again is judged again.
        del self._futures[sample.index]
        return found

    def has(self, sample: Sample) -> bool:
        """Return whether a sample was fed, and is not judged and returned yet."""
        return sample.index in self._futures

    def cut(self, kept: Sample | None = None) -> None:
        """Forget the samples that were fed and not asked about yet, except ``kept``.

        Those with a request on its way go on.
        """
        if self._futures:
            cut = self._loop.submit(self._cut(kept.index if kept is not None else None))
            with suppress(NotYetError):
                cut.result(_STOP_TIMEOUT_S)  # no longer: a function may block the loop

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
        if self._waiting and self._open < self.size:
            self._open += 1
            sample = self._waiting.popleft()
            first_slot = asyncio.Event()
            task = asyncio.ensure_future(self._run(sample, first_slot))
            self._tasks[sample.index] = task, first_slot
            task.add_done_callback(lambda _task: self._freed(sample))
            asyncio.get_running_loop().call_soon(self._fill)

    def _stop(self) -> None:
        """Begin nothing more, and cancel what callers wait for."""
        self.size = 0
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
        future, started = self._futures.get(sample.index), time.perf_counter()
        if future is None:  # failed meanwhile: another one blocked the loop
            return
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
            if not future.done():  # else it was cancelled
                judgement.latency_s = time.perf_counter() - timed_from(started)
                future.set_result(judgement)
