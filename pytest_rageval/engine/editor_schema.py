"""The JSON Schema of a scenario file, for editors: with the names of metrics, gates and targets.

Names are proposed and not prescribed, for metrics may be the user's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_rageval.gates.base import (
    BOUND,
    CORRECTED_BOUND,
    GATE_REGISTRY,
    GateKind,
    mapping_schema,
)
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.model import WEIGHTED_SCORE
from pytest_rageval.scenario.schema import PROFILE, json_schema
from pytest_rageval.scenario.short_forms import TYPE_BY_KEY
from pytest_rageval.scenario.spec import EditorSchema
from pytest_rageval.scenario.variants import SHARED_KEYS
from pytest_rageval.targets.base import TARGET_REGISTRY, TargetDefinition

Schema = dict[str, Any]

_WEIGHTED: Final = {WEIGHTED_SCORE: "the weighted mean of the metrics"}

# Mappings that a variant lays over those of the scenario: no key must be there, and null removes.
_OVERLAID: Final = (
    *(
        "AnswersSpec",
        "BandsSpec",
        "CompareSpec",
        "ControlsSpec",
        "CorpusSpec",
        "DatasetSpec",
        "DiagnoseSpec",
    ),
    *("EmbeddingSpec", "HumanSpec", "JudgeSpec", "PriceSpec", "ProfileSpec", "TargetSpec"),
    *("ThresholdSpec", "Gates", "MetricGate", "PerMetric"),
)


def editor_schema() -> Schema:
    """Return the schema of a scenario file; every key in it has a description."""
    schema = json_schema()
    metrics = {definition.name: _in_short(definition.info) for definition in METRIC_REGISTRY}
    _add_metrics(schema, metrics)
    _add_gates(schema, metrics)
    _add_targets(schema["$defs"])
    schema["allOf"].append(_target_without_profiles())
    _add_variants(schema)
    return schema


def _in_short(info: MetricInfo) -> str:
    """Return what a scenario must know of a metric.

    >>> _in_short(MetricInfo("em", frozenset({"answer", "references"})))
    'needs answer, references; 0 to 1'
    """
    parts = [f"needs {', '.join(sorted(info.needs))}"]
    if info.or_needs:
        parts[0] += f" (or {', '.join(sorted(info.or_needs))})"
    parts += [f"asks {', '.join(sorted(info.asks))}"] if info.asks else []
    parts.append(f"{info.range[0]:g} to {info.range[1]:g}")
    parts += [] if info.higher_is_better else ["lower is better"]
    return "; ".join(parts)


def _add_metrics(schema: Schema, metrics: Mapping[str, str]) -> None:
    definitions, keys = schema["$defs"], schema["properties"]
    definitions["MetricName"] = _any_of(metrics)
    definitions["ScoreName"] = _any_of({**metrics, **_WEIGHTED})
    forms = definitions["MetricSpec"]["anyOf"]
    _, named, used = forms
    forms[0] = {"type": "string", "$ref": "#/$defs/MetricName"}
    for definition in METRIC_REGISTRY:
        options = _options(definition, used["properties"]["name"], definitions)
        described = {"description": metrics[definition.name]}
        named["properties"][definition.name] = options | described
    weights, thresholds = keys["metric_weights"], keys["thresholds"]
    weights["properties"] = _keys(metrics, weights["additionalProperties"])
    thresholds["properties"] = _keys({**metrics, **_WEIGHTED}, thresholds["additionalProperties"])
    compared = definitions["CompareSpec"]["anyOf"][-1]["properties"]["metrics"]
    compared["items"] = {"$ref": "#/$defs/ScoreName"}


def _any_of(names: Mapping[str, str]) -> Schema:
    """Return the schema of a text that is often one of these names."""
    known = [{"const": name, "description": text} for name, text in names.items()]
    return {"anyOf": [*known, {"type": "string"}]}


def _keys(names: Mapping[str, str], value: Schema) -> Schema:
    return {name: {**value, "description": text} for name, text in names.items()}


def _options(definition: MetricDefinition, name: Schema, definitions: Schema) -> Schema:
    """Return the schema of a metric's options; what a user's own function takes is not known."""
    if definition.source:
        return {"type": ["object", "null"]}
    model = definition.options
    if model.__name__ not in definitions:
        made = model.model_json_schema(schema_generator=EditorSchema)
        made["properties"] = {"name": name, **made.get("properties", {})}
        definitions[model.__name__] = made | {"patternProperties": {"^x-": {}}}
    own = {"type": "object", "required": ["use"]}
    return {"anyOf": [{"$ref": f"#/$defs/{model.__name__}"}, {"type": "null"}, own]}


def _add_gates(schema: Schema, metrics: Mapping[str, str]) -> None:
    names, definitions = {**metrics, **_WEIGHTED}, schema["$defs"]
    number, ends = BOUND["anyOf"]
    each = {"additionalProperties": BOUND, "minProperties": 1}
    per_metric = mapping_schema(ends["properties"] | _keys(names, {**BOUND}), **each)
    definitions["PerMetric"] = {"anyOf": [number, per_metric]}
    checks = mapping_schema(_kinds("metric"), minProperties=1)
    definitions["MetricGate"] = {"anyOf": [*CORRECTED_BOUND["anyOf"], checks]}
    gates = _keys(names, {"$ref": "#/$defs/MetricGate"}) | _kinds("scenario")
    of_field = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Gates"}}
    gates["by"] = of_field | {"description": gates["by"]["description"]}
    whole = schema["properties"]["gates"]
    definitions["Gates"] = {
        "type": "object",
        "properties": gates,
        "additionalProperties": whole["additionalProperties"],
        "patternProperties": {"^x-": {}},
    }
    schema["properties"]["gates"] = {
        "$ref": "#/$defs/Gates",
        "description": whole["description"],
    }


def _kinds(scope: str) -> Schema:
    return {kind.name: _gate(kind) for kind in GATE_REGISTRY if kind.scope == scope}


def _gate(kind: GateKind) -> Schema:
    """Return the schema of a gate's options; one that names no keys has those of the metrics."""
    return {"description": kind.description, **(kind.schema or {"$ref": "#/$defs/PerMetric"})}


def _add_targets(definitions: Schema) -> None:
    """Say of a target that it is a text, or one of the known types."""
    plain = definitions["TargetSpec"]["anyOf"][-1]
    common = {name: part for name, part in plain["properties"].items() if name != "options"}
    own: Iterable[Schema] = [_form(found, common, definitions) for found in TARGET_REGISTRY]
    definitions["TargetSpec"] = {
        "description": plain["description"],
        "anyOf": [_text_of_target(), *own],
    }


def _text_of_target() -> Schema:
    text = "pkg.mod:attr, a URL, a type, or a profile under 'models'"
    return {"type": "string", "minLength": 1, "description": text}


def _target_without_profiles() -> Schema:
    """Return that a target's text is none of a profile where the file has no profiles."""
    types = "|".join(TARGET_REGISTRY.names())
    named = {"if": {"type": "string"}, "then": {"pattern": f"[.:]|^({types})$"}}
    return {"if": {"required": ["models"]}, "else": {"properties": {"target": named}}}


def _add_variants(schema: Schema) -> None:
    """Say of a variant that it has the keys of a scenario, but for those of the whole file."""
    keys = {key: part for key, part in schema["properties"].items() if key not in SHARED_KEYS}
    definitions = schema["$defs"]
    definitions |= {f"{name}InVariant": _laid_over(definitions[name]) for name in _OVERLAID}
    definitions["Variant"] = {
        "type": ["object", "null"],
        "properties": _or_null(_laid_over(keys)) | {"metrics": keys["metrics"]},
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
    }
    schema["properties"]["variants"]["additionalProperties"] = {"$ref": "#/$defs/Variant"}


def _laid_over(part: Any) -> Any:
    """Return a part of the schema in which no key must be there, and null takes each away.

    >>> _laid_over({"required": ["model"], "anyOf": [{"$ref": "#/$defs/JudgeSpec"}]})
    {'anyOf': [{'$ref': '#/$defs/JudgeSpecInVariant'}]}
    >>> _laid_over({"properties": {"model": {"type": "string"}}})
    {'properties': {'model': {'type': ['string', 'null']}}}
    """
    if isinstance(part, list):
        return [_laid_over(each) for each in part]
    if not isinstance(part, dict):
        return part
    named = part.get("$ref", "").rpartition("/")
    if named[2] in _OVERLAID:
        part = part | {"$ref": f"#/$defs/{named[2]}InVariant"}
    laid = {
        key: _laid_over(value)
        for key, value in part.items()
        if not (key == "required" and isinstance(value, list)) and key != "dependentRequired"
    }
    if isinstance(laid.get("properties"), dict):
        laid["properties"] = _or_null(laid["properties"])
    if isinstance(laid.get("additionalProperties"), dict):
        laid |= _or_null({"additionalProperties": laid["additionalProperties"]})
    return laid


def _or_null(parts: Mapping[str, Any]) -> Schema:
    """Return the schemas of keys, each of which may also be null; what is said of them stays."""
    return {key: _nullable(part) if isinstance(part, dict) else part for key, part in parts.items()}


def _nullable(part: Schema) -> Schema:
    if {"type": "null"} in part.get("anyOf", ()):
        return part
    if "type" in part and not {"enum", "const", "anyOf", "$ref"} & part.keys():
        types = part["type"] if isinstance(part["type"], list) else [part["type"]]
        return part | {"type": [*dict.fromkeys([*types, "null"])]}
    said: Schema = {key: part[key] for key in ("title", "description", "default") if key in part}
    rest = {key: value for key, value in part.items() if key not in said}
    return {"anyOf": [rest, {"type": "null"}], **said} if rest else part


def _form(definition: TargetDefinition, common: Schema, definitions: Schema) -> Schema:
    options = definition.options.model_json_schema(schema_generator=EditorSchema)
    for name, part in options.get("$defs", {}).items():
        definitions.setdefault(name, part)
    required = options.get("required", [])
    properties = {**options["properties"], **common}
    names = [definition.name, *definition.aliases]
    properties["type"] = {"enum": names, "description": common["type"]["description"]}
    telling = [key for key, name in TYPE_BY_KEY.items() if name == definition.name]
    if definition.name == "chat":
        properties["profile"] = PROFILE
        required = [name for name in required if name != "model"]
    else:
        telling.append("type")
    return {
        "anyOf": [{"required": [key]} for key in telling],
        "type": "object",
        "title": f"target of type {definition.name}",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
    }
