"""The metrics of the package ragas, one definition each: fields, aliases, options and models.

Prompts, schemas and formulas are ragas' own (``ragas.metrics.collections``); our clients send the
requests. ``metric`` scores a sample, ``metric_table`` names the class and the requests of each
metric that asks a judge. Both are imported when a scenario names such a metric, ragas itself when a
sample has no score in the cache. Two metrics ask nobody: ragas computes them from texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from pytest_rageval.metrics.base import (
    JudgedMetric,
    Metric,
    MetricDefinition,
    MetricInfo,
    NoOptions,
)
from pytest_rageval.metrics.similarity import COSINE_MARGIN, COSINE_RANGE
from pytest_rageval.scenario.model_specs import check_language


class RagasOptions(NoOptions):
    """The option of all that ask a judge."""

    language: Annotated[str, AfterValidator(check_language)] | None = Field(
        None,
        description="of the prompts, the judge's when absent; auto: English, as ragas wrote "
        "them; any other: the judge translates them",
    )

    passed: ClassVar[frozenset[str]] = frozenset()
    """The options that ragas' class takes."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ragas' class."""
        return self.model_dump(mode="json", include=set(self.passed))


def _votes(times: int | None) -> int | None:
    """Return an odd number of votes; None for 1, which is the same as without the option."""
    if times is not None and times % 2 == 0:
        raise ValueError("an odd number, so that there is always a majority")
    return None if times == 1 else times


class VotedOptions(RagasOptions):
    """How often the judge gives its verdicts."""

    reproducibility: Annotated[
        Annotated[int, Field(ge=1, le=21, strict=True)] | None, AfterValidator(_votes)
    ] = Field(None, description="verdicts on each statement; the majority counts")


class ReferenceOptions(RagasOptions):
    """Which reference counts: ragas takes one."""

    references: Literal["first", "best"] = Field(
        "first", description="best: score each, at so many times the calls"
    )


class VotedReferenceOptions(ReferenceOptions, VotedOptions):
    """Repeated verdicts, and the choice among references."""


class RelevancyOptions(RagasOptions):
    """How thoroughly the judge is asked."""

    strictness: int = Field(
        3, ge=1, le=20, strict=True, description="questions guessed from the answer"
    )
    passed = frozenset({"strictness"})


def _some_weight(weights: tuple[float, float]) -> tuple[float, float]:
    if not any(weights):
        raise ValueError("one of the two weights must be above 0")
    return weights


_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Beta = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class CorrectnessOptions(ReferenceOptions):
    """The weights of claims and similarity."""

    weights: Annotated[tuple[_Weight, _Weight], AfterValidator(_some_weight)] = Field(
        (0.75, 0.25), description="of claims and of similarity; with 0 nothing is embedded"
    )
    beta: _Beta = Field(1.0, description="above 1 favours recall")
    passed = frozenset({"weights", "beta"})

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info; where similarity has weight 0, without the embedding model.

        The range is then that of claims, 0..1: a cosine alone can be below 0.
        """
        if self.weights[1]:
            return info
        return replace(info, asks=frozenset({"judge"}), range=(0.0, 1.0))


class FactualOptions(VotedReferenceOptions):
    """Which figure is the score, and how texts are split into claims."""

    mode: Literal["precision", "recall", "f1"] = Field("f1", description="which figure it is")
    beta: _Beta = Field(1.0, description="of f1; above 1 favours recall")
    atomicity: Literal["low", "high"] = Field("low", description="how finely claims are cut")
    coverage: Literal["low", "high"] = Field("low", description="how many claims are kept")
    passed = frozenset({"mode", "beta", "atomicity", "coverage"})


_NOISE = "the contexts whose wrong claims are counted"


class NoiseOptions(VotedReferenceOptions):
    """Which wrong claims are counted."""

    mode: Literal["relevant", "irrelevant"] = Field("relevant", description=_NOISE)
    passed = frozenset({"mode"})


class IrrelevantNoiseOptions(NoiseOptions):
    """The same, with the mode ``irrelevant`` by default."""

    mode: Literal["relevant", "irrelevant"] = Field("irrelevant", description=_NOISE)


_LEVEL = re.compile(r"score([0-9]+)_description")


def _levels(rubrics: Mapping[str, str] | None) -> Mapping[str, str] | None:
    if rubrics is None:
        return None
    for name in rubrics:
        if not _LEVEL.fullmatch(name):
            raise ValueError(f"{name!r} must be written as score1_description, score2_description")
    marks = [_mark(name) for name in rubrics]
    if len(marks) < 2:
        raise ValueError("rubrics describe two levels or more")
    if len({*marks}) < len(marks):
        raise ValueError(f"rubrics describe each level once, found {', '.join(rubrics)}")
    return rubrics


def _mark(name: str) -> int:
    """Return the mark of a level: 3 for ``score3_description``."""
    return int(name[len("score") : -len("_description")])


_WITH_REFERENCE = "whether the judge sees the reference"


class RubricsOptions(ReferenceOptions):
    """The levels, and whether the judge sees the reference."""

    rubrics: Annotated[dict[str, str] | None, AfterValidator(_levels)] = Field(
        None, description="score1_description: text, and so on; ragas' five levels when absent"
    )
    with_reference: bool = Field(False, description=_WITH_REFERENCE)

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest mark."""
        if self.rubrics is None:
            return (1, 5)
        marks = [_mark(name) for name in self.rubrics]
        return (min(marks), max(marks))

    passed = frozenset({"rubrics", "with_reference"})

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the rubrics, and the reference where it counts."""
        needs = info.needs | ({"references"} if self.with_reference else set())
        low, high = self.scale
        return replace(info, needs=needs, range=(float(low), float(high)))


class RubricsWithReferenceOptions(RubricsOptions):
    """The same, with the reference by default."""

    with_reference: bool = Field(True, description=_WITH_REFERENCE)


def _ascending(scale: tuple[int, int]) -> tuple[int, int]:
    if scale[0] >= scale[1]:
        raise ValueError("the lowest mark comes first, then a higher one")
    return scale


class InstanceRubricsOptions(ReferenceOptions):
    """Where the rubrics of a row are."""

    column: str = Field("rubrics", description="of the data, with the row's rubrics")
    scale: Annotated[tuple[int, int], AfterValidator(_ascending)] = Field(
        (1, 5), description="lowest and highest mark"
    )

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info with the range of the marks."""
        low, high = self.scale
        return replace(info, range=(float(low), float(high)))


class TableOptions(NoOptions):
    """What is counted of two tables, under ragas' names."""

    mode: Literal["rows", "columns"] = Field("rows", description="what must be equal as a whole")
    metric: Literal["precision", "recall", "f1"] = Field("f1", description="which figure it is")


class SummaryOptions(RagasOptions):
    """How much a short summary counts."""

    length_penalty: bool = Field(True, description="whether a short summary is better")
    coeff: float = Field(0.5, ge=0, le=1, description="how much that counts")
    passed = frozenset({"length_penalty", "coeff"})


def preload() -> None:
    """Begin to import ragas in a thread, unless that has begun; failures show when it is used."""
    from pytest_rageval.metrics.ragas.backend import begin_loading

    begin_loading()


def _make(info: MetricInfo, fields: str, optional: str) -> Callable[[str, Any], JudgedMetric]:
    def make(name: str, chosen: RagasOptions) -> JudgedMetric:
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
    aliases: str,
    chosen: type[RagasOptions] = RagasOptions,
    optional: str = "",
    from_column: str = "",
    **known: Any,
) -> MetricDefinition:
    info = MetricInfo(
        name,
        needs=frozenset(needs.split()),
        aliases=tuple(aliases.split()),
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
    *,
    summary: str,
) -> MetricDefinition:
    """Return a metric that ragas computes from the answer and a reference, without a model.

    ``ragas.NAME`` is its own form of a metric of ours called NAME.
    """

    def make(given: str, options: Any) -> Metric:
        from pytest_rageval.metrics.ragas.backend import TextMetric

        return TextMetric(given, options, ragas_class, package)

    needs = frozenset({"answer", "references"})
    info = MetricInfo(
        name, needs, aliases, extra="ragas-texts", empty_is_worst=True, summary=summary
    )
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
        summary="two tables in CSV: rows, or columns, that are equal",
    ),
)
