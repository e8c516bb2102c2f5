"""Proposes the column of each field, with what speaks for it, and says what is not decided.

A wrong field is worse than none. What may be the gold or the system's answer is left to the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.datasets.cells import BadValueError
from pytest_rageval.datasets.id_cells import reference_ids, retrieved_ids
from pytest_rageval.datasets.proposer.answers import Answers
from pytest_rageval.datasets.proposer.columns import Column, Table, odd_turns_of
from pytest_rageval.datasets.proposer.draft import (
    AS_SAID,
    DOCUMENTS,
    GOLD_FIELDS,
    NUGGETS,
    SPARSE,
    FoundColumn,
    Way,
)
from pytest_rageval.datasets.proposer.names import (
    ALIASES,
    CHECK_FIELDS,
    Surely,
    mark_between,
)
from pytest_rageval.scenario.column_names import (
    kinds_of,
    snake_case,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF

_FEW: Final = 5
_OF_INSPECT: Final = frozenset({"sample_id", "eval_id", "log", "epoch"})
"""Columns that the data frames of Inspect (inspect_ai) have."""

_IDS_OF_ROWS: Final = frozenset(
    {"id", "qid", "query_id", "question_id", "case_id", "test_id", "item_id"}
    | {"uuid", "sample_id", "test_case_id", "编号", "序号"}
)
_MARKS_OF_GOLD: Final = frozenset(
    {"is_selected", "is_supporting", "is_gold", "is_relevant", "is_positive", "supporting_facts"}
)
"""What marks some passages of a list as the right ones: the others are there to mislead."""

_DEGREES: Final = frozenset({"relevance", "rel", "grade"})
_GRADES: Final = frozenset({"label", "relevant", "is_relevant"}) | _DEGREES
"""Columns that may say so of the passage of a row; degrees may be more than two."""


@dataclass(frozen=True)
class Mapped:
    """The column of each field.

    ``doubt`` says why it cannot be told what a column is, and ``ways`` are the key maps that would
    tell; "" and () where there is no doubt. ``systems`` are columns with the answers of several
    systems, which can be variants. ``notes`` are what was left out, each with the way to take it,
    None where there is none. ``human`` is a column of people's verdicts on the answers, and
    ``split`` the mark that may divide several right answers in a cell, "" without one.
    """

    fields: Mapping[str, FoundColumn]
    doubt: str = ""
    ways: tuple[Way, ...] = ()
    systems: tuple[str, ...] = ()
    notes: tuple[tuple[str, Way | None], ...] = ()
    human: str = ""
    split: str = ""

    @property
    def served(self) -> frozenset[str]:
        """The columns of the fields."""
        return frozenset(found.column for found in self.fields.values())

    @property
    def has_gold(self) -> bool:
        """Whether a field says what a right answer, or a right search result, is."""
        return not GOLD_FIELDS.isdisjoint(self.fields)


def map_columns(
    table: Table,
    file_stem: str,
    given: Mapping[str, str],
    systems: Sequence[str] = (),
    *,
    is_answered: bool = False,
) -> Mapped:
    """Return the column of each field that is decided, and what is not.

    ``file_stem`` may say whose answers the file has. ``given`` is a ``key_map`` that the user
    wrote: it holds, and its columns serve nothing else. ``systems`` are the columns with the
    answers of several systems, if the user named them. ``is_answered``: a column ``answer`` is what
    a system said, as in traces.
    """
    draft = _Fields(table, {FIELD_OF.get(name, name): column for name, column in given.items()})
    if systems:
        draft.fields["answer"] = FoundColumn(systems[0], "of the first variant")
        draft.systems = tuple(systems)
    for name in ("question", "references", *CHECK_FIELDS, "reference_ids", "retrieved_ids"):
        draft.take_best(name)
    draft.note_odd_turns()
    draft.take_yes_and_no()
    draft.take_nuggets()
    if is_answered:
        draft.take_answered()
    draft.take_answer()
    draft.settle_bare_answer(file_stem)
    draft.settle_passage()
    draft.settle_wrong_gold()
    draft.settle_contexts()
    draft.take_aliases()
    draft.drop_other_ids()
    draft.take_id()
    draft.take_document()
    order = [*FIELD_ALIASES, ALIASES, NUGGETS]
    return Mapped(
        {name: draft.fields[name] for name in order if name in draft.fields},
        draft.doubt,
        draft.ways,
        draft.systems,
        tuple(draft.notes),
        draft.human_column(),
        draft.mark_of_references(),
    )


@dataclass
class _Fields(Answers):
    """The fields beside answers and gold: contexts, ids, documents, labels."""

    def note_odd_turns(self) -> None:
        """Say which message keeps a place of the chats from being the questions."""
        for column in self.table.columns if "question" not in self.fields else ():
            for place, row in odd_turns_of(column):
                self._note(f"{place!r} is no person's message in row {row}", "question", place)

    def take_yes_and_no(self) -> None:
        """Take yes and no as gold as the reader does: under a documented name, without others."""
        named = [one for one in self.table.columns if one.name in FIELD_ALIASES["references"]]
        if "references" not in self.fields and [one.says_yes_or_no for one in named] == [True]:
            self.fields["references"] = FoundColumn(named[0].name, Surely.DOCUMENTED.why)

    def take_nuggets(self) -> None:
        """Take lists that are called nuggets: no data have another word for them."""
        if NUGGETS not in self.fields and self.table[NUGGETS].is_list:
            self.fields[NUGGETS] = FoundColumn(NUGGETS, Surely.DOCUMENTED.why)

    def settle_contexts(self) -> None:
        """Decide which contexts a system found, and which it should find."""
        self.take_best("contexts")
        self.take_best("reference_contexts")
        fits = self._of("contexts?")
        if not fits:
            return
        is_answered = "answer" in self.fields and "contexts" not in self.fields
        name = "contexts" if is_answered else "reference_contexts"
        if name in self.fields:
            return
        column = min(fits, key=lambda name: self._rank("contexts", name))
        why = "beside answers" if is_answered else "to be found: the data have no answers"
        if name == "reference_contexts" and (mark := self._mark_of_gold(column)):
            self._note(f"{column!r} holds wrong passages, too (see {mark!r})", name, column)
        else:
            self.fields[name] = FoundColumn(column, why)

    def _mark_of_gold(self, column: str) -> str:
        """Return what marks some passages of a column, not all, as the right ones, "" if nothing.

        A label of more than two classes may be that of the question.
        """
        names = {
            snake_case(other.name.rpartition(".")[2]): other.name for other in self.table.columns
        }
        if beside := _MARKS_OF_GOLD & names.keys():
            return names[min(beside)]
        flags = (names[one] for one in sorted(_GRADES & names.keys()))
        if flag := next((name for name in flags if self._tells_apart(name)), ""):
            return flag
        parts = _parts(self.table[column])
        keys = {str(key) for part in parts if isinstance(part, Mapping) for key in part}
        return min(_MARKS_OF_GOLD & keys, default="")

    def _tells_apart(self, column: str) -> bool:
        cells = self.table[column]
        if snake_case(column.rpartition(".")[2]) in _DEGREES and cells.is_number:
            return len(cells.distinct) > 1 and any(map(_is_none, cells.distinct))
        return cells.are_flags and len(cells.distinct) == 2

    def take_aliases(self) -> None:
        """Take further right answers, as the gold itself where there is no other."""
        fits = [name for name in self._of(ALIASES) if self.table[name].is_text]
        if not fits or self.doubt:
            return
        name = ALIASES if "references" in self.fields else "references"
        self.fields.setdefault(name, FoundColumn(fits[0], "more right answers, by its name"))

    def drop_other_ids(self) -> None:
        """Leave out ids to find that are never among those found: they are of something else.

        Under a documented name they are not: then the search finds nothing, which is said.
        """
        found, wanted = self.fields.get("retrieved_ids"), self.fields.get("reference_ids")
        if found is None or wanted is None or wanted.why == AS_SAID:
            return
        cells = zip(self.table[found.column].cells, self.table[wanted.column].cells, strict=True)
        pairs = [(one, two) for one, two in cells if one is not None and two is not None]
        if {_are_found(one, two) for one, two in pairs} - {None} == {False}:
            why = f"no id in {wanted.column!r} is ever found in {found.column!r}"
            if wanted.why == Surely.DOCUMENTED.why:
                why = f"{why}: remove recall@5, mrr and its gate, or make the ids alike"
                self.notes.append((why, None))
                return
            del self.fields["reference_ids"]
            self._note(why, "reference_ids", wanted.column)

    def take_id(self) -> None:
        """Take the ids of the rows; a column ``id`` that repeats is gold if there is no other."""
        if "id" in self.fields:
            return
        for column in self._left():
            cells = self.table[column]
            if snake_case(column) not in _IDS_OF_ROWS or not cells.filled:
                continue
            if len(cells.distinct) == len(cells.filled):
                if "id" not in self.fields:
                    self.fields["id"] = FoundColumn(column, "different where it is filled")
            elif snake_case(column) == "id" and GOLD_FIELDS.isdisjoint(self.fields):
                self.fields["reference_ids"] = FoundColumn(
                    column, "the documents to find: it repeats for different questions"
                )

    def take_document(self) -> None:
        """Take the document that a row belongs to."""
        fits = [
            name
            for name in self._left()
            if snake_case(name) in DOCUMENTS or self._field_of(name) == "doc_name"
        ]
        fits = [name for name in fits if self._may_name_documents(self.table[name])]
        if fits and "doc_name" not in self.fields:
            best = min(fits, key=lambda name: self._rank("doc_name", name))
            self.fields["doc_name"] = FoundColumn(best, "by its name")

    def human_column(self) -> str:
        """Return the column of people's verdicts on the answers, "" without one."""
        if "answer" not in self.fields:
            return ""
        verdicts = (
            name
            for name in self._left()
            if self.table[name].are_flags
            and len(self.table[name].distinct) == 2
            and "human" in kinds_of(name)
        )
        return next(verdicts, "")

    def mark_of_references(self) -> str:
        """Return the mark that may divide several right answers in a cell, "" without one."""
        found = self.fields.get("references")
        if found is None or self.table[found.column].is_list:
            return ""
        names = {column.name for column in self.table.columns}
        texts = [cell for cell in self.table[found.column].filled if type(cell) is str]
        if found.column == "target" and names >= _OF_INSPECT and any("," in text for text in texts):
            return ","  # which its data frames join lists by
        return mark_between(texts)

    def _may_name_documents(self, column: Column) -> bool:
        return bool(column.filled) and not column.is_list and column.typical_length < 200


def _is_none(grade: str) -> bool:
    try:
        return float(grade) <= 0
    except ValueError:
        return grade == "false"


def _are_found(found: Any, wanted: Any) -> bool | None:
    """Return whether any id of a row is found, as they are read; None where one cannot be read."""
    try:
        return not {*retrieved_ids(found)}.isdisjoint(reference_ids(wanted) or ())
    except BadValueError:
        return None


def could_be(table: Table, name: str) -> Iterator[str]:
    """Yield the columns whose cells could be a field that no name speaks of, the likeliest first.

    Questions and answers are texts that hardly repeat (``Column.repeats``); questions often end
    with a question mark. Documents to find may repeat.
    """
    columns = [column for column in table.columns if column.is_text and column.share > SPARSE]
    columns = [one for one in columns if not any(isinstance(c, dict) for c in _parts(one, _FEW))]
    if name == "reference_ids":
        yield from (one.name for one in columns if snake_case(one.name) in DOCUMENTS)
        return
    other = {"score", "about", "negative", "id", "run"}
    of_others = {"asked", "question", "document", "context"}
    other |= of_others if name != "question" else {"gold", "reference"}
    texts = [
        column
        for column in columns
        if not column.repeats and not column.is_number and not kinds_of(column.name) & other
    ]
    if name == "question":
        texts = [one for one in texts if not one.is_list and (one.is_prose or _questions_in(one))]
        texts.sort(key=_questions_in, reverse=True)
    prose = [column.name for column in texts if column.is_prose]
    yield from dict.fromkeys([*prose, *(column.name for column in texts)])
    if name == "references":
        flags = (
            one.name
            for one in table.columns
            if (one.says_yes_or_no or (one.are_flags and not one.is_flag)) and one.share > SPARSE
        )
        yield from (one for one in flags if "gold" in kinds_of(one) and not kinds_of(one) & other)


def _parts(column: Column, most: int | None = None) -> Iterator[Any]:
    for cell in column.filled[:most]:
        yield from cell if isinstance(cell, list) else [cell]


def _questions_in(column: Column) -> int:
    return sum(text.rstrip().endswith(("?", "？")) for text in column.texts)
