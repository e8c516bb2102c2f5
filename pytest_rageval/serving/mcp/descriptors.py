"""The descriptors of the protocol: taken before anything else can print to them."""

from __future__ import annotations

import os

_taken: tuple[int, int] | None = None


def take_descriptors() -> tuple[int, int]:
    """Return copies of stdin and stdout, which from then on are the null device and stderr.

    For good: also what threads, C code, children and the end of the process print is kept away from
    the protocol. The second call returns what the first one took.
    """
    global _taken  # noqa: PLW0603  (one for the process, as descriptors are)
    if _taken is None:
        _taken = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
    return _taken
