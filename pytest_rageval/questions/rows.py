"""The files of a made test set: the rows that count, and the rejected ones with their reasons.

Rows are added to both: a slot that is in one of them is not asked for again, and rows that a person
wrote or changed stay as they are. Only a slot whose reply was unreadable is asked for again, and
its rejected row then goes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import is_by_model
from pytest_rageval.questions.base import (
    PASSAGES,
    REASONS,
    SHARES,
    MadeQuestion,
    Passage,
    Slot,
    question_row,
)
from pytest_rageval.questions.duplicates import AskedBefore
from pytest_rageval.questions.make import Outcome
from pytest_rageval.questions.slots import Filled
from pytest_rageval.text.codec import read_json
from pytest_rageval.text.tokenize import normalize_unicode

QUESTIONS: Final = "questions.jsonl"
REJECTED: Final = "rejected.jsonl"

_AGAIN: Final = ("unreadable",)
"""Reasons for which a slot is asked for again: they say nothing of a question."""

NUGGETS: Final = "nuggets"
"""The column of what an answer has to say."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """The rows that a folder has already; ``text`` is the file of questions as it is."""

    text: str = ""
    rows: Sequence[Row] = ()
    rejected: Sequence[Row] = ()

    @classmethod
    def of(cls, folder: Path) -> Known:
        """Return what the files in ``folder`` hold; raises UserError for one that is broken."""
        text = text_of(folder / QUESTIONS)
        rejected = rows_in(text_of(folder / REJECTED), REJECTED)
        return cls(text, rows_in(text, QUESTIONS), rejected)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the rows that need not be made."""
        return frozenset(str(row.get("id")) for row in self._settled)

    @property
    def filled(self) -> list[Filled]:
        """The slots that need not be asked for, also of questions that people took over.

        A row without passages fills none.
        """
        return [
            Filled(str(row.get("id")), row["question_type"], passages)
            for row in self._settled
            if (passages := _texts(row, PASSAGES)) and str(row.get("question_type")) in SHARES
        ]

    @property
    def _settled(self) -> list[Row]:
        """The rows that need not be made; one in both files once."""
        ids = {str(row.get("id")) for row in self.rows}
        rejected = (row for row in self.rejected if str(row.get("id")) not in ids)
        return [*self.rows, *(row for row in rejected if row.get("reason") not in _AGAIN)]

    @property
    def without_nuggets(self) -> list[str]:
        """The ids of the questions that the documents answer and that have no list of nuggets."""
        return [
            str(row.get("id"))
            for row in self.rows
            if row.get("answerable") is not False and not row.get(NUGGETS)
        ]

    def outdated(self, passages: Collection[Passage]) -> list[str]:
        """Return the ids of made rows of which a quote stands in no passage any more."""
        texts = dict.fromkeys(passage.text for passage in passages)

        def holds(row: Row, quote: str) -> bool:
            own = [text for text in _texts(row, "reference_contexts") if text in texts]
            return any(quote in text for text in chain(own, texts))

        return [
            str(row.get("id"))
            for row in self.rows
            if is_by_model(row) and not all(holds(row, quote) for quote in _texts(row, "evidence"))
        ]


def _texts(row: Row, column: str) -> list[str]:
    found = row.get(column)
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def text_of(path: Path) -> str:
    """Return what a file holds, with its line ends as they are; "" if there is no file.

    Raises UserError if it cannot be read.
    """
    try:
        return path.read_bytes().decode() if path.exists() else ""
    except (OSError, ValueError) as error:
        raise UserError([Problem(path.name, f"cannot be read: {error}")]) from error


def rows_in(text: str, name: str) -> list[Row]:
    """Return the rows in the ``text`` of the file ``name``; raises UserError for a bad line."""
    rows: list[Row] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = read_json(line)
        except ValueError as error:
            raise UserError([Problem(f"{name}:{number}", f"no JSON: {error}")]) from error
        if not isinstance(row, dict):
            raise UserError([Problem(f"{name}:{number}", "expected an object")])
        rows.append(row)
    return rows


@dataclass(frozen=True)
class QuestionSet:
    """New rows that count, and rejected ones, both in the order of the slots."""

    rows: Sequence[Row]
    rejected: Sequence[Outcome]

    def without(self, ids: Collection[str]) -> QuestionSet:
        """Return the rows that have none of these ids."""
        return QuestionSet(
            [row for row in self.rows if row["id"] not in ids],
            [one for one in self.rejected if one.slot.id not in ids],
        )

    def questions_text(self, known: Known) -> Iterator[str]:
        """Yield the file of questions: what it has, and the new rows."""
        yield known.text
        if known.text and not known.text.endswith("\n"):
            yield "\n"
        yield from map(line_of, self.rows)

    def changes_rejected(self, known: Known) -> bool:
        """Return whether the file of rejected rows gets another text."""
        return bool(self.rejected) or len(self._left(known)) < len(known.rejected)

    def rejected_text(self, known: Known) -> Iterator[str]:
        """Yield the file of rejected rows: those of before, but for what was asked for again."""
        yield from map(line_of, self._left(known))
        yield from (line_of(_rejected_row(one)) for one in self.rejected)

    def _left(self, known: Known) -> list[Row]:
        """Return the rejected rows of before, but for unreadable ones whose passage came up again.

        The first passage decides: the slot may be of another type now.
        """
        made = {tuple(row[PASSAGES]) for row in self.rows}
        made |= {tuple(p.digest for p in one.slot.passages) for one in self.rejected}
        firsts = {passages[0] for passages in made}
        return [
            row
            for row in known.rejected
            if row.get("reason") not in _AGAIN or firsts.isdisjoint(_texts(row, PASSAGES)[:1])
        ]


def line_of(row: Row) -> str:
    """Return a row as a line of its file."""
    return json.dumps(row, ensure_ascii=False) + "\n"


def _rejected_row(one: Outcome) -> Row:
    row = question_row(one.slot, one.made or MadeQuestion(""), common_knowledge=False)
    row.pop("common_knowledge")
    head = {"id": row.pop("id"), "reason": one.reason, "why": REASONS[one.reason]}
    return {**head, "detail": one.detail, **row}


def settled(outcomes: Sequence[Outcome], known: Known) -> QuestionSet:
    """Return which of the outcomes count and which are rejected; none of them may have failed.

    What is nearly the same as a question that counts is rejected, and the same as a rejected one.
    """
    book = _Book(known)
    rows: list[Row] = []
    rejected: list[Outcome] = []
    for outcome in outcomes:
        reason, detail = outcome.reason, outcome.detail
        if not reason:
            reason, detail = book.repeated(outcome)
        if reason:
            rejected.append(replace(outcome, reason=reason, detail=detail))
            book.reject(outcome, reason)
        elif outcome.made is not None:
            book.accept(outcome)
            known_too = outcome.common_knowledge
            rows.append(question_row(outcome.slot, outcome.made, common_knowledge=known_too))
    return QuestionSet(rows, rejected)


class _Book:
    """What was asked before, and what was rejected."""

    def __init__(self, known: Known) -> None:
        # A comparison is no repetition of the question about one half of it.
        self._asked = {True: AskedBefore(), False: AskedBefore()}
        self._questions: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        for number, row in enumerate(known.rows, 1):
            name, question = str(row.get("id") or f"line {number}"), row.get("question")
            if isinstance(question, str):
                self._add(name, row.get("question_type"), question, _answer_of(row))
        for row in known.rejected:
            question = row.get("question")
            if isinstance(question, str) and row.get("reason") not in _OF_OTHERS:
                self._refused.setdefault(_key(question), str(row.get("id")))

    def repeated(self, outcome: Outcome) -> tuple[str, str]:
        """Return why a question does not count, and which one it repeats; "" twice if it counts."""
        if outcome.made is None:
            return "", ""
        question, kind = outcome.made.question, outcome.slot.type
        asked = self._asked[kind == "comparison"]
        other = asked.find(question, _answer(outcome.slot, outcome.made))
        if other is not None:
            return "duplicate", f"{other}: {self._questions[other]}"
        refused = self._refused.get(_key(question))
        return ("", "") if refused is None else ("rejected_before", refused)

    def accept(self, outcome: Outcome) -> None:
        assert outcome.made is not None
        slot, made = outcome.slot, outcome.made
        self._add(slot.id, slot.type, made.question, _answer(slot, made))

    def reject(self, outcome: Outcome, reason: str) -> None:
        if outcome.made is not None and reason not in _OF_OTHERS:
            self._refused.setdefault(_key(outcome.made.question), outcome.slot.id)

    def _add(self, name: str, kind: object, question: str, answer: str) -> None:
        self._asked[kind == "comparison"].add(name, question, answer)
        self._questions.setdefault(name, question)


_OF_OTHERS: Final = ("unreadable", "duplicate", "rejected_before")
"""Reasons that are not the question's own."""


def _answer(slot: Slot, made: MadeQuestion) -> str:
    return "" if slot.type == "unanswerable" else made.answer


def _answer_of(row: Row) -> str:
    references = row.get("references")
    if row.get("answerable") is False or references is None:
        return ""
    is_list = isinstance(references, list | tuple)
    return " ".join(map(str, references)) if is_list else str(references)


def _key(question: str) -> str:
    return normalize_unicode(question).replace(" ", "")
