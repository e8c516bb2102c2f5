"""The keys of a scenario file as pydantic models, with those of ``data_specs`` and ``model_specs``.

Short forms (a path for a data set, a number for a bound) are expanded before validation, so that
each value has one shape behind it. Unknown keys are refused; keys that begin with ``x-`` are the
user's own. Names of metrics, gates and formats are bound later, in ``engine.planning``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from unicodedata import normalize

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from pytest_rageval.errors import shorten
from pytest_rageval.model import WEIGHTED_SCORE, Correction, TestName, value_text
from pytest_rageval.scenario.answer_specs import (
    CitationsSpec,
    ConversationSpec,
    RefusalsSpec,
    true_or_keys,
)
from pytest_rageval.scenario.data_specs import AnswersSpec, CorpusSpec, DatasetSpec, Delimiter
from pytest_rageval.scenario.model_specs import (
    EmbeddingSpec,
    JudgeSpec,
    MetricSpec,
    ProfileSpec,
    filled_roles,
)
from pytest_rageval.scenario.short_forms import named_target, type_of_target
from pytest_rageval.scenario.spec import (
    TEXT,
    Amount,
    BoundSpec,
    Count,
    Encoding,
    Name,
    Number,
    Resamples,
    Retries,
    Seconds,
    Seed,
    Share,
    Spec,
    Text,
    Weight,
    Whole,
    expected,
    model_in,
    refuse_half_characters,
    without_own_keys,
)

EmptyAnswer = Literal["worst", "missing", "error"]
MatchName = Literal["exact", "normalized", "contains", "doc_name"]


class MarkSpec(Spec):
    """Rows that are skipped or expected to fail, because their fields equal all of ``where``."""

    where: dict[str, Any] = Field(min_length=1, description="field: value, or a list of values")
    reason: Text = Field("", description="shown with -rs and -rx")


class BandsSpec(Spec):
    """From ``good`` upwards a mean is good, from ``warn`` upwards it is a warning, else bad."""

    null_is_empty = True

    good: Number = Field(0.8, description="from here upwards a mean is good")
    warn: Number = Field(0.6, description="from here upwards a warning, below it bad")

    @model_validator(mode="after")
    def _are_in_order(self) -> BandsSpec:
        if self.good < self.warn:
            good, warn = value_text(self.good), value_text(self.warn)
            raise ValueError(
                f"'good' ({good}) is below 'warn' ({warn}, 0.6 where it is absent); "
                f"write a 'warn' of at most {good}"
            )
        return self


class CompareSpec(Spec):
    """What this run is compared with: a saved run, or (with TREC files) another run file."""

    short_form = "baseline"
    one_of = (("baseline",), ("run_old_path",))

    baseline: Name | None = Field(None, description="name of a saved run, or path of its JSON file")
    run_old_path: Name | None = Field(None, description="TREC run to compare with")
    metrics: list[Name] = Field([], description="all metrics and weighted_score when empty")
    test: TestName = Field("permutation", description="of significance; t and wilcoxon need scipy")
    alpha: Share = Field(0.05, description="two-sided; intervals have the confidence 1 - alpha")
    n_resamples: Resamples = Field(10_000, description="where the test is not exact")
    seed: Seed = Field(42, description="where the test is not exact")
    correction: Correction = Field("max-t", description="of p-values, for being several")
    anyway: bool = Field(False, description="also when metrics or questions differ")

    @model_validator(mode="after")
    def _has_one_baseline(self) -> CompareSpec:
        if (self.baseline is None) == (self.run_old_path is None):
            raise ValueError("give either 'baseline' or 'run_old_path'")
        return self


class BestSpec(Spec):
    """How the variants are compared; a bare name is the variant that none may beat."""

    short_form = "at_least"

    of: Name = Field(WEIGHTED_SCORE, description="the metric by which variants are ranked")
    at_least: Name | None = Field(
        None, description="the variant that none may be significantly better than: the gate 'best'"
    )
    alpha: Share = Field(0.05, description="over all pairs of variants, two-sided")
    min_pairs: Number = Field(
        0.9, ge=0.0, le=1.0, description="share of the samples that every variant must score"
    )
    n_resamples: Resamples = Field(10_000, description="where the test is not exact")
    seed: Seed = Field(42, description="where the test is not exact")
    anyway: bool = Field(False, description="also where metrics, weights or questions differ")


class DiagnoseSpec(Spec):
    """The metrics that tell causes apart; the words of the texts do where one is absent."""

    other_forms = ({"type": "boolean"},)

    retrieval: Name | None = Field(
        None, description="low where the contexts lack the reference; context_recall when absent"
    )
    generation: Name | None = Field(
        None,
        description="low where the answer says what the contexts do not; faithfulness when absent",
    )


def true_or_mapping(value: Any) -> Any:
    """Return the mapping that ``true`` stands for, None for ``false``."""
    if isinstance(value, bool):
        return {} if value else None
    if value is None or isinstance(value, dict | DiagnoseSpec):
        return value
    found = shorten(repr(value))
    raise ValueError(f"expected true or {{retrieval: METRIC, generation: METRIC}}, found {found}")


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


_NAME = {**TEXT, "minLength": 1}
_NAMES = {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}
Names = Annotated[list[Name], BeforeValidator(_listed), WithJsonSchema(_NAMES)]
"""A name, or a list of them."""


class HumanSpec(Spec):
    """What people say of the answers, in files of labels or in columns of the data."""

    short_form = "file"

    file: Names = Field([], description="label files, relative to the scenario file")
    more: Names = Field([], description="further label files, those of --rag-labels")
    column: Names = Field([], description="columns of the data, one for each annotator")
    of: Names = Field(
        [], description="the metrics that the labels are about; the only judged one when absent"
    )
    question: Text = Field(
        "",
        description="what people answer of each answer; that of the rubric, or a description that "
        "asks one, when absent",
    )
    levels: Annotated[list[Number], Field(min_length=2)] | None = Field(
        None,
        description="what a label may be; the highest is positive; those of a rubric, or 0 and 1, "
        "when absent",
    )
    cut: Number | None = Field(
        None, description="from this score on the higher of two levels is meant; else the threshold"
    )
    annotators: Names = Field([], description="whose labels count; everyone's when absent")
    drawn: Literal["random", "chosen"] = Field(
        "chosen", description="how the labels were drawn that do not say it themselves"
    )
    encoding: Encoding = Field("utf-8", description="of the files, for instance gb18030")
    delimiter: Delimiter = None

    @field_validator("levels")
    @classmethod
    def _levels_differ(cls, levels: list[float] | None) -> list[float] | None:
        if levels is not None and len(set(levels)) < len(levels):
            raise ValueError("names a level twice; each is one of the values that a label may have")
        return None if levels is None else sorted(levels)

    @model_validator(mode="after")
    def _has_one_source(self) -> HumanSpec:
        if self.column and (self.file or self.more):
            raise ValueError("give either 'file' or 'column'")
        return self

    @model_validator(mode="after")
    def _asks_of_one_metric(self) -> HumanSpec:
        if self.question and len(self.of) > 1:
            listed = ", ".join(self.of)
            raise ValueError(
                f"one 'question' cannot be that of {listed}; name one metric in 'of', or leave the "
                "question to their rubrics"
            )
        return self


class TargetSpec(Spec):
    """The system under test and how it is asked; a bare import path is a Python function.

    ``options`` are the keys that only its ``type`` has; in the file they stand beside the others.
    """

    other_forms = ({"type": "string", "minLength": 1},)

    type: Name = Field(description="by the other keys when absent")
    concurrency: Whole = Field(
        32, ge=1, le=1024, description="concurrent questions, across all workers"
    )
    rpm: Count | None = Field(None, description="questions per minute")
    timeout_s: Seconds = Field(60.0, description="for one answer")
    retries: Retries | None = Field(
        None, description="after failures that may pass; by the type when absent"
    )
    max_wait_s: Amount = Field(120.0, description="for the waits of one question altogether")
    cache_answers: bool = Field(False, description="keep answers as replies of models are kept")
    version: Text = Field("", description="another one makes kept answers void; may say ${NAME}")
    options: dict[str, Any] = Field({}, description="the keys of its type")

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = named_target(data)
        if not isinstance(data, dict):
            raise ValueError("write a target as 'my_app.rag:answer' or as {type: http, url: ...}")
        known = cls.model_fields.keys() - {"options"}
        keys = {key: value for key, value in data.items() if key in known}
        rest = {key: value for key, value in data.items() if key not in known}
        keys.setdefault("type", type_of_target(rest))
        if keys["type"] is None:
            raise ValueError("give its 'type': python, http, chat, dbgpt, fixture or hook")
        return {**keys, "options": without_own_keys(rest)}


def _documents_named_once(weights: dict[str, float]) -> dict[str, float]:
    """Refuse a name that is given both composed and decomposed: it looks the same, and is."""
    seen: dict[str, str] = {}
    for name, weight in weights.items():
        first = seen.setdefault(normalize("NFC", name), name)
        if first != name:
            raise ValueError(
                f"names {normalize('NFC', name)!r} twice, composed (NFC) and decomposed (NFD), "
                f"with the weights {value_text(weights[first])} and {value_text(weight)}; keep one"
            )
    return weights


class Scenario(Spec):
    """A scenario file."""

    name: Name = Field(description="the scenario's name; its runs are kept under it")
    description: Text = Field("", description="shown in metadata.json and on the page")
    dataset: DatasetSpec = Field(description="where the rows come from: a path, rows, or a mapping")
    answers: AnswersSpec | None = Field(None, description="a second file, joined to the rows")
    corpus: CorpusSpec | None = Field(None, description="what questions about a document expect")
    top_k: Count | None = Field(None, description="cuts contexts and retrieved ids")
    empty_answer: EmptyAnswer | None = Field(
        "worst",
        description="worst: metrics that ask a model give their worst score, without asking; "
        "missing: as a row without an answer; error: the case is an ERROR; null: up to the metric",
    )
    match: MatchName | None = Field(None, description="how contexts are found to be expected ones")
    target: TargetSpec | None = Field(None, description="the system that gives the answers")
    metrics: list[MetricSpec] = Field(min_length=1, description="what is measured")
    metric_options: dict[str, Any] = Field({}, description="options of every metric that has them")
    metric_weights: dict[str, Weight] = Field(
        {}, description="what each metric counts in weighted_score; 1.0 when absent"
    )
    doc_weights: Annotated[dict[str, Weight], AfterValidator(_documents_named_once)] = Field(
        {}, description="doc_name: what its samples count in every mean; 1.0 when absent"
    )
    thresholds: dict[str, BoundSpec] = Field({}, description="per sample: the least a score may be")
    gates: Annotated[dict[str, Any], BeforeValidator(refuse_half_characters)] = Field(
        {}, description="per scenario: what its figures must reach"
    )
    tolerate: Literal["pass_rate"] | None = Field(
        None, description="a sample below its threshold is xfailed; the gate pass_rate decides"
    )
    stop: Annotated[
        Literal["decided"] | Annotated[float, Field(gt=0.0, lt=0.5)] | None,
        expected("'decided' or an error bound above 0 and below 0.5"),
    ] = Field(
        None,
        description="ask no more once every gate is decided, or so at this probability of error",
    )
    skip: list[MarkSpec] = Field([], description="rows that are not run")
    xfail: list[MarkSpec] = Field([], description="rows that are known to be too low")
    compare: CompareSpec | None = Field(None, description="with a saved or an older run")
    group_by: Name | None = Field(
        None, description="field of the rows; samples with the same value are not independent"
    )
    bands: BandsSpec = Field(BandsSpec(), description="colours and words for means and scores")
    models: dict[str, ProfileSpec] = Field({}, description="profiles that judge: NAME can name")
    judge: JudgeSpec | None = Field(None, description="the model that judges")
    embedding: EmbeddingSpec | None = Field(None, description="turns texts into vectors")
    human: HumanSpec | None = Field(
        None, description="labels of people, that a metric is held against: a file, or a mapping"
    )
    diagnose: Annotated[DiagnoseSpec | None, BeforeValidator(true_or_mapping)] = Field(
        None, description="why an answer is low: true, or the metrics that tell causes apart"
    )
    citations: Annotated[CitationsSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="how answers cite their sources: auto, another style, or a mapping"
    )
    refusals: Annotated[RefusalsSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="how answers that refuse are told: phrases, judge, or a mapping"
    )
    conversation: Annotated[ConversationSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="what is done with earlier turns: true, or a mapping"
    )
    variants: dict[str, dict[str, Any] | None] = Field(
        {}, description="name: the keys that this variant lays over the others"
    )
    best: BestSpec | None = Field(
        None, description="how variants are ranked, and the one that none may beat"
    )
    output_dir: Name | None = Field(None, description="base folder, relative to the rootdir")
    save_path: Name | None = Field(None, description="also write UltraRAG's result JSON here")

    @model_validator(mode="before")
    @classmethod
    def _fill_roles(cls, data: Any) -> Any:
        return filled_roles(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _has_no_conflict(self) -> Scenario:
        for _, _, message in conflicts(self):
            raise ValueError(message)
        return self


def conflicts(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield each conflict of two sections: the path of one, the name of the other, the message."""
    if scenario.tolerate == "pass_rate" and "pass_rate" not in scenario.gates:
        message = "tolerate: pass_rate needs the gate 'pass_rate', which then decides"
        yield ("tolerate",), "gates", message
    for other, message in _conflicts_of_stop(scenario):
        yield ("stop",), other, f"stop: {message}"
    if scenario.answers is not None and scenario.dataset.qrels_path is not None:
        message = "answers: a second file is for rows; TREC files have 'run_path'"
        yield ("answers",), "dataset", message
    compare = scenario.compare
    if compare is not None and compare.run_old_path and not scenario.dataset.run_path:
        path = ("compare", "run_old_path")
        yield path, "dataset", "compare.run_old_path needs 'qrels_path' and 'run_path'"


def _conflicts_of_stop(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the section that ``stop`` cannot go with, and why."""
    if scenario.stop is None:
        return
    if not scenario.gates:
        yield "gates", "needs 'gates': without any, nothing is ever decided"
    if scenario.thresholds and scenario.tolerate is None:
        message = "any sample may miss its threshold, so that each one must be asked about; "
        yield "thresholds", f"{message}write 'tolerate: pass_rate', or remove the thresholds"
    for section, what in (("doc_weights", "weigh alike"), ("group_by", "are independent")):
        if scenario.stop != "decided" and getattr(scenario, section):
            message = f"an error bound holds for samples that {what}, and there is {section!r}"
            yield section, f"{message}; write 'stop: decided'"


def null_says_something(path: Sequence[str | int]) -> bool | None:
    """Return whether null is a value at ``path``, other than that of an absent key.

    None where the schema has no such key: the path is in a part with keys of any name.
    """
    model: type[BaseModel] | None = Scenario
    at, is_many, found = 0, False, None
    while at < len(path):
        found = model.model_fields.get(str(path[at])) if model else None
        if found is None:
            return None
        model = model_in(found.annotation)
        # What follows is the name of one of many, or its place in a list.
        is_many = get_origin(found.annotation) in (dict, list)
        at += 1 + is_many
    if found is None or (at == len(path) and is_many):
        return None
    return found.default is not None and NoneType in get_args(found.annotation)
