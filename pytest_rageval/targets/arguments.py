"""Call a function for a sample: which parameter gets which field."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from pytest_rageval.errors import unknown_name
from pytest_rageval.model import Sample
from pytest_rageval.targets.base import TargetError

SAMPLE: Final = "sample"
_FIELDS: Final = tuple(found.name for found in fields(Sample))
_OPEN = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)

Arguments = Callable[[Sample], tuple[list[Any], dict[str, Any]]]
"""From a sample to what a function is called with: (by position, by name)."""


def arguments_of(function: Callable[..., object], options: Mapping[str, Any]) -> Arguments:
    """Return how ``function`` is called for a sample; ``options`` go to every call by name.

    A parameter called ``sample``, or annotated as a Sample, gets the sample; one called as a field
    of a sample, that field; the only other one without a default, the question. Raises TargetError
    for a parameter that nothing fills and for an option without a parameter.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C do not say
        return lambda sample: ([asked(sample)], dict(options))
    _check_options(signature, options)
    sources = _sources([part for name, part in signature.parameters.items() if name not in options])

    def arguments(sample: Sample) -> tuple[list[Any], dict[str, Any]]:
        by_position, by_name = [], dict(options)
        for parameter, source in sources:
            value = _value(sample, source)
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                by_position.append(value)
            else:
                by_name[parameter.name] = value
        return by_position, by_name

    return arguments


def asked(sample: Sample) -> str:
    """Return the question of a sample; TargetError where it has none."""
    if sample.question is None:
        raise TargetError("not asked: the row has no question")
    return sample.question


def _sources(parameters: Sequence[inspect.Parameter]) -> list[tuple[inspect.Parameter, str]]:
    """Return what fills each parameter that is filled, in their order."""
    found = [(parameter, _source(parameter)) for parameter in parameters]
    unknown = [
        parameter
        for parameter, source in found
        if source is None
        and parameter.kind in _OPEN
        and parameter.default is inspect.Parameter.empty
    ]
    has_question = any(source in (SAMPLE, "question") for _, source in found)
    if unknown and (has_question or len(unknown) > 1):
        names = ", ".join(repr(parameter.name) for parameter in unknown)
        raise TargetError(
            f"its parameter {names} cannot be filled: parameters are called 'sample' or as a field "
            f"of a sample ({', '.join(_FIELDS[3:7])}, ...), or are given under 'options'"
        )
    filled = [(one, "question" if one in unknown else source) for one, source in found]
    return [(parameter, source) for parameter, source in filled if source is not None]


def _source(parameter: inspect.Parameter) -> str | None:
    """Return the field that fills a parameter, ``sample`` for the whole, None for neither."""
    if parameter.kind not in _OPEN:
        return None
    if parameter.annotation in (Sample, "Sample") or parameter.name == SAMPLE:
        return SAMPLE
    return parameter.name if parameter.name in _FIELDS else None


def _value(sample: Sample, source: str) -> Any:
    if source == "question":
        return asked(sample)
    return sample if source == SAMPLE else getattr(sample, source)


def _check_options(signature: inspect.Signature, options: Mapping[str, Any]) -> None:
    kinds = [found.kind for found in signature.parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    for name in options:
        if name not in signature.parameters:
            raise TargetError(f"options: {unknown_name('parameter', name, signature.parameters)}")
