"""The page on which people label answers one by one, without seeing what the judge said."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from pytest_rageval.reports.labels.label_sheet import LabelSheet
from pytest_rageval.reports.page.assemble import page_of

LABEL_SCRIPTS: Final = ("words.js", "elements.js", "frame.js", "label.js", "label_start.js")
"""In an order in which each may use those before it."""


def label_page_chunks(sheet: LabelSheet) -> Iterator[str]:
    """Yield the text of the page in parts: one file, in which no text is cut."""
    return page_of(
        f"{sheet.scenario}: {sheet.metric}",
        LABEL_SCRIPTS,
        lambda _: _data(sheet),
        (
            "This page needs JavaScript. Label in the CSV file of the same name instead.",
            "此页面需要 JavaScript；也可在同名的 CSV 文件中标注。",
        ),
    )


def _data(sheet: LabelSheet) -> dict[str, Any]:
    """Return the sheet as JSON types; a browser keeps its labels under ``key``."""
    rows = "\n".join(f"{row.sample_id} {row.digest}" for row in sheet.rows)
    digest = hashlib.sha256(rows.encode(errors="backslashreplace")).hexdigest()[:12]
    key = f"rageval {sheet.file_name} {sheet.metric} {digest}"
    return {**asdict(sheet), "key": key}
