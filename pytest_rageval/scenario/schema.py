"""The scenario file as pydantic models: the only place where text of the user becomes typed.

Short forms (a path for a data set, a number for a bound) are widened before validation, so that
each value has one shape behind it. Unknown keys are refused; keys that begin with ``x-`` are the
user's own. Names of metrics, gates and formats are bound later, in ``engine.plan``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from pytest_rageval.errors import unknown_name
from pytest_rageval.import_path import ImportPathError, split_path
from pytest_rageval.model import TestName
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.scenario.targets import (
    chat_target,
    named_target,
    names_profile,
    target_of,
    type_of_target,
)

OnInvalid = Literal["fail", "skip", "xfail"]
MatchName = Literal["exact", "normalized", "contains", "doc_name"]


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, found {str(value).lower()}")
    return value


def _text_of_scalar(value: Any) -> Any:
    """YAML reads ``name: 2024`` as a number; where text is wanted, it is the text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


# The check for booleans stands last: behind it, pydantic would leave bounds out of the JSON Schema.
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Whole = Annotated[int, BeforeValidator(_refuse_bool)]
Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_refuse_bool)]
Share = Annotated[float, Field(gt=0.0, lt=1.0), BeforeValidator(_refuse_bool)]
Seconds = Annotated[float, Field(gt=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Amount = Weight
Text = Annotated[str, BeforeValidator(_text_of_scalar)]
Name = Annotated[str, BeforeValidator(_text_of_scalar), Field(min_length=1)]


def _known_encoding(name: str) -> str:
    try:
        known = "a".encode(name).decode(name) == "a"
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ValueError(f"unknown text encoding {name!r}, for instance utf-8 or gb18030")
    return name


Encoding = Annotated[Name, AfterValidator(_known_encoding)]


class Spec(BaseModel):
    """A mapping of the scenario file: unknown keys refused, ``x-`` keys ignored, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    short_form: ClassVar[str | None] = None
    """The key that a bare value stands for, where the mapping has a short form."""

    @model_validator(mode="before")
    @classmethod
    def _widen(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if not str(key).startswith("x-")}
        if data is None:
            return {}
        return data if cls.short_form is None else {cls.short_form: data}


class DatasetSpec(Spec):
    """Where the rows come from and which of them are used."""

    short_form = "path"

    path: Name | None = Field(None, description="data file, relative to the scenario file")
    rows: list[Any] | None = Field(None, description="the rows themselves, instead of a path")
    format: Name | None = Field(None, description="by the suffix of the path when absent")
    key_map: dict[str, Name] = Field({}, description="our field: the column it is found under")
    limit: Whole = Field(-1, ge=-1, description="how many rows; -1 for all")
    shuffle: bool = Field(False, description="random.Random(seed).shuffle of all rows, then limit")
    seed: Whole = 42
    on_invalid: OnInvalid = "fail"
    sheet: Name | None = Field(None, description="the sheet of a workbook; the first when absent")
    encoding: Encoding = Field("utf-8", description="of text formats, for instance gb18030")
    max_row_mb: Number = Field(
        16.0, gt=0.0, le=1_000_000.0, description="a longer row is an invalid row"
    )
    qrels_path: Name | None = Field(None, description="TREC judgements, instead of a path")
    run_path: Name | None = Field(None, description="the TREC run that they judge")
    missing_queries: Literal["zero", "skip", "error"] = Field(
        "zero", description="judged queries without results in the run"
    )

    @model_validator(mode="before")
    @classmethod
    def _rows_short_form(cls, data: Any) -> Any:
        return {"rows": data} if isinstance(data, list) else data

    @field_validator("limit")
    @classmethod
    def _limit_is_not_zero(cls, limit: int) -> int:
        if limit == 0:
            raise ValueError("0 would run nothing; -1 means all rows")
        return limit

    @field_validator("key_map")
    @classmethod
    def _key_map_names_fields(cls, key_map: dict[str, str]) -> dict[str, str]:
        fields: dict[str, str] = {}
        for name, column in key_map.items():
            if name not in FIELD_OF:
                raise ValueError(unknown_name("field", name, FIELD_OF))
            if FIELD_OF[name] in fields:
                raise ValueError(f"{name!r} is a second name of {FIELD_OF[name]!r}; keep one")
            fields[FIELD_OF[name]] = column
        return fields

    @model_validator(mode="after")
    def _has_one_source(self) -> DatasetSpec:
        if (self.qrels_path is None) != (self.run_path is None):
            raise ValueError("'qrels_path' and 'run_path' go together")
        sources = (self.path, self.rows, self.qrels_path)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("give either 'path' or 'rows', or 'qrels_path' and 'run_path'")
        return self


class CorpusSpec(Spec):
    """The chunks of the knowledge base, each with its ``doc_name``; any data format."""

    short_form = "path"

    path: Name = Field(description="data file, relative to the scenario file")
    format: Name | None = Field(None, description="by the suffix of the path when absent")
    encoding: Encoding = "utf-8"


class MetricSpec(Spec):
    """One entry under ``metrics``: a name, or a name with its options; or ``use`` an import path.

    What stands between ``use`` and ``options`` is said of a metric of the user's own.
    """

    metric: Name
    name: Name | None = Field(None, description="how results call it; its own name when absent")
    use: Name | None = Field(None, description="import path of one's own metric, pkg.mod:attr")
    range: tuple[Number | None, Number | None] | None = Field(
        None, description="lowest and highest score, null for no end; 0 and 1 when absent"
    )
    needs: list[Name] | None = Field(None, description="fields that a row must have")
    asks: list[Literal["judge", "embedding"]] | None = Field(None, description="models it asks")
    higher_is_better: bool | None = None
    version: Count | None = Field(None, description="another one makes saved runs incomparable")
    timeout_s: Seconds | None = Field(None, description="for one sample; async functions only")
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"metric": data}
        if isinstance(data, dict) and "use" in data:
            return _used_metric(data, cls.model_fields)
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError(
                "write a metric as 'f1' or as 'f1: {normalizer: squad}', one of your own as "
                "{use: 'my_metrics:politeness'}"
            )
        ((metric, options),) = data.items()
        if options is not None and not isinstance(options, dict):
            raise ValueError(f"the options of {metric!r} must be a mapping, found {options!r}")
        options = dict(options or {})
        if "use" in options:
            return _used_metric({"name": metric, **options}, cls.model_fields)
        return {"metric": metric, "name": options.pop("name", None), "options": options}

    @property
    def attribute(self) -> str | None:
        """The last name of the import path, which is the metric's when nobody says another."""
        return None if self.use is None else re.split(r"[:.]", self.use)[-1]

    @field_validator("use")
    @classmethod
    def _use_is_an_import_path(cls, path: str | None) -> str | None:
        if path is not None:
            try:
                split_path(path)
            except ImportPathError as error:
                raise ValueError(str(error)) from None
        return path

    @field_validator("range", mode="before")
    @classmethod
    def _range_has_two_ends(cls, ends: Any) -> Any:
        if ends is not None and not (isinstance(ends, list | tuple) and len(ends) == 2):
            raise ValueError(f"expected [lowest, highest], found {ends!r}")
        return ends

    @field_validator("range")
    @classmethod
    def _range_ascends(
        cls, ends: tuple[float | None, float | None] | None
    ) -> tuple[float | None, float | None] | None:
        low, high = ends or (None, None)
        if low is not None and high is not None and low >= high:
            raise ValueError(f"expected the lower end first, found {low:g} and {high:g}")
        return ends

    @field_validator("needs")
    @classmethod
    def _needs_are_fields(cls, needs: list[str] | None) -> list[str] | None:
        for name in needs or ():
            if FIELD_OF.get(name) not in _NEEDED:
                raise ValueError(unknown_name("field", name, _NEEDED))
        return None if needs is None else sorted({FIELD_OF[name] for name in needs})


_NEEDED = sorted(FIELD_ALIASES.keys() - {"id", "tags", "skip", "xfail"})
"""The fields of a sample that a metric may need."""


def _used_metric(data: dict[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return a metric of the user's own: what the schema does not know are its options."""
    known = set(fields) - {"metric", "options"}
    own = {key: value for key, value in data.items() if key in known}
    rest = {key: value for key, value in data.items() if key not in known}
    options = {key: value for key, value in rest.items() if not str(key).startswith("x-")}
    return {**own, "metric": data["use"], "options": options}


class ThresholdSpec(Spec):
    """The least a sample's score may be; ``{max: x}`` is the most. A bare number is ``value``."""

    short_form = "value"

    value: Number | None = Field(None, description="a minimum (a maximum where lower is better)")
    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> ThresholdSpec:
        if self.value is None and self.min is None and self.max is None:
            raise ValueError("give a number, or 'min' or 'max'")
        if self.value is not None and (self.min is not None or self.max is not None):
            raise ValueError("give either 'value' or 'min' and 'max'")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}: nothing could pass")
        return self


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


class PriceSpec(Spec):
    """US dollars per million tokens."""

    short_form = "input"

    input: Amount
    output: Amount = 0.0


class ModelSpec(Spec):
    """A model and how it is asked; a bare name is its model."""

    short_form: ClassVar[str | None] = "model"

    model: Name
    provider: Name = "openai"
    base_url: Name | None = Field(None, description="of an OpenAI-compatible server, with /v1")
    api_key_env: Name | None = Field(
        None, description="the environment variable that holds the key, never the key itself"
    )
    headers: dict[str, Text] = Field({}, description="values may say ${NAME} of the environment")
    extra_body: dict[str, Any] = Field({}, description="added to every request")
    concurrency: Whole = Field(32, ge=1, le=1024, description="calls in flight, over all workers")
    rpm: Count | None = Field(None, description="requests per minute")
    tpm: Count | None = Field(None, description="tokens per minute")
    timeout_s: Seconds = 60.0
    retries: Whole = Field(4, ge=0, le=20)
    max_wait_s: Amount = 120.0
    price: PriceSpec | None = Field(None, description="USD per million tokens, for the cost")

    @model_validator(mode="before")
    @classmethod
    def _profile_is_filled_in(cls, data: Any) -> Any:
        """Refuse a profile that the scenario did not replace by what stands under ``models``."""
        if isinstance(data, dict) and "profile" in data:
            name = data["profile"]
            known = name.known if isinstance(name, _UnknownProfile) else ()
            raise ValueError(f"{unknown_name('profile', str(name), known)} (under 'models')")
        return data

    @field_validator("base_url")
    @classmethod
    def _base_url_is_one(cls, url: str | None) -> str | None:
        """Refuse what is no URL; the message never quotes it, for it may hold a password."""
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("expected a URL that begins with http:// or https://")
        try:
            if url is not None and urlsplit(url).port == 0:
                raise ValueError
        except ValueError:
            raise ValueError("expected a URL like http://127.0.0.1:8000/v1") from None
        return url

    @field_validator("api_key_env")
    @classmethod
    def _key_is_named(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError("expected the NAME of an environment variable, not the key itself")
        return name

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key; that of OpenAI is sent to OpenAI only, unless named."""
        is_openai = self.provider == "openai" and self.base_url is None
        return self.api_key_env or ("OPENAI_API_KEY" if is_openai else None)


class JudgeSpec(ModelSpec):
    """The model that judges."""

    temperature: Amount | None = 0.0
    max_tokens: Count | None = None
    seed: Whole | None = None
    form: Literal["auto", "json_schema", "json_object", "text"] = "auto"
    reasks: Whole = Field(2, ge=0, le=10, description="after replies that cannot be used")
    language: Name = Field("auto", description="of the prompts: auto, en, zh")
    repeats: Whole = Field(1, ge=1, le=100, description="ask each judged metric so often")


class EmbeddingSpec(ModelSpec):
    """The model that turns texts into vectors."""

    batch_size: Whole = Field(64, ge=1)


class ProfileSpec(JudgeSpec):
    """A model under ``models``, whose name is also its model when it gives none; for any role."""

    short_form: ClassVar[str | None] = None

    model: Name = Field("", description="the name of the profile when absent")
    batch_size: Whole = Field(64, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _profile_is_filled_in(cls, data: Any) -> Any:
        """A profile names no other one: leave the key to be found unknown."""
        return data


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
    options: dict[str, Any] = {}

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
    metric_weights: dict[str, Weight] = {}
    doc_weights: dict[str, Weight] = {}
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
            role: _with_profile(data[role], profiles)
            for role in ("judge", "embedding")
            if data.get(role) is not None
        }
        if "target" in data and names_profile(data["target"], profiles):
            filled["target"] = target_of(_with_profile(chat_target(data["target"]), profiles))
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


class _UnknownProfile(str):
    """The name of a profile that does not exist, with the ``known`` ones."""

    def __new__(cls, name: Any, known: Iterable[str]) -> Self:
        made = super().__new__(cls, name)
        made.known = tuple(known)
        return made

    known: tuple[str, ...]


def _with_profile(given: Any, profiles: dict[str, Any]) -> Any:
    own = given if isinstance(given, dict) else {"model": given}
    name = own.get("profile", own.get("model"))
    profile = profiles.get(name) if isinstance(name, str) else None
    if not isinstance(profile, dict):
        return {**own, "profile": _UnknownProfile(name, profiles)} if "profile" in own else given
    rest = {key: value for key, value in own.items() if key != "profile"}
    if rest.get("model") == name:
        del rest["model"]
    inherited = {key: value for key, value in profile.items() if key != "profile"}
    return {"model": name, **inherited, **rest}


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
