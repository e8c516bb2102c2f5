"""Evaluations of retrieval-augmented generation as pytest tests: the names that others rely on.

Every name is loaded at its first use (PEP 562), so that importing the package costs a pytest start
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Message
    from pytest_rageval.clients.settings import RunSettings
    from pytest_rageval.errors import RagevalError, UserError
    from pytest_rageval.evaluation import evaluate
    from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, Models
    from pytest_rageval.metrics.custom.declared import metric
    from pytest_rageval.model import (
        GateResult,
        Sample,
        SampleResult,
        ScenarioResult,
        ScenarioView,
        Score,
    )
    from pytest_rageval.patching import patch_scenario
    from pytest_rageval.plugin.python_tests import Checker
    from pytest_rageval.scenario.schema import Scenario
    from pytest_rageval.stats.weights import (
        compute_weighted_score,
        resolve_weight,
        weighted_metric_means,
    )

__version__ = "0.1.0"

__all__ = [
    "Checker",
    "GateResult",
    "Message",
    "MetricDefinition",
    "MetricInfo",
    "Models",
    "RagevalError",
    "RunSettings",
    "Sample",
    "SampleResult",
    "Scenario",
    "ScenarioResult",
    "ScenarioView",
    "Score",
    "UserError",
    "__version__",
    "compute_weighted_score",
    "evaluate",
    "metric",
    "patch_scenario",
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
    "RunSettings": "clients.settings",
    "Scenario": "scenario.schema",
    "evaluate": "evaluation",
    "patch_scenario": "patching",
    "Checker": "plugin.python_tests",
    "GateResult": "model",
    "ScenarioView": "model",
    "MetricDefinition": "metrics.base",
    "MetricInfo": "metrics.base",
    "Models": "metrics.base",
    "Message": "clients.base",
    "metric": "metrics.custom.declared",
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
