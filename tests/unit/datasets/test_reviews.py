"""Reviews of questions by people: what counts, what changes the data, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.datasets.reviews import (
    evidence_of,
    passages_of,
    reference_of,
    review_digest,
    with_reviews,
)
from pytest_rageval.datasets.trec import data_digest
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.text.printable import csv_text

ROWS: list[dict[str, Any]] = [
    {
        "id": f"refunds-{at}",
        "question": f"How long do refunds take in region {at}?",
        "references": [f"{at} days"],
        "reference_contexts": [f"Refunds. In region {at} they take {at} days. Ask us."],
        "evidence": [f"In region {at} they take {at} days."],
        "made_by": "model",
    }
    for at in range(1, 5)
]
COLUMNS = ("id", "question", "reference", "verdict", "reviewer", "digest")


def loaded(rows: Sequence[dict[str, Any]] = ROWS, **more: Any) -> Dataset:
    key_map = {"reference_contexts": "evidence"}
    spec = DatasetSpec(rows=[*rows], key_map=key_map, **more)
    return load_dataset(spec, Path(), "bot.rageval.yaml:2")


def said(
    at: int, verdict: str, reviewer: str = "Ann", *, data: Dataset | None = None, **more: str
) -> dict[str, str]:
    """Return a review of a row as it is in the data, with ``more`` changed."""
    case = (data or loaded()).cases[at]
    assert isinstance(case, Sample)
    row = {"id": case.id, "question": case.question or "", "reference": reference_of(case)}
    return {**row, "verdict": verdict, "reviewer": reviewer, "digest": review_digest(case), **more}


def written(path: Path, *reviews: dict[str, str], encoding: str = "utf-8-sig") -> Path:
    rows = [COLUMNS, *([review[name] for name in COLUMNS] for review in reviews)]
    path.write_bytes("".join(csv_text(rows)).encode(encoding))
    return path


def reviewed(folder: Path, *named: str, data: Dataset | None = None) -> Dataset:
    return with_reviews(data or loaded(), named or ("*.csv",), folder, "bot.rageval.yaml:3")


def problems(folder: Path, *named: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        reviewed(folder, *named)
    return [str(problem) for problem in caught.value.problems]


def ids(dataset: Dataset) -> list[str]:
    return [case.id for case in dataset.cases]


def test_rejected_rows_leave_and_edited_ones_change(tmp_path: Path) -> None:
    """The id stays, places follow the rows that are left, and the hash of the data is another."""
    edit = {"question": "How many days?", "reference": "three"}
    written(tmp_path / "a.csv", said(0, "accept"), said(1, "Reject "), said(2, "edit", **edit))
    before, found = loaded(), reviewed(tmp_path)
    assert ids(found) == ["refunds-1", "refunds-3", "refunds-4"]
    assert [case.index for case in found.cases] == [0, 1, 2]
    assert [case.row for case in found.cases] == [1, 3, 4]
    changed = found.cases[1]
    assert isinstance(changed, Sample)
    assert (changed.question, changed.references) == ("How many days?", ("three",))
    assert found.reviewed == {"refunds-1", "refunds-3"}
    assert found.rejected == {"refunds-2"}
    assert len(found.lines) == 3
    assert found.sha256 != before.sha256
    remark = "dataset.reviews: 1 row rejected, 1 question edited by people (a.csv)"
    assert found.remarks == (remark,)
    assert found.warnings == ()


def test_a_pattern_may_match_nothing_and_then_nothing_changes(tmp_path: Path) -> None:
    """A path must be there; a file is read once, whatever names it."""
    data = loaded()
    assert reviewed(tmp_path, "questions-review*.csv", "more/**/*.csv", data=data) == data
    hint = (
        " For files that are yet to come write a pattern, reviews: [questions-review*.csv]; "
        "pytest --rag-label=20 writes a page to review questions on"
    )
    wanted = f"bot.rageval.yaml:3: dataset.reviews: no file 'ann.csv' in {str(tmp_path)!r}.{hint}"
    assert problems(tmp_path, "ann.csv") == [wanted]
    path = written(tmp_path / "[ann].csv", said(0, "edit", question="Q?"))
    assert reviewed(tmp_path, path.name, "*.csv", str(tmp_path / "*")).reviewed == {"refunds-1"}
    once, twice = reviewed(tmp_path), reviewed(tmp_path, path.name, "*.csv", str(tmp_path / "*"))
    assert once.sha256 == twice.sha256


def test_the_hash_is_that_of_the_files_on_disk(tmp_path: Path) -> None:
    """Whoever compares data on disk with a run's needs not read the rows."""
    (tmp_path / "rows.csv").write_text("id,question,references\na,Q?,R\nb,Q2?,R\n", "utf-8")
    spec = DatasetSpec(path="rows.csv", reviews=["r*view.csv"])
    plain = load_dataset(spec, tmp_path, "bot.rageval.yaml:2")
    assert data_digest(spec, tmp_path) == plain.sha256
    written(tmp_path / "review.csv", said(0, "reject", data=plain))
    found = with_reviews(plain, spec.reviews, tmp_path, "")
    assert ids(found) == ["b"]
    assert data_digest(spec, tmp_path) == found.sha256 != plain.sha256


def test_a_review_of_another_wording_does_not_count_and_is_said(tmp_path: Path) -> None:
    """Question, references and evidence make the wording; a newer review of the row settles it."""
    written(tmp_path / "a.csv", *(said(at, "reject") for at in range(4)))
    changed = [
        {**ROWS[0], "question": "How long?"},
        {**ROWS[1], "references": ["two days"]},
        {**ROWS[2], "evidence": ["They take 3 days."]},
        {**ROWS[3], "doc_name": "refunds.md"},
    ]
    data = loaded(changed)
    found = reviewed(tmp_path, data=data)
    assert ids(found) == ["refunds-1", "refunds-2", "refunds-3"]
    assert found.warnings == (
        "dataset.reviews: reviews of 3 rows are of an earlier wording and not counted (refunds-1, "
        "refunds-2, refunds-3): review them again (pytest --rag-label 3; a.csv)",
    )
    written(tmp_path / "b.csv", said(0, "accept", data=data), said(1, "reject", data=data))
    written(tmp_path / "c.csv", said(2, "accept"))  # a second review of that wording
    found = reviewed(tmp_path, data=data)
    assert (ids(found), found.reviewed) == (["refunds-1", "refunds-3"], {"refunds-1"})
    assert found.warnings[0].startswith("dataset.reviews: reviews of 1 row are of an earlier word")


@pytest.mark.parametrize(
    ("verdicts", "left", "counting"),
    [
        (("accept", "reject"), 3, set()),
        (("edit", "reject"), 3, set()),
        (("accept", "edit"), 4, {"refunds-1"}),
    ],
)
def test_of_two_people_the_stricter_counts(
    tmp_path: Path, verdicts: tuple[str, str], left: int, counting: set[str]
) -> None:
    """Whatever the order of the files."""
    for names in (("a", "b"), ("b", "a")):
        for name, verdict in zip(names, verdicts, strict=True):
            more = {"question": "So?"} if verdict == "edit" else {}
            written(tmp_path / f"{name}.csv", said(0, verdict, name, **more))
        found = reviewed(tmp_path)
        assert (len(found.cases), found.reviewed) == (left, counting)
        first = found.cases[0]
        assert isinstance(first, Sample)
        assert (first.question == "So?") == ("edit" in verdicts and left == 4)


def test_a_review_of_an_edited_wording_counts(tmp_path: Path) -> None:
    """Bo sees what Ann made of the question, and the strictest verdict counts."""
    written(tmp_path / "b.csv", *(said(at, "edit", question="So?") for at in range(4)))
    shown = reviewed(tmp_path)
    edit = said(2, "edit", "Bo", data=shown, reference="three")
    own = said(3, "accept", data=shown)
    written(tmp_path / "a.csv", said(0, "reject", "Bo", data=shown), edit, own)
    found = reviewed(tmp_path)
    assert ids(found) == ["refunds-2", "refunds-3", "refunds-4"]
    twice = found.cases[1]
    assert isinstance(twice, Sample)
    assert (twice.question, twice.references, twice.index) == ("So?", ("three",), 1)
    assert found.remarks == (
        "dataset.reviews: 1 row rejected, 3 questions edited by people (a.csv, b.csv)",
    )
    assert found.warnings == ()


def test_mistakes_in_a_review_of_an_edited_wording_are_said(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", said(0, "edit", question="So?"))
    shown = reviewed(tmp_path)
    changed = said(0, "accept", "Bo", data=shown, question="How?")
    written(tmp_path / "b.csv", changed)
    assert problems(tmp_path) == [
        "b.csv:2: 'refunds-1': accept, but 'question' is not as it was shown; to change it write "
        "edit"
    ]


def test_a_review_of_an_edit_that_is_gone_is_said(tmp_path: Path) -> None:
    """Ann has changed her edit since Bo rejected it."""
    written(tmp_path / "a.csv", said(0, "edit", question="So?"))
    written(tmp_path / "b.csv", said(0, "reject", "Bo", data=reviewed(tmp_path)))
    written(tmp_path / "a.csv", said(0, "edit", question="How?"))
    (warning,) = reviewed(tmp_path).warnings
    assert "reviews of 1 row are of an earlier wording and not counted (refunds-1)" in warning


def test_edits_that_lead_back_to_the_wording_of_the_data_end(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", said(0, "edit", question="So?"))
    question = str(ROWS[0]["question"])
    written(tmp_path / "b.csv", said(0, "edit", "Bo", data=reviewed(tmp_path), question=question))
    assert reviewed(tmp_path).cases[0] == loaded().cases[0]


def test_two_reviews_that_cannot_both_be_meant_are_a_problem(tmp_path: Path) -> None:
    """Two edits that agree are none, nor is one file downloaded twice."""
    edit = said(0, "edit", question="How many?")
    same = {**edit, "reviewer": "Bo", "question": "How  many?"}
    written(tmp_path / "a.csv", edit, said(1, "accept"))
    written(tmp_path / "a (1).csv", edit, said(1, "accept"), same)
    assert reviewed(tmp_path).reviewed == {"refunds-1", "refunds-2"}
    other = {**same, "question": "How few?"}
    written(tmp_path / "b.csv", other, said(1, "reject", "ANN"))
    assert problems(tmp_path, "a.csv", "b.csv") == [
        "b.csv:2: 'refunds-1' is edited in another way at a.csv:2; keep one",
        "b.csv:3: 'ANN' says something else of 'refunds-2' at a.csv:3; keep one",
    ]


def test_all_problems_are_said_at_once_with_their_lines(tmp_path: Path) -> None:
    """A verdict that is blank says nothing yet."""
    written(
        tmp_path / "a.csv",
        said(0, "acept"),
        said(0, "", reviewer=""),
        said(1, "accept", reviewer=" "),
        said(2, "reject", digest=""),
        said(2, "reject", digest="1E+11"),
        said(2, "reject", id=""),
        said(3, "accept", question="How long?", reference="4"),
        said(3, "edit", question=" "),
        said(3, "edit", reference=""),
    )
    written(tmp_path / "b.csv", said(0, "reject")).write_text("id,verdict\na,reject\n", "utf-8")
    assert problems(tmp_path) == [
        "a.csv:2: 'refunds-1': verdict 'acept': expected accept, edit, reject. Did you mean "
        "'accept'?",
        "a.csv:4: 'refunds-2': no 'reviewer'; write who says so",
        "a.csv:5: 'refunds-3': no 'digest': it tells which wording was reviewed, and --rag-label "
        "writes it",
        "a.csv:6: 'refunds-3': digest '1e+11': expected an x and 12 hexadecimal digits, as "
        "--rag-label writes",
        "a.csv:7: no 'id'",
        "a.csv:8: 'refunds-4': accept, but 'question' is not as it was shown; to change it write "
        "edit; accept, but 'reference' is not as it was shown; to change it write edit",
        "a.csv:9: 'refunds-4': edit, but no 'question'; to take the row out write reject",
        "a.csv:10: 'refunds-4': edit, but no 'reference'; to take the row out write reject",
        "b.csv: no column 'question' and no 'reference' and no 'reviewer' and no 'digest'; it has: "
        "id, verdict. A file of reviews has the columns that --rag-label N writes",
    ]


def test_a_sheet_without_a_verdict_is_said(tmp_path: Path) -> None:
    """It is likely the one that was written, in place of the one that was downloaded."""
    written(tmp_path / "a.csv", said(0, ""), said(1, ""))
    found = reviewed(tmp_path)
    assert found.warnings == (
        "dataset.reviews: none of the 2 rows of a.csv has a verdict; if you reviewed in the "
        "browser, put the file here that it downloaded",
    )
    assert (found.reviewed, found.rejected, len(found.cases)) == (frozenset(), frozenset(), 4)


def test_reviews_of_other_rows_are_counted(tmp_path: Path) -> None:
    """A limit leaves rows out, and nobody knows which."""
    written(tmp_path / "a.csv", said(0, "accept"), said(3, "reject"), said(2, "accept", id="x"))
    assert reviewed(tmp_path).remarks[1:] == (
        "dataset.reviews: 1 review of rows that the data lack (a.csv)",
    )
    assert reviewed(tmp_path, data=loaded(limit=2)).remarks == (
        "dataset.reviews: 2 reviews of rows that the data lack or dataset.limit leaves out (a.csv)",
    )


def test_data_of_rejected_rows_alone_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "a.csv", *(said(at, "reject") for at in range(4)))
    assert problems(tmp_path) == [
        "bot.rageval.yaml: no rows: people rejected all 4 (dataset.reviews: a.csv); an empty data "
        "set tests nothing"
    ]


def test_an_edit_keeps_the_references_that_it_does_not_touch(tmp_path: Path) -> None:
    """Several have a blank line between; an unanswerable question may have none."""
    rows = [
        {**ROWS[0], "references": ["1 day", "one day"]},
        {**ROWS[1], "references": [["2 days", "two"], ["48 hours"]]},
        {"id": "u", "question": "Is it free?", "references": [], "evidence": []},
        {**ROWS[3], "references": ["4 days", "four\n\ndays\n\n", "96 h"]},
    ]
    data = loaded(rows)
    written(
        tmp_path / "a.csv",
        said(0, "edit", data=data, question="So?"),
        said(1, "edit", data=data, reference="2 days\r\n\r\ntwo"),
        said(2, "edit", data=data, question="Is it cheap?"),
        said(3, "edit", data=data, reference="4 Days\n\nfour\r\n\r\ndays\n\n96 hours"),
    )
    first, second, third, fourth = (
        case for case in reviewed(tmp_path, data=data).cases if isinstance(case, Sample)
    )
    assert (first.question, first.references) == ("So?", ("1 day", "one day"))
    assert second.references == ("2 days", "two")
    assert second.reference_groups is None
    assert (third.question, third.references) == ("Is it cheap?", data.cases[2].references)
    assert fourth.references == ("4 Days", "four\n\ndays", "96 hours")  # not "days" by itself


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["1 day"], ("one day", "24 hours")),
        (["1 day\n\nor two"], ("one day\n\n24 hours",)),  # a text of two paragraphs
        ([], ("one day", "24 hours")),
        (["1 day", "one\n\nday"], None),  # of which the second is a text of two paragraphs
    ],
)
def test_an_edit_adds_references(
    tmp_path: Path, before: list[str], after: tuple[str, ...] | None
) -> None:
    """A blank line is between two, unless it is within the text that was shown."""
    data = loaded([{**ROWS[0], "references": before}])
    written(tmp_path / "a.csv", said(0, "edit", data=data, reference="one day\n\n24 hours"))
    if after is None:
        with pytest.raises(ScenarioError, match=r"where each reference ends: .* paragraphs \(3\)"):
            reviewed(tmp_path, data=data)
        return
    (case,) = reviewed(tmp_path, data=data).cases
    assert isinstance(case, Sample)
    assert case.references == after


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_spreadsheets_do_to_a_file_is_understood(tmp_path: Path, encoding: str) -> None:
    """Semicolons, other line ends, verdicts in capitals, texts quoted against formulas."""
    data = loaded([{**ROWS[0], "question": "=多久？\n几天？"}, ROWS[1]])
    rows = [
        said(0, "ACCEPT", data=data, question="'=多久？\r\n几天？"),
        said(1, "reject", data=data),
    ]
    path = written(tmp_path / "a.csv", *rows)
    text = path.read_text("utf-8-sig").replace(",", ";")
    path.write_text(text, encoding)
    found = reviewed(tmp_path, data=data)
    assert (ids(found), found.reviewed) == (["refunds-1"], {"refunds-1"})


def test_an_id_that_lost_its_zeros_is_found_again(tmp_path: Path) -> None:
    """A spreadsheet takes 002 for a number; of 05 and 005 the digest tells which is meant."""
    names = ["000", "002", "05", "005", "6", "06"]
    rows = [{**ROWS[0], "id": name, "question": f"What is {name}?"} for name in names]
    data = loaded(rows)
    written(
        tmp_path / "a.csv",
        said(0, "reject", data=data, id="0"),
        said(1, "edit", data=data, id="2", question="So?"),
        said(3, "reject", data=data, id="5"),
        said(4, "reject", data=data),
        said(2, "reject", data=data, id="5", digest="x" + 12 * "0"),
        said(2, "reject", data=data, id="7"),
    )
    found = reviewed(tmp_path, data=data)
    assert ids(found) == ["002", "05", "06"]
    assert found.remarks[-1] == "dataset.reviews: 2 reviews of rows that the data lack (a.csv)"
    written(tmp_path / "b.csv", said(0, "reject", "Bo", data=found, id="2"))
    assert ids(reviewed(tmp_path, data=data)) == ["05", "06"]  # it is about the edit


def test_a_file_in_another_encoding_says_how_to_save_it(tmp_path: Path) -> None:
    data = loaded([{**ROWS[0], "question": "退货要多久？"}])
    written(tmp_path / "a.csv", said(0, "accept", data=data), encoding="gb18030")
    with pytest.raises(ScenarioError, match=r"退货要多久.*: save it as CSV UTF-8 if that is right"):
        reviewed(tmp_path, data=data)


def test_evidence_is_the_same_whether_it_is_read_as_contexts_or_not() -> None:
    """So that a review outlives a change of the key_map."""
    mapped, plain = (
        load_dataset(DatasetSpec(rows=ROWS[:1], key_map=key_map), Path(), "")
        for key_map in ({"reference_contexts": "evidence"}, {})
    )
    for data in (mapped, plain):
        (case,) = data.cases
        assert isinstance(case, Sample)
        assert evidence_of(case) == ("In region 1 they take 1 days.",)
        assert passages_of(case) == ("Refunds. In region 1 they take 1 days. Ask us.",)
        assert review_digest(case) == said(0, "accept")["digest"]


def test_a_verdict_that_is_an_error_of_a_workbook_is_said(tmp_path: Path) -> None:
    """It is read as blank, and the row stays in."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cells in (COLUMNS, said(0, "accept").values(), said(1, "#N/A").values()):
        book.active.append([*cells])
    book.save(tmp_path / "reviews.xlsx")
    found = reviewed(tmp_path, "reviews.xlsx")
    assert found.reviewed == {"refunds-1"}
    (warning,) = found.warnings
    assert warning.startswith("dataset.reviews: reviews.xlsx:3: the cell D3 has the error #N/A")
