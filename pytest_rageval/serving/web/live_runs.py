"""Runs that the app starts: one at a time, each a pytest child whose events can be followed."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pytest_rageval.serving.children import Child, started
from pytest_rageval.serving.verdicts import run_verdict
from pytest_rageval.serving.web.refusals import Refused

_KEPT = 20
_SHOWN = 8000

Event = dict[str, Any]
Widen = Callable[[Event], Event]
"""Turns the event of a result, or of the ranking of variants, into what the page needs."""

_BAD: Final = ("", "passed", "unjudged", "partial", "failed", "error", "stopped")
"""Verdicts, best first; "" where nothing is saved, and no saved run has one of the last two."""
_WIDENED: Final = ("result", "contest")


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is to do: a command in a folder, for a scenario and these variants of it."""

    scenario: str
    command: Sequence[str]
    folder: Path
    variants: Collection[str] = ()


class LiveRun:
    """A run of a scenario. ``events`` are those of the child; the last one says how it ended."""

    def __init__(self, job: Job, widen: Widen) -> None:
        self.id = secrets.token_hex(8)
        self.ended_at: datetime | None = None
        self.ended_s = math.inf
        """When it ended, by a clock that nobody sets."""
        self.scenario = job.scenario
        self.events: list[Event] = []
        self._job, self._widen = job, widen
        self._news = asyncio.Condition()
        self._child: Child | None = None
        self.is_stopped = False
        self.has_ended = False
        self._task = asyncio.create_task(self._go())

    async def ended(self) -> None:
        """Return once the run has ended and all its events are told."""
        await asyncio.wait([self._task])

    def is_older(self, ran_at: str) -> bool:
        """Return whether a saved run that began at ``ran_at`` came after the end of this one.

        ``ran_at`` is in ISO 8601; results of this run itself did not come after it. In runs saved
        by 0.1.0 it has whole seconds. A time that nobody can read, in an edited file, is no later.
        """
        points = [one.get("point") for one in self.events if one["event"] == "result"]
        is_own = any(point and point["started_at"] == ran_at for point in points)
        try:
            began, ended = datetime.fromisoformat(ran_at), self.ended_at
        except ValueError:
            return False
        if began.tzinfo is None:
            began = began.replace(tzinfo=UTC)
        if ended is not None and not began.microsecond:
            ended = ended.replace(microsecond=0)
        return not is_own and ended is not None and began >= ended

    async def stop(self) -> None:
        """End the run, and return once no process of it is left."""
        self.is_stopped = True
        if self._child is not None:
            await self._child.stop()
        await self.ended()

    async def follow(
        self, after: int = 0, beat_s: float | None = None
    ) -> AsyncGenerator[tuple[int, Event] | None, None]:
        """Yield each event with its number, from 1 on, and None after ``beat_s`` without any.

        It begins behind number ``after``, or with the first event if there are not so many. Of
        several events ``progress`` that are there at once, only the newest is told.
        """
        at = after if after <= len(self.events) else 0
        while at < len(self.events) or not self._is_told():
            if at == len(self.events) and not await self._has_more(at, beat_s):
                yield None
            found, start = self.events[at:], at + 1
            at += len(found)
            newest = next((one for one in reversed(found) if one["event"] == "progress"), None)
            for number, event in enumerate(found, start):
                if event["event"] != "progress" or event is newest:
                    yield number, event

    async def _has_more(self, known: int, most_s: float | None) -> bool:
        """Wait for more than ``known`` events; return False if none came within ``most_s``."""
        try:
            async with asyncio.timeout(most_s), self._news:
                await self._news.wait_for(lambda: len(self.events) > known)
        except TimeoutError:
            return False
        return True

    def _is_told(self) -> bool:
        return bool(self.events) and self.events[-1]["event"] == "end"

    async def _go(self) -> None:
        status, terminal = None, ""
        try:
            async with started(self._job.command, self._job.folder) as self._child:
                seen = 0
                if self.is_stopped:  # before it had begun
                    await self._child.stop()
                async for known in self._child.follow():
                    await self._tell(self._child.events[seen:known])
                    seen = known
                status, terminal = self._child.status, self._child.terminal()
        except Exception as error:  # noqa: BLE001  (not started, or events that are not ours)
            status, terminal = None, f"{type(error).__name__}: {error}"
        verdict = "stopped" if self.is_stopped else self._verdict(status)
        end = {"event": "end", "verdict": verdict, "status": status}
        self.has_ended, self.ended_at, self.ended_s = True, datetime.now(UTC), time.monotonic()
        await self._tell([{**end, "terminal": terminal[-_SHOWN:]}])

    def _verdict(self, status: int | None) -> str:
        return verdict_of(status, self.events, self._job.variants)

    async def _tell(self, events: Sequence[Event]) -> None:
        widened = [
            await asyncio.to_thread(self._widen, event) if event["event"] in _WIDENED else event
            for event in events
        ]
        async with self._news:
            self.events += widened
            self._news.notify_all()


def verdict_of(status: int | None, events: Sequence[Event], variants: Collection[str] = ()) -> str:
    """Return the verdict of a run that has ended by itself, ``error`` if it judged nothing.

    ``variants`` are those that were to run: without one of them the run is partial at best.
    """
    results = [event for event in events if event["event"] == "result"]
    points = [event.get("point") for event in results]
    saved = [point and point["verdict"] for point in points]
    lost = set(variants) - {event.get("variant") for event in results}
    gates = [event.get("gate") for event in events if event["event"] == "contest"]
    verdict = run_verdict(status, saved, filter(None, gates), is_part=bool(lost))
    return "error" if verdict == "empty" else verdict


class LiveRuns:
    """The runs of this server: the one that runs, those that wait, and the last that ended."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._reserved: str | None = None
        self._waiting: deque[tuple[Job, Widen]] = deque()
        self._going: asyncio.Task[None] | None = None
        self._batch: set[str] = set()
        self._ended: dict[str, tuple[LiveRun, str]] = {}
        self._seen_s: dict[tuple[str, str], float] = {}
        self._is_closed = False

    @property
    def running(self) -> dict[str, str] | None:
        """What runs now, for the page; its ``run`` is "" for a request that runs a scenario."""
        for run in self._runs.values():
            if not run.has_ended:
                return {"run": run.id, "scenario": run.scenario}
        return None if self._reserved is None else {"run": "", "scenario": self._reserved}

    @property
    def waiting(self) -> list[str]:
        """The scenarios that wait for their runs, in their order."""
        return [job.scenario for job, _ in self._waiting]

    def unfinished(
        self, scenario: str, ran_at: str | None, saved: str = ""
    ) -> dict[str, str] | None:
        """Return the last ended run of a scenario here if its verdict is worse than ``saved``.

        ``saved`` is the verdict of the last saved run, ``ran_at`` when that began. None, too, where
        the saved run is another one and began after this end; not if it was seen before this end,
        whatever its time says: the clock of the machine may have been set.
        """
        self._note_ended()
        seen_s = self._seen_s.setdefault((scenario, ran_at or ""), time.monotonic())
        run, verdict = self._ended.get(scenario, (None, ""))
        if run is None or _BAD.index(verdict) <= _BAD.index(saved):
            return None
        is_older = ran_at is not None and seen_s > run.ended_s and run.is_older(ran_at)
        return None if is_older else {"run": run.id, "verdict": verdict}

    def _note_ended(self) -> None:
        for run in self._runs.values():
            if run.has_ended and run.events:
                self._ended[run.scenario] = run, run.events[-1].get("verdict", "")

    def refuse_second(self) -> None:
        """Refuse (409) a run while there is one, or one waits, or once the server ends."""
        if self._is_closed:
            raise Refused(409, "the app has been ended")
        if self.running is not None or self._waiting:
            raise Refused(409, "a run is going on: wait for it, or stop it", running=self.running)

    def start(self, job: Job, widen: Widen) -> LiveRun:
        """Start a run; refused while there is one, or one waits."""
        self.refuse_second()
        return self._begin(job, widen)

    def start_all(self, jobs: Sequence[tuple[Job, Widen]]) -> None:
        """Start runs, one after the other, whatever the verdict of each; refused like one."""
        self.refuse_second()
        self._waiting.extend(jobs)
        self._batch.clear()
        if self._going is None or self._going.done():  # else it goes on with these
            self._going = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        while self._waiting:
            run = self._begin(*self._waiting.popleft())
            self._batch.add(run.id)
            await run.ended()

    def _begin(self, job: Job, widen: Widen) -> LiveRun:
        self._note_ended()  # also of those that are forgotten now
        run = LiveRun(job, widen)
        self._runs[run.id] = run
        for old in list(self._runs)[:-_KEPT]:
            del self._runs[old]
        return run

    @contextmanager
    def reserved(self, scenario: str) -> Iterator[None]:
        """Keep other runs from starting while a request itself runs a scenario."""
        self.refuse_second()
        self._reserved = scenario
        try:
            yield
        finally:
            self._reserved = None

    def find(self, run: str) -> LiveRun:
        """Return a run of this server; refused (404) if it is unknown, or no more kept.

        The last one of each scenario that has ended is kept: ``unfinished`` may name it.
        """
        kept = {one.id: one for one, _ in self._ended.values()} | self._runs
        if run not in kept:
            raise Refused(404, "no such run; runs of an earlier server are in the history")
        return kept[run]

    async def stop(self, run: str) -> None:
        """Stop ``run``, or the one that came after it in *Run all*; start none of those that wait.

        Refused (409) where neither runs nor one of them waits, unless ``run`` was stopped before.
        """
        found = self.find(run)
        if found.is_stopped and found.has_ended:
            return
        going = next((one for one in self._runs.values() if not one.has_ended), None)
        is_left = bool(self._waiting) if going is None else going.id in self._batch
        if found is not going and not (found.id in self._batch and is_left):
            raise Refused(409, "nothing to stop: the run has ended")
        self._waiting.clear()
        if going is not None:
            await going.stop()

    async def close(self) -> None:
        """Stop what runs, and start nothing more."""
        self._is_closed = True
        self._waiting.clear()
        for run in self._runs.values():
            if not run.has_ended:
                await run.stop()
