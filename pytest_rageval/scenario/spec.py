"""What all mappings of a scenario file have in common, and the kinds of values in them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from pytest_rageval.scenario.json_types import FLAG, NUMBER, TEXT, WHOLE


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, found {str(value).lower()}")
    return value


def _text_of_scalar(value: Any) -> Any:
    """YAML reads ``name: 2024`` as a number; where text is wanted, it is the text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


# The check for booleans comes last: pydantic leaves bounds that follow it out of the JSON Schema.
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Whole = Annotated[int, BeforeValidator(_refuse_bool)]
Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_refuse_bool)]
Share = Annotated[float, Field(gt=0.0, lt=1.0), BeforeValidator(_refuse_bool)]
Seconds = Annotated[float, Field(gt=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Amount = Weight
Retries = Annotated[int, Field(ge=0, le=20), BeforeValidator(_refuse_bool)]
Megabytes = Annotated[
    float, Field(gt=0.0, le=1_000_000.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)
]
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


Encoding = Annotated[
    Name, AfterValidator(_known_encoding), Field(json_schema_extra={"type": "string"})
]


class EditorSchema(GenerateJsonSchema):
    """Writes the JSON Schema of what pydantic reads: ``'0.5'`` where a number is wanted, too."""

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        """A whole number, also as text unless that is refused."""
        return super().int_schema(schema) | ({} if schema.get("strict") else WHOLE)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        """A number, also as text."""
        return super().float_schema(schema) | ({} if schema.get("strict") else NUMBER)

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        """True or false, and what is read as these."""
        return super().bool_schema(schema) | FLAG

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """A mapping; its keys may be numbers in YAML, which no pattern can be held against."""
        found = super().dict_schema(schema)
        found.pop("propertyNames", None)
        for value in found.pop("patternProperties", {}).values():
            found["additionalProperties"] = value
        return found

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """A text, also as number where it is read as text."""
        is_text = schema["function"]["function"] is _text_of_scalar
        return super().function_before_schema(schema) | (TEXT if is_text else {})


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


def refuse_half_characters(value: Any) -> Any:
    """Return ``value``; raise ValueError where a key in it holds a lone surrogate.

    No YAML file can hold one, but what a program hands over can, and no file could take it.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(key, str) and any("\ud800" <= letter <= "\udfff" for letter in key):
                raise ValueError(f"the key {key!r} holds half of a character (a lone surrogate)")
            refuse_half_characters(part)
    return value
