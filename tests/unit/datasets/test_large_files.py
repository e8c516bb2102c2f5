"""Files that unpack to more than anyone wants to read, and large ones that are all right."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.datasets.corpus import load_corpus
from pytest_rageval.datasets.load import data_file, reader_of
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.data_specs import CorpusSpec, DatasetSpec
from tests.unit.datasets.conftest import Load

MB = 2**20
LONG = "longer than 16 MB (dataset.max_row_mb)"


def full(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.full)


def packed(part: bytes, times: int, head: bytes = b"") -> bytes:
    """Return ``head`` and ``part``, so many times, as gzip packs them."""
    found = io.BytesIO()
    with gzip.GzipFile(fileobj=found, mode="wb", compresslevel=1) as stream:
        stream.write(head)
        for _ in range(times):
            stream.write(part)
    return found.getvalue()


def workbook_of_zeros() -> bytes:
    pytest.importorskip("openpyxl")
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(65 * MB))
    return found.getvalue()


def parquet_of_zeros(*, is_one_value: bool) -> bytes:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    values = pyarrow.array([0]).take(pyarrow.array([0] * 2_000_000))  # 16 MB, as text much more
    if is_one_value:  # 70 rows of 1 MB, of which the file has one
        values = pyarrow.array(["0" * MB] * 70).dictionary_encode()
    found = io.BytesIO()
    parquet.write_table(pyarrow.table({"answer": values}), found, compression="gzip")
    return found.getvalue()


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    ["r.json.gz", "r.xlsx", "r.parquet", "r.pq", full("r.csv.gz"), "r.jsonl.gz", full("r.tsv.gz")],
)
def test_zeros_end_in_a_message_soon_and_in_little_memory(load: Load, name: str) -> None:
    """[R3] 64 MB where a packed file is read whole; elsewhere a row of 16 MB is the limit."""
    raw = {
        "r.xlsx": workbook_of_zeros,
        "r.parquet": lambda: parquet_of_zeros(is_one_value=False),
        "r.pq": lambda: parquet_of_zeros(is_one_value=True),
        "r.csv.gz": lambda: packed(bytes(MB), 200, b"id,answer\n"),
    }.get(name, lambda: packed(bytes(MB), 200))()
    assert len(raw) < 2 * MB
    tracemalloc.start()
    try:
        reason = str(getattr(load(name, raw).cases[0], "reason", ""))
    except ScenarioError as error:
        reason = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 300 * MB
    large = f"{name}: more than 64 MB, unpacked (dataset.max_mb allows more)"
    assert reason in (large, LONG, f"{name}: {LONG}")


@pytest.mark.parametrize("name", ["r.jsonl.gz", "r.csv.gz", "r.tsv.gz"])
def test_what_is_streamed_may_have_4096_mb_or_what_the_scenario_says(
    load: Load, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R3] ``max_mb`` counts unpacked bytes, and is lower or higher as the user wants."""
    row = b'{"answer": "' + b"x" * 1000 + b'"}\n' if "json" in name else b"x" * 1023 + b"\n"
    raw = packed(row * (MB // len(row) + 1), 2, b"" if "json" in name else b"answer\n")
    with pytest.raises(ScenarioError, match=r"more than 1 MB, unpacked \(dataset.max_mb allows"):
        load(name, raw, max_mb=1)
    assert len(load(name, raw, max_mb=3, limit=5).cases) == 5
    monkeypatch.setattr("pytest_rageval.datasets.base._MAX_MB", 1)
    with pytest.raises(ScenarioError, match="more than 1 MB"):
        load(name, raw)


@pytest.mark.full
def test_more_is_read_where_the_scenario_allows_it(load: Load) -> None:
    """[R3] The way out that the message names."""
    raw = packed(b" " * MB, 65, b'[{"id": "a", "answer": "x"}') + packed(b"]", 1)
    with pytest.raises(ScenarioError, match="more than 64 MB"):
        load("r.json.gz", raw)
    assert [case.id for case in load("r.json.gz", raw, max_mb=70).cases] == ["a"]


def test_a_corpus_has_the_limit_too(tmp_path: Path) -> None:
    """[R3] And says its own key."""
    chunk = b'{"doc_name": "d", "text": "x"}\n'
    (tmp_path / "c.jsonl").write_bytes(chunk * (MB // 20))
    with pytest.raises(ScenarioError, match="corpus.max_mb allows more"):
        load_corpus(CorpusSpec(path="c.jsonl", max_mb=1), tmp_path, "s.yaml:1")


@pytest.mark.full
@pytest.mark.parametrize("name", ["r.jsonl.gz", full("r.csv.gz")])
def test_a_file_of_line_breaks_ends_in_a_message(load: Load, name: str) -> None:
    """[R3] 1 GB of them was read for minutes: a million in a row is no data."""
    raw = packed(b"\n" * MB, 20, b"" if "json" in name else b"answer\n")
    refused = pytest.raises(ScenarioError, match="more than 1,000,000 blank lines before a row")
    with within_a_minute(), refused:
        load(name, raw)


@pytest.mark.full
def test_a_table_is_read_line_by_line_and_tells_the_place_of_bytes_that_are_no_text(
    load: Load,
) -> None:
    """[R3] As it did when it was in memory as a whole; the bytes are far behind the first ones."""
    text = "answer\nüü\n" + ("y" * 99 + "\n") * 20_000
    with pytest.raises(ScenarioError) as caught:
        load("r.csv", text.encode() + b"\xff\n")
    line, offset = text.count("\n") + 1, len(text.encode())
    assert str(caught.value).startswith(f"r.csv:{line}: not utf-8: byte 0xff at offset {offset}")
    with pytest.raises(ScenarioError, match=f"r.csv:{line}: not utf-8: byte 0xc3 at offset"):
        load("r.csv", text.encode() + b"\xc3")


def test_a_row_of_many_cells_is_too_long_like_any_other(load: Load) -> None:
    """[R3] 1 GB of commas was one row of a billion cells."""
    raw = b"id,answer\nq1,x\n" + b"," * (2 * MB) + b"\nq2,y\n"
    reasons = [getattr(case, "reason", "") for case in load("r.csv", raw, max_row_mb=1).cases]
    assert reasons == ["", "longer than 1 MB (dataset.max_row_mb)", ""]


@pytest.mark.parametrize("name", ["r.jsonl", "r.ndjson", "r.txt", "r.jsonl.gz", "r.csv"])
def test_the_first_rows_of_a_large_file_need_no_more_than_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """20 of 100,000 rows, in 10 MB: no look at the format reads the rest."""
    row = b'{"question": "%s", "answer": "a"}\n' % (b"q" * 70)
    content = row * 100_000 if name != "r.csv" else b"question,answer\n" + b"q,a\n" * 1_000_000
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith("gz") else content)
    furthest = 0
    opened = DataFile.open

    @contextmanager
    def counted(file: DataFile, *, is_whole: bool = False) -> Iterator[IO[bytes]]:
        nonlocal furthest
        with opened(file, is_whole=is_whole) as stream:
            yield stream
            raw = getattr(stream, "raw", None)  # of a packed file: what was unpacked
            furthest = max(furthest, raw._read if file.is_packed else stream.tell())

    monkeypatch.setattr(DataFile, "open", counted)
    file = data_file(DatasetSpec(path=name), tmp_path, "s.yaml", "dataset")
    rows = reader_of(file, "s.yaml", "dataset").read(file)
    assert len([*islice(rows, 20)]) == 20
    rows.close()  # type: ignore[attr-defined]
    assert 0 < furthest < 300_000  # a quarter of a MB is searched for spans
