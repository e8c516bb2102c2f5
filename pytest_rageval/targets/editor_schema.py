"""The JSON Schema of a scenario file with the options of each type of target, for editors."""

from __future__ import annotations

from typing import Any

from pytest_rageval.scenario.schema import json_schema
from pytest_rageval.targets.base import TARGET_REGISTRY, TargetDefinition

_PROFILE = {"type": "string", "description": "name of a model under 'models'"}


def editor_schema() -> dict[str, Any]:
    """Return the schema of a scenario file; a target is a text, or one of the known types."""
    schema = json_schema()
    definitions = schema["$defs"]
    plain = definitions["TargetSpec"]["anyOf"][-1]
    common = {name: part for name, part in plain["properties"].items() if name != "options"}
    own = [_form(definition, common, definitions) for definition in TARGET_REGISTRY]
    definitions["TargetSpec"] = {
        "description": plain["description"],
        "anyOf": [{"type": "string", "description": "pkg.mod:attr, a URL, or a type"}, *own],
    }
    return schema


def _form(
    definition: TargetDefinition, common: dict[str, Any], definitions: dict[str, Any]
) -> dict[str, Any]:
    options = definition.options.model_json_schema()
    for name, part in options.get("$defs", {}).items():
        definitions.setdefault(name, part)
    required = options.get("required", [])
    properties = {**options["properties"], **common}
    properties["type"] = {"enum": [definition.name, *definition.aliases]}
    if definition.name == "chat":
        properties["profile"] = _PROFILE
        required = [name for name in required if name != "model"]
    return {
        "type": "object",
        "title": f"target of type {definition.name}",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
    }
