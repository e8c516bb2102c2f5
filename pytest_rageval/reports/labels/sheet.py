"""A sheet for people to fill in: the same rows as CSV, and as a page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, cast

from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.page.assemble import page_of
from pytest_rageval.text.printable import csv_text

_MARK: Final = "\ufeff"  # without it spreadsheets take UTF-8 for an old code page


class Sheet:
    """What people are asked about rows, in their order; each kind of sheet is a dataclass."""

    columns: ClassVar[Sequence[str]]
    scripts: ClassVar[Sequence[str]]
    """Of the page, in an order in which each may use those before it."""
    without_script: ClassVar[Sequence[str]]
    """What a browser shows in which no script runs: one text for each language."""

    file_name: str
    rows: Sequence[Any]

    @property
    def title(self) -> str:
        """The title of the page."""
        raise NotImplementedError

    def cells(self, row: Any) -> Iterable[object]:
        """Return the cells of a row, its texts ``text.printable.quoted``."""
        raise NotImplementedError

    def more(self) -> dict[str, Any]:
        """Return what the page gets besides the fields of the sheet, in JSON's types."""
        raise NotImplementedError

    def csv(self) -> Iterator[str]:
        """Yield the sheet as CSV text, which begins with a byte order mark."""
        yield _MARK
        yield from csv_text(chain([self.columns], map(self.cells, self.rows)))

    def page(self) -> Iterator[str]:
        """Yield the text of the page in parts: one file, in which no text is cut."""
        return page_of(self.title, self.scripts, lambda _: self._data(), self.without_script)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write the sheet as CSV and as a page, and return their paths; raises OSError."""
        table = folder / self.file_name
        page = write_atomically(table.with_suffix(".html"), self.page())
        return write_atomically(table, self.csv()), page

    def _data(self) -> dict[str, Any]:
        """Return the sheet as JSON types; a browser keeps what people say under ``key``."""
        rows = "\n".join(f"{row.sample_id} {row.digest}" for row in self.rows)
        digest = hashlib.sha256(rows.encode(errors="backslashreplace")).hexdigest()[:12]
        named = [self.file_name, *filter(None, [getattr(self, "metric", "")]), digest]
        return {**asdict(cast("Any", self)), **self.more(), "key": " ".join(["rageval", *named])}
