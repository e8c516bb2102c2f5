"""What tools for agents take and answer: known arguments, compact JSON of few tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, overload

from pydantic import BaseModel, ConfigDict

from pytest_rageval.clients.tokens import estimate_tokens

MOST_TOKENS: Final = 1800
"""How long an answer may be; an estimate, below the 2,000 that are promised."""

LONGEST: Final = 1000
"""How many characters of a text are shown at most."""

_WIDTHS: Final = (LONGEST, 600, 300, 150, 80, 40, 20)


class Arguments(BaseModel):
    """The arguments of a tool; others than it knows are refused."""

    model_config = ConfigDict(extra="forbid")


def packed(answer: Mapping[str, Any]) -> str:
    """Return ``answer`` as compact JSON, without what is None.

    >>> packed({"run": None, "gates": [{"bound": None, "name": "f1"}]})
    '{"gates":[{"name":"f1"}]}'
    """
    return json.dumps(_known(answer), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _known(part) for key, part in value.items() if part is not None}
    if isinstance(value, float) and not math.isfinite(value):  # a file may have been changed
        return None
    return [_known(part) for part in value] if isinstance(value, list) else value


def fitted(build: Callable[[int], Mapping[str, Any]], most: int = MOST_TOKENS) -> str:
    """Return what ``build`` makes of the longest width of texts that fits into an answer."""
    found = ""
    for width in _WIDTHS:
        found = packed(build(width))
        if _fits(found, most):
            break
    return found


def paged(
    head: Mapping[str, Any], key: str, rows: Iterable[Mapping[str, Any]], offset: int, total: int
) -> str:
    """Return ``head`` with as many ``rows`` as fit, one at least, and ``next`` if there are more.

    ``rows`` begin at ``offset`` of ``total``; ``next`` is the offset to go on from.
    """
    shown: list[Mapping[str, Any]] = []
    text = packed({**head, "total": total})
    for row in rows:
        at = offset + len(shown) + 1
        more = {"next": at} if at < total else {}
        longer = packed({**head, "total": total, key: [*shown, row], **more})
        if shown and not _fits(longer, MOST_TOKENS):
            break
        shown.append(row)
        text = longer
    return text


@overload
def cut(text: str, width: int) -> str: ...
@overload
def cut(text: None, width: int) -> None: ...
@overload
def cut(text: str | None, width: int) -> str | None: ...
def cut(text: str | None, width: int) -> str | None:
    """Return ``text`` cut to ``width`` characters; a longer one ends with how many more it has.

    >>> cut("abcdef", 4)
    'abcd… (2 more)'
    """
    if text is None or len(text) <= width:
        return text
    return f"{text[:width]}… ({len(text) - width} more)"


def short(text: str) -> str:
    """Return a text that is no JSON, such as an error, cut to the length of an answer."""
    width = len(text)
    while not _fits(found := cut(text, width), MOST_TOKENS):
        width //= 2
    return found


def rounded(value: float | None) -> float | None:
    """Return a figure with four decimals."""
    return None if value is None else round(value, 4)


def significant(value: float | None) -> float | None:
    """Return a figure with two digits that count: a small one is never 0.

    >>> significant(0.000012345), significant(1234.5)
    (1.2e-05, 1200.0)
    """
    return None if value is None else float(f"{value:.2g}")


def _fits(text: str, most: int) -> bool:
    return estimate_tokens(text) <= most
