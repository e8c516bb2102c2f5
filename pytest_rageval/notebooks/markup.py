"""HTML elements for notebooks: text is escaped, styles are inline, nothing runs or loads.

Colours of the text are those around it, so that light and dark themes both work; where a colour
means something, a word says it, too.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Final

from pytest_rageval.text.printable import printable

# White text on these, and these on white or black, have a contrast of 4.5 and 3 at least.
COLOURS: Final[Mapping[str, str]] = {
    "good": "#1a7f4b",
    "warn": "#946200",
    "bad": "#c03a32",
    "plain": "#667080",
}
_LINE: Final = "1px solid rgba(128,128,128,.35)"
_CELL: Final = f"padding:3px 12px 3px 0;text-align:left;vertical-align:top;border-bottom:{_LINE}"
_FIGURE: Final = "white-space:nowrap;font-variant-numeric:tabular-nums"
_WRAPPED: Final = "overflow-wrap:anywhere;min-width:80px"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *parts: str, style: str = "", **attributes: str) -> Markup:
    """Return an element; parts that are no Markup are text, whatever they look like."""
    given = {"style": style, **attributes} if style else attributes
    named = "".join(f' {name}="{html.escape(value)}"' for name, value in given.items())
    return Markup(f"<{tag}{named}>{''.join(map(_part, parts))}</{tag}>")


def _part(part: str) -> str:
    return part if isinstance(part, Markup) else html.escape(printable(part))


def joined(parts: Iterable[str]) -> Markup:
    """Return elements and texts one after another."""
    return Markup("".join(map(_part, parts)))


def badge(word: str, colour: str) -> Markup:
    """Return a word on a coloured ground."""
    look = "color:#fff;border-radius:4px;padding:1px 7px;font-weight:600;white-space:nowrap"
    return element("span", word, style=f"background:{COLOURS[colour]};{look}")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """Return a table: the first cell of a row is its name, the last one may have several lines."""
    names = [element("th", name, style=f"{_CELL};{_FIGURE}", scope="col") for name in head]
    top = element("thead", element("tr", *names)) if names else Markup("")
    body = (element("tr", *_cells(row)) for row in rows)
    look = "border-collapse:collapse;margin:6px 0;width:auto;font-size:13px;color:inherit"
    return element("table", top, element("tbody", *body), style=look)


def _cells(row: Iterable[str]) -> Iterable[Markup]:
    name, *figures, last = row
    yield element("th", name, style=f"{_CELL};{_WRAPPED};font-weight:600", scope="row", dir="auto")
    yield from (element("td", part, style=f"{_CELL};{_FIGURE}") for part in figures)
    yield element("td", last, style=f"{_CELL};{_WRAPPED};white-space:pre-wrap", dir="auto")


def bar(
    value: float | None,
    ends: tuple[float | None, float | None],
    scale: tuple[float, float],
    colour: str,
) -> Markup:
    """Return a mean as a bar on its scale, with a line from end to end of its interval.

    Empty where there is no value, or the scale has no two ends.
    """
    low, high = scale
    if value is None or not high - low < float("inf") or high <= low:
        return Markup("")

    def percent(at: float) -> float:
        return round(100 * min(1.0, max(0.0, (at - low) / (high - low))), 1)

    track = "position:relative;width:120px;height:12px;margin-top:4px;border-radius:3px"
    fill = f"height:12px;border-radius:3px;width:{percent(value)}%;background:{COLOURS[colour]}"
    parts = [element("div", style=fill)]
    if ends[0] is not None and ends[1] is not None:
        left, right = percent(ends[0]), percent(ends[1])
        place = f"position:absolute;top:5px;left:{left}%;width:{round(right - left, 1)}%"
        parts.append(
            element("div", style=f"{place};height:2px;background:currentColor;opacity:.75")
        )
    look = f"{track};background:rgba(128,128,128,.25)"
    return element("div", *parts, style=look, **{"aria-hidden": "true"})


def listed(lines: Iterable[str]) -> Markup:
    """Return a list of remarks; nothing without any."""
    items = [element("li", line, dir="auto") for line in lines]
    return element("ul", *items, style="margin:6px 0;padding-left:20px") if items else Markup("")
