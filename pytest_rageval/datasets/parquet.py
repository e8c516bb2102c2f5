"""Parquet files, batch by batch (extra ``parquet``)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.datasets.delimited import check_header
from pytest_rageval.datasets.inline import rows_of


class ParquetReader:
    """Reads ``.parquet`` files; lists, structures and maps come out as lists and mappings."""

    name = "parquet"
    aliases = ("pq",)

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield the rows in file order."""
        extras.require("pyarrow", extra="parquet", purpose=f"reading {file.shown}")
        import pyarrow
        import pyarrow.parquet

        with file.open() as stream:
            packed = io.BytesIO(stream.read())
        done = 0
        try:
            table = pyarrow.parquet.ParquetFile(packed)
            check_header(file, table.schema_arrow.names)
            maps = [one.name for one in table.schema_arrow if pyarrow.types.is_map(one.type)]
            for batch in table.iter_batches(1024):
                plain = [_plain(_with_maps(row, maps)) for row in batch.to_pylist()]
                for row in rows_of(plain, file.spec.max_row_mb, file.section):
                    yield _renumbered(row, done)
                done += len(plain)
        except (pyarrow.ArrowException, OSError) as error:  # a damaged page is an OSError
            first = str(error).splitlines()[0]
            raise file.refuse(f"not a readable Parquet file: {first}") from error


def _renumbered(row: Row | BrokenRow, done: int) -> Row | BrokenRow:
    if isinstance(row, Row):
        return Row(row.number + done, None, row.fields)
    return BrokenRow(row.number + done, None, row.reason, row.raw)


def _with_maps(row: dict[str, Any], maps: Sequence[str]) -> dict[str, Any]:
    """Return the row with mappings for the lists of pairs that Arrow's maps come out as."""
    return row | {name: dict(row[name]) for name in maps if row[name] is not None}


def _plain(value: Any) -> Any:
    """Return Arrow's Python values as JSON-plain ones: dates, decimals and bytes become text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes):  # how Spark and Hive write text
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


READERS = (ParquetReader(),)
