"""JSON: a file that is one list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.datasets.inline import rows_of
from pytest_rageval.datasets.jsonl import json_kind


class JsonReader:
    """Reads ``.json`` files."""

    name = "json"
    aliases = ()

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield a row for each object of the list."""
        with file.open() as stream:
            text = file.decode(stream.read())
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            hint = f" (more than one object: is it JSON Lines? set {file.section}.format: jsonl)"
            message = f"not valid JSON: {error.msg} (column {error.colno})"
            raise file.refuse(
                message + (hint if error.msg == "Extra data" else ""), error.lineno
            ) from error
        except (ValueError, RecursionError) as error:
            raise file.refuse(f"not readable as JSON: {error}") from error
        if not isinstance(data, list):
            raise file.refuse(f"expected a list of objects, found {json_kind(data)}{_hint(data)}")
        yield from rows_of(data, file.spec.max_row_mb, file.section)


def _hint(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    lists = [key for key, value in data.items() if isinstance(value, list)]
    return f" (the list under {lists[0]!r}? save that one)" if lists else ""


READERS = (JsonReader(),)
