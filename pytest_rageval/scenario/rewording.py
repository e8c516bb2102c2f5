"""What pydantic finds wrong with text of the user, in the words of a YAML file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import value_text
from pytest_rageval.scenario.yaml.tree import YamlPath


def mistakes(
    error: ValidationError, data: Any, annotation: Any
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the message of each mistake in options: ``data``, of a certain type."""
    for detail in error.errors(include_url=False):
        location = detail["loc"]
        path = tuple(map(str, existing(location, data)))
        if detail["type"] == "missing":
            path = (*path, str(location[-1]))
        if detail["type"] == "extra_forbidden":
            model = model_at(annotation, location[:-1])
            known = () if model is None else model.model_fields
            yield path, unknown_name("option", str(location[-1]), known)
        else:
            yield path, reworded(detail)


def existing(location: YamlPath, data: Any) -> YamlPath:
    """Return the longest part of pydantic's ``location`` that exists in ``data``."""
    path: YamlPath = ()
    for step in location:
        keys: list[Any] = []
        if isinstance(data, Mapping):
            keys = [key for key in data if str(key) == str(step)]
        elif isinstance(data, list):
            keys = [key for key in range(len(data)) if key == step]
        if not keys:
            break
        path, data = (*path, keys[0]), data[keys[0]]
    return path


def model_at(annotation: Any, location: Iterable[str | int]) -> type[BaseModel] | None:
    """Return the model of the value at ``location`` of a value of this type."""
    model = model_in(annotation)
    for step in location:
        field = model.model_fields.get(str(step)) if model is not None else None
        model = (model_in(field.annotation) if field is not None else None) or model
    return model


def model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a type holds, itself or in a list or mapping; None if none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (list, dict, Annotated, Union, UnionType):
        found = [model_in(part) for part in get_args(annotation)]
        return next((model for model in found if model is not None), None)
    return None


_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_LIMITS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


def reworded(detail: ErrorDetails, *, may_quote: bool = True) -> str:
    """Return pydantic's message in the words of a YAML file, with what was found."""
    context, kind = detail.get("ctx", {}), detail["type"]
    found = _shown(detail["input"], may_quote=may_quote and not is_secret(detail["loc"]))
    match kind:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"expected {context['expected']}, found {found}"
        case "missing":
            return "required, and missing"
        case "too_short":
            return "must not be empty"
        case _ if kind in _LIMITS:
            sign, name = _LIMITS[kind]
            return f"expected a number {sign} {value_text(context[name])}, found {found}"
        case _ if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}, found {found}"
    return f"{detail['msg']}, found {found}"


def _shown(value: Any, *, may_quote: bool) -> str:
    """Return a value as messages quote it; only its kind where it may be a secret."""
    if value is None:
        return "nothing"
    if not may_quote or isinstance(value, dict | list):
        kind = kind_of(value)
        return kind if kind == "text" else f"a {kind}"
    return shorten(repr(value))


def is_secret(location: YamlPath) -> bool:
    """Return whether there may be keys or passwords at a place of a scenario, be it by mistake."""
    if location[:1] == ("target",) and len(location) == 1:
        return True  # a mapping whose keys cannot be read has no place inside
    of_models = location[:1] and location[0] in ("judge", "embedding", "models", "target")
    return bool(of_models) and any(step in _SECRETS for step in location)


_SECRETS: Final = (
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


def kind_of(value: Any) -> str:
    """Return what YAML calls a value of this type.

    >>> kind_of({}), kind_of("x"), kind_of(1.5)
    ('mapping', 'text', 'float')
    """
    names = {dict: "mapping", list: "list", str: "text", bool: "boolean", int: "number"}
    return names.get(type(value), type(value).__name__)
