"""What a document says of the export that it is a page of: how many there are, and what follows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

AROUND_PAGES: Final = frozenset(
    {"meta", "metadata", "cursors", "links", "_links", "paging", "pagination", "page_info"}
    | {"pageInfo", "page"}
)
PAGES: Final = re.compile(r"(?:^|\.)total_?pages$", re.IGNORECASE)
HAS_MORE: Final = re.compile(r"(?:^|\.)has_?(?:more|next(?:_?page)?)$", re.IGNORECASE)
NEXT: Final = re.compile(
    r"(?:^|\.)(?:next(?:_?page)?(?:_?(?:cursor|token|link|url|uri))?|cursor|@odata\.nextLink)$",
    re.IGNORECASE,
)
_SIZE: Final = re.compile(r"(?:^|\.)(?:limit|size|per_?page|page_?size)$", re.IGNORECASE)
_TOTAL: Final = re.compile(
    r"(?:^|\.)total(?:_?(?:count|items|results|records|elements|rows))?$", re.IGNORECASE
)
_PAGE: Final = re.compile(r"(?:^|\.)page$", re.IGNORECASE)
_PAGING: Final = re.compile(r"(?:paging|pagination|page_?info)\.", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"https?://|[/?]")


def said_of_pages(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a document and, dotted, those in AROUND_PAGES; of objects the href."""
    said = dict(document)
    for around in AROUND_PAGES & document.keys():
        if isinstance(document[around], Mapping):
            said |= {f"{around}.{name}": value for name, value in document[around].items()}
    return {
        name: value.get("href") if isinstance(value, Mapping) else value
        for name, value in said.items()
    }


def next_page(said: Mapping[str, Any]) -> str:
    """Return the name of what says that pages follow, "" if none; a flag counts before a link."""
    more = [name for name in said if HAS_MORE.search(name) and isinstance(said[name], bool)]
    if more:
        return next((name for name in more if said[name]), "")
    named = (name for name in said if NEXT.search(name) and isinstance(said[name], str | int))
    return next((name for name in named if said[name]), "")


def part_of_export(document: Mapping[str, Any], count: int) -> str:
    """Return what a document says of rows beside its ``count``: that it is one page of several.

    "" for a whole document. That may be pages that were joined, with what the first one said of
    itself: then it has more rows than it says a page has.
    """
    said = {name: value for name, value in said_of_pages(document).items() if _is_said(name, value)}
    size, total, pages, page = (_number(said, name) for name in (_SIZE, _TOTAL, PAGES, _PAGE))
    if total == count or (0 < size < count and total < count):
        return ""
    is_full = count == size
    has_page = (
        is_full or total > count or (size > 0 and page == pages) or any(map(_PAGING.match, said))
    )
    if pages > 1 and has_page:  # a book has pages, too
        return f"it says that it is one of {pages} pages"
    if more := next_page(said):
        return f"it tells of a next page ({more!r})"
    return f"it says that there are {total} rows" if is_full and total > count else ""


def _is_said(name: str, value: Any) -> bool:
    """Return whether a value is about pages; ``next`` and ``cursor`` may be fields of the data."""
    if isinstance(value, bool) or not NEXT.search(name):
        return True
    around, _, last = name.rpartition(".")
    is_sure = around not in ("", "metadata") or last not in ("next", "cursor")
    if isinstance(value, str):
        return bool(_ADDRESS.match(value)) or (is_sure and not re.search(r"\s", value))
    return around != ""


def _number(said: Mapping[str, Any], name: re.Pattern[str]) -> int:
    """Return the number that is said under such a name, 0 without one."""
    found = (value for key, value in said.items() if name.search(key) and type(value) is int)
    return next(found, 0)
