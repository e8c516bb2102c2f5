"""What calls to models are for, and what all processes of a run have used of their budget."""

from __future__ import annotations

import asyncio
import os
import random
import struct
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from contextvars import Context, ContextVar
from dataclasses import dataclass
from hashlib import sha256
from io import FileIO
from math import floor, isnan, log10, nan
from pathlib import Path
from typing import Final

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import BudgetError
from pytest_rageval.clients.file_locks import ByteLocks, open_locks


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
        """What the first call that failed raised."""
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


# One record for each process and scenario: digest of the scenario's name, prompt tokens, completion
# tokens, calls, cached, cost (NaN: no price), calls without a price, estimated cost of requests in
# flight.
_RECORD = struct.Struct("<16s7d")
_PREFIX = "usage-"


def is_counted(shared_dir: Path) -> bool:
    """Return whether any process of a run has asked a model, or the cache in its place."""
    return any(shared_dir.glob(f"{_PREFIX}*"))


def run_usage(shared_dir: Path) -> Usage:
    """Return what all processes of a run have used so far, killed ones included."""
    return sum((record.usage for record in _records(shared_dir)), Usage())


def scenario_usage(shared_dir: Path, scenario: str) -> Usage | None:
    """Return what one scenario has used in all processes, None if it has asked for nothing.

    A call that several scenarios share is counted for the one that asked first.
    """
    own = _digest(scenario)
    found = [record.usage for record in _records(shared_dir) if record.scenario == own]
    return sum(found, Usage()) if found else None


class Ledger:
    """Counts what this process uses and keeps all processes of the run within the budget.

    Each process writes a file of its own in ``folder`` and reads the files of the others, so none
    waits for another and what a killed process spent stays counted. The estimated cost of each
    request in flight is reserved. What a process reserved before it was killed counts as spent, to
    be on the safe side; so does what it reserved if the system cannot tell whether it is alive.
    """

    def __init__(self, budget_usd: float | None = None, folder: Path | None = None) -> None:
        self.usage = Usage()
        # By scenario; each has its record in the file, in the order of their first use.
        self._accounts: dict[str, Usage] = {}
        self._budget = budget_usd
        self._reserved = 0.0
        self._is_spent = False
        self._turn = asyncio.Lock()
        self._living: ByteLocks | None = None
        self._folder = folder
        self.problem: str | None = None
        self.is_estimate = False  # because a server did not state the tokens of a call
        self._sent: dict[object, float] = {}  # when each request in flight was sent
        self.sent_again = 0  # requests that failed before
        self._name = f"{_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._file: FileIO | None = None

    def reserve(self, cost_usd: Callable[[], float]) -> AbstractAsyncContextManager[None]:
        """Reserve the estimated cost of a request while it is in flight.

        Waits, in this process first come first served, while the request would exceed the budget
        and others are in flight: their real cost may leave room. Once none is, raises BudgetError,
        and from then on for every request of this process: a run that has stopped asking does not
        go on with cheaper questions.
        """
        if current_scenario() not in self._accounts:
            self._note(Usage())  # a scenario that has asked has a usage, also while none is known
        return _WITHOUT_BUDGET if self._budget is None else self._reserved_for(cost_usd)

    @asynccontextmanager
    async def _reserved_for(self, cost_usd: Callable[[], float]) -> AsyncIterator[None]:
        assert self._budget is not None
        held = await self._held(cost_usd, self._budget)
        try:
            yield
        finally:
            self._hold(-held)

    async def _held(self, cost_usd: Callable[[], float], budget: float) -> float:
        """Wait for room and return the reserved cost; estimates improve in the meantime."""
        async with self._turn:
            while True:
                # Reserved first, then summed: if two processes do so at once, one sees the other.
                held = 0.0 if self._is_spent else cost_usd()
                self._hold(held)
                used, under_way = self._of_all()
                if not self._is_spent and (used.cost_usd or 0.0) + under_way <= budget:
                    return held
                self._hold(-held)
                if self._is_spent or under_way - held <= _NOTHING_USD:
                    self._is_spent = True
                    raise self._refusal(used, held or cost_usd())
                await asyncio.sleep(_LOOK_S * random.uniform(0.5, 1.5))

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send one request inside: it is among those ``in_flight``."""
        one = object()
        self._sent[one] = time.monotonic()
        try:
            yield
        finally:
            del self._sent[one]

    @property
    def in_flight(self) -> tuple[int, float]:
        """How many requests are in flight now, and for how many seconds the oldest has been."""
        sent = list(self._sent.values())  # a copy: another thread shows the progress
        return len(sent), time.monotonic() - min(sent) if sent else 0.0

    def count(self, usage: Usage) -> None:
        """Add ``usage`` to the account of the scenario that asks, and of this process."""
        self.usage += usage
        self._note(usage)

    def close(self) -> None:
        """Close the files; that of the usage stays, for ``run_usage``."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._living is not None:
            self._living.close()
            self._living = None

    def _note(self, usage: Usage) -> None:
        """Add ``usage`` to the scenario's account, which is opened at its first use."""
        scenario = current_scenario()
        known = self._accounts.get(scenario)
        total = self._accounts[scenario] = (known or Usage()) + usage
        if total != known:
            self._write(scenario)

    def _hold(self, cost_usd: float) -> None:
        if self._budget is not None:
            self._reserved += cost_usd
            self._accounts.setdefault(_NO_SCENARIO, Usage())
            self._write(_NO_SCENARIO)

    def _of_all(self) -> tuple[Usage, float]:
        """Return what all processes of the run have used, and what they have reserved."""
        used, reserved = self.usage, self._reserved
        if self._folder is None:
            return used, reserved
        if self._living is None:
            self._living = open_locks(self._folder, "living")
            if self._living is not None:
                self._living.try_lock(os.getpid())
        for record in _records(self._folder, but=self._name):
            used = used + record.usage
            if record.reserved_usd and self._lives(record.process):
                reserved += record.reserved_usd
            elif record.reserved_usd:
                used = used + Usage(cost_usd=record.reserved_usd)
        return used, reserved

    def _lives(self, process: int) -> bool:
        """Return whether another process, by its lock, lives and will settle its reservations."""
        return self._living is not None and self._living.is_locked(process)

    def _refusal(self, used: Usage, cost_usd: float) -> BudgetError:
        """Return the error of a request that costs about ``cost_usd``."""
        known = [f"{used.calls} calls cost {_dollars(used.cost_usd or 0.0)}"] if used.calls else []
        budget = f"the budget of {self._budget:g} USD"
        call = f"a call of about {_dollars(cost_usd)}"
        if not known:
            return BudgetError(f"{budget} is too small for {call}; nothing is asked")
        spent = f"is spent: {', '.join(known)}, and {call} would exceed it"
        return BudgetError(f"{budget} {spent}; nothing more is asked")

    def _write(self, scenario: str) -> None:
        if self._folder is None or self.problem:
            return
        try:
            self._write_record(self._folder, scenario)
        except OSError as error:  # the reply counts, at least in this process
            self.problem = f"usage is not shared: {self._folder}: {error.strerror or error}"

    def _write_record(self, folder: Path, scenario: str) -> None:
        if self._file is None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / self._name).open("wb", buffering=0)
        used = self._accounts[scenario]
        cost = nan if used.cost_usd is None else used.cost_usd
        record = _RECORD.pack(
            _digest(scenario),
            used.prompt_tokens,
            used.completion_tokens,
            used.calls,
            used.cached,
            cost,
            used.unpriced,
            self._reserved if scenario == _NO_SCENARIO else 0.0,
        )
        self._file.seek(_RECORD.size * list(self._accounts).index(scenario))
        self._file.write(record)


_WITHOUT_BUDGET: Final = nullcontext()

_NO_SCENARIO = ""
"""The name of calls without a scenario, and of the account with this process's reservations."""

_LOOK_S = 0.01
"""Seconds, on average, until the first caller in the queue looks again whether there is room."""

# Rounding errors of costs that were added and subtracted again.
_NOTHING_USD = 1e-12


def _dollars(amount: float) -> str:
    """Return an amount with four decimals, more where two digits of a small one need them."""
    digits = 4 if amount <= 0.0 else max(4, 1 - floor(log10(amount)))
    return f"{amount:.{digits}f} USD"


@dataclass(frozen=True, slots=True)
class _Record:
    process: int
    scenario: bytes
    usage: Usage
    reserved_usd: float


def _records(folder: Path, but: str = "") -> Iterator[_Record]:
    for path in sorted(folder.glob(f"{_PREFIX}*")):
        raw = b"" if path.name == but else _read(path)
        process = int(path.name.split("-")[1]) if raw else 0
        whole = raw[: len(raw) // _RECORD.size * _RECORD.size]
        for scenario, *used, cost, unpriced, held in _RECORD.iter_unpack(whole):
            prompt, completion, calls, cached = map(int, used)
            known = None if isnan(cost) else cost
            usage = Usage(prompt, completion, calls, cached, known, int(unpriced))
            yield _Record(process, scenario, usage, held)


def _digest(scenario: str) -> bytes:
    return sha256(scenario.encode("utf-8", "replace")).digest()[:16]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
