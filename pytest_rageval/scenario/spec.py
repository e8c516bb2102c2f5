"""What all mappings of a scenario file have in common, and the kinds of values in them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator


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
