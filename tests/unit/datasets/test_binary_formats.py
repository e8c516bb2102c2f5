"""A18: Excel workbooks and Parquet files."""

from __future__ import annotations

import datetime
import io
import re
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Samples = Callable[..., list[Sample]]
Refused = Callable[..., list[str]]


def workbook(
    *rows: Sequence[Any], sheet: str = "Sheet", more: bool = False, above: int = 0
) -> bytes:
    """Return a workbook; with ``more``, a sheet of one row, below lines ``above`` its header."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = sheet
    for cells in rows:
        book.active.append(list(cells))
    if more:
        other = book.create_sheet("Other")
        for _ in range(above):
            other.append(["Questions of May"])
        other.append(["answer", "references"])
        other.append(["other", "x"])
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def parquet(**columns: Any) -> bytes:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    packed = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), packed)
    return packed.getvalue()


# Workbooks


def test_a_hidden_sheet_is_not_read(samples: Samples) -> None:
    """A18: the first that is seen, as in the program that wrote it."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook(["answer"], ["hidden"], more=True)))
    book.worksheets[0].sheet_state = "hidden"
    book.active = 1
    packed = io.BytesIO()
    book.save(packed)
    assert [sample.answer for sample in samples("r.xlsx", packed.getvalue())] == ["other"]


def test_an_escaped_character_is_that_character(samples: Samples) -> None:
    """A18: Excel writes a carriage return as _x000D_, and such a text with _x005F_ before it."""
    content = workbook(["answer", "references"], ["a_x000D_\nb", "_x005F_x000D_"])
    (sample,) = samples("r.xlsx", content)
    assert (sample.answer, sample.references) == ("a\r\nb", ("_x000D_",))
    (sample,) = samples("s.xlsx", workbook(["answer"], ["_xD83D__xDE00_"]))
    assert sample.answer == "😀"


def test_a_workbook_has_a_header_and_rows(samples: Samples) -> None:
    """A18, A19: a blank cell is missing, a blank row is none."""
    content = workbook(
        ["id", "answer", "references", "level", "note"],
        ["a", "x", "y", 3, None],
        [None, None, None, None, None],
        ["b", "z", '["v", "w"]', 1.5, "  "],
    )
    found = samples("r.xlsx", content)
    assert [(one.id, one.answer, one.references) for one in found] == [
        ("a", "x", ("y",)),
        ("b", "z", ("v", "w")),
    ]
    assert [dict(one.metadata) for one in found] == [{"level": 3}, {"level": 1.5}]
    assert [one.row for one in found] == [1, 2]


def test_dates_and_times_are_iso_text(samples: Samples) -> None:
    content = workbook(
        ["answer", "references", "day", "at", "took"],
        [
            "x",
            "y",
            datetime.datetime(2024, 3, 1, 10, 0),
            datetime.time(12, 30),
            datetime.timedelta(1),
        ],
    )
    (found,) = samples("r.xlsx", content)
    assert found.metadata["day"] == "2024-03-01T10:00:00"
    assert found.metadata["at"] == "12:30:00"
    assert isinstance(found.metadata["took"], str)


def test_durations_are_what_the_workbook_shows(samples: Samples) -> None:
    """M8: [h]:mm:ss, which has no days; a time of day has the same form."""
    spans = {
        "26:00:00": datetime.timedelta(days=1, hours=2),
        "00:01:30.500000": datetime.timedelta(seconds=90.5),
        "-01:30:00": -datetime.timedelta(minutes=90),
    }
    names = [f"took {at}" for at in range(len(spans))]
    content = workbook(["answer", "references", *names], ["x", "y", *spans.values()])
    (found,) = samples("r.xlsx", content)
    assert [found.metadata[name] for name in names] == list(spans)


def test_a_date_without_a_time_has_none(samples: Samples) -> None:
    """F4: a workbook keeps it as midnight."""
    days = [datetime.date(2024, 5, 6), datetime.datetime(2024, 5, 6, 0, 0, 1)]
    content = workbook(["answer", "references", "day", "at"], ["x", "y", *days])
    assert dict(samples("r.xlsx", content)[0].metadata) == {
        "day": "2024-05-06",
        "at": "2024-05-06T00:00:01",
    }


def merged(*ranges: str) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(
        io.BytesIO(workbook(["question", "answer", None, "note"], *[["q", "x", None, "n"]] * 4))
    )
    for cells in ranges:
        book.active.merge_cells(cells)
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def test_merged_cells_say_that_they_are(invalid: Callable[..., dict[int, InvalidRow]]) -> None:
    """F4: all but the first one are blank; the rows that this is about are invalid."""
    found = invalid("r.xlsx", merged("A2:A4", "B5:C5"))
    assert {row: case.reason.partition(";")[0] for row, case in found.items()} == {
        2: "the cells A2:A4 are merged",
        3: "the cells A2:A4 are merged",
        4: "the cells B5:C5 are merged",
    }
    assert found[2].reason.endswith("unmerge them, and fill in each one")


def test_merged_cells_beside_the_table_are_nothing_to_it(samples: Samples) -> None:
    assert len(samples("r.xlsx", merged("F1:H9", "C2:C4"))) == 4


def test_a_header_with_merged_cells_is_refused(refused: Refused) -> None:
    """F4."""
    (problem,) = refused("r.xlsx", merged("B1:C1"))
    assert problem.startswith("r.xlsx: the header's cells B1:C1 are merged; only the first")


def test_a_formula_without_a_saved_value_says_so(
    load: Load, invalid: Callable[..., dict[int, InvalidRow]]
) -> None:
    """M8: programs write formulas, and only a spreadsheet program their values."""
    content = workbook(
        ["answer", "references", "note"],
        ["=A9", "x", "n"],
        ["y", "y", "n"],
        ["=A9", '=CONCATENATE("<a>", B3)', "=C9"],  # blank, if one does not look
    )
    found = invalid("r.xlsx", content)
    assert {row: case.reason.partition(";")[0] for row, case in found.items()} == {
        1: "the cell A2 is a formula",
        3: "the cell A4 is a formula",
    }
    assert found[1].reason.endswith(
        "the file does not hold its value: open it in a spreadsheet program and save it there, or "
        "export CSV"
    )
    assert len(load("r.xlsx", content).cases) == 3


def with_cell(content: bytes, cell: str) -> bytes:
    """Return a workbook with another cell A2."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(packed, "w") as made:
        for member in source.infolist():
            text = source.read(member).decode()
            made.writestr(member, re.sub('<c r="A2".*?</c>', cell, text))
    return packed.getvalue()


@pytest.mark.parametrize(
    ("cell", "answer"),
    [
        ('<c r="A2" t="str"><f>A9</f><v>thirty</v></c>', "thirty"),
        ('<c r="A2"><f>A9</f><v>30</v></c>', "30"),
        ('<c r="A2" t="str"><f>A9</f><v></v></c>', None),  # how an empty text is saved
    ],
)
def test_a_formula_with_its_value_is_the_value(
    samples: Samples, cell: str, answer: str | None
) -> None:
    """M8."""
    content = workbook(["answer", "references"], ["=A9", "x"])
    assert samples("r.xlsx", with_cell(content, cell))[0].answer == answer


def test_formulas_beside_the_table_are_nothing_to_it(samples: Samples, refused: Refused) -> None:
    """M8: in the header, they may be the name of a column."""
    content = workbook(["answer", "references"], ["x", "y", "=1+1"])
    assert samples("r.xlsx", content)[0].answer == "x"
    (problem,) = refused("r.xlsx", workbook(["answer", "references", "=A1"], ["x", "y", "z"]))
    assert problem.startswith("r.xlsx: the header's cell C1 is a formula; the file does not hold")


def test_a_sheet_is_chosen_by_its_name(samples: Samples, refused: Refused) -> None:
    content = workbook(["answer", "references"], ["first", "x"], sheet="Main", more=True)
    assert samples("r.xlsx", content)[0].answer == "first"
    assert samples("r.xlsx", content, sheet="Other")[0].answer == "other"
    (problem,) = refused("r.xlsx", content, sheet="Othr")
    assert problem == "r.xlsx: unknown sheet 'Othr'. Did you mean 'Other'? Known: Main, Other"


@pytest.mark.parametrize(
    ("header", "keys", "above", "said"),
    [
        (["answer", "references"], {}, 0, True),
        (["references", "note", "answer"], {}, 5, True),
        (["Answer ", "References"], {}, 1, True),
        (["answer", "note"], {}, 0, False),  # of another table
        (["answer", "references"], {}, 6, False),
        (["answer", "references"], {"sheet": "Main"}, 0, False),
    ],
)
def test_rows_on_another_sheet_are_told(
    load: Load, header: list[str], keys: dict[str, Any], above: int, said: bool
) -> None:
    """They are often those of another month; a named sheet is the one that is meant."""
    row = [*"xyz"[: len(header)]]
    content = workbook(header, row, sheet="Main", more=True, above=above)
    warnings = (
        "r.xlsx: only the sheet 'Main' is read; 'Other' has rows below such names, too: "
        "to read another, write dataset.sheet: NAME",
    )
    assert load("r.xlsx", content, **keys).warnings == (warnings if said else ())


def test_a_sheet_without_header_is_refused(refused: Refused) -> None:
    for content in (workbook([None, None], ["x", "y"]), workbook(), workbook([" ", None], ["x"])):
        (problem,) = refused("r.xlsx", content)
        assert problem.startswith("r.xlsx")
        assert "header" in problem


def test_a_header_that_names_a_column_twice_is_refused(refused: Refused) -> None:
    """As in a CSV file: whichever is taken, the other is lost in silence."""
    content = workbook(["answer", "references", "references"], ["x", "y", "z"])
    assert "names a column twice: references" in refused("r.xlsx", content)[0]


def test_column_names_are_stripped(samples: Samples) -> None:
    assert samples("r.xlsx", workbook([" answer ", "references"], ["x", "y"]))[0].answer == "x"


def test_a_row_that_is_too_long_is_an_invalid_row(load: Load) -> None:
    content = workbook(["answer", "references"], ["y" * 3000, "x"], ["z", "w"])
    first, second = load("r.xlsx", content, max_row_mb=0.001).cases
    assert isinstance(first, InvalidRow)
    assert (first.reason, first.line) == ("longer than 0.001 MB (dataset.max_row_mb)", 2)
    assert isinstance(second, Sample)


def test_a_file_that_is_no_workbook_is_refused(refused: Refused) -> None:
    pytest.importorskip("openpyxl")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "x")
    whole = workbook(["answer", "references"], ["x", "y"])
    for content in (b"", b"answer,references\n", packed.getvalue(), whole[: len(whole) // 2]):
        (problem,) = refused("r.xlsx", content)
        assert problem.startswith("r.xlsx: not a readable workbook")


@pytest.mark.parametrize(
    "part",
    [
        "xl/workbook.xml",
        "xl/worksheets/sheet1.xml",
        "xl/styles.xml",
        "xl/_rels/workbook.xml.rels",
        "docProps/core.xml",
        "[Content_Types].xml",
    ],
)
def test_a_workbook_with_a_damaged_part_is_refused(refused: Refused, part: str) -> None:
    whole = workbook(["answer", "references"], ["x", "y"])
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(packed, "w") as target:
        assert part in source.namelist()
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, content[: len(content) // 2] if name == part else content)
    (problem,) = refused("r.xlsx", packed.getvalue())
    assert problem.startswith("r.xlsx: not a readable workbook")


def test_an_encrypted_part_is_refused(refused: Refused) -> None:
    """X7: bit 0 of the flags says so, here of each part's entry in the directory at the end."""
    whole = bytearray(workbook(["answer", "references"], ["x", "y"]))
    for entry in re.finditer(rb"PK\x01\x02", bytes(whole)):
        whole[entry.start() + 8] |= 1
    (problem,) = refused("r.xlsx", bytes(whole))
    assert problem.startswith("r.xlsx: not a readable workbook")


# Parquet


def test_a_parquet_file_has_lists_and_structures(samples: Samples) -> None:
    """A18, A19: null and NaN are missing."""
    content = parquet(
        answer=["x", "z"],
        references=[["y"], ["v", "w"]],
        contexts=[[{"text": "c"}], None],
        score=[0.5, float("nan")],
        meta=[{"a": 1}, {"a": None}],
        day=[datetime.date(2024, 3, 1), None],
    )
    found = samples("r.parquet", content)
    assert [one.references for one in found] == [("y",), ("v", "w")]
    assert [one.contexts for one in found] == [("c",), None]
    assert [dict(one.metadata) for one in found] == [
        {"score": 0.5, "meta": {"a": 1}, "day": "2024-03-01"},
        {"meta": {"a": None}},
    ]


def test_rows_of_later_batches_keep_their_numbers(samples: Samples) -> None:
    content = parquet(answer=["x"] * 2500, references=["y"] * 2500)
    found = samples("r.parquet", content)
    assert [one.row for one in found] == list(range(1, 2501))
    assert found[2000].id == "sample-2001"


def test_binary_columns_are_text(samples: Samples) -> None:
    """Other systems write text so; str() of bytes would be the answer "b'x'"."""
    (found,) = samples("r.parquet", parquet(answer=[b"caf\xc3\xa9"], references=[[b"y"]]))
    assert (found.answer, found.references) == ("café", ("y",))


def test_a_file_that_is_no_parquet_is_refused(refused: Refused) -> None:
    whole = parquet(answer=["x"] * 100, references=["y"] * 100)
    for content in (b"", b"PAR1", whole[: len(whole) // 2], b"PAR1" + b"x" * 50 + b"PAR1"):
        (problem,) = refused("r.parquet", content)
        assert problem.startswith("r.parquet: not a readable Parquet file: ")


def test_a_parquet_file_with_damaged_pages_is_refused(refused: Refused) -> None:
    whole = parquet(answer=["abc"] * 100, references=["abc"] * 100)
    (problem,) = refused("r.parquet", whole[:20] + b"\xff" * 10 + whole[30:])
    assert problem.startswith("r.parquet: not a readable Parquet file: ")


@pytest.mark.parametrize(("name", "package"), [("r.xlsx", "openpyxl"), ("r.parquet", "pyarrow")])
def test_without_the_package_the_command_that_installs_it_is_named(
    load: Load, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    from pytest_rageval import extras
    from pytest_rageval.errors import MissingExtraError

    monkeypatch.setattr(extras, "installed", lambda module: module != package)
    with pytest.raises(MissingExtraError, match=rf"reading {name} needs the package '{package}'"):
        load(name, b"x")


def test_grades_come_as_structures_and_as_maps(samples: Samples) -> None:
    """A18, D4: a structure has every key in every row, null where nothing was judged."""
    pyarrow = pytest.importorskip("pyarrow")
    structures = parquet(answer=["x", "y"], reference_ids=[{"a": 2, "b": None}, {"b": 1}])
    grades = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    pairs = pyarrow.array([[("a", 2)], [("b", 1), ("c", 0)], None], type=grades)
    maps = parquet(answer=["x", "y", "z"], reference_ids=pairs)
    assert [one.reference_ids for one in samples("s.parquet", structures)] == [{"a": 2}, {"b": 1}]
    found = [one.reference_ids for one in samples("m.parquet", maps)]
    assert found == [{"a": 2}, {"b": 1, "c": 0}, None]


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_a_cell_may_spell_a_list_and_what_is_left_of_one_is_invalid(load: Load, kind: str) -> None:
    """W1: in a text column of Parquet too, as a data frame of a CSV file was saved."""
    cells = ["['a' 'b']", "['a', 'b", "[1] a"]
    if kind == "xlsx":
        content = workbook(["answer", "references"], *(["x", cell] for cell in cells))
    else:
        content = parquet(answer=["x"] * 3, references=cells)
    first, second, third = load(f"r.{kind}", content).cases
    assert isinstance(first, Sample)
    assert first.references == ("a", "b")
    assert isinstance(second, InvalidRow)
    assert "cannot be read as one" in second.reason
    assert isinstance(third, Sample)
    assert third.references == ("[1] a",)


@pytest.mark.full
def test_no_damage_of_a_parquet_file_ends_the_process(tmp_path: Path) -> None:
    """X7: pyarrow ends it where it is asked for the sizes of a column whose type is damaged."""
    raw = parquet(answer=["x"])
    (tmp_path / "r.parquet").write_bytes(raw)
    script = """
        from pathlib import Path
        from pytest_rageval.datasets.load import load_dataset
        from pytest_rageval.errors import ScenarioError
        from pytest_rageval.scenario.data_specs import DatasetSpec
        raw, ended = Path("r.parquet").read_bytes(), set()
        for at in range(len(raw)):
            Path("r.parquet").write_bytes(raw[:at] + bytes([10]) + raw[at + 1:])
            try:
                load_dataset(DatasetSpec(path="r.parquet"), Path(), "s.yaml:1")
                ended.add("read")
            except ScenarioError:
                ended.add("refused")
        print(sorted(ended))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['read', 'refused']\n", "")


def test_blank_answers_of_a_workbook_and_of_parquet_may_be_empty_ones(samples: Samples) -> None:
    """G9: null is how Parquet has a blank cell."""
    content = workbook(["references", "answer"], ["x", None], ["y"])
    found = samples("r.xlsx", content, blank_answer="empty")
    assert [one.answer for one in found] == ["", ""]
    content = parquet(answer=[None, "a"], references=["x", "y"])
    found = samples("r.parquet", content, blank_answer="empty")
    assert [one.answer for one in found] == ["", "a"]
