"""What all mappings of a scenario file have in common: kinds of values, JSON Schema, messages.

Numbers may be written as text, since YAML 1.1 reads ``1e-2`` as text; bounds of such a number are
checked when the scenario is read, for JSON Schema cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, ClassVar, Final, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import Bound, value_text
from pytest_rageval.scenario.yaml.tree import YamlPath

_DIGITS: Final = r"(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?"

NUMBER: Final[dict[str, Any]] = {
    "type": ["number", "string"],
    "pattern": rf"^\s*[+-]?{_DIGITS}\s*$",
}
WHOLE: Final[dict[str, Any]] = {
    "type": ["integer", "string"],
    "pattern": r"^\s*[+-]?\d[\d_]*(\.0*)?\s*$",
}
DROP: Final[dict[str, Any]] = {
    "type": ["number", "string"],
    "minimum": 0,
    "pattern": rf"^\s*\+?{_DIGITS}\s*%?\s*$",
}
"""A fall: a number, or per cent."""
TEXT: Final[dict[str, Any]] = {"type": ["string", "number"]}
FLAG: Final[dict[str, Any]] = {
    "type": ["boolean", "integer", "string"],
    "minimum": 0,
    "maximum": 1,
    "pattern": r"^([01]|[tT]([rR][uU][eE])?|[fF]([aA][lL][sS][eE])?|[yY]([eE][sS])?|[nN][oO]?"
    r"|[oO]([nN]|[fF][fF]))$",
}
"""Also words that are true and false in YAML 1.1, but texts in YAML 1.2, which editors read."""


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"expected a number, found {str(value).lower()}")
    return value


def _text_of_scalar(value: Any) -> Any:
    """YAML reads ``name: 2024`` as a number; where text is wanted, it is the text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def expected(words: str) -> WrapValidator:
    """Return a validator that says in ``words`` what a value must be, whatever is wrong."""

    def read(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError:
            raise ValueError(f"expected {words}, found {shorten(repr(value))}") from None

    return WrapValidator(read)


# Bounds of numbers stand before the check for booleans: behind it, pydantic would leave them out of
# the JSON Schema.
Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Whole = Annotated[int, BeforeValidator(_refuse_bool)]
Weight = Annotated[float, Field(ge=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_refuse_bool)]
Share = Annotated[
    float,
    Field(gt=0.0, lt=1.0),
    BeforeValidator(_refuse_bool),
    expected("a number between 0 and 1"),
]
"""A share above 0 and below 1."""
Portion = Annotated[
    float,
    Field(ge=0.0, le=1.0),
    BeforeValidator(_refuse_bool),
    expected("a number from 0 to 1"),
]
FlipChance = Annotated[
    float,
    Field(gt=0.0, lt=0.5),
    BeforeValidator(_refuse_bool),
    expected("a number above 0 and below 0.5"),
]
"""A chance of another verdict: at the bound itself it is one half."""
Seconds = Annotated[float, Field(gt=0.0, allow_inf_nan=False), BeforeValidator(_refuse_bool)]
Amount = Weight
Resamples = Annotated[int, Field(ge=100), BeforeValidator(_refuse_bool)]
Seed = Annotated[int, Field(ge=0), BeforeValidator(_refuse_bool)]
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


def without_own_keys(value: Any) -> Any:
    """Return a mapping without the user's own keys, ``x-...``; any other value as it is."""
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if not str(key).startswith("x-")}


class Spec(BaseModel):
    """A mapping of the scenario file: unknown keys refused, ``x-`` keys ignored, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    short_form: ClassVar[str | None] = None
    """The key that a bare value stands for, where the mapping has a short form."""
    other_forms: ClassVar[Sequence[JsonSchemaValue]] = ()
    """The schemas of what else may stand in place of the mapping."""
    one_of: ClassVar[Sequence[Sequence[str]]] = ()
    """Alternatives, one or more keys each, of which the JSON Schema demands one."""
    null_is_empty: ClassVar[bool] = False
    """Whether null is a mapping without keys."""

    @model_validator(mode="before")
    @classmethod
    def _expand_short_form(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            return without_own_keys(data)
        if data is None and cls.null_is_empty:
            return {}
        return data if cls.short_form is None else {cls.short_form: data}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler(schema)
        whole = handler.resolve_ref_schema(found)
        mapping = {"patternProperties": {"^x-": {}}, **whole}
        if cls.one_of:
            mapping |= with_one_of(*cls.one_of)
        forms = list(cls.other_forms)
        if cls.short_form is not None:
            forms.insert(0, _bare(mapping["properties"][cls.short_form]))
        if cls.null_is_empty:
            forms.append({"type": "null"})
        whole.clear()
        whole.update({"anyOf": [*forms, mapping]} if forms else mapping)
        return found


class Forms:
    """Lists for the JSON Schema the types that a BeforeValidator of the value reads."""

    def __init__(self, *types: Any) -> None:
        self._types = types

    def __get_pydantic_json_schema__(
        self, _: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(core_schema.union_schema([TypeAdapter(t).core_schema for t in self._types]))


def with_one_of(*ways: Sequence[str]) -> dict[str, Any]:
    """Return the schema of a mapping that has all keys of one of the ``ways``, with values."""
    filled = {"not": {"type": "null"}}
    forms = [{"required": [*keys], "properties": dict.fromkeys(keys, filled)} for keys in ways]
    return {"anyOf": forms}


def _bare(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a key's value where it stands alone for its mapping: never null."""
    found = {key: value for key, value in field.items() if key not in _SAID_OF_KEYS}
    if "anyOf" in found:
        found["anyOf"] = [form for form in found["anyOf"] if form != {"type": "null"}]
    return found


_SAID_OF_KEYS: Final = ("title", "description", "default")


def mapping_form(schema: JsonSchemaValue) -> dict[str, Any]:
    """Return the part of the schema of a Spec that is about the mapping itself."""
    forms: list[dict[str, Any]] = schema["anyOf"] if "properties" not in schema else [schema]
    return forms[-1]


class BoundSpec(Spec):
    """What is good enough; ``{max: x}`` is the most. A bare number is ``value``."""

    short_form: ClassVar[str | None] = "value"
    one_of: ClassVar[Sequence[Sequence[str]]] = (("value",), ("min",), ("max",))

    value: Number | None = Field(None, description="a minimum (a maximum where lower is better)")
    min: Number | None = Field(None, description="the least that passes")
    max: Number | None = Field(None, description="the most that passes")

    @model_validator(mode="after")
    def _has_an_end(self) -> BoundSpec:
        self._check_ends()
        return self

    def _check_ends(self) -> None:
        if self.value is None and self.min is None and self.max is None:
            raise ValueError("expected a number, or a mapping with 'min' or 'max'")
        if self.value is not None and (self.min is not None or self.max is not None):
            raise ValueError("give either a number or 'min' and 'max'")
        if self.min is not None and self.max is not None and self.min > self.max:
            low, high = value_text(self.min), value_text(self.max)
            raise ValueError(f"min {low} is above max {high}: nothing could pass")

    def within(self, ends: tuple[float, float], *, higher_is_better: bool = True) -> Bound:
        """Return the bound; raises ValueError for a number outside of a range's ``ends``.

        Such a bound would always or never hold.
        """
        bound = Bound(self.min, self.max)
        if self.value is not None:
            bound = Bound(min=self.value) if higher_is_better else Bound(max=self.value)
        for name, number in (("min", bound.min), ("max", bound.max)):
            if number is not None and not ends[0] <= number <= ends[1]:
                raise ValueError(
                    f"{name} {value_text(number)} is outside the range {ends[0]:g}..{ends[1]:g}"
                )
        return bound


def refuse_half_characters(value: Any) -> Any:
    """Return ``value``; raise ValueError where a key of its mappings holds a lone surrogate.

    Mappings in lists are not searched. No YAML file can hold a lone surrogate, but what a program
    hands over can, and no file could take it.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(key, str) and any("\ud800" <= letter <= "\udfff" for letter in key):
                raise ValueError(f"the key {key!r} holds half of a character (a lone surrogate)")
            refuse_half_characters(part)
    return value


def mistakes(
    error: ValidationError, data: Any, annotation: Any
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the message of each mistake in options.

    ``data`` are the options as the user wrote them, ``annotation`` is the type that refused them.
    """
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
    """Return the model of the value at ``location`` in this type, or of the mapping around it."""
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
    """Return whether keys or passwords may stand at a path of a scenario, even by mistake."""
    if location == ("target",):
        return True  # the whole of it may hold any of the keys below
    is_of_model = location[:1] in (("judge",), ("embedding",), ("models",), ("target",))
    return is_of_model and any(step in _SECRETS for step in location)


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
    """Return what messages call a value of this type; a type without a word has Python's name.

    >>> kind_of({}), kind_of("x"), kind_of(1.5)
    ('mapping', 'text', 'float')
    """
    names = {dict: "mapping", list: "list", str: "text", bool: "boolean", int: "number"}
    return names.get(type(value), type(value).__name__)
