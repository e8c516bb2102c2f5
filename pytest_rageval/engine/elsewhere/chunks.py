"""How many samples go into the next chunk: about a quarter of a second of work."""

from __future__ import annotations

from math import ceil
from typing import Final

_FIRST: Final = 16
_MOST: Final = 2048
_GROWTH: Final = 8
_SECONDS: Final = 0.25
# Dask warns of more than 10 MB at once; a lost chunk is done again from its beginning.
_BYTES: Final = 500_000


class ChunkSize:
    """The size of the next chunk, learned from those that are done; the first ones may mislead."""

    def __init__(self) -> None:
        self._size = _FIRST

    def next(self, left: int, workers: int) -> int:
        """Return how many of the samples that are ``left`` the next chunk has.

        At the end, no worker is to have much more than another; nor are there to be many chunks.
        """
        return min(self._size, max(ceil(self._size / 4), ceil(left / workers)), max(1, left))

    def learn(self, samples: int, seconds: float, packed: int) -> None:
        """Take in what a chunk took, and how many bytes it was; a small rest teaches nothing."""
        if samples < self._size // 2:
            return
        by_time = int(samples * _SECONDS / seconds) if seconds > 0.0 else _MOST
        by_bytes = samples * _BYTES // max(1, packed)
        self._size = max(1, min(_GROWTH * samples, by_time, by_bytes, _MOST))
