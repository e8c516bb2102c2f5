"""Keeps Python's cyclic garbage collector from scanning all modules and samples repeatedly.

The collector scans all long-lived containers whenever their number has grown by a quarter. Modules
and samples live until the end of the run, and scanning the samples took a quarter of a run over
100,000 rows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Switch off garbage collection while many objects are made and none is discarded."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
