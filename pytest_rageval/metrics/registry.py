"""The registry of metrics, and the notation of their names, such as ndcg@10."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any

from msgspec import field

from pytest_rageval.metrics.base import MetricDefinition
from pytest_rageval.model import Value
from pytest_rageval.registry import Registry


def _adopt(loaded: Any, point: EntryPoint) -> Iterable[MetricDefinition]:
    """Return the metrics of an entry point; a bare function takes the entry's name."""
    # Imported here: most runs need no metric of another distribution.
    from pytest_rageval.metrics.custom.from_python import define_metric, define_metrics

    if isinstance(loaded, MetricDefinition | tuple):
        return define_metrics(loaded, f"entry point {point.name!r}")
    return [define_metric(loaded, point.name, point.value)]


METRIC_REGISTRY: Registry[MetricDefinition] = Registry(
    "metric", "pytest_rageval.metrics", "METRICS", group="pytest_rageval.metrics", adopt=_adopt
)


MAX_CUTOFF = 2**31 - 1
"""The largest cutoff that trec_eval can hold."""

_MAX_LENGTH = 200
_NAME = re.compile(r"(?P<base>[^@()]+)(?P<parameters>\([^@]*\))?(?:@(?P<cutoff>[^@]*))?")


class NotationError(ValueError):
    """A name with ``@`` or ``(`` that is not in the notation."""


class Notation(Value, frozen=True):
    """The parts of a metric's name; ``options`` holds the parameters, and ``k`` for the cutoff."""

    base: str
    options: Mapping[str, Any] = field(default_factory=dict)


def parse_notation(name: str) -> Notation:
    """Return the parts of ``name``; a plain name has no options.

    Raises NotationError for another form, and for a cutoff that is not a whole number >= 1: a
    cutoff of 0 aborts trec_eval, and with it the whole process.

    >>> parse_notation("P(rel=2)@5")
    Notation(base='P', options={'rel': 2, 'k': 5})
    """
    if "@" not in name and "(" not in name:
        return Notation(name)
    found = _NAME.fullmatch(name.strip()) if len(name) <= _MAX_LENGTH else None
    if found is None:
        raise NotationError("write it as 'ndcg@10' or 'precision(rel=2)@5'")
    options = _parameters(found["parameters"] or "()")
    if found["cutoff"] is not None:
        if "k" in options:
            raise NotationError("the cutoff is given twice: as parameter 'k' and after '@'")
        options["k"] = _cutoff(found["cutoff"])
    return Notation(found["base"].strip(), options)


def _cutoff(text: str) -> int:
    cutoff = int(text) if text.isascii() and text.isdecimal() else 0
    if not 1 <= cutoff <= MAX_CUTOFF:
        most = f" and <= {MAX_CUTOFF}" if cutoff > MAX_CUTOFF else ""
        raise NotationError(f"the cutoff must be a whole number >= 1{most}, found '@{text}'")
    return cutoff


def _parameters(text: str) -> dict[str, Any]:
    """Return the parameters in the parentheses, which are Python keyword arguments."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise NotationError(f"cannot read the parameters {text!r}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise NotationError(f"the parameters {text!r} must be written as (name=value)")
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in options:
            raise NotationError(f"the parameters {text!r} must have different names")
        try:
            options[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError as error:
            raise NotationError(
                f"the value of {keyword.arg!r} must be a literal, such as 2 or True"
            ) from error
    return options
