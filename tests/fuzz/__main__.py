"""Feeds every reader of the package what nobody should write, and counts what is no user error.

    python -m tests.fuzz [--count 100000] [--seed 1] [--jobs 2] [--reader NAME] [--only NUMBER]

A case is known by its seed and number: ``--only`` feeds that one again, and shows it. Ends with
exit status 1 where anything but an error in the user's words was raised, where a case took more
than five seconds or four gigabytes, or where a run was green for nothing.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_cases import make_case, turn_of
from fuzz_feed import Tally, bound_memory, feed_all, grounds
from fuzz_readers import readers_of

_CHUNK = 2000


def main() -> int:
    """Feed the cases that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=1000, help="with --reader, of that reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case, which is shown")
    parser.add_argument("--reader", default="", help="the name of the only reader to feed")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes feed")
    asked = parser.parse_args()
    began = time.monotonic()
    with grounds() as ground:
        readers = readers_of(ground)
        names = [one.name for one in readers]
        if asked.reader not in ("", *names):
            parser.error(f"no reader {asked.reader!r}; there are: {', '.join(names)}")
        if asked.only is not None:
            case = make_case(readers, asked.seed, asked.only)
            sys.stdout.write(f"{case.reader.name}, {case.kind}:\n{case.given!r}\n\n")
    if asked.only is not None:
        bound_memory()
        tally = feed_all(asked.seed, [asked.only])
    else:
        turns = (
            at for at in itertools.count() if asked.reader in ("", turn_of(readers, at)[0].name)
        )
        tally = _fed(asked, list(itertools.islice(turns, asked.count)))
    _show(tally)
    sys.stdout.write(f"seed {asked.seed}, {time.monotonic() - began:.0f} s\n")
    return int(bool(tally.defects))


def _fed(asked: argparse.Namespace, numbers: list[int]) -> Tally:
    """Feed the cases in parts, in so many processes; one that ends its process is a defect."""
    tally, began = Tally(), time.monotonic()
    parts = [numbers[at : at + _CHUNK] for at in range(0, len(numbers), _CHUNK)]
    with tempfile.TemporaryDirectory() as folder:
        while parts:
            broken = []
            for part, fed in _in_processes(asked, parts, Path(folder)):
                if fed is None:
                    broken.append(part)
                    continue
                tally.add(fed)
                done, bad = sum(tally.ended.values()), sum(tally.defects.values())
                rate = done / (time.monotonic() - began)
                sys.stderr.write(f"{done} cases, {rate:.0f}/s, {bad} bad\n")
            parts = [rest for part in broken for rest in _without(asked, part, Path(folder), tally)]
    return tally


def _in_processes(
    asked: argparse.Namespace, parts: list[list[int]], folder: Path
) -> Iterator[tuple[list[int], Tally | None]]:
    """Yield each part, and what was counted; None where a process died, of all that it had left."""
    context = multiprocessing.get_context("spawn")  # each with the sys.path of this module
    with ProcessPoolExecutor(asked.jobs, context, bound_memory) as pool:
        fed = {pool.submit(feed_all, asked.seed, one, folder / str(one[0])): one for one in parts}
        for one in as_completed(fed):
            try:
                yield fed[one], one.result()
            except BrokenProcessPool:
                yield fed[one], None


def _without(
    asked: argparse.Namespace, part: list[int], folder: Path, tally: Tally
) -> Iterator[list[int]]:
    """Yield what is left of a part without the case that ended its process, which is noted."""
    begun = folder / str(part[0])
    if not begun.exists():
        yield part
        return
    at = part.index(int(begun.read_text("utf-8")))
    begun.unlink()
    ((_, alone),) = _in_processes(asked, [part[at : at + 1]], folder)
    if alone is None:
        tally.defects[f"case {part[at]} ends the process"] += 1
    yield from filter(None, [part[:at], part[at + (alone is None) :]])


def _show(tally: Tally) -> None:
    for line in _table(tally):
        sys.stdout.write(f"{line}\n")
    for defect, count in tally.defects.most_common():
        example = tally.smallest.get(defect)
        sys.stdout.write(f"\n{count} x {defect}\n")
        if example is not None:
            sys.stdout.write(f"smallest in case {example.number}: {example.given[:1000]}\n")
            sys.stdout.write(example.shown)
    sys.stdout.write(
        f"\n{sum(tally.ended.values())} cases, {sum(tally.defects.values())} uncaught, "
        f"{len(tally.defects)} kinds of them\n"
    )


def _table(tally: Tally) -> Iterable[str]:
    """Yield a line for each reader: its cases, milliseconds a case, and how they ended."""
    by_reader: dict[str, Counter[str]] = {}
    for ended, count in tally.ended.items():
        reader, _, how = ended.rpartition(": ")
        by_reader.setdefault(reader, Counter())[how] += count
    for reader, ended in by_reader.items():
        cases = sum(ended.values())
        each_ms = 1000 * tally.seconds[reader] / cases
        told = ", ".join(f"{count} {how}" for how, count in ended.most_common())
        yield f"{cases:8} {reader:18} {each_ms:6.1f} ms  {told}"


if __name__ == "__main__":
    sys.exit(main())
