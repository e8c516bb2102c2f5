"""X3, X4: whatever its depth and its numbers, a row is at worst an invalid row, in every format."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.model import InvalidRow
from pytest_rageval.notebooks.frames import given_rows
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.loader import inspect_scenario

Load = Callable[..., Dataset]

DEPTHS = (66, 190, 192, 193, 500, 980, 1000, 3000)
COLUMNS = ("references", "contexts", "reference_ids", "tags", "question", "id", "meta")
REASON = "nested more than 64 deep, which is the most that is read; write lists"


def nested(depth: int) -> str:
    """Return JSON that is ``depth`` deep; it holds a text."""
    return "[" * depth + '"x"' + "]" * depth


def in_json(column: str, value: str) -> str:
    """Return a row whose ``column`` is this JSON, between two sound ones."""
    row = '{"question": "q", "answer": "a", "references": ["a"]}'
    own = '{"answer": "a", "' + column + '": ' + value + "}"
    return f"[{row},\n{own},\n{row}]"


def in_lines(column: str, value: str) -> str:
    """Return the same rows as JSON Lines."""
    return in_json(column, value)[1:-1].replace(",\n", "\n")


def in_blocks(column: str, value: str) -> str:
    """Return the same rows as YAML, with nothing but indentation for the deep one."""
    depth = value.count("[")
    deep = "".join(" " * (4 + at) + "k:\n" for at in range(depth)) + " " * (5 + depth) + "k: x\n"
    return f"- answer: a\n  references: [a]\n- answer: a\n  {column}:\n{deep}- answer: a\n"


def in_dashes(column: str, value: str) -> str:
    """Return the same rows as YAML, with all dashes of the deep one on a line."""
    deep = "- " * value.count("[") + "x"
    return f"- answer: a\n  references: [a]\n- answer: a\n  {column}:\n  {deep}\n- answer: a\n"


def in_table(column: str, value: str) -> bytes:
    """Return the same rows as CSV."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerows([["answer", column], ["a", ""], ["a", value], ["a", ""]])
    return written.getvalue().encode()


FILES: Mapping[str, Callable[[str, str], str | bytes]] = {
    "r.jsonl": in_lines,
    "r.json": in_json,
    "r.jsonl.gz": lambda column, value: gzip.compress(in_lines(column, value).encode()),
    "r.json.gz": lambda column, value: gzip.compress(in_json(column, value).encode()),
    "r.yaml": in_json,
    "r.yml": in_blocks,
    "dashes.yml": in_dashes,
}


def check_second_is_invalid(cases: Any, reason: str = REASON) -> None:
    """Check that the second row of three is invalid for this reason, and the others are samples."""
    assert [isinstance(case, InvalidRow) for case in cases] == [False, True, False]
    assert reason in cases[1].reason
    assert [case.row for case in cases] == [1, 2, 3]


@pytest.mark.full
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", FILES)
def test_a_deep_value_is_an_invalid_row(load: Load, name: str, depth: int) -> None:
    """The rows before and after it are read; the message names its column."""
    for column in COLUMNS[:1] if ".y" in name else COLUMNS:
        cases = load(name, FILES[name](column, nested(depth))).cases
        check_second_is_invalid(cases, f"{column!r}: {REASON}")
        if ".y" not in name and ".json." not in name and name != "r.json":
            assert isinstance(cases[1], InvalidRow)
            assert cases[1].line == 2


@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.yaml"])
def test_what_is_not_too_deep_is_read(load: Load, name: str) -> None:
    """63 in a column: the row itself is the first of 64 levels."""
    for depth, is_sound in ((63, True), (64, False)):
        made = FILES[name]("meta", nested(depth))
        cases = load(name, made).cases
        assert isinstance(cases[1], InvalidRow) is not is_sound


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("column", ["references", "contexts", "reference_ids", "tags"])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_deep_cell_is_an_invalid_row(load: Load, column: str, quote: str, depth: int) -> None:
    """In JSON, and as Python writes lists."""
    cases = load("r.csv", in_table(column, nested(depth).replace('"', quote))).cases
    check_second_is_invalid(cases)
    opened = "{'a': " * depth + "1" + "}" * depth
    check_second_is_invalid(load("r.csv", in_table("references", opened)).cases)


def test_a_deep_text_is_a_text(load: Load) -> None:
    """In a column of texts, brackets mean nothing."""
    cases = load("r.csv", in_table("question", nested(3000))).cases
    assert not any(isinstance(case, InvalidRow) for case in cases)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("path", ["meta.source", 'meta["a b"]'])
def test_a_path_into_a_deep_cell_is_an_invalid_row(load: Load, path: str, depth: int) -> None:
    """Also where the path leads to a sound part of it."""
    sound = '{"source": "s", "a b": "t", "more": 0}'
    rows = [["answer", "meta"], ["a", sound], ["a", sound.replace("0", nested(depth))], ["a", ""]]
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    cases = load("r.csv", written.getvalue(), key_map={"question": path}).cases
    check_second_is_invalid(cases, f"meta: {REASON}")


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_cell_of_a_workbook_or_a_parquet_file(load: Load, depth: int) -> None:
    """A workbook holds text, a Parquet file text or lists."""
    openpyxl = pytest.importorskip("openpyxl")
    book, packed = openpyxl.Workbook(), io.BytesIO()
    for cells in (["answer", "contexts"], ["a", "c"], ["a", nested(depth)], ["a", "c"]):
        book.active.append(cells)
    book.save(packed)
    check_second_is_invalid(load("r.xlsx", packed.getvalue()).cases)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"answer": ["a"] * 3, "contexts": ["c", nested(depth), "c"]})
    packed = io.BytesIO()
    parquet.write_table(table, packed)
    check_second_is_invalid(load("r.parquet", packed.getvalue()).cases)


@pytest.mark.parametrize("depth", [66, 90])
def test_deep_structures_of_a_parquet_file(load: Load, depth: int) -> None:
    """Its type is as deep in all rows, but only one has a value there; pyarrow reads up to 100."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    kind, value = pyarrow.string(), "x"
    for _ in range(depth):
        kind, value = pyarrow.struct([("a", kind)]), {"a": value}
    cells = pyarrow.array([None, value, None], kind)
    packed = io.BytesIO()
    parquet.write_table(pyarrow.table({"answer": ["a"] * 3, "meta": cells}), packed)
    check_second_is_invalid(load("r.parquet", packed.getvalue()).cases)


@pytest.mark.full
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_value_of_python_is_an_invalid_row(tmp_path: Path, depth: int) -> None:
    """In a list of rows and in a data frame, where lists in cells are objects."""
    pandas = pytest.importorskip("pandas")
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    rows = [{"answer": "a", "meta": None}, {"answer": "a", "meta": value}, {"answer": "a"}]
    for given in (rows, pandas.DataFrame(rows)):
        spec = DatasetSpec(rows=[])
        found = load_dataset(spec, tmp_path, "s.yaml:2", given=given_rows(given))
        check_second_is_invalid(found.cases, f"'meta': {REASON}")


@pytest.mark.full
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_deep_row_in_a_scenario(tmp_path: Path, suffix: str, depth: int) -> None:
    """The scenario is sound."""
    rows = in_json("meta", nested(depth))
    path = tmp_path / f"s.rageval{suffix}"
    path.write_text(f'{{"name": "s", "metrics": ["em"], "dataset": {{"rows": {rows}}}}}')
    loaded, problems = inspect_scenario(path)
    assert problems == []
    spec = loaded.scenario.dataset
    check_second_is_invalid(load_dataset(spec, tmp_path, "s.yaml:2").cases, f"'meta': {REASON}")


# Numbers

DIGITS = (20, 30, 309, 400, 4300, 4301, 10_000)
NAMES = ("score", "grade", "rel", "relevance", "label", "weight", "doc_weight", "latency_ms", "k")


@pytest.mark.full
@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.yaml", "r.csv"])
def test_a_number_of_any_length_stops_nothing(load: Load, name: str, digits: int) -> None:
    """In columns that may be grades, in all forms, with and without merged rows."""
    number = "7" * digits
    made = FILES.get(name, in_table)
    for column in NAMES:
        for value in (number, "-" + number, f'"{number}"', "1e400", f"{number}.5"):
            if name == "r.yaml" and (digits > 400 or column != "score"):
                continue
            text = made(column, value)
            load(name, text.replace("references", "reference_ids") if type(text) is str else text)
            merged = (
                f"q,d,{column}\nq1,d1,1\nq1,d2,{value}\nq2,d1,0\n"
                if name == "r.csv"
                else "".join(
                    f'{{"q": "{query}", "d": "{doc}", "{column}": {grade}}}\n'
                    for query, doc, grade in (("q1", "d1", 1), ("q1", "d2", value), ("q2", "d1", 0))
                )
            )
            kind = "r.csv" if name == "r.csv" else "r.jsonl"
            load(kind, merged, merge_rows="q", key_map={"reference_ids": "d", "id": "q"})


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.yaml"])
def test_a_long_number_is_no_grade(load: Load, name: str, digits: int) -> None:
    """And the message does not quote all of it."""
    for column, value in (
        ("reference_ids", f'{{"d1": {"7" * digits}}}'),
        ("reference_ids", f'[{{"id": "d1", "grade": {"7" * digits}}}]'),
    ):
        cases = load(name, in_json(column, value) if name != "r.jsonl" else in_lines(column, value))
        check_second_is_invalid(cases.cases, "grade")
        assert len(cases.cases[1].reason) < 300  # type: ignore[union-attr]


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", ["r.jsonl", "r.json", "r.yaml"])
def test_a_long_number_may_be_a_text(load: Load, name: str, digits: int) -> None:
    """Ids, questions and metadata are texts: nothing is lost of them."""
    for column in ("id", "question"):
        value = "7" * digits
        made = in_json(column, value) if name != "r.jsonl" else in_lines(column, value)
        assert getattr(load(name, made).cases[1], column) == value


@pytest.mark.parametrize(
    "value", [10**30, 10**400, -(10**400), 10**5000, float("inf")], ids=range(5)
)
def test_numbers_of_python(tmp_path: Path, value: Any) -> None:
    """What Python itself cannot write is an invalid row."""
    for column in (*NAMES, "id", "meta"):
        rows = [{"answer": "a"}, {"answer": "a", column: value}, {"answer": "a"}]
        spec = DatasetSpec(rows=[])
        cases = load_dataset(spec, tmp_path, "s.yaml:2", given=given_rows(rows)).cases
        is_written = value in (10**30, 10**400, -(10**400), float("inf"))
        assert isinstance(cases[1], InvalidRow) is not is_written
