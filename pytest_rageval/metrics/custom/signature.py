"""Reads the signature of a user's function: which models it takes, and which options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_origin

from pydantic import ConfigDict, Field, create_model

from pytest_rageval.errors import RagevalError
from pytest_rageval.metrics.base import NoOptions, Role
from pytest_rageval.model import json_plain

Given = Literal["models", "judge", "embedding", "context"]
"""What a parameter receives, besides the sample, by its name or annotation."""

_BY_ANNOTATION: Final[Mapping[str, Given]] = {
    "Models": "models",
    "ChatClient": "judge",
    "EmbeddingClient": "embedding",
    "ScoringContext": "context",
}
_ROLES: Final[tuple[Role, ...]] = ("judge", "embedding")
_EMPTY: Final = inspect.Parameter.empty
_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class CustomMetricError(RagevalError):
    """A user's object cannot be a metric; the message says what it lacks."""


class CallOptions(NoOptions):
    """The options that a scenario gives for the keyword parameters of a function or class.

    A parameter ``x`` is the field ``option_x``, so that no parameter can hide a method here.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def known(cls) -> Collection[str]:
        """Return the names of the parameters."""
        return [str(field.alias) for field in cls.model_fields.values()]

    def keywords(self) -> dict[str, Any]:
        """Return the options that the scenario gives; others keep the defaults of the code."""
        given = {
            str(field.alias): getattr(self, name)
            for name, field in type(self).model_fields.items()
            if name in self.model_fields_set
        }
        return {**given, **(self.model_extra or {})}

    def stated(self) -> Mapping[str, Any]:
        """Return all options, also defaults of the code that are text or numbers."""
        plain = {
            name: value
            for name, value in self.defaults.items()
            if isinstance(value, str | int | float)
        }
        return {**plain, **json_plain(self.keywords())}


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function of a sample.

    ``gives`` says what each parameter receives; ``roles`` are the models that it asks, None where
    it takes all models and does not declare which. ``says_bool``: it is annotated ``-> bool``.
    """

    gives: Mapping[str, Given]
    options: type[CallOptions]
    roles: frozenset[Role] | None
    is_async: bool
    says_bool: bool


def read_signature(function: Callable[..., Any], shown: str, *, skips: int = 0) -> Signature:
    """Return the signature of ``function`` without its first ``skips`` parameters.

    Raises CustomMetricError for a function that cannot be called with a sample.
    """
    parameters = _parameters(function, shown)[skips:]
    if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
        raise CustomMetricError(f"{shown} takes no sample: declare it as 'def metric(sample)'")
    names = _namespace(function)
    rest = parameters if parameters[0].kind is inspect.Parameter.VAR_POSITIONAL else parameters[1:]
    gives: dict[str, Given] = {}
    roles: frozenset[Role] | None = frozenset()
    for parameter in rest:
        given, asked = _given(parameter, names)
        if given is not None:
            gives[parameter.name] = given
            roles = None if roles is None or asked is None else roles | asked
    is_async = _is_async(function)
    if not is_async and (asks := [name for name, given in gives.items() if given != "context"]):
        raise CustomMetricError(f"{shown} takes {asks[0]!r}: only an async function can ask models")
    options = [parameter for parameter in rest if parameter.name not in gives]
    returns = _resolved(inspect.signature(function).return_annotation, names)
    return Signature(
        gives, call_options(options, names, shown), roles, is_async, returns in (bool, "bool")
    )


def read_constructor(made: type, shown: str, given: Collection[str] = ()) -> type[CallOptions]:
    """Return the options of a class: the parameters of its constructor but those ``given``."""
    constructor: Any = inspect.getattr_static(made, "__init__")
    if constructor is object.__init__ and inspect.getattr_static(made, "__new__") is object.__new__:
        return call_options([], {}, shown)
    parameters = [found for found in _parameters(made, shown) if found.name not in given]
    return call_options(parameters, _namespace(constructor), shown)


def call_options(
    parameters: Collection[inspect.Parameter], names: Mapping[str, Any], shown: str
) -> type[CallOptions]:
    """Return the pydantic model of the options for these parameters."""
    options = [parameter for parameter in parameters if parameter.kind in _KEYWORD]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and parameter.default is _EMPTY:
            raise CustomMetricError(
                f"{shown} needs the parameter {parameter.name!r}, which cannot be passed by name"
            )
    try:
        made = _model(options, lambda parameter: _annotation(parameter, names), parameters)
    except Exception:  # noqa: BLE001  (an annotation is anyone's code; without them all is Any)
        made = _model(options, lambda _: Any, parameters)
    made.defaults = {
        option.name: option.default for option in options if option.default is not _EMPTY
    }
    return made


def _model(
    options: Collection[inspect.Parameter],
    annotation: Callable[[inspect.Parameter], Any],
    parameters: Collection[inspect.Parameter],
) -> type[CallOptions]:
    fields: dict[str, Any] = {
        f"option_{option.name}": (
            annotation(option),
            Field(... if option.default is _EMPTY else None, alias=option.name),
        )
        for option in options
    }
    takes_any = any(found.kind is inspect.Parameter.VAR_KEYWORD for found in parameters)
    base: type[CallOptions] = _OpenOptions if takes_any else CallOptions
    return create_model("Options", __base__=base, **fields)


class _OpenOptions(CallOptions):
    """The options of a function with ``**options``: any name is allowed."""

    model_config = ConfigDict(extra="allow")


def _parameters(function: Callable[..., Any], shown: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise CustomMetricError(f"the parameters of {shown} cannot be read: {error}") from error


def _given(
    parameter: inspect.Parameter, names: Mapping[str, Any]
) -> tuple[Given | None, frozenset[Role] | None]:
    """Return what a parameter receives, and the models that it asks (None: not declared)."""
    annotation = _resolved(parameter.annotation, names)
    marks: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *marked = get_args(annotation)
        marks = tuple(marked)
    last = str(getattr(annotation, "__name__", annotation)).rpartition(".")[2]
    given = _BY_ANNOTATION.get(last)
    if given is None and annotation is _EMPTY and parameter.default is _EMPTY:
        given = next((name for name in _BY_ANNOTATION.values() if name == parameter.name), None)
    if given == "models":
        return given, frozenset(role for role in _ROLES if role in marks) or None
    return given, frozenset(role for role in _ROLES if role == given)


def _annotation(parameter: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    found = _resolved(parameter.annotation, names)
    return Any if found is _EMPTY or isinstance(found, str) else found


def _resolved(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Return what an annotation in text form means, or the text where that cannot be found out.

    Each is resolved by itself: a name that only type checkers import must not hide the others.
    """
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(names))  # noqa: S307  (the user's own code, just imported)
    except Exception:  # noqa: BLE001  (which may raise anything)
        return annotation


def _namespace(function: Callable[..., Any]) -> Mapping[str, Any]:
    inner = inspect.unwrap(getattr(function, "func", function))
    inner = getattr(inner, "__func__", inner)
    found = getattr(inner, "__globals__", None)
    if found is None:
        found = getattr(type(inner).__call__, "__globals__", {})
    return found


def _is_async(function: Callable[..., Any]) -> bool:
    call = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
