"""What stands behind each of ragas' metrics: its class, the fields that it takes, our questions."""

from __future__ import annotations

from pytest_rageval.metrics.ragas import correctness, questions, ratings
from pytest_rageval.metrics.ragas.metric import RagasMetric, Recipe
from pytest_rageval.metrics.ragas.options import RagasOptions

_SAMPLE = ("question", "answer", "contexts", "reference", "reference_contexts")
_ALL_BUT_THE_ANSWER = ("question", "contexts", "reference", "reference_contexts")

_NOISE = Recipe(
    "NoiseSensitivity",
    ("question", "answer", "reference", "contexts"),
    correctness.noise_sensitivity,
    lower_is_better=True,
)
_RUBRICS = Recipe(
    "DomainSpecificRubrics", _SAMPLE, ratings.domain_rubrics, optional=_ALL_BUT_THE_ANSWER
)

RECIPES = {
    "faithfulness": Recipe(
        "Faithfulness", ("question", "answer", "contexts"), questions.faithfulness
    ),
    "answer_relevancy": Recipe(
        "AnswerRelevancy", ("question", "answer"), questions.answer_relevancy, embeds=True
    ),
    "context_precision": Recipe(
        "ContextPrecision", ("question", "reference", "contexts"), questions.context_precision
    ),
    "context_utilization": Recipe(
        "ContextUtilization", ("question", "answer", "contexts"), questions.context_utilization
    ),
    "context_recall": Recipe(
        "ContextRecall", ("question", "contexts", "reference"), questions.context_recall
    ),
    "context_entity_recall": Recipe(
        "ContextEntityRecall", ("reference", "contexts"), questions.context_entity_recall
    ),
    "answer_correctness": Recipe(
        "AnswerCorrectness",
        ("question", "answer", "reference"),
        correctness.answer_correctness,
        embeds=True,
    ),
    "factual_correctness": Recipe(
        "FactualCorrectness", ("answer", "reference"), correctness.factual_correctness
    ),
    "noise_sensitivity": _NOISE,
    "noise_sensitivity_irrelevant": _NOISE,
    "domain_specific_rubrics": _RUBRICS,
    "rubrics_score_with_reference": _RUBRICS,
    "instance_specific_rubrics": Recipe(
        "InstanceSpecificRubrics",
        (*_SAMPLE, "rubrics"),
        ratings.instance_rubrics,
        optional=_ALL_BUT_THE_ANSWER,
    ),
    "answer_accuracy": Recipe(
        "AnswerAccuracy", ("question", "answer", "reference"), ratings.answer_accuracy
    ),
    "context_relevance": Recipe(
        "ContextRelevance", ("question", "contexts"), ratings.context_relevance
    ),
    "response_groundedness": Recipe(
        "ResponseGroundedness", ("answer", "contexts"), ratings.response_groundedness
    ),
    "summary_score": Recipe(
        "SummaryScore", ("reference_contexts", "answer"), ratings.summary_score
    ),
}
"""By the names of the metrics."""


def make_metric(recipe: str, name: str, options: RagasOptions) -> RagasMetric:
    """Return the metric whose scores are called ``name``.

    Raises MissingExtraError when ragas is not installed.
    """
    return RagasMetric(name, options, RECIPES[recipe])
