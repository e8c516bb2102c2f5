"""The metrics of the package ragas, one definition each: fields, aliases, options and models.

Prompts, schemas and formulas are ragas' own (``ragas.metrics.collections``); our clients send the
requests. ``metric`` scores a sample, ``metric_table`` names the class and the requests of each
metric that asks a judge. Both are imported when a scenario names such a metric, ragas itself when a
sample has no score in the cache. Two metrics ask nobody: ragas computes them from texts.
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
from pytest_rageval.metrics.ragas.options import (
    CorrectnessOptions,
    FactualOptions,
    InstanceRubricsOptions,
    IrrelevantNoiseOptions,
    NoiseOptions,
    RagasOptions,
    ReferenceOptions,
    RelevancyOptions,
    RubricsOptions,
    RubricsWithReferenceOptions,
    SummaryOptions,
    TableOptions,
    VotedOptions,
    VotedReferenceOptions,
)
from pytest_rageval.metrics.similarity import COSINE_MARGIN, COSINE_RANGE


def preload() -> None:
    """Begin to import ragas in a thread, unless that has begun; failures show when it is used."""
    from pytest_rageval.metrics.ragas.backend import begin_loading

    begin_loading()


def _make(info: MetricInfo, fields: str, optional: str) -> Callable[[str, Any], JudgedMetric]:
    """Return what makes the metric; ``fields`` are all that ragas is given, also the optional."""

    def make(name: str, chosen: RagasOptions) -> JudgedMetric:
        from pytest_rageval.metrics.ragas.metric import MetricRow, RagasMetric
        from pytest_rageval.metrics.ragas.metric_table import METRIC_TABLE

        row = MetricRow(
            *METRIC_TABLE[info.name],
            _named(fields),
            _named(optional),
            embeds="embedding" in info.asks,
            lower_is_better=not info.higher_is_better,
        )
        return RagasMetric(name, chosen, row)

    return make


def _named(fields: str) -> tuple[str, ...]:
    """Return the fields of Request, which has one of the references."""
    return tuple(fields.replace("references", "reference").split())


def _definition(
    name: str,
    needs: str,
    aliases: str,
    options: type[RagasOptions] = RagasOptions,
    optional: str = "",
    from_column: str = "",
    **more: Any,
) -> MetricDefinition:
    """Return a metric that asks a judge, and perhaps an embedding model; ``more`` is of its info.

    ``needs``, ``optional`` and ``aliases`` are words with blanks between them. Ragas is given the
    fields that it needs, those of ``optional``, which a row may lack, and ``from_column``, which is
    in a column of the data that the options name.
    """
    info = MetricInfo(
        name,
        needs=frozenset(needs.split()),
        reads=frozenset(optional.split()),
        aliases=tuple(aliases.split()),
        extra="ragas",
        asks=frozenset({"judge"}),
        keeps_scores=True,
        empty_is_worst=True,
    )
    info = replace(info, **more)
    make = _make(info, f"{needs} {optional} {from_column}", optional)
    return MetricDefinition(info, make, options, preload=preload)


def _of_texts(
    name: str,
    ragas_class: str,
    package: str,
    aliases: tuple[str, ...] = (),
    options: type[NoOptions] = NoOptions,
    **more: Any,
) -> MetricDefinition:
    """Return a metric that ragas computes from the answer and a reference, without a model.

    ``package`` is what ragas needs for it. A name ``ragas.bleu`` is ragas' form of our ``bleu``.
    """

    def make(shown: str, chosen: Any) -> Metric:
        from pytest_rageval.metrics.ragas.backend import TextMetric
        from pytest_rageval.metrics.ragas.tables import TableMetric

        made = TableMetric if options is TableOptions else TextMetric
        return made(shown, chosen, ragas_class, package)

    needs = frozenset({"answer", "references"})
    info = MetricInfo(name, needs, aliases, extra="ragas-texts", empty_is_worst=True, **more)
    return MetricDefinition(info, make, options, preload=preload)


_SIMILAR: dict[str, Any] = {
    "range": COSINE_RANGE,
    "as_is": True,
    "asks": frozenset({"judge", "embedding"}),
}
_MARKS: dict[str, Any] = {
    "range": (1.0, 5.0),
    "optional": "question contexts references reference_contexts",
}
_WORSE: dict[str, Any] = {"higher_is_better": False}

METRICS = (
    _definition(
        "faithfulness",
        "question answer contexts",
        "",
        VotedOptions,
        summary="claims of the answer that the contexts support; 2 calls",
    ),
    _definition(
        "answer_relevancy",
        "question answer",
        "AnswerRelevancy response_relevancy ResponseRelevancy",
        RelevancyOptions,
        margin=COSINE_MARGIN,
        summary="whether it is to the point, by questions guessed from it; 3 calls",
        **_SIMILAR,
    ),
    _definition(
        "context_precision",
        "question references contexts",
        "ContextPrecision context_precision_with_reference ContextPrecisionWithReference "
        "llm_context_precision_with_reference LLMContextPrecisionWithReference",
        VotedReferenceOptions,
        summary="contexts that help to arrive at the reference come first; k calls",
    ),
    _definition(
        "context_utilization",
        "question answer contexts",
        "ContextUtilization context_precision_without_reference "
        "ContextPrecisionWithoutReference llm_context_precision_without_reference "
        "LLMContextPrecisionWithoutReference",
        VotedOptions,
        summary="contexts that help to arrive at the answer come first; k calls",
    ),
    _definition(
        "context_recall",
        "question contexts references",
        "ContextRecall llm_context_recall LLMContextRecall",
        VotedReferenceOptions,
        summary="claims of the reference that the contexts hold; 1 call",
    ),
    _definition(
        "context_entity_recall",
        "references contexts",
        "ContextEntityRecall",
        ReferenceOptions,
        summary="names and dates of the reference that the contexts have; 2 calls",
    ),
    _definition(
        "answer_correctness",
        "question answer references",
        "AnswerCorrectness",
        CorrectnessOptions,
        summary="right claims, and likeness to the reference; 3 calls",
        **_SIMILAR,
    ),
    _definition(
        "factual_correctness",
        "answer references",
        "FactualCorrectness",
        FactualOptions,
        summary="claims that answer and reference share; 4 calls",
    ),
    _definition(
        "noise_sensitivity",
        "question answer references contexts",
        "NoiseSensitivity noise_sensitivity_relevant",
        NoiseOptions,
        summary="wrong claims that relevant contexts support; 3 + 2k calls",
        **_WORSE,
    ),
    _definition(
        "noise_sensitivity_irrelevant",
        "question answer references contexts",
        "",
        IrrelevantNoiseOptions,
        summary="wrong claims that only irrelevant contexts support; 3 + 2k calls",
        **_WORSE,
    ),
    _definition(
        "domain_specific_rubrics",
        "answer",
        "DomainSpecificRubrics rubrics_score RubricsScore rubrics_score_without_reference"
        " RubricsScoreWithoutReference",
        RubricsOptions,
        summary="a mark by levels in words; 1 call",
        **_MARKS,
    ),
    _definition(
        "rubrics_score_with_reference",
        "answer",
        "RubricsScoreWithReference",
        RubricsWithReferenceOptions,
        summary="such a mark, with the reference; 1 call",
        **_MARKS,
    ),
    _definition(
        "instance_specific_rubrics",
        "answer",
        "InstanceSpecificRubrics instance_rubrics InstanceRubrics",
        InstanceRubricsOptions,
        from_column="rubrics",
        summary="such a mark, by levels of the row; 1 call",
        **_MARKS,
    ),
    _definition(
        "answer_accuracy",
        "question answer references",
        "AnswerAccuracy nv_accuracy",
        ReferenceOptions,
        summary="whether answer and reference agree; 2 calls",
    ),
    _definition(
        "context_relevance",
        "question contexts",
        "ContextRelevance nv_context_relevance",
        summary="how well the contexts fit the question; 2 calls",
    ),
    _definition(
        "response_groundedness",
        "answer contexts",
        "ResponseGroundedness nv_response_groundedness",
        summary="how far the contexts support the answer; 2 calls",
    ),
    _definition(
        "summary_score",
        "reference_contexts answer",
        "SummaryScore summarization_score SummarizationScore",
        SummaryOptions,
        summary="whether a summary answers questions about its text; 3 calls",
    ),
    _definition(
        "sql_semantic_equivalence",
        "answer references",
        "SQLSemanticEquivalence LLMSQLEquivalence llm_sql_equivalence_with_reference",
        ReferenceOptions,
        optional="reference_contexts",
        summary="1 if two SQL queries return the same rows, else 0; 1 call",
    ),
    _of_texts("ragas.bleu", "BleuScore", "sacrebleu", summary="BLEU as ragas computes it"),
    _of_texts(
        "datacompy_score",
        "DataCompyScore",
        "datacompy",
        ("DataCompyScore", "data_compare_score"),
        TableOptions,
        version=2,  # 1 did not see that a column is missing
        summary="two tables in CSV: rows, or columns, that are equal",
    ),
)
