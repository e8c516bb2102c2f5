"""Users' functions as metrics: which fields, models and options their parameters take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    ForwardRef,
    Literal,
    Union,
    get_args,
    get_origin,
)

from pydantic import ConfigDict, Field, create_model

from pytest_rageval.errors import RagevalError
from pytest_rageval.metrics.base import NoOptions, Role
from pytest_rageval.model import Sample, json_plain
from pytest_rageval.scenario.fields import FIELD_OF

Given = Literal["models", "judge", "embedding", "context"]
"""What a parameter receives, besides the sample and its fields, by its name or annotation."""

ROLES: Final[tuple[Role, ...]] = ("judge", "embedding")
SAMPLE: Final = "sample"
FIELDS: Final = tuple(
    field.name
    for field in fields(Sample)
    if field.name not in ("index", "row", "skip", "xfail", "context_ids")
)
"""The fields of a sample that a parameter of that name receives."""

_EMPTY_WHERE_LACKING: Final = ("tags", "metadata")
"""The fields that are never None: a row that has none of them has empty ones."""

_BY_ANNOTATION: Final[Mapping[str, Given]] = {
    "Models": "models",
    "ChatClient": "judge",
    "EmbeddingClient": "embedding",
    "ScoringContext": "context",
}
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

    ``of_sample`` maps a parameter to what it receives of the sample: the whole or a field.
    ``gives`` maps others to what they receive beside it: models, or the context. Those of
    ``by_place`` are passed first, by their place. A parameter in ``defaults`` keeps its default
    where the sample lacks the field, or the scenario the model. ``roles`` are the models that it
    cannot do without, None where it takes ``Models`` and does not declare which; ``may_ask`` those
    that it asks where the scenario has them.
    """

    of_sample: Mapping[str, str]
    by_place: tuple[str, ...]
    defaults: Mapping[str, object]
    gives: Mapping[str, Given]
    options: type[CallOptions]
    roles: frozenset[Role] | None
    may_ask: frozenset[Role]
    is_async: bool

    @property
    def needs(self) -> list[str]:
        """The fields of the sample that it cannot do without."""
        taken = self.of_sample.items()
        return [what for name, what in taken if what in FIELDS and name not in self.defaults]

    @property
    def takes(self) -> frozenset[str]:
        """What it receives of the sample, also where it can do without."""
        return frozenset(self.of_sample.values())

    @property
    def takes_sample(self) -> bool:
        """Whether it receives the whole sample, of which it may read anything."""
        return SAMPLE in self.takes

    def arguments(self, sample: Sample) -> tuple[list[object], dict[str, object]]:
        """Return the arguments by place and by name, without what ``gives`` and options add.

        A parameter that is passed by place and takes nothing of the sample gets its default.
        """
        named = {name: self._part(sample, name) for name in self.of_sample}
        positional = [
            named.pop(name) if name in named else self.defaults[name] for name in self.by_place
        ]
        return positional, named

    def _part(self, sample: Sample, name: str) -> object:
        what = self.of_sample[name]
        value = sample if what == SAMPLE else getattr(sample, what)
        is_lacking = value is None or (what in _EMPTY_WHERE_LACKING and not value)
        return self.defaults.get(name, value) if is_lacking else value


def read_signature(function: Callable[..., Any], shown: str, *, skips: int = 0) -> Signature:
    """Return the signature of ``function`` without its first ``skips`` parameters.

    Raises CustomMetricError for a function that cannot be called with a sample.
    """
    parameters, names = _parameters(function, shown)[skips:], _namespace(function)
    first, rest = _split(parameters, names)
    is_by_field = first in FIELDS or not first
    of_sample = {parameters[0].name: first} if first else {}
    gives: dict[str, Given] = {}
    roles: frozenset[Role] | None = frozenset()
    may_ask: frozenset[Role] = frozenset()
    for parameter in rest:
        given, asked = _received(parameter, names)
        what = _of_sample(parameter, names)
        if given is not None:
            gives[parameter.name] = given
            if given in ROLES and parameter.default is None:
                may_ask |= asked or frozenset()
            else:
                roles = None if roles is None or asked is None else roles | asked
        # Beside a first `sample`, a field's name with a default is an option.
        elif what and (is_by_field or parameter.default is _EMPTY):
            of_sample[parameter.name] = what
    options = [part for part in rest if part.name not in gives and part.name not in of_sample]
    _refuse_unclear(parameters, first, of_sample, names, shown)
    if first == SAMPLE and _is_plain(_resolved(parameters[0].annotation, names)):
        _refuse_likely_fields(parameters[:1], shown, is_by_field=True, way_out=_SAMPLE_HINT)
    _refuse_unpassable(parameters, gives, shown)
    _refuse_likely_fields(options, shown, is_by_field=is_by_field)
    is_async = _is_async(function)
    _refuse_ungiven(gives, shown, is_async=is_async)
    defaults = {part.name: part.default for part in parameters if part.default is not _EMPTY}
    made = call_options(options, names, shown)
    places = [part.name for part in parameters if part.kind is inspect.Parameter.POSITIONAL_ONLY]
    if first and not places:
        places = [parameters[0].name]  # by place: a decorator may have renamed it
    return Signature(
        of_sample, tuple(places), defaults, gives, made, roles, may_ask - (roles or set()), is_async
    )


def _split(
    parameters: list[inspect.Parameter], names: Mapping[str, Any]
) -> tuple[str, list[inspect.Parameter]]:
    """Return what the first parameter receives of the sample, and the other parameters.

    Return "" and all parameters where the first one can be passed by name only, receives a model or
    the context, or is an option: it has a default, and ``_of_sample`` finds nothing for it.
    """
    kind = parameters[0].kind if parameters else inspect.Parameter.KEYWORD_ONLY
    is_named = kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    if is_named or _received(parameters[0], names)[0] is not None:
        return "", parameters
    what = _of_sample(parameters[0], names)
    is_option = not what and parameters[0].default is not _EMPTY
    return ("", parameters) if is_option else (what or SAMPLE, parameters[1:])


def _of_sample(parameter: inspect.Parameter, names: Mapping[str, Any]) -> str:
    """Return which part of the sample a parameter asks for by its name or annotation, or ""."""
    if _type_name(_resolved(parameter.annotation, names)) == Sample.__name__:
        return SAMPLE
    known = parameter.name in (SAMPLE, *FIELDS) and parameter.kind is not _REST
    return parameter.name if known else ""


def _refuse_unclear(
    parameters: list[inspect.Parameter],
    first: str,
    of_sample: Mapping[str, str],
    names: Mapping[str, Any],
    shown: str,
) -> None:
    """Raise CustomMetricError where nothing of the sample is taken, or it is not clear what."""
    if not first and not of_sample:
        message = f"{shown} takes no sample: declare it as 'def metric(sample)'"
        options = [part.name for part in parameters if part.default is not _EMPTY]
        hint = f"; {options[0]!r} has a default, so it is an option" if options else ""
        raise CustomMetricError(f"{message}, or with some of {', '.join(FIELDS)}{hint}")
    if first == SAMPLE and len(of_sample) > 1 and not _of_sample(parameters[0], names):
        takes = ", ".join(list(of_sample)[1:])
        raise CustomMetricError(
            f"{shown}: what is {parameters[0].name!r}, beside {takes}? Parameters that receive "
            f"something of a sample are called sample, {', '.join(FIELDS)}"
        )


def _refuse_unpassable(
    parameters: list[inspect.Parameter], gives: Mapping[str, Given], shown: str
) -> None:
    """Raise CustomMetricError for ``*contexts``, and for a model or context before ``/``."""
    for part in parameters:
        if part.kind is inspect.Parameter.VAR_POSITIONAL and part.name in (SAMPLE, *FIELDS):
            raise CustomMetricError(
                f"{shown} takes '*{part.name}': write {part.name!r} without the star, it receives "
                "all that the row has"
            )
        if part.kind is inspect.Parameter.POSITIONAL_ONLY and part.name in gives:
            raise CustomMetricError(
                f"{shown} takes {part.name!r}, which cannot be passed by name: write it behind '/'"
            )


def _refuse_ungiven(gives: Mapping[str, Given], shown: str, *, is_async: bool) -> None:
    """Raise CustomMetricError for models of a plain function, and the context of an async one."""
    for name, given in gives.items():
        if not is_async and given != "context":
            why = "only an async function can ask models"
            raise CustomMetricError(f"{shown} takes {name!r}: {why}")
        if is_async and given == "context":
            raise CustomMetricError(
                f"{shown} takes {name!r}, a ScoringContext: async functions are called before "
                f"there is one. Leave {name!r} out, or write 'def' for 'async def'"
            )


def _refuse_likely_fields(
    options: Iterable[inspect.Parameter], shown: str, *, is_by_field: bool, way_out: str = ""
) -> None:
    """Raise CustomMetricError for a parameter that is most likely meant as a field."""
    for part in options:
        meant = "contexts" if part.name == "context" else FIELD_OF.get(part.name)
        is_sure = is_by_field or (part.name == "context" and part.default is _EMPTY)
        if meant in FIELDS and part.name not in FIELDS and is_sure:
            hint = f"An option needs another name{_CONTEXT_HINT if part.name == 'context' else ''}"
            raise CustomMetricError(
                f"{shown}: no field is called {part.name!r}. Did you mean {meant!r}? "
                f"{way_out or hint}"
            )


_SAMPLE_HINT = "What gets the whole row is called sample, or annotated Sample"
_CONTEXT_HINT = "; what the metrics of a sample share is annotated 'context: ScoringContext'"


def read_constructor(made: type, shown: str, given: Collection[str] = ()) -> type[CallOptions]:
    """Return the options of a class: the parameters of its constructor but those ``given``.

    Raises CustomMetricError as ``call_options``, and for parameters that cannot be read.
    """
    constructor: Any = inspect.getattr_static(made, "__init__")
    if constructor is object.__init__ and inspect.getattr_static(made, "__new__") is object.__new__:
        return call_options([], {}, shown)
    parameters = [part for part in _parameters(made, shown) if part.name not in given]
    return call_options(parameters, _namespace(constructor), shown)


def call_options(
    parameters: Collection[inspect.Parameter], names: Mapping[str, Any], shown: str
) -> type[CallOptions]:
    """Return the pydantic model of the options for these parameters.

    Annotations use ``names``; where pydantic can make nothing of one, all options may be anything.
    Raises CustomMetricError for a required parameter that cannot be passed by name.
    """
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
    given = _BY_ANNOTATION.get(_type_name(annotation))
    if given is None and annotation is _EMPTY:
        is_fillable = parameter.default is _EMPTY or parameter.default is None  # else an option
        by_name: dict[str, Given] = {"judge": "judge", "embedding": "embedding"}
        if parameter.default is _EMPTY:
            by_name["models"] = "models"
        given = by_name.get(parameter.name) if is_fillable else None
    if given == "models":
        return given, frozenset(role for role in ROLES if role in marks) or None
    return given, frozenset(role for role in ROLES if role == given)


def _is_plain(annotation: object) -> bool:
    """Return whether there is none, or one of what a field may be, which no Sample is."""
    if get_origin(annotation) in (Union, UnionType):
        return all(kind is type(None) or _is_plain(kind) for kind in get_args(annotation))
    kind = get_origin(annotation) or annotation
    return any(kind is plain for plain in (_EMPTY, str, list, dict, tuple))


def _type_name(annotation: object) -> str:
    """Return the name of a class, without its module; of ``X | None`` that of X, else ""."""
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        annotation = kinds[0] if len(kinds) == 1 else annotation
    if isinstance(annotation, ForwardRef):  # of Optional["ChatClient"]
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        found = _CLASS_TEXT.fullmatch(annotation.strip())
        return next(filter(None, found.groups())) if found else ""
    return str(getattr(annotation, "__name__", ""))


_CLASS = r"(?:\w+\.)*(\w+)"
_CLASS_TEXT: Final = re.compile(
    rf"{_CLASS}(?: *\| *None)?|None *\| *{_CLASS}|(?:\w+\.)*Optional\[ *{_CLASS} *\]"
)
"""The text of an annotation that stands for one class, which may be None."""


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
    """Return the names of the module that the function, or the class of the object, is from."""
    inner = inspect.unwrap(getattr(function, "func", function))
    inner = getattr(inner, "__func__", inner)
    names = getattr(inner, "__globals__", None)
    return getattr(type(inner).__call__, "__globals__", {}) if names is None else names


def _is_async(function: Callable[..., Any]) -> bool:
    call = type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
