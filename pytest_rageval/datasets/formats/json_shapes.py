"""Finds the rows in a JSON or YAML document: a list, a list under a key, columns, rows by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pytest_rageval.datasets.cells import PASSAGE_KEYS
from pytest_rageval.datasets.formats.rows_at import (
    RowsPath,
    has_objects,
    nearest_first,
    own_id,
    path_below,
    row_paths,
    rows_of_every,
)
from pytest_rageval.datasets.formats.tool_results import rows_of_tool
from pytest_rageval.errors import listed
from pytest_rageval.scenario.column_names import name_key, read_field
from pytest_rageval.scenario.fields import CHECK_FIELDS, OF_ANSWERS
from pytest_rageval.scenario.yaml.tree import pair_text
from pytest_rageval.text.codec import MAX_DEPTH
from pytest_rageval.text.json_value import LostPathError, json_kind, parse_path

_LISTED: Final = 5
_NAMES_SEEN: Final = 200
_DEEPEST: Final = 3
_HAVE_ROWS_AT: Final = frozenset({"dataset", "answers", "corpus"})
_MAPS_OF_LLAMAINDEX: Final = frozenset({"queries", "corpus", "relevant_docs"})
_TEXTS_OF_ROWS: Final = frozenset({"question", "answer", "references"})
_OF_ROWS: Final = ("answer", "references", "reference_ids", "contexts", "retrieved_ids")
_HISTORY: Final = frozenset(map(name_key, OF_ANSWERS["history"]))
_EXPECTED: Final = frozenset({"references", "reference_ids", "reference_contexts", *CHECK_FIELDS})


class NoRowsError(ValueError):
    """The document has no rows, or may have them in more than one place; the text says which.

    ``paths`` are all places where there are some, the most rows first.
    """

    def __init__(self, message: str, paths: Sequence[RowsPath] = ()) -> None:
        super().__init__(message)
        self.paths = tuple(paths)


def rows_in(document: Any, rows_at: str | None, section: str) -> list[Any]:
    """Return the rows of a document, or of what it has at ``rows_at``.

    Rows are the items of a list (also those that are no objects), or of the only list of objects in
    an object. They are also made of columns, as pandas writes them; of objects by id, whose key is
    the ``id`` of one without; of one object that is a row; of LlamaIndex's ``queries``, ``corpus``
    and ``relevant_docs``; and of the results of evaluation tools (``rows_of_tool``). ``section`` is
    the key of the scenario that names the file. Raises NoRowsError with the line to write.
    """
    if rows_at is None:
        found = _rows(document)
        if found is None:
            raise _no_rows(f"expected a list of objects, found {json_kind(document)}",
                           document, section)  # fmt: skip
        return found
    path = parse_path(rows_at)
    if len(path.steps) > MAX_DEPTH:
        raise NoRowsError(f"{section}.rows_at: a path of more than {MAX_DEPTH} steps")
    try:
        if path.every:
            return rows_of_every(path, document)
        value = path.pick(document)
    except LostPathError as error:
        raise NoRowsError(f"{section}.rows_at: {error}", row_paths(document)) from None
    found = _rows(value)
    if found is None and isinstance(value, dict):
        found = _by_id(value)
    if found is None:
        kind = f"{rows_at!r} is {json_kind(value)}, not a list of objects"
        raise _no_rows(f"{section}.rows_at: {kind}", value, section, rows_at)
    return found


def _rows(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or not document:
        return None
    of_tables = (_of_llamaindex, _pandas_split, _columns, _named_by_id)
    # The first that recognises the document wins, those with the clearest marks first: a tool's
    # file may also have one list of objects.
    for read in (rows_of_tool, *of_tables, _one_row, _only_list):
        found = read(document)
        if found is not None:
            return found
    return None


def _of_llamaindex(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the queries of LlamaIndex's EmbeddingQAFinetuneDataset with their documents."""
    if not document.keys() >= _MAPS_OF_LLAMAINDEX:
        return None
    queries, corpus, relevant = (document[key] for key in ("queries", "corpus", "relevant_docs"))
    if not all(isinstance(part, dict) for part in (queries, corpus, relevant)):
        return None
    lost = [name for name in relevant if name not in queries]
    if lost:
        raise NoRowsError(
            f"'relevant_docs' has {_quoted(lost)}, which 'queries' lacks; each needs a query: add "
            "it, or remove the id"
        )
    return [
        {
            "id": name,
            "question": question,
            "reference_ids": relevant.get(name),
            "reference_contexts": _texts(corpus, relevant.get(name)),
        }
        for name, question in queries.items()
    ]


def _texts(corpus: Mapping[str, Any], names: Any) -> list[Any] | None:
    """Return the texts of some documents; None if the corpus lacks one."""
    if not isinstance(names, list) or not all(str(name) in corpus for name in names):
        return None
    return [corpus[str(name)] for name in names]


def _pandas_split(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of a data frame that pandas wrote with ``orient="split"``."""
    columns, data = document.get("columns"), document.get("data")
    if not (document.keys() <= {"columns", "data", "index", "index_names", "column_names"}):
        return None
    if not (isinstance(columns, list) and isinstance(data, list)):
        return None
    width = len(columns)
    twice = [name for name, count in Counter(map(str, columns)).items() if count > 1]
    if twice:
        raise NoRowsError(f"'columns' names a column twice: {_quoted(twice)}; rename one of them")
    return [
        dict(zip(map(str, columns), row, strict=True))
        if isinstance(row, list) and len(row) == width
        else row
        for row in data
    ]


def _columns(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of columns: lists of equal length, or objects with the same keys.

    pandas writes the former with ``orient="list"``, the latter by itself (``orient="columns"``).
    """
    columns = list(document.values())
    if all(isinstance(column, list) for column in columns):
        lengths = {len(column) for column in columns}
        has_rows = any(map(_is_objects, columns)) and not _is_table(document)
        if len(columns) < 2 or len(lengths) != 1 or lengths == {0} or has_rows:
            return None
        return [dict(zip(document, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if not all(isinstance(column, dict) and column for column in columns):
        return None
    keys = list(columns[0])
    if any(list(column) != keys for column in columns):
        return None
    # Where the fields are further in (``orient="index"``), _named_by_id makes rows by their label.
    is_numbered = all(map(str.isdigit, keys)) and not any(map(str.isdigit, document))
    if not is_numbered and (not _has_field(document) or _has_field(keys)):
        return None
    return [{name: column[key] for name, column in document.items()} for key in keys]


def _is_table(document: Mapping[str, Any]) -> bool:
    """Return whether lists of objects are surely columns, and not the rows, of a document.

    Its other columns then have questions, and answers or references; the objects have no such text.
    """
    plain = _fields(name for name, column in document.items() if not _is_objects(column))
    parts = [column[:_NAMES_SEEN] for column in document.values() if _is_objects(column)]
    inner = {name for column in parts for part in column for name in part}
    is_free = inner.isdisjoint(PASSAGE_KEYS) and _fields(inner).isdisjoint(_TEXTS_OF_ROWS)
    return is_free and "question" in plain and len(plain & _TEXTS_OF_ROWS) > 1


def _fields(names: Iterable[str]) -> set[str]:
    return {read[0] for name in names if (read := read_field(name))}


def _named_by_id(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of objects by id, if they have a column of a known name in common."""
    values = list(document.values())
    if not all(isinstance(value, dict) for value in values):
        return None
    common = set.intersection(*(set(value) for value in values))
    return _by_id(document) if _has_field(common) else None


def _has_field(names: Iterable[str]) -> bool:
    """Return whether one of the first names is a field's name; there may be a million ids."""
    return any(map(read_field, islice(names, _NAMES_SEEN)))


def _by_id(document: Mapping[str, Any]) -> list[Any] | None:
    """Return a row for each key: its object or plain ``value``, and the key as a missing ``id``.

    None where some values are objects and others not, or some are lists.
    """
    values = document.values()
    if all(isinstance(value, dict) for value in values):
        return [{**value, "id": own_id(value, key)} for key, value in document.items()]
    if any(isinstance(value, dict | list) for value in values):
        return None
    return [{"id": key, "value": value} for key, value in document.items()]


def _one_row(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the object itself if it is a row: a question, and a text or texts of another field.

    None if rows with questions are in it, which may be the rows; earlier turns are none. Raises
    NoRowsError where these have what is expected of an answer, as rows have.
    """
    turns = {name: part for name, part in document.items()
             if name_key(str(name)) in _HISTORY and has_objects(part)}  # fmt: skip
    own = {name: part for name, part in document.items() if name not in turns}
    values = {read[0]: value for name, value in own.items() if (read := read_field(name))}
    question = values.pop("question", None)
    has_other = any(isinstance(values.get(name), str | list) for name in _OF_ROWS)
    if not (isinstance(question, str) and question.strip() and has_other):
        return None
    others = {name: part for name, part in document.items()
              if name not in turns or name_key(str(name)) == "input"}  # fmt: skip
    columns = {name for found in row_paths(others) for name in found.columns}
    if "question" in _fields(columns):
        return None
    for found in row_paths(turns):
        fields = _fields(found.columns)
        if "question" in fields and not fields.isdisjoint(_EXPECTED):
            raise NoRowsError(
                f"found an object that may be a row, and in {found.path!r} questions with "
                f"{_quoted(sorted(fields & _EXPECTED))}; if the object is the row, put [ ] around "
                f"it; if the rows are in it, write {pair_text('rows_at', found.path)}",
                [found],
            )
    return [dict(document)]


def _only_list(document: Mapping[str, Any]) -> list[Any] | None:
    """Return the only list of objects in an object.

    None where rows may be elsewhere, too: in another list with an object in it, or, further down,
    in a list of objects with any of the same fields.
    """
    found = [value for value in document.values() if has_objects(value)]
    if len(found) != 1 or not _is_objects(found[0]):
        return None
    fields = {name for name in found[0][0] if read_field(name)}
    deeper = (value for value in document.values() if isinstance(value, dict))
    is_only = not any(_has_rows(value, fields, _DEEPEST) for value in deeper)
    return found[0] if is_only else None


def _has_rows(document: Mapping[str, Any], fields: set[str], depth: int) -> bool:
    """Return whether an object has a list of objects with one of the fields, here or below."""
    return depth > 0 and any(
        _has_rows(value, fields, depth - 1)
        if isinstance(value, dict)
        else has_objects(value)
        and any(isinstance(item, dict) and fields & {*item} for item in value)
        for value in document.values()
    )


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(item, dict) for item in value)


def _no_rows(message: str, document: Any, section: str, above: str = "") -> NoRowsError:
    """Return the error with the places below ``above`` where rows are, and the line to write."""
    if not isinstance(document, dict):
        return NoRowsError(message)
    below = [(path_below(above, found.path), found) for found in row_paths(document)]
    paths = [RowsPath(path, found.rows, found.columns) for path, found in below]
    return NoRowsError(message + _proposal(document, section, nearest_first(paths), above), paths)


def _proposal(
    document: Mapping[str, Any], section: str, paths: Sequence[RowsPath], above: str
) -> str:
    """Return which ``rows_at`` to write; without one to propose, what else helps, or the keys."""
    are_objects = all(isinstance(value, dict) for value in document.values())
    named = [found.path for found in paths if not (are_objects and found.path == f"{above}[*]")]
    if named and section not in _HAVE_ROWS_AT:
        return f" (the list at {named[0]}? save it as a file of its own)"
    if named:
        lines = " or ".join(pair_text("rows_at", path) for path in named[:_LISTED])
        return f"; if the rows are in it, write {lines} (in {section!r})"
    if _has_field(document):
        return "; one row is a list of one object: put [ ] around it"
    if document and are_objects:
        return f'; if each value is a row, write rows_at: "{above or "$"}" (in {section!r})'
    return f" with {_quoted(document)}" if document else ""


def _quoted(names: Iterable[str]) -> str:
    return listed(map(repr, names), _LISTED)
