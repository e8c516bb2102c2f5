"""Which field a column's name and cells speak of, and how surely."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from pytest_rageval.datasets.proposer.columns import Column
from pytest_rageval.scenario.column_names import (
    is_all_of,
    kinds_of,
    read_field,
    snake_case,
    unknown_words,
    words_of,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.text.row_checks import separator_in

CHECK_FIELDS: Final = ("must_include", "must_not_include", "must_match", "must_satisfy")
"""What a row may ask of its answer."""

ALIASES: Final = "aliases"
"""Further right answers: a key of a ``key_map`` beside the fields."""

_FEW: Final = 5
"""Fewer cells say nothing of a column; short parts of a text have this many words at most."""

_LONG: Final = 60
"""The most characters of a typical text that an answer may be asked to hold to the letter."""

_SENTENCE: Final = 8
"""The fewest characters of a passage in Chinese or Japanese, as many as four words have."""

_WITHOUT_BLANKS: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_LABEL: Final = 24
"""The most characters of a label."""

_NEARLY_ALL: Final = 0.8
_MOST_WORDS: Final = 5
"""A longer header is no header: it is the first row of a table that has none."""

_BEHAVIOURS: Final = frozenset(
    {"answer", "answered", "answerable", "unanswerable", "no_answer", "refuse", "refusal"}
    | {"reject", "rejected", "abstain", "decline", "clarify", "escalate", "fallback", "handoff"}
    | {"allow", "block", "comply", "deny", "回答", "拒答", "拒绝"}
    | {"relevant", "irrelevant", "pass", "fail", "correct", "incorrect", "good", "bad"}
)
"""What a system should do, or how good it was, as a label: no text to compare an answer with."""

_TEXTS: Final = ("value", "text", "content", "answer")
"""Parts of an object that hold what the object is named after: ``reference.text``."""

_GIVEN: Final = frozenset({"actual", "generated", "produced"})
"""Words for what a system gave, where a name has no others."""

_GIVEN_TO_ANSWER: Final = "参考资料"
"""What a system was given to answer from; its first word, 参考, else marks a right answer."""

_WHOLES: Final = ("input", "inputs", "vars", "data", "row", "example", "fields", "sample")
_ABOUT_ROWS: Final = frozenset(
    {"metadata", "meta", "info", "extra", "config", "params", "parameters", "judge", "judges"}
)
"""Objects with what is said of a row: parts called like fields are none, but for doc_name."""


class Surely(IntEnum):
    """What a name rests on, the surest first."""

    DOCUMENTED = 0
    OTHER_TOOLS = 1
    WORDS = 2
    UNSURE = 3
    """The name has words for the field (``answer?`` alone), and others that are of no kind."""

    @property
    def why(self) -> str:
        """What the user is told of a column that was chosen by this."""
        return "its own name" if self is Surely.DOCUMENTED else "by its name"


class Spoken(NamedTuple):
    """The field that a column speaks of.

    ``answer?`` may be the gold or the system's answer, ``contexts?`` what was or should be found.
    """

    field: str
    surely: Surely


def speaks_of(column: Column) -> Spoken | None:
    """Return the field that a column's name and cells speak of; None for metadata and blanks."""
    if not column.filled or (column.is_nested and column.share < _NEARLY_ALL):
        return None  # a part of some rows' objects says nothing of the others
    if column.turn:
        return Spoken(*_OF_TURNS[column.turn])
    name = _own_name(column.name)
    head = snake_case(name.partition(".")[0])
    is_about = (head in _ABOUT_ROWS and column.is_nested) or head.startswith("metadata_")
    for spoken in (_by_known_name(column, name), _by_words(column, name)):
        if is_about and (spoken is None or spoken.field != "doc_name"):
            continue
        if spoken is not None and _fits(column, spoken):
            return spoken
    return None


_OF_TURNS: Final = {
    "question": ("question", Surely.WORDS),
    "answer": ("answer?", Surely.WORDS),
}


def _own_name(name: str) -> str:
    """Return the name of a column; that of the object for a text in it.

    An object that only holds the parts of a row together adds nothing to their names.
    """
    head, _, leaf = name.rpartition(".")
    if FIELD_OF.get(leaf) in CHECK_FIELDS:
        return leaf
    if head.lower() in _WHOLES and not (read_field(head) and leaf.lower() in _TEXTS):
        return leaf
    return head if head and leaf.lower() in _TEXTS else name


def _by_known_name(column: Column, name: str) -> Spoken | None:
    words = snake_case(name)
    if words == "answer":
        return Spoken("answer?", Surely.DOCUMENTED)
    documented = FIELD_OF.get(name)
    if documented in FIELD_ALIASES:
        return Spoken(_open_contexts(documented, words), Surely.DOCUMENTED)
    known, _ = read_field(name) or (None, 0)
    if known is None:
        return None
    if known == "answer" and kinds_of(name) == {"answer"}:
        return Spoken("answer?", Surely.OTHER_TOOLS)
    return Spoken(_open_contexts(known, words), Surely.OTHER_TOOLS)


def _open_contexts(field: str, words: str) -> str:
    return "contexts?" if field == "contexts" and "retriev" not in words else field


def _by_words(column: Column, name: str) -> Spoken | None:
    kinds = kinds_of(name)
    if kinds & {"score", "about"} or len(snake_case(name).split("_")) > _MOST_WORDS:
        return None
    if field := _of_checks(column, name, kinds):
        return Spoken(field, Surely.WORDS)
    if "negative" in kinds:
        return None
    is_of_documents = kinds & {"id", "document"} and "question" not in kinds
    field = _of_documents(column, kinds) if is_of_documents else _of_texts(column, name, kinds)
    if field is None:
        return None
    is_sure = field != "answer?" or not unknown_words(name)
    return Spoken(field, Surely.WORDS if is_sure else Surely.UNSURE)


def _of_checks(column: Column, name: str, kinds: frozenset[str]) -> str | None:
    """Return the field of a column whose name has only words for what an answer must have."""
    words = ("keyword", "must", "gold", "answer", "negative", "pattern", "said")
    if not (kinds & {"keyword", "pattern", "said"} and is_all_of(name, *words)):
        return None
    if "negative" in kinds:
        return "must_not_include" if "pattern" not in kinds else None
    if "pattern" in kinds:
        return "must_match"
    if column.typical_length > _LONG or (column.is_prose and "said" in kinds):
        return "must_satisfy" if kinds & {"said"} or {"gold", "keyword"} <= kinds else None
    return "must_include" if kinds & {"gold", "must", "said"} else None


def _of_texts(column: Column, name: str, kinds: frozenset[str]) -> str | None:
    """Return the field of a column that is of no documents, or of a question about them."""
    if "id" in kinds:
        return None
    is_gold = bool(kinds & {"gold", "reference"})
    if "alias" in kinds and (kinds & {"answer", "gold", "reference"} or kinds == {"alias"}):
        return ALIASES
    if "context" in kinds:
        is_gold = is_gold and not name.startswith(_GIVEN_TO_ANSWER)
        retrieved = "contexts" if kinds & {"retrieved", "given"} else "contexts?"
        return "reference_contexts" if is_gold or "relevant" in kinds else retrieved
    if column.is_prose and {*words_of(name)} <= _GIVEN:
        return "answer"
    if "answer" in kinds or {"given", "text"} <= kinds:
        given = "answer" if "given" in kinds else "answer?"
        return "references" if is_gold else given
    if kinds & {"question", "asked"} and not is_gold:
        return "question"
    if kinds == {"relevant"} and not column.is_prose:
        return "reference_ids"
    is_only_gold = "gold" in kinds and is_all_of(name, "gold", "reference")
    return "references" if is_only_gold else None


def _of_documents(column: Column, kinds: frozenset[str]) -> str | None:
    """Return the field of a column of documents: ids or, if its values are long, texts."""
    if not {"keyword", "keywords"}.isdisjoint(words_of(column.name)):
        return None  # a document's keywords name no document
    is_text = column.is_prose and "id" not in kinds and not column.are_addresses
    if "retrieved" in kinds and "gold" not in kinds:
        return "contexts" if is_text else "retrieved_ids"
    if "truth" in snake_case(column.name).split("_"):
        return "doc_name"  # the document that the gold is from
    if kinds & {"gold", "relevant", "must"}:
        return "reference_contexts" if is_text else "reference_ids"
    return None


def _fits(column: Column, spoken: Spoken) -> bool:
    """Return whether the cells can be what the name says."""
    field, surely = spoken
    is_of_texts = field in ("question", "answer", *CHECK_FIELDS)
    if column.has_objects and (is_of_texts or (field == "answer?" and not column.is_list)):
        return False
    if field in ("contexts", "contexts?", "reference_contexts"):
        is_text = column.is_text and not column.is_number and not _is_label(column)
        return is_text and (surely == Surely.DOCUMENTED or _is_passage(column))
    if field == "question":
        is_in_all = column.share >= _NEARLY_ALL
        is_text = column.is_text and not (column.is_list or column.is_number)
        is_text = is_text and not column.are_addresses
        return is_text and is_in_all and not column.repeats
    if field == "answer?":
        is_bare = len(snake_case(column.name).split("_")) == 1
        return column.is_text and not column.are_flags and (is_bare or not column.is_number)
    if field in CHECK_FIELDS:
        return _may_be_checks(column, field)
    if field in ("answer", "references"):
        is_given = field == "answer"
        return (
            column.is_text
            and not column.is_mixed
            and not (is_given and (column.is_list or column.are_flags))
        )
    if field in ("reference_ids", "retrieved_ids"):
        return column.is_list or not any(is_joined(text) for text in column.texts)
    return True


def _may_be_checks(column: Column, field: str) -> bool:
    """Return whether cells may be what an answer must hold, or satisfy."""
    if field == "must_satisfy":
        return column.is_text
    is_short = column.is_text and column.typical_length <= _LONG
    return is_short and (field == "must_match" or not _has_separators(column, field))


def _is_passage(column: Column) -> bool:
    """Return whether the typical text is prose, or a sentence of a script without blanks.

    In a list, what ends like a sentence may be shorter: no label or id ends so.
    """
    if column.is_prose:
        return True
    said = sum(
        len(_WITHOUT_BLANKS.findall(text)) >= _SENTENCE
        or (column.is_list and text.rstrip().endswith(("。", "！", "？")))
        for text in column.texts
    )
    return said * 2 > len(column.texts) and not column.are_addresses


def _is_label(column: Column) -> bool:
    """Return whether all filled cells, five or more, hold the same short text."""
    return len(column.filled) >= _FEW and len(column.distinct) == 1 and not column.is_prose


def is_behaviour(column: Column) -> bool:
    """Return whether a column repeats what a system should do, or how good it was: ``good``."""
    words = {snake_case(text) for text in column.distinct}
    return column.repeats and bool(words & _BEHAVIOURS)


def are_labels(column: Column) -> bool:
    """Return whether a few short texts repeat in a column: none of them is an expected answer."""
    is_short = all(len(text) <= _LABEL for text in column.distinct)
    return len(column.filled) >= _FEW and column.repeats and is_short


def holds_joined_ids(column: Column) -> bool:
    """Return whether a column is named after ids of documents, and a cell joins several."""
    kinds = kinds_of(column.name)
    named = bool(kinds & {"gold", "relevant", "retrieved"}) and bool(kinds & {"id", "document"})
    return named and not column.is_list and any(map(is_joined, column.texts))


def holds_joined_texts(column: Column) -> bool:
    """Return whether a column is of texts to include, or not to, and a cell may hold several."""
    name = _own_name(column.name)
    spoken = _by_known_name(column, name) or _by_words(column, name)
    return (
        spoken is not None
        and spoken.field in CHECK_FIELDS[:2]
        and _has_separators(column, spoken.field)
    )


def _has_separators(column: Column, name: str) -> bool:
    """Return whether a cell may hold several texts.

    A comma is no sign of it where the column has the name of ``must_include`` itself.
    """
    read_as = name if FIELD_OF.get(column.name) == name else CHECK_FIELDS[1]
    return any(isinstance(cell, str) and separator_in(read_as, cell) for cell in column.filled)


def is_joined(ids: str) -> bool:
    """Return whether a text seems to be several ids with marks by which no reader divides them.

    >>> [is_joined(ids) for ids in ("d1,d2", "d1|d2", "Paris, France", "https://a.b/c,d")]
    [True, True, False, False]
    """
    has_mark = " " not in ids and ids.count("://") != 1 and ("," in ids or "|" in ids)
    return has_mark or "\n" in ids.strip()


_MARKS: Final = (" / ", "/", "|", ";", " or ")


def mark_between(texts: Iterable[str]) -> str:
    """Return the mark that divides a third of these texts, at least two, into short ones; else "".

    >>> mark_between(["2014/2016", "Rome", "Paris/Lutetia", "x"]), mark_between(["a", "b/c"])
    ('/', '')
    """
    listed = [text.strip() for text in texts]
    for mark in _MARKS:
        parts = [text.split(mark) for text in listed if mark in text and "://" not in text]
        are_short = all(part.strip() and part.count(" ") < _FEW for some in parts for part in some)
        if are_short and len(parts) > 1 and len(parts) * 3 >= len(listed):
            return mark
    return ""
