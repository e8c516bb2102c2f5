"""The texts of a page: each once, and cut so that all of them keep within a size."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_rageval.reports.page.embed import embedded_json

LONGEST = 20_000
"""No text is shown with more characters."""

MOST_LISTED = 10
"""So many contexts, or references, of a sample are shown."""

_SHORTEST = 60
_MARK = 12  # what says of a text how long it was


class TextPool:
    """Gives each text a number; ``texts`` holds them in that order, cut.

    A text is added with a ``share``: what is of half the interest is cut at half the length.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.texts: list[str | list[str | int]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def add(self, text: str | None, share: int = 1) -> int:
        """Return the number of ``text``, -1 for None.

        One that is too long stands in ``texts`` as its beginning and its length in characters.
        """
        if text is None:
            return -1
        width = self.longest // share
        key = (text, width if len(text) > width else 0)
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append([text[:width], len(text)] if key[1] else text)
        return self._numbers[key]


def longest_that_fits(texts: Iterable[tuple[str, int]], budget: int) -> int:
    """Return the largest length to cut ``texts`` at, each by its share, to stay below ``budget``.

    In characters; ``budget`` in bytes. Never less than 60, so that something is to be seen.
    """
    sizes = [
        (len(text), len(embedded_json(text).encode()) + 1, share)
        for text, share in dict.fromkeys(texts)
    ]
    low, high = _SHORTEST, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        if _total(sizes, middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _total(sizes: list[tuple[int, int, int]], longest: int) -> float:
    return sum(
        size if length <= longest // share else size * (longest // share) / length + _MARK
        for length, size, share in sizes
    )


def cut(text: str, width: int) -> str:
    """Return ``text``, or its beginning with an ellipsis."""
    return text if len(text) <= width else text[:width] + "…"
