"""The keys of a scenario file as pydantic models, with those of the modules ``*_specs`` beside it.

Short forms (a path for a data set, a number for a bound) are expanded before validation, so that
each value has one shape after it. Unknown keys are refused; keys that begin with ``x-`` are the
user's own. Names of metrics, gates and formats are bound later, in ``engine.planning``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from unicodedata import normalize

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from pytest_rageval.model import WEIGHTED_SCORE, Correction, TestName, value_text
from pytest_rageval.scenario.answer_specs import (
    CitationsSpec,
    ConversationSpec,
    DiagnoseSpec,
    FillSpec,
    HumanSpec,
    RefusalsSpec,
    true_or_causes,
    true_or_keys,
)
from pytest_rageval.scenario.conflicts import conflicts
from pytest_rageval.scenario.data_specs import AnswersSpec, CorpusSpec, DatasetSpec
from pytest_rageval.scenario.model_specs import (
    EmbeddingSpec,
    JudgeSpec,
    MetricSpec,
    ProfileSpec,
    filled_roles,
)
from pytest_rageval.scenario.short_forms import named_target, type_of_target
from pytest_rageval.scenario.spec import (
    Amount,
    BoundSpec,
    Count,
    Forms,
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
from pytest_rageval.scenario.yaml.tree import YamlPath

EmptyAnswer = Literal["worst", "missing", "error"]
MatchName = Literal["exact", "normalized", "contains", "holds", "doc_name"]


class MarkSpec(Spec):
    """Rows that are skipped or expected to fail, because their fields equal all of ``where``."""

    where: dict[str, Any] = Field(
        min_length=1,
        description="field: value, or list of values. A row is marked when all fields match: "
        "id, doc_name, or a metadata column, compared as text",
    )
    reason: Text = Field("", description="shown with -rs and -rx")


class BandsSpec(Spec):
    """From ``good`` upwards a mean is good, from ``warn`` upwards it is a warning, else bad."""

    null_is_empty = True

    good: Number = Field(0.8, description="from here upwards a mean is green")
    warn: Number = Field(0.6, description="from here upwards yellow, below it red")

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
    """What this run is compared with: a saved run, or (with TREC files) another run file.

    A scenario may have a list of these.
    """

    short_form = "baseline"
    one_of = (("baseline",), ("run_old_path",))

    baseline: Name | None = Field(
        None, description="a saved run: its name, or the path of its .json file"
    )
    run_old_path: Name | None = Field(
        None, description="in place of a baseline: another TREC run over the same qrels"
    )
    metrics: list[Name] = Field(
        [],
        description="what is compared; when absent all metrics, and weighted_score unless only "
        "one metric weighs anything",
    )
    test: TestName = Field("permutation", description="of significance; t and wilcoxon need scipy")
    alpha: Share = Field(0.05, description="two-sided; intervals have the confidence 1 - alpha")
    n_resamples: Resamples = Field(
        10_000, description="for bootstrap, and for permutation where it is not exact"
    )
    seed: Seed = Field(42, description="of the resamples")
    correction: Correction = Field(
        "max-t", description="how p-values of several metrics are adjusted"
    )
    anyway: bool = Field(
        False,
        description="compare also with a run that measured something else; each difference is "
        "then a warning",
    )
    looks: Count = Field(
        1,
        description="how many runs will be compared with this one before the next is pinned: they "
        "share alpha, and --rag-save never replaces it",
    )

    @property
    def name(self) -> str:
        """The saved run, or the TREC run."""
        found = self.baseline or self.run_old_path
        assert found is not None  # the schema demands one of them
        return found

    @model_validator(mode="after")
    def _has_one_baseline(self) -> CompareSpec:
        if (self.baseline is None) == (self.run_old_path is None):
            raise ValueError("give either 'baseline' or 'run_old_path'")
        return self


class SampleSpec(Spec):
    """How many rows are asked; the others count with the scores that an older run has for them."""

    short_form = "n"

    n: Count = Field(description="how many rows are asked, drawn at random")
    seed: Seed = Field(42, description="of the draw: other seeds draw other rows")
    against: Name | None = Field(
        None,
        description="the complete saved run whose scores stand for the rows that are not asked, "
        "one of those under 'compare'; the first of them when absent",
    )


def _one_or_several(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """Return a list of runs to compare with; a mistake in a single one is told without ``[0]``."""
    if value == []:
        raise ValueError("names no run; write one, or leave 'compare' out")
    is_one = value is not None and not isinstance(value, list)
    return [CompareSpec.model_validate(value)] if is_one else read(value)


class BestSpec(Spec):
    """How the variants are compared; a bare name is the variant that none may beat."""

    short_form = "at_least"

    of: Name = Field(WEIGHTED_SCORE, description="the metric by which variants are ranked")
    at_least: Name | None = Field(
        None,
        description="the gate best fails if a variant is significantly better than this one, or"
        " if that cannot be decided",
    )
    alpha: Share = Field(0.05, description="over all pairs of variants, two-sided")
    min_pairs: Number = Field(
        0.9,
        ge=0.0,
        le=1.0,
        description="share of the samples that every variant must score; with fewer there are "
        "no letters, and best fails",
    )
    n_resamples: Resamples = Field(10_000, description="where the test is not exact")
    seed: Seed = Field(42, description="of the resamples")
    anyway: bool = Field(
        False, description="compare even if metrics, weights, questions or references differ"
    )


class TargetSpec(Spec):
    """The system under test and how it is asked; a bare import path is a Python function.

    ``options`` are the keys that only its ``type`` has; in the file they stand beside the others.
    """

    other_forms = ({"type": "string", "minLength": 1},)

    type: Name = Field(
        description="python, http, fixture, chat, dbgpt or hook; told by the other keys when absent"
    )
    concurrency: Whole = Field(
        32, ge=1, le=1024, description="questions in flight at most, over all workers"
    )
    rpm: Count | None = Field(None, description="questions that begin in any minute at most")
    timeout_s: Seconds = Field(60.0, description="for one answer; of a model, for one request")
    retries: Retries | None = Field(
        None,
        description="how often a question is asked again after a failure that may pass; when "
        "absent 0, with http and dbgpt 2, with chat 4",
    )
    max_wait_s: Amount = Field(
        120.0, description="longest wait of one question, all retries together"
    )
    cache_answers: bool = Field(False, description="keep answers in the cache")
    version: Text = Field(
        "", description="a change makes kept answers void; may say ${NAME} of the environment"
    )
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
    """Refuse names that look the same: composed and decomposed, or one with blanks around it."""
    seen: dict[str, str] = {}
    for name, weight in weights.items():
        first = seen.setdefault(normalize("NFC", name).strip(), name)
        if first != name:
            raise ValueError(
                f"names {normalize('NFC', name).strip()!r} twice, composed (NFC) and decomposed "
                "(NFD) or with blanks around it, with the weights "
                f"{value_text(weights[first])} and {value_text(weight)}; keep one"
            )
    return weights


class Scenario(Spec):
    """A scenario file."""

    name: Name = Field(description="the scenario's name; its runs are kept under it")
    description: Text = Field("", description="shown in metadata.json and on the page")
    dataset: DatasetSpec = Field(
        description="where the rows come from: a path, rows, or a mapping; not needed with "
        "qrels_path and run_path"
    )
    answers: AnswersSpec | None = Field(
        None, description="a second file, whose columns the rows get"
    )
    corpus: CorpusSpec | None = Field(
        None, description="the chunks that contexts are compared with"
    )
    top_k: Count | None = Field(
        None,
        description="only the first k contexts and retrieved ids of a row are used, kept and "
        "shown; all when absent",
    )
    empty_answer: EmptyAnswer | None = Field(
        "worst",
        description="what an answer without text is. worst: metrics that ask a model give their"
        " worst score, without asking; missing: like a row without an answer; "
        "error: the case is an ERROR; null: up to each metric",
    )
    match: MatchName | None = Field(
        None,
        description="when a context is an expected one, for every metric with this option; "
        "normalized when absent",
    )
    target: TargetSpec | None = Field(
        None, description="the system that gives the answers; without one they come from the data"
    )
    metrics: list[MetricSpec] = Field(min_length=1, description="what is measured")
    metric_options: dict[str, Any] = Field(
        {},
        description="options for every metric that has them, such as {tokenizer: char}; its own"
        " come first",
    )
    metric_weights: dict[str, Weight] = Field(
        {}, description="metric: what it counts in weighted_score; 1 when absent"
    )
    doc_weights: Annotated[dict[str, Weight], AfterValidator(_documents_named_once)] = Field(
        {}, description="doc_name: what its samples count in every mean; 1 when absent"
    )
    thresholds: dict[str, BoundSpec] = Field(
        {}, description="metric or weighted_score: what each sample must reach"
    )
    gates: Annotated[dict[str, Any], BeforeValidator(refuse_half_characters)] = Field(
        {}, description="what figures of the whole scenario must reach"
    )
    tolerate: Literal["pass_rate"] | None = Field(
        None,
        description="a sample below its threshold is xfailed, not FAILED; the gate pass_rate, "
        "then required, decides",
    )
    stop: Annotated[
        Literal["decided"] | Annotated[float, Field(gt=0.0, lt=0.5)] | None,
        expected("'decided' or an error bound above 0 and below 0.5"),
    ] = Field(
        None,
        description="asks no more once every gate is decided, or is so with at most this "
        "probability of error",
    )
    skip: list[MarkSpec] = Field([], description="rows that are not run")
    xfail: list[MarkSpec] = Field([], description="rows that are known to fail")
    compare: Annotated[
        list[CompareSpec] | None,
        WrapValidator(_one_or_several),
        Forms(CompareSpec, Annotated[list[CompareSpec], Field(min_length=1)], None),
    ] = Field(None, description="another run to compare with, or a list of them")
    sample: SampleSpec | None = Field(
        None, description="asks only some of the rows: how many, or a mapping"
    )
    group_by: Name | None = Field(
        None, description="field of the rows: samples with the same value of it are not independent"
    )
    bands: BandsSpec = Field(
        BandsSpec(), description="good, warn, bad: colours and words for means and scores"
    )
    models: dict[str, ProfileSpec] = Field(
        {}, description="name: a profile that judge, embedding and target can name"
    )
    judge: JudgeSpec | None = Field(
        None, description="the language model that judges; required where a metric asks one"
    )
    embedding: EmbeddingSpec | None = Field(
        None,
        description="the model that turns texts into vectors; required where a metric asks one",
    )
    human: HumanSpec | None = Field(
        None, description="labels of people, that a metric is held against: files, or a mapping"
    )
    diagnose: Annotated[DiagnoseSpec | None, BeforeValidator(true_or_causes)] = Field(
        None,
        description="finds the cause of each low answer: true, or the metrics that tell causes "
        "apart",
    )
    citations: Annotated[CitationsSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="how answers cite their sources: true, a style, or a mapping"
    )
    refusals: Annotated[RefusalsSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="how answers that refuse are told: true, phrases, judge, or a mapping"
    )
    conversation: Annotated[ConversationSpec | None, BeforeValidator(true_or_keys)] = Field(
        None, description="rows with a history are turns of a conversation: true, or a mapping"
    )
    fill: Annotated[FillSpec | None, BeforeValidator(true_or_keys)] = Field(
        None,
        description="how a judge grades results that nobody judged, for metrics that end in "
        "+filled: true, or a mapping",
    )
    variants: dict[str, dict[str, Any] | None] = Field(
        {}, description="name: keys that are laid over the others"
    )
    best: BestSpec | None = Field(
        None, description="how variants are ranked, and the one that none may beat"
    )
    output_dir: Name | None = Field(
        None,
        description="base folder of the runs, relative to pytest's rootdir; .rageval when absent",
    )
    save_path: Name | None = Field(
        None, description="also write UltraRAG's result JSON here, relative to pytest's rootdir"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_roles(cls, data: Any) -> Any:
        return filled_roles(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _has_no_conflict(self) -> Scenario:
        for _, _, message in conflicts(self):
            raise ValueError(message)
        return self


def null_says_something(path: Sequence[str | int]) -> bool | None:
    """Return whether null at ``path`` means something else than an absent key.

    None where the schema does not name the key: it is unknown, or in a part with keys of any name.
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


def must_be_filled(path: YamlPath) -> bool:
    """Return whether an empty value at ``path`` of a scenario is a mistake.

    It is none in a row, where a value may be missing, nor for a variant that changes nothing.

    >>> must_be_filled(("gates", "em")), must_be_filled(("dataset", 0, "answer"))
    (True, False)
    """
    if path[:1] == ("variants",) and path[1:]:
        return must_be_filled(path[2:])
    is_ours = bool(path) and path[0] in Scenario.model_fields
    section, step = path[:1], path[1:2]
    is_of_row = section in (("dataset",), ("answers",)) and (
        step == ("rows",) or any(isinstance(at, int) for at in step)
    )
    return is_ours and not is_of_row
