"""Which column serves which field, and what speaks for it: by names first, then by content.

A wrong field is worse than none. What may be the gold or the system's answer is left to the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.datasets.cells import separator_in
from pytest_rageval.datasets.proposer.columns import Column, Table
from pytest_rageval.scenario.column_names import (
    is_all_of,
    is_bare_answer,
    kinds_of,
    read_field,
    snake_case,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF

AS_SAID: Final = "as you said"
CHECK_FIELDS: Final = ("must_include", "must_not_include", "must_match")
"""What a row may ask of its answer."""

GOLD_FIELDS: Final = ("references", "reference_contexts", "reference_ids", *CHECK_FIELDS)
_ANSWERED: Final = ("contexts", "retrieved_ids")
_FEW: Final = 5
_LONG: Final = 60
"""Characters of a text that an answer may be asked to hold to the letter."""

_NEARLY_ALL: Final = 0.8
_MOST_WORDS: Final = 5
"""A longer header is a row of a table without one."""

_GOLD_FILES: Final = (
    "gold",
    "golden",
    "ground_truth",
    "groundtruth",
    "标准答案",
    "标准问答",
    "标准集",
)
_REPLIES: Final = ("response", "reply", "回复", "答复")
_OUTPUTS: Final = ("output", "completion", "输出", "响应")
"""What only a system gives."""

_IDS: Final = frozenset({"id", "qid", "query_id", "question_id", "case_id", "test_id", "item_id"})
_IDS_OF_ROWS: Final = _IDS | {"uuid", "sample_id", "test_case_id", "编号", "序号"}
_DOCUMENTS: Final = frozenset(
    {"doc_name", "source", "source_file", "source_document", "file_name", "filename", "file"}
    | {"document", "document_name", "doc", "link", "url", "source_url"}
    | {"文档", "文件", "文件名", "来源"}
)


@dataclass(frozen=True)
class FoundColumn:
    """The column of a field, and why it was chosen."""

    column: str
    why: str


@dataclass(frozen=True)
class Mapped:
    """The column of each field.

    ``doubt`` says why it cannot be told what a column is, and ``ways`` are the two key maps that
    would tell; "" and () where there is no doubt.
    """

    fields: Mapping[str, FoundColumn]
    doubt: str = ""
    ways: tuple[tuple[str, str, str], ...] = ()

    @property
    def has_gold(self) -> bool:
        """Whether a field says what a right answer, or a right search result, is."""
        return any(name in self.fields for name in GOLD_FIELDS)


def map_columns(table: Table, file_stem: str, given: Mapping[str, str]) -> Mapped:
    """Return the fields of the columns.

    ``given`` is a ``key_map`` that the user wrote: it holds, and its columns serve nothing else.
    """
    draft = _Draft(table, {FIELD_OF.get(name, name): column for name, column in given.items()})
    for name in ("question", "references", *CHECK_FIELDS, "reference_ids", "retrieved_ids"):
        draft.take_best(name)
    draft.take_best("answer")
    draft.settle_two_systems()
    draft.settle_bare_answer(file_stem)
    draft.settle_contexts()
    draft.take_id()
    draft.take_document()
    return Mapped(draft.fields, draft.doubt, draft.ways)


def speaks_of(column: Column) -> tuple[str, int] | None:
    """Return the field that a column's name and cells speak of, and how surely: 0 is best.

    ``answer?`` may be the gold or the system's answer, ``contexts?`` what was or should be found.
    """
    if not column.filled:
        return None
    name = snake_case(column.name)
    for rank, spoken in enumerate((_by_known_name(column, name), _by_words(column))):
        if spoken is not None and _fits(column, spoken):
            return spoken, rank
    return None


def _by_known_name(column: Column, name: str) -> str | None:
    if name == "answer":
        return "answer?"
    known = FIELD_OF.get(name)
    if known not in FIELD_ALIASES:
        known, _ = read_field(column.name) or (None, 0)
        if known == "answer" and kinds_of(column.name) == {"answer"}:
            return "answer?"
    return "contexts?" if known == "contexts" and "retriev" not in name else known


def _by_words(column: Column) -> str | None:
    kinds = kinds_of(column.name)
    if kinds & {"score", "about"} or len(snake_case(column.name).split("_")) > _MOST_WORDS:
        return None
    words = ("keyword", "must", "gold", "answer", "negative", "pattern")
    if kinds & {"keyword", "pattern"} and is_all_of(column.name, *words):
        return _of_checks(kinds)
    if "negative" in kinds:
        return None
    if kinds & {"id", "document"} and "question" not in kinds:
        return _of_documents(column, kinds)
    return _of_texts(column, kinds)


def _of_checks(kinds: frozenset[str]) -> str | None:
    """Return the field of a column whose name has only words for texts in an answer."""
    if "negative" in kinds:
        return "must_not_include" if "pattern" not in kinds else None
    if "pattern" in kinds:
        return "must_match"
    return "must_include" if kinds & {"gold", "must"} else None


def _of_texts(column: Column, kinds: frozenset[str]) -> str | None:
    """Return the field of a column whose name mentions neither documents nor keywords."""
    is_gold = bool(kinds & {"gold", "reference"})
    if "context" in kinds:
        retrieved = "contexts" if "retrieved" in kinds else "contexts?"
        return "reference_contexts" if is_gold or "relevant" in kinds else retrieved
    if "answer" in kinds or {"given", "text"} <= kinds:
        given = "answer" if "given" in kinds else "answer?"
        return "references" if is_gold else given
    if kinds & {"question", "asked"}:
        return "question"
    if kinds == {"relevant"} and not column.is_prose:
        return "reference_ids"
    is_only_gold = "gold" in kinds and is_all_of(column.name, "gold", "reference")
    return "references" if is_only_gold else None


def _of_documents(column: Column, kinds: frozenset[str]) -> str | None:
    """Return the field of a column of documents: ids or, if its values are long, texts."""
    is_text = column.is_prose and "id" not in kinds
    if "retrieved" in kinds and "gold" not in kinds:
        return "contexts" if is_text else "retrieved_ids"
    if "truth" in snake_case(column.name).split("_"):
        return "doc_name"  # where the gold is from
    if kinds & {"gold", "relevant", "must"}:
        return "reference_contexts" if is_text else "reference_ids"
    return None


def _fits(column: Column, name: str) -> bool:
    """Return whether the cells can be what the name says."""
    if name in ("contexts", "contexts?", "reference_contexts"):
        return column.is_text and not column.is_number and not _is_label(column)
    if name == "question":
        is_in_all = len(column.filled) >= _NEARLY_ALL * len(column.cells)
        return column.is_text and is_in_all and not column.is_number and not _is_of_few(column)
    if name == "answer?":
        is_bare = len(snake_case(column.name).split("_")) == 1
        return column.is_text and (is_bare or not column.is_number)
    if name in CHECK_FIELDS:
        is_short = column.is_text and column.typical_length <= _LONG
        return is_short and (name == "must_match" or not _has_separators(column, name))
    if name in ("answer", "references"):
        return column.is_text
    if name in ("reference_ids", "retrieved_ids"):
        return column.is_list or not any(_is_joined(text) for text in column.texts)
    return True


def _is_label(column: Column) -> bool:
    """Return whether the same short text is in all of the rows."""
    return len(column.filled) >= _FEW and len(column.distinct) == 1 and not column.is_prose


def _is_of_few(column: Column) -> bool:
    """Return whether the same few values repeat, as in a column of kinds of questions."""
    return len(column.distinct) * 4 < len(column.filled)


def holds_joined_ids(column: Column) -> bool:
    """Return whether a column is named after documents to find, and divides them by commas."""
    kinds = kinds_of(column.name)
    named = bool(kinds & {"gold", "relevant"}) and bool(kinds & {"id", "document"})
    return named and not column.is_list and any(map(_is_joined, column.texts))


def holds_joined_texts(column: Column) -> bool:
    """Return whether a column is of texts for an answer, and a cell may hold one or several."""
    found = _by_known_name(column, snake_case(column.name)) or _by_words(column)
    return found in CHECK_FIELDS[:2] and _has_separators(column, found)


def _has_separators(column: Column, name: str) -> bool:
    """Return whether a cell may hold several texts; a comma says so only under other names."""
    read_as = name if FIELD_OF.get(column.name) == name else CHECK_FIELDS[1]
    return any(isinstance(cell, str) and separator_in(read_as, cell) for cell in column.filled)


def _is_joined(ids: str) -> bool:
    """Return whether a text is several ids with commas, which no reader divides."""
    return "," in ids and " " not in ids


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
    ways: tuple[tuple[str, str, str], ...] = ()

    def __post_init__(self) -> None:
        self.fields |= {name: FoundColumn(column, AS_SAID) for name, column in self.given.items()}
        self._spoken = {
            column.name: spoken
            for column in self.table.columns
            if (spoken := speaks_of(column)) is not None
        }

    def take_best(self, name: str) -> None:
        """Give a field the column whose name fits it best."""
        if name in FIELD_ALIASES and name not in self.fields and (fits := self._of(name)):
            best = min(fits, key=lambda column: self._rank(name, column))
            self.fields[name] = FoundColumn(best, "by its name")

    def settle_two_systems(self) -> None:
        """Leave open which of two columns named after a system's answer is meant."""
        found = self.fields.get("answer")
        if found is None or "answer" in self.given:
            return
        cells = self.table[found.column].cells
        for other in self._of_systems(found.column):
            if other.cells != cells:
                self.doubt = f"{found.column!r} and {other.name!r} may both be what a system said"
                self.ways = tuple(
                    (f"{name!r} is what your system said", "answer", name)
                    for name in (found.column, other.name)
                )
                return

    def _of_systems(self, used: str) -> list[Column]:
        """Return the other columns with a name of ``answer``; not one that is only called so."""
        others = (column for column in self.table.columns if column.name != used)
        named = (column for column in others if (read_field(column.name) or "")[:1] == ("answer",))
        return [column for column in named if snake_case(column.name) != "answer"]

    def settle_bare_answer(self, file_stem: str) -> None:
        """Decide whether a column that is only called ``answer`` is the gold or the answer.

        With gold beside it, it is what a system said; alone it is the gold, and also where another
        column is certainly the system's. With contexts, scores or costs and no gold, only the name
        of the file can tell. ``Bot answer`` and ``reply`` are what a system said.
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
        elif _ends_in_answer(column):
            self.fields["answer"] = FoundColumn(column, "by its name")
        else:
            self.doubt = (
                f"{column!r} may be the right answer, or what a system said: nothing in the file "
                "tells"
            )
            self.ways = (
                ("it is the right answer", "references", column),
                ("a system said it, and right answers are added to the data", "answer", column),
            )

    def _blank_of(self, column: str) -> Column | None:
        """Return a system's column beside a bare ``answer``, with a blank in any row."""
        if {"answer", "references"} & self.given.keys():
            return None
        systems = self._of_systems(column)
        return next((system for system in systems if len(system.filled) < len(system.cells)), None)

    def _leave_open(self, blank: Column, column: str) -> None:
        count, rows = len(blank.cells) - len(blank.filled), len(blank.cells)
        self.doubt = (
            f"{blank.name!r} is blank in {count} of {rows} rows: {column!r} may be the right "
            "answer, or what a system said"
        )
        other = "answer" if "references" in self.fields else "references"
        is_what = "what a system said" if other == "answer" else "the right answer"
        self.ways = (
            (f"{blank.name!r} is what a system said", "answer", blank.name),
            (f"{column!r} is {is_what}", other, column),
        )

    def _settle_beside_gold(self, column: str) -> None:
        gold = self.fields["references"].column
        pages = [name for name in self._left() if snake_case(name) in ("page", "pages")]
        if "answer" in self.fields:
            return
        if snake_case(gold) == "reference" and pages and gold not in self.given.values():
            del self.fields["references"]
            self.doubt = (
                f"{gold!r} may be the right answer, or the passage that it is in "
                f"(there is a column {pages[0]!r})"
            )
            self.ways = (
                (f"{gold!r} is a passage, and {column!r} the right answer", "references", column),
                (f"{gold!r} is the right answer", "references", gold),
            )
        else:
            self.fields["answer"] = FoundColumn(column, f"by its name, beside {gold!r}")

    def _why_gold(self, column: str, file_stem: str) -> str:
        """Return what says that a bare ``answer`` is the gold, "" if nothing does."""
        if "answer" in self.fields:
            return f"the gold, beside the system's {self.fields['answer'].column!r}"
        if any(word in snake_case(file_stem) for word in _GOLD_FILES):
            return "the gold, by the name of the file"
        if is_bare_answer(column) and snake_case(column) not in (*_REPLIES, *_OUTPUTS):
            beside = [name for name in self._left() if self._is_of_a_run(name)]
            return "" if beside or set(_ANSWERED) & self.fields.keys() else "the gold: it is alone"
        return ""

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
        self.fields[name] = FoundColumn(column, why)

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
            if snake_case(name) in _DOCUMENTS or self._spoken.get(name, ("", 0))[0] == "doc_name"
        ]
        fits = [name for name in fits if self._may_name_documents(self.table[name])]
        if fits and "doc_name" not in self.fields:
            best = min(fits, key=lambda name: self._rank("doc_name", name))
            self.fields["doc_name"] = FoundColumn(best, "by its name")

    @property
    def has_gold(self) -> bool:
        """Whether a gold field has a column."""
        return any(name in self.fields for name in GOLD_FIELDS)

    def _may_name_documents(self, column: Column) -> bool:
        return bool(column.filled) and not column.is_list and column.typical_length < 200

    def _left(self) -> list[str]:
        taken = {found.column for found in self.fields.values()}
        return [column.name for column in self.table.columns if column.name not in taken]

    def _of(self, name: str) -> list[str]:
        return [column for column in self._left() if self._spoken.get(column, ("", 0))[0] == name]

    def _rank(self, name: str, column: str) -> tuple[int, int, int, int]:
        """Return how well a column fits a field: known names first, then short ones."""
        known, words = FIELD_ALIASES.get(name, ()), snake_case(column)
        place = known.index(words) if words in known else len(known)
        spoken = self._spoken.get(column, ("", 2))[1]
        weak = "asked" in kinds_of(column) or "retrieved" in kinds_of(column)
        return place, spoken, weak, len(words.split("_"))

    def _is_of_a_run(self, name: str) -> bool:
        """Return whether a column holds what only a run of a system has: contexts or scores."""
        column = self.table[name]
        if not column.filled:
            return False
        kinds = kinds_of(name)
        if ("context" in kinds and column.is_text) or self._spoken.get(name, ("", 0))[0].startswith(
            "contexts"
        ):
            return True
        if "run" in kinds or (kinds & {"gold", "reference"} and column.is_flag):
            return True
        return "score" in kinds and (column.is_number or len(column.distinct) <= _FEW)
