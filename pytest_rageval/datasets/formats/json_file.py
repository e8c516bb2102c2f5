"""JSON files, in any of the shapes of ``json_shapes`` or a response of DB-GPT, and JSON Lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final

from pytest_rageval.datasets.base import (
    BlankLines,
    BrokenRow,
    DataFile,
    DatasetReader,
    Row,
    rows_of,
)
from pytest_rageval.datasets.formats.json_shapes import NoRowsError, rows_in
from pytest_rageval.datasets.formats.pages import part_of_export
from pytest_rageval.datasets.formats.rows_at import JoinedRow, RowsPath, row_paths, step_of
from pytest_rageval.datasets.formats.tool_results import (
    is_of_promptfoo,
    row_of_promptfoo,
    unfinished,
)
from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.scenario.yaml.tree import pair_text
from pytest_rageval.text.codec import (
    MAX_FILE_BYTES,
    LimitError,
    excess_in,
    read_json,
    read_json_at,
    read_json_rows,
)
from pytest_rageval.text.json_value import json_kind, json_text, sorted_json


def read_json_lines(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each line that is neither blank nor a comment, with one row in memory.

    A comment begins with ``#`` or ``//``, as no JSON does.
    """
    # Lines end at the byte 0x0a, so that memory holds one row; in UTF-16 it has other meanings.
    if not "a\n".encode(file.spec.encoding).endswith(b"a\n"):
        raise file.refuse(f"JSON Lines cannot be in {file.spec.encoding}; save it as UTF-8")
    with file.open() as stream:
        number = 0
        blank = BlankLines(file)
        for line, (offset, raw) in enumerate(_lines(stream, file.max_row_bytes), start=1):
            if raw is not None and raw.lstrip(_BLANK_BYTES).startswith((b"#", b"//")):
                blank.end()
            elif raw is None or raw.strip(_BLANK_BYTES):
                number += 1
                blank.end()
                yield _row(file, number, line, offset, raw)
            else:
                blank.note(line)


_BLANK_BYTES = b" \t\r\n\v\f\xef\xbb\xbf"


def _lines(stream: IO[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None for a line longer than ``limit``."""
    offset = 0
    while raw := stream.readline(limit + 1):
        length = len(raw)
        if length > limit and not raw.endswith(b"\n"):
            while rest := stream.readline(limit):
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield offset, None
        else:
            yield offset, raw
        offset += length


def _row(file: DataFile, number: int, line: int, offset: int, raw: bytes | None) -> Row | BrokenRow:
    if raw is None:
        return BrokenRow(number, line, file.too_long)
    try:
        text = raw.decode(file.spec.encoding)
    except UnicodeDecodeError as error:
        return BrokenRow(number, line, file.undecodable(error, raw, offset), repr(raw[:200]))
    text = text.rstrip("\r\n")
    if line == 1:
        text = text.removeprefix("\ufeff")
    try:
        fields = read_json(text)
        wrong = _wrong(fields, text)
    except json.JSONDecodeError as error:
        wrong = f"not valid JSON: {error.msg} (column {error.colno})"
    except LimitError as error:
        wrong = _deep_column(text) or str(error)
    if wrong is not None:
        return BrokenRow(number, line, wrong, shorten(text.strip(), 500))
    return Row(number, line, row_of_promptfoo(fields) if is_of_promptfoo(fields) else fields)


def _deep_column(text: str) -> str:
    """Return which column of a row is nested too deep, and the limit; "" where none can be read."""
    try:
        fields = read_json_rows(text)
    except ValueError:
        return ""
    return excess_in(fields) if isinstance(fields, dict) else ""


def _wrong(fields: Any, text: str) -> str | None:
    """Return why the value of a line is not a row, None if it is one."""
    if not isinstance(fields, dict):
        return f"expected a JSON object, found {json_kind(fields)}"
    # Each key is followed by '":'. If there are as many of these as the row has keys, none is
    # doubled, and the slow way is not needed.
    ends = text.count('":')
    if (ends == len(fields) or ends == _count_keys(fields)) and not _SPACED.search(text):
        return None
    found: list[Doubled] = []
    read_json(text, object_pairs_hook=noting(found))
    return next((twice.reason for twice in found if twice.has_lost), None)


_SPACED = re.compile(r'"[ \t\r]+:')


def _count_keys(fields: dict[str, Any]) -> int:
    """Return how many keys a row and the objects in its lists have."""
    nested = (part for value in fields.values() if type(value) is list for part in value)
    return len(fields) + sum(len(part) for part in nested if type(part) is dict)


class Doubled(dict[str, Any]):
    """An object of a JSON document that names ``key`` twice; it holds the last of its values.

    ``has_lost`` a value: not where those of each key are equal.
    """

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = Counter(key for key, _ in pairs)
        twice = next(key for key, count in names.items() if count > 1)
        lost = [key for key, value in pairs if names[key] > 1 and not _is_same(value, self[key])]
        self.key = next(iter(lost), twice)
        self.has_lost = bool(lost)

    @property
    def reason(self) -> str:
        """Why a row with this object is broken."""
        return f"the key {self.key!r} is there twice in one object"


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are one value of JSON, and nothing in them is lost."""
    is_whole = not any(twice.has_lost for twice in _all_doubled([one, other]))
    return is_whole and sorted_json(one) == sorted_json(other)


def noting(found: list[Doubled]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an ``object_pairs_hook`` that adds each object with a key twice to ``found``."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) == len(pairs):
            return plain
        found.append(Doubled(pairs))
        return found[-1]

    return made


def read_document(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield the rows of a JSON document, or of values that follow each other in a file.

    ``rows_at`` says where they are. Without it, a file with one object on each line is read as JSON
    Lines.
    """
    with file.open(is_whole=True) as stream:
        text = file.decode(stream.read())
    doubled: list[Doubled] = []
    lines: list[int] | None = None
    try:
        data = read_json_rows(text, object_pairs_hook=noting(doubled))
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise _no_json(file, error) from error
        if file.spec.rows_at is None and _is_an_object_a_line(text):
            yield from read_json_lines(file)
            return
        data, lines = _one_after_the_other(text, file, noting(doubled))
    # The text may have been read twice: only objects that are in the data count.
    doubled = [*_all_doubled(data)] if doubled else []
    if isinstance(data, Doubled):
        raise file.refuse(data.reason)
    if isinstance(data, dict) and {"success", "data"} <= data.keys() and not file.spec.rows_at:
        data = _rows_of_dbgpt(data, file)
    found = rows_of_document(data, file, doubled)
    at = lines if found is data else None  # rows_at may take any number of rows from each value
    rows = rows_of(found, file.spec.max_row_mb, file.section, at)
    yield from map(_broken_if_doubled, rows) if doubled else rows


def row_paths_in(file: DataFile) -> list[RowsPath]:
    """Return the paths at which a file has rows, most rows first; [] if it is not one document."""
    with file.open(is_whole=True) as stream:
        text = file.decode(stream.read())
    try:
        return row_paths(read_json_rows(text))
    except ValueError:
        return []


def _no_json(file: DataFile, error: json.JSONDecodeError) -> ScenarioError:
    return file.refuse(f"not valid JSON: {error.msg} (column {error.colno})", error.lineno)


def _is_an_object_a_line(text: str) -> bool:
    """Return whether the first line is a whole object, and no line looks like a part of one."""
    try:
        is_object = isinstance(read_json_rows(text.lstrip().split("\n", 1)[0]), dict)
    except ValueError:
        return False
    return is_object and _INDENTED.search(text) is None


_INDENTED = re.compile(r"^(?:\{[ \t\r]*$|[ \t]+\"|\})", re.MULTILINE)
"""A line of an object that takes several."""


def _one_after_the_other(
    text: str, file: DataFile, hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]
) -> tuple[list[Any], list[int]]:
    """Return the values that follow each other in a text, and the line of each.

    Raises ScenarioError at what is no JSON, and if none is an object.
    """
    decoder = json.JSONDecoder(object_pairs_hook=hook)
    found, lines, line, at, start = list[Any](), list[int](), 1, 0, 0
    while (begin := _BLANKS.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", start, begin)
        start = begin
        try:
            value, at = read_json_at(decoder, text, begin)
        except json.JSONDecodeError as error:
            raise _no_json(file, error) from error
        except LimitError as error:
            raise file.refuse(str(error), line) from error
        found.append(value)
        lines.append(line)
    if not any(isinstance(value, dict) for value in found):
        raise file.refuse("more than one JSON value, and none is an object", 1)
    return found, lines


_BLANKS = re.compile(r"[ \t\r\n]*")


def rows_of_document(document: Any, file: DataFile, doubled: Sequence[Doubled] = ()) -> list[Any]:
    """Return the rows in a document; raises ScenarioError with what to write.

    Adds a note to the file if the run that wrote it was unfinished, or if it is one page of an
    export. ``doubled`` are the objects with a key twice. In a row this breaks the row alone, if it
    has lost a value; elsewhere in a document that is an object, the file is refused.
    """
    try:
        rows = rows_in(document, file.spec.rows_at, file.section)
    except NoRowsError as error:
        raise file.refuse(str(error)) from error
    if note := unfinished(document):
        file.notes.append(f"{file.shown}: {note}")
    if doubled:
        in_rows = {id(inner) for inner in _all_doubled(rows)}
        lost = next((twice for twice in doubled if id(twice) not in in_rows), None)
        if lost is not None:
            raise file.refuse(lost.reason)
    if file.spec.rows_at is None and isinstance(document, dict) and file.section in _COUNTING:
        _note_other_pages(document, rows, file)
    return rows


_COUNTING: Final = ("dataset", "corpus")
"""The sections whose lost rows nobody else would miss: those of ``answers`` are asked for."""


def _note_other_pages(document: dict[str, Any], rows: list[Any], file: DataFile) -> None:
    """Add a note to a file that says that it is one page of an export.

    ``rows_at`` says that its rows are all: then nobody looks.
    """
    key = next((key for key, value in document.items() if value is rows), None)
    said = part_of_export(document, len(rows))
    if key is not None and said:
        file.notes.append(
            f"{file.shown}: {said}, and only the rows in it are read: add the others to "
            "the file; or, if these are all that you want, write "
            f"{pair_text('rows_at', step_of(key))} (in {file.section!r})"
        )


def _all_doubled(value: Any) -> Iterator[Doubled]:
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, JoinedRow):
            one = one.origin
        if isinstance(one, Doubled):
            yield one
        if isinstance(one, dict | list):
            rest += reversed(one.values() if isinstance(one, dict) else one)


def _broken_if_doubled(row: Row | BrokenRow) -> Row | BrokenRow:
    """Return the row, or a broken row if an object in it has a key twice, and lost a value."""
    if isinstance(row, BrokenRow):
        return row
    found = next((twice for twice in _all_doubled(row.fields) if twice.has_lost), None)
    if found is None:
        return row
    return BrokenRow(row.number, row.line, found.reason, json_text(row.fields))


_KEYS_OF_DBGPT_METRICS = ("score", "passing", "metric_name", "prediction_cost", "feedback")


def _rows_of_dbgpt(response: dict[str, Any], file: DataFile) -> Any:
    """Return the rows of DB-GPT's response, one per sample, without the results of metrics.

    The response itself if its data are no groups.
    """
    if not response["success"]:
        raise file.refuse(f"a response of DB-GPT that reports a failure: {response.get('err_msg')}")
    groups = response["data"]
    if not (isinstance(groups, list) and all(isinstance(group, list) for group in groups)):
        return response
    rows = [group[0] if _is_of_one_sample(group) else group for group in groups]
    for row in rows:
        for key in _KEYS_OF_DBGPT_METRICS if isinstance(row, dict) else ():
            row.pop(key, None)  # in place: the object may record that it has a key twice
    return rows


def _is_of_one_sample(group: list[Any]) -> bool:
    """Return whether a group is about one sample; any other group becomes a broken row.

    For metrics of retrieval the prediction is the retrieved texts, for others the answer.
    """
    rows = [row for row in group if isinstance(row, dict)]
    answers = {row["prediction"] for row in rows if isinstance(row.get("prediction"), str)}
    questions = {json.dumps(row.get("query")) for row in rows}
    return bool(group) and len(rows) in (0, len(group)) and max(len(questions), len(answers)) <= 1


def read_lines_or_document(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each line; of a file that is one JSON document, its rows.

    With ``rows_at`` the lines are a list of values, as in any JSON file.
    """
    if file.spec.rows_at is not None:
        yield from read_document(file)
        return
    if _may_be_document(file):
        try:
            rows = [*read_document(file)]
        except ScenarioError:
            if _is_one_value(file):
                raise
        else:
            yield from rows
            return
    yield from read_json_lines(file)


def _is_one_value(file: DataFile) -> bool:
    """Return whether a file is one JSON value over several lines."""
    try:
        with file.open(is_whole=True) as stream:
            text = file.decode(stream.read())
        read_json_rows(text)
    except (ValueError, ScenarioError):
        return False
    return "\n" in text.strip()


def _may_be_document(file: DataFile) -> bool:
    """Return whether the first filled line begins a list, or an object that does not end in it.

    Not for such an object in a file too large to be read whole: its first line is a broken row.
    """
    with file.open() as stream:
        first = (stream.readline(file.max_row_bytes) for _ in range(_MOST_BLANK_LINES))
        lines = (raw.removeprefix(b"\xef\xbb\xbf").strip() for raw in first)
        line = next(filter(None, lines), b"")
    if not line.startswith(b"{"):
        return line.startswith(b"[")
    try:
        read_json_rows(line.decode(errors="replace"))
    except ValueError:
        return file.path.stat().st_size <= MAX_FILE_BYTES
    return False


_MOST_BLANK_LINES = 100
"""In so many lines the first filled one is looked for."""

READERS = (
    DatasetReader("json", read_document, places=row_paths_in, is_text=True),
    DatasetReader(
        "jsonl", read_lines_or_document, aliases=("ndjson",), places=row_paths_in, is_text=True
    ),
)
