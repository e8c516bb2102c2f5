"""A18: what a cell of a workbook shows, and what it is read as."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Samples = Callable[..., list[Sample]]


def workbook(*rows: Sequence[Any], **formats: str) -> bytes:
    """Return a workbook with these rows; ``formats`` are number formats of cells, by place."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cells in rows:
        book.active.append(list(cells))
    for place, number_format in formats.items():
        book.active[place].number_format = number_format
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def typed(content: bytes, *cells: str) -> bytes:
    """Return a workbook whose cells at these places are texts, as typed with a quote before."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(content))
    for place in cells:
        book.active[place].data_type = "s"
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


HEADER = ["question", "answer", "references", "note"]


# Errors: openpyxl writes such a text as an error.

ERROR = "such a cell is read as blank; mend its formula, or format it as text if it is one"


@pytest.mark.parametrize(
    "row",
    [
        ["q", "# a heading", "#1", "n"],
        ["q", "the cell shows #N/A", "#N/A, as in Excel", "n"],
        ["q", "a", "N/A", "n"],
        ["q", "a", None, "n"],
        ["q", "a", "b", "n", "#REF!"],
    ],
)
def test_a_row_without_errors_in_its_table_is_as_it_is(load: Load, row: list[Any]) -> None:
    found = load("r.xlsx", workbook(HEADER, [], row))
    (one,) = found.cases
    assert isinstance(one, Sample)
    references = None if row[2] is None else (row[2],)
    assert (one.question, one.answer, one.references) == (row[0], row[1], references)
    assert found.warnings == ()


def test_a_text_that_is_typed_like_an_error_is_a_text(samples: Samples) -> None:
    content = typed(workbook(HEADER, ["q", "#N/A", "#N/A", "n"]), "B2", "C2")
    (found,) = samples("r.xlsx", content)
    assert (found.answer, found.references) == ("#N/A", ("#N/A",))


@pytest.mark.parametrize(
    "code", ["#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!"]
)
def test_an_error_is_no_value_and_the_first_is_told(load: Load, code: str) -> None:
    """Two lookups that found nothing were an answer and its equal reference."""
    rows = [["q", "a", "b", 1], ["q", code, code, code], [code, "a", "b", code]]
    found = load("r.xlsx", workbook(HEADER, *rows))
    texts = [
        (one.question, one.answer, one.references, one.metadata.get("note"))
        for one in found.cases
        if isinstance(one, Sample)
    ]
    assert texts == [
        ("q", "a", ("b",), 1),
        ("q", None, None, None),
        (None, "a", ("b",), None),
    ]
    assert found.warnings == (f"r.xlsx:3: the cell B3 has the error {code}: {ERROR}",)


@pytest.mark.parametrize("column", ["must_not_include", "must_include", "skip", "xfail", "source"])
@pytest.mark.parametrize("merge_rows", [None, "id"])
def test_an_error_in_place_of_a_check_a_mark_or_the_document_makes_the_row_invalid(
    load: Load, column: str, merge_rows: str | None
) -> None:
    """Read as blank, the row would be judged by no check, or with another weight, and green."""
    header = ["id", "answer", "references", column]
    rows = [["1", "a", "a", None], ["2", "b", "b", None], ["2", "b", "b", "#N/A"]]
    content = workbook(header, *(rows if merge_rows else [rows[0], rows[2]]))
    first, second = load("r.xlsx", content, merge_rows=merge_rows).cases
    assert isinstance(first, Sample)
    assert isinstance(second, InvalidRow)
    assert second.reason == f"the cell D{4 if merge_rows else 3} has the error #N/A"


def test_a_row_of_errors_alone_is_no_blank_line(load: Load) -> None:
    """Its lookups found nothing: it is a row without a question or an answer."""
    rows = [["q", "a", "b", 1], ["#N/A", "#N/A", "#N/A"], [None, None, "#N/A"], [], [None] * 4]
    found = load("r.xlsx", workbook(HEADER, *rows, [None, None, None, None, "#N/A"]))
    assert [case.row for case in found.cases] == [1, 2, 3]
    assert len(found.warnings) == 1


# Numbers and times that are shown otherwise than they are kept.

TIME = datetime.time


@pytest.mark.parametrize(
    ("answer", "reference", "form", "expected"),
    [
        # Numbers on both sides, whatever they are shown as, are compared as numbers.
        (0.85, 0.85, "0%", ("0.85", "0.85")),
        ("0.85", 0.85, "0%", ("0.85", "0.85")),
        ("0.84", 0.85, "0%", ("0.84", "0.85")),
        ("85", 0.85, "0%", ("85", "0.85")),
        ("0.85 or 0.9", 0.85, "0%", ("0.85 or 0.9", "0.85")),
        ("eighty-five in a hundred", 0.85, "0%", ("eighty-five in a hundred", "0.85")),
        # A sign that only stands there.
        ("85 %", 85, '0.0" %"', ("85 %", "85")),
        ("85%", 85, r"0\%", ("85%", "85")),
        ("85%", 0.85, "General", ("85%", "0.85")),
        ("85%", 0.85, "0.00", ("85%", "0.85")),
        # TRUE, a text, and nothing in a cell for percents.
        ("85%", True, "0%", ("85%", "True")),
        ("85%", "0.85", "0%", ("85%", "0.85")),
        ("85%", None, "0%", ("85%", None)),
        # Times with seconds, in twelve hours, in days; durations; dates.
        ("12:30:00", TIME(12, 30), "h:mm", ("12:30:00", "12:30:00")),
        ("12:30", TIME(12, 30), "hh:mm:ss", ("12:30", "12:30:00")),
        ("12:30", TIME(12, 30, 7), "h:mm", ("12:30", "12:30:07")),
        ("1:30 PM", TIME(13, 30), "h:mm AM/PM", ("1:30 PM", "13:30:00")),
        ("12:30", TIME(0, 12, 30), "mm:ss", ("12:30", "00:12:30")),
        ("26:00", datetime.timedelta(hours=26), "[h]:mm:ss", ("26:00", "26:00:00")),
        ("26:00", datetime.timedelta(hours=26), "[h]:mm", ("26:00", "26:00:00")),
        ("85%", datetime.date(2024, 5, 6), "yyyy-mm-dd", ("85%", "2024-05-06")),
        (
            "12:30",
            datetime.datetime(2024, 5, 6, 12, 30),
            "yyyy-mm-dd h:mm",
            ("12:30", "2024-05-06T12:30:00"),
        ),
    ],
    ids=str,
)
def test_a_number_or_time_is_what_the_cell_holds(
    load: Load, answer: Any, reference: Any, form: str, expected: tuple[Any, Any]
) -> None:
    content = workbook(HEADER, ["q", answer, reference], B2="General", C2=form)
    found = load("r.xlsx", content)
    (one,) = found.cases
    assert isinstance(one, Sample)
    assert (one.answer, one.references and one.references[0]) == expected
    assert found.warnings == ()


def test_numbers_that_are_both_shown_as_percents_are_equal_as_numbers(samples: Samples) -> None:
    content = workbook(
        HEADER, ["q", 0.333333, 1 / 3], ["q", 0.5, 0.5], B2="0%", C2="0%", B3="0%", C3="0.0%"
    )
    found = samples("r.xlsx", content)
    assert [(one.answer, one.references) for one in found] == [
        ("0.333333", ("0.3333333333333333",)),  # shown as 33% both, and not equal
        ("0.5", ("0.5",)),
    ]


def test_columns_that_are_no_texts_keep_their_numbers(samples: Samples) -> None:
    content = workbook(
        ["answer", "references", "confidence", "weight", "score", "at"],
        ["85%", "85%", 0.85, 0.5, 1, TIME(12, 30)],
        **dict.fromkeys(("C2", "D2", "E2"), "0%"),
        F2="h:mm",
    )
    (found,) = samples("r.xlsx", content)
    at = {"confidence": 0.85, "weight": 0.5, "score": 1, "at": "12:30:00"}
    assert found.metadata == at


def without_styles(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(packed, "w") as made:
        for member in source.infolist():
            text = source.read(member)
            if "_rels/workbook" in member.filename or "Content_Types" in member.filename:
                text = re.sub(rb"<(?:Relationship|Override) [^>]*styles[^>]*/>", b"", text)
            if "styles" not in member.filename:
                made.writestr(member, text)
    return packed.getvalue()


def test_a_workbook_without_styles_has_numbers(samples: Samples) -> None:
    """Some programs write none."""
    content = without_styles(workbook(HEADER, ["q", "85%", 0.85, 3]))
    (found,) = samples("r.xlsx", content)
    assert (found.references, found.metadata) == (("0.85",), {"note": 3})


@pytest.mark.parametrize(
    ("answer", "reference", "form", "kind"),
    [
        ("85%", 0.85, "0%", "percent"),
        ("12.5%", 0.125, "0.00%", "percent"),
        ("-5%", -0.05, "0%;[Red]-0%", "percent"),
        ("85 %", 0.85, "0.00 %", "percent"),
        ("The fee is 85%, since May.", 0.85, "0%", "percent"),
        ("12:30", TIME(12, 30), "h:mm", "time"),
        ("9:05", TIME(9, 5), "h:mm;@", "time"),
        ("at 0:30", TIME(0, 30), "[$-409]h:mm", "time"),
    ],
    ids=str,
)
def test_a_percent_or_time_beside_a_text_that_has_one_is_told_once(
    load: Load, answer: str, reference: Any, form: str, kind: str
) -> None:
    """The right answer is compared with 0.85, and 12:30:00."""
    row = ["q", answer, reference, 0.85]
    found = load("r.xlsx", workbook(HEADER, row, row, C2=form, C3=form, D2="0%"))
    assert found.warnings == (
        f"r.xlsx:2: the cell C2 shows a {kind} and is read as {reference}; if answers say it as it "
        "is shown, format the column as text and type it anew",
    )
    names = ["Frage", "bot", "Expected Output"]
    content = workbook(names, ["q", reference, answer], B2=form)
    (warning,) = load("s.xlsx", content, key_map={"question": "Frage", "answer": "bot"}).warnings
    assert warning.startswith(f"s.xlsx:2: the cell B2 shows a {kind}")


def test_a_percent_without_an_answer_beside_it_is_told(load: Load) -> None:
    """A target may give 85% or 0.85."""
    found = load("r.xlsx", workbook(["question", "references"], ["q", "x"], ["q", 0.85], B3="0%"))
    (warning,) = found.warnings
    assert warning.startswith("r.xlsx:3: the cell B3 shows a percent and is read as 0.85;")


DAY = datetime.date(2024, 3, 1)


@pytest.mark.parametrize(
    ("check", "form", "said"),
    [
        (0.125, "0.0%", "percent and is read as 0.125;"),
        (DAY, "d mmm yyyy", "date and is read as 2024-03-01;"),
        (DAY, "mm-dd-yy", "date and is read as 2024-03-01;"),
        (datetime.datetime(2024, 3, 1, 9), "yyyy-mm-dd h:mm", "date and is read as 2024-03-01T09"),
        (TIME(9, 5), "h:mm", "time and is read as 09:05:00;"),
        (1250, '"$"#,##0.00', "number and is read as 1250;"),
        # as it is shown, or a part of that
        (DAY, "yyyy-mm-dd", ""),
        (DAY, r"[$-409]yyyy\-mm\-dd;@", ""),
        (datetime.datetime(2024, 3, 1), "yyyy-mm-dd h:mm:ss", ""),
        (50, '"$"#,##0', ""),
        (1250, "0", ""),
        ("12.5%", "0%", ""),
    ],
    ids=str,
)
def test_a_check_that_is_read_otherwise_than_it_is_shown_is_told(
    load: Load, check: Any, form: str, said: str
) -> None:
    """No answer holds 0.125 where the sheet says 12.5%, so what must not be said passes."""
    names = ["question", "answer", "must_not_include"]
    rows = [["q", "a", None], ["q", "a", check]]
    found = load("r.xlsx", workbook(names, *rows, C3=form)).warnings
    assert [f"r.xlsx:3: the cell C3 shows a {said}" in text for text in found] == [True] * bool(
        said
    )
    names[2] = "must_satisfy"  # is judged
    assert load("s.xlsx", workbook(names, *rows, C3=form)).warnings == ()


# Headers


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["question", "answer"], ["question", "answer 2"]),
        (["question", "answer"], ["question", None]),
        (["question", "answer"], ["Question", "Answer"]),
        (["question", "answer", None, "note"], ["question", "answer", "x", "other"]),
        (["question"], ["question"]),  # of one word, it may be one
        (["question", "answer"], ["answer", "question"]),
        ([None, "question", "answer"], [0, "question", "a"]),
    ],
)
def test_a_row_that_has_a_name_of_the_header_is_a_sample(
    samples: Samples, header: list[Any], row: list[Any]
) -> None:
    found = samples("r.xlsx", workbook(header, row))
    assert [one.question for one in found] == [row[header.index("question")]]


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (["question", "answer"], ["question", "answer"]),
        (["question", "answer"], [" question ", "answer"]),
        (["question", "answer", "answer"], ["question", "answer", "answer"]),
        ([None, "question", "answer"], [None, "question", "answer"]),
        (["question", "answer", 2023], ["question", "answer", 2023]),
    ],
)
def test_a_header_amid_the_rows_is_an_invalid_row(
    load: Load, header: list[Any], row: list[Any]
) -> None:
    """As in CSV: sheets were joined."""
    first = [f"{name}" if name else 1 for name in header]
    at = header.index("question")
    first[at:] = ["q", *["a"] * (len(header) - at - 1)]
    found = load("r.xlsx", workbook(header, first, row, first)).cases
    assert [isinstance(case, InvalidRow) for case in found] == [False, True, False]
    assert isinstance(found[1], InvalidRow)
    reason = "repeats the header, as tables do that were joined; delete this line"
    assert (found[1].reason, found[1].line) == (reason, 3)


def test_a_header_that_is_the_number_0_names_its_column(samples: Samples) -> None:
    """A data frame without names has 0, 1, 2."""
    content = workbook([0, 1, "answer"], ["q", "r", "a"])
    (found,) = samples("r.xlsx", content, key_map={"question": "0", "references": "1"})
    assert (found.question, found.references, found.answer) == ("q", ("r",), "a")


@pytest.mark.parametrize("zero", [0, None])
def test_names_in_a_second_line_below_numbers_are_the_header(samples: Samples, zero: Any) -> None:
    """A data frame that was read without its names, and saved."""
    rows = [[None, zero, 1, 2], [1, "question", "answer", "references"], [2, "q", "a", "r"]]
    (found,) = samples("r.xlsx", workbook(*rows))
    assert (found.question, found.answer, found.references) == ("q", "a", ("r",))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ([None, "question", "answer"], [0, "q", "a"]),  # the row counter of a data frame
        (["question", "answer", None, "note"], ["q", "a", None, "n"]),
        (["question", "answer", None, "note"], ["q", "a", "  ", "n"]),
        (["question", "answer"], ["q", "a", None, "a legend, apart from the table"]),
        (["question", "answer", None], ["q", "a", "n"]),
        (["question", "answer", "answer"], ["q", "a", "a"]),
    ],
)
def test_what_stands_beside_the_table_is_no_lost_column(
    load: Load, header: list[Any], row: list[Any]
) -> None:
    found = load("r.xlsx", workbook(header, row))
    assert [type(case) for case in found.cases] == [Sample]
    assert found.warnings == ()


def test_a_column_without_a_name_within_the_table_is_a_warning(load: Load) -> None:
    """As in CSV."""
    header = ["question", None, "answer", None, "note"]
    rows = [["q", None, "a"], ["q", "r", "a"], ["q", "r", "a", 0, "n"]]
    found = load("r.xlsx", workbook(header, *rows))
    assert found.warnings == (
        "r.xlsx:3: column 2 has no name, and is not read",
        "r.xlsx:4: column 4 has no name, and is not read",
    )
