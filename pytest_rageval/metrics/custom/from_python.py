"""Makes a metric of a user's Python: a function of a sample, or an object with ``score``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricDefinition, NoOptions
from pytest_rageval.metrics.custom import from_dbgpt
from pytest_rageval.metrics.custom.declaration import (
    NO_DECLARATION,
    Declaration,
    declaration_of,
    info_of,
)
from pytest_rageval.metrics.custom.signature import (
    Call,
    CallOptions,
    CustomCoroutine,
    CustomFunction,
    CustomMetricError,
    Signature,
    read_constructor,
    read_signature,
)

DEFAULT_TIMEOUT_S: Final = 120.0
"""How long an async function may take for a sample. One that asks models has no limit but that of
each call."""

_METHODS = ("ascore", "score")


def define_metric(
    found: object, name: str, source: str = "", declared: Declaration = NO_DECLARATION
) -> MetricDefinition:
    """Return the metric ``found``, called ``name`` unless it declares another name.

    ``found`` is a function of a sample, sync or async, a class or an object with ``score`` or
    ``ascore``, a metric written for DB-GPT, or a MetricDefinition (returned unchanged).
    ``source`` is its import path. Raises CustomMetricError.
    """
    if isinstance(found, MetricDefinition):
        return found
    shown = source or name
    binding = _bind(found, shown)
    clashing = sorted(set(binding.options.known()) & declared.stated().keys())
    if clashing:
        raise CustomMetricError(
            f"{shown} has a parameter {clashing[0]!r}, but that key describes the metric itself; "
            "rename the parameter"
        )
    declared = declared.over(declaration_of(found))
    if from_dbgpt.is_metric(found):
        declared = declared.over(from_dbgpt.declaration(found))
    info = info_of(declared, binding.signature, declared.name or name, shown)
    timeout_s = declared.timeout_s or (None if info.asks else DEFAULT_TIMEOUT_S)
    return MetricDefinition(
        info,
        lambda label, options: _make(label, options, binding, timeout_s, shown),
        binding.options,
        source=source,
    )


def define_metrics(found: object, shown: str) -> list[MetricDefinition]:
    """Return the metrics of a hook or an entry point: one, several, or a mapping by name.

    Messages call the hook or entry point ``shown``.
    """
    if isinstance(found, Mapping):
        named = [
            (str(name), define_metric(one, str(name), _source(one))) for name, one in found.items()
        ]
        return [replace(one, info=replace(one.info, name=name)) for name, one in named]
    is_one = isinstance(found, MetricDefinition) or callable(found) or _method(found) is not None
    if isinstance(found, Iterable) and not is_one and not isinstance(found, str | bytes):
        return [metric for one in found for metric in define_metrics(one, shown)]
    if not is_one:
        raise CustomMetricError(f"{shown} {_expected(found)}")
    name = getattr(found, "__name__", type(found).__name__)
    if not name.isidentifier():
        raise CustomMetricError(
            f"{shown}: {name} cannot be the name of a metric; return {{'name': ...}}"
        )
    return [define_metric(found, name, _source(found))]


def _source(found: object) -> str:
    """Return the import path of an object's code."""
    holder = found if hasattr(found, "__qualname__") else type(found)
    return f"{holder.__module__}:{getattr(holder, '__qualname__', '')}"


@dataclass(frozen=True, slots=True)
class _Binding:
    """How a metric is called: its signature, its options, and how they are bound.

    ``bind(options)`` returns the function and its keyword arguments.
    """

    signature: Signature
    options: type[CallOptions]
    bind: Callable[[CallOptions], tuple[Callable[..., Any], Mapping[str, Any]]]


def _bind(found: object, shown: str) -> _Binding:
    if from_dbgpt.is_metric(found):
        return _bind_dbgpt(found, shown)
    if inspect.isclass(found):
        return _bind_class(found, shown)
    method = _method(found)
    if method is None and not callable(found):
        raise CustomMetricError(f"{shown} {_expected(found)}")
    function = cast("Callable[..., Any]", getattr(found, method) if method else found)
    signature = read_signature(function, f"{shown}.{method}" if method else shown)
    return _Binding(signature, signature.options, lambda options: (function, options.keywords()))


def _bind_class(found: type, shown: str) -> _Binding:
    method = _method(found) or ("__call__" if "__call__" in dir(found) else None)
    if method is None or not inspect.isroutine(getattr(found, method)):
        raise CustomMetricError(f"{shown} is a class without 'score' or 'ascore'")
    is_bound = isinstance(inspect.getattr_static(found, method), staticmethod | classmethod)
    function = getattr(found, method)
    signature = read_signature(function, f"{shown}.{method}", skips=0 if is_bound else 1)
    required = [field for field in signature.options.model_fields.values() if field.is_required()]
    if required:
        raise CustomMetricError(
            f"{shown}.{method} has a required parameter {required[0].alias!r}; options of a class "
            "must be parameters of its constructor"
        )
    return _Binding(
        signature,
        read_constructor(found, shown),
        lambda options: (getattr(found(**options.keywords()), method), {}),
    )


def _bind_dbgpt(found: object, shown: str) -> _Binding:
    scoring = from_dbgpt.scoring(found, shown)
    if inspect.isclass(found):
        options = read_constructor(found, shown, from_dbgpt.IGNORED)

        def bind(given: CallOptions) -> tuple[Callable[..., Any], Mapping[str, Any]]:
            return scoring(from_dbgpt.constructed(found, given.keywords())), {}

        return _Binding(read_signature(scoring(None), shown), options, bind)
    function = scoring(found)
    signature = read_signature(function, shown)
    return _Binding(signature, signature.options, lambda _: (function, {}))


def _method(found: object) -> str | None:
    return next((name for name in _METHODS if callable(getattr(found, name, None))), None)


def _expected(found: object) -> str:
    kind = "a module" if inspect.ismodule(found) else shorten(repr(found))
    return (
        f"is {kind}, not a metric: expected a function of a sample, a MetricDefinition, or a class "
        "or an object with 'score' or 'ascore'"
    )


def _make(
    label: str, options: NoOptions, binding: _Binding, timeout_s: float | None, shown: str
) -> CustomFunction | CustomCoroutine:
    try:
        function, keywords = binding.bind(cast("CallOptions", options))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also of sys.exit, pytest.skip
        kind, text = type(error).__name__, shorten(str(error), 300)
        raise CustomMetricError(f"{shown}(...) raised {kind}: {text}") from error
    call = Call(function, keywords, binding.signature)
    if binding.signature.is_async:
        return CustomCoroutine(label, call, timeout_s)
    return CustomFunction(label, call)
