"""The metrics of the package ragas, one definition each: fields, aliases, options and models.

Prompts, schemas and formulas are ragas' own (``ragas.metrics.collections``); our clients send the
requests. ``metric`` scores a sample, ``metric_table`` names the class and the requests of each
metric. Both are imported when a scenario names such a metric, ragas itself when a sample has no
score in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_rageval.metrics.base import (
    JudgedMetric,
    Metric,
    MetricDefinition,
    MetricInfo,
    NoOptions,
)
from pytest_rageval.metrics.ragas import options
from pytest_rageval.metrics.similarity import COSINE_MARGIN, COSINE_RANGE


def preload() -> None:
    """Begin to import ragas in a thread, unless that has begun; failures show when it is used."""
    from pytest_rageval.metrics.ragas.backend import begin_loading

    begin_loading()


def _make(info: MetricInfo, fields: str, optional: str) -> Callable[[str, Any], JudgedMetric]:
    def make(name: str, chosen: options.RagasOptions) -> JudgedMetric:
        from pytest_rageval.metrics.ragas.metric import MetricRow, RagasMetric
        from pytest_rageval.metrics.ragas.metric_table import METRIC_TABLE

        row = MetricRow(
            *METRIC_TABLE[info.name],
            tuple(fields.replace("references", "reference").split()),
            tuple(optional.split()),
            embeds="embedding" in info.asks,
            lower_is_better=not info.higher_is_better,
        )
        return RagasMetric(name, chosen, row)

    return make


def _definition(
    name: str,
    needs: str,
    aliases: tuple[str, ...],
    chosen: type[options.RagasOptions] = options.RagasOptions,
    optional: str = "",
    from_column: str = "",
    **known: Any,
) -> MetricDefinition:
    info = MetricInfo(
        name,
        needs=frozenset(needs.split()),
        aliases=aliases,
        extra="ragas",
        asks=frozenset({"judge"}),
        keeps_scores=True,
        empty_is_worst=True,
    )
    info = replace(info, **known)
    make = _make(info, f"{needs} {optional} {from_column}", optional)
    return MetricDefinition(info, make, chosen, preload=preload)


def _of_texts(
    name: str,
    ragas_class: str,
    package: str,
    aliases: tuple[str, ...] = (),
    chosen: type[NoOptions] = NoOptions,
) -> MetricDefinition:
    """Return a metric that ragas computes from the answer and a reference, without a model.

    ``ragas.NAME`` is its own form of a metric of ours called NAME.
    """

    def make(given: str, options: Any) -> Metric:
        from pytest_rageval.metrics.ragas.backend import TextMetric

        return TextMetric(given, options, ragas_class, package)

    needs = frozenset({"answer", "references"})
    info = MetricInfo(name, needs, aliases, extra="ragas-texts", empty_is_worst=True)
    return MetricDefinition(info, make, chosen, preload=preload)


_SIMILAR: dict[str, Any] = {
    "range": COSINE_RANGE,
    "as_is": True,
    "asks": frozenset({"judge", "embedding"}),
}
_MARKS: dict[str, Any] = {
    "range": (1.0, 5.0),
    "optional": "question contexts reference reference_contexts",
}
_WORSE: dict[str, Any] = {"higher_is_better": False}

METRICS = (
    _definition("faithfulness", "question answer contexts", (), options.VotedOptions),
    _definition(
        "answer_relevancy",
        "question answer",
        ("AnswerRelevancy", "response_relevancy", "ResponseRelevancy"),
        options.RelevancyOptions,
        margin=COSINE_MARGIN,
        **_SIMILAR,
    ),
    _definition(
        "context_precision",
        "question references contexts",
        (
            "ContextPrecision",
            "context_precision_with_reference",
            "ContextPrecisionWithReference",
            "llm_context_precision_with_reference",
            "LLMContextPrecisionWithReference",
        ),
        options.VotedReferenceOptions,
    ),
    _definition(
        "context_utilization",
        "question answer contexts",
        (
            "ContextUtilization",
            "context_precision_without_reference",
            "ContextPrecisionWithoutReference",
            "llm_context_precision_without_reference",
            "LLMContextPrecisionWithoutReference",
        ),
        options.VotedOptions,
    ),
    _definition(
        "context_recall",
        "question contexts references",
        ("ContextRecall", "llm_context_recall", "LLMContextRecall"),
        options.VotedReferenceOptions,
    ),
    _definition(
        "context_entity_recall",
        "references contexts",
        ("ContextEntityRecall",),
        options.ReferenceOptions,
    ),
    _definition(
        "answer_correctness",
        "question answer references",
        ("AnswerCorrectness",),
        options.CorrectnessOptions,
        **_SIMILAR,
    ),
    _definition(
        "factual_correctness",
        "answer references",
        ("FactualCorrectness",),
        options.FactualOptions,
    ),
    _definition(
        "noise_sensitivity",
        "question answer references contexts",
        ("NoiseSensitivity", "noise_sensitivity_relevant"),
        options.NoiseOptions,
        **_WORSE,
    ),
    _definition(
        "noise_sensitivity_irrelevant",
        "question answer references contexts",
        (),
        options.IrrelevantNoiseOptions,
        **_WORSE,
    ),
    _definition(
        "domain_specific_rubrics",
        "answer",
        (
            "DomainSpecificRubrics",
            "rubrics_score",
            "RubricsScore",
            "rubrics_score_without_reference",
            "RubricsScoreWithoutReference",
        ),
        options.RubricsOptions,
        **_MARKS,
    ),
    _definition(
        "rubrics_score_with_reference",
        "answer",
        ("RubricsScoreWithReference",),
        options.RubricsWithReferenceOptions,
        **_MARKS,
    ),
    _definition(
        "instance_specific_rubrics",
        "answer",
        ("InstanceSpecificRubrics", "instance_rubrics", "InstanceRubrics"),
        options.InstanceRubricsOptions,
        from_column="rubrics",
        **_MARKS,
    ),
    _definition(
        "answer_accuracy",
        "question answer references",
        ("AnswerAccuracy", "nv_accuracy"),
        options.ReferenceOptions,
    ),
    _definition(
        "context_relevance", "question contexts", ("ContextRelevance", "nv_context_relevance")
    ),
    _definition(
        "response_groundedness",
        "answer contexts",
        ("ResponseGroundedness", "nv_response_groundedness"),
    ),
    _definition(
        "summary_score",
        "reference_contexts answer",
        ("SummaryScore", "summarization_score", "SummarizationScore"),
        options.SummaryOptions,
    ),
    _definition(
        "sql_semantic_equivalence",
        "answer references",
        ("SQLSemanticEquivalence", "LLMSQLEquivalence", "llm_sql_equivalence_with_reference"),
        options.ReferenceOptions,
        optional="reference_contexts",
    ),
    _of_texts("ragas.bleu", "BleuScore", "sacrebleu"),
    _of_texts(
        "datacompy_score",
        "DataCompyScore",
        "datacompy",
        ("DataCompyScore", "data_compare_score"),
        options.TableOptions,
    ),
)
