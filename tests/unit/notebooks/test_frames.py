"""[E23] Data frames in and out: pandas, polars, Arrow; what is missing stays missing."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pytest

from pytest_rageval import extras
from pytest_rageval.errors import MissingExtraError, OptionError
from pytest_rageval.notebooks.frames import Column, frame_of, given_rows, is_frame, library_of


def rows(data: Any) -> Any:
    return given_rows(data).rows


def test_cells_of_pandas_become_plain_values() -> None:
    """NaN, NaT, None and NA are missing; arrays are lists; times are text; categories values."""
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    frame = pandas.DataFrame(
        {
            "text": ["a", None],
            "whole": pandas.array([1, None], dtype="Int64"),
            "number": numpy.array([0.5, math.nan], dtype="float32"),
            "when": pandas.to_datetime(["2024-05-06 07:08:09", None]),
            "kind": pandas.Categorical(["x", None]),
            "list": [numpy.array(["p", "q"]), None],
            "deep": [{"n": numpy.int64(3), "m": pandas.NA}, pandas.NaT],
            "yes": [numpy.bool_(True), pandas.NA],
        }
    )
    first, second = rows(frame)
    assert first == {
        "text": "a",
        "whole": 1,
        "number": 0.5,
        "when": "2024-05-06T07:08:09",
        "kind": "x",
        "list": ["p", "q"],
        "deep": {"n": 3, "m": None},
        "yes": True,
    }
    assert [type(first[name]) for name in ("whole", "number", "yes")] == [int, float, bool]
    assert type(first["deep"]["n"]) is int
    assert second == dict.fromkeys(first)


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ({"b", "a", "c"}, ["a", "b", "c"]),
        (frozenset([2, 1]), [1, 2]),
        (("a", math.nan), ["a", None]),
        (decimal.Decimal("NaN"), None),
        (datetime.time(1, 2), "01:02:00"),
        ({1: {"x": math.nan}}, {"1": {"x": None}}),
        (math.inf, math.inf),
        (2**70, 2**70),
    ],
)
def test_values_of_python_become_those_of_json(cell: Any, plain: Any) -> None:
    assert rows([{"cell": cell}]) == [{"cell": plain}]


def test_values_of_numpy_become_those_of_json() -> None:
    """A time to nanoseconds would else be a number."""
    numpy = pytest.importorskip("numpy")
    cells = {
        "when": numpy.datetime64("2024-05-06T07:08:09.000000001"),
        "never": numpy.datetime64("NaT", "ns"),
        "text": numpy.str_("x"),
        "table": numpy.array([[1, 2], [3, 4]]),
        "gap": numpy.array([0.5, math.nan]),
    }
    assert rows([cells])[0] == {
        "when": "2024-05-06T07:08:09.000000001",
        "never": None,
        "text": "x",
        "table": [[1, 2], [3, 4]],
        "gap": [0.5, None],
    }


@pytest.mark.full
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_single_column_is_no_table(library: str) -> None:
    pytest.importorskip("pyarrow")
    column = pytest.importorskip(library).Series([1, 2])
    if hasattr(column, "__arrow_c_stream__"):  # of newer versions
        with pytest.raises(OptionError, match="<Series> is no table: .*to_frame"):
            given_rows(column)


def test_cells_of_polars_become_plain_values() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "text": ["a", None],
            "number": [0.5, math.nan],
            "day": [datetime.date(2024, 5, 6), None],
            "list": [["p", "q"], None],
            "deep": [{"n": 3}, None],
            "price": [decimal.Decimal("1.50"), None],
            "kind": polars.Series(["x", None], dtype=polars.Categorical),
            "raw": [b"p\xff", None],
        }
    )
    first, second = rows(frame)
    assert first == {
        "text": "a",
        "number": 0.5,
        "day": "2024-05-06",
        "list": ["p", "q"],
        "deep": {"n": 3},
        "price": "1.50",
        "kind": "x",
        "raw": "p\\xff",
    }
    assert {value for name, value in second.items() if name != "deep"} == {None}
    assert second["deep"] in (None, {"n": None})  # by the version of polars


def test_anything_with_an_arrow_stream_is_read() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"a": [1, None], "b": [["x"], None]})
    assert rows(table) == [{"a": 1, "b": ["x"]}, {"a": None, "b": None}]
    assert (given_rows(table).shown, library_of(table)) == ("<Table>", "pyarrow")


def test_an_index_with_a_name_is_a_column() -> None:
    """One without a name is left out; one that a column repeats is there once."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]}, index=pandas.Index(["x", "y"], name="id"))
    assert rows(frame) == [{"id": "x", "a": 1}, {"id": "y", "a": 2}]
    assert rows(frame.reset_index(drop=True)) == [{"a": 1}, {"a": 2}]
    assert rows(frame.reset_index().set_index("id", drop=False)) == rows(frame)
    with pytest.raises(OptionError, match="the index and a column .* are both called 'id'"):
        given_rows(frame.assign(id=["x", "z"]))
    levels = pandas.MultiIndex.from_tuples([("p", 1), ("q", 2)], names=["doc", "no"])
    assert rows(frame.set_index(levels))[1] == {"doc": "q", "no": 2, "a": 2}


def test_names_of_columns_are_text() -> None:
    pandas = pytest.importorskip("pandas")
    assert rows(pandas.DataFrame([[1, 2]])) == [{"0": 1, "1": 2}]
    levels = pandas.MultiIndex.from_tuples([("f1", "mean"), ("id", "")])
    assert rows(pandas.DataFrame([[1, 2]], columns=levels)) == [{"f1.mean": 1, "id": 2}]


@pytest.mark.parametrize("names", [["a", "a"], [0, "0"]])
def test_columns_with_one_name_are_refused(names: list[Any]) -> None:
    """Either could be meant; a mapping would keep the last."""
    pandas = pytest.importorskip("pandas")
    with pytest.raises(OptionError, match=f"more than one column called '{names[1]}'"):
        given_rows(pandas.DataFrame([[1, 2]], columns=names))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_without_rows_has_none(library: str) -> None:
    module = pytest.importorskip(library)
    assert rows(module.DataFrame({"a": []})) == []
    assert rows(module.DataFrame()) == []


def test_rows_may_be_a_list_of_mappings() -> None:
    """As ``frame.to_dict("records")`` gives them; what is no mapping stays for the reader."""
    given = given_rows({"a": value} for value in (math.nan, 1))
    assert given.rows == [{"a": None}, {"a": 1}]
    assert (given.shown, given.tabular) == ("<generator>", False)
    assert rows([3]) == [3]


class Lazy:
    def collect(self) -> None:
        raise AssertionError("it is for the user to compute it")


class OfAnother:
    def to_pandas(self) -> Any:
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame({"a": [1]})


def test_a_frame_of_another_library_is_asked_for_one_of_pandas() -> None:
    assert rows(OfAnother()) == [{"a": 1}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("answers.jsonl", r"found <str>; .*overrides=\{'dataset.path': 'answers.jsonl'\}"),
        ({"a": [1]}, r"found <dict>; .*pandas.DataFrame\(columns\)"),
        (7, "expected a data frame or a list of rows, found <int>"),
        (Lazy(), r"<Lazy> has no rows yet; write dataset=frame.collect\(\)"),
    ],
)
def test_what_is_no_table_is_refused(data: Any, message: str) -> None:
    with pytest.raises(OptionError, match=f"^dataset: .*{message}"):
        given_rows(data)


@pytest.mark.parametrize("data", [[], {}, "x", None, object(), str])
def test_what_files_can_hold_is_no_frame(data: Any) -> None:
    assert not is_frame(data)
    assert library_of(data) == ""


COLUMNS = [
    Column("f1", "number", [0.5, None]),
    Column("em", "number", [None, None]),
    Column("answer", "text", ["a", None]),
    Column("contexts", "texts", [["p"], None]),
    Column.of_field("year", [2024, None]),
    Column.of_field("size", [1, 2.5]),
    Column.of_field("order", [2**53 + 1, None]),
    Column.of_field("inexact", [2**53 + 1, 2.5]),
    Column.of_field("mixed", [{"a": 1}, "b"]),
    Column.of_field("large", [2**70, 1]),
    Column.of_field("yes", [True, None]),
    Column.of_field("half", ["\ud800", {"b": "\ud800"}]),
    Column("half\ud800", "texts", [["a\ud800"], None]),
    Column.of_field("none", [None, None]),
]


def test_a_frame_of_pandas_has_numbers_where_numbers_are() -> None:
    """A metric that scored nothing is a column of NaN, not of objects."""
    pandas = pytest.importorskip("pandas")
    frame = frame_of(COLUMNS, "pandas")
    assert isinstance(frame, pandas.DataFrame)
    assert [str(frame[name].dtype) for name in ("f1", "em", "size")] == ["float64"] * 3
    assert [str(frame[name].dtype) for name in ("year", "order")] == ["Int64"] * 2
    assert [frame[name][0] for name in ("year", "order")] == [2024, 2**53 + 1]
    assert frame["year"].isna().tolist() == [False, True]
    assert frame["inexact"].tolist() == [2**53 + 1, 2.5]
    assert frame["half\\ud800"][0] == ["a\\ud800"]
    assert str(frame_of([Column.of_field("year", [1, 2])], "pandas")["year"].dtype) == "int64"
    assert frame["f1"].isna().tolist() == [False, True]
    assert frame["em"].isna().all()
    assert frame["answer"].isna().tolist() == [False, True]
    assert frame["mixed"].tolist() == [{"a": 1}, "b"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_one_type_hold_mixed_values_as_json(library: str) -> None:
    pytest.importorskip(library)
    frame = frame_of(COLUMNS, library)
    assert library_of(frame) == library
    table = frame.to_dict(as_series=False) if library == "polars" else frame.to_pydict()
    assert table == {
        "f1": [0.5, None],
        "em": [None, None],
        "answer": ["a", None],
        "contexts": [["p"], None],
        "year": [2024, None],
        "size": [1.0, 2.5],
        "order": [2**53 + 1, None],
        "inexact": [str(2**53 + 1), "2.5"],
        "mixed": ['{"a": 1}', "b"],
        "large": [str(2**70), "1"],
        "yes": [True, None],
        "half": ["\\ud800", '{"b": "\\ud800"}'],
        "half\\ud800": [["a\\ud800"], None],
        "none": [None, None],
    }
    kinds = [str(frame[name].dtype if library == "polars" else frame[name].type) for name in table]
    assert kinds[:2] == (["Float64"] * 2 if library == "polars" else ["double"] * 2)


def test_without_any_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "installed", lambda module: False)
    with pytest.raises(MissingExtraError, match="pip install pandas, or pip install polars"):
        frame_of(COLUMNS)


def test_without_pandas_it_is_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(extras, "installed", lambda module: module != "pandas")
    assert isinstance(frame_of(COLUMNS), polars.DataFrame)
