"""D5: TREC qrels and run files, what is read of them and what is refused, line by line."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.datasets.formats import trec_files
from pytest_rageval.datasets.formats.trec_files import Qrels, read_qrels, read_run
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.data_specs import DatasetSpec

Run = dict[str, tuple[str, ...]]
ReadQrels = Callable[..., Qrels]
ReadRun = Callable[..., Run]
Refused = Callable[..., list[str]]

RUN_COLUMNS = "expected 6 columns (query Q0 document rank score tag)"
QRELS_COLUMNS = "expected 4 columns (query iteration document grade)"
TABS = "an id with blanks needs tabs between all columns"


def data_file(folder: Path, name: str, content: str | bytes, **keys: Any) -> DataFile:
    raw = content if isinstance(content, bytes) else content.encode("utf-8")
    (folder / name).write_bytes(raw)
    return DataFile(folder / name, name, DatasetSpec(path=name, **keys))


@pytest.fixture(params=["one block", "a block for each line", "each line by itself"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways a line may be read: among others, as a block of its own, and outside of blocks."""
    if request.param == "a block for each line":
        monkeypatch.setattr(trec_files, "_BLOCK_BYTES", 1)
    elif request.param == "each line by itself":
        monkeypatch.setattr(trec_files, "_has_odd_lines", lambda text: True)
    return str(request.param)


@pytest.fixture
def qrels(tmp_path: Path, way: str) -> ReadQrels:
    """Return a function that writes a qrels file and reads it."""
    return lambda content, name="q.txt": read_qrels(data_file(tmp_path, name, content))


@pytest.fixture
def run(tmp_path: Path, way: str) -> ReadRun:
    """Return a function that writes a run file and reads it."""

    def read(content: str | bytes, name: str = "r.txt", only: set[str] | None = None) -> Run:
        return read_run(data_file(tmp_path, name, content), only)

    return read


@pytest.fixture
def refused_qrels(tmp_path: Path, way: str) -> Refused:
    """Return a function that writes a qrels file and returns what is wrong with it."""
    return lambda content, name="q.txt": problems(read_qrels, data_file(tmp_path, name, content))


@pytest.fixture
def refused_run(tmp_path: Path, way: str) -> Refused:
    """Return a function that writes a run file and returns what is wrong with it."""
    return lambda content, name="r.txt": problems(read_run, data_file(tmp_path, name, content))


def problems(read: Callable[[DataFile], object], file: DataFile) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        read(file)
    return [str(problem) for problem in caught.value.problems]


# What is read


def test_qrels_are_grades_by_query_and_document_in_file_order(qrels: ReadQrels) -> None:
    found = qrels("q2 0 d9 1\nq2 0 d1 0\nq1 0 d1 3\nq2 0 d5 2\n")
    assert found == {"q2": {"d9": 1, "d1": 0, "d5": 2}, "q1": {"d1": 3}}
    assert list(found) == ["q2", "q1"]
    assert list(found["q2"]) == ["d9", "d1", "d5"]
    assert all(type(grade) is int for grade in found["q2"].values())


@pytest.mark.parametrize(
    ("written", "grade"),
    [
        ("1", 1),
        ("1.0", 1),
        ("-1", -1),
        ("-2.0", -2),
        ("+3", 3),
        ("0", 0),
        ("1000", 1000),
    ],
)
def test_a_grade_is_a_whole_number(qrels: ReadQrels, written: str, grade: int) -> None:
    found = qrels(f"q1 0 d1 {written}\nq1 0 d2 0\n")
    assert found == {"q1": {"d1": grade, "d2": 0}}
    assert type(found["q1"]["d1"]) is int


def test_a_run_is_ranked_by_score_and_not_by_the_rank_column(run: ReadRun) -> None:
    assert run("q1 Q0 d1 1 1.0 r\nq1 Q0 d2 2 9.0 r\nq1 Q0 d3 3 5 r\n") == {"q1": ("d2", "d3", "d1")}


def test_a_run_in_order_stays_in_order(run: ReadRun) -> None:
    lines = "q2 Q0 b 1 3 r\nq2 Q0 a 2 2 r\nq2 Q0 c 3 1 r\nq1 Q0 c 1 1 r\n"
    found = run(lines)
    assert found == {"q2": ("b", "a", "c"), "q1": ("c",)}
    assert list(found) == ["q2", "q1"]


def test_equal_scores_are_ranked_by_document_id_descending(run: ReadRun) -> None:
    """As trec_eval does; 0.0 and -0.0 are equal too."""
    zero = "".join(f"q1 Q0 {document} 1 0 r\n" for document in "acb")
    assert run(zero) == {"q1": ("c", "b", "a")}
    assert run("q1 Q0 a 1 0.0 r\nq1 Q0 b 2 -0.0 r\n") == {"q1": ("b", "a")}
    assert run("q1 Q0 d10 1 1.0 r\nq1 Q0 d9 2 1.00 r\nq1 Q0 e 3 0.5 r\n") == {
        "q1": ("d9", "d10", "e")
    }


def test_ids_compare_by_their_bytes(run: ReadRun) -> None:
    """U+1F600 is 4 bytes from 0xf0, U+FF21 3 bytes from 0xef; in UTF-16 it is the other way."""
    lines = "".join(f"q1 Q0 {name} 1 1 r\n" for name in ("z", "\uff21", "\U0001f600", "文", "Z"))
    assert run(lines) == {"q1": ("\U0001f600", "\uff21", "文", "z", "Z")}


def test_scores_are_doubles(run: ReadRun) -> None:
    """1.00000001 and 1.0 are the same single-precision number, and would be a tie."""
    assert run("q1 Q0 d1 1 1.00000001 r\nq1 Q0 d2 2 1.0 r\n") == {"q1": ("d1", "d2")}


def test_scores_in_any_notation_of_a_number(run: ReadRun) -> None:
    scores = ["1e-3", "1.0E+2", "-inf", "inf", "-5", "+7.", ".5", "1e999"]
    lines = "".join(f"q1 Q0 d{number} 1 {score} r\n" for number, score in enumerate(scores))
    # Descending: inf twice (d7, d3), 100, 7, 0.5, 0.001, -5, -inf
    assert run(lines) == {"q1": ("d7", "d3", "d1", "d5", "d6", "d0", "d4", "d2")}


@pytest.mark.parametrize("rank", ["0", "1", "-1", "1.0", "1e3"])
def test_any_number_is_a_rank(run: ReadRun, rank: str) -> None:
    assert run(f"q1 Q0 d1 {rank} 1.0 r\n") == {"q1": ("d1",)}


def test_lines_of_a_query_need_not_be_adjacent(qrels: ReadQrels, run: ReadRun) -> None:
    assert run("q1 Q0 a 1 1 r\nq2 Q0 a 1 1 r\nq1 Q0 b 1 2 r\nq2 Q0 b 1 0 r\n") == {
        "q1": ("b", "a"),
        "q2": ("a", "b"),
    }
    assert qrels("q1 0 a 1\nq2 0 a 0\nq1 0 b 2\n") == {"q1": {"a": 1, "b": 2}, "q2": {"a": 0}}


def test_queries_that_are_not_asked_for_are_named_but_empty(run: ReadRun) -> None:
    lines = "q1 Q0 a 1 1 r\nq2 Q0 a 1 1 r\nq1 Q0 b 1 2 r\nq3 Q0 b 1 0 r\n"
    assert run(lines, only={"q1", "q9"}) == {"q1": ("b", "a"), "q2": (), "q3": ()}
    assert run(lines, only=set()) == {"q1": (), "q2": (), "q3": ()}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("gap", [" ", "\t", "   ", " \t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_line_ends_and_byte_order_mark_make_no_difference(
    qrels: ReadQrels, run: ReadRun, gap: str, end: str, mark: str
) -> None:
    judged = "q1 0 d1 1\nq1 0 d2 0\n"
    retrieved = "q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 r\n"
    assert qrels(mark + judged.replace(" ", gap).replace("\n", end)) == {"q1": {"d1": 1, "d2": 0}}
    assert run(mark + retrieved.replace(" ", gap).replace("\n", end)) == {"q1": ("d1", "d2")}
    assert qrels(mark + judged.strip().replace(" ", gap)) == {"q1": {"d1": 1, "d2": 0}}


def test_white_space_around_a_line_is_no_column(qrels: ReadQrels, run: ReadRun) -> None:
    assert qrels("  q1 0 d1 1  \n\tq1 0 d2 0\t\n") == {"q1": {"d1": 1, "d2": 0}}
    assert run(" q1 Q0 d1 1 3.0 r \n") == {"q1": ("d1",)}
    assert run("q1 \t Q0\t d1 \t1\t 3.0\tr \n") == {"q1": ("d1",)}


def test_blank_lines_and_comments_say_nothing(qrels: ReadQrels, run: ReadRun) -> None:
    """Also a comment that looks like a line, right behind the byte order mark."""
    assert qrels("\ufeff# q0 0 d1 1\n\nq1\t0\td1\t1\r\n\r\n \t\n#q1 0 d1 5\nq1 0 d2 0\n\n") == {
        "q1": {"d1": 1, "d2": 0}
    }
    assert run("#q0 Q0 d1 1 3.0 r\nq1 Q0 d1 1 3.0 r\n\n#q2 Q0 d1 1 3.0 r\n# end") == {"q1": ("d1",)}


def test_a_number_sign_inside_a_line_is_no_comment(qrels: ReadQrels, run: ReadRun) -> None:
    assert qrels("q#1 0 #d1 1\nq1 0 d#2 0\n") == {"q#1": {"#d1": 1}, "q1": {"d#2": 0}}
    assert run("q1 Q0 d#2 1 3.0 #r\n") == {"q1": ("d#2",)}


@pytest.mark.parametrize("tail", ["x", "extra words", "\tfar\tmore", "# checked"])
def test_what_stands_behind_the_last_column_is_not_read(
    qrels: ReadQrels, run: ReadRun, tail: str
) -> None:
    """On all lines or on some."""
    assert qrels(f"q1 0 d1 1 {tail}\nq1 0 d2 0 {tail}\n") == {"q1": {"d1": 1, "d2": 0}}
    assert qrels(f"q1 0 d1 1 {tail}\nq1 0 d2 0\n") == {"q1": {"d1": 1, "d2": 0}}
    assert run(f"q1 Q0 d1 1 3.0 r {tail}\nq1 Q0 d2 1 2.0 r\n") == {"q1": ("d1", "d2")}
    assert run(f"q1 Q0 d1 1 3.0 r {tail}\nq1 Q0 d2 1 2.0 r {tail}\n") == {"q1": ("d1", "d2")}


def test_ids_may_hold_blanks_where_tabs_separate(qrels: ReadQrels, run: ReadRun) -> None:
    assert qrels("q1\t0\tmy doc.pdf\t1\nwho is it\t0\td 2 \t0\ttail\n") == {
        "q1": {"my doc.pdf": 1},
        "who is it": {"d 2": 0},
    }
    assert run("q 1\tQ0\tmy doc 7\t1\t3.0\tmy run\nq 1\tQ0\tmy doc 8\t2\t4.0\tmy run\r\n") == {
        "q 1": ("my doc 8", "my doc 7")
    }


def test_lines_with_tabs_and_lines_with_blanks_may_alternate(run: ReadRun) -> None:
    lines = "q1 Q0 d1 1 3.0 r\nq1\tQ0\tmy doc\t2\t2.0\tr\nq1 Q0\td3 3\t1.0 r\n"
    assert run(lines) == {"q1": ("d1", "my doc", "d3")}


def test_columns_that_are_not_used_may_be_empty_between_tabs(
    qrels: ReadQrels, run: ReadRun
) -> None:
    """Splitting at white space would shift the columns, here to others that make sense."""
    assert qrels("q1\t\td1\t3\t4\t5\n") == {"q1": {"d1": 3}}
    assert run("q1\t\td1\t1\t3\t5\t7\n") == {"q1": ("d1",)}
    assert run("q1\tQ0\tmy doc\t1\t3.0\t\n") == {"q1": ("my doc",)}


@pytest.mark.parametrize(
    "name", ["文档\u3000一", "a\u00a0b", "a\u2028b", "a\x85b", "\x1cd", "x" * 300, "é", "e\u0301"]
)
def test_only_ascii_blanks_end_an_id(qrels: ReadQrels, run: ReadRun, name: str) -> None:
    """The ideographic and the no-break space belong to the id; ids are taken as they are."""
    assert qrels(f"{name} 0 {name} 1\n") == {name: {name: 1}}
    assert run(f"{name} Q0 {name} 1 1.0 {name}\n") == {name: (name,)}


def test_gzip_is_unpacked(qrels: ReadQrels, run: ReadRun, refused_run: Refused) -> None:
    lines = "".join(f"q1 Q0 d{n} {n} {-n} r\n" for n in range(1, 100))
    packed = gzip.compress(lines.encode())
    assert run(packed, "r.txt.gz") == {"q1": tuple(f"d{n}" for n in range(1, 100))}
    assert qrels(gzip.compress(b"q1 0 d1 1\n"), "q.gz") == {"q1": {"d1": 1}}
    (problem,) = refused_run(packed[:-9], "r.gz")
    assert problem.startswith("r.gz: a damaged or truncated gzip file: ")


@pytest.mark.full
def test_a_file_of_many_blocks_is_read_whole(tmp_path: Path) -> None:
    """Against a bare loop; 60,000 lines are 1.5 MB, many blocks, with odd ones among them."""
    chance = random.Random(5)
    expected: dict[str, list[tuple[float, str]]] = {}
    lines = []
    for number in range(60_000):
        query, document = f"q{number // 700}", f"文{chance.randrange(10**9)}"
        score = chance.randrange(50) / 10
        expected.setdefault(query, []).append((score, document))
        lines.append(f"{query} Q0 {document} {number} {score} tag\n")
    lines[31_000] += "# a comment\n\n"
    lines[41_000] = lines[41_000].replace("tag", "tag of three words")
    file = data_file(tmp_path, "r.txt", "".join(lines))
    assert file.path.stat().st_size > 20 * trec_files._BLOCK_BYTES
    assert read_run(file) == {
        query: tuple(document for _, document in sorted(pairs, reverse=True))
        for query, pairs in expected.items()
    }


def test_documents_rank_as_in_trec_eval(tmp_path: Path) -> None:
    """A document that alone is relevant has the reciprocal rank 1 / its place in the order."""
    ir_measures = pytest.importorskip("ir_measures")
    chance = random.Random(3)
    names = [f"{letter}{number}" for letter in "aZ文é" for number in range(12)]
    chance.shuffle(names)
    scores = {name: chance.choice([-1.0, 0.0, 0.5, 2.0, 1e3]) for name in names}
    lines = "".join(f"q Q0 {name} 1 {score} r\n" for name, score in scores.items())
    (order,) = read_run(data_file(tmp_path, "r.txt", lines)).values()
    qrels = {name: {name: 1} for name in names}
    figures = ir_measures.iter_calc([ir_measures.RR], qrels, dict.fromkeys(names, scores))
    places = {figure.query_id: round(1 / figure.value) for figure in figures}
    assert {name: place for place, name in enumerate(order, start=1)} == places


# What is refused


@pytest.mark.parametrize("content", ["", "\n\r\n \n", "# nothing\n#\n", "\ufeff", "\ufeff\n#"])
def test_a_file_without_an_entry_is_refused(
    refused_qrels: Refused, refused_run: Refused, content: str
) -> None:
    (problem,) = refused_qrels(content)
    assert problem == (
        "q.txt: empty: expected lines with the columns query iteration document grade"
    )
    (problem,) = refused_run(content)
    assert problem == (
        "r.txt: empty: expected lines with the columns query Q0 document rank score tag"
    )


def test_too_few_columns(refused_qrels: Refused, refused_run: Refused) -> None:
    assert refused_qrels("q1 0 d1 1\nq1 d2 1\n") == [
        f"q.txt:2: {QRELS_COLUMNS}, found 3: 'q1 d2 1'"
    ]
    assert refused_run("\n#\nq1 Q0 d1 1 3.0\n") == [
        f"r.txt:3: {RUN_COLUMNS}, found 5: 'q1 Q0 d1 1 3.0'"
    ]
    assert refused_run("word\n") == [f"r.txt:1: {RUN_COLUMNS}, found 1: 'word'"]


def test_columns_that_a_neighbour_makes_up_for_are_missed(
    refused_qrels: Refused, refused_run: Refused
) -> None:
    """5 and 7 columns are 12, and what shifts is a number; 3 and 2 are 6 with the line end."""
    found = refused_run("q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0\nq1 Q0 d3 3 1 7 x\n")
    assert found == [f"r.txt:2: {RUN_COLUMNS}, found 5: 'q1 Q0 d2 2 2.0'"]
    found = refused_run("q1 Q0 d1 1 3.0 r\nq1 Q0 d2\n2 1\n")
    assert found == [
        f"r.txt:2: {RUN_COLUMNS}, found 3: 'q1 Q0 d2'",
        f"r.txt:3: {RUN_COLUMNS}, found 2: '2 1'",
    ]
    found = refused_qrels("q1 0 d1 1\nq1 0 d2\nq1 0 d3 1 1\n")
    assert found == [f"q.txt:2: {QRELS_COLUMNS}, found 3: 'q1 0 d2'"]


def test_trailing_words_that_look_like_a_line_are_none(qrels: ReadQrels, run: ReadRun) -> None:
    """Together with one word for the line end that is missing, they are as wide as a line."""
    assert run("q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 r end q1 Q0 d3 3 1.0 r\n") == {"q1": ("d1", "d2")}
    assert qrels("q1 0 d1 1\nq1 0 d2 2 end q1 0 d3 3\n") == {"q1": {"d1": 1, "d2": 2}}


@pytest.mark.parametrize(
    "grade",
    ["1.5", "high", "nan", "inf", "1_0", "0x1", "٣", "9" * 400, "9" * 5000, "2147483648", "-1e10"],
)
def test_a_grade_that_is_no_whole_number(refused_qrels: Refused, grade: str) -> None:
    (problem,) = refused_qrels(f"q1 0 d1 1\nq1 0 d2 {grade}\n")
    assert problem.startswith(f"q.txt:2: grade '{grade[:70]}")
    assert problem.endswith("is not a whole number up to 1000")
    assert len(problem) < 200


@pytest.mark.parametrize("score", ["high", "nan", "-NaN", "1_0", "0x1p3", "1,5", "٣"])
def test_a_score_that_is_no_number(refused_run: Refused, score: str) -> None:
    assert refused_run(f"q1 Q0 d1 1 {score} r\nq1 Q0 d2 2 2.0 r\n") == [
        f"r.txt:1: score '{score}' is not a number (12.5, 1e-3, inf ...)"
    ]


def test_nan_is_found_between_infinities(run: ReadRun, refused_run: Refused) -> None:
    """Infinities of both signs add up to NaN, and are in order nevertheless."""
    both = "q1 Q0 d1 1 -inf r\nq1 Q0 d2 2 inf r\n"
    assert run(both) == {"q1": ("d2", "d1")}
    assert refused_run(both + "q1 Q0 d3 3 nan r\n") == [
        "r.txt:3: score 'nan' is not a number (12.5, 1e-3, inf ...)"
    ]


def test_an_id_with_blanks_needs_tabs(refused_qrels: Refused, refused_run: Refused) -> None:
    assert refused_run("q1 Q0 my doc.pdf 1 3.0 r\n") == [
        f"r.txt:1: rank 'doc.pdf' is not a number; {TABS}"
    ]
    assert refused_run("q1 Q0 my doc.pdf 1 3.0\n") == [
        f"r.txt:1: rank 'doc.pdf' is not a number; {TABS}"
    ]
    assert refused_qrels("q1 0 my doc.pdf 1\n") == [
        f"q.txt:1: grade 'doc.pdf' is not a whole number up to 1000; {TABS}"
    ]


@pytest.mark.parametrize("line", ["q1\tQ0\tintro 3\t1\t0.9", "q 1\tQ0\td1\t1\t0.9"])
def test_a_run_with_tabs_without_its_tag_is_not_split_at_blanks(
    refused_run: Refused, line: str
) -> None:
    """It was document "intro" of rank 3 and score 1."""
    assert refused_run(f"{line}\n") == [
        f"r.txt:1: 5 columns between tabs, and an id with a blank: {line!r}; add the tag of the "
        "run behind a tab"
    ]


def test_a_blank_in_an_id_that_shows_as_a_duplicate_only(
    refused_qrels: Refused, refused_run: Refused
) -> None:
    """Of "part 1" and "part 2" white space makes twice "part", with the grades 1 and 2."""
    assert refused_qrels("q1 0 part 1 0\nq1 0 part 2 1\n") == [
        f"q.txt:2: document 'part' is judged twice for query 'q1', first on line 1; {TABS}"
    ]
    assert refused_run("q1 Q0 part 1 1 9.0 r\nq1 Q0 part 2 2 8.0 r\n") == [
        f"r.txt:2: document 'part' is retrieved twice for query 'q1', first on line 1; {TABS}"
    ]


@pytest.mark.parametrize("line", ["\t0\td1\t1", "q1\t0\t\t1", "q1\t0\t \t1"])
def test_an_empty_id_between_tabs(refused_qrels: Refused, line: str) -> None:
    assert refused_qrels(f"q1\t0\td0\t1\n{line}\n") == [
        f"q.txt:2: an empty query or document id: {line!r}"
    ]


def test_an_empty_number_between_tabs(refused_qrels: Refused, refused_run: Refused) -> None:
    line = "q1\tQ0\td1\t1\t3.0\tr\n"
    (problem,) = refused_run(f"{line}q1\tQ0\td2\t\t3.0\tr\n")
    assert problem.startswith("r.txt:2: rank '' is not a number")
    (problem,) = refused_run(f"{line}q1\tQ0\td2\t1\t\tr\n")
    assert problem.startswith("r.txt:2: score '' is not a number")
    (problem,) = refused_qrels("q1\t0\td1\t\n")
    assert problem.startswith("q.txt:1: grade '' is not a whole number")


def test_a_document_twice_in_a_query(refused_qrels: Refused, refused_run: Refused) -> None:
    """Also with other lines between; a document may be in many queries."""
    assert refused_qrels("q1 0 d1 1\nq2 0 d1 1\nq1 0 d1 0\n") == [
        "q.txt:3: document 'd1' is judged twice for query 'q1', first on line 1"
    ]
    found = refused_run("#\nq1 Q0 d1 1 3 r\nq1 Q0 d1 2 2 r\nq2 Q0 d1 1 1 r\nq1 Q0 d1 3 1 r\n")
    assert found == [
        "r.txt:3: document 'd1' is retrieved twice for query 'q1', first on line 2",
        "r.txt:5: document 'd1' is retrieved twice for query 'q1', first on line 2",
    ]
    found = refused_qrels("q1 0 d1 1\nq2 0 d1 1\nq3 0 d1 1\nq2 0 d1 1\nq1 0 d1 0\n")
    assert found == [
        "q.txt:4: document 'd1' is judged twice for query 'q2', first on line 2",
        "q.txt:5: document 'd1' is judged twice for query 'q1', first on line 1",
    ]


def test_queries_not_asked_for_are_checked_as_well(tmp_path: Path, way: str) -> None:
    lines = "q1 Q0 a 1 1 r\nq2 Q0 a 1 high r\nq3 Q0 a r\n"
    file = data_file(tmp_path, "r.txt", lines)
    assert problems(lambda file: read_run(file, {"q1"}), file) == [
        "r.txt:2: score 'high' is not a number (12.5, 1e-3, inf ...)",
        f"r.txt:3: {RUN_COLUMNS}, found 4: 'q3 Q0 a r'; is this a qrels file, and not a run?",
    ]


def test_the_first_problems_are_listed_by_line_and_the_others_counted(refused_run: Refused) -> None:
    """7 bad scores (lines 2, 4 ... 14), and the same document on lines 1, 3 ... 13: 6 too many."""
    found = refused_run("q1 Q0 d1 1 3 r\nq1 Q0 d2 1 high r\n" * 7)
    assert [problem.split(": ")[0] for problem in found] == [
        "r.txt:2",
        "r.txt:3",
        "r.txt:4",
        "r.txt:5",
        "r.txt:6",
        "r.txt",
    ]
    assert found[1] == "r.txt:3: document 'd1' is retrieved twice for query 'q1', first on line 1"
    assert found[-1] == "r.txt: and 8 more"


def test_five_problems_are_all_that_is_said(refused_run: Refused) -> None:
    assert len(refused_run("q1 Q0 d1 1 high r\n" * 5)) == 5
    assert refused_run("x\n" * 1234)[-1] == "r.txt: and 1,229 more"


def test_a_qrels_file_given_as_run_is_guessed(refused_run: Refused) -> None:
    (problem,) = refused_run("q1 0 d1 1\n")
    assert problem == (
        f"r.txt:1: {RUN_COLUMNS}, found 4: 'q1 0 d1 1'; is this a qrels file, and not a run?"
    )


def test_a_run_given_as_qrels_is_guessed(refused_qrels: Refused) -> None:
    """Its ranks would be read as grades."""
    for zero in ("Q0", "q0"):
        assert refused_qrels(f"q1 {zero} d1 1 3.0 r\n") == [
            f"q.txt:1: is this a run, and not a qrels file? 'q1 {zero} d1 1 3.0 r'"
        ]
    for first in (0, 1):
        lines = f"q1 0 d1 {first} 9.5 r\n# end\nq1 0 d2 {first + 1} 3.0 r\nq2 0 d1 {first} 2.0 r\n"
        (problem,) = refused_qrels(lines)
        assert problem.startswith("q.txt: is this a run, and not a qrels file? The fourth column")


@pytest.mark.parametrize(
    "lines",
    [
        "q1 0 d1 1 0.9 ann\nq1 0 d2 1 0.8 ann\n",
        "q1 0 d1 1 9 r\nq1 0 d2 2 8 r\n",
        "q1 0 d1 1\nq1 0 d2 2\n",
        "q1 0 d1 1 0.9 ann\n",
        "q1 0 d1 1 0.9 ann\nq1 0 d2 2 0.8\n",
    ],
)
def test_judgements_with_more_columns_are_no_run(qrels: ReadQrels, lines: str) -> None:
    assert "d1" in qrels(lines)["q1"]


def test_qrels_in_three_columns_with_a_blank_in_an_id_are_refused(
    qrels: ReadQrels, refused_qrels: Refused
) -> None:
    """Its first word would be the iteration."""
    for line in ("q1\tRefund Policy.pdf\t1", "my query\td1\t1"):
        (problem,) = refused_qrels(f"{line}\n")
        assert "3 columns between tabs, and an id with a blank" in problem
        assert "add a 0 between tabs as the second column" in problem
    assert qrels("q1 0\td1\t1\nq1\t0 d2\t0\n") == {"q1": {"d1": 1, "d2": 0}}


def test_qrels_with_q0_and_a_note_are_no_run(qrels: ReadQrels) -> None:
    assert qrels("q1 Q0 d1 1 seen twice\nq1 Q0 d2 1\n") == {"q1": {"d1": 1, "d2": 1}}


def test_bytes_that_are_no_utf_8(refused_qrels: Refused, refused_run: Refused) -> None:
    """The offset counts from the start of the file, a byte order mark (3 bytes) included."""
    lines = b"q1 0 d1 1\r\nq1 0 \xc4\xe3 1\n"
    assert refused_qrels(lines) == [
        "q.txt:2: not UTF-8: byte 0xc4 at offset 16; save the file as UTF-8"
    ]
    (problem,) = refused_qrels(b"\xef\xbb\xbf" + lines)
    assert "byte 0xc4 at offset 19;" in problem
    (problem,) = refused_run(b"q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 \xff\n")
    assert problem == "r.txt:2: not UTF-8: byte 0xff at offset 32; save the file as UTF-8"


@pytest.mark.full
def test_an_offset_counts_from_the_start_of_the_file_in_later_blocks(tmp_path: Path) -> None:
    """100,000 lines of 10 bytes stand before the last one."""
    file = data_file(tmp_path, "q.txt", b"#23456789\n" * 100_000 + b"q1 0 \xff 1\n")
    assert problems(read_qrels, file) == [
        "q.txt:100001: not UTF-8: byte 0xff at offset 1000005; save the file as UTF-8"
    ]


def test_utf_16_is_not_read_as_something_else(refused_qrels: Refused) -> None:
    found = refused_qrels("q1 0 d1 1\n".encode("utf-16"))
    assert found[0] == "q.txt:1: not UTF-8: byte 0xff at offset 0; save the file as UTF-8"
    found = refused_qrels("q1 0 d1 1".encode("utf-16-le"))
    assert found == ["q.txt:1: a null byte at offset 1; if the file is UTF-16, save it as UTF-8"]


def test_null_bytes(refused_qrels: Refused, refused_run: Refused) -> None:
    """Null bytes must not pass for anything: not for a column, not for the end of a line."""
    (problem,) = refused_run(b"q1 Q0 d1 1 3.0 r\nq1 Q0 d2 2 2.0 r \0 q1 Q0 d3 3 1.0 r\n")
    assert problem.startswith("r.txt:2: a null byte at offset 34; ")
    (problem,) = refused_qrels(b"q1 0 d\x001 1\n")
    assert problem.startswith("q.txt:1: a null byte at offset 6; ")
    assert len(refused_qrels(b"\0" * 1000)) == 1


def test_line_ends_of_old_macs(refused_qrels: Refused) -> None:
    """All behind the first entry would be trailing words."""
    assert refused_qrels("q1 0 d1 1\rq1 0 d2 0\r") == [
        "q.txt:1: a carriage return inside the line; save the file with the line end \\n"
    ]


def test_a_line_of_a_megabyte(qrels: ReadQrels, refused_run: Refused) -> None:
    name = "x" * 2**20
    assert qrels(f"q1 0 {name} 1\nq1 0 d2 0\n") == {"q1": {name: 1, "d2": 0}}
    found = refused_run(f"{name}\nq1 Q0 d1 1 high r\n")
    assert [len(problem) < 300 for problem in found] == [True, True]
    assert found[0].startswith(f"r.txt:1: {RUN_COLUMNS}, found 1: 'xxx")
    assert found[1].startswith("r.txt:2: score 'high'")


def test_a_line_longer_than_a_row_may_be_is_not_read(tmp_path: Path) -> None:
    """The limit is 1 MB here; what is left of a block before the line counts to it."""
    content = "q1 0 d1 1\n\nq1 0 " + "x" * 2**21 + " 1\n"
    file = data_file(tmp_path, "q.txt", content, max_row_mb=1)
    assert problems(read_qrels, file) == ["q.txt:3: longer than 1 MB (dataset.max_row_mb)"]
    assert len(read_qrels(data_file(tmp_path, "q.txt", content, max_row_mb=2.1))["q1"]) == 2


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    file = DataFile(tmp_path / "none.txt", "none.txt", DatasetSpec(path="none.txt"))
    assert problems(read_qrels, file) == ["none.txt: cannot be read: No such file or directory"]
    folder = DataFile(tmp_path, "folder", DatasetSpec(path="folder"))
    assert problems(read_run, folder) == ["folder: cannot be read: Is a directory"]
