"""U4: what separates the cells of a text table: seen in a header without doubt, or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.datasets.corpus import load_corpus
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import CorpusSpec

Load = Callable[..., Dataset]
Samples = Callable[..., list[Sample]]
Refused = Callable[..., list[str]]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_header_without_a_comma_is_read_by_the_only_other_mark(
    samples: Samples, mark: str
) -> None:
    """[U4] Decimal commas are text; a quoted cell may hold the mark and line breaks."""
    table = f'question;answer;references\nq;0,5;0,5\nq;"a{mark}b\nc, d";x\n'.replace(";", mark)
    found = samples("r.csv", table)
    assert [(row.answer, row.references, row.row) for row in found] == [
        ("0,5", ("0,5",), 1),
        (f"a{mark}b\nc, d", ("x",), 2),
    ]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ('"question, asked";answer', ["question, asked", "answer"]),
        ('"question\nasked";answer', ["question\nasked", "answer"]),
        ('"question; asked",answer', ["question; asked", "answer"]),
        ("a;b,answer", ["a;b", "answer"]),
        ("question, asked;answer", ["question", "asked;answer"]),
        ("a;b|answer", ["a;b|answer"]),
        ('"a;answer"', ["a;answer"]),
        ("answer", ["answer"]),
        (";answer;a", ["answer", "a"]),
    ],
)
def test_a_comma_counts_and_in_doubt_a_comma_is_meant(
    load: Load, header: str, columns: list[str]
) -> None:
    """[U4] Marks within quotes do not count; a header that two marks could separate stays whole."""
    mark = ";" if header[0] in '";' and '",' not in header else ","
    row = mark.join("x" * (len(columns) + header.startswith(";")))
    found = load("r.csv", f"{header}\n{row}\n", on_invalid="skip")
    assert list(found.columns) == columns
    assert len(found.cases) == 1


def test_a_comma_in_a_quoted_name_behind_another_mark_is_no_separator(load: Load) -> None:
    """[U4] A quote that does not begin a cell is text to a reader that separates by commas."""
    found = load("r.csv", 'question;"answer, final";note\nq;x;y\n')
    assert list(found.columns) == ["question", "answer, final", "note"]


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "sep=;\r"])
def test_the_first_line_of_excel_names_the_mark(load: Load, first: str) -> None:
    """[U4] It is no header; the lines are counted with it, also those of broken rows."""
    found = load("r.csv", f"{first}\nanswer;a,b\nx;y\nx\n")
    assert list(found.columns) == ["answer", "a,b"]
    sample, broken = found.cases
    assert isinstance(sample, Sample)
    assert (sample.answer, sample.row) == ("x", 1)
    assert isinstance(broken, InvalidRow)
    assert (broken.row, broken.line) == (2, 4)


def test_values_of_a_column_without_a_name_are_not_lost_in_silence(load: Load) -> None:
    """[U4] A blank one says nothing, nor does the row counter of a data frame."""
    found = load("r.csv", ",answer,references,,\n0,x,x,,\n1,y,y,a remark,\n2,z,z,b,\n")
    assert list(found.warnings) == ["r.csv:3: column 4 has no name, and is not read"]
    found = load("r.csv", ",answer,references,answer\n0.0,x,x,x\n-1,z,z,z\nq2,y,y,y\n")  # names
    assert list(found.warnings) == ["r.csv:4: column 1 has no name, and is not read"]


@pytest.mark.parametrize(
    "between", [["Berlin\tParis"], ["Berlin\tParis", ""], ["Berlin"], ["Berlin\tParis\t"]]
)
def test_rows_between_two_stray_quotes_are_rows(load: Load, between: list[str]) -> None:
    """[U4] Most tools write TSV without quoting: an answer that began with a quote held rows."""
    rows = ['"All for one\tx', *between, "the Rhine\tthe Seine", 'one for all"\tx', "y\ty"]
    first, *others = load("r.tsv", "answer\treferences\n" + "\n".join(rows) + "\n").cases
    assert isinstance(first, InvalidRow)
    assert first.reason == (
        "not a valid table row: a cell holds lines that look like rows, and ends on "
        f"line {4 + len(between)}; is the quote on line 2 closed?"
    )
    found = [case.answer for case in others if isinstance(case, Sample)]
    assert found[-3:] == ["the Rhine", 'one for all"', "y"]


def test_a_quote_that_closes_in_another_column_takes_no_rows_along(load: Load) -> None:
    """[U4] The record is too short; its lines are read as the rows that they are."""
    rows = ['a\t"x', "b\ty", 'c"\tz', "d\tw"]
    cases = load("r.tsv", "answer\treferences\n" + "\n".join(rows) + "\n").cases
    assert [type(case) for case in cases] == [InvalidRow, Sample, Sample, Sample]


@pytest.mark.parametrize(
    ("name", "mark", "cell", "others"),
    [
        ("r.csv", ",", "l1\nl2", [3]),
        ("r.csv", ",", "l1\nb, c\nl2", [3, 4]),
        ("r.csv", ",", "l1, a\nb, c, d\nl2", [3, 4]),
        ("r.csv", ",", "id,n,x\n1,n\nl2", [3, 4]),
        ("r.csv", ",", "l1\n1,2,3\nl2", [3, 4]),
        ("r.csv", ",", "l1\n", [3]),
        ("r.csv", ";", 'l1\n""b""; c; d; e\n\nl2', [3, 5]),
        ("r.tsv", "\t", "l1\nl2", [3]),
    ],
)
def test_a_cell_of_several_lines_in_a_row_that_is_too_long_makes_no_rows(
    load: Load, name: str, mark: str, cell: str, others: list[int]
) -> None:
    """[U4] A comma too many was enough: the last line of the cell was a sample of its own.

    A line of it may be a row that a stray quote took along, and is counted as one.
    """
    rows = [["question", "answer", "references"], ["q", f'"{cell}"', "Paris", " France"], ["x"] * 3]
    broken, *parts, kept = load(name, "\n".join(mark.join(row) for row in rows) + "\n").cases
    assert isinstance(broken, InvalidRow)
    lines = 1 + cell.count("\n")
    assert broken.reason == (
        f"not a valid table row: over {lines} lines, it has 4 cells where the header has 3, and "
        f"ends on line {1 + lines}; is the quote on line 2 closed?"
    )
    assert [part.line for part in parts if isinstance(part, InvalidRow)] == others
    assert len(parts) == len(others)
    assert isinstance(kept, Sample)
    assert kept.row == 2 + len(others)


@pytest.mark.parametrize(("name", "mark"), [("r.csv", ","), ("r.tsv", "\t")])
def test_a_record_whose_lines_are_all_too_short_for_rows_is_one_row(
    load: Load, name: str, mark: str
) -> None:
    """[U4]"""
    rows = [["id", "question", "answer", "references"], ["1", '"a\nb"', "x"], ["1", "x", "y", "z"]]
    broken, kept = load(name, "\n".join(mark.join(row) for row in rows) + "\n").cases
    assert isinstance(broken, InvalidRow)
    assert broken.reason == "has 3 cells where the header has 4 (lines 2 to 3)"
    assert isinstance(kept, Sample)


@pytest.mark.parametrize(
    ("name", "mark", "lines", "good"),
    [
        # The quote of the last line may close a cell: the line is counted, and no sample.
        ("r.csv", ",", ['1;Q;"a, b;b', '2;How large is 24";no;61', "3;Q;c;c"], [3]),
        ("r.csv", ",", ['1;Q;"a, b', '2;How large is 24";no;61', "3;Q;c;c"], [3]),
        ("r.csv", ",", ['1;Q;"a;b', "2;Q;c;d", '3;24";no;61', "4;Q;c;c"], [2, 4]),
        ("r.csv", ",", ['1;Q;"a;b', "2;Q;c", '3;24";no;61', "4;Q;c;c"], [4]),
        # A quote within a cell closes it with an error; one that opens a cell begins a row.
        ("r.csv", ",", ['1;Q;"a;b', '2;Q;the 7" one;d', "3;Q;c;c"], [3]),
        ("r.csv", ",", ['1;Q;"a;b', '2;Q;"c;d";e', "3;Q;c;c"], [2, 3]),
        ("r.csv", ",", ['1;Q;"a;b', '2;Q;"c', 'd";e', "3;Q;c;c"], [2, 3]),
        # Most tools write .tsv without quoting.
        ("r.tsv", "\t", ['1;Q;"a;b', '2;How large is 24";no;61', "3;Q;c;c"], [2, 3]),
        ("r.tsv", "\t", ['1;Q;"a', '2;How large is 24";no;61', "3;Q;c;c"], [3]),
    ],
)
def test_no_row_behind_a_stray_quote_vanishes(
    load: Load, name: str, mark: str, lines: list[str], good: list[int]
) -> None:
    """[U4] Each is a sample or an invalid row of its own, for the share of invalid rows."""
    text = "\n".join(["id;question;answer;references", *lines, ""]).replace(";", mark)
    cases = load(name, text).cases
    samples = [int(case.id) for case in cases if isinstance(case, Sample)]
    assert samples == good
    assert len(cases) == sum(line[0].isdigit() for line in lines)


def test_rows_between_two_stray_quotes_of_a_csv_are_rows(load: Load) -> None:
    """[U4] As the record has too many cells: no row is lost, or only that of the quotes."""
    rows = ['a,"x', "b,y", "", '"c, d",y', 'e",z', "f,w"]
    cases = load("r.csv", "answer,references\n" + "\n".join(rows) + "\n").cases
    assert isinstance(cases[0], InvalidRow)
    assert [case.answer for case in cases[1:] if isinstance(case, Sample)] == [
        *("b", "c, d", 'e"', "f"),
    ]


def test_a_table_in_a_cell_is_one_cell(load: Load) -> None:
    """[U4] As csv and pandas write it."""
    text = 'id\tanswer\treferences\nr1\t"a\tb\nc\td\ne\tf"\tx\n'
    (kept,) = load("s.tsv", text).cases
    assert isinstance(kept, Sample)
    assert kept.answer == "a\tb\nc\td\ne\tf"


def test_a_cell_of_several_lines_is_one(load: Load) -> None:
    """[U4]"""
    (kept,) = load("s.tsv", 'answer\treferences\n"a\nb"\tx\n').cases
    assert isinstance(kept, Sample)
    assert kept.answer == "a\nb"


def test_lines_and_rows_are_counted_as_with_commas(load: Load) -> None:
    """[U4] A header of two lines, a blank line, a row too short, a quote too many: none is lost."""
    body = 'x;x\n\ny\n"z" z;z\nw;w\n'
    table = f'"the\nquestion";answer;references\n{body.replace(";", ";q;")}'
    other = table.replace(";", ",")
    found, expected = load("r.csv", table), load("s.csv", other)
    assert [(case.row, type(case)) for case in found.cases] == [
        (case.row, type(case)) for case in expected.cases
    ]
    assert found.lines == expected.lines == [3, 5, 6, 7]


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("r.csv", ";"), ("r.tsv", ";"), ("r.csv", "tab"), ("r.csv", "\\t"), ("r.tsv", "^")],
)
def test_the_delimiter_may_be_named(samples: Samples, name: str, delimiter: str) -> None:
    """[U4] Also where the header alone would be read otherwise."""
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    table = "question, asked;answer;references\nq;x;x\n".replace(";", mark)
    (row,) = samples(name, table, delimiter=delimiter)
    assert (row.answer, row.metadata) == ("x", {"question, asked": "q"})


@pytest.mark.parametrize("delimiter", ["ab", '"', "\n", " ", "x", "7", ""])
def test_what_is_no_delimiter_is_refused(load: Load, delimiter: str) -> None:
    """[U4]"""
    with pytest.raises(ValueError, match="expected one character"):
        load("r.csv", "answer\nx\n", delimiter=delimiter)


def test_a_corpus_has_a_delimiter_too(tmp_path: Path) -> None:
    """[U4]"""
    (tmp_path / "c.csv").write_text("a, b^doc_name^text\n1^d^first\n")
    corpus = load_corpus(CorpusSpec(path="c.csv", delimiter="^"), tmp_path, "s.yaml:2")
    assert corpus.of_document("d") == ("first",)
    (tmp_path / "c.csv").write_text("doc_name;text\nd;first, second\n")
    assert load_corpus(CorpusSpec(path="c.csv"), tmp_path, "s.yaml:2").chunks == {
        "d": ("first, second",)
    }


PROPOSED = 'If ";" separates the cells, write dataset.delimiter: ";"'


def test_a_key_map_to_a_column_of_an_undivided_header(refused: Refused) -> None:
    """[U4]"""
    (problem,) = refused("r.tsv", "answer;gold\nx;x\n", key_map={"references": "gold"})
    assert problem.endswith(f"Known: answer;gold. {PROPOSED}")
    (problem,) = refused("r.csv", "a,b\nx,x\n", key_map={"references": "gold"})
    assert "delimiter" not in problem


@pytest.mark.parametrize(
    ("name", "header", "hint"),
    [
        ("r.csv", '"answer, gold"', 'take them away if "," separates'),
        ("r.tsv", '"answer\tgold"', 'take them away if "\\t" separates'),
        ("r.csv", '"answer, gold, x",y', ""),
    ],
)
def test_the_delimiter_in_use_is_not_proposed(
    refused: Refused, name: str, header: str, hint: str
) -> None:
    """[U4] In quotes it does not separate."""
    (problem,) = refused(
        name, f"{header}\nx{',x' * header.count(',y')}\n", key_map={"references": "gold"}
    )
    assert hint in problem
    assert "dataset.delimiter" not in problem


def test_rows_that_no_longer_fit_their_header_say_what_may_help(load: Load) -> None:
    """[U4] Decimal commas make every such row invalid, so no metric complains."""
    found = load("r.csv", "question, asked;answer;references\nq;0,5;0,5\n")
    (case,) = found.cases
    assert not isinstance(case, Sample)
    assert case.reason == f"has 3 cells where the header has 2. {PROPOSED}"


@pytest.mark.parametrize(
    ("header", "again", "row"),
    [
        ("answer,references", "answer,references", "x,x"),
        ("answer,references", '\ufeffanswer," references"', "x,x"),
        ("answer,references,answer", "answer,references,answer", "x,x,x"),
        (",answer,references", ",answer,references", "0,x,x"),
    ],
)
def test_a_header_that_is_there_again_is_no_sample(
    load: Load, header: str, again: str, row: str
) -> None:
    """As ``cat jan.csv feb.csv`` writes it: it scored what its names have in common."""
    first, broken, last = load("r.csv", f"{header}\n{row}\n{again}\n{row}\n").cases
    assert isinstance(broken, InvalidRow)
    assert broken.line == 3
    assert broken.reason == "repeats the header, as tables do that were joined; delete this line"
    assert isinstance(first, Sample)
    assert isinstance(last, Sample)


def test_a_row_that_holds_a_name_of_the_header_is_one(samples: Samples) -> None:
    (found,) = samples("r.csv", "answer,references\nanswer,reference\n")
    assert (found.answer, found.references) == ("answer", ("reference",))


@pytest.mark.parametrize(
    ("name", "table", "delimiter"),
    [
        ("r.tsv", "answer;references\nx;x\n", ";"),
        ("r.tsv", "answer,references\nx,x\n", ","),
        ("r.csv", "answer\treferences\ta|b\nx\tx\tx\n", "\\t"),
    ],
)
def test_a_metric_that_lacks_its_columns_gets_the_line_to_write(
    problems: Callable[..., list[str]],
    plan: Callable[..., object],
    name: str,
    table: str,
    delimiter: str,
) -> None:
    """[U4] And whoever writes it is not told to write it once more."""
    scenario = "name: s\nmetrics: [em]\ndataset: {path: %s}\n"
    first, *_ = problems(scenario % name, {name: table})
    line = f'delimiter: "{delimiter}"'
    assert first.endswith(f"write dataset.{line}")
    plan(scenario % f"{name}, {line}", {name: table})
    again, *_ = problems(scenario % f"{name}, {line}", {name: '"answer;references"\nx\n'})
    assert f"dataset.{line}" not in again


CODE = {
    "prose over lines": 'q;a;"one\ntwo\nthree"\n',
    "indented code": 'q;a;"f:\n;;x\n;;y"\n',
    "code with marks": 'q;a;"int x; int y;\nx = 1; y = 2;\nreturn;"\n',
    "a table of two columns": 'q;a;"x;y\n1;2"\n',
    "a table with a blank cell": 'q;a;"see\nx;;z"\n',
    "a quote within a text": 'q;a "b;c\nr;d;e" f\n',
    "quotes in one line": 'q;"a";"b ""c"" d"\n',
    "lists in prose": 'q;a;"one\ntwo, three, four"\n',
}


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
@pytest.mark.parametrize("rows", CODE.values(), ids=CODE)
def test_texts_over_lines_in_a_csv_are_no_rows(load: Load, rows: str, mark: str) -> None:
    found = load("r.csv", f"question;answer;references\n{rows}s;a;b\n".replace(";", mark))
    assert found.warnings == ()
    assert [case.question for case in found.cases if isinstance(case, Sample)][-1] == "s"


@pytest.mark.parametrize(
    "cell",
    [
        "第一\n甲,乙,丙",
        "1\n2,500,000",
        "x\n12 Main St,Springfield,IL",
        "x\n12 Main St,Springfield,IL\n5 High St,Salem,MA",
        "see\nfoo,1,2\nbar,3,4",
        "q\nq2,r",
    ],
)
@pytest.mark.parametrize("key", ["q1", "1-a", "Where is it?", "在哪里？"])
def test_parts_of_a_text_between_commas_are_no_rows(load: Load, key: str, cell: str) -> None:
    """A row begins as those around it do; two lines are too few to tell."""
    found = load("r.csv", f'question,answer,references\n{key},a,"{cell}"\ns,a,b\n')
    assert (found.warnings, len(found.cases)) == ((), 2)


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ('q1,"a1\nq2,a2\nq3,a3"\n', 1),
        ('How long?,"a1\nIs there a fee?,a2\nWho?,a3"\n', 1),
        ('How much?,"Prices:\nMo,5\nTu,6\nWe,7"\n', 0),
        ('q1,"Dear Sir,\nwell, yes\nso, no"\n', 0),
        ('q1,"12 Main St\n5 High St,Salem\n"\n', 0),
    ],
)
def test_rows_in_a_cell_of_two_columns_are_a_warning(load: Load, rows: str, count: int) -> None:
    assert len(load("r.csv", f"question,answer\n{rows}s,a\n").warnings) == count


@pytest.mark.parametrize("mark", [";", "\t", ","])
@pytest.mark.parametrize("blank", ["r2", ""])
def test_rows_between_two_quotes_of_texts_in_a_csv_are_a_warning(
    load: Load, mark: str, blank: str
) -> None:
    """They may be a table in a cell, so that the row counts; the first one is told."""
    rows = f'q1;a;"r1\nq2;b;{blank}\nq;a;b\nq3;c;r3"\nq4;d;r4\nq5;e;"r5\nq6;f;r6"\n'
    found = load("r.csv", f"question;answer;references\n{rows}".replace(";", mark))
    assert [case.question for case in found.cases] == ["q1", "q4", "q5"]
    assert found.warnings == (
        "r.csv:2: a cell holds lines that look like rows, and ends on line 5; if they are rows, "
        "close the quote on line 2, or write one that belongs to a text twice",
    )
