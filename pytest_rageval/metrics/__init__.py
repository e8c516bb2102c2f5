"""What is measured. A module of this folder that defines METRICS adds metrics.

``NAMES`` lists the metrics that its modules define: a run does not load a listed module of which
it uses no name. A module that is not listed is always loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pytest_rageval.model import MetricColumn

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "citation_support": (
        "citation_precision",
        "citation_recall",
        "support_precision",
        "support_recall",
    ),
    "citations": ("citation_coverage", "citation_validity", "source_precision", "source_recall"),
    "claims": (
        "claim_f1",
        "claim_faithfulness",
        "claim_precision",
        "claim_recall",
        "claim_utilization",
        "context_claim_precision",
        "context_claim_recall",
        "hallucination",
        "noise_in_irrelevant",
        "noise_in_relevant",
        "self_knowledge",
    ),
    "columns": (),
    "context_hits": (),
    "criteria": ("must_satisfy",),
    "custom": (),
    "dbgpt": (),
    "filling": (),
    "holes": (),
    "judged": ("judged", "rbp"),
    "lexical": ("acc", "coverem", "em", "f1", "stringem"),
    "ngrams": ("bleu", "chrf"),
    "nuggets": (
        "all_score",
        "nugget_recall",
        "strict_all_score",
        "strict_vital_score",
        "strict_weighted_score",
        "vital_score",
    ),
    "ragas": (
        "answer_accuracy",
        "answer_correctness",
        "answer_relevancy",
        "context_entity_recall",
        "context_precision",
        "context_recall",
        "context_relevance",
        "context_utilization",
        "datacompy_score",
        "domain_specific_rubrics",
        "factual_correctness",
        "faithfulness",
        "instance_specific_rubrics",
        "noise_sensitivity",
        "noise_sensitivity_irrelevant",
        "ragas.bleu",
        "response_groundedness",
        "rubrics_score_with_reference",
        "sql_semantic_equivalence",
        "summary_score",
    ),
    "ranking": (
        "bpref",
        "hit_rate",
        "infap",
        "map",
        "mrr",
        "ndcg",
        "precision",
        "recall",
        "rprec",
    ),
    "refusals": ("crag_score", "missed_refusal", "over_refusal", "refusal"),
    "rouge": ("rouge-1", "rouge-2", "rouge-l", "rouge_score"),
    "row_checks": ("answer_checks", "must_include", "must_match", "must_not_include"),
    "rubric": ("llm_answer_relevancy", "rubric"),
    "similarity": ("context_similarity", "semantic_similarity"),
    "support": (),
    "string_similarity": (
        "non_llm_context_precision",
        "non_llm_context_recall",
        "quoted_spans_alignment",
        "string_equality",
        "string_presence",
        "string_similarity",
    ),
}


def is_of_nuggets(column: MetricColumn) -> bool:
    """Return whether a metric of a scenario measures nuggets."""
    return column.definition.partition(" ")[0] in NAMES["nuggets"]
