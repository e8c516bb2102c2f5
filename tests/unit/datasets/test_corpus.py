"""B7: the chunks of a knowledge base, by document."""

from __future__ import annotations

import gzip
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.corpus import (
    Corpus,
    corpus_texts,
    load_corpus,
    with_expected_contexts,
)
from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.data_specs import CorpusSpec, DatasetSpec

LoadCorpus = Callable[..., Corpus]


@pytest.fixture
def corpus(tmp_path: Path) -> LoadCorpus:
    """Return a function: write ``content`` to a file of that name, load it as a corpus."""

    def load(name: str, content: str | bytes, **keys: Any) -> Corpus:
        raw = content if isinstance(content, bytes) else content.encode("utf-8")
        (tmp_path / name).write_bytes(raw)
        return load_corpus(CorpusSpec(path=name, **keys), tmp_path, "s.yaml:3")

    return load


@pytest.fixture
def refused(corpus: LoadCorpus) -> Callable[..., list[str]]:
    def load(name: str, content: str | bytes, **keys: Any) -> list[str]:
        with pytest.raises(ScenarioError) as caught:
            corpus(name, content, **keys)
        return [str(problem) for problem in caught.value.problems]

    return load


def lines(*chunks: Any) -> str:
    return "".join(json.dumps(chunk, ensure_ascii=False) + "\n" for chunk in chunks)


def test_chunks_are_grouped_by_document_in_file_order(corpus: LoadCorpus) -> None:
    """B7: documents may be mixed; a text that occurs twice in one is there once."""
    found = corpus(
        "c.jsonl",
        lines(
            {"id": "1", "text": "one", "doc_name": "a.pdf"},
            {"id": "2", "text": "else", "doc_name": "b.pdf"},
            {"id": "3", "text": " two ", "doc_name": "a.pdf"},
            {"id": "4", "text": "one", "doc_name": "a.pdf"},
            {"id": "5", "text": "one", "doc_name": "b.pdf"},
        ),
    )
    assert found.chunks == {"a.pdf": ("one", "two"), "b.pdf": ("else", "one")}
    assert found.of_document("a.pdf") == ("one", "two")
    assert found.of_document("c.pdf") is None


def test_names_are_compared_in_nfc(corpus: LoadCorpus) -> None:
    """A4, B7: macOS stores file names decomposed."""
    name = "双源CT_Übersicht.pdf"
    found = corpus("c.jsonl", lines({"text": "x", "doc_name": unicodedata.normalize("NFD", name)}))
    assert found.of_document(name) == ("x",)
    assert found.of_document(unicodedata.normalize("NFD", name)) == ("x",)


def test_a_blank_around_a_name_makes_no_other_document(corpus: LoadCorpus) -> None:
    """B7."""
    chunks = [{"text": "x", "doc_name": "a.pdf "}, {"text": "y", "doc_name": "a.pdf"}]
    found = corpus("c.jsonl", lines(*chunks))
    assert found.chunks == {"a.pdf": ("x", "y")}
    assert found.of_document(" a.pdf") == ("x", "y")


@pytest.mark.parametrize(
    "chunk",
    [
        {"text": "x", "doc_name": "a.pdf"},
        {"contents": "x", "source": "a.pdf"},
        {"content": "x", "file_name": "a.pdf"},
        {"page_content": "x", "metadata": {"source": "a.pdf", "page": 3}},
        {"passage": "x", "document": "a.pdf"},
        {"contents": "x", "title": "a.pdf"},
        {"text": "", "content": "x", "doc_name": None, "source": "a.pdf"},
        {"text": "x", "doc_name": "a.pdf", "title": "Chapter 1"},
        {"Text": "x", "Doc_Name": "a.pdf", "id": "c1"},
        {"Page Content": " x ", "metadata": {"source": "a.pdf"}},
        {"text": "x", "_id": "a.pdf"},
    ],
)
def test_the_names_that_other_systems_give_to_text_and_document(
    corpus: LoadCorpus, chunk: dict[str, Any]
) -> None:
    """B7."""
    assert corpus("c.jsonl", lines(chunk)).chunks == {"a.pdf": ("x",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.json", '[{"text": "x", "doc_name": "a.pdf"}]'),
        ("c.csv", "doc_name,text\na.pdf,x\n"),
        ("c.tsv", "doc_name\ttext\na.pdf\tx\n"),
        ("c.jsonl.gz", gzip.compress(b'{"text": "x", "doc_name": "a.pdf"}\n', mtime=0)),
    ],
)
def test_any_data_format_will_do(corpus: LoadCorpus, name: str, content: str | bytes) -> None:
    """A18, B7."""
    assert corpus(name, content).chunks == {"a.pdf": ("x",)}


def test_format_and_encoding_can_be_given(corpus: LoadCorpus) -> None:
    raw = "doc_name,text\n指南.pdf,双源\n".encode("gb18030")
    found = corpus("chunks.dat", raw, format="csv", encoding="gb18030")
    assert found.chunks == {"指南.pdf": ("双源",)}


def test_a_number_may_be_a_document_or_a_text(corpus: LoadCorpus) -> None:
    """A18: cells of a CSV file are text; in JSON a row's ``doc_name: 7`` names a document, too."""
    assert corpus("c.csv", "doc_name,text\n007,5\n").chunks == {"007": ("5",)}
    assert corpus("c.jsonl", lines({"doc_name": 7, "text": 5})).chunks == {"7": ("5",)}


def test_both_readers_find_the_same_chunks(tmp_path: Path) -> None:
    """Those of filled holes are called by their ids first."""
    content = lines(
        {"Text": "one", "Doc_Name": "a"}, {"text": 2, "docid": "b"}, {"text": "x", "source": "c"}
    )
    (tmp_path / "c.jsonl").write_text(content, "utf-8")
    spec = CorpusSpec(path="c.jsonl")
    texts = corpus_texts(spec, tmp_path, "s.yaml:3", None)
    assert texts == {"a": "one", "b": "2", "c": "x"}
    chunks = load_corpus(spec, tmp_path, "s.yaml:3").chunks
    assert chunks == {name: (text,) for name, text in texts.items()}


def test_rows_that_are_no_chunks_are_refused_with_their_lines(
    refused: Callable[..., list[str]],
) -> None:
    """B7: a chunk that is left out would make a miss of a hit."""
    content = (
        '{"text": "x", "doc_name": "a.pdf"}\n{"text": "x"}\n{"doc_name": "a.pdf"}\n'
        '{"text": " ", "doc_name": "a.pdf"}\nnot json\n[1]\n{"text": [5], "doc_name": "a.pdf"}\n'
        '{"text": "x", "doc_name": " "}\n{"text": NaN, "doc_name": "a.pdf"}\n'
    )
    assert refused("c.jsonl", content) == [
        "c.jsonl:2: a chunk needs its document under one of doc_name, source, file_name, "
        "document, title, or an id",
        "c.jsonl:3: a chunk needs a text under one of text, contents, content, page_content, "
        "passage",
        "c.jsonl:4: a chunk needs a text under one of text, contents, content, page_content, "
        "passage",
        "c.jsonl:5: not valid JSON: Expecting value (column 1)",
        "c.jsonl:6: expected a JSON object, found a list",
        "c.jsonl: and 3 more",
    ]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_corpus_is_refused(refused: Callable[..., list[str]], content: str) -> None:
    assert refused("c.jsonl", content) == ["c.jsonl: no chunks: an empty corpus expects nothing"]


def test_a_corpus_that_is_not_there_is_refused_where_it_is_named(tmp_path: Path) -> None:
    """E12."""
    (tmp_path / "chunks.jsonl").write_text("", "utf-8")
    with pytest.raises(ScenarioError) as caught:
        load_corpus(CorpusSpec(path="chunk.jsonl"), tmp_path, "s.yaml:3")
    assert str(caught.value) == (
        f"s.yaml:3: corpus: no file 'chunk.jsonl' in '{tmp_path}'. Did you mean 'chunks.jsonl'?"
    )


def test_a_format_that_nobody_reads_is_refused_where_it_is_named(
    refused: Callable[..., list[str]],
) -> None:
    (problem,) = refused("c.docx", "x")
    assert problem.startswith("s.yaml:3: corpus: unknown data format 'docx'")


def test_bytes_that_are_no_text_name_the_corpus_and_its_key(
    refused: Callable[..., list[str]],
) -> None:
    """E12: the hint must name the key that helps."""
    (problem,) = refused("c.csv", "doc_name,text\n指南.pdf,双源\n".encode("gb18030"))
    assert problem.startswith("c.csv:")
    assert "corpus.encoding: gb18030" in problem


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.jsonl", '{"doc_name": "a", "text": "%s"}\n'),
        ("c.json", '[{"doc_name": "a", "text": "%s"}]'),
        ("c.csv", "doc_name,text\na,%s\n"),
    ],
)
def test_a_chunk_that_is_too_long_names_no_key_that_a_corpus_lacks(
    refused: Callable[..., list[str]], name: str, content: str
) -> None:
    """E12: a corpus has no max_row_mb, and that of the data set is not about it."""
    (problem,) = refused(name, content % ("x" * (2**24 + 1)))
    assert problem.endswith(": longer than 16 MB")


def test_a_list_that_is_json_lines_is_read(corpus: LoadCorpus) -> None:
    """W5: the content counts."""
    found = corpus(
        "c.json", lines({"text": "one", "doc_name": "a"}, {"text": "2", "doc_name": "a"})
    )
    assert found.of_document("a") == ("one", "2")


def test_the_chunks_may_be_under_a_key(
    corpus: LoadCorpus, refused: Callable[..., list[str]]
) -> None:
    """W5."""
    chunk = {"text": "one", "doc_name": "a"}
    text = json.dumps({"chunks": [chunk], "more": [{"text": "two", "doc_name": "b"}]})
    (problem,) = refused("c.json", text)
    assert "write rows_at: chunks or rows_at: more or rows_at: \"[*]\" (in 'corpus')" in problem
    assert corpus("c.json", text, rows_at="more").chunks == {"b": ("two",)}


CHUNKS = [{"doc_name": "a", "text": "one"}, {"doc_name": "a", "text": "two"}]


def test_what_a_corpus_lacks_is_said_with_the_data(corpus: LoadCorpus, tmp_path: Path) -> None:
    """W5, B7: the other pages have chunks that the row should find, too."""
    found = corpus("c.json", json.dumps({"data": CHUNKS, "has_more": True}))
    rows = [{"question": "q", "doc_name": "a"}]
    dataset = load_dataset(DatasetSpec(rows=[*rows]), tmp_path, "s.yaml:2")
    assert with_expected_contexts(dataset, found).warnings == (
        "c.json: it tells of a next page ('has_more'), and only the rows in it are read: add the "
        "others to the file; or, if these are all that you want, write rows_at: data "
        "(in 'corpus')",
    )


def test_further_sheets_of_a_corpus_are_said(corpus: LoadCorpus) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book, packed = openpyxl.Workbook(), io.BytesIO()
    for sheet in (book.active, book.create_sheet("More")):
        for cells in (("doc_name", "text"), ("a", "one")):
            sheet.append(cells)
    book.save(packed)
    (note,) = corpus("c.xlsx", packed.getvalue()).notes
    assert note.endswith("'More' has rows below such names, too: put all rows into the first")
