"""Users' functions as metrics: which fields, models and options they take; how they are called."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Final, Literal, get_args, get_origin

from pydantic import ConfigDict, Field, create_model

from pytest_rageval.clients.threads import is_ours
from pytest_rageval.errors import RagevalError, shorten
from pytest_rageval.metrics.base import Models, NoOptions, Role, ScoringContext
from pytest_rageval.model import Sample, Score, json_plain

Given = Literal["models", "judge", "embedding", "context"]
"""What a parameter receives, besides the sample and its fields, by its name or annotation."""

SAMPLE: Final = "sample"
FIELDS: Final = tuple(
    field.name for field in fields(Sample) if field.name not in ("index", "row", "skip", "xfail")
)
"""The fields of a sample that a parameter of that name receives."""

_BY_ANNOTATION: Final[Mapping[str, Given]] = {
    "Models": "models",
    "ChatClient": "judge",
    "EmbeddingClient": "embedding",
    "ScoringContext": "context",
}
_ROLES: Final[tuple[Role, ...]] = ("judge", "embedding")
_EMPTY: Final = inspect.Parameter.empty
_REST: Final = inspect.Parameter.VAR_KEYWORD
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


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
        declared = {
            str(field.alias): getattr(self, name)
            for name, field in type(self).model_fields.items()
            if name in self.model_fields_set
        }
        return {**declared, **(self.model_extra or {})}

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

    ``first`` is what the first positional one receives: the sample, a field of it, or "" where
    there is none. ``of_sample`` says so of the others by name, ``gives`` which models they receive.
    A parameter in ``defaults`` keeps its default where the sample lacks the field. ``roles`` are
    the models that it asks, None where it takes all models and does not declare which.
    """

    first: str
    of_sample: Mapping[str, str]
    defaults: frozenset[str]
    gives: Mapping[str, Given]
    options: type[CallOptions]
    roles: frozenset[Role] | None
    is_async: bool

    @property
    def needs(self) -> list[str]:
        """The fields of the sample that it cannot do without."""
        taken = [self.first, *self.of_sample.values()]
        return [name for name in taken if name in FIELDS and name not in self.defaults]

    def arguments(self, sample: Sample) -> tuple[list[object], dict[str, object]]:
        """Return the positional and the named arguments that are about the sample."""
        named = {
            name: value
            for name, what in self.of_sample.items()
            if (value := _part(sample, what)) is not None or name not in self.defaults
        }
        return [_part(sample, self.first)] if self.first else [], named


def _part(sample: Sample, what: str) -> object:
    return sample if what == SAMPLE else getattr(sample, what)


def read_signature(function: Callable[..., Any], shown: str, *, skips: int = 0) -> Signature:
    """Return the signature of ``function`` without its first ``skips`` parameters.

    Raises CustomMetricError for a function that cannot be called with a sample.
    """
    parameters, names = _parameters(function, shown)[skips:], _namespace(function)
    first, rest = _split(parameters, names)
    is_by_field = first in FIELDS or not first
    of_sample: dict[str, str] = {}
    gives: dict[str, Given] = {}
    roles: frozenset[Role] | None = frozenset()
    for parameter in rest:
        given, asked = _received(parameter, names)
        what = _of_sample(parameter, names)
        if given is not None:
            gives[parameter.name] = given
            roles = None if roles is None or asked is None else roles | asked
        elif what and (is_by_field or parameter.default is _EMPTY):
            of_sample[parameter.name] = what
    _refuse_mixture(parameters, first, of_sample, names, shown)
    is_async = _is_async(function)
    if not is_async and (asks := [name for name, given in gives.items() if given != "context"]):
        raise CustomMetricError(f"{shown} takes {asks[0]!r}: only an async function can ask models")
    options = [part for part in rest if part.name not in gives and part.name not in of_sample]
    defaults = frozenset(part.name for part in parameters if part.default is not _EMPTY)
    made = call_options(options, names, shown)
    return Signature(first, of_sample, defaults, gives, made, roles, is_async)


def _split(
    parameters: list[inspect.Parameter], names: Mapping[str, Any]
) -> tuple[str, list[inspect.Parameter]]:
    """Return what the first positional parameter receives, "" without one, and the others."""
    kind = parameters[0].kind if parameters else inspect.Parameter.KEYWORD_ONLY
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return SAMPLE, parameters
    is_named = kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    if is_named or _received(parameters[0], names)[0] is not None:
        return "", parameters
    return _of_sample(parameters[0], names) or SAMPLE, parameters[1:]


def _of_sample(parameter: inspect.Parameter, names: Mapping[str, Any]) -> str:
    """Return which part of the sample a parameter asks for by its name or annotation, or ""."""
    annotation = _resolved(parameter.annotation, names)
    if str(getattr(annotation, "__name__", annotation)).rpartition(".")[2] == Sample.__name__:
        return SAMPLE
    known = parameter.name in (SAMPLE, *FIELDS) and parameter.kind is not _REST
    return parameter.name if known else ""


def _refuse_mixture(
    parameters: list[inspect.Parameter],
    first: str,
    of_sample: Mapping[str, str],
    names: Mapping[str, Any],
    shown: str,
) -> None:
    """Raise CustomMetricError where nothing of the sample is taken, or it is not clear what."""
    if not first and not of_sample:
        message = f"{shown} takes no sample: declare it as 'def metric(sample)'"
        raise CustomMetricError(f"{message}, or with some of {', '.join(FIELDS)}")
    if first == SAMPLE and of_sample and not _of_sample(parameters[0], names):
        takes = ", ".join(of_sample)
        raise CustomMetricError(
            f"{shown}: what is {parameters[0].name!r}, beside {takes}? Parameters that receive "
            f"something of a sample are called sample, {', '.join(FIELDS)}"
        )


def read_constructor(made: type, shown: str, given: Collection[str] = ()) -> type[CallOptions]:
    """Return the options of a class: the parameters of its constructor but those ``given``."""
    constructor: Any = inspect.getattr_static(made, "__init__")
    if constructor is object.__init__ and inspect.getattr_static(made, "__new__") is object.__new__:
        return call_options([], {}, shown)
    parameters = [part for part in _parameters(made, shown) if part.name not in given]
    return call_options(parameters, _namespace(constructor), shown)


def call_options(
    parameters: Collection[inspect.Parameter], names: Mapping[str, Any], shown: str
) -> type[CallOptions]:
    """Return the pydantic model of the options for these parameters."""
    options = [parameter for parameter in parameters if parameter.kind in _BY_NAME]
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY and parameter.default is _EMPTY:
            raise CustomMetricError(
                f"{shown} needs the parameter {parameter.name!r}, which cannot be passed by name"
            )
    try:
        model = _model(options, lambda parameter: _annotation(parameter, names), parameters)
    except Exception:  # noqa: BLE001  (an annotation is anyone's code; without them all is Any)
        model = _model(options, lambda _: Any, parameters)
    model.defaults = {
        option.name: option.default for option in options if option.default is not _EMPTY
    }
    return model


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
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
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


def _received(
    parameter: inspect.Parameter, names: Mapping[str, Any]
) -> tuple[Given | None, frozenset[Role] | None]:
    """Return what a parameter receives, and the models that it asks (None: not declared)."""
    annotation = _resolved(parameter.annotation, names)
    marks: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *marked = get_args(annotation)
        marks = tuple(marked)
    type_name = str(getattr(annotation, "__name__", annotation)).rpartition(".")[2]
    given = _BY_ANNOTATION.get(type_name)
    if given is None and annotation is _EMPTY and parameter.default is _EMPTY:
        given = next((name for name in _BY_ANNOTATION.values() if name == parameter.name), None)
    if given == "models":
        return given, frozenset(role for role in _ROLES if role in marks) or None
    return given, frozenset(role for role in _ROLES if role == given)


def _annotation(parameter: inspect.Parameter, names: Mapping[str, Any]) -> Any:
    annotation = _resolved(parameter.annotation, names)
    return Any if annotation is _EMPTY or isinstance(annotation, str) else annotation


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
    names = getattr(inner, "__globals__", None)
    return getattr(type(inner).__call__, "__globals__", {}) if names is None else names


def _is_async(function: Callable[..., Any]) -> bool:
    call = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its options as keywords, and its signature."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature


class CustomFunction:
    """Scores by calling a user's function."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        return self._call.function

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the function's result as a score; its exceptions are raised."""
        call = self._call
        given = dict.fromkeys(call.signature.gives, context)
        positional, named = call.signature.arguments(own(sample))
        try:
            returned = call.function(*positional, **named, **given, **call.keywords)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit, pytest.skip: they concern this score alone
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, returned)


class CustomCoroutine:
    """Scores by awaiting a user's async function; many samples at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the function's result as a score; TimeoutError where it takes too long."""
        call = self._call
        gives = call.signature.gives
        given = {name: _argument(one, models) for name, one in gives.items()}
        positional, named = call.signature.arguments(own(sample))
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                returned = await call.function(*positional, **named, **given, **call.keywords)
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
            raise
        except Exception:
            raise
        except BaseException as error:
            if is_ours(error):
                raise
            # It would end the event loop of the whole run.
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, returned)


def own(sample: Sample) -> Sample:
    """Return a copy that a user's function may change: reports and slices read the metadata."""
    if not sample.metadata:
        return sample
    return replace(sample, metadata=copy.deepcopy(dict(sample.metadata)))


def _argument(given: Given, models: Models) -> object:
    if given == "models":
        return models
    return ScoringContext() if given == "context" else getattr(models, given)


def as_score(name: str, value: object) -> Score:
    """Return ``value`` as the score of the metric ``name``.

    A Score is returned unchanged; a number is its value, ``(number, reason)`` both, None unscored.
    True is 1.0 and False 0.0, also numpy's. NaN and the range are checked by the caller.
    """
    if isinstance(value, Score):
        return value
    reason: str | None = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str | None):
        value, reason = value
    if value is None:
        return Score(name, None, reason=reason or "the metric returned None")
    if _is_bool(value):
        return Score(name, float(bool(value)), reason)
    if not _is_number(value):
        return Score(name, None, error=_not_a_number(value))
    number: Any = value  # it becomes a plain float where the range is checked
    return Score(name, number, reason)


def _not_a_number(value: object) -> str:
    kind = type(value).__name__
    if inspect.isawaitable(value):
        if isinstance(value, Coroutine):
            value.close()  # else Python warns later that it was never awaited
        return f"returned a {kind} that is never awaited; declare the function 'async def'"
    return f"returned {shorten(repr(value))} ({kind}), not a number or a Score"


def _is_bool(value: object) -> bool:
    # numpy's is not Python's: "bool_" before numpy 2, "bool" from then on.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_number(value: object) -> bool:
    """Return whether ``value`` is one number, also a scalar of numpy or torch; not an array."""
    return hasattr(type(value), "__float__") and tuple(getattr(value, "shape", ())) == ()
