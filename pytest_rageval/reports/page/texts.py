"""The texts of the page: each once, cut so that together they stay within a size, and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

LONGEST = 20_000
"""No text is shown with more characters."""

MOST_LISTED = 10
"""How many contexts, or references, of a sample are shown."""

_SHORTEST = 60
_MARK = 12  # bytes for the length of a text that was cut
_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff]")


class TextPool:
    """Numbers the texts; ``texts`` holds them in that order, cut.

    A text with the ``share`` 2 is cut at half the length.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.texts: list[str | list[str | int]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def add(self, text: str | None, share: int = 1) -> int:
        """Return the number of ``text``, -1 for None.

        A text that is too long is held as its beginning and its length in characters.
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
    """Return the length in characters to cut ``texts`` at, each by its share.

    They then take at most ``budget`` bytes, unless that needs less than 60 characters.
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


def embedded_json(value: Any) -> str:
    r"""Return ``value`` as JSON for a script element of the page.

    It has no ``<``, which could end the element or begin a comment, and nothing that UTF-8 cannot
    hold.

    >>> embedded_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
