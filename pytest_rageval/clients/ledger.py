"""The ledger: what all processes of a run have used, and the budget that they keep together."""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from io import FileIO
from math import floor, isnan, log10, nan
from pathlib import Path

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.errors import BudgetError
from pytest_rageval.clients.purpose import count_usage, current_scenario

# One record for each process and scenario: digest of the scenario's name, prompt tokens, completion
# tokens, calls, cached, cost (NaN: no price), cost of what is being asked just now.
_RECORD = struct.Struct("<16s6d")
_PREFIX = "usage-"


def is_counted(shared_dir: Path) -> bool:
    """Return whether any process of a run has asked a model, or the cache in its place."""
    return any(shared_dir.glob(f"{_PREFIX}*"))


def run_usage(shared_dir: Path) -> Usage:
    """Return what all processes of a run have used so far, those that were killed included."""
    return sum((record.usage for record in _records(shared_dir)), Usage())


def scenario_usage(shared_dir: Path, scenario: str) -> Usage | None:
    """Return what ``run_usage`` does of one scenario, None where it has asked for nothing.

    What scenarios share is counted as a call of the one that asked first.
    """
    own = _digest(scenario)
    found = [record.usage for record in _records(shared_dir) if record.scenario == own]
    return sum(found, Usage()) if found else None


class Ledger:
    """Counts what this process uses and keeps all processes of the run within the budget.

    Each process writes a file of its own in ``folder`` and reads those of the others, so nothing
    is locked and what a killed process spent stays counted. What is being asked counts with its
    estimated cost; a process killed meanwhile leaves that estimate behind, on the safe side.
    """

    def __init__(self, budget_usd: float | None = None, folder: Path | None = None) -> None:
        self.usage = Usage()
        # By scenario; each has its record in the file, in the order of their first use.
        self._accounts: dict[str, Usage] = {}
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
        self._note(Usage())
        self._hold(cost_usd)
        try:
            self._is_spent = self._is_spent or self._would_exceed()
            if self._is_spent:
                raise self._refusal(cost_usd)
            yield
        finally:
            self._hold(-cost_usd)

    def count(self, usage: Usage) -> None:
        """Add ``usage`` to the scenario's account and to the tally of whoever asks."""
        self.count_for_run(usage)
        count_usage(usage)

    def count_for_run(self, usage: Usage) -> None:
        """Add ``usage`` to the account of the scenario that asks, and of this process, only."""
        self.usage += usage
        self._note(usage)

    def close(self) -> None:
        """Close the file; it stays, for ``run_usage``."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _note(self, usage: Usage) -> None:
        """Add ``usage`` to the scenario's account; one that is not there yet is opened."""
        scenario = current_scenario()
        known = self._accounts.get(scenario)
        total = self._accounts[scenario] = (known or Usage()) + usage
        if total != known:
            self._write(scenario)

    def _hold(self, cost_usd: float) -> None:
        if self._budget is not None:
            self._reserved += cost_usd
            self._accounts.setdefault(_NOBODY, Usage())
            self._write(_NOBODY)

    def _would_exceed(self) -> bool:
        """Return whether what all have spent, and are asking just now, is above the budget."""
        if self._budget is None:
            return False
        used, reserved = self._of_all()
        return (used.cost_usd or 0.0) + reserved > self._budget

    def _of_all(self) -> tuple[Usage, float]:
        """Return what all processes of the run have used, and hold back just now."""
        used, reserved = self.usage, self._reserved
        if self._folder is not None:
            for record in _records(self._folder, but=self._name):
                used, reserved = used + record.usage, reserved + record.reserved_usd
        return used, reserved

    def _refusal(self, cost_usd: float) -> BudgetError:
        """Return the error of a request whose estimate, ``cost_usd``, is held back."""
        used, reserved = self._of_all()
        under_way = reserved - cost_usd
        known = [f"{used.calls} calls cost {_dollars(used.cost_usd or 0.0)}"] if used.calls else []
        if under_way > _NOTHING_USD:
            known.append(f"those on their way about {_dollars(under_way)}")
        budget = f"the budget of {self._budget:g} USD"
        call = f"a call of about {_dollars(cost_usd)}"
        if not known:
            return BudgetError(f"{budget} does not reach for {call}; nothing is asked")
        spent = f"is spent: {', '.join(known)}, and {call} would exceed it"
        return BudgetError(f"{budget} {spent}; nothing more is asked")

    def _write(self, scenario: str) -> None:
        if self._folder is None or self.problem:
            return
        try:
            self._write_record(self._folder, scenario)
        except OSError as error:  # the reply is there, and counted here at least
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
            self._reserved if scenario == _NOBODY else 0.0,
        )
        self._file.seek(_RECORD.size * list(self._accounts).index(scenario))
        self._file.write(record)


_NOBODY = ""
"""The scenario of what none has asked, and the account with what this process holds back."""


# What is left of sums of costs that were added and taken off again.
_NOTHING_USD = 1e-12


def _dollars(amount: float) -> str:
    """Return an amount with four decimals, more where two digits of a small one need them."""
    digits = 4 if amount <= 0.0 else max(4, 1 - floor(log10(amount)))
    return f"{amount:.{digits}f} USD"


@dataclass(frozen=True, slots=True)
class _Record:
    scenario: bytes
    usage: Usage
    reserved_usd: float


def _records(folder: Path, but: str = "") -> Iterator[_Record]:
    for path in sorted(folder.glob(f"{_PREFIX}*")):
        raw = b"" if path.name == but else _read(path)
        whole = raw[: len(raw) // _RECORD.size * _RECORD.size]
        for scenario, prompt, completion, calls, cached, cost, held in _RECORD.iter_unpack(whole):
            known = None if isnan(cost) else cost
            usage = Usage(int(prompt), int(completion), int(calls), int(cached), known)
            yield _Record(scenario, usage, held)


def _digest(scenario: str) -> bytes:
    return sha256(scenario.encode("utf-8", "replace")).digest()[:16]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
