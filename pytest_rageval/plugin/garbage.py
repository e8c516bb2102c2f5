"""Python's cyclic garbage collector, kept from reading through 100,000 samples again and again.

The collector walks all containers that live long each time their number has grown by a quarter.
The samples of a scenario are such containers, and no garbage before the run has ended: a quarter of
the time of a run over 100,000 rows went there.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Collect no garbage while much is made and nothing is thrown away."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def freeze() -> None:
    """Take all objects that exist out of the collector's sight, to the end of the session.

    Objects that are made later are collected as ever. ``plugin.hooks`` calls ``gc.unfreeze`` when
    pytest cleans up.
    """
    gc.freeze()
