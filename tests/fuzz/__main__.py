"""Feeds every reader of the package what nobody should write, and counts what is no user error.

    python -m tests.fuzz [--count 100000] [--seed 1] [--jobs 2] [--reader NAME] [--only NUMBER]

A case is known by its seed and number: ``--only`` feeds that one again, and shows it. Ends with
exit status 1 where anything but an error in the user's words was raised, where a case took more
than five seconds or four gigabytes, or where a run was green for nothing.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_cases import make_case
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
        total = asked.count * (len(names) if asked.reader else 1)
        tally = _fed(asked, range(total))
    _show(tally)
    sys.stdout.write(f"seed {asked.seed}, {time.monotonic() - began:.0f} s\n")
    return int(bool(tally.defects))


def _fed(asked: argparse.Namespace, numbers: range) -> Tally:
    """Feed the cases in parts, in so many processes; one that dies is a defect."""
    tally, began = Tally(), time.monotonic()
    feed = functools.partial(feed_all, asked.seed, only=asked.reader)
    parts = [numbers[at : at + _CHUNK] for at in range(0, len(numbers), _CHUNK)]
    context = multiprocessing.get_context("spawn")  # each with the sys.path of this module
    with ProcessPoolExecutor(asked.jobs, context, bound_memory) as pool:
        fed = {pool.submit(feed, part): part for part in parts}
        for at, one in enumerate(as_completed(fed), 1):
            try:
                tally.add(one.result())
            except BrokenProcessPool:
                tally.defects[f"the process died, in one of the cases of {fed[one]} or before"] += 1
            if at % 10 == 0:
                done, bad = sum(tally.ended.values()), sum(tally.defects.values())
                rate = done / (time.monotonic() - began)
                sys.stderr.write(f"{done} cases, {rate:.0f}/s, {bad} bad\n")
    return tally


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
