"""Whether a text ends in a loop, as those of small models do that never find their end."""

from __future__ import annotations

_TAIL = 4000
_LONGEST_UNIT = _TAIL // 5
_TIMES = 5
_LEAST = 100


def repeats_itself(text: str) -> bool:
    """Return whether at least half of a text, from its end, is one unit again and again.

    The unit has up to 800 characters and comes five times; together 100 characters at least. Of a
    text above 4,000 characters, its end counts.

    >>> repeats_itself("Yes. " + "The sky is blue. " * 20), repeats_itself("巴黎是首都。" * 20)
    (True, True)
    >>> repeats_itself("[" + "0, " * 9)
    False
    """
    tail = text[-_TAIL:]
    least = max(_LEAST, len(tail) // 2)
    for unit in range(1, _LONGEST_UNIT + 1):
        span = max(least, _TIMES * unit)
        if span > len(tail):
            return False
        if tail[len(tail) - span : len(tail) - unit] == tail[len(tail) - span + unit :]:
            return True
    return False
