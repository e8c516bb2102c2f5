"""D4, D5: one case for each judged query of TREC files."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.formats.trec_files import read_run
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.datasets.trec import load_trec
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

LoadTrec = Callable[..., Dataset]

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq3 0 d3 1\n"
RUN = "q1 Q0 d2 1 2.0 r\nq1 Q0 d1 2 9.0 r\nq3 Q0 d9 1 1.0 r\n"


@pytest.fixture
def trec(tmp_path: Path) -> LoadTrec:
    """Return a function from the texts of both files, and keys of ``dataset``, to the data."""

    def load(qrels: str = QRELS, run: str = RUN, **keys: Any) -> Dataset:
        (tmp_path / "q.txt").write_text(qrels, "utf-8")
        (tmp_path / "r.txt").write_text(run, "utf-8")
        spec = DatasetSpec(qrels_path="q.txt", run_path="r.txt", **keys)
        return load_trec(spec, tmp_path, lambda _key: "s.yaml:2")

    return load


@pytest.fixture
def refused(trec: LoadTrec) -> Callable[..., list[str]]:
    def load(*args: Any, **keys: Any) -> list[str]:
        with pytest.raises(ScenarioError) as caught:
            trec(*args, **keys)
        return [str(problem) for problem in caught.value.problems]

    return load


def samples(dataset: Dataset) -> list[Sample]:
    found = [case for case in dataset.cases if isinstance(case, Sample)]
    assert len(found) == len(dataset.cases)
    return found


def test_tables_may_take_the_place_of_trec_files(trec: LoadTrec) -> None:
    """W5: BEIR's judgements, and a run in three columns."""
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t2\n"
    first, second = samples(trec(judged, "q1\td2\t0.2\nq1\td1\t0.9\n"))
    assert (first.id, first.retrieved_ids, first.reference_ids) == ("q1", ("d1", "d2"), {"d1": 1})
    assert (second.id, second.retrieved_ids) == ("q2", ())


def test_each_judged_query_is_a_case_in_the_order_of_the_qrels(trec: LoadTrec) -> None:
    """D4: ranked by score, whatever the rank column says."""
    first, second, third = samples(trec())
    assert (first.id, first.index, first.row) == ("q1", 0, 1)
    assert first.retrieved_ids == ("d1", "d2")
    assert first.reference_ids == {"d1": 1, "d2": 0}
    assert (second.id, second.retrieved_ids, second.reference_ids) == ("q2", (), {"d1": 2})
    assert (third.id, third.index, third.row) == ("q3", 2, 3)
    assert (first.question, first.answer, first.doc_name) == (None, None, None)


def test_missing_queries_score_zero_and_are_listed(trec: LoadTrec) -> None:
    """D5: as trec_eval -c."""
    dataset = trec()
    assert samples(dataset)[1].skip is None
    assert dataset.warnings == (
        "1 of 3 judged queries has no results in r.txt: q2 (see missing_queries)",
    )


def test_missing_queries_may_be_skipped(trec: LoadTrec) -> None:
    """D5: each says why; there is no need of a warning."""
    dataset = trec(missing_queries="skip")
    assert [sample.skip for sample in samples(dataset)] == [
        None,
        "no results for this query in r.txt",
        None,
    ]
    assert dataset.warnings == ()


def test_missing_queries_may_be_errors(trec: LoadTrec) -> None:
    """D5: as invalid rows, so that on_invalid decides what becomes of them."""
    dataset = trec(missing_queries="error")
    found = dataset.cases[1]
    assert isinstance(found, InvalidRow)
    assert (found.id, found.index, found.row, found.line) == ("q2", 1, 2, None)
    assert found.reason == "no results for this query in r.txt"
    assert dataset.warnings == ()


def test_many_missing_queries_are_counted(trec: LoadTrec) -> None:
    qrels = "".join(f"q{at} 0 d 1\n" for at in range(20))
    (warning,) = trec(qrels, "q0 Q0 d 1 1 r\n").warnings
    assert warning == (
        "19 of 20 judged queries have no results in r.txt: q1, q2, q3, q4, q5 and 14 more "
        "(see missing_queries)"
    )


def test_queries_that_nobody_judged_are_left_out(trec: LoadTrec) -> None:
    """D5: as trec_eval does."""
    dataset = trec(QRELS, RUN + "q9 Q0 d1 1 1.0 r\n")
    assert [case.id for case in dataset.cases] == ["q1", "q2", "q3"]


def test_queries_without_relevant_documents_are_cases_and_named(trec: LoadTrec) -> None:
    """D5: they count, as for trec_eval, whose measures of relevance are 0."""
    dataset = trec(
        "q1 0 d1 0\nq2 0 d1 -1\nq3 0 d1 1\n", "q1 Q0 d1 1 1 r\nq2 Q0 d 1 1 r\nq3 Q0 d 1 1 r\n"
    )
    assert len(dataset.cases) == 3
    assert dataset.warnings == (
        "2 of 3 judged queries have no relevant document in q.txt, so that measures of relevance "
        "are 0 there: q1, q2",
    )


def test_a_query_has_one_text(
    trec: LoadTrec, refused: Callable[..., list[str]], tmp_path: Path
) -> None:
    """D5: as a document is judged once; the same text again is no other."""
    rows = [("q1", "Who?"), ("q2", "What?"), ("q1", "Who?")]
    put_queries(tmp_path, rows)
    assert [sample.question for sample in samples(trec(queries_path="n.jsonl"))[:2]] == [
        "Who?",
        "What?",
    ]
    put_queries(tmp_path, [*rows, ("q1", "Where?")])
    assert refused(queries_path="n.jsonl") == [
        "n.jsonl:4: query q1 is here twice, first with the text 'Who?'; keep one"
    ]


def test_more_problems_of_queries_are_counted(
    refused: Callable[..., list[str]], tmp_path: Path
) -> None:
    """D5: five are listed of eight."""
    put_queries(tmp_path, [(f"q{at}", "") for at in range(8)])
    *first, last = refused(queries_path="n.jsonl")
    assert len(first) == 5
    assert first[4].startswith("n.jsonl:5: a query needs an id")
    assert last == "n.jsonl: and 3 more"


def put_queries(folder: Path, queries: Sequence[tuple[str, str]]) -> None:
    lines = [json.dumps({"_id": name, "text": text}) for name, text in queries]
    (folder / "n.jsonl").write_text("\n".join(lines), "utf-8")


def test_a_run_without_any_judged_query_is_the_wrong_file(
    refused: Callable[..., list[str]],
) -> None:
    """D5: with an example of both, for ids that differ in spelling."""
    assert refused("301 0 d 1\n", "Q301 Q0 d 1 1 r\nQ302 Q0 d 1 1 r\n") == [
        "r.txt: no query of this run is judged in q.txt; queries here are like 'Q301', there like "
        "'301'. Is it the run that belongs to these qrels?"
    ]


def test_the_problems_of_both_files_are_reported_together(
    refused: Callable[..., list[str]],
) -> None:
    """E12."""
    found = refused("q1 0 d1\n", "q1 Q0 d1 1 high r\n")
    assert [problem.partition(" ")[0] for problem in found] == ["q.txt:1:", "r.txt:1:"]


def test_qrels_and_run_in_each_others_place(refused: Callable[..., list[str]]) -> None:
    """D5: the message says what they look like."""
    found = refused(RUN, QRELS)
    assert any("is this a run, and not a qrels file?" in problem for problem in found)
    assert any("is this a qrels file, and not a run?" in problem for problem in found)


@pytest.mark.parametrize(("qrels", "run"), [("", RUN), (QRELS, ""), ("# none\n", RUN)])
def test_an_empty_file_is_refused(refused: Callable[..., list[str]], qrels: str, run: str) -> None:
    """D5."""
    (problem,) = refused(qrels, run)
    assert " empty: expected lines with the columns query " in problem


def test_the_limit_cuts_queries(trec: LoadTrec) -> None:
    """D7."""
    assert [case.id for case in trec(limit=2).cases] == ["q1", "q2"]
    assert [case.id for case in trec(limit=99).cases] == ["q1", "q2", "q3"]


def test_shuffling_is_pythons_with_the_seed_then_the_limit(trec: LoadTrec) -> None:
    """D7: UltraRAG's order; each case keeps the place that it has in the file."""
    names = [f"q{at}" for at in range(10)]
    qrels = "".join(f"{name} 0 d 1\n" for name in names)
    run = "".join(f"{name} Q0 d 1 1 r\n" for name in names)
    expected = list(names)
    random.Random(7).shuffle(expected)
    found = samples(trec(qrels, run, shuffle=True, seed=7, limit=4))
    assert [sample.id for sample in found] == expected[:4]
    assert [sample.index for sample in found] == [0, 1, 2, 3]
    assert [sample.row for sample in found] == [names.index(name) + 1 for name in expected[:4]]


def test_warnings_are_about_the_queries_that_were_chosen(trec: LoadTrec) -> None:
    """D5, D7: q2, without results, is not among them."""
    assert trec(limit=1).warnings == ()


def test_both_files_are_part_of_the_digest(trec: LoadTrec) -> None:
    """A12: and the judgements have one of their own, for comparisons of two runs."""
    one, other_run, other_qrels = trec(), trec(run=RUN + "\n"), trec(qrels=QRELS + "q3 0 d4 1\n")
    assert len({one.sha256, other_run.sha256, other_qrels.sha256}) == 3
    assert one.judgements_sha256 == other_run.judgements_sha256 != other_qrels.judgements_sha256
    inner = hashlib.sha256(QRELS.encode()).digest() + hashlib.sha256(RUN.encode()).digest()
    assert one.sha256 == hashlib.sha256(inner).hexdigest()


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        # Other line ends, a mark at the beginning, tabs, another order of queries.
        (QRELS.replace("\n", "\r\n"), True),
        ("\ufeff" + QRELS, True),
        ("# judged by hand\n" + QRELS.replace(" ", "\t"), True),
        ("q3 0 d3 1\n" + QRELS.replace("q3 0 d3 1\n", ""), True),
        (QRELS.replace("0 d1 2", "1 d1 2.0"), True),
        # Another grade, document or query.
        (QRELS.replace("q2 0 d1 2", "q2 0 d1 1"), False),
        (QRELS.replace("q2 0 d1 2", "q2 0 d2 2"), False),
        (QRELS.replace("q2 0 d1", "q25 0 d1"), False),
        (QRELS.replace("q2 0 d1 2\n", ""), False),
        (QRELS.replace("q2 0 d1 2\nq3 0", "q2 0 d1 2\nq2 0"), False),
        (QRELS.replace("q1 0 d1 1\nq1 0 d2 0", "q1 0 d1 0\nq1 0 d2 1"), False),
    ],
)
def test_the_same_judgements_alone_have_the_same_digest(
    trec: LoadTrec, text: str, is_same: bool
) -> None:
    """D6."""
    assert (trec(text).judgements_sha256 == trec().judgements_sha256) == is_same


def test_packed_judgements_are_the_same(tmp_path: Path, trec: LoadTrec) -> None:
    plain = trec()
    (tmp_path / "q.txt.gz").write_bytes(gzip.compress(QRELS.encode()))
    spec = DatasetSpec(qrels_path="q.txt.gz", run_path="r.txt")
    packed = load_trec(spec, tmp_path, lambda _key: "s.yaml:2")
    assert packed.judgements_sha256 == plain.judgements_sha256


def test_what_the_data_has_is_known(trec: LoadTrec) -> None:
    dataset = trec()
    assert dataset.columns == ("retrieved_ids", "reference_ids")
    assert dataset.metadata_columns == ()
    assert dataset.shown == "r.txt"
    assert dataset.lines == [None, None, None]


@pytest.mark.parametrize("key", ["qrels_path", "run_path"])
def test_a_file_that_is_not_there_is_named_with_a_guess(tmp_path: Path, key: str) -> None:
    """E12."""
    (tmp_path / "q.txt").write_text(QRELS, "utf-8")
    (tmp_path / "r.txt").write_text(RUN, "utf-8")
    paths = {"qrels_path": "q.txt", "run_path": "r.txt", key: "run.txt"}
    with pytest.raises(ScenarioError) as caught:
        load_trec(DatasetSpec(**paths), tmp_path, lambda _key: "s.yaml:2")
    (problem,) = caught.value.problems
    assert problem.where == "s.yaml:2"
    assert "no file 'run.txt' in" in problem.message


def test_both_files_missing_are_two_problems(tmp_path: Path) -> None:
    """E12: all problems at once."""
    spec = DatasetSpec(qrels_path="a.txt", run_path="b.txt")
    with pytest.raises(ScenarioError) as caught:
        load_trec(spec, tmp_path, lambda _key: "s.yaml:2")
    text = str(caught.value)
    assert "'a.txt'" in text
    assert "'b.txt'" in text


def test_files_that_go_away_while_they_are_read_are_the_users_problem(
    refused: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E12: they are opened once more, for what tells one state of the data from another."""

    def read_and_remove(*args: Any, **keys: Any) -> dict[str, tuple[str, ...]]:
        (tmp_path / "q.txt").unlink()
        return read_run(*args, **keys)

    monkeypatch.setattr("pytest_rageval.datasets.trec.read_run", read_and_remove)
    assert refused() == ["q.txt: cannot be read: No such file or directory"]
