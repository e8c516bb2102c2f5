"""The JSON Schema of a scenario file, for editors: with the names of metrics, gates and targets.

Names of metrics are proposed, for they may be the user's own. Types of targets and the checks of a
gate are prescribed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_rageval.gates.base import BESIDE_MEAN, GATE_REGISTRY, GateKind
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, MetricInfo
from pytest_rageval.model import WEIGHTED_SCORE
from pytest_rageval.scenario.model_specs import OF_COLUMNS
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.short_forms import TYPE_BY_KEY
from pytest_rageval.scenario.spec import NUMBER, TEXT, EditorSchema, mapping_form, with_one_of
from pytest_rageval.scenario.variants import SHARED_KEYS
from pytest_rageval.targets.base import TARGET_REGISTRY, TargetDefinition

Schema = dict[str, Any]

_WEIGHTED: Final = {WEIGHTED_SCORE: "the weighted mean of the metrics"}

PROFILE: Final = {"type": "string", "description": "name of a model under 'models'"}
"""The schema of ``profile``, which the classes of roles lack: it is replaced before they read."""


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
    """Return what to know of a metric in a scenario, for its description.

    >>> _in_short(MetricInfo("em", frozenset({"answer", "references"})))
    'needs answer, references; 0 to 1'
    """
    needs = f"needs {', '.join(sorted(info.needs))}"
    if info.or_needs:
        needs += f" (or {', '.join(sorted(info.or_needs))})"
    parts = [info.summary, needs] if info.summary else [needs]
    parts += [f"asks {', '.join(sorted(info.asks))}"] if info.asks else []
    parts.append(f"{info.range[0]:g} to {info.range[1]:g}")
    # A neutral metric has a direction for its gates alone.
    parts += [] if info.higher_is_better or info.is_neutral else ["lower is better"]
    return "; ".join(parts)


def _add_metrics(schema: Schema, metrics: Mapping[str, str]) -> None:
    definitions, keys = schema["$defs"], schema["properties"]
    definitions["MetricName"] = _any_of(metrics)
    definitions["ScoreName"] = _any_of({**metrics, **_WEIGHTED})
    forms = definitions["MetricSpec"]["anyOf"]  # as `_metric_forms` lists them
    _, named, used, _ = forms
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
    own = {"type": "object", "required": ["use"]}  # a user's metric under this name
    return {"anyOf": [{"$ref": f"#/$defs/{model.__name__}"}, {"type": "null"}, own]}


def _add_gates(schema: Schema, metrics: Mapping[str, str]) -> None:
    names, definitions = {**metrics, **_WEIGHTED}, schema["$defs"]
    gates, checks = Schema(), Schema()
    for kind in GATE_REGISTRY:
        kinds = gates if kind.scope == "scenario" else checks
        kinds[kind.name] = _gate(kind, names, definitions)
    # Several checks of one metric: {mean: 0.7, lower_bound: 0.6}. What refines a mean needs one.
    mean = next(form["properties"] for form in checks["mean"]["anyOf"] if "properties" in form)
    several = {
        "type": "object",
        "properties": checks | {name: mean[name] for name in BESIDE_MEAN},
        "additionalProperties": False,
        "dependentRequired": {name: ["mean"] for name in BESIDE_MEAN},
        "patternProperties": {"^x-": {}},
        "minProperties": 1,
    }
    definitions["MetricGate"] = {"anyOf": [*checks["mean"]["anyOf"], several]}
    whole = schema["properties"]["gates"]
    definitions["Gates"] = {
        "type": "object",
        "properties": _keys(names, {"$ref": "#/$defs/MetricGate"}) | gates,
        "additionalProperties": whole["additionalProperties"],
        "patternProperties": {"^x-": {}},
    }
    schema["properties"]["gates"] = {
        "$ref": "#/$defs/Gates",
        "description": whole["description"],
    }


def _gate(kind: GateKind, names: Mapping[str, str], definitions: Schema) -> Schema:
    """Return the schema of a gate's options, with metrics or, below fields, gates proposed."""
    schema = kind.reader.json_schema(schema_generator=EditorSchema)
    definitions |= schema.pop("$defs", {})
    for form in schema.get("anyOf", [schema]):
        names_metrics = kind.keys == "metrics" and "properties" not in form
        if names_metrics and "additionalProperties" in form:
            form["properties"] = _keys(names, form["additionalProperties"])
            form["patternProperties"] = {"^x-": {}}
        elif kind.keys == "fields":
            form["additionalProperties"] = {"$ref": "#/$defs/Gates"}
    return {**schema, "description": kind.description}


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
    """Return the rule that, without ``models``, a target's text names no profile."""
    types = "|".join(TARGET_REGISTRY.names())
    named = {"if": {"type": "string"}, "then": {"pattern": f"[.:]|^({types})$"}}
    return {"if": {"required": ["models"]}, "else": {"properties": {"target": named}}}


def _add_variants(schema: Schema) -> None:
    """Say of a variant that it has the keys of a scenario, but for those of the whole file."""
    keys = {key: part for key, part in schema["properties"].items() if key not in SHARED_KEYS}
    definitions, reached, laid = schema["$defs"], set[str](), set[str]()
    definitions["Variant"] = {
        "type": ["object", "null"],
        "properties": _or_null(_laid_over(keys, reached)) | {"metrics": keys["metrics"]},
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
    }
    while name := next(iter(sorted(reached - laid)), None):
        definitions[f"{name}InVariant"] = _laid_over(definitions[name], reached)
        laid.add(name)
    schema["properties"]["variants"]["additionalProperties"] = {"$ref": "#/$defs/Variant"}


def _laid_over(part: Any, reached: set[str]) -> Any:
    """Return a part of the schema with no key required, and null, which takes a key away, allowed.

    What is in ``items`` stays: a variant replaces lists whole. ``reached`` gets the names of
    definitions inside.

    >>> _laid_over({"required": ["model"], "anyOf": [{"$ref": "#/$defs/JudgeSpec"}]}, set())
    {'anyOf': [{'$ref': '#/$defs/JudgeSpecInVariant'}]}
    >>> _laid_over({"properties": {"model": {"type": "string"}}}, set())
    {'properties': {'model': {'type': ['string', 'null']}}}
    """
    if isinstance(part, list):
        return [_laid_over(each, reached) for each in part]
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("$ref"), str):
        reached.add(part["$ref"].rpartition("/")[2])
        part = part | {"$ref": f"{part['$ref']}InVariant"}
    laid = {
        key: value if key == "items" else _laid_over(value, reached)
        for key, value in part.items()
        if not (key == "required" and isinstance(value, list)) and key != "dependentRequired"
    }
    if isinstance(laid.get("properties"), dict):
        laid["properties"] = _or_null(laid["properties"])
    if isinstance(laid.get("additionalProperties"), dict):
        laid |= _or_null({"additionalProperties": laid["additionalProperties"]})
    return laid


def _or_null(parts: Mapping[str, Any]) -> Schema:
    """Return the schemas of keys, each of which may also be null; descriptions stay."""
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
    options = mapping_form(options)
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


_GO_TOGETHER: Final = {"qrels_path": ["run_path"], "run_path": ["qrels_path"]}
_NAME: Final = {**TEXT, "minLength": 1}


def json_schema() -> Schema:
    """Return the schema of a scenario file, short forms included, without names of any registry."""
    schema = Scenario.model_json_schema(schema_generator=EditorSchema)
    definitions, keys = schema["$defs"], schema["properties"]
    for role in ("JudgeSpec", "EmbeddingSpec"):
        model = mapping_form(definitions[role])
        del model["required"]
        model["properties"]["profile"] = PROFILE
    dataset = mapping_form(definitions["DatasetSpec"])
    dataset["dependentRequired"] = _GO_TOGETHER
    schema["dependentRequired"] = {**_GO_TOGETHER, "ks": ["ir_metrics"]}
    # Here a target may have any further key: those of its type are not known.
    target = mapping_form(definitions["TargetSpec"])
    target |= {"additionalProperties": True, "required": []}
    definitions["MetricSpec"] = _metric_forms(definitions["MetricSpec"])
    keys["gates"]["additionalProperties"] = {"anyOf": [dict(NUMBER), {"type": "object"}]}
    of_data = ("qrels_path", "run_path", "queries_path", "missing_queries")
    keys |= {key: dataset["properties"][key] for key in of_data}
    keys |= _keys_of_others()
    # None is required as such: a key of another system may stand for it.
    schema["required"] = []
    schema["allOf"] = [
        _required("name", unless="scenario_name") | {"then": {"not": {"required": ["name"]}}},
        _required("dataset", unless="qrels_path"),
        _required("metrics", unless="ir_metrics"),
        *(_model_of(role) for role in ("judge", "embedding")),
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _required(key: str, unless: str) -> Schema:
    """Return the rule that ``key`` is needed unless ``unless`` is there; ``anyOf`` names no key."""
    filled = {unless: {"not": {"type": "null"}}} if unless == "qrels_path" else {}
    return {"if": {"required": [unless], "properties": filled}, "else": {"required": [key]}}


def _model_of(role: str) -> Schema:
    """Return the rule that a role names a model or profile, unless rag_eval's key names one."""
    named = {"if": {"type": "object"}, "then": with_one_of(("model",), ("profile",))}
    return {"if": {"required": [f"{role}_model"]}, "else": {"properties": {role: named}}}


def _keys_of_others() -> Schema:
    """Return the schemas of other systems' keys, which the loader translates into ours."""
    whole = {"type": ["integer", "null"], "minimum": 1}
    some = {"type": ["object", "null"]}
    # 0 calls at once are the default, -1 samples are all.
    calls, samples = {**whole, "minimum": 0}, {**whole, "minimum": -1, "not": {"const": 0}}
    limits = {
        "batch_size": {**whole, "description": "has no effect here"},
        "app_concurrency": {**calls, "description": "target.concurrency"},
        "metric_concurrency": {**calls, "description": "judge.concurrency"},
        "max_samples": {**samples, "description": "dataset.limit"},
    }
    runtime = {"properties": limits, "additionalProperties": False}
    name = {"type": "string", "minLength": 1}
    cutoff = {"type": "integer", "minimum": 1}
    cutoffs = {"type": "array", "items": cutoff, "minItems": 1}
    found: Schema = {
        "scenario_name": _NAME,
        "mode": {"enum": ["offline", "online", None]},
        "runtime": {**some, **runtime},
        "judge_model": _NAME,
        "embedding_model": _NAME,
        "app_adapter": some,
        "ir_metrics": {"anyOf": [name, {"type": "array", "items": name}, {"type": "null"}]},
        "ks": {"anyOf": [cutoff, cutoffs, {"type": "null"}]},
    }
    system = dict.fromkeys(("ir_metrics", "ks"), "UltraRAG")
    same = {"scenario_name": "the same as name"}
    return {
        key: {"description": same.get(key, f"as {system.get(key, 'rag_eval')} has it"), **part}
        for key, part in found.items()
    }


def _metric_forms(spec: Schema) -> Schema:
    """Return the schema of a metric: a name, a name with options, ``use``, or ``column``."""
    own = {key: form for key, form in spec["properties"].items() if key not in _NOT_WRITTEN}
    own["use"] = {"type": "string", "pattern": r"^[\w.]+:[\w.]+$", "description": "pkg.mod:attr"}
    used = {"type": "object", "required": ["use"], "properties": own}
    named = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {"use": False, "column": False},
    }
    name = {"type": "string", "minLength": 1}
    lower = {**spec["properties"]["higher_is_better"], "description": "false when absent"}
    written = {**spec["properties"], "lower_is_better": lower}
    column = {
        "type": "object",
        "required": ["column"],
        "properties": {key: written[key] for key in OF_COLUMNS},
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
    }
    return {"description": spec["description"], "anyOf": [name, named, used, column]}


_NOT_WRITTEN = ("metric", "options", "column")
