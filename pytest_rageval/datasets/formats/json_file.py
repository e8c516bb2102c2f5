"""JSON files: one list of objects, or a response of DB-GPT's evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row
from pytest_rageval.datasets.formats.inline import rows_of
from pytest_rageval.datasets.formats.jsonl import Doubled, noting
from pytest_rageval.text.json_value import json_kind, json_text


def read_json(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each object of the list."""
    with file.open(is_whole=True) as stream:
        text = file.decode(stream.read())
    doubled: list[Doubled] = []
    try:
        data = json.loads(text, object_pairs_hook=noting(doubled))
    except json.JSONDecodeError as error:
        hint = f" (more than one object: is it JSON Lines? set {file.section}.format: jsonl)"
        message = f"not valid JSON: {error.msg} (column {error.colno})"
        raise file.refuse(
            message + (hint if error.msg == "Extra data" else ""), error.lineno
        ) from error
    except (ValueError, RecursionError) as error:
        raise file.refuse(f"not readable as JSON: {error}") from error
    if isinstance(data, Doubled):
        raise file.refuse(data.reason)
    if isinstance(data, dict) and {"success", "data"} <= data.keys():
        data = _answered(data, file)
    if not isinstance(data, list):
        raise file.refuse(f"expected a list of objects, found {json_kind(data)}{_hint(data)}")
    rows = rows_of(data, file.spec.max_row_mb, file.section)
    yield from map(_without_doubled, rows) if doubled else rows


def _without_doubled(row: Row | BrokenRow) -> Row | BrokenRow:
    """Return the row, or a broken row if an object in it has a key twice."""
    found = _doubled(row.fields) if isinstance(row, Row) else None
    if found is None or isinstance(row, BrokenRow):
        return row
    return BrokenRow(row.number, row.line, found.reason, json_text(row.fields))


def _doubled(value: Any) -> Doubled | None:
    if isinstance(value, Doubled):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next(filter(None, map(_doubled, parts)), None)


_OF_A_METRIC = ("score", "passing", "metric_name", "prediction_cost", "feedback")


def _answered(response: dict[str, Any], file: DataFile) -> Any:
    """Return the rows of DB-GPT's response, one per sample, without the results of metrics."""
    if not response["success"]:
        raise file.refuse(f"a response of DB-GPT that reports a failure: {response.get('err_msg')}")
    groups = response["data"]
    if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
        return response
    rows = [group[0] if _is_of_one_sample(group) else group for group in groups]
    for row in rows:
        for key in _OF_A_METRIC if isinstance(row, dict) else ():
            row.pop(key, None)  # in place: the object may record that it has a key twice
    return rows


def _is_of_one_sample(group: list[Any]) -> bool:
    """Return whether a group is about one sample; another one is a broken row.

    For metrics of retrieval the prediction is the retrieved texts, for others the answer.
    """
    rows = [row for row in group if isinstance(row, dict)]
    answers = {row["prediction"] for row in rows if isinstance(row.get("prediction"), str)}
    questions = {json.dumps(row.get("query")) for row in rows}
    return bool(group) and len(rows) in (0, len(group)) and max(len(questions), len(answers)) <= 1


def _hint(data: Any) -> str:
    if not isinstance(data, dict):
        return ""
    lists = [key for key, value in data.items() if _is_rows(value)]
    named = " or ".join(repr(key) for key in lists)
    return f" (the list under {named}? save that one)" if lists else ""


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(one, dict) for one in value)


READERS = (DatasetReader("json", read_json),)
