"""Names that are not taken yet."""

from __future__ import annotations

from collections.abc import Container
from itertools import count


def free_name(name: str, taken: Container[str], between: str = "-") -> str:
    """Return ``name``, with the first number from 2 on that makes it free if it is ``taken``.

    >>> free_name("a", []), free_name("a", ["a", "a-2"])
    ('a', 'a-3')
    """
    numbers = (f"{name}{between}{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbers if one not in taken)
