"""Parquet files, batch by batch (extra ``parquet``)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row, rows_of
from pytest_rageval.datasets.formats.headers import read_header
from pytest_rageval.model import plain_cell

_ROW_BYTES = 64
"""A row counts as so many bytes at least, like a line of text."""


def read_parquet(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield the rows; structures and maps become mappings, but maps within a value lists of pairs.

    Raises ScenarioError for a file that cannot be read, or is too large when it is unpacked.
    """
    extras.require("pyarrow", extra="parquet", purpose=f"reading {file.shown}")
    import pyarrow
    import pyarrow.parquet

    with file.open(is_whole=True) as stream:
        packed = io.BytesIO(stream.read())
    done = size = 0
    limit = file.max_bytes(is_whole=True)
    try:
        content = pyarrow.parquet.ParquetFile(packed)
        header = read_header(file, content.schema_arrow.names)
        if header.twins:  # their cells would be lost
            twice = ", ".join(sorted({header.names[first] for _, first in header.twins}))
            raise file.refuse(f"the header names a column twice: {twice}", 1)
        maps = [column.name for column in content.schema_arrow if pyarrow.types.is_map(column.type)]
        rows_at_once = _rows_at_once(content.metadata, limit)
        if not rows_at_once:
            raise file.too_large(limit)
        for batch in content.iter_batches(rows_at_once):
            size += sum(_size(column) for column in batch.columns)
            if size > limit:
                raise file.too_large(limit)
            # Arrow gives lists of pairs for maps.
            plain = [
                plain_cell(row | {name: dict(row[name]) for name in maps if row[name] is not None})
                for row in batch.to_pylist()
            ]
            for row in rows_of(plain, file.spec.max_row_mb, file.section):
                yield _renumbered(row, done)
            done += len(plain)
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        first = str(error).splitlines()[0]
        raise file.refuse(f"not a readable Parquet file: {first}") from error


def _rows_at_once(metadata: Any, limit: int) -> int:
    """Return how many rows to unpack at a time; 0 for a file with more than ``limit`` bytes.

    The sizes in the file count repeated values once: unpacked, each row may hold all of a group,
    and has at least ``_ROW_BYTES``. Four rows are unpacked in any case, so up to four times
    ``limit``. Of single columns pyarrow has sizes, too, but where those are damaged, asking for
    them ends the process.
    """
    sizes = [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    if sum(sizes) > limit or metadata.num_rows * _ROW_BYTES > limit:
        return 0
    return int(max(4, min(1024, limit // max([1, *sizes]))))


def _size(column: Any) -> int:
    """Return how many bytes a column has, counting every value."""
    is_coded = hasattr(column, "dictionary_decode")
    return int(column.dictionary_decode().nbytes if is_coded else column.nbytes)


def _renumbered(row: Row | BrokenRow, done: int) -> Row | BrokenRow:
    if isinstance(row, Row):
        return Row(row.number + done, None, row.fields, tabular=True)
    return BrokenRow(row.number + done, None, row.reason, row.raw)


READERS = (DatasetReader("parquet", read_parquet, aliases=("pq",)),)
