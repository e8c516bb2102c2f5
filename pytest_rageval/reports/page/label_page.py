"""The page on which people label answers one by one, without seeing what the judge said."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.reports.label_sheet import LabelSheet


def label_page_chunks(sheet: LabelSheet) -> Iterator[str]:
    """Yield the text of the page in parts: one file, in which no text is cut."""
    yield f"<!doctype html><title>{len(sheet.rows)}</title>\n"
