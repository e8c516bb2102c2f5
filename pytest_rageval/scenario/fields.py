"""The fields of a row and the names that data sets give them, in both generations of RAGAS."""

from __future__ import annotations

from typing import Final

FIELD_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "id": ("id", "sample_id"),
    "question": ("question", "query", "user_input"),
    "answer": ("answer", "response", "pred_answer"),
    "contexts": ("contexts", "retrieved_contexts"),
    "references": ("references", "reference", "ground_truth", "ground_truths", "golden_answers"),
    "reference_contexts": ("reference_contexts", "factual"),
    "retrieved_ids": ("retrieved_ids", "retrieved_context_ids"),
    "reference_ids": ("reference_ids", "reference_context_ids", "relevant_ids", "qrels"),
    "doc_name": ("doc_name",),
    "must_include": ("must_include", "answer_contains"),
    "must_not_include": ("must_not_include",),
    "must_match": ("must_match",),
    "answer_checks": ("answer_checks",),
    "must_satisfy": ("must_satisfy",),
    "tags": ("tags",),
    "skip": ("skip",),
    "xfail": ("xfail",),
}
"""Field -> the column names it is found under when ``key_map`` does not name one, best first."""

CHECK_FIELDS: Final = (
    "must_include",
    "must_not_include",
    "must_match",
    "answer_checks",
    "must_satisfy",
)
"""The fields by which a row says what its answer has to be like."""

NEEDED_FIELDS: Final = tuple(sorted(FIELD_ALIASES.keys() - {"id", "tags", "skip", "xfail"}))
"""The fields of a sample that a metric may need."""

ANSWERED_FIELDS: Final = frozenset({"answer", "contexts", "context_docs", "retrieved_ids"})
"""The fields of a sample that a target may fill in."""

_ULTRARAG: Final = {"gt_ls": "references", "q_ls": "question", "pred_ls": "answer"}

GRADE: Final = "grade"
"""The key of a ``key_map`` for the column with the grades of ``reference_ids``, no field."""

NO_GRADE: Final = "none"
"""What such a key says where no column holds grades."""

FIELD_OF: Final[dict[str, str]] = _ULTRARAG | {
    alias: name for name, aliases in FIELD_ALIASES.items() for alias in aliases
}
"""Each name that a ``key_map`` may have as a key -> its field (UltraRAG's names included)."""
