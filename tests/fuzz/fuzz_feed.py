"""Feeds cases to what users feed: an error in their words or a result is right, nothing else."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_cases import Case, make_case
from fuzz_seeds import FILES, SCENARIOS

from pytest_rageval import RagevalError, ScenarioResult, evaluate
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.model import RunInfo
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.results.run_point import read_point

RUN = RunInfo("run", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "v")


class HangError(BaseException):
    """A case took longer than it may; no code of the package catches it."""


@dataclass
class Tally:
    """How many cases of each kind ended how, and the first of each kind of defect."""

    ended: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Defect -> the number of its first case, and its traceback."""


class Feeder:
    """A folder to feed cases from, each with the files that it wants changed."""

    def __init__(self, folder: Path, limit_s: float = 5.0) -> None:
        self._folder = folder
        self._limit_s = limit_s
        sys.modules.pop("fuzz_app", None)  # of another folder
        self._write(FILES)
        # Nothing is asked over a network: a reply that is not in the empty cache is an error.
        self._run = RunSettings(cache_dir=folder / "cache", cache_mode="replay")
        result = evaluate(_without_comparison(SCENARIOS[1]), folder=folder, run=self._run)
        self.base: dict[str, Any] = json.loads("".join(results_chunks(result, RUN)))
        self._files = {**FILES, "base.json": json.dumps(self.base).encode()}
        self._write(self._files)

    def feed(self, case: Case) -> str:
        """Return how a case ended, ``result`` or the name of the user's error; all else is raised.

        Raises HangError after the limit.
        """
        self._write(case.files)
        try:
            with _limit(self._limit_s), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._feed(case)
        finally:
            for name in case.files:
                (self._folder / name).unlink(missing_ok=True)
            self._write({name: self._files[name] for name in case.files if name in self._files})

    def _feed(self, case: Case) -> str:
        if "base.json" in case.files:
            _read_as_history(self._folder, case.files["base.json"])
        try:
            if case.mapping is not None:
                result = evaluate(case.mapping, case.overrides, folder=self._folder, run=self._run)
            else:
                result = evaluate(self._folder / case.name, case.overrides, run=self._run)
        except RagevalError as error:
            if not str(error).strip():
                raise AssertionError("an error that says nothing") from error
            return type(error).__name__
        _check(result)
        return "result"

    def _write(self, files: Mapping[str, bytes]) -> None:
        for name, raw in files.items():
            (self._folder / name).write_bytes(raw)


def _without_comparison(scenario: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in scenario.items() if key not in ("compare", "gates")}


def _read_as_history(folder: Path, raw: bytes) -> None:
    run = folder / "s" / "run"
    run.mkdir(parents=True, exist_ok=True)
    (run / "results.json").write_bytes(raw)
    read_point(folder, "s/run")


def _check(result: ScenarioResult) -> None:
    """Refuse a result that cannot be written as JSON, or that is green for nothing."""
    json.loads("".join(results_chunks(result, RUN)), parse_constant=_refuse)
    green = all(gate.outcome != "failed" for gate in result.gates) and not (
        result.counts.failed or result.counts.error
    )
    assert not (green and result.counts.scored == 0), "green, and nothing was scored"


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} in results.json")


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise HangError in the block after so many seconds, where the system has an alarm."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise HangError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def feed_all(
    seed: int, numbers: Iterable[int], told: Callable[[int, Tally], None] | None = None
) -> Tally:
    """Feed the cases of a seed by their numbers; return how they ended."""
    tally = Tally()
    folder = Path(tempfile.mkdtemp(prefix="rageval-fuzz-"))
    try:
        feeder = Feeder(folder)
        for number in numbers:
            case = make_case(seed, number, feeder.base)
            try:
                ended = feeder.feed(case)
            except (Exception, HangError) as error:  # noqa: BLE001  (they are what is looked for)
                ended = "defect"
                _note(tally, number, error)
            tally.ended[f"{case.kind}: {ended}"] += 1
            if told is not None:
                told(number, tally)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def _note(tally: Tally, number: int, error: BaseException) -> None:
    """Count a defect by its type and the place in the package that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "pytest_rageval" in frame.filename] or frames[-1:]
    at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    defect = f"{type(error).__name__} at {at}"
    tally.defects[defect] += 1
    shown = "".join(traceback.format_exception(error)[-12:])[-3000:]
    tally.first.setdefault(defect, (number, shown))
