"""A18, A19: JSON Lines, JSON, CSV, TSV, their encodings, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Samples = Callable[..., list[Sample]]
Invalid = Callable[..., dict[int, InvalidRow]]
Refused = Callable[..., list[str]]

LINE = '{"answer": "x", "references": ["x"]}\n'


def texts(samples: list[Sample]) -> list[tuple[str | None, tuple[str, ...] | None]]:
    return [(sample.answer, sample.references) for sample in samples]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.jsonl", '{"answer": "x", "references": ["y"]}\n{"answer": "z", "reference": "w"}\n'),
        ("r.ndjson", '{"answer": "x", "references": ["y"]}\n{"answer": "z", "reference": "w"}'),
        ("r.json", '[{"answer": "x", "references": ["y"]}, {"answer": "z", "reference": "w"}]'),
        ("r.csv", "answer,references\nx,y\nz,w\n"),
        ("r.tsv", "answer\treferences\nx\ty\nz\tw\n"),
        ("r.tab", "answer\treferences\nx\ty\nz\tw"),
        ("R.CSV", "answer,references\nx,y\nz,w\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_each_format_gives_the_same_rows(
    samples: Samples, name: str, content: str, newline: str, mark: str
) -> None:
    """A18: with and without byte order mark, with either line end."""
    found = samples(name, mark + content.replace("\n", newline))
    assert texts(found) == [("x", ("y",)), ("z", ("w",))]
    assert [(sample.id, sample.row, sample.index) for sample in found] == [
        ("sample-1", 1, 0),
        ("sample-2", 2, 1),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [("r.jsonl.gz", LINE), ("r.json.gz", f"[{LINE}]"), ("r.csv.gz", "answer,references\nx,x\n")],
)
def test_gzip_is_unpacked(samples: Samples, refused: Refused, name: str, content: str) -> None:
    """A18; a file that ends early says so, and is not half read."""
    packed = gzip.compress(content.encode())
    assert texts(samples(name, packed)) == [("x", ("x",))]
    (problem,) = refused(name, packed[:-9])
    assert problem.startswith(f"{name}: a damaged or truncated gzip file: ")
    (problem,) = refused(name, content)
    assert problem.startswith(f"{name}: a damaged or truncated gzip file: ")


def test_the_format_may_be_named(samples: Samples, refused: Refused) -> None:
    assert texts(samples("rows.txt", LINE, format="jsonl")) == [("x", ("x",))]
    assert texts(samples("rows.csv", "answer\treference\nx\tx\n", format="tsv"))
    assert texts(samples("rows.jsonx", LINE)) == [("x", ("x",))]
    (problem,) = refused("rows.jsonx", "answer,references\nx,x\n")
    assert problem.startswith("s.yaml:2: dataset: unknown data format 'jsonx'. Did you mean 'json")
    assert "yaml. To say what it is, write dataset.format" in problem


def test_blank_lines_are_no_rows(samples: Samples) -> None:
    found = samples("r.jsonl", f"\n{LINE}\n  \n{LINE}\r\n")
    assert [sample.row for sample in found] == [1, 2]
    assert len(samples("r.jsonl", f"\ufeff\n{LINE}\n")) == 1
    found = samples("r.csv", "answer,references\n\nx,x\n , \n,\nz,z\n")
    assert [(sample.row, sample.answer) for sample in found] == [(1, "x"), (2, "z")]


# JSON Lines


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not valid JSON: Expecting property name enclosed in double quotes (column 2)"),
        ('{"answer": "x"} tail', "not valid JSON: Extra data (column 17)"),
        ("[1]", "expected a JSON object, found a list"),
        ('"x"', "expected a JSON object, found text"),
        ("null", "expected a JSON object, found null"),
        ("3", "expected a JSON object, found a number"),
        ("{" * 3000, "not valid JSON"),
        ('{"a":' + "[" * 100_000, "nested more than 64 deep"),
    ],
)
def test_a_line_that_is_no_object_is_one_invalid_row(
    invalid: Invalid, line: str, reason: str
) -> None:
    """A19: with its line and what stood there; the rows around it are read."""
    found = invalid("r.jsonl", LINE + "\n" + line + "\n" + LINE)
    assert list(found) == [2]
    assert found[2].reason.startswith(reason)
    assert (found[2].line, found[2].id) == (3, "sample-2")
    assert found[2].raw.startswith(line[:20])
    assert len(found[2].raw) <= 500


def test_bytes_that_are_no_text_are_named_with_their_offset(invalid: Invalid) -> None:
    """A19: 37 bytes stand before the second line, 5 in it."""
    found = invalid("r.jsonl", LINE.encode() + b'{"a":\xff}\n' + LINE.encode())
    assert list(found) == [2]
    assert f"not utf-8: byte 0xff at offset {len(LINE) + 5}" in found[2].reason


def test_a_row_that_is_too_long_is_invalid_and_the_next_one_is_read(invalid: Invalid) -> None:
    long = '{"answer": "' + "y" * 5000 + '"}\n'
    found = invalid("r.jsonl", LINE + long + LINE, max_row_mb=0.001)
    assert list(found) == [2]
    assert found[2].reason == "longer than 0.001 MB (dataset.max_row_mb)"
    assert (found[2].line, found[2].raw) == (2, "")
    found = invalid("r.jsonl", LINE + long.rstrip(), max_row_mb=0.001)
    assert list(found) == [2]


def test_a_row_of_just_the_longest_length_is_read(samples: Samples) -> None:
    """1048 bytes are 0.001 MB (1048.576), one more is too long; the line end does not count."""
    for length, ends in ((1048, ("\n", "")), (900, ("\r\n",))):
        for end in ends:
            body = LINE.strip()[:-1]
            line = body + " " * (length - len(body) - 1) + "}"
            assert len(line) == length
            assert len(samples("r.jsonl", line + end, max_row_mb=0.001)) == 1


def test_a_row_that_is_too_long_is_not_held_in_memory() -> None:
    """The reader asks for pieces no longer than a row may be."""
    from pytest_rageval.datasets.formats.json_file import _lines

    class Stream(io.BytesIO):
        longest = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            found = super().readline(size)
            Stream.longest = max(Stream.longest, len(found))
            return found

    content = b"a" * 100_000 + b"\nshort\n" + b"b" * 100_000
    found = list(_lines(Stream(content), 100))
    assert [raw for _, raw in found] == [None, b"short\n", None]
    assert [offset for offset, _ in found] == [0, 100_001, 100_007]
    assert Stream.longest <= 101


# JSON


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "r.json:1: not valid JSON: Expecting property name"),
        ("[\n{},\n]", "r.json:"),
        ("[]\n[]", "r.json:1: more than one JSON value, and none is an object"),
        ('{"ks": [1]}', "r.json: expected a list of objects, found an object"),
        (
            '{"ks": [1], "more": [{}], "rows": [{}]}',
            "r.json: expected a list of objects, found an object; if the rows are in it, write "
            "rows_at: more or rows_at: rows (in 'dataset')",
        ),
        ("3", "r.json: expected a list of objects, found a number"),
        ("", "r.json:1: not valid JSON: "),
        ("[" * 200_000, "r.json:1: not valid JSON: "),
        ("", "r.csv: empty: not even a header line"),
        (" , \nx,y\n", "r.csv:1: the header line is blank"),
        ("answer,answer,b\nx,y,z\n", "r.csv:1: the header names a column twice: answer"),
        ("answer, answer \nx,y\n", "r.csv:1: the header names a column twice: answer"),
        ('"answer,b\nx,y\n', "r.csv:"),
        ("answer,references\n", "r.csv: no rows: an empty data set tests nothing"),
    ],
)
def test_json_that_is_no_list_and_a_table_without_a_header_are_refused(
    refused: Refused, content: str, message: str
) -> None:
    assert refused(message.partition(":")[0], content)[0].startswith(message)


def test_an_item_of_a_json_list_that_is_no_object_is_an_invalid_row(invalid: Invalid) -> None:
    found = invalid("r.json", f'[{LINE}, 3, {LINE}, ["x"]]')
    assert {number: row.reason for number, row in found.items()} == {
        2: "expected an object, found a number",
        4: "expected an object, found a list",
    }
    assert (found[2].raw, found[4].raw) == ("3", '["x"]')


# CSV and TSV


def test_a_blank_cell_is_missing(samples: Samples) -> None:
    """A19: never an empty answer, never the text "nan"."""
    found = samples("r.csv", "id,question,answer,references,note\na,,x,y,\nb,  ,x,y,nan\n")
    assert [sample.question for sample in found] == [None, None]
    assert [dict(sample.metadata) for sample in found] == [{}, {"note": "nan"}]


def test_a_quoted_cell_may_hold_line_breaks_commas_and_quotes(samples: Samples) -> None:
    content = 'answer,references\n"a, ""b""\nc",x\nz,w\n'
    for newline in ("\n", "\r\n"):
        found = samples("r.csv", content.replace("\n", newline))
        assert found[0].answer == f'a, "b"{newline}c'
        assert found[1].answer == "z"


def test_a_tsv_cell_may_hold_commas(samples: Samples) -> None:
    assert samples("r.tsv", "answer\treferences\na, b\tx\n")[0].answer == "a, b"


def test_a_record_says_on_which_line_it_begins(invalid: Invalid) -> None:
    found = invalid("r.csv", 'answer,references\n"a\nb\nc",x\nonly one\nz,w\na,b,c\n')
    assert {number: (row.line, row.reason) for number, row in found.items()} == {
        2: (5, "has 1 cells where the header has 2"),
        4: (7, "has 3 cells where the header has 2"),
    }
    assert (found[2].raw, found[4].raw) == ("only one", "a,b,c")


def test_a_record_that_is_no_csv_is_one_invalid_row(invalid: Invalid) -> None:
    found = invalid("r.csv", 'answer,references\n"a"b,x\nz,w\n"c"d,x\n')
    assert list(found) == [1, 3]
    assert found[1].reason == "not a valid table row: ',' expected after '\"'"
    assert found[1].raw == '"a"b,x'


def test_a_stray_quote_costs_its_own_row_only(load: Load) -> None:
    """A19: it opens a cell that ends at the next quote, three lines further down."""
    text = 'answer,references\na,x\nb,"x\nc,x\nd,x\ne,"x"\nf,x\n'
    cases = load("r.csv", text).cases
    broken = [case for case in cases if isinstance(case, InvalidRow)]
    assert [(case.row, case.line, case.raw) for case in broken] == [(2, 3, 'b,"x')]
    assert broken[0].reason == (
        "not a valid table row: ',' expected after '\"' on line 6; is the quote on line 3 closed?"
    )
    good = [case.answer for case in cases if isinstance(case, Sample)]
    assert good == ["a", "c", "d", "e", "f"]
    # Lines are counted on behind it.
    later = load("r.csv", text + "only one\n").cases[-1]
    assert isinstance(later, InvalidRow)
    assert (later.row, later.line) == (7, 8)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_quote_that_is_never_closed_refuses_the_file(refused: Refused, newline: str) -> None:
    """A19: 97 rows must not vanish in one cell; the file may have been cut off."""
    lines = ["answer,references", '"a', '""b""",x', 'b,"x', *["c,x"] * 97]
    (problem,) = refused("r.csv", newline.join([*lines, ""]))
    assert problem.startswith("r.csv:4: the quote in this row is not closed: all that follows, to ")
    assert "to line 101, would be one cell" in problem


def test_a_cell_that_is_too_long_is_an_invalid_row(invalid: Invalid) -> None:
    found = invalid("r.csv", f"answer,references\n{'y' * 5000},x\nz,w\n", max_row_mb=0.001)
    assert {number: row.reason for number, row in found.items()} == {
        1: "longer than 0.001 MB (dataset.max_row_mb)"
    }


def test_reading_a_table_leaves_the_limit_of_the_csv_module_alone(samples: Samples) -> None:
    import csv

    before = csv.field_size_limit()
    samples("r.csv", "answer,references\nx,x\nz,w\n", limit=1, max_row_mb=0.001)
    assert csv.field_size_limit() == before


def test_the_row_counter_of_a_data_frame_is_no_field(load: Load) -> None:
    found = load("r.csv", ",answer,references\n0,x,y\n")
    assert found.metadata_columns == ()
    assert isinstance(found.cases[0], Sample)
    assert found.cases[0].answer == "x"


def test_column_names_are_stripped(samples: Samples) -> None:
    assert samples("r.csv", " answer , references\nx,y\n")[0].answer == "x"


# Encodings


@pytest.mark.parametrize("encoding", ["gb18030", "gbk", "latin-1", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize(
    ("name", "line"), [("r.jsonl", LINE), ("r.csv", "answer,references\nx,x\n")]
)
def test_a_text_file_in_its_own_encoding(
    samples: Samples, encoding: str, name: str, line: str
) -> None:
    """A18."""
    word = "北京" if encoding.startswith(("gb", "utf")) else "café"
    content = line.replace("x", word).encode(encoding)
    assert texts(samples(name, content, encoding=encoding)) == [(word, (word,))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "answer,references\nx,x\n\u0a00,\u0a00\nx,x\n"),
        ("r.json", f"[{LINE},{LINE},{LINE}]"),
    ],
)
def test_text_of_two_bytes_a_character_is_read(
    samples: Samples, encoding: str, name: str, content: str
) -> None:
    """A18: U+0A00 has the byte of a line end in it."""
    found = samples(name, content.encode(encoding), encoding=encoding)
    assert len(found) == 3
    assert found[2].answer == "x"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_json_lines_of_two_bytes_a_character_are_refused_as_a_whole(
    refused: Refused, encoding: str
) -> None:
    """A18: lines are found by their bytes; the advice is one that helps."""
    (problem,) = refused("r.jsonl", LINE.encode(encoding), encoding=encoding)
    assert problem == f"r.jsonl: JSON Lines cannot be in {encoding}; save it as UTF-8"


def test_json_lines_in_utf_16_are_not_sent_in_circles(load: Load) -> None:
    """A18: the advice to name an encoding is given only where naming it helps."""
    from pytest_rageval.errors import UserError

    try:
        cases = load("r.jsonl", (LINE * 3).encode("utf-16")).cases
        said = " ".join(case.reason for case in cases if isinstance(case, InvalidRow))
    except UserError as error:
        said = str(error)
    assert said
    assert "dataset.encoding: utf-16" not in said


def test_undecodable_bytes_of_a_table_refuse_it_with_line_and_offset(refused: Refused) -> None:
    (problem,) = refused("r.csv", b"answer,references\nx,y\n\xe9,z\n")
    assert problem.startswith("r.csv:3: not utf-8: byte 0xe9 at offset 22")


def test_the_encoding_that_it_probably_is_is_named(refused: Refused) -> None:
    (problem,) = refused("r.csv", "answer,references\n北京,北京\n".encode("gb18030"))
    assert "set dataset.encoding: gb18030" in problem
    (problem,) = refused("r.csv", "answer,references\nx,x\n".encode("utf-16"))
    assert "set dataset.encoding: utf-16" in problem


@pytest.mark.parametrize("encoding", ["utf-9", "hex", "rot13", '"a\\0b"', "undefined", "''"])
@pytest.mark.parametrize("name", ["r.jsonl", "r.csv", "r.json"])
def test_an_encoding_that_is_none_is_refused(
    problems: Callable[..., list[str]], name: str, encoding: str
) -> None:
    """A18, E12: with the line of the key."""
    content = {"r.json": f"[{LINE}]", "r.csv": "answer,references\nx,x\n"}.get(name, LINE)
    text = f"name: s\nmetrics: [em]\ndataset:\n  path: {name}\n  encoding: {encoding}\n"
    (problem,) = problems(text, {name: content})
    assert problem.startswith("s.yaml:5: dataset.encoding: ")


@pytest.mark.parametrize("size", [1e9, 1e14, 1e300])
def test_a_row_of_any_length_cannot_be_allowed(write: Callable[..., Any], size: float) -> None:
    """Beyond what a computer can count, the value is refused with its line."""
    from load_scenario import load_scenario

    from pytest_rageval.errors import ScenarioError

    path = write(f"name: s\nmetrics: [em]\ndataset: {{path: r.csv, max_row_mb: {size!r}}}\n")
    with pytest.raises(ScenarioError, match=r":3: dataset\.max_row_mb: "):
        load_scenario(path)


def test_a_folder_or_a_file_that_went_away_is_the_users_problem(tmp_path: Any) -> None:
    from pytest_rageval.errors import ScenarioError
    from pytest_rageval.scenario.data_specs import DatasetSpec

    file = DataFile(tmp_path / "gone.csv", "gone.csv", DatasetSpec(path="gone.csv"))
    with (
        pytest.raises(ScenarioError, match=r"gone\.csv: cannot be read: No such file"),
        file.open(),
    ):
        pass


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"answer": "x", "references": ["x"], "answer": "y"}', "answer"),
        ('{"answer":"x","references":["x"],"answer":"y"}', "answer"),
        ('{"answer": "x", "references": ["x"], "answer" : "y"}', "answer"),
        # as many '":' as keys, for the last key has blanks before its colon
        ('{"answer":"x","answer":"y","references"\t:["x"]}', "answer"),
        ('{"answer":"x","answer":"y","references"  :["x"]}', "answer"),
        ('{"answer": "x", "references": ["x"], "contexts": [{"text": "a", "text": "b"}]}', "text"),
        ('{"answer": "x", "references": ["x"], "meta": {"a": {"b": 1, "b": 2}}}', "b"),
    ],
)
def test_a_key_that_is_there_twice_makes_the_row_invalid(
    invalid: Invalid, line: str, key: str
) -> None:
    """[R8] The last one won, and nobody was told."""
    found = invalid("r.jsonl", f"{LINE}{line}\n")
    assert found[2].reason == f"the key {key!r} is there twice in one object"


@pytest.mark.parametrize(
    "line",
    [
        '{"answer": "\\"answer\\": x", "references": ["x"]}',
        '{"answer": "x", "references": ["x"], "meta": {"answer": 1}}',
        '{"answer" : "x", "references" :["x"]}',
        '{"answer": "x", "references": ["x"], "contexts": [{"text": "a"}, {"text": "b"}]}',
        '{"answer": "x", "answer": "x", "meta": {"b": null, "a": [1], "a": [1], "b": null}}',
        '{"n": {"a": 1, "b": 2}, "references": ["x"], "n": {"b": 2, "a": 1}, "answer": "x"}',
    ],
)
def test_a_key_of_another_object_or_in_a_text_is_no_second_one(samples: Samples, line: str) -> None:
    """[R8] Nor is one with an equal value, of which nothing is lost."""
    (found,) = samples("r.jsonl", f"{line}\n")
    (listed, _) = samples("r.json", f"[{line}, {LINE}]")
    assert (found.answer, found.metadata) == (listed.answer, listed.metadata)
    assert found.metadata.get("meta") in (None, {"answer": 1}, {"a": [1], "b": None})


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ('{"answer": "x", "references": ["x"], "answer": "y"}', "answer"),
        ('{"answer": "x", "references": ["x"], "meta": {"a": [{"b": 1, "b": true}]}}', "b"),
        ('{"references": ["x"], "answer": {"a": 1, "a": 2}, "answer": "x"}', "answer"),
        ('{"answer": "x", "m": {"a": 1, "a": 2}, "m": {"a": 2}, "n": 1, "n": 1}', "m"),
    ],
)
def test_a_key_that_is_there_twice_makes_the_row_of_a_list_invalid(
    load: Load, row: str, key: str
) -> None:
    """[R8] As in JSON Lines, and the other rows are samples."""
    broken, sample = load("r.json", f"[{row}, {LINE}]").cases
    assert isinstance(broken, InvalidRow)
    assert (broken.row, broken.reason) == (1, f"the key {key!r} is there twice in one object")
    assert isinstance(sample, Sample)


def test_keys_of_a_response_that_are_there_twice(invalid: Invalid, refused: Refused) -> None:
    """[R8] In one of its rows, and in the response itself, whose rows they would choose."""
    row = '{"query": "q", "answer": "a", "references": ["x"], "score": 1, "answer": "b"}'
    found = invalid("r.json", f'{{"success": true, "data": [[{row}]]}}')
    assert found[1].reason == "the key 'answer' is there twice in one object"
    (problem,) = refused("r.json", '{"success": true, "data": [], "data": [[]]}')
    assert problem.endswith("the key 'data' is there twice in one object")


def test_a_response_of_db_gpt_is_a_data_set(samples: Callable[..., list[Sample]]) -> None:
    """[F7] It has a row for each metric; a sample is one row."""
    row = {"query": "q", "prediction": "a", "contexts": ["c"], "passing": True, "score": 1.0}
    groups = [[{**row, "metric_name": "A"}, {**row, "metric_name": "B"}], [{**row, "query": "r"}]]
    response = {"success": True, "err_code": None, "err_msg": None, "data": groups}
    found = samples("r.json", json.dumps(response), key_map={"answer": "prediction"})
    assert [(one.question, one.answer, one.contexts) for one in found] == [
        ("q", "a", ("c",)),
        ("r", "a", ("c",)),
    ]
    assert [dict(one.metadata) for one in found] == [{}, {}]


@pytest.mark.parametrize(
    "group",
    [
        [],
        [{"query": "q", "prediction": "right"}, {"query": "q", "prediction": "wrong"}],
        [{"query": "q", "prediction": "a"}, {"query": "p", "prediction": "a"}],
        [{"query": "q", "prediction": "a"}, 3],
    ],
)
def test_a_group_that_is_not_of_one_sample_is_an_invalid_row(
    group: list[Any], invalid: Invalid
) -> None:
    """[F7] A row of a response never vanishes behind the first one of its group."""
    data = [[{"query": "o", "prediction": "x"}], group]
    found = invalid("r.json", json.dumps({"success": True, "data": data}))
    assert list(found) == [2]


def test_a_response_that_failed_is_refused_with_its_reason(
    refused: Callable[..., list[str]],
) -> None:
    """[F7]"""
    response = {"success": False, "err_code": "E0", "err_msg": "no space", "data": None}
    assert refused("r.json", json.dumps(response)) == [
        "r.json: a response of DB-GPT that reports a failure: no space"
    ]
