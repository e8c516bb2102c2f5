"""Feeds cases to their readers: a result, or an error in the user's words; else it is a defect."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz_cases import Case, make_case
from fuzz_ground import Ground
from fuzz_readers import readers_of

_MEMORY_GB = 4


class HangError(BaseException):
    """A case took longer than it may; no code of the package catches it."""


@dataclass
class Example:
    """The smallest case of a defect that was met: its number, what was fed, the traceback."""

    size: int
    number: int
    given: str
    shown: str


@dataclass
class Tally:
    """How many cases of each reader ended how, the defects, and the seconds of each reader."""

    ended: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)
    smallest: dict[str, Example] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.ended += other.ended
        self.defects += other.defects
        self.seconds.update(other.seconds)
        for defect, example in other.smallest.items():
            self._keep(defect, example)

    def note(self, number: int, case: Case, error: BaseException) -> None:
        """Count a defect by its type and the innermost line of the package that it came from."""
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "pytest_rageval/" in frame.filename] or frames[-1:]
        at = f"{ours[-1].filename.rpartition('pytest_rageval/')[2]}:{ours[-1].lineno}"
        defect = f"{case.reader.name}: {type(error).__name__} at {at}"
        self.defects[defect] += 1
        shown = "".join(traceback.format_exception(error)[-12:])[-3000:]
        given = _shown(case.given)
        self._keep(defect, Example(len(given), number, given, f"{case.kind}\n{shown}"))

    def _keep(self, defect: str, example: Example) -> None:
        known = self.smallest.get(defect)
        if known is None or example.size < known.size:
            self.smallest[defect] = example


def _shown(given: Any) -> str:
    try:
        return repr(given)
    except (RecursionError, ValueError):  # too deep, too many digits
        return f"{type(given).__name__} that cannot be shown"


def feed(ground: Ground, case: Case, limit_s: float = 5.0) -> str:
    """Return how a case ended: a word, or the name of the user's error; all else is raised.

    Raises HangError after the limit.
    """
    try:
        with _limit(limit_s), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ended = case.reader.feed(ground, case.given, case.chance)
            return ended if isinstance(ended, str) else "result"
    except case.reader.errors as error:
        if not str(error).strip():
            raise AssertionError("an error that says nothing") from error
        return type(error).__name__
    finally:
        ground.tidy()


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise HangError in the block after so many seconds, where the system has an alarm."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise HangError(f"more than {seconds:g} s")

    # Of processor time, so that a busy machine makes no defects; of what waits, six times that.
    limits = ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 6))
    before = [signal.signal(number, stop) for number, _, _ in limits]
    for _, timer, times in limits:
        signal.setitimer(timer, times * seconds)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            # By default, a signal that is already under way would end the process.
            signal.signal(number, handler if callable(handler) else signal.SIG_IGN)


def bound_memory() -> None:
    """Let an allocation without end fail here, and not take the machine along."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit = _MEMORY_GB * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def grounds() -> Iterator[Ground]:
    """Lend a ground of its own, as the working directory, and remove it.

    A scenario may name a file that is written into the working directory.
    """
    folder = Path(tempfile.mkdtemp(prefix="rageval-fuzz-"))
    ground = Ground(folder)
    try:
        with chdir(folder):
            yield ground
    finally:
        ground.close()
        shutil.rmtree(folder, ignore_errors=True)


def feed_all(
    seed: int,
    numbers: Iterable[int],
    begun: Path | None = None,
) -> Tally:
    """Feed the cases of a seed by their numbers; ``begun`` is a file that has the present one."""
    tally = Tally()
    with grounds() as ground:
        readers = readers_of(ground)
        for number in numbers:
            if begun is not None:
                begun.write_text(str(number), "utf-8")
            case = make_case(readers, seed, number)
            began = time.process_time()
            try:
                ended = feed(ground, case)
            except (Exception, HangError) as error:  # noqa: BLE001  (they are what is looked for)
                sys.stderr.write(f"case {number} of seed {seed}: {type(error).__name__}\n")
                ended = "defect"
                tally.note(number, case, error)
            tally.ended[f"{case.reader.name}: {ended}"] += 1
            tally.seconds[case.reader.name] += time.process_time() - began
    return tally
