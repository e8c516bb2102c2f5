"""Sends samples ahead to the workers of an engine, and hands over each one's scores.

A chunk that fails is sent once more, alone, and then its halves: a sample that ends its worker
takes no other along. What fails by itself is lost, and said to be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import ceil
from queue import Empty, SimpleQueue
from typing import Final

import pytest_rageval
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.remote.packing import (
    Recipe,
    Refused,
    Scored,
    pack_samples,
    scores_alone,
    splits_by_jieba,
    unpack_reply,
)
from pytest_rageval.engine.remote.worker import score_packed
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.errors import Problem, RagevalError, ScenarioError, error_line
from pytest_rageval.executors.base import Workers
from pytest_rageval.metrics.base import missing_fields
from pytest_rageval.model import PASSING, TOLERANCE, Sample, Score

_POLL_S: Final = 0.5
# The next chunk is there when a worker has done one.
_CHUNKS_PER_WORKER: Final = 2
# Enough to find some samples that end their workers; where every chunk fails, enough to give up.
_MOST_HALVINGS: Final = 64
# More than it takes to find one sample in the largest chunk, even if it is always in the half that
# goes first, so that no success comes between.
_MOST_FAILURES: Final = 16
_ASKED_AT_FIRST: Final = 16


class LostSampleError(RagevalError):
    """A sample whose scores never came; the text says why."""


@dataclass(eq=False, slots=True)
class _Chunk:
    samples: Sequence[Sample]
    packed: bytes
    is_repeated: bool = False


def prepared(plan: Plan, workers: Workers) -> Plan:
    """Return the plan with all metrics that workers can compute as ``remote``.

    It returns once a worker has made them. Raises ScenarioError if the first to reply cannot.
    """
    metrics = plan.runs_elsewhere
    if not metrics:
        return plan
    reason = _refusal(plan, workers)
    if reason:
        message = f"{reason} (so the workers of {workers.shown}); or run without them"
        raise ScenarioError([Problem(plan.info.path, message)])
    return replace(plan, remote=frozenset(metric.column.name for metric in metrics))


def _recipe(plan: Plan) -> bytes:
    assert plan.source is not None
    return Recipe.of(plan.source, plan.runs_elsewhere, plan.empty_answer, plan.answers).pack()


def _refusal(plan: Plan, workers: Workers) -> str:
    """Return why a worker cannot make the metrics, "" if it can.

    Several are asked, so that they load what they need at the same time; the first reply counts.
    """
    arrived: SimpleQueue[Future[bytes]] = SimpleQueue()
    try:
        given = pytest_rageval.__version__, _recipe(plan), pack_samples([])
        for _ in range(max(1, min(workers.count, _ASKED_AT_FIRST, len(plan.asked_samples)))):
            workers.submit(score_packed, *given).add_done_callback(arrived.put)
    except Exception as error:  # noqa: BLE001  (whatever an executor raises)
        return _why(error) + _advice(error)
    while True:
        try:
            future = arrived.get(timeout=_POLL_S)
        except Empty:
            if trouble := workers.trouble():
                return trouble
            continue
        reply = _reply(future)
        if not isinstance(reply, Refused):
            return ""
        return reply.reason + ("" if future.cancelled() else _advice(future.exception()))


def _advice(error: BaseException | None) -> str:
    """Return what to do about an executor that takes no call."""
    if isinstance(error, BrokenExecutor):
        return (
            "; the executor is broken: make a new one. If it breaks at once, its processes cannot "
            "begin: a script that starts some needs 'if __name__ == \"__main__\":'"
        )
    if isinstance(error, RuntimeError) and "shutdown" in str(error):
        return "; the executor is shut down: make a new one"
    return ""


class SentAhead:
    """The samples of a plan on their way to the workers, in the order in which they are needed."""

    def __init__(self, plan: Plan, workers: Workers, samples: Iterable[Sample]) -> None:
        self._workers = workers
        self._recipe = _recipe(plan)
        self._names = [metric.column.name for metric in plan.runs_elsewhere]
        # A hook's own kind of sample has more than what travels: it is scored here.
        self._waiting = deque(sample for sample in samples if type(sample) is Sample)
        self._comparison = Comparison(plan, self._waiting)
        self._owed = {sample.index for sample in self._waiting}
        self._size = ChunkSize()
        self._count = workers.count
        self._again: deque[_Chunk] = deque()
        self._halvings = 0
        self._failures = 0
        self._under_way: dict[_Chunk, Future[bytes]] = {}
        self._arrived: SimpleQueue[tuple[_Chunk, Future[bytes]]] = SimpleQueue()
        self._found: dict[int, Judgement] = {}
        self._lost: dict[int, str] = {}
        self.finished = 0
        """How many samples have their scores."""

    def take(self, sample: Sample, meanwhile: Callable[[], None]) -> Judgement | None:
        """Wait for the scores of a sample, and return and forget them; Ctrl-C gets through.

        ``meanwhile`` is called whenever something has arrived, and about twice a second. None for a
        sample to be scored here: it cannot be packed, is of a hook's class, or runs again. Raises
        LostSampleError.
        """
        while sample.index in self._owed:
            self._go_on()
            meanwhile()
        found = self._found.pop(sample.index, None)
        if found is not None and (difference := self._comparison.difference(sample, found.scores)):
            self._distrust(sample, difference)
        if sample.index in self._lost:
            raise LostSampleError(self._lost[sample.index])
        return found

    def close(self) -> None:
        """Cancel what is under way."""
        self._waiting.clear()
        self._again.clear()
        for future in list(self._under_way.values()):
            future.cancel()
        self._under_way.clear()

    def _go_on(self) -> None:
        """Send what there is room for, and take in the next reply."""
        self._fill()
        if not self._under_way:
            return  # what was to be sent has failed at once
        try:
            chunk, future = self._arrived.get(timeout=_POLL_S)
        except Empty:
            if trouble := self._workers.trouble():
                self._give_up(trouble)
            return
        if self._under_way.pop(chunk, None) is not None:
            self._take_in(chunk, _reply(future))

    def _fill(self) -> None:
        """Send a failed chunk, alone, so that no other fails with it; else new ones."""
        while self._again and not self._under_way:
            self._send(self._again.popleft())
        if self._again or any(chunk.is_repeated for chunk in self._under_way):
            return
        room = _CHUNKS_PER_WORKER * self._count
        while self._waiting and len(self._under_way) < room:
            self._send_next()

    def _send_next(self) -> None:
        count = self._size.next(len(self._waiting), self._count)
        samples = list(islice(self._waiting, count))
        for _ in samples:
            self._waiting.popleft()
        try:
            packed = pack_samples(samples)
        except Exception:  # noqa: BLE001  (objects that a hook put into a sample: scored here)
            self._owed.difference_update(sample.index for sample in samples)
            return
        self._send(_Chunk(samples, packed))

    def _send(self, chunk: _Chunk) -> None:
        version = pytest_rageval.__version__
        try:
            future = self._workers.submit(score_packed, version, self._recipe, chunk.packed)
            future.add_done_callback(partial(self._note, chunk))
        except Exception as error:  # noqa: BLE001  (whatever an executor raises)
            self._failed(chunk, _why(error))
            return
        self._under_way[chunk] = future

    def _note(self, chunk: _Chunk, future: Future[bytes]) -> None:
        """Note that a future is done; in any thread."""
        self._arrived.put((chunk, future))

    def _take_in(self, chunk: _Chunk, reply: Scored | Refused) -> None:
        if isinstance(reply, Refused):
            self._failed(chunk, reply.reason)
        elif not len(chunk.samples) == len(reply.seconds) == len(reply.values):
            self._failed(chunk, "the engine returned another number of samples")
        else:
            self._failures = 0
            self._size.learn(len(chunk.samples), sum(reply.seconds), len(chunk.packed))
            self.finished += len(chunk.samples)
            for at, sample in enumerate(chunk.samples):
                scores = reply.scores(at, self._names)
                self._found[sample.index] = Judgement(scores, reply.seconds[at])
                self._owed.discard(sample.index)

    def _failed(self, chunk: _Chunk, reason: str) -> None:
        """Send a chunk once more, then its halves; a sample that fails alone is lost.

        After too many failures in a row all that is left is lost: each may take a new process.
        """
        self._failures += chunk.is_repeated
        if self._failures >= _MOST_FAILURES:
            reason = f"given up after {_MOST_FAILURES} failures in a row, the last one: {reason}"
            self._lose(chunk.samples, reason)
            self._give_up(reason)
        elif not chunk.is_repeated:
            chunk.is_repeated = True
            self._again.append(chunk)
        elif len(chunk.samples) > 1 and self._halvings < _MOST_HALVINGS:
            self._halvings += 1
            middle = len(chunk.samples) // 2
            halves = chunk.samples[:middle], chunk.samples[middle:]
            parts = [_Chunk(half, pack_samples(half), is_repeated=True) for half in halves]
            self._again.extendleft(reversed(parts))
        else:
            self._lose(chunk.samples, reason)

    def _lose(self, samples: Iterable[Sample], reason: str) -> None:
        for sample in samples:
            self._lost[sample.index] = f"lost by {self._workers.shown}: {reason}"
            self._owed.discard(sample.index)

    def _distrust(self, sample: Sample, reason: str) -> None:
        """Lose all that is not taken yet: what else has arrived may be as wrong."""
        shown = f"lost by {self._workers.shown}: {reason}"
        self._lost.update(dict.fromkeys([sample.index, *self._found], shown))
        self._found.clear()
        self._give_up(reason)

    def _give_up(self, reason: str) -> None:
        """Lose all that is under way or still waiting."""
        self._lose(self._waiting, reason)
        for chunk in (*self._again, *self._under_way):
            self._lose(chunk.samples, reason)
        self.close()


def with_scores(judgement: Judgement | None, computed: Judgement | None) -> Judgement | None:
    """Return what was asked about a sample together with what was computed of it elsewhere."""
    if judgement is None or computed is None:
        return judgement or computed
    scores = {**judgement.scores, **computed.scores}
    latency_s = judgement.latency_s + computed.latency_s
    return replace(judgement, scores=scores, latency_s=latency_s)


def _reply(future: Future[bytes]) -> Scored | Refused:
    """Return what a worker replied; an exception is a refusal."""
    if future.cancelled():
        return Refused("it was cancelled")
    error = future.exception()
    if error is not None:
        return Refused(_why(error))
    try:
        return unpack_reply(future.result())
    except Exception as unreadable:  # noqa: BLE001  (whatever another version sent)
        return Refused(_why(unreadable))


def _why(error: BaseException) -> str:
    text = error_line(error, 200)
    if isinstance(error, ImportError | AttributeError):
        own = f"pytest-rageval {pytest_rageval.__version__}"
        return f"{text} (a worker needs {own}, too, and the modules of all metrics)"
    return text


_FIRST_SIZE: Final = 16
_MOST: Final = 2048
_GROWTH: Final = 8
_SECONDS: Final = 0.25
# Dask warns of more than 10 MB at once; a lost chunk is done again from its beginning.
_BYTES: Final = 500_000


class ChunkSize:
    """The size of the next chunk, learned from those that are done; the first ones may mislead."""

    def __init__(self) -> None:
        self._size = _FIRST_SIZE

    def next(self, left: int, workers: int) -> int:
        """Return how many of the samples that are ``left`` the next chunk has.

        At the end, no worker is to have much more than another; nor are there to be many chunks.
        """
        return min(self._size, max(ceil(self._size / 4), ceil(left / workers)), max(1, left))

    def learn(self, samples: int, seconds: float, packed: int) -> None:
        """Take in what a chunk took, and how many bytes it was; a small rest teaches nothing."""
        if samples < self._size // 2:
            return
        by_time = int(samples * _SECONDS / seconds) if seconds > 0.0 else _MOST
        by_bytes = samples * _BYTES // max(1, packed)
        self._size = max(1, min(_GROWTH * samples, by_time, by_bytes, _MOST))


_COMPARED: Final = 3


class Comparison:
    """Compares scores of the workers with ours: metrics of the user's own, and those by jieba.

    Of the samples that have what it needs: the first three, the one in the middle and the last.
    """

    def __init__(self, plan: Plan, samples: Sequence[Sample]) -> None:
        self._plan = plan
        self._due: dict[int, set[str]] = {}
        for metric in plan.runs_elsewhere:
            if metric.is_built_in and not splits_by_jieba(metric):
                continue
            whole = [sample.index for sample in samples if not missing_fields(sample, metric.info)]
            for index in (*whole[:_COMPARED], *whole[len(whole) // 2 :][:1], *whole[-1:]):
                self._due.setdefault(index, set()).add(metric.column.name)

    def difference(self, sample: Sample, scores: Mapping[str, Score]) -> str:
        """Return how a worker's scores of a sample differ from ours, "" for no difference."""
        names = self._due.pop(sample.index, None)
        if names is None:
            return ""
        due = tuple(metric for metric in self._plan.metrics if metric.column.name in names)
        own = scores_alone(replace(self._plan, metrics=due), sample)
        for here in own:
            there = scores[here.metric]
            if not _is_same(there, here):
                return (
                    f"{here.metric} of {sample.id} is {_shown(there)} in the worker and "
                    f"{_shown(here)} here: a metric must give the same score for the same sample, "
                    "in every process; what it reads besides (environment, files, what "
                    "conftest.py sets) must be the same there, or run without the engine"
                )
        return ""


def _is_same(there: Score, here: Score) -> bool:
    if (there.error is None, _passing(there)) != (here.error is None, _passing(here)):
        return False
    if there.value is None or here.value is None:
        return there.value is here.value
    return abs(there.value - here.value) <= TOLERANCE * max(1.0, abs(here.value))


def _passing(score: Score) -> bool | None:
    """Return whether the metric itself passes the sample, None where it does not say."""
    passing = score.details.get(PASSING) if isinstance(score.details, Mapping) else None
    return None if passing is None else bool(passing)


def _shown(score: Score) -> str:
    text = f"{score.value:.12g}" if score.value is not None else "none"
    passing = _passing(score)
    said = [f"passing {passing}"] if passing is not None else []
    said += [str(score.error)] if score.error else []
    return f"{text} ({', '.join(said)})" if said else text
