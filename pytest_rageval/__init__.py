"""Evaluations of retrieval-augmented generation as pytest tests: the names that others rely on.

Every name is loaded at its first use (PEP 562), so that importing the package costs a pytest start
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_rageval.engine.evaluate import evaluate
    from pytest_rageval.errors import RagevalError, UserError
    from pytest_rageval.model import Sample, SampleResult, ScenarioResult, Score
    from pytest_rageval.stats.weights import (
        compute_weighted_score,
        resolve_weight,
        weighted_metric_means,
    )

__version__ = "0.1.0"

__all__ = [
    "RagevalError",
    "Sample",
    "SampleResult",
    "ScenarioResult",
    "Score",
    "UserError",
    "__version__",
    "compute_weighted_score",
    "evaluate",
    "resolve_weight",
    "weighted_metric_means",
]

_HOMES = {
    "RagevalError": "errors",
    "UserError": "errors",
    "Sample": "model",
    "SampleResult": "model",
    "ScenarioResult": "model",
    "Score": "model",
    "compute_weighted_score": "stats.weights",
    "resolve_weight": "stats.weights",
    "weighted_metric_means": "stats.weights",
    "evaluate": "engine.evaluate",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
