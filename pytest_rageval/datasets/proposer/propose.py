"""Proposes the column of each field, with what speaks for it, and says what is not decided.

A wrong field is worse than none. What may be the gold or the system's answer is left to the user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.datasets.proposer.columns import Column, Table
from pytest_rageval.datasets.proposer.names import (
    ALIASES,
    CHECK_FIELDS,
    Spoken,
    Surely,
    are_labels,
    is_behaviour,
    mark_between,
    speaks_of,
)
from pytest_rageval.scenario.column_names import (
    is_bare_answer,
    kinds_of,
    read_field,
    snake_case,
    words_of,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.text.tokenize import split_characters

AS_SAID: Final = "as you said"
OF_TRACES: Final = "what the trace answered"
GOLD_FIELDS: Final = ("references", "reference_contexts", "reference_ids", *CHECK_FIELDS)
_ANSWERED: Final = ("contexts", "retrieved_ids")
_PASSAGE: Final = 300
"""Characters: a longer text may be the passage that holds the answer, and not the answer."""

_FEW: Final = 5
_MOST_SYSTEMS: Final = 8
_SPARSE: Final = 0.5
_WHY: Final = {
    Surely.DOCUMENTED: "its own name",
    Surely.OTHER_TOOLS: "by its name",
    Surely.WORDS: "by its name",
    Surely.UNSURE: "by its name",
}
_GOLD_FILES: Final = (
    *("gold", "golden", "ground_truth", "groundtruth"),
    *("标准答案", "标准问答", "标准集"),
)
_OF_INSPECT: Final = frozenset({"sample_id", "eval_id", "log", "epoch"})
_FILES_OF_RUNS: Final = frozenset(
    {"result", "results", "output", "outputs", "prediction", "predictions", "preds", "baseline"}
    | {"run", "response", "responses", "answers", "gpt", "llama", "claude", "model", "guess"}
    | {"结果", "输出", "预测", "回答"}
)
_SHORT: Final = 8
"""The most words of a typical answer that is the gold if it stands alone."""

_REPLIES: Final = ("response", "reply", "回复", "答复")
_OUTPUTS: Final = ("output", "outputs", "completion", "输出", "响应")
"""What only a system gives."""

_IDS: Final = frozenset({"id", "qid", "query_id", "question_id", "case_id", "test_id", "item_id"})
_IDS_OF_ROWS: Final = _IDS | {"uuid", "sample_id", "test_case_id", "编号", "序号"}
_DOCUMENTS: Final = frozenset(
    {"doc_name", "source", "source_file", "source_document", "file_name", "filename", "file"}
    | {"document", "document_name", "doc", "link", "url", "source_url"}
    | {"文档", "文件", "文件名", "来源"}
)
_MARKS_OF_GOLD: Final = frozenset(
    {"is_selected", "is_supporting", "is_gold", "is_relevant", "is_positive", "supporting_facts"}
)
"""What marks some passages of a list as the right ones: the others are there to mislead."""


@dataclass(frozen=True)
class FoundColumn:
    """The column of a field, and why it was chosen."""

    column: str
    why: str


@dataclass(frozen=True)
class Way:
    """One way to decide: ``field`` is read from ``column`` in the ``case`` described."""

    case: str
    field: str
    column: str


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
    def has_gold(self) -> bool:
        """Whether a field says what a right answer, or a right search result, is."""
        return any(name in self.fields for name in GOLD_FIELDS)


def map_columns(
    table: Table,
    file_stem: str,
    given: Mapping[str, str],
    systems: Sequence[str] = (),
    *,
    is_answered: bool = False,
) -> Mapped:
    """Return the fields of the columns.

    ``is_answered``: a column ``answer`` is what a system said, as in traces.

    ``given`` is a ``key_map`` that the user wrote: it holds, and its columns serve nothing else.
    ``systems`` are the columns with the answers of several systems, if the user named them.
    """
    draft = _Draft(table, {FIELD_OF.get(name, name): column for name, column in given.items()})
    if systems:
        draft.fields["answer"] = FoundColumn(systems[0], "of the first variant")
        draft.systems = tuple(systems)
    for name in ("question", "references", *CHECK_FIELDS, "reference_ids", "retrieved_ids"):
        draft.take_best(name)
    if is_answered:
        draft.take_answered()
    draft.take_answer()
    draft.settle_bare_answer(file_stem)
    draft.settle_passage()
    draft.settle_contexts()
    draft.take_aliases()
    draft.take_id()
    draft.take_document()
    order = [*FIELD_ALIASES, ALIASES]
    return Mapped(
        {name: draft.fields[name] for name in order if name in draft.fields},
        draft.doubt,
        draft.ways,
        draft.systems,
        tuple(draft.notes),
        draft.human_column(),
        draft.mark_of_references(),
    )


def _are_objects(column: Column) -> bool:
    return all(isinstance(part, Mapping) for cell in column.filled for part in cell)


def _ends_in_answer(name: str) -> bool:
    """Return whether a name such as ``Bot answer`` or ``reply`` says what a system said."""
    words = snake_case(name).split("_")
    return words != ["answer"] and words[-1] in ("answer", *_REPLIES)


@dataclass
class _Draft:
    """The fields that were found so far; a column serves one of them."""

    table: Table
    given: Mapping[str, str]
    fields: dict[str, FoundColumn] = field(default_factory=dict)
    doubt: str = ""
    ways: tuple[Way, ...] = ()
    systems: tuple[str, ...] = ()
    notes: list[tuple[str, Way | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fields |= {name: FoundColumn(column, AS_SAID) for name, column in self.given.items()}
        self._spoken: dict[str, Spoken] = {
            column.name: spoken
            for column in self.table.columns
            if (spoken := speaks_of(column)) is not None
        }
        if any(one.name == "document_position" for one in self.table.columns):
            # A row is a document that a search found: Phoenix calls its text so.
            self._spoken["reference"] = Spoken("contexts", Surely.DOCUMENTED)
        for name in self._numbered():
            if not self._field_of(name).startswith("answer"):
                self._spoken.pop(name, None)  # ``doc1``, ``doc2``: each is only a part

    def _numbered(self) -> list[str]:
        """Return the columns that differ from another one by the number at their end only."""
        names = [one.name for one in self.table.columns if one.name[-1:].isdigit()]
        stems = Counter(name.rstrip("0123456789") for name in names)
        return [name for name in names if stems[name.rstrip("0123456789")] > 1]

    def take_best(self, name: str) -> None:
        """Give a field the column whose name fits it best, unless another fits as well."""
        if name in self.fields:
            return
        fits = [column for column in self._of(name) if self._may_serve(name, column)]
        if not fits:
            return
        best, *others = sorted(fits, key=lambda column: self._rank(name, column))
        equals = [other for other in others if self._is_equal(name, best, other)]
        if equals and name in ("question", "references"):
            self._ask(name, [best, *equals])
        else:
            self.fields[name] = FoundColumn(best, _WHY[self._spoken[best].surely])

    def _may_serve(self, name: str, column: str) -> bool:
        """Return whether a column's cells may be a field's; what is left out is noted."""
        cells, surely = self.table[column], self._spoken[column].surely
        if name == "references" and is_behaviour(cells) and surely != Surely.DOCUMENTED:
            values = ", ".join(map(repr, cells.distinct[:3]))
            self._note(f"{column!r} repeats {values}: what to do, no text to compare", name, column)
            return False
        is_only_gold = "references" not in self.fields or surely != Surely.DOCUMENTED
        if name in CHECK_FIELDS and cells.share < _SPARSE and is_only_gold:
            filled = f"{len(cells.filled)} of {len(cells.cells)} rows"
            why = f"{column!r} is filled in {filled} only, and rows without it would be skipped"
            self._note(why, name, column)
            return False
        return True

    def _note(self, why: str, name: str, column: str) -> None:
        self.notes.append((f"{why}; to take it nevertheless", Way("", name, column)))

    def _is_equal(self, name: str, best: str, other: str) -> bool:
        """Return whether nothing tells which of two columns is meant, and it matters."""
        one, two = self._spoken[best].surely, self._spoken[other].surely
        if one != two or self.table[best].cells == self.table[other].cells:
            return False
        if one == Surely.WORDS and self._rank(name, best)[2:] < self._rank(name, other)[2:]:
            return False
        return name != "references" or not self._lies_in(best, other)

    def _lies_in(self, best: str, other: str) -> bool:
        """Return whether one of two columns of gold is only a part of the other, or no text."""
        if are_labels(self.table[other]) and not are_labels(self.table[best]):
            return True
        pairs = zip(self.table[best].cells, self.table[other].cells, strict=True)
        return all(
            one is None or two is None or str(one) in str(two) or str(two) in str(one)
            for one, two in pairs
        )

    def _ask(self, name: str, columns: Sequence[str]) -> None:
        """Leave open which of some columns a field is."""
        if self.doubt:
            return
        meant = {"question": "the question", "references": "the right answer"}
        what = meant.get(name, "what a system said")
        listed = " and ".join(map(repr, columns[:_MOST_SYSTEMS]))
        self.doubt = f"{listed} may {'both' if len(columns) == 2 else 'all'} be {what}"
        case = "what your system said" if name == "answer" else what
        self.ways = tuple(
            Way(f"{column!r} is {case}", name, column) for column in columns[:_MOST_SYSTEMS]
        )

    def take_answered(self) -> None:
        """Take the column ``answer`` as what a system said."""
        bare = [name for name in self._of("answer?") if name == "answer"]
        if bare and "answer" not in self.fields:
            self.fields["answer"] = FoundColumn(bare[0], OF_TRACES)

    def take_answer(self) -> None:
        """Take what the system said, unless several columns may be that."""
        if "answer" in self.fields:
            return
        systems = self._systems()
        if not systems:
            return
        different = [
            name for name in systems[1:] if self.table[name].cells != self.table[systems[0]].cells
        ]
        if different:
            self.systems = (systems[0], *different)
            self._ask("answer", self.systems)
        else:
            self.fields["answer"] = FoundColumn(systems[0], _WHY[self._spoken[systems[0]].surely])

    def _systems(self) -> list[str]:
        """Return the columns that are named after a system's answer, the best first.

        Where the gold has a column, a documented ``answer`` is one, and no likeness beats it.
        """
        named = sorted(self._of("answer"), key=lambda column: self._rank("answer", column))
        sure = [name for name in named if self._spoken[name].surely < Surely.WORDS]
        others = [
            name for name in self._of("answer?") if (read_field(name) or "")[:1] == ("answer",)
        ]
        bare = [name for name in self._of("answer?") if snake_case(name) == "answer"]
        if bare and self._blank_of(bare[0]) is not None:
            return []  # a blank beside a bare answer is asked about
        if "references" in self.fields and not self._may_be_passage():
            likely = [name for name in self._of("answer?") if not self.table[name].is_list]
            known = [name for name in likely if name in {*bare, *others}]
            twins = [name for name in likely if self._spoken[name].surely == Surely.WORDS]
            if bare or (known and sure) or (twins and not (known or named)):
                return [*bare, *sure, *(name for name in known if name not in bare)] or twins
        others = [name for name in others if name not in bare]
        return [*sure, *others] if sure and others else named

    def settle_bare_answer(self, file_stem: str) -> None:
        """Decide whether a column that is only called ``answer`` is the gold or the answer.

        With gold beside it, it is what a system said; alone it is the gold, and also where another
        column is certainly the system's, or it is a list. With contexts, scores or costs and no
        gold, only the name of the file can tell. ``Bot answer`` and ``reply`` are what a system
        said.
        """
        fits = self._of("answer?")
        if not fits or self.doubt:
            return
        column = min(fits, key=lambda name: self._rank("answer", name))
        if (blank := self._blank_of(column)) is not None:
            self._leave_open(blank, column)
            return
        has_twin = snake_case(column) != "answer" and len([*filter(is_bare_answer, fits)]) > 1
        why_gold = "" if has_twin else self._why_gold(column, file_stem)
        if "references" in self.fields:
            self._settle_beside_gold(column)
        elif why_gold:
            self.fields["references"] = FoundColumn(column, why_gold)
        elif "answer" in self.fields:
            self._note(f"{column!r} may be what another system said, or gold", "answer", column)
        elif _ends_in_answer(column):
            self.fields["answer"] = FoundColumn(column, "by its name")
        else:
            self._ask_what_it_is(column)

    def _ask_what_it_is(self, column: str) -> None:
        self.doubt = (
            f"{column!r} may be the right answer, or what a system said: nothing in the file tells"
        )
        self.ways = (
            Way("it is the right answer", "references", column),
            Way("a system said it", "answer", column),
        )

    def _blank_of(self, column: str) -> Column | None:
        """Return a system's column beside a bare ``answer``, with a blank in any row."""
        if {"answer", "references"} & self.given.keys() or self.systems:
            return None
        systems = [
            self.table[name]
            for name, spoken in self._spoken.items()
            if spoken.field == "answer" and name != column and spoken.surely < Surely.WORDS
        ]
        return next((one for one in systems if len(one.filled) < len(one.cells)), None) or (
            self._blank_by_name(column)
        )

    def _blank_by_name(self, column: str) -> Column | None:
        """Return a column of a system's answers that is blank in all rows."""
        names = (other for other in self.table.columns if not other.filled)
        return next((one for one in names if one.name != column and _is_of_system(one.name)), None)

    def _leave_open(self, blank: Column, column: str) -> None:
        count, rows = len(blank.cells) - len(blank.filled), len(blank.cells)
        self.doubt = (
            f"{blank.name!r} is blank in {count} of {rows} rows: {column!r} may be the right "
            "answer, or what a system said"
        )
        other = "answer" if "references" in self.fields else "references"
        is_what = "what a system said" if other == "answer" else "the right answer"
        self.ways = (
            Way(f"{blank.name!r} is what a system said", "answer", blank.name),
            Way(f"{column!r} is {is_what}", other, column),
        )

    def _may_be_passage(self) -> bool:
        """Return whether the gold may be a passage: a ``reference`` beside its page."""
        gold = self.fields["references"].column
        left = {snake_case(name) for name in self._left()}
        is_long = self.table[gold].typical_length > _PASSAGE and bool(left & _DOCUMENTS)
        is_asked = gold in self.given.values()
        return snake_case(gold) == "reference" and not is_asked and ("page" in left or is_long)

    def _settle_beside_gold(self, column: str) -> None:
        gold = self.fields["references"].column
        if "answer" in self.fields:
            return
        if self._may_be_passage():
            del self.fields["references"]
            self.doubt = (
                f"{gold!r} may be the right answer, or the passage that it is in "
                "(there is a column with its page)"
            )
            self.ways = (
                Way(
                    f"{gold!r} is a passage, and {column!r} the right answer", "references", column
                ),
                Way(f"{gold!r} is the right answer", "references", gold),
            )
        elif self.table[column].is_list or self._spoken[column].surely == Surely.UNSURE:
            self._note(f"{column!r} may be what a system said, or more gold", "answer", column)
        else:
            self.fields["answer"] = FoundColumn(column, f"by its name, beside {gold!r}")

    def settle_passage(self) -> None:
        """Leave open whether a long ``reference`` beside its document is a passage."""
        if self.doubt or "references" not in self.fields or not self._may_be_passage():
            return
        gold = self.fields.pop("references").column
        self.doubt = f"{gold!r} may be the right answer, or the passage that it is in"
        self.ways = (
            Way("it is the right answer", "references", gold),
            Way("it is the passage to find", "reference_contexts", gold),
        )

    def _why_gold(self, column: str, file_stem: str) -> str:
        """Return what says that a bare ``answer`` is the gold, "" if nothing does."""
        is_bare = is_bare_answer(column) and snake_case(column) not in (*_REPLIES, *_OUTPUTS)
        if "answer" in self.fields:
            beside = self.fields["answer"].column
            return f"the gold, beside the system's {beside!r}" if is_bare else ""
        if any(word in snake_case(file_stem) for word in _GOLD_FILES):
            return "the gold, by the name of the file"
        is_of_run = any(kind in words_of(file_stem) for kind in _FILES_OF_RUNS) or any(
            kind in file_stem for kind in _FILES_OF_RUNS if not kind.isascii()
        )
        if self._is_list_of_gold(column) and not is_of_run:
            return "the gold: lists of right answers"
        if is_bare:
            beside = [name for name in self._left() if self._is_of_a_run(name)]
            is_open = beside or not self._is_short(column)
            is_open = is_open or {*_ANSWERED, *CHECK_FIELDS} & self.fields.keys()
            return "" if is_open or self.notes or is_of_run else "the gold: it is alone, and short"
        return ""

    def _is_list_of_gold(self, column: str) -> bool:
        """Return whether lists are right answers: only of gold there are several in a row."""
        cells = self.table[column]
        return cells.is_list and (snake_case(column).endswith("answers") or _are_objects(cells))

    def _is_short(self, column: str) -> bool:
        """Return whether the typical cell is no sentence, as the gold of a question often is."""
        lengths = sorted(len(split_characters(text)) for text in self.table[column].texts)
        return bool(lengths) and lengths[len(lengths) // 2] <= _SHORT

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
        """Return what marks some passages of a column as the right ones, "" without such marks."""
        names = {
            snake_case(other.name.rpartition(".")[2]): other.name for other in self.table.columns
        }
        if beside := _MARKS_OF_GOLD & names.keys():
            return names[min(beside)]
        first = self.table[column].filled[0]
        parts = first if isinstance(first, list) else [first]
        keys = {str(key) for part in parts if isinstance(part, Mapping) for key in part}
        return min(_MARKS_OF_GOLD & keys, default="")

    def take_aliases(self) -> None:
        """Take further right answers, as the gold itself where there is no other."""
        fits = [name for name in self._of(ALIASES) if self.table[name].is_text]
        if not fits or self.doubt:
            return
        name = ALIASES if "references" in self.fields else "references"
        self.fields.setdefault(name, FoundColumn(fits[0], "more right answers, by its name"))

    def take_id(self) -> None:
        """Take the ids of the rows; without other gold, ids that repeat are documents to find."""
        if "id" in self.fields:
            return
        for column in self._left():
            cells = self.table[column]
            if snake_case(column) not in _IDS_OF_ROWS or not cells.filled:
                continue
            if len(cells.distinct) == len(cells.filled):
                if "id" not in self.fields:
                    self.fields["id"] = FoundColumn(column, "different in each row")
            elif snake_case(column) == "id" and not self.has_gold:
                self.fields["reference_ids"] = FoundColumn(
                    column, "the documents to find: it repeats for different questions"
                )

    def take_document(self) -> None:
        """Take the document that a row belongs to."""
        fits = [
            name
            for name in self._left()
            if snake_case(name) in _DOCUMENTS or self._field_of(name) == "doc_name"
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

    @property
    def has_gold(self) -> bool:
        """Whether a gold field has a column."""
        return any(name in self.fields for name in GOLD_FIELDS)

    def _may_name_documents(self, column: Column) -> bool:
        return bool(column.filled) and not column.is_list and column.typical_length < 200

    def _left(self) -> list[str]:
        taken = {found.column for found in self.fields.values()}
        return [column.name for column in self.table.columns if column.name not in taken]

    def _field_of(self, column: str) -> str:
        spoken = self._spoken.get(column)
        return spoken.field if spoken is not None else ""

    def _of(self, name: str) -> list[str]:
        return [column for column in self._left() if self._field_of(column) == name]

    def _rank(self, name: str, column: str) -> tuple[int, int, int, int]:
        """Return how well a column fits a field: known names first, then short ones."""
        known, words = FIELD_ALIASES.get(name, ()), snake_case(column)
        place = known.index(words) if words in known else len(known)
        spoken = self._spoken.get(column)
        kinds = kinds_of(column)
        weak = "asked" in kinds or "retrieved" in kinds
        surely = Surely.UNSURE if spoken is None else spoken.surely
        return surely, place, weak, len(words.split("_"))

    def _is_of_a_run(self, name: str) -> bool:
        """Return whether a column holds what only a run of a system has: contexts or scores."""
        column = self.table[name]
        if not column.filled:
            return False
        kinds = kinds_of(name)
        if ("context" in kinds and column.is_text) or self._field_of(name).startswith("contexts"):
            return True
        if "run" in kinds or (kinds & {"gold", "reference"} and column.is_flag):
            return True
        return "score" in kinds and (column.is_number or len(column.distinct) <= _FEW)


def _is_of_system(name: str) -> bool:
    kinds = kinds_of(name)
    return {"answer", "given"} <= kinds and not kinds & {"score", "about", "gold", "reference"}


def could_be(table: Table, name: str) -> Iterator[str]:
    """Yield the columns whose cells could be a field that no name speaks of, the likeliest first.

    Questions and answers are different texts in nearly all rows; questions are often asked with a
    question mark. Documents to find may repeat.
    """
    columns = [column for column in table.columns if column.is_text and column.share > _SPARSE]
    if name == "reference_ids":
        yield from (one.name for one in columns if snake_case(one.name) in _DOCUMENTS)
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


def _questions_in(column: Column) -> int:
    return sum(text.rstrip().endswith(("?", "？")) for text in column.texts)
