"""W5, A27: rows of two files that meet by a key, and several rows that are one sample."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec

GOLD = "id,question,reference\nq1,first?,a\nq2,second?,b\n"
GIVEN = '{"id": "q2", "answer": "c", "ms": 7}\n{"id": "q1", "answer": "a", "ms": 5}\n'

Join = Callable[..., Dataset]


@pytest.fixture
def join(tmp_path: Path) -> Join:
    """Return a function that loads ``gold.csv`` with what ``given`` adds."""

    def load(
        gold: str = GOLD, given: str = GIVEN, name: str = "given.jsonl", **keys: Any
    ) -> Dataset:
        (tmp_path / "gold.csv").write_text(gold, encoding="utf-8")
        (tmp_path / name).write_text(given, encoding="utf-8")
        own = {key: keys.pop(key) for key in ("key_map", "limit", "merge_rows") if key in keys}
        of_answers = keys.pop("of_answers", frozenset())
        answers = AnswersSpec(path=name, **keys)
        return load_dataset(
            DatasetSpec(path="gold.csv", **own),
            tmp_path,
            "s.yaml:2",
            answers=answers,
            of_answers=of_answers,
        )

    return load


@pytest.fixture
def refused(join: Join) -> Callable[..., str]:
    """Return a function like ``join`` for files that cannot be joined."""

    def message(*contents: str, **keys: Any) -> str:
        with pytest.raises(ScenarioError) as caught:
            join(*contents, **keys)
        return "\n".join(map(str, caught.value.problems))

    return message


def samples(found: Dataset) -> list[Sample]:
    assert [case for case in found.cases if not isinstance(case, Sample)] == []
    return [case for case in found.cases if isinstance(case, Sample)]


def test_rows_get_what_they_lack_in_their_own_order(join: Join) -> None:
    """W5: and the hash of the data is of both files."""
    found = join()
    assert [(one.id, one.answer, one.references) for one in samples(found)] == [
        ("q1", "a", ("a",)),
        ("q2", "c", ("b",)),
    ]
    assert [one.metadata for one in samples(found)] == [{"ms": 5}, {"ms": 7}]
    assert list(found.lines) == [2, 3]
    assert join(given=GIVEN.replace("c", "d")).sha256 != found.sha256


def test_a_key_map_may_name_aliases_and_grades(join: Join) -> None:
    """They are no fields of a row, but keys beside them."""
    key_map = {"aliases": "also", "grade": "rel"}
    gold = "id,references,also,reference_ids,rel\nq1,a,A,d,2\n"
    given = '{"id": "q1", "answer": "A"}'
    (found,) = samples(join(gold, given, key_map=key_map, merge_rows="id"))
    assert (found.answer, found.references) == ("A", ("a", "A"))
    assert found.reference_ids == {"d": 2}


def test_the_key_may_be_any_column_and_numbers_are_compared_as_text(join: Join) -> None:
    """W5: 7 in JSON, 7 in a table, 7.0 from a data frame with a gap."""
    gold = "nr,question,reference\n7,first?,a\n8,second?,b\n"
    found = join(gold, '{"nr": 7, "answer": "a"}\n{"nr": 8.0, "answer": "c"}\n', key="nr")
    assert [one.answer for one in samples(found)] == ["a", "c"]


def test_the_key_of_the_second_file_meets_the_id_of_the_first(join: Join) -> None:
    """W5: in BEIR they have two names."""
    found = join(given=GIVEN.replace('"id"', '"query-id"'), key="query-id")
    assert [one.answer for one in samples(found)] == ["a", "c"]


def test_a_row_without_the_key_of_the_others_is_not_joined_by_its_id(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    """W5: it would get the answer to another question, whose key is its id."""
    (tmp_path / "bot.jsonl").write_text('{"qid": "1", "answer": "x"}\n', "utf-8")
    rows = [{"id": "1", "question": "b"}, {"qid": "1", "id": "a", "question": "a"}]
    answers = AnswersSpec(path="bot.jsonl", key="qid")
    found = load_dataset(DatasetSpec(rows=[*rows]), tmp_path, "s.yaml:2", answers=answers)
    first, second = found.cases
    assert isinstance(first, InvalidRow)
    assert first.reason == "no 'qid', by which bot.jsonl is joined"
    assert isinstance(second, Sample)
    assert second.answer == "x"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert "given.jsonl:1: no 'qid' (answers.key)" in refused("id\n1\na\n", text, key="qid")


@pytest.mark.parametrize("blank", ["", " ", [], None])
@pytest.mark.parametrize("name", ["references", "reference_ids", "must_include", "level"])
def test_a_blank_is_no_other_value(tmp_path: Path, name: str, blank: Any) -> None:
    """W5: in either file; of what a system gives it says that it gave nothing."""
    for own, other in ((blank, ["x"]), (["x"], blank)):
        given = json.dumps({"id": 1, "answer": "a", name: other})
        (tmp_path / "bot.jsonl").write_text(given, "utf-8")
        spec = DatasetSpec(rows=[{"id": 1, "question": "q", name: own}])
        found = load_dataset(spec, tmp_path, "s.yaml:2", answers=AnswersSpec(path="bot.jsonl"))
        (one,) = samples(found)
        assert [*(getattr(one, name, None) or one.metadata[name])] == ["x"]


def test_a_row_without_a_counterpart_is_invalid_and_keeps_its_place(join: Join) -> None:
    """W5: never silently without an answer."""
    gold = (
        GOLD.replace("reference", "reference,doc_name").replace("a\n", "a,x\n") + "q3,third?,c,y\n"
    )
    gold = gold.replace("second?,b", "second?,b,x")
    found = join(gold)
    last = found.cases[2]
    assert isinstance(last, InvalidRow)
    assert (last.id, last.doc_name, last.line) == ("q3", "y", 4)
    assert last.reason == "given.jsonl has no row with id 'q3'"


def test_a_row_without_a_key_is_invalid(join: Join) -> None:
    """W5."""
    found = join(GOLD + ",third?,c\n")
    last = found.cases[2]
    assert isinstance(last, InvalidRow)
    assert last.reason == "no 'id', by which given.jsonl is joined"


def test_rows_that_belong_to_none_are_refused_or_left_out(
    join: Join, refused: Callable[..., str]
) -> None:
    """W5: lost rows are never silent; nor with a limit."""
    more = GIVEN + '{"id": "q7", "answer": "x"}\n'
    message = "given.jsonl:3: gold.csv has no row for id 'q7'; if that is right, write "
    assert refused(GOLD, more) == f"{message}answers.extra_rows: ignore"
    assert refused(GOLD, more, limit=1).startswith(message)
    others = '{"answer": "y"}\n{"id": null, "answer": "z"}\n{"id": "q7", "answer": "w"}\n'
    assert len(samples(join(GOLD, more + others, extra_rows="ignore"))) == 2
    again = GIVEN.splitlines()[0]
    twice = refused(GOLD, f"{more}{again}\n{again}\n", extra_rows="ignore")
    assert twice.startswith("given.jsonl:4: id 'q2' is here twice (first on line 1)")
    assert [one.answer for one in samples(join(limit=1))] == ["a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (GIVEN + GIVEN, "given.jsonl:3: id 'q2' is here twice (first on line 1); if they are"),
        ('{"answer": "a"}\n', "given.jsonl:1: no 'id' (answers.key). Columns: answer"),
        ('{"id": "", "answer": "a"}\n', "given.jsonl:1: no 'id' (answers.key)"),
        ("{broken\n", "given.jsonl:1: not valid JSON"),
    ],
)
def test_a_second_file_with_rows_that_cannot_be_found_is_refused(
    refused: Callable[..., str], given: str, message: str
) -> None:
    """W5."""
    assert message in refused(GOLD, given)


def test_rows_without_any_key_are_refused(refused: Callable[..., str]) -> None:
    """W5."""
    message = refused("question,reference\nfirst?,a\n")
    assert (
        message
        == "gold.csv: no row has 'id' (answers.key), nor an id. Columns: question, reference"
    )


def test_a_field_of_both_files_is_told_apart_by_a_prefix(
    join: Join, refused: Callable[..., str]
) -> None:
    """W5: the gold of one file must not stand for the answers of the other."""
    gold = GOLD.replace("reference", "answer")
    message = refused(gold)
    assert message.startswith("given.jsonl:1: 'answer' has another value than in gold.csv:3.")
    assert "write answers.prefix: bot_, and name the column, bot_answer, in dataset" in message
    key_map = {"answer": "bot_answer", "references": "answer"}
    found = samples(join(gold, prefix="bot_", key_map=key_map))
    assert [(one.answer, one.references) for one in found] == [("a", ("a",)), ("c", ("b",))]


LONG = "query-id,corpus-id,passage,rank,question\n" + "".join(
    f"{query},{doc},text of {doc},{rank},{query}?\n"
    for query, doc, rank in [("q1", "d1", 1), ("q2", "d7", 1), ("q1", "d2", 2)]
)


def test_rows_of_one_passage_each_are_merged(join: Join, tmp_path: Path) -> None:
    """W5: the long format; other columns that differ become lists."""
    (tmp_path / "long.csv").write_text(LONG, encoding="utf-8")
    key_map = {"id": "query-id", "retrieved_ids": "corpus-id", "contexts": "passage"}
    spec = DatasetSpec(path="long.csv", merge_rows="query-id", key_map=key_map)
    first, second = samples(load_dataset(spec, tmp_path, "s.yaml:2"))
    assert (first.id, first.question) == ("q1", "q1?")
    assert first.retrieved_ids == ("d1", "d2")
    assert first.contexts == ("text of d1", "text of d2")
    assert first.metadata == {"rank": ["1", "2"]}
    assert (second.retrieved_ids, second.contexts) == (("d7",), ("text of d7",))
    assert second.metadata == {"rank": "1"}


def test_merged_rows_with_different_answers_are_invalid(tmp_path: Path) -> None:
    """W5: and a row without a value for the column, too."""
    text = "id,answer\nq1,a\nq1,b\n,c\nq2,d\n"
    (tmp_path / "long.csv").write_text(text, encoding="utf-8")
    spec = DatasetSpec(path="long.csv", merge_rows="id")
    found = load_dataset(spec, tmp_path, "s.yaml:2").cases
    reasons = [case.reason for case in found if isinstance(case, InvalidRow)]
    assert reasons == ["answer must be text, found a list", "no 'id', by which rows are merged"]
    assert [case.id for case in found if isinstance(case, Sample)] == ["q2"]


def test_a_limit_counts_merged_rows(tmp_path: Path) -> None:
    """W5: a sample has all of its passages."""
    (tmp_path / "long.csv").write_text(LONG, encoding="utf-8")
    key_map = {"retrieved_ids": "corpus-id"}
    spec = DatasetSpec(path="long.csv", merge_rows="query-id", key_map=key_map, limit=1)
    found = load_dataset(spec, tmp_path, "s.yaml:2")
    assert [one.retrieved_ids for one in samples(found)] == [("d1", "d2")]
    assert found.left_out == 1


def test_beir_judgements_are_joined_to_their_queries(tmp_path: Path) -> None:
    """W5: queries.jsonl and qrels/test.tsv as BEIR has them; a grade of 0 stays one."""
    queries = [{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "second?"}]
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in queries), encoding="utf-8"
    )
    (tmp_path / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td1\t1\n", encoding="utf-8"
    )
    spec = DatasetSpec(
        path="queries.jsonl", key_map={"question": "text", "reference_ids": "corpus-id"}
    )
    answers = AnswersSpec(path="test.tsv", key="query-id", merge_rows=True)
    first, second = samples(load_dataset(spec, tmp_path, "s.yaml:2", answers=answers))
    assert (first.id, first.question, first.reference_ids) == ("q1", "first?", {"d1": 2, "d2": 0})
    assert second.reference_ids == {"d1": 1}


def merge(tmp_path: Path, text: str, **keys: Any) -> Dataset:
    (tmp_path / "long.csv").write_text(text, encoding="utf-8")
    spec = DatasetSpec(path="long.csv", merge_rows="qid", **keys)
    return load_dataset(spec, tmp_path, "s.yaml:2")


@pytest.mark.parametrize(
    "column", ["grade", "Relevance", "REL", "Score", "label", "relevance_score", "relevance score"]
)
def test_a_grade_of_merged_rows_has_many_names(tmp_path: Path, column: str) -> None:
    """A27: as in tables of judgements; unread, each document would be relevant."""
    text = f'qid,reference_ids,{column}\nq1,d1,0\nq1,d2,2\nq1,d3,\nq1,["d4"; "d5"],1\n'
    (found,) = samples(merge(tmp_path, text.replace("; ", " ")))
    # d3 is not judged: its grade is blank.
    assert found.reference_ids == {"d1": 0, "d2": 2, "d4": 1, "d5": 1}


def test_a_grade_that_is_none_is_an_invalid_row(tmp_path: Path) -> None:
    """A27: unless the key_map gives the column to a field."""
    text = "qid,reference_ids,label\nq1,d1,irrelevant\nq1,d2,relevant\n"
    (found,) = merge(tmp_path, text).cases
    assert isinstance(found, InvalidRow)
    assert found.reason.startswith("reference_ids: 'label' is their grade, and 'irrelevant' is no")
    (found,) = samples(merge(tmp_path, text, key_map={"tags": "label"}))
    assert found.reference_ids == {"d1": 1, "d2": 1}


def test_ids_and_references_in_the_cells_of_merged_rows_are_read(tmp_path: Path) -> None:
    """A27: a list, ids with ``;``, grades of their own, and a number from a data frame."""
    text = (
        "qid,reference_ids,retrieved_ids,references\n"
        'q1,"{\'d1\': 2, \'d2\': 0}",d1;d2,"[""five"", ""5""]"\n'
        'q1,d3;d4,"[""d3""]",V\n'
    )
    (found,) = samples(merge(tmp_path, text))
    assert found.reference_ids == {"d1": 2, "d2": 0, "d3": 1, "d4": 1}
    assert found.retrieved_ids == ("d1", "d2", "d3")
    assert (found.references, found.reference_groups) == (("five", "5", "V"), None)
    rows = [{"qid": "a", "reference_ids": 7.0, "grade": 0}, {"qid": "a", "reference_ids": 8.0}]
    spec = DatasetSpec(rows=[*rows], merge_rows="qid")
    (found,) = samples(load_dataset(spec, tmp_path, "s.yaml:2"))
    assert found.reference_ids == {"7": 0}


@pytest.mark.parametrize(("marks", "reason"), [("true,", None), ("no,0", ""), ("yes,true", "x")])
def test_a_part_of_a_sample_is_not_skipped(tmp_path: Path, marks: str, reason: str | None) -> None:
    """A27: one row would take the others with it."""
    text = "".join(f"q1,a,{mark}\n" for mark in marks.split(","))
    (found,) = merge(tmp_path, f"qid,answer,skip\n{text}").cases
    if reason is None:
        assert isinstance(found, InvalidRow)
        assert found.reason == "skip: some of the rows that are one sample have it, some not"
        assert found.skip is None
    else:
        assert (found.skip is not None) == bool(reason)


def doubts(tmp_path: Path, text: str, **keys: Any) -> list[str]:
    return [f"{one.field}: {one.message}" for one in merge(tmp_path, text, **keys).doubts]


JUDGED = "qid,reference_ids,{}\nq1,d1,0\nq1,d2,1\n"


@pytest.mark.parametrize(
    "column", ["judgement", "gain", "is_relevant", "rating", "相关性", "Relevance Label"]
)
def test_numbers_that_differ_in_merged_rows_may_be_grades(tmp_path: Path, column: str) -> None:
    """A27: unread, a document that was judged irrelevant is relevant; one line says what it is."""
    text = JUDGED.format(column)
    (said,) = doubts(tmp_path, text)
    assert said.startswith(f"reference_ids: {column!r} may hold the grades of 'reference_ids': its")
    assert "{grade: none} if no column holds them (in 'dataset')" in said
    told = {"grade": column}
    assert doubts(tmp_path, text, key_map=told) == []
    (found,) = samples(merge(tmp_path, text, key_map=told))
    assert found.reference_ids == {"d1": 0, "d2": 1}
    flags = text.replace(",0\n", ",False\n").replace(",1\n", ",true\n")
    assert len(doubts(tmp_path, flags)) == 1
    (found,) = samples(merge(tmp_path, flags, key_map=told))
    assert found.reference_ids == {"d1": 0, "d2": 1}


def test_texts_ranks_and_ids_are_no_grades(tmp_path: Path) -> None:
    """A27: nor what is the same in all rows of a sample, nor a number beside known grades."""
    for column in ("rank", "chunk_id", "page"):
        assert doubts(tmp_path, JUDGED.format(column)) == []
    assert doubts(tmp_path, "qid,reference_ids,title\nq1,d1,a\nq1,d2,7\n") == []
    assert doubts(tmp_path, "qid,reference_ids,year\nq1,d1,7\nq1,d2,7\n") == []
    assert doubts(tmp_path, "qid,reference_ids,year,rel\nq1,d1,7,1\nq1,d2,8,0\n") == []


def test_a_known_name_of_no_grade_is_said_so(tmp_path: Path) -> None:
    """A27: a similarity, a kind of question; two known names are a doubt."""
    text = "qid,reference_ids,score,label\nq1,d1,0.8,billing\nq1,d2,0.3,billing\n"
    (found,) = samples(merge(tmp_path, text, key_map={"grade": "none"}))
    assert found.reference_ids == {"d1": 1, "d2": 1}
    two = "qid,reference_ids,score,label\nq1,d1,1,0\nq1,d2,0,1\n"
    assert ["'score'" in said or "'label'" in said for said in doubts(tmp_path, two)] == [True] * 2


def test_grades_without_merged_rows_are_said(tmp_path: Path) -> None:
    """A27: [d1] with the grade 0 would count as relevant."""

    def load(rows: list[dict[str, Any]], **key_map: str) -> Dataset:
        return load_dataset(DatasetSpec(rows=[*rows], key_map=key_map), tmp_path, "s.yaml:2")

    for grade in (0, [0], "0", False):
        (said,) = load([{"reference_ids": ["d1"], "grade": grade}]).doubts
        assert "'grade' has values of 0 or below, and is not read" in said.message
    assert load([{"reference_ids": {"d1": 0}, "grade": 0}]).doubts == ()
    scores = [{"reference_ids": ["d1"], "score": score} for score in (0, 0.5)]
    assert load(scores).doubts == ()  # of the row
    assert load([{"reference_ids": ["d1"], "grade": 0}], grade="none").doubts == ()
    (said,) = load([{"reference_ids": ["d1"], "judged": 0}], grade="judged").doubts
    assert "rows are not merged" in said.message
    found = load([{"reference_ids": ["d1"], "rel": 1}, {"reference_ids": ["d2"], "rel": 2}])
    assert "'rel' is not read: the grades of 'reference_ids' count where" in found.warnings[0]


@pytest.mark.parametrize(
    ("gold", "name"),
    [
        ([{"id": "d1", "score": 2}, {"id": "d2", "score": 1}], ""),
        ([{"id": "d1", "score": 0}, {"id": "d2", "score": 0}], ""),  # not filled in
        ([{"id": "d1", "score": 3.4}, {"id": "d2", "score": -1.2}], ""),  # of a reranker
        ([{"id": "d1", "relevance_score": 0.9}, {"id": "d2", "relevance_score": 0.0}], ""),
        ([{"id": "d1", "label": "gold"}, {"id": "d2", "label": "0"}], ""),
        ([{"id": "d1", "page": 0}, {"id": "d2", "page": 1}], ""),
        ([{"id": "d1", "grade": 2, "score": 0}, {"id": "d2", "grade": 0, "score": 1}], ""),
        ([{"id": "d1", "is_table": False}, {"id": "d2", "is_table": True}], ""),
        ([{"id": "d1", "score": None}, {"id": "d2", "score": 1}], ""),
        ([{"id": "d1", "irrelevant": False}, {"id": "d2", "irrelevant": True}], ""),
        ([{"id": "d1", "relevant_chunk": 0}, {"id": "d2", "relevant_chunk": 3}], ""),
        ([{"id": "d1", "relevant_pages": 3}, {"id": "d2", "relevant_pages": 0}], ""),
        ([{"id": "d1", "is_most_relevant": True}, {"id": "d2", "is_most_relevant": False}], ""),
        ([{"id": "d1", "score": 2}, {"id": "d2", "score": 0}], "score"),
        ([{"id": "d1", "relevance_score": 1.0}, {"id": "d2", "relevance_score": -1}], "relevance"),
        ([{"id": "d1", "label": True}, {"id": "d2", "label": False}], "label"),
        ([{"id": "d1", "relevant": True}, {"id": "d2", "relevant": False}], "relevant"),
        ([{"id": "d1", "isRelevant": 1}, {"id": "d2", "isRelevant": 0}], "isRelevant"),
        ([{"title": "d1", "is_supporting": True}, {"title": "d2", "is_supporting": False}], "is_s"),
        ([{"url": "d1", "is_selected": 1}, {"url": "d2", "is_selected": 0}], "is_selected"),
        (
            [{"id": "d1", "gold": "yes"}, {"id": "d2", "gold": None}, {"id": "d3", "gold": "No"}],
            "gold",
        ),
        ([{"id": "d1", "label": "1"}, {"id": "d2", "label": "0"}], "label"),
        ([{"id": "d1", "gold": "T"}, {"id": "d2", "gold": "f"}], "gold"),
        ([{"id": "d1", "gold": "正确"}, {"id": "d2", "gold": "错误"}], "gold"),
        ([{"id": "d1", "gold": "[1]"}, {"id": "d2", "gold": "[0]"}], ""),
        ([{"id": "d1", "relevant": 0}, {"id": "d2", "relevant": 0}], "relevant"),
        ([{"id": "d1", "has_answer": True}, {"id": "d2", "has_answer": False}], "has_answer"),
    ],
)
def test_what_may_be_grades_in_objects_is_said(tmp_path: Path, gold: list[Any], name: str) -> None:
    """A27: the document with 0 would count as relevant; a row may hold either end."""
    contexts = [{**one, "text": "t"} for one in gold]  # which may be of another kind
    spec = DatasetSpec(rows=[{"reference_contexts": contexts}])
    assert load_dataset(spec, tmp_path, "s.yaml:2").doubts == ()
    for cells in ([gold], [json.dumps(gold)], [[one] for one in gold]):
        rows = [{"reference_ids": cell} for cell in cells]
        spec = DatasetSpec(rows=rows)
        said = [doubt.message for doubt in load_dataset(spec, tmp_path, "s.yaml:2").doubts]
        assert [name in one and "call it 'grade'" in one for one in said] == [True] * bool(name)
        has_flags = any(mark in str(gold) for mark in ("True", "yes", "'T'", "正确"))
        assert all((", 1 for true and 0 for false;" in one) == has_flags for one in said)
        spec = DatasetSpec(rows=rows, key_map={"grade": "none"})
        assert load_dataset(spec, tmp_path, "s.yaml:2").doubts == ()


def _trace(own: str, **found: str) -> str:
    """Return the lines of a trace with an answer and a search; its question is hidden."""
    root = {"openinference.span.kind": "CHAIN", "output.value": "a"}
    search = {"openinference.span.kind": "RETRIEVER", **found}
    spans = [
        {
            "name": name,
            "context": {"trace_id": own, "span_id": f"{own}-{name}"},
            "parent_id": parent,
            "start_time": 1_800_000_000,
            "end_time": 1_800_000_001,
            "attributes": attributes,
        }
        for name, parent, attributes in (("ask", None, root), ("find", f"{own}-ask", search))
    ]
    return "".join(f"{json.dumps(span)}\n" for span in spans)


def test_what_is_wrong_with_the_second_row_is_wrong_with_both(join: Join) -> None:
    """A30: a trace without a root; the question of the other one is the first file's."""
    torn = _trace("q1").replace('"parent_id": null', '"parent_id": "gone"')
    found = join(given=torn + _trace("q2", **{"output.value": "[]"}))
    first, second = found.cases
    assert isinstance(first, InvalidRow)
    assert "trace q1 has no root span" in first.reason
    assert isinstance(second, Sample), second
    assert (second.question, second.answer, second.contexts) == ("second?", "a", ())


def test_the_second_file_says_what_it_does_not_know(join: Join) -> None:
    """A30: a search that nobody recorded is invalid where a metric needs what it found."""
    first = join(given=_trace("q1") + _trace("q2", **{"output.value": "[]"})).cases[0]
    assert "trace q1: what its step 'find' found" in first.metadata["unrecorded_search"]


def test_what_the_reader_of_the_second_file_notes_is_a_warning(join: Join) -> None:
    """So are rows that a stray quote took into a cell, and sheets that are not read."""
    found = join(given="id,answer,\nq1,a,x\nq2,b,\n", name="given.csv")
    assert found.warnings == ("given.csv:2: column 3 has no name, and is not read",)


CITED = "id,question,reference,citations,confidence,retrieved_ids\nq1,?,a,[1],0.9,d1\n"
OF_ANSWERS = frozenset({"citations", "confidence"})


def test_what_belongs_to_an_earlier_answer_is_left_out(join: Join) -> None:
    """Citations of another system made a gate on those of this one green; so did its search."""
    given = '{"id": "q1", "answer": "a", "contexts": ["x"]}\n'
    found = join(CITED, given, of_answers=OF_ANSWERS)
    (sample,) = samples(found)
    assert (sample.citations, sample.confidence, sample.retrieved_ids) == (None, None, None)
    assert list(found.warnings) == [
        f"{column!r} of gold.csv is left out: given.jsonl has {what}. If it is about these, "
        "name it in dataset.key_map"
        for column, what in [
            ("citations", "another answer"),
            ("confidence", "another answer"),
            ("retrieved_ids", "other contexts"),
        ]
    ]
    key_map = {"citations": "citations", "retrieved_ids": "retrieved_ids"}
    (sample,) = samples(join(CITED, given, of_answers=OF_ANSWERS, key_map=key_map))
    assert (sample.citations, sample.confidence, sample.retrieved_ids) == ((1,), None, ("d1",))


def test_what_the_answer_has_itself_counts(join: Join) -> None:
    given = '{"id": "q1", "answer": "a", "citations": [], "confidence": 0.2}\n'
    (sample,) = samples(join(CITED, given, of_answers=OF_ANSWERS))
    assert (sample.citations, sample.confidence, sample.retrieved_ids) == ((), 0.2, ("d1",))


def test_what_is_about_the_same_answer_stays(join: Join) -> None:
    """Also metadata of such names, where the scenario has no citations read."""
    gold = "id,question,reference,answer,citations\nq1,?,a,a,[1]\n"
    given = '{"id": "q1", "answer": "a", "ms": 5}\n'
    (sample,) = samples(join(gold, given, of_answers=OF_ANSWERS))
    assert sample.citations == (1,)
    (sample,) = samples(join(CITED, given))
    assert sample.metadata["citations"] == "[1]"
    gold = CITED.replace("citations", "reply,citations").replace("[1]", "a,[1]")
    given = '{"id": "q1", "answer": "b"}\n'
    keys = {"key_map": {"answer": "reply"}, "prefix": "other_", "of_answers": OF_ANSWERS}
    (sample,) = samples(join(gold, given, **keys))
    assert (sample.answer, sample.citations) == ("a", (1,))


def test_what_both_files_say_of_a_row_must_be_the_same(refused: Callable[..., str]) -> None:
    gold = "id,question,reference,answerable\nq1,?,a,true\n"
    given = '{"id": "q1", "answer": "a", "answerable": false}\n'
    found = refused(gold, given, of_answers=frozenset({"answerable"}))
    assert "'answerable' has another value than in gold.csv:2" in found


@pytest.mark.parametrize("field", ["answerable", "history", "reference_citations"])
def test_a_null_of_the_second_file_says_nothing(tmp_path: Path, field: str) -> None:
    said = {"answerable": True, "history": [{"role": "user", "content": "x"}]}.get(field, [1])
    given = json.dumps({"id": "q1", "answer": "a", field: None})
    (tmp_path / "given.jsonl").write_text(given, "utf-8")
    spec = DatasetSpec(rows=[{"id": "q1", "question": "?", field: said}])
    answers = AnswersSpec(path="given.jsonl")
    found = load_dataset(spec, tmp_path, "s.yaml:2", answers=answers, of_answers=frozenset({field}))
    assert [getattr(one, field) is None for one in samples(found)] == [False]


@pytest.mark.parametrize(
    ("took", "given", "said"),
    [
        ("1", '"answer": "a", "took": 9', "in given.jsonl in 1 row, and those of gold.csv count"),
        ("1.50", '"answer": "a", "took": 1.5', ""),
        ("FALSE", '"answer": "a", "took": false', ""),
        ("FALSE", '"answer": "a", "took": true', "in 1 row"),
        ("easy", '"answer": "a", "took": "Easy"', "in 1 row"),
        ('"[""x"", ""y""]"', '"answer": "a", "took": ["x", "y"]', ""),
        ('"[""x"", ""y""]"', '"answer": "a", "took": ["y", "x"]', "in 1 row"),
        ("2024-03-01", '"answer": "a", "took": "2024-03-01T00:00:00"', ""),
        ("2024-03-01", '"answer": "a", "took": "2024-03-01T00:10:00"', "in 1 row"),
        ("1", '"answer": "a", "took": null', ""),
        ("", '"answer": "a", "took": 9', ""),  # the only value
        ("1", '"nuggets": ["n"], "took": 9', ""),  # what a system took is beside its answer
    ],
)
def test_a_number_of_two_files_is_told(join: Join, took: str, given: str, said: str) -> None:
    """The latency of an earlier system passed for that of the one whose answers are joined."""
    gold = f"id,question,reference,answer,took\nq1,?,a,{'' if 'answer' in given else 'a'},{took}\n"
    found = join(gold, f'{{"id": "q1", {given}}}\n').differing
    assert [*found] == ["took"] * bool(said)
    assert said in "".join(found.values())


BAD, GOOD = {"id": "d1", "relevant": False}, {"id": "d2", "relevant": True}
OBJECT = "in the objects of 'reference_ids' is not read"
COLUMN = "'relevance' has values of 0 or below, and is not read"


@pytest.mark.parametrize(
    ("golds", "keys", "said"),
    [
        ([{"reference_ids": [BAD, GOOD]}], {}, OBJECT),
        ([{"reference_ids": BAD}, {"reference_ids": GOOD}], {}, OBJECT),
        ([{"gold": {"docs": [BAD, GOOD]}}], {"reference_ids": "gold.docs"}, OBJECT),
        ([{"gold": json.dumps({"docs": [BAD]})}], {"reference_ids": "gold.docs[*].id"}, OBJECT),
        ([{"docs": [{"id": "d1", "grade": 0}, {"id": "d2", "grade": 1}]}],
         {"reference_ids": "docs[*].id"}, OBJECT),
        ([{"docs": [{"metadata": {"source": "a"}, "relevant": False}]}],
         {"reference_ids": "docs[*].metadata.source"}, OBJECT),
        ([{"docs": [{"ids": ["a"], "relevant": False}]}], {"reference_ids": "docs[*].ids[*]"},
         OBJECT),
        *(
            ([{"gold": gold}], {"reference_ids": path}, OBJECT)
            for gold, path in (
                (BAD, "gold.id"), ([BAD], "gold[0].id"), ({"doc": BAD}, "gold.doc.id"),
                ([{"docs": [{"id": "d1"}], "relevant": False}], "gold[*].docs[*].id"),
            )
        ),
        ([{"gold": BAD}], {"reference_ids": "gold.id", "grade": "none"}, ""),
        ([{"gold": [{"docs": [{"id": "d1", "grade": 1}], "relevant": False}]}],
         {"reference_ids": "gold[*].docs[*]"}, ""),
        ([{"reference_ids": [BAD], "id": 1}, {"reference_ids": [GOOD], "id": 1}], "id", OBJECT),
        ([{"reference_ids": {"id": "d1"}, "relevance": 0}], {}, COLUMN),
        ([{"gold": {"id": "d1"}, "relevance": 0}], {"reference_ids": "gold.id"}, COLUMN),
        ([{"reference_ids": {}}, {"reference_ids": "d1", "relevance": 0}], {}, COLUMN),
        # Grades in the ids are read, an object above a list is about more than its ids.
        ([{"reference_ids": {"id": "d1", "grade": 2}, "relevance": 0}], {}, ""),
        ([{"reference_ids": '{"d1": 2}', "relevance": 0}], {}, ""),
        ([{"reference_ids": {"d1": 0, "label": 1}}], {}, ""),
        *(  # what may be about more than the one document in it
            ([{"m": {"source": "a", key: value}} for value in values],
             {"reference_ids": "m.source"}, "")
            for key, values in (
                ("is_correct", [False]), ("label", [0, 1]), ("score", [0, 5]), ("positive", [0, 3]),
            )
        ),
        ([{"hits": [{"id": "d1", "score": 3}, {"id": "d2", "score": 0}]}],
         {"reference_ids": "hits[0]"}, ""),
        ([{"docs": [{"ids": ["d1"], "relevant": False}]}], {"reference_ids": "docs[0].ids"},
         OBJECT),
        ([{"g": {"id": "g", "label": at, "docs": ["d1"]}} for at in (0, 1)],
         {"reference_ids": "g.docs"}, ""),
    ],
)  # fmt: skip
def test_no_way_of_saying_not_relevant_is_passed_over(
    tmp_path: Path, golds: list[dict[str, Any]], keys: dict[str, str] | str, said: str
) -> None:
    """A27: in one object, at a path, and in rows that are merged."""
    told = {"merge_rows": keys} if isinstance(keys, str) else {"key_map": keys}
    rows = [{"question": "q", **gold} for gold in golds]
    found = load_dataset(DatasetSpec(rows=rows, **told), tmp_path, "s.yaml:2")
    assert [said in doubt.message for doubt in found.doubts] == [True] * bool(said)


def test_grades_of_the_file_whose_rows_are_not_merged_are_asked_about(tmp_path: Path) -> None:
    """A27: that the other file's rows are says nothing of them."""
    (tmp_path / "bot.jsonl").write_text('{"id": 1, "retrieved_ids": "d1"}\n' * 2, "utf-8")
    rows = [{"id": 1, "question": "q", "reference_ids": "d1", "relevance": 0}]
    answers = AnswersSpec(path="bot.jsonl", merge_rows=True)
    found = load_dataset(DatasetSpec(rows=[*rows]), tmp_path, "s.yaml:2", answers=answers)
    assert [COLUMN in doubt.message for doubt in found.doubts] == [True]


def test_scores_of_hits_are_no_grades_of_ids_of_the_other_file(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"qid": 1, "reference_ids": ["d1"]}\n', "utf-8")
    rows = [{"qid": 1, "question": "q", "doc": name, "relevance": at - 1.7}
            for at, name in enumerate("ab")]  # fmt: skip
    spec = DatasetSpec(rows=rows, merge_rows="qid", key_map={"retrieved_ids": "doc"})
    answers = AnswersSpec(path="gold.jsonl", key="qid")
    assert load_dataset(spec, tmp_path, "s.yaml:2", answers=answers).doubts == ()


def test_a_grade_of_its_own_counts_for_a_document_of_a_merged_row(tmp_path: Path) -> None:
    """The label of its row is about something else."""
    rows = [{"id": 1, "reference_ids": {"id": f"d{at}", "grade": at}, "label": 0} for at in (1, 2)]
    (found,) = samples(load_dataset(DatasetSpec(rows=rows, merge_rows="id"), tmp_path, "s.yaml:2"))
    assert found.reference_ids == {"d1": 1, "d2": 2}


def test_an_object_takes_the_grade_of_its_merged_row(tmp_path: Path) -> None:
    rows = [{"id": 1, "reference_ids": {"id": name}, "rel": at} for at, name in enumerate("ab")]
    spec = DatasetSpec(rows=rows, merge_rows="id")
    (found,) = samples(load_dataset(spec, tmp_path, "s.yaml:2"))
    assert found.reference_ids == {"a": 0, "b": 1}


@pytest.mark.parametrize("packed", [dict, json.dumps])
@pytest.mark.parametrize(
    ("path", "hits", "found"),
    [
        ("hit.id", [{"id": "d1"}, {"id": "d2"}], "'hit' differs in the rows that are one sample"),
        ("hit[*].id", [{"id": "d1"}, {"id": "d2"}], ("d1", "d2")),
        ("hit[*].id", [{"id": "d1"}], ("d1",)),
        ("hit.id", [{"id": "d1"}], ("d1",)),
        *(
            ("hit[0].id", [{"id": name} for name in names], ("d1",))
            for names in (["d1"], ["d1", "d2"])
        ),
        ("hit.id", [{"id": "d1", "rank": 1}, {"id": "d1", "rank": 2}], ("d1",)),
    ],
)
def test_a_path_into_merged_rows_is_never_lost(
    tmp_path: Path, packed: Callable[..., Any], path: str, hits: list[Any], found: Any
) -> None:
    """A27: the ids of each sample with several rows were missing, and those alone."""
    rows = [{"qid": 1, "question": "q", "hit": packed(hit)} for hit in hits]
    spec = DatasetSpec(rows=rows, merge_rows="qid", key_map={"retrieved_ids": path})
    (one,) = load_dataset(spec, tmp_path, "s.yaml:2").cases
    if isinstance(one, Sample):
        assert one.retrieved_ids == found
    else:
        assert one.reason.startswith(found)
