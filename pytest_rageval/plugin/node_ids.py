"""Item names from sample ids: names that pytest can select, print and send."""

from __future__ import annotations

from pytest_rageval.text.printable import one_line

_MAX_NAME = 200
WHOLE_PREFIXES = ("gate:", "save:")
"""Prefixes of the last part of a node id that is about a whole scenario."""


def item_name(sample_id: str) -> str:
    """Return the name of the item of ``sample_id`` in node ids.

    ``::`` would split the node id and ``[`` breaks ``--lf``; both are replaced. So is the colon of
    a name that begins like that of a gate, since gates have node ids, too.

    >>> item_name("a::b[1]")
    'a:b(1)'
    """
    name = sample_id.replace("::", ":").replace("[", "(").replace("]", ")")
    name = one_line(name)[:_MAX_NAME].rstrip(":")
    if name.startswith(WHOLE_PREFIXES):
        name = name.replace(":", "_", 1)
    return name or "sample"


class Names:
    """Gives each item of a file a unique name."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """The last number given with each name."""

    def give(self, sample_id: str) -> str:
        """Return the item's name, followed by ``~2`` if another id has the same name."""
        name = unique = item_name(sample_id)
        number = self._numbers.get(name, 1)
        while unique in self._numbers:
            number += 1
            unique = f"{name}~{number}"
        self._numbers[unique] = 1
        self._numbers[name] = number
        return unique
