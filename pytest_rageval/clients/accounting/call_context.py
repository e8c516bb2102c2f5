"""What a call is for, and how the calls for one purpose end, in its task and those it starts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for. ``metric``, ``version`` and ``repeat`` are part of the cache key.

    Of calls that wait, those with the lowest ``order`` are sent first: with the sample's index, the
    first samples are complete early instead of all at the end. The costs of a call are counted for
    its ``scenario``, or for that of the block around it.
    """

    metric: str = ""
    version: int = 1
    repeat: int = 0
    sample: str = ""
    order: int = 0
    scenario: str = ""

    def __str__(self) -> str:
        words = [f"sample {self.sample!r}"] if self.sample else []
        return ", ".join([*words, f"metric {self.metric}"] if self.metric else words)


class Tally:
    """The calls inside one ``asking`` block; a block inside another counts for both."""

    def __init__(self, purpose: Purpose, outer: Tally | None) -> None:
        self.purpose = purpose
        self.answers = 0
        """How many questions were answered, by a model or the cache; a batch of texts is one."""
        self.replies: Counter[str] = Counter()
        """How many replies of a judge were usable, or not, by what was wrong (``model.FAULTS``)."""
        self.failure: Exception | None = None
        """What the first call raised that failed."""
        self._outer = outer
        self._calls: set[asyncio.Future[None]] = set()

    @property
    def scenario(self) -> str:
        """The scenario of the purpose, or of the block around this one."""
        return self.purpose.scenario or (self._outer.scenario if self._outer is not None else "")

    def add_answer(self) -> None:
        """Count an answer."""
        self.answers += 1
        if self._outer is not None:
            self._outer.add_answer()

    def add_replies(self, counts: Mapping[str, int]) -> None:
        """Count replies; those that are for no sample, as a prompt's translation, count for none.

        Which sample asks for a translation depends on how samples are spread over processes.
        """
        if self.purpose.sample:
            self.replies.update(counts)
            if self._outer is not None:
                self._outer.add_replies(counts)

    def add_failure(self, error: Exception) -> None:
        """Note a call that failed, even if the exception is caught later."""
        self.failure = self.failure or error
        if self._outer is not None:
            self._outer.add_failure(error)

    def begin(self, call: asyncio.Future[None]) -> None:
        """Note that a call is in flight until ``call`` is done."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        if self._outer is not None:
            self._outer.begin(call)

    async def settle(self) -> None:
        """Wait for the calls that are still in flight.

        A metric that makes several calls at once ends with the first that fails. The others cost
        money all the same, so they are counted, and their replies go to the cache.
        """
        if self._calls:
            await asyncio.wait(set(self._calls))


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
_NO_PURPOSE = Purpose()


@contextmanager
def asking(purpose: Purpose) -> Iterator[Tally]:
    """Set the purpose of the calls in this block, and in tasks started in it; tally how they end.

    A batch of texts to embed serves many purposes at once and belongs to its scenario only.
    """
    tally = Tally(purpose, _TALLY.get())
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)


def current_purpose() -> Purpose:
    """Return the purpose of the innermost ``asking`` block, or an empty one."""
    tally = _TALLY.get()
    return tally.purpose if tally is not None else _NO_PURPOSE


def current_scenario() -> str:
    """Return the scenario of the innermost ``asking`` block that names one, or ""."""
    tally = _TALLY.get()
    return tally.scenario if tally is not None else ""


def context_for(scenario: str) -> Context:
    """Return a context for calls that are for a scenario, and for no sample in particular."""
    context = Context()
    context.run(_TALLY.set, Tally(Purpose(scenario=scenario), None))
    return context


@contextmanager
def in_flight() -> Iterator[None]:
    """Make one call inside: the tally waits for it, and notes whether it fails."""
    call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tally = _TALLY.get()
    if tally is not None:
        tally.begin(call)
    try:
        yield
    except Exception as error:
        if tally is not None:
            tally.add_failure(error)
        raise
    finally:
        call.set_result(None)


def count_answer() -> None:
    """Tell the tally that one more question was answered."""
    tally = _TALLY.get()
    if tally is not None:
        tally.add_answer()


def count_replies(counts: Mapping[str, int]) -> None:
    """Tell the tally of replies of a judge: how many were usable, and how many not, and why."""
    tally = _TALLY.get()
    if tally is not None and counts:
        tally.add_replies(counts)
