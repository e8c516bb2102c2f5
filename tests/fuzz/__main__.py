"""Feeds mutated scenarios, rows and saved runs to the package, and counts what is no user error.

    python -m tests.fuzz [--count 100000] [--seed 1] [--only NUMBER]

A case is known by its seed and number: ``--only`` feeds that one again, and shows it. Ends with
exit status 1 where anything but an error in the user's words was raised, where a case took more
than five seconds, or where a run was green for nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_feed import Tally, feed_all

_MEMORY_GB = 4


def main() -> int:
    """Feed the cases that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case")
    asked = parser.parse_args()
    _bound_memory()
    numbers = range(asked.count) if asked.only is None else [asked.only]
    tally = feed_all(asked.seed, numbers, _progress(time.monotonic()))
    _show(tally)
    return int(bool(tally.defects))


def _bound_memory() -> None:
    """Let an allocation without end fail here, and not take the machine along."""
    try:
        import resource
    except ImportError:  # Windows has none
        return
    limit = _MEMORY_GB * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _progress(started: float):
    def told(number: int, tally: Tally) -> None:
        if number and number % 5000 == 0:
            rate = number / (time.monotonic() - started)
            sys.stderr.write(f"{number} cases, {rate:.0f}/s, {sum(tally.defects.values())} bad\n")

    return told


def _show(tally: Tally) -> None:
    for ended, count in sorted(tally.ended.items()):
        sys.stdout.write(f"{count:8} {ended}\n")
    for defect, count in tally.defects.most_common():
        number, shown = tally.first[defect]
        sys.stdout.write(f"\n{count} x {defect}, first in case {number}:\n{shown}")
    sys.stdout.write(
        f"\n{sum(tally.ended.values())} cases, {sum(tally.defects.values())} uncaught\n"
    )


if __name__ == "__main__":
    sys.exit(main())
