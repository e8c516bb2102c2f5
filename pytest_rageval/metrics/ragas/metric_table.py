"""The table of ragas' metrics: the class of each, and the function that sends our requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_rageval.metrics.ragas import answer_prompts, correctness, ratings
from pytest_rageval.metrics.ragas.metric import Ask

METRIC_TABLE: Final[Mapping[str, tuple[str, Ask]]] = {
    "faithfulness": ("Faithfulness", answer_prompts.faithfulness),
    "answer_relevancy": ("AnswerRelevancy", answer_prompts.answer_relevancy),
    "context_precision": ("ContextPrecision", answer_prompts.context_precision),
    "context_utilization": ("ContextUtilization", answer_prompts.context_utilization),
    "context_recall": ("ContextRecall", answer_prompts.context_recall),
    "context_entity_recall": ("ContextEntityRecall", answer_prompts.context_entity_recall),
    "answer_correctness": ("AnswerCorrectness", correctness.answer_correctness),
    "factual_correctness": ("FactualCorrectness", correctness.factual_correctness),
    "noise_sensitivity": ("NoiseSensitivity", correctness.noise_sensitivity),
    "noise_sensitivity_irrelevant": ("NoiseSensitivity", correctness.noise_sensitivity),
    "domain_specific_rubrics": ("DomainSpecificRubrics", ratings.domain_rubrics),
    "rubrics_score_with_reference": ("DomainSpecificRubrics", ratings.domain_rubrics),
    "instance_specific_rubrics": ("InstanceSpecificRubrics", ratings.instance_rubrics),
    "answer_accuracy": ("AnswerAccuracy", ratings.answer_accuracy),
    "context_relevance": ("ContextRelevance", ratings.context_relevance),
    "response_groundedness": ("ResponseGroundedness", ratings.response_groundedness),
    "summary_score": ("SummaryScore", ratings.summary_score),
    "sql_semantic_equivalence": ("SQLSemanticEquivalence", ratings.sql_equivalence),
}
"""By the names of the metrics."""
