"""Data frames in and out: pandas, polars, and whatever offers an Arrow stream.

None of them is a dependency: objects of them are recognised by their attributes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, Final, Literal

from pytest_rageval import extras
from pytest_rageval.datasets.base import GivenRows
from pytest_rageval.errors import MissingExtraError, OptionError, Problem
from pytest_rageval.model import CAUSE, ScenarioResult, plain_cell
from pytest_rageval.stats.verdict import shown_errors
from pytest_rageval.text.codec import MAX_DEPTH

Named = tuple[str, list[Any]]
"""The name of a column, and its cells."""

_TO_PANDAS: Final = ("to_pandas", "toPandas")
_LAZY: Final = ("collect", "compute")


def is_frame(data: object) -> bool:
    """Return whether ``data`` is a table of some library, not a list, a mapping or a path."""
    return not isinstance(data, type) and (
        _is_pandas(data)
        or _is_polars(data)
        or any(hasattr(data, name) for name in ("__arrow_c_stream__", *_TO_PANDAS, *_LAZY))
    )


def given_rows(data: Any) -> GivenRows:
    """Return the rows of a data frame or of an iterable of mappings, as plain values.

    The levels of a pandas index that have names are columns, too. Raises OptionError for anything
    else, for two columns with one name, and for a frame that has not been computed;
    MissingExtraError where an Arrow stream needs pyarrow. Rows of an iterable are not checked here.
    """
    shown = f"<{type(data).__name__}>"
    if is_frame(data):
        columns = _columns(data, shown)
        _refuse_duplicates([name for name, _ in columns], shown)
        names = [name for name, _ in columns]
        cells = [map(_plain, values) for _, values in columns]
        return GivenRows([dict(zip(names, row, strict=True)) for row in zip(*cells)], shown, True)  # noqa: B905
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise _refuse(f"expected a data frame or a list of rows, found {shown}", _other_way(data))
    return GivenRows([_plain_row(row) for row in data], shown)


def _plain_row(row: Any) -> Any:
    try:
        return plain_cell(row)
    except RecursionError:
        if isinstance(row, Mapping):
            return {str(name): _plain(part) for name, part in row.items()}
        return _TOO_DEEP


def _plain(cell: Any) -> Any:
    try:
        return plain_cell(cell)
    except RecursionError:
        return _TOO_DEEP


_TOO_DEEP: Final = reduce(lambda inner, _: [inner], range(MAX_DEPTH), list[Any]())
"""Stands for a value too deep for Python's own recursion: readers refuse it as too deep, too."""


def library_of(data: object) -> str:
    """Return the library of a data frame, ``""`` if it is none that results can be returned in."""
    library = type(data).__module__.partition(".")[0]
    return library if library in _MAKERS else ""


def frame_of(columns: Sequence[Column], library: str = "") -> Any:
    """Return a data frame of ``library``; without one, of pandas, or else of polars.

    Raises MissingExtraError if it is, or these are, not installed.
    """
    for name in [library] if library else ("pandas", "polars"):
        if extras.installed(name):
            return _MAKERS[name]([column.in_unicode() for column in columns])
    message = "a data frame needs pandas or polars: pip install pandas, or pip install polars"
    raise MissingExtraError(message)


def _refuse(message: str, hint: str = "") -> OptionError:
    return OptionError([Problem("dataset", f"{message}; {hint}" if hint else message)])


def _other_way(data: object) -> str:
    if isinstance(data, str | bytes):
        return "another file is overrides={'dataset.path': 'answers.jsonl'}"
    return "a mapping of columns is pandas.DataFrame(columns)" if isinstance(data, Mapping) else ""


def _is_pandas(data: object) -> bool:
    return all(hasattr(data, name) for name in ("iloc", "index", "columns"))


def _is_polars(data: object) -> bool:
    return hasattr(data, "get_columns") and hasattr(data, "iter_rows")


def _columns(data: Any, shown: str) -> list[Named]:
    if _is_polars(data):
        return [(column.name, column.to_list()) for column in data.get_columns()]
    if _is_pandas(data) and hasattr(data.index, "names"):
        return _of_pandas(data, shown)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_arrow(data, shown)
    for name in _TO_PANDAS:
        if hasattr(data, name):
            return _columns(getattr(data, name)(), shown)
    name = next(name for name in _LAZY if hasattr(data, name))
    raise _refuse(f"{shown} has no rows yet", f"write dataset=frame.{name}()")


def _of_arrow(data: Any, shown: str) -> list[Named]:
    extras.require("pyarrow", extra="parquet", purpose=f"reading rows of {shown}")
    import pyarrow

    try:
        table = pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError) as error:  # a single column, for instance
        raise _refuse(f"{shown} is no table: {error}", "write dataset=column.to_frame()") from error
    return [(name, table.column(at).to_pylist()) for at, name in enumerate(table.column_names)]


def _of_pandas(frame: Any, shown: str) -> list[Named]:
    columns = [
        (_column_name(name), frame.iloc[:, at].tolist()) for at, name in enumerate(frame.columns)
    ]
    known = dict(columns)
    for at, name in enumerate(frame.index.names):
        if name is None:
            continue
        written, values = _column_name(name), frame.index.get_level_values(at).tolist()
        if written not in known:
            columns.insert(at, (written, values))
        elif list(map(plain_cell, known[written])) != list(map(plain_cell, values)):
            message = f"the index and a column of {shown} are both called {written!r} and differ"
            raise _refuse(message, "rename one of them")
    return columns


def _column_name(name: Any) -> str:
    """Return a column's name as text; one of several levels has dots between them."""
    if isinstance(name, tuple):
        return ".".join(str(level) for level in name if str(level))
    return str(name)


def _refuse_duplicates(names: Sequence[str], shown: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        listed = ", ".join(map(repr, twice))
        raise _refuse(f"{shown} has more than one column called {listed}", "rename or drop one")


def _pandas(columns: Sequence[Column]) -> Any:
    import pandas

    def series(column: Column) -> Any:
        kind = {"number": "float64", "whole": "Int64", "any": "object"}.get(column.kind)
        if column.kind == "whole" and None not in column.cells:
            kind = "int64"
        return pandas.Series(column.cells, dtype=kind)

    return pandas.DataFrame({column.name: series(column) for column in columns})


def _polars(columns: Sequence[Column]) -> Any:
    import polars

    kinds: Mapping[str, Any] = {
        "number": polars.Float64,
        "whole": polars.Int64,
        "flag": polars.Boolean,
        "text": polars.String,
        "texts": polars.List(polars.String),
    }
    columns = [column.of_one_type() for column in columns]
    return polars.DataFrame(
        [polars.Series(column.name, column.cells, dtype=kinds[column.kind]) for column in columns]
    )


def _pyarrow(columns: Sequence[Column]) -> Any:
    import pyarrow

    kinds: Mapping[str, Any] = {
        "number": pyarrow.float64(),
        "whole": pyarrow.int64(),
        "flag": pyarrow.bool_(),
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
    }
    columns = [column.of_one_type() for column in columns]
    return pyarrow.table(
        {column.name: pyarrow.array(column.cells, kinds[column.kind]) for column in columns}
    )


_MAKERS: Final[Mapping[str, Callable[[Sequence[Column]], Any]]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _pyarrow,
}


_LARGEST_WHOLE: Final = 2**63
_LARGEST_EXACT: Final = 2**53
"""Not every larger whole number is a float."""

Kind = Literal["number", "whole", "flag", "text", "texts", "any"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``kind`` is what its cells hold besides None."""

    name: str
    kind: Kind
    cells: Sequence[Any]

    @classmethod
    def of_field(cls, name: str, cells: Sequence[Any]) -> Column:
        """Return the column of a field, of whose cells nothing is known."""
        return cls(name, _kind(cells), cells)

    def of_one_type(self) -> Column:
        """Return it for a library whose columns have one type: mixed cells become texts.

        What is no text already is written as JSON.
        """
        if self.kind != "any":
            return self
        texts = [
            cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
            for cell in self.cells
        ]
        return Column(self.name, "text", texts).in_unicode()

    def in_unicode(self) -> Column:
        """Return it with lone surrogates spelled out: libraries keep texts in UTF-8."""
        if self.kind not in ("text", "texts"):
            return Column(_in_unicode(self.name), self.kind, self.cells)
        return Column(_in_unicode(self.name), self.kind, list(map(_in_unicode, self.cells)))


def _kind(cells: Sequence[Any]) -> Kind:
    """Return what cells hold, None left out; "number" only if no cell changes as a float."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds in ({str}, {bool}):
        return "text" if kinds == {str} else "flag"
    whole = [abs(cell) for cell in cells if type(cell) is int]
    if kinds == {int} and max(whole) < _LARGEST_WHOLE:
        return "whole"
    is_exact = float in kinds and max(whole, default=0) <= _LARGEST_EXACT
    return "number" if kinds <= {int, float} and is_exact else "any"


def _in_unicode(cell: Any) -> Any:
    if isinstance(cell, list):
        return list(map(_in_unicode, cell))
    if not isinstance(cell, str):
        return cell
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")


def columns_of(results: Sequence[ScenarioResult]) -> list[Column]:
    """Return the samples of results as columns; ``variant`` comes first where there are several.

    Names are as in ``scores.csv``; ``contexts``, ``references`` and ``reasons`` are added. What is
    called like another column is ``score.NAME``, if it is a metric, or ``metadata.NAME``, if it is
    a field of the rows.
    """
    samples = [sample for result in results for sample in result.samples]
    metrics = list(dict.fromkeys(name for result in results for name in result.metrics))
    leading = list(_leading(results))
    trailing = [
        Column("weighted_score", "number", [sample.weighted_score for sample in samples]),
        Column("sample_weight", "number", [sample.sample_weight for sample in samples]),
        Column("outcome", "text", [sample.outcome for sample in samples]),
        Column("error", "text", [_listed(shown_errors(sample)) for sample in samples]),
        Column("reasons", "text", [_listed(sample.reasons) for sample in samples]),
    ]
    if any(result.info.diagnose is not None for result in results):
        trailing.append(Column(CAUSE, "text", [sample.cause for sample in samples]))
    taken = {column.name for column in (*leading, *trailing)}
    scores = [
        Column(
            _free("score", name, taken), "number", [sample.scores.get(name) for sample in samples]
        )
        for name in metrics
    ]
    metadata = [
        Column.of_field(
            _free("metadata", name, taken),
            [(sample.metadata or {}).get(name) for sample in samples],
        )
        for name in _fields(results)
    ]
    return [*leading, *metadata, *scores, *trailing]


def _leading(results: Sequence[ScenarioResult]) -> Iterator[Column]:
    if len(results) > 1:
        cells = [result.info.variant for result in results for _ in result.samples]
        yield Column("variant", "text", cells)
    samples = [sample for result in results for sample in result.samples]
    yield Column("sample_id", "text", [sample.sample_id for sample in samples])
    yield Column("question", "text", [sample.question for sample in samples])
    yield Column("answer", "text", [sample.answer for sample in samples])
    yield Column("contexts", "texts", [_list(sample.contexts) for sample in samples])
    yield Column("references", "texts", [_list(sample.references) for sample in samples])
    yield Column("doc_name", "text", [sample.doc_name for sample in samples])


def _fields(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the names of the fields of rows that are no fields of a sample, in their order."""
    found = [name for result in results for name in result.info.metadata_columns]
    samples = (sample for result in results for sample in result.samples)
    return list(dict.fromkeys([*found, *(name for sample in samples for name in sample.metadata)]))


def _free(section: str, name: str, taken: set[str]) -> str:
    """Return a name that no other column has, and take it."""
    while name in taken:
        name = f"{section}.{name}"
    taken.add(name)
    return name


def _list(texts: Sequence[str] | None) -> list[str] | None:
    return None if texts is None else list(texts)


def _listed(texts: Any) -> str | None:
    return "; ".join(f"{name}: {text}" for name, text in texts.items()) or None


class EvaluationResult(ScenarioResult, frozen=True):
    """A result with ``to_frame``; notebooks show its means, gates and worst samples."""

    library: str = ""
    """The library of the data frame that the rows came from, as ``pandas``; empty without one."""

    @classmethod
    def of(cls, result: ScenarioResult, library: str = "") -> EvaluationResult:
        """Return a result as this class."""
        if isinstance(result, cls):
            return result
        values = {part.name: getattr(result, part.name) for part in fields(result)}
        return cls(**values, library=library)

    def to_frame(self) -> Any:
        """Return a data frame with a row for each sample, in dataset order.

        It is of the library that the rows came from, else of pandas, else of polars; raises
        MissingExtraError if neither is installed. Missing scores are NaN in pandas, else null.
        """
        return frame_of(columns_of([self]), self.library)

    def __repr__(self) -> str:
        # Not at the top: scripts print no results, and need nothing of the reports.
        from pytest_rageval.notebooks.html import result_text

        return f"<{type(self).__name__} {result_text(self)}>"

    def _repr_html_(self) -> str:
        from pytest_rageval.notebooks.html import result_html

        return result_html(self)


def frame_of_all(results: Sequence[ScenarioResult]) -> Any:
    """Return a data frame with the samples of variants; the column ``variant`` has their names."""
    libraries = (result.library for result in results if isinstance(result, EvaluationResult))
    return frame_of(columns_of(results), next(filter(None, libraries), ""))
