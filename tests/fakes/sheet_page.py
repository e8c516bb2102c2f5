"""What the tests of the pages for people share: a page that is open, and what it downloads."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from pytest_rageval.reports.labels.sheet import Sheet


def opened(open_report: Any, sheet: Sheet, **options: Any) -> Any:
    """Return the page of a sheet in a browser."""
    path: Path = open_report.folder / f"{sheet.file_name}.html"
    path.write_text("".join(sheet.page()), "utf-8")
    page = open_report.windows.window(**options)
    page.goto(path.as_uri())
    page.wait_for_selector("#label-title")
    return page


def downloaded(page: Any) -> tuple[str, str]:
    """Return the name and the text of the file that the page gives."""
    with page.expect_download() as found:
        page.get_by_role("button", name="Download").click()
    return found.value.suggested_filename, Path(found.value.path()).read_bytes().decode("utf-8")


def records(text: str) -> list[dict[str, str]]:
    """Return the rows of a file of CSV with a byte order mark."""
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
