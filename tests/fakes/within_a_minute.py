"""A limit for work that has to end: a minute of what the processor computes for this process.

A slow or busy machine, and one that pauses, does not come near it with what takes a second or two
elsewhere; a test is to give so much that the defect it looks for takes several minutes.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def within_a_minute() -> Iterator[None]:
    """Fail the test in the middle of the block after a minute of processor time."""
    if not hasattr(signal, "SIGPROF"):  # Windows: there, a defect is a test that does not end
        yield
        return

    def stop(*_: object) -> None:
        pytest.fail("not done after a minute of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 60.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
