"""W5, A27: judgements and runs with a header, in three columns, and as JSON Lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.datasets.formats.trec_tables import read_table_qrels, read_table_run
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.data_specs import DatasetSpec

Make = Callable[[str], DataFile]


@pytest.fixture
def file(tmp_path: Path) -> Make:
    """Return a function that writes a text to a file."""

    def make(text: str) -> DataFile:
        (tmp_path / "t.tsv").write_text(text, "utf-8")
        return DataFile(tmp_path / "t.tsv", "t.tsv", DatasetSpec(path="t.tsv"), "qrels_path")

    return make


JUDGED = {"q1": {"d 1": 2, "d2": 0}, "q2": {"d2": 1}}


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\nq1\td 1\t2\nq1\td2\t0\nq2\td2\t1\n",
        "\ufeffqid\tdocId\trel\r\nq1\td 1\t2.0\r\n\r\nq1\td2\t0\r\nq2\td2\t1\r\n",
        'query_id,passage_id,relevance\nq1,"d 1",2\nq1,d2,0\nq2,d2,1\n',
        "# by hand\n #\nqid\titer\tdocno\tgrade\nq1\t0\td 1\t2\nq1\t0\td2\t0\nq2\t0\td2\t1\n",
        '{"query_id": "q1", "passage_id": "d 1", "relevance": 2}\n'
        '{"query_id": "q1", "passage_id": "d2", "relevance": 0}\n'
        '{"query_id": "q2", "passage_id": "d2", "relevance": 1}\n',
    ],
    ids=["BEIR", "other names", "commas", "four columns", "JSON Lines"],
)
def test_judgements_in_a_table(file: Make, text: str) -> None:
    """W5."""
    assert read_table_qrels(file(text)) == JUDGED


def test_three_columns_without_a_header_are_no_judgements(file: Make) -> None:
    """W5: of `q1 0 7` nobody knows whether the grade is missing, of `q1 Q0 7` the rank."""
    assert read_table_qrels(file("q1 0 7\nq1 0 9\n")) is None
    assert read_table_run(file("q1 Q0 7\n")) is None


def test_without_grades_each_document_is_relevant(file: Make) -> None:
    """W5."""
    assert read_table_qrels(file("qid\tdocid\nq1\td1\n")) == {"q1": {"d1": 1}}
    text = "query\tdocument\tdocid\trel\nq1\tIt opens at 9.\td1\t2\n"  # the passage itself
    assert read_table_qrels(file(text)) == {"q1": {"d1": 2}}


@pytest.mark.parametrize(
    ("text", "ranked"),
    [
        ("query-id\tcorpus-id\tscore\nq1\ta\t0.5\nq1\tb\t0.9\n", ("b", "a")),
        ("qid\tpid\trank\nq1\ta\t2\nq1\tb\t1\n", ("b", "a")),
        ("qid\tpid\trank\tscore\nq1\ta\t1\t0.5\nq1\tb\t2\t0.9\n", ("b", "a")),
        ("q1\ta\t0.5\nq1\tb\t0.9\n", ("b", "a")),
        ("q1 a 2\nq1 b 1\nq1 c 3\nq2 x 1\n", ("b", "a", "c")),
        ("q1 a 2\nq1 b 1\nq1 c 9\n", ("c", "a", "b")),
        ("q1\ta\t0.5\nq1\tb\t0.5\n", ("b", "a")),
        ("q1 a 1\nq1 b 0\nq2 x 0\nq2 y 1\n", ("b", "a")),
        ("q1 a 1\nq1 b 2\nq1 c 3\n", ("a", "b", "c")),
        ("q1 a 0\nq1 b 1\nq2 x 0\n", ("a", "b")),
        ("q1 a 3\nq1 b 1\nq1 c 2\n", ("b", "c", "a")),
        ("q1 a 1\nq2 x 1\n", ("a",)),
        ("q1 a 2\nq1 b 1\nq2 x 1\nq2 y 2\n", ("b", "a")),
        ("q1 a 9\nq1 b 7\nq1 c 1\n", ("a", "b", "c")),
        ("qid\tpid\tscore\nq1\ta\t2\nq1\tb\t1\n", ("a", "b")),
        (
            '{"qid": 1, "docid": "a", "score": 0.5}\n{"qid": 1, "docid": 7, "score": 1}\n',
            ("7", "a"),
        ),
    ],
)
def test_a_run_is_ordered_by_score_or_by_rank(
    file: Make, text: str, ranked: tuple[str, ...]
) -> None:
    """W5: 1, 2, 3 in each query are ranks; equal scores are ordered as trec_eval does."""
    found = read_table_run(file(text))
    assert found is not None
    assert next(iter(found.values())) == ranked


@pytest.mark.parametrize(
    "text", ["", "q1 0 d1 1\n", "q1 Q0 d1 1 2.5 tag\n", "question\tanswer\nx\ty\n", '{"a": 1}\n']
)
def test_other_files_are_left_to_other_readers(file: Make, text: str) -> None:
    """W5."""
    assert read_table_qrels(file(text)) is None
    assert read_table_run(file(text)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid\tdocid\trel\nq1\td1\t0.5\n", "t.tsv:2: '0.5' is not a whole number: 'q1"),
        ("qid\tdocid\trel\nq1\td1\n", "t.tsv:2: not a row with the columns of the first line"),
        ("qid\tdocid\trel\n\td1\t1\n", "t.tsv:2: an empty query or document id"),
        ('{"qid": "q1", "docid": null}\n', "t.tsv:1: an empty query or document id"),
        ('{"qid": 1.5, "docid": "d1"}\n', "t.tsv:1: a query or document id is a text or a whole "),
        ('{"qid": "q1", "docid": true}\n', "a whole number, found True"),
        ("qid\tdocid\nq1\td1\nq1\td1\n", "t.tsv:3: document 'd1' is judged twice for query 'q1'"),
        ('{"qid": "a", "docid": "b"}\n[1]\n', "t.tsv:2: not a row with the columns"),
        ("qid\tdocid\trel\n", "t.tsv: empty: a header and no rows"),
        ("qid\tdocid\trel\n" + "q1\td1\tx\n" * 9, "t.tsv: and 4 more"),
        # A27: what may be the grade is not left over, else each document would be relevant, also
        # those that are judged not to be.
        ("query-id\tcorpus-id\tjudgement\nq1\td1\t0\n", "is 'judgement' the grade"),
        ("qid,docid,score,grade\nq1,d1,1,0\n", "the grade may be in 'score' or in 'grade': take"),
        ("qid,docid,relevance,score\nq1,d1,1,2\n", "the grade may be in 'relevance' or in 'score'"),
        ('{"qid": "q1", "docid": "d1", "rel": 1, "gain": 0}\n', "may be in 'rel' or in 'gain'"),
        ("qid docid is_relevant\nq1 d1 0\n", "is 'is_relevant' the grade"),
        ('{"qid": "q1", "docid": "d1", "gain": 0}\n', "is 'gain' the grade"),
        ("qid\tdocid\trank\nq1\td1\t0\n", "a column 'rank', and no 'score': is this a run"),
        ("query-id\tcorpus-id\trelevant\nq1\td1\tyes\nq1\td2\tNo\n", "is 'relevant' the grade"),
        ("qid,docid,judgement\nq1,d1,Not relevant\n", "is 'judgement' the grade"),
        # The first object does not name it.
        ('{"qid": "q1", "docid": "d1"}\n{"qid": "q1", "docid": "d2", "gain": 0}\n', "t.tsv:2: "),
        ("qid\tdocid\nq1\td1\t0\n", "t.tsv:2: not a row with the columns of the first line"),
    ],
)
def test_judgements_that_cannot_be_read_are_refused(file: Make, text: str, message: str) -> None:
    """W5: no row is lost."""
    with pytest.raises(ScenarioError) as caught:
        read_table_qrels(file(text))
    assert message in "\n".join(map(str, caught.value.problems))


def test_a_run_needs_an_order(file: Make) -> None:
    """W5."""
    for text in (
        "q1 a 3\nq1 b 2\nq1 c 1\n",
        "q1\ta\t1\nq1\tb\t0\nq2\tx\t0\n",
        "q1 a 2\nq1 b 1\nq2 x 3\nq2 y 2\nq2 z 1\n",
    ):
        with pytest.raises(ScenarioError, match="counts down .*: is it a rank, or a score?"):
            read_table_run(file(text))
    with pytest.raises(ScenarioError, match="a run needs a column 'score' or 'rank'"):
        read_table_run(file("qid\tdocid\nq1\td1\n"))
    with pytest.raises(ScenarioError, match="document 'a' is retrieved twice for query 'q1'"):
        read_table_run(file("qid\tdocid\tscore\nq1\ta\t1\nq1\ta\t2\n"))


def test_columns_of_trec_files_and_of_pandas_are_no_grades(file: Make) -> None:
    """A27: the iteration, the tag of a run, the number of a row."""
    assert read_table_qrels(file(",qid,Q0,docid,rel\n0,q1,0,d1,2\n")) == {"q1": {"d1": 2}}
    assert read_table_qrels(file("\tqid\tdocid\trel\n0\tq1\td1\t2\n")) == {"q1": {"d1": 2}}
    for text in ("qid\tdocid\trel\nq1\td1\t2\t\n", "qid\tdocid\trel\t\nq1\td1\t2\n"):
        assert read_table_qrels(file(text)) == {"q1": {"d1": 2}}
    run = "qid\tq0\tdocid\trank\tscore\ttag\nq1\tQ0\td1\t1\t0.5\tbm25\n"
    assert read_table_run(file(run)) == {"q1": ("d1",)}
    with pytest.raises(ScenarioError, match="the score may be in 'score' or in 'rerank_score'"):
        read_table_run(file("qid\tdocid\tscore\trerank_score\nq1\ta\t1\t2\n"))


def test_a_line_that_is_no_csv_is_left_to_other_readers(file: Make) -> None:
    """A27: a carriage return in a cell, which the csv module refuses."""
    assert read_table_qrels(file('q1 "\rx", 1\n')) is None
    with pytest.raises(ScenarioError, match="t.tsv:2: not a row with the columns"):
        read_table_qrels(file("qid,docid,rel\nq1,d\r1,1\n"))


def test_a_row_with_more_cells_than_the_first_is_refused_without_a_header_too(file: Make) -> None:
    with pytest.raises(ScenarioError, match="t.tsv:2: not a row with the columns"):
        read_table_run(file("q1 d1 0.9\nq1 d2 0.8 7 extra\n"))
    assert read_table_run(file("q1\td1\t0.9\t\nq1\td2\t0.8\t\n")) == {"q1": ("d1", "d2")}
    assert read_table_run(file("q1 d1 0.9\nq1 d2 0.8 # good\n")) == {"q1": ("d1", "d2")}


def test_columns_of_texts_are_no_grades(file: Make) -> None:
    """A27: a split, a title, a text; with a number in each row a column may be the grade."""
    assert read_table_qrels(file("query-id\tcorpus-id\tscore\tsplit\nq1\td1\t2\ttest\n")) == {
        "q1": {"d1": 2}
    }
    rows = '{"qid": "q1", "docid": "d1", "title": "a"}\n{"qid": "q1", "docid": "d2", "title": "7"}'
    assert read_table_qrels(file(rows)) == {"q1": {"d1": 1, "d2": 1}}
    run = "qid\tdocid\tscore\ttext\nq1\td1\t0.5\ta passage\n"
    assert read_table_run(file(run)) == {"q1": ("d1",)}
    with pytest.raises(ScenarioError, match="is 'judged' the grade"):
        read_table_qrels(file("qid,docid,judged\nq1,d1,False\nq1,d2,\n"))
