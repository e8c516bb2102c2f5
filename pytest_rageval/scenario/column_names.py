"""Which field a column's name speaks of: for hints; nothing is read by these names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pytest_rageval.errors import nearest
from pytest_rageval.scenario.fields import FIELD_ALIASES

LIKELY_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "id": ("qid", "query_id"),
    "question": ("input", "prompt", "user_query", "用户问题", "问题"),
    "answer": (
        "actual_output",
        "actual_answer",
        "generated_answer",
        "rag_answer",
        "model_answer",
        "prediction",
        "pred",
        "output",
    ),
    "contexts": (
        "retrieval_context",
        "retrieved_contents",
        "retrieved_chunks",
        "context",
        "documents",
        "passages",
    ),
    "references": (
        "reference_answer",
        "expected_answer",
        "expected_output",
        "expected",
        "gold_answer",
        "correct_answer",
        "ground_truth_answer",
        "gt_answer",
        "generation_gt",
        "reference_response",
        "truth",
        "ideal",
        "标准答案",
        "标准结果",
    ),
    "reference_contexts": ("relevant_chunks", "golden_chunks", "gt_evidence", "evidence"),
    "retrieved_ids": ("retrieved_doc_ids", "retrieved_chunk_ids"),
    "reference_ids": (
        "relevant_doc_ids",
        "relevant_chunk_ids",
        "expected_doc_id",
        "gold_doc_id",
        "gold_chunk_ids",
        "expected_sources",
        "expected_source_ids",
        "expected_urls",
        "golden_doc_uuids",
        "retrieval_gt",
        "correct_chunks",
    ),
    "doc_name": ("source", "source_file"),
}
"""Field -> the names that public evaluation data have for it, in lower snake_case, best first."""

OPPOSED: Final = (
    ("answer", "references"),
    ("contexts", "reference_contexts"),
    ("retrieved_ids", "reference_ids"),
)
"""What a system gave, and what it should have given: one column cannot be both."""

_NAMES: Final = {
    field: (*FIELD_ALIASES.get(field, ()), *LIKELY_NAMES.get(field, ())) for field in FIELD_ALIASES
}
_FIELD_OF: Final = {name: field for field, names in _NAMES.items() for name in names}
_COMPACT: Final = {name.replace("_", ""): field for name, field in _FIELD_OF.items()}
_OFTEN_GOLD: Final = frozenset({"context", "documents", "passages"})
_GOLD_WORDS: Final = frozenset(
    {"answers", "gold", "golden", "true", "truth", "correct", "expected", "reference"}
    | {"references", "ref", "ideal", "gt", "label", "target", "human", "best"}
)


def snake_case(name: str) -> str:
    """Return a name in lower snake_case.

    >>> snake_case("referenceResponse"), snake_case("Expected Output")
    ('reference_response', 'expected_output')
    """
    parted = re.sub(r"(?<=[^\W_A-Z])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", parted).strip("_").lower()


def likely_field(column: str) -> str | None:
    """Return the one field that a column's name speaks of, misspelt or not; None where none.

    >>> likely_field("goldAnswer"), likely_field("anwser"), likely_field("answers")
    ('references', 'answer', None)
    """
    name = snake_case(column)
    field = _FIELD_OF.get(name) or _COMPACT.get(name.replace("_", ""))
    if field is None and (meant := _misspelt(name)) is not None:
        field = _FIELD_OF[meant]
    return field if field is None or may_be(column, field) else None


def may_be(column: str, field: str) -> bool:
    """Return whether nothing in a column's name says that it is not this field.

    What is said to be right, or is a list of answers, is no answer of the system under test.
    """
    return field != "answer" or _GOLD_WORDS.isdisjoint(snake_case(column).split("_"))


def _misspelt(name: str) -> str | None:
    """Return the known name that ``name`` differs from by letters, not by a word."""
    for known in difflib.get_close_matches(name[:100], _FIELD_OF, n=3, cutoff=0.8):
        words, meant = name.split("_"), known.split("_")
        alike = len(words) == len(meant) and all(
            difflib.SequenceMatcher(None, word, other).ratio() >= 0.7
            for word, other in zip(words, meant, strict=True)
        )
        if alike and not (_FIELD_OF[known] == "answer" and known in name):
            return known
    return None


def proposed_columns(
    wanted: Iterable[str], free: Sequence[str], served: Collection[str]
) -> dict[str, str]:
    """Return the column to propose for each ``wanted`` field that one of the ``free`` ones is for.

    ``served`` are the fields that other columns serve. No column is proposed twice, and
    ``context``, ``documents`` and ``passages`` for ``contexts`` only where there are answers and
    references: in data that a system has yet to answer they are what should be found.
    """
    found: dict[str, str] = {}
    # Contexts come last: they depend on the others.
    for field in sorted(wanted, key=lambda name: (name == "contexts", name)):
        fits = [column for column in free if likely_field(column) == field]
        if field == "contexts" and not {"answer", "references"} <= {*served, *found}:
            fits = [column for column in fits if snake_case(column) not in _OFTEN_GOLD]
        if fits:
            found[field] = min(fits, key=lambda column: _rank(field, column))
    return {field: found[field] for field in FIELD_ALIASES if field in found}


def _rank(field: str, column: str) -> int:
    name, names = snake_case(column), _NAMES[field]
    return names.index(name) if name in names else len(names)


def column_meant(written: str, field: str, free: Iterable[str]) -> str | None:
    """Return the column that a ``key_map`` most likely means; never one that is another field."""
    fits = [name for name in free if likely_field(name) in (None, field) and may_be(name, field)]
    return nearest(written, fits)
