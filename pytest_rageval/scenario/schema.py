"""The scenario file as pydantic models: the only place where text of the user becomes typed.

Short forms (a path for a data set, a number for a bound) are widened before validation, so that
each value has one shape behind it. Unknown keys are refused; keys that begin with ``x-`` are the
user's own. Names of metrics, gates and formats are bound later, in ``engine.planning``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from pytest_rageval.model import TestName
from pytest_rageval.scenario.data_specs import CorpusSpec, DatasetSpec
from pytest_rageval.scenario.metric_specs import MetricSpec, ThresholdSpec
from pytest_rageval.scenario.model_specs import (
    EmbeddingSpec,
    JudgeSpec,
    ProfileSpec,
    with_profile,
)
from pytest_rageval.scenario.spec import (
    Count,
    Name,
    Number,
    Seconds,
    Share,
    Spec,
    Text,
    Weight,
    Whole,
)
from pytest_rageval.scenario.targets import (
    chat_target,
    named_target,
    names_profile,
    target_of,
    type_of_target,
)

MatchName = Literal["exact", "normalized", "contains", "doc_name"]


class MarkSpec(Spec):
    """Rows that are skipped or expected to fail: those whose fields equal all of ``where``."""

    where: dict[str, Any] = Field(min_length=1, description="field: value, or a list of values")
    reason: Text = ""


class BandsSpec(Spec):
    """From ``good`` upwards a mean is good, from ``warn`` upwards it is a warning, else bad."""

    good: Number = 0.8
    warn: Number = 0.6


class CompareSpec(Spec):
    """What this run is compared with: a saved run, or (with TREC files) another run file."""

    short_form = "baseline"

    baseline: Name | None = Field(None, description="name of a saved run, or path of its JSON file")
    run_old_path: Name | None = Field(None, description="TREC run to compare with")
    metrics: list[Name] = Field([], description="all metrics and weighted_score when empty")
    test: TestName = "permutation"
    alpha: Share = 0.05
    n_resamples: Whole = Field(10_000, ge=100, description="where the test is not exact")
    seed: Whole = Field(42, ge=0)
    anyway: bool = Field(False, description="also when metrics or questions differ")

    @model_validator(mode="after")
    def _has_one_baseline(self) -> CompareSpec:
        if (self.baseline is None) == (self.run_old_path is None):
            raise ValueError("give either 'baseline' or 'run_old_path'")
        return self


class TargetSpec(Spec):
    """The system under test and how it is asked; a bare import path is a Python function.

    ``options`` are those of its ``type``, which stand beside the other keys in the file.
    """

    type: Name
    concurrency: Whole = Field(32, ge=1, le=1024, description="questions in work, over all workers")
    rpm: Count | None = Field(None, description="questions per minute")
    timeout_s: Seconds = Field(60.0, description="for one answer")
    retries: Whole | None = Field(
        None, ge=0, le=20, description="after failures that may pass; by the type when absent"
    )
    cache_answers: bool = Field(False, description="keep answers as replies of models are kept")
    version: Text = Field("", description="another one makes kept answers void; may say ${NAME}")
    options: dict[str, Any] = Field({})

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = named_target(data)
        if not isinstance(data, dict):
            raise ValueError("write a target as 'my_app.rag:answer' or as {type: http, url: ...}")
        known = cls.model_fields.keys() - {"options"}
        own = {key: value for key, value in data.items() if key in known}
        rest = {key: value for key, value in data.items() if key not in known}
        own.setdefault("type", type_of_target(rest))
        if own["type"] is None:
            raise ValueError("give its 'type': python, http, chat, fixture or hook")
        return {**own, "options": {k: v for k, v in rest.items() if not str(k).startswith("x-")}}


class Scenario(Spec):
    """A scenario file."""

    name: Name
    description: Text = ""
    dataset: DatasetSpec
    corpus: CorpusSpec | None = Field(None, description="what questions about a document expect")
    top_k: Count | None = Field(None, description="cuts contexts and retrieved ids")
    match: MatchName | None = Field(None, description="how contexts are found to be expected ones")
    target: TargetSpec | None = Field(None, description="the system that gives the answers")
    metrics: list[MetricSpec] = Field(min_length=1)
    metric_options: dict[str, Any] = Field({}, description="options of every metric that has them")
    metric_weights: dict[str, Weight] = Field({})
    doc_weights: dict[str, Weight] = Field({})
    thresholds: dict[str, ThresholdSpec] = Field({}, description="per sample")
    gates: dict[str, Any] = Field({}, description="per scenario")
    tolerate: Literal["pass_rate"] | None = Field(
        None, description="a sample below its threshold is xfailed; the gate pass_rate decides"
    )
    skip: list[MarkSpec] = Field([], description="rows that are not run")
    xfail: list[MarkSpec] = Field([], description="rows that are known to be too low")
    compare: CompareSpec | None = Field(None, description="with a saved or an older run")
    bands: BandsSpec = BandsSpec()
    models: dict[str, ProfileSpec] = Field({}, description="profiles that judge: NAME can name")
    judge: JudgeSpec | None = None
    embedding: EmbeddingSpec | None = None
    output_dir: Name | None = Field(None, description="base folder, relative to the rootdir")
    save_path: Name | None = Field(None, description="also write UltraRAG's result JSON here")

    @model_validator(mode="before")
    @classmethod
    def _fill_profiles(cls, data: Any) -> Any:
        """A role that names a profile, or a mapping with ``profile``, gets what that holds."""
        profiles = data.get("models") if isinstance(data, dict) else None
        if not isinstance(profiles, dict):
            return data
        filled = {
            role: with_profile(data[role], profiles)
            for role in ("judge", "embedding")
            if data.get(role) is not None
        }
        if "target" in data and names_profile(data["target"], profiles):
            filled["target"] = target_of(with_profile(chat_target(data["target"]), profiles))
        return {**data, **filled}

    @model_validator(mode="after")
    def _tolerance_has_its_gate(self) -> Scenario:
        if self.tolerate == "pass_rate" and "pass_rate" not in self.gates:
            raise ValueError("tolerate: pass_rate needs the gate 'pass_rate', which then decides")
        return self

    @model_validator(mode="after")
    def _old_run_has_a_new_one(self) -> Scenario:
        if self.compare is not None and self.compare.run_old_path and not self.dataset.run_path:
            raise ValueError("compare.run_old_path needs 'qrels_path' and 'run_path'")
        return self


def is_secret(path: Iterable[str | int]) -> bool:
    """Return whether keys and passwords may stand at ``path`` of a model, be it by mistake."""
    return tuple(path) == ("target",) or any(step in _SECRETS for step in path)


_SECRETS = (
    "headers",
    "extra_body",
    "api_key_env",
    "base_url",
    "url",
    "query",
    "body",
    "options",
    "version",
)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, short forms included, for editors."""
    schema = Scenario.model_json_schema()
    _allow_short_forms(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _allow_short_forms(schema: dict[str, Any]) -> None:
    definitions = schema["$defs"]
    for definition in (schema, *definitions.values()):
        definition["patternProperties"] = {"^x-": {}}
    short_forms: dict[str, list[dict[str, Any]]] = {
        "DatasetSpec": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}],
        "ThresholdSpec": [{"type": "number"}],
        "JudgeSpec": [{"type": "string"}],
        "EmbeddingSpec": [{"type": "string"}],
        "PriceSpec": [{"type": "number"}],
        "CorpusSpec": [{"type": "string"}],
        "CompareSpec": [{"type": "string"}],
        "TargetSpec": [{"type": "string"}],
    }
    # Which keys a target has beside these its type says, see ``targets.editor_schema``.
    definitions["TargetSpec"] |= {"additionalProperties": True, "required": []}
    for name, forms in short_forms.items():
        definitions[name] = {"anyOf": [*forms, definitions[name]]}
    definitions["MetricSpec"] = _metric_forms(definitions["MetricSpec"])
    bound = {"anyOf": [{"type": "number"}, {"type": "object"}]}
    schema["properties"]["gates"]["additionalProperties"] = bound
    schema["properties"]["scenario_name"] = {"type": "string", "description": "the same as name"}
    for key in ("mode", "runtime", "judge_model", "embedding_model", "app_adapter"):
        schema["properties"][key] = {"description": "as rag_eval has it"}
    for key in ("qrels_path", "run_path", "missing_queries"):
        schema["properties"][key] = definitions["DatasetSpec"]["anyOf"][-1]["properties"][key]
    for key in ("ir_metrics", "ks"):
        schema["properties"][key] = {"type": "array", "description": "as UltraRAG has it"}
    schema["required"] = []  # each has another form: scenario_name, qrels_path, ir_metrics


def _metric_forms(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a metric: a name, a name with its options, or ``use`` and its own."""
    own = {key: form for key, form in spec["properties"].items() if key not in _NOT_WRITTEN}
    own["use"] = {"type": "string", "pattern": r"^[\w.]+:[\w.]+$", "description": "pkg.mod:attr"}
    used = {"type": "object", "required": ["use"], "properties": own}
    named = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {"use": False},
    }
    return {"description": spec["description"], "anyOf": [{"type": "string"}, named, used]}


_NOT_WRITTEN = ("metric", "options")
