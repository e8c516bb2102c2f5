"""What a call is for, and what the calls for a purpose used, also in the tasks that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass

from pytest_rageval.clients.base import Usage


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for. ``metric``, ``version`` and ``repeat`` are part of the cache key.

    Of calls that wait, those with the lowest ``order`` are sent first: with the sample's index, the
    first samples are complete early instead of all at the end. What a call uses is put down to its
    ``scenario``, or that of the block around.
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
    """What the calls inside one ``asking`` block used; a block inside another counts for both."""

    def __init__(self, purpose: Purpose, outer: Tally | None) -> None:
        self.purpose = purpose
        self.usage = Usage()
        self.answers = 0
        """How many questions were answered, by whomever; a batch of texts is one."""
        self._outer = outer
        self._calls: set[asyncio.Future[None]] = set()

    @property
    def scenario(self) -> str:
        """The scenario of the purpose, or of the block around this one."""
        return self.purpose.scenario or (self._outer.scenario if self._outer is not None else "")

    def add(self, usage: Usage) -> None:
        """Add what one call used."""
        self.usage += usage
        if self._outer is not None:
            self._outer.add(usage)

    def add_answer(self) -> None:
        """Count an answer: what it cost is in ``usage``, which counts each attempt."""
        self.answers += 1
        if self._outer is not None:
            self._outer.add_answer()

    def begin(self, call: asyncio.Future[None]) -> None:
        """Note that a call is on its way, until ``call`` is done."""
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        if self._outer is not None:
            self._outer.begin(call)

    async def settle(self) -> None:
        """Wait for the calls that are on their way still, because nobody else does.

        A metric whose calls are in flight together ends with the first of them that fails. The
        others are paid for all the same: they are to be counted, and their replies kept.
        """
        if self._calls:
            await asyncio.wait(set(self._calls))


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
_NO_PURPOSE = Purpose()


@contextmanager
def asking(purpose: Purpose) -> Iterator[Tally]:
    """Say what the calls in this block, and in tasks started in it, are for; count what they use.

    A batch of texts to embed serves many purposes at once and is counted for its scenario only.
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
    """Return a context for calls that are for a scenario, and for nobody in particular in it."""
    context = Context()
    context.run(_TALLY.set, Tally(Purpose(scenario=scenario), None))
    return context


@contextmanager
def calling() -> Iterator[None]:
    """Let whoever asks know, in ``Tally.settle``, how long a call is on its way."""
    call: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    tally = _TALLY.get()
    if tally is not None:
        tally.begin(call)
    try:
        yield
    finally:
        call.set_result(None)


def count_answer() -> None:
    """Tell whoever asks that one more question was answered."""
    tally = _TALLY.get()
    if tally is not None:
        tally.add_answer()


def count_usage(usage: Usage) -> None:
    """Tell whoever asks what a call used."""
    tally = _TALLY.get()
    if tally is not None:
        tally.add(usage)
