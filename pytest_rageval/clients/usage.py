"""What was asked for whom and what it cost: purposes, tallies, and the ledger with its budget."""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import FileIO
from math import isnan, nan
from pathlib import Path

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import BudgetError


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a call is for. ``metric``, ``version`` and ``repeat`` are part of the cache key.

    Of calls that wait, those with the lowest ``order`` are sent first: with the sample's index, the
    first samples are complete early instead of all at the end.
    """

    metric: str = ""
    version: int = 1
    repeat: int = 0
    sample: str = ""
    order: int = 0

    def __str__(self) -> str:
        words = [f"sample {self.sample!r}"] if self.sample else []
        return ", ".join([*words, f"metric {self.metric}"] if self.metric else words)


class Tally:
    """What the calls inside one ``asking`` block used; a block inside another counts for both."""

    def __init__(self, purpose: Purpose, outer: Tally | None) -> None:
        self.purpose = purpose
        self.usage = Usage()
        self._outer = outer

    def add(self, usage: Usage) -> None:
        """Add what one call used."""
        self.usage += usage
        if self._outer is not None:
            self._outer.add(usage)


_TALLY: ContextVar[Tally | None] = ContextVar("tally", default=None)
_NO_PURPOSE = Purpose()


@contextmanager
def asking(purpose: Purpose) -> Iterator[Tally]:
    """Say what the calls in this block, and in tasks started in it, are for; count what they use.

    A batch of texts to embed serves many purposes at once and is counted for the run only.
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


# One record for each process: prompt tokens, completion tokens, calls, cached, cost (NaN: no
# price), cost of what is being asked just now.
_RECORD = struct.Struct("<6d")
_PREFIX = "usage-"


def run_usage(shared_dir: Path) -> Usage:
    """Return what all processes of a run have used so far, those that were killed included."""
    total = Usage()
    for usage, _ in _records(shared_dir):
        total += usage
    return total


class Ledger:
    """Counts what this process uses and keeps all processes of the run within the budget.

    Each process writes a file of its own in ``folder`` and reads those of the others, so nothing
    is locked and what a killed process spent stays counted. What is being asked counts with its
    estimated cost; a process killed meanwhile leaves that estimate behind, on the safe side.
    """

    def __init__(self, budget_usd: float | None = None, folder: Path | None = None) -> None:
        self.usage = Usage()
        self._budget = budget_usd
        self._reserved = 0.0
        self._is_spent = False
        self._folder = folder
        self.problem: str | None = None
        self._name = f"{_PREFIX}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._file: FileIO | None = None

    @contextmanager
    def reserve(self, cost_usd: float) -> Iterator[None]:
        """Hold back the estimated cost of a request while it is being asked.

        Raises BudgetError when it would exceed the budget, and from then on for every request:
        a run that has once stopped asking does not go on with the cheaper questions.
        """
        self._hold(cost_usd)
        try:
            self._is_spent = self._is_spent or self._would_exceed()
            if self._is_spent:
                raise self._refusal()
            yield
        finally:
            self._hold(-cost_usd)

    def count(self, usage: Usage) -> None:
        """Add ``usage`` to this process's account and to the tally of whoever asks."""
        self.count_for_run(usage)
        tally = _TALLY.get()
        if tally is not None:
            tally.add(usage)

    def count_for_run(self, usage: Usage) -> None:
        """Add ``usage`` to this process's account only."""
        self.usage += usage
        self._write()

    def close(self) -> None:
        """Close the file; it stays, for ``run_usage``."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _hold(self, cost_usd: float) -> None:
        if self._budget is not None:
            self._reserved += cost_usd
            self._write()

    def _would_exceed(self) -> bool:
        """Return whether what all have spent, and are asking just now, is above the budget."""
        if self._budget is None:
            return False
        committed = (self.usage.cost_usd or 0.0) + self._reserved
        if self._folder is not None:
            for usage, reserved in _records(self._folder, but=self._name):
                committed += (usage.cost_usd or 0.0) + reserved
        return committed > self._budget

    def _refusal(self) -> BudgetError:
        used = run_usage(self._folder) if self._folder is not None else self.usage
        return BudgetError(
            f"the budget of {self._budget:g} USD is spent: {used.calls} calls cost "
            f"{used.cost_usd or 0.0:.4f} USD and another would exceed it; nothing more is asked"
        )

    def _write(self) -> None:
        if self._folder is None or self.problem:
            return
        try:
            self._write_record(self._folder)
        except OSError as error:  # the reply is there, and counted here at least
            self.problem = f"usage is not shared: {self._folder}: {error.strerror or error}"

    def _write_record(self, folder: Path) -> None:
        if self._file is None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / self._name).open("wb", buffering=0)
        used = self.usage
        cost = nan if used.cost_usd is None else used.cost_usd
        record = _RECORD.pack(
            used.prompt_tokens,
            used.completion_tokens,
            used.calls,
            used.cached,
            cost,
            self._reserved,
        )
        self._file.seek(0)
        self._file.write(record)


def _records(folder: Path, but: str = "") -> Iterator[tuple[Usage, float]]:
    for path in sorted(folder.glob(f"{_PREFIX}*")):
        raw = b"" if path.name == but else _read(path)
        if len(raw) == _RECORD.size:
            prompt, completion, calls, cached, cost, reserved = _RECORD.unpack(raw)
            known = None if isnan(cost) else cost
            yield Usage(int(prompt), int(completion), int(calls), int(cached), known), reserved


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
