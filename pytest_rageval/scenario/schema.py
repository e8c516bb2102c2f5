"""The scenario file as pydantic models: the only place where text of the user becomes typed.

Short forms (a path for a data set, a number for a bound) are widened before validation, so that
each value has one shape behind it. Unknown keys are refused; keys that begin with ``x-`` are the
user's own. Names of metrics, gates and formats are bound later, in ``engine.plan``.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

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
from pytest_rageval.scenario.fields import FIELD_OF

OnInvalid = Literal["fail", "skip", "xfail"]


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
        if (self.path is None) == (self.rows is None):
            raise ValueError("give either 'path' or 'rows'")
        return self


class MetricSpec(Spec):
    """One entry under ``metrics``: a name, or a name with its options."""

    metric: Name
    name: Name | None = Field(None, description="how results call it; its own name when absent")
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"metric": data}
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError("write a metric as 'f1' or as 'f1: {normalizer: squad}'")
        ((metric, options),) = data.items()
        if options is not None and not isinstance(options, dict):
            raise ValueError(f"the options of {metric!r} must be a mapping, found {options!r}")
        options = dict(options or {})
        return {"metric": metric, "name": options.pop("name", None), "options": options}


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


class ModelSpec(Spec):
    """The model that plays a role; a bare name is its model."""

    short_form = "model"

    model: Name


class Scenario(Spec):
    """A scenario file."""

    name: Name
    description: Text = ""
    dataset: DatasetSpec
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
    bands: BandsSpec = BandsSpec()
    judge: ModelSpec | None = None
    embedding: ModelSpec | None = None
    output_dir: Name | None = Field(None, description="base folder, relative to the rootdir")
    save_path: Name | None = Field(None, description="also write UltraRAG's result JSON here")

    @model_validator(mode="after")
    def _tolerance_has_its_gate(self) -> Scenario:
        if self.tolerate == "pass_rate" and "pass_rate" not in self.gates:
            raise ValueError("tolerate: pass_rate needs the gate 'pass_rate', which then decides")
        return self


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
        "ModelSpec": [{"type": "string"}],
    }
    for name, forms in short_forms.items():
        definitions[name] = {"anyOf": [*forms, definitions[name]]}
    one_key = {"type": "object", "minProperties": 1, "maxProperties": 1}
    definitions["MetricSpec"] = {
        "description": MetricSpec.__doc__,
        "anyOf": [{"type": "string"}, one_key],
    }
    bound = {"anyOf": [{"type": "number"}, {"type": "object"}]}
    schema["properties"]["gates"]["additionalProperties"] = bound
    schema["properties"]["scenario_name"] = {"type": "string", "description": "the same as name"}
    for key in ("mode", "runtime", "judge_model", "embedding_model", "app_adapter"):
        schema["properties"][key] = {"description": "as rag_eval has it"}
    schema["required"] = [key for key in schema["required"] if key != "name"]
