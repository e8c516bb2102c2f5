"""Which part of a run a shard is."""

from __future__ import annotations

import re

from pytest_rageval.model import Value

_WRITTEN = re.compile(r"\s*(\d{1,6})\s*/\s*(\d{1,6})\s*", re.ASCII)


class Part(Value, frozen=True, order=True):
    """Shard ``index`` (from 1) of ``of``.

    >>> part = Part.parse("2/5")
    >>> str(part), [position for position in range(11) if part.takes(position)]
    ('2/5', [1, 6])
    """

    index: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.of < 10**6:
            raise ValueError(f"no part of a run: {self}")

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return what ``I/N`` says; raises ValueError for what is no part of a run."""
        found = _WRITTEN.fullmatch(text)
        if not found:
            raise ValueError(f"no part of a run: {text}")
        return cls(*map(int, found.groups()))

    def takes(self, position: int) -> bool:
        """Return whether the case at ``position`` (from 0) of the whole run is in this shard."""
        return position % self.of == self.index - 1

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"
