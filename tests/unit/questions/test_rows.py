"""E26: what the files of a made test set hold already."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_rageval.questions.base import MadeQuestion, Passage, Slot
from pytest_rageval.questions.make import Outcome
from pytest_rageval.questions.rows import Known, settled


class Searched(str):
    """A text that counts how often it, or another one, is searched for a quote."""

    times = 0

    def __contains__(self, quote: str) -> bool:
        Searched.times += 1
        return super().__contains__(quote)


def test_rows_whose_quotes_no_document_holds_any_more_are_found_fast() -> None:
    """2,000 quotes were looked for in 10,000 passages one by one; now three are, others in one."""
    texts = [Searched(f"The mill grinds rye and oats. Mill {at} is shut.") for at in range(10_000)]
    passages = [Passage("mills.md", "", text, at) for at, text in enumerate(texts)]
    rows = [
        {
            "id": str(at),
            "made_by": "model",
            "reference_contexts": [texts[-at]],
            "evidence": [f"Mill {10_000 - at} is shut."],
        }
        for at in range(1, 2_000)
    ]
    moved = {**rows[0], "id": "moved", "reference_contexts": ["What the passage was before."]}
    gone = {**rows[0], "id": "gone", "evidence": ["Mill 17 is open."]}
    changed = {**gone, "id": "changed", "reference_contexts": ["Mill 17 is open."]}
    of_people = {**gone, "id": "of people", "made_by": "Ann"}
    known = Known(rows=[*rows, moved, gone, changed, of_people])
    Searched.times = 0
    assert known.outdated(passages) == ["gone", "changed"]
    assert Searched.times <= 2_000 + 3 * 10_000


LOAN = Passage("loans.md", "", "A loan lasts three weeks. It costs nothing.", 1)
TOUR = Passage("tours.md", "", "A tour takes an hour. It begins at the gate.", 1)


def _unreadable(slot: Slot) -> dict[str, object]:
    made = settled([Outcome(slot, reason="unreadable")], Known())
    (line,) = made.rejected_text(Known())
    row: dict[str, object] = json.loads(line)
    return row


def test_what_was_unreadable_leaves_only_when_its_passage_comes_up_again() -> None:
    known = Known(rejected=[_unreadable(Slot("single", (LOAN,)))])
    question = MadeQuestion("How long does a tour of the mill take?", "An hour", ("A tour ...",))
    other = settled([Outcome(Slot("single", (TOUR,)), question)], known)
    assert [json.loads(line)["id"] for line in other.rejected_text(known)] == [
        known.rejected[0]["id"]
    ]
    assert not other.changes_rejected(known)
    again = settled([Outcome(Slot("paraphrase", (LOAN,)), question)], known)
    assert list(again.rejected_text(known)) == []
    assert again.changes_rejected(known)


def test_line_ends_and_a_mark_at_the_start_stay(tmp_path: Path) -> None:
    text = '\ufeff{"id": "a", "question": "Q?"}\r\n{"id": "b", "question": "R?"}\r\n'
    (tmp_path / "questions.jsonl").write_bytes(text.encode())
    known = Known.of(tmp_path)
    assert [row["id"] for row in known.rows] == ["a", "b"]
    assert "".join(settled([], known).questions_text(known)) == text


def test_a_row_with_a_type_and_passages_fills_a_slot_whoever_made_it() -> None:
    """One in both files fills it once; a row of another tool, without passages, fills none."""
    row = {"id": "a", "question_type": "single", "made_by": "model", "passages": [LOAN.digest]}
    rows = [{**row, "question_type": ["single"]}, {**row, "passages": []}]
    assert Known(rows=rows).filled == []
    of_ann = {**row, "id": "b", "made_by": "Ann"}
    known = Known(rows=[row, of_ann], rejected=[{**row, "reason": "not_alone"}])
    assert [one.id for one in known.filled] == ["a", "b"]


def test_references_that_are_no_list_are_one_answer() -> None:
    """They raised a TypeError, after all calls were paid."""
    rows = [{"id": "a", "question_type": "single", "question": "How many mills?", "references": 5}]
    made = Outcome(Slot("single", (TOUR,)), MadeQuestion("How many mills?", "5"))
    found = settled([made], Known(rows=rows))
    assert [one.reason for one in found.rejected] == ["duplicate"]
