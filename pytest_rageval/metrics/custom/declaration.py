"""What the code or a scenario declares about a user's metric, and the MetricInfo made of it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Final, TypeVar, overload

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.metrics.base import MetricInfo, Role
from pytest_rageval.metrics.custom.signature import ROLES, CustomMetricError, Signature
from pytest_rageval.model import json_plain, plain_details
from pytest_rageval.scenario.fields import FIELD_OF, NEEDED_FIELDS

_ATTRIBUTE = "__rageval_metric__"
_LISTS = (tuple, list, set, frozenset)
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "name": (str,),
    "range": (tuple, list),
    "needs": _LISTS,
    "asks": _LISTS,
    "version": (int,),
    "timeout_s": (int, float),
}

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is declared about a metric; None for what is not.

    ``needs`` are fields of Sample, ``asks`` models, ``range`` the lowest and the highest score
    (infinite or None for no limit). With another ``version``, saved runs do not compare.
    ``timeout_s`` is the longest that one sample may take, for async functions only.
    """

    name: str | None = None
    range: Sequence[float | None] | None = None
    needs: Collection[str] | None = None
    asks: Collection[Role] | None = None
    higher_is_better: bool | None = None
    version: int | None = None
    timeout_s: float | None = None

    def over(self, other: Declaration) -> Declaration:
        """Return what is declared here, and for the rest what ``other`` declares."""
        return replace(other, **self.stated())

    def stated(self) -> dict[str, Any]:
        """Return what is declared, by name."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in known.items() if value is not None}


NO_DECLARATION: Final = Declaration()
SCORING: Final = ("ascore", "score")
"""The methods of a class or an object that score, the one that counts first."""


@overload
def metric(function: F, /) -> F: ...


@overload
def metric(
    *,
    name: str | None = None,
    range: Sequence[float | None] | None = None,
    needs: Collection[str] | None = None,
    asks: Collection[Role] | None = None,
    higher_is_better: bool | None = None,
    version: int | None = None,
    timeout_s: float | None = None,
) -> Callable[[F], F]: ...


def metric(  # noqa: PLR0913  (a keyword for each thing to declare)
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    range: Sequence[float | None] | None = None,  # noqa: A002
    needs: Collection[str] | None = None,
    asks: Collection[Role] | None = None,
    higher_is_better: bool | None = None,
    version: int | None = None,
    timeout_s: float | None = None,
) -> F | Callable[[F], F]:
    """Declare at a function what a scenario would otherwise have to declare about the metric.

    The function itself does not change. ``Declaration`` explains the keywords; what a scenario
    declares overrides them. ``@metric`` alone declares nothing; what cannot be called raises
    TypeError.
    """
    if function is not None and not callable(function):
        raise TypeError(
            f"expected a function, found {function!r}: write @metric(name={function!r})"
        )
    declared = Declaration(name, range, needs, asks, higher_is_better, version, timeout_s)

    def declare(function: F) -> F:
        setattr(function, _ATTRIBUTE, declared)
        return function

    return declare if function is None else declare(function)


def decorated(found: object) -> Declaration:
    """Return what the decorator declares at a function, class or object."""
    declared = getattr(found, _ATTRIBUTE, None)
    return declared if isinstance(declared, Declaration) else NO_DECLARATION


def declaration_of(
    found: object, methods: Sequence[str] = (), *, is_async: bool = True
) -> Declaration:
    """Return what the code declares: by the decorator, then as attributes of a class or object.

    Both count more than what the decorator declares at its method, or at a partial's function.
    ``methods`` are those that may score where the method has another name than ours. Unless that
    ``is_async``, an attribute ``timeout_s`` is for requests of its own.
    """
    # From Python 3.14 on, a partial is a routine, too.
    if inspect.isroutine(found) and not isinstance(found, partial):
        return decorated(found)
    # An attribute of another type (a method, a property of a class) declares nothing.
    known: dict[str, Any] = {
        name: value
        for name, kinds in _KINDS.items()
        if isinstance(value := getattr(found, name, None), kinds)
        and (is_async or name != "timeout_s")
    }
    # But of this one, everything else is refused: in silence, higher would be better.
    said = getattr(found, "higher_is_better", None)
    known["higher_is_better"] = None if callable(said) or inspect.ismemberdescriptor(said) else said
    return decorated(found).over(Declaration(**known)).over(_of_method(found, methods, is_async))


def _of_method(found: object, methods: Sequence[str], is_async: bool) -> Declaration:
    """Return what is declared at a partial's function, or at the method that scores."""
    if isinstance(found, partial):
        return declaration_of(found.func, is_async=is_async)
    ours = (name for name in SCORING if callable(getattr(found, name, None)))
    declared = NO_DECLARATION
    for name in methods or (next(ours, "__call__"),):
        # A decorator above @staticmethod is lost to getattr.
        for method in (getattr(found, name, None), inspect.getattr_static(found, name, None)):
            declared = declared.over(decorated(method))
    return declared


def info_of(declared: Declaration, signature: Signature, name: str, shown: str) -> MetricInfo:
    """Return the metric's info.

    Without a range it is 0 to 1. Raises CustomMetricError where the declaration contradicts the
    code, names an unknown model or field, or has a value that its key cannot have.
    """
    timeout_s, version = declared.timeout_s, plain_details(declared.version)
    if not signature.is_async and timeout_s is not None:
        raise CustomMetricError(f"{shown}: timeout_s: only an async function can be stopped")
    if timeout_s is not None and not _is_above_0(timeout_s):
        found = shorten(repr(timeout_s))
        raise CustomMetricError(f"{shown}: timeout_s: expected seconds above 0, found {found}")
    if not isinstance(version, int | None) or isinstance(version, bool):
        found = shorten(repr(declared.version))
        raise CustomMetricError(f"{shown}: version: expected a whole number, found {found}")
    needs = _fields(_needs(declared, signature), shown)
    is_better = json_plain(declared.higher_is_better)  # a Boolean of numpy is one
    if not isinstance(is_better, bool | None):
        said: object = declared.higher_is_better
        kind = type(said)  # of a property, repr is an address
        found = shorten(repr(said))
        if hasattr(kind, "__get__"):
            found = f"a {kind.__name__}: make it an attribute, or write it into the scenario"
        raise CustomMetricError(f"{shown}: higher_is_better: expected True or False, found {found}")
    return MetricInfo(
        name,
        needs,
        reads=frozenset() if signature.takes_sample else signature.takes - needs,
        range=_range(declared.range, shown),
        higher_is_better=is_better is not False,
        version=version or 1,
        asks=(asks := _asks(declared.asks, signature, shown)),
        may_ask=signature.may_ask - asks,
        is_async=signature.is_async,
        speaks="models" in signature.gives.values(),
    )


def _is_above_0(seconds: object) -> bool:
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0


def _asks(declared: Collection[Role] | None, signature: Signature, shown: str) -> frozenset[Role]:
    asks = signature.roles
    if declared is not None:
        asks = frozenset(declared) | (asks or frozenset())
    if asks is None:
        raise CustomMetricError(
            f"{shown} takes 'models' but does not declare which: write asks: [judge], "
            "or take a parameter 'judge' or 'embedding' instead"
        )
    for role in sorted(asks - set(ROLES)):
        raise CustomMetricError(f"{shown}: asks: {unknown_name('model', role, ROLES)}")
    if asks and not signature.is_async:
        raise CustomMetricError(f"{shown}: asks: only an async function can ask models")
    return asks


def _needs(declared: Declaration, signature: Signature) -> Collection[str]:
    """Return what is declared, else the fields of rows that its parameters name."""
    if declared.needs is not None:
        return declared.needs
    return [name for name in signature.needs if name in NEEDED_FIELDS]


def _fields(needs: Iterable[str], shown: str) -> frozenset[str]:
    for need in needs:
        if FIELD_OF.get(need) not in NEEDED_FIELDS:
            raise CustomMetricError(f"{shown}: needs: {unknown_name('field', need, NEEDED_FIELDS)}")
    return frozenset(FIELD_OF[need] for need in needs)


def _range(ends: Sequence[float | None] | None, shown: str) -> tuple[float, float]:
    if ends is None:
        return 0.0, 1.0
    try:
        low, high = (
            default if end is None else float(end)
            for end, default in zip(ends, (-math.inf, math.inf), strict=True)
        )
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        message = f"{shown}: range: expected (lowest, highest) score, found {shorten(repr(ends))}"
        raise CustomMetricError(message)
    return low, high
