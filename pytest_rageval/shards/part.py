"""Which part of a run a shard is."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WRITTEN = re.compile(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Shard ``index`` (from 1) of ``of``.

    >>> part = Part.parse("2/5")
    >>> str(part), [position for position in range(11) if part.takes(position)]
    ('2/5', [1, 6])
    """

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return what ``I/N`` says; raises ValueError for what is no part of a run."""
        found = _WRITTEN.fullmatch(text)
        part = cls(*map(int, found.groups())) if found else cls(0, 0)
        if not 1 <= part.index <= part.of:
            raise ValueError(f"no part of a run: {text}")
        return part

    def takes(self, position: int) -> bool:
        """Return whether the case at ``position`` (from 0) of the whole run is in this shard."""
        return position % self.of == self.index - 1

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"
