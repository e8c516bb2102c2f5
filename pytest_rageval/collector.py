"""Has Python's cyclic garbage collector look less often while objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_THRESHOLDS: Final = (50_000, 20, 100)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Have the collector look less often, unless somebody has chosen how often it does."""
    before = gc.get_threshold()
    gc.set_threshold(*map(max, before, _THRESHOLDS) if before[0] else before)
    try:
        yield
    finally:
        gc.set_threshold(*before)


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
