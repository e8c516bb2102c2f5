"""Asks control rows, once a run: whether the judge of a metric tells good rows from bad ones."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_rageval.clients.errors import (
    InvalidOutputError,
    NotAskedError,
    RefusedError,
    ReplayMissError,
    TruncatedError,
)
from pytest_rageval.clients.file_locks import run_locks
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.clients.threads import is_our_stop
from pytest_rageval.controls import slips_allowed
from pytest_rageval.engine.plan import BoundMetric, Controlled
from pytest_rageval.engine.scoring.judge_sample import score_once
from pytest_rageval.engine.scoring.repeats import Asking, error_text
from pytest_rageval.metrics.base import Models
from pytest_rageval.model import REPLAY, ControlVerdict, Sample
from pytest_rageval.text.codec import from_json, to_json

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.engine.scoring.score_reuse import ScoreReuse

FIRST: Final = -1
LAST: Final = sys.maxsize
"""The places of control rows in the queue for calls: before those of samples, or after them."""

_AT_ONCE: Final = 3
"""How many rows of each kind are asked together at first; then it is one of each."""


def verdict_file(folder: Path, digest: str) -> Path:
    """Return where the processes of a run find a verdict, in the folder that they share."""
    return folder / f"controls-{digest}.json"


def read_verdict(folder: Path | None, digest: str) -> ControlVerdict | None:
    """Return the verdict of a run; None where no process of it has reached one."""
    if folder is None:
        return None
    try:
        text = verdict_file(folder, digest).read_text("utf-8")
    except OSError:
        return None
    return from_json(text, ControlVerdict)


async def once_a_run(
    digest: str, run: RunSettings, ask: Callable[[], Awaitable[ControlVerdict]]
) -> ControlVerdict:
    """Return the verdict of the process that came first; the others wait for it, and ask nothing.

    Where that process dies, its lock is free, and the next one asks. Where the system has no locks
    each process asks, and the first verdict counts.
    """
    look = partial(read_verdict, run.shared_dir, digest)

    async def asked() -> ControlVerdict:
        found = await ask()
        if run.shared_dir is None:
            return found
        _write(verdict_file(run.shared_dir, digest), found)
        return look() or found

    locks = run_locks(run, f"controls-{digest}")
    try:
        return look() or await SingleFlight[ControlVerdict](locks).run(digest, look, asked)
    finally:
        if locks is not None:
            locks.close()


def _write(path: Path, verdict: ControlVerdict) -> None:
    """Write a verdict unless there is one; it is whole once it is there."""
    part = path.with_suffix(f".{id(verdict)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(to_json(verdict), "utf-8")
        if not path.exists():
            part.replace(path)
    except OSError:  # this process knows it; readers of the file find no verdict
        return


async def ask_controls(
    plan: Plan, bound: BoundMetric, models: Models, reuse: ScoreReuse | None, order: int
) -> ControlVerdict:
    """Ask the control rows of a metric until the verdict is certain, and return it.

    A reply that cannot be used counts against the judge. Of a row that could not be asked, for
    whatever other reason, nothing is known; the others may decide without it. If as many as are
    asked at first are lost one after another, the service is down, and no more are asked.
    """
    rows = plan.models.controls[bound.column.name]
    bound = rows.scored_by
    how = Asking(order, 1, reuse, plan.info.nodeid)
    values: dict[bool, list[float | None]] = {True: [], False: []}
    passed, lost, lost_in_a_row = None, "", 0
    for batch in batches(rows):
        found = await asyncio.gather(*(_value(bound, row, models, how) for _, row in batch))
        for (is_high, _), value in zip(batch, found, strict=True):
            if isinstance(value, str):
                lost = lost or value
            else:
                values[is_high].append(value)
        high, low = values[True], values[False]
        passed = rows.rule.tells_apart(
            high, low, (len(rows.high) - len(high), len(rows.low) - len(low))
        )
        is_lost = all(isinstance(one, str) for one in found)
        lost_in_a_row = lost_in_a_row + len(found) if is_lost else 0
        if passed is not None or lost_in_a_row >= 2 * _AT_ONCE:
            break
    good, bad = (tuple(values[bound.info.higher_is_better is is_good]) for is_good in (True, False))
    why = {None: lost, True: "", False: f"this judge does not tell {rows.tells}"}[passed]
    return ControlVerdict(passed, rows.number, good, bad, why)


def batches(rows: Controlled) -> Iterator[Sequence[tuple[bool, Sample]]]:
    """Yield the rows that are asked at once, each with whether its score should be high."""
    pairs = [
        [
            (is_high, row)
            for is_high, row in zip((True, False), pair, strict=True)
            if row is not None
        ]
        for pair in zip_longest(rows.high, rows.low)
    ]
    yield [one for pair in pairs[:_AT_ONCE] for one in pair]
    yield from pairs[_AT_ONCE:]


def rows_needed(rows: Controlled) -> list[Sample]:
    """Return the rows that are asked until the verdict is certain, if the judge makes no slip."""
    asked: list[tuple[bool, Sample]] = []
    for batch in batches(rows):
        asked += batch
        left = len(rows.high) + len(rows.low) - len(asked)
        if left <= slips_allowed(len(rows.high), len(rows.low)):
            break
    return [row for _, row in asked]


async def _value(
    bound: BoundMetric, row: Sample, models: Models, how: Asking
) -> float | str | None:
    """Return the score of a row, None where no reply can be used, or why nothing is known of it."""
    try:
        score = await score_once(bound, row, models, 0, how)
    except (InvalidOutputError, NotAskedError, RefusedError, TruncatedError):
        return None  # NotAskedError: too many replies before could not be used
    except ReplayMissError:
        return f"{REPLAY}they are not in the cache; run once without replay to record them"
    except BaseException as error:
        if is_our_stop(error):
            raise
        return error_text(error)
    return score.value
