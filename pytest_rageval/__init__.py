"""Evaluations of retrieval-augmented generation as pytest tests: the public names.

Each name is loaded at its first use (PEP 562), so importing the package hardly slows down pytest.
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
    from pytest_rageval.metrics.custom.declaration import metric
    from pytest_rageval.model import (
        GateResult,
        Sample,
        SampleResult,
        ScenarioResult,
        ScenarioView,
        Score,
    )
    from pytest_rageval.notebooks.frames import EvaluationResult
    from pytest_rageval.patching import patch_scenario
    from pytest_rageval.plugin.collect.python_tests import Checker
    from pytest_rageval.scenario.schema import Scenario
    from pytest_rageval.side_by_side import (
        VariantResults,
        compare_saved_runs,
        evaluate_variants,
    )
    from pytest_rageval.stats.weights import (
        compute_weighted_score,
        resolve_weight,
        weighted_metric_means,
    )

__version__ = "0.2.0"

__all__ = [
    "Checker",
    "EvaluationResult",
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
    "VariantResults",
    "__version__",
    "compare_saved_runs",
    "compute_weighted_score",
    "evaluate",
    "evaluate_variants",
    "metric",
    "patch_scenario",
    "resolve_weight",
    "weighted_metric_means",
]

_NAMES = {
    "clients.base": ("Message",),
    "clients.settings": ("RunSettings",),
    "errors": ("RagevalError", "UserError"),
    "evaluation": ("evaluate",),
    "metrics.base": ("MetricDefinition", "MetricInfo", "Models"),
    "metrics.custom.declaration": ("metric",),
    "model": ("GateResult", "Sample", "SampleResult", "ScenarioResult", "ScenarioView", "Score"),
    "notebooks.frames": ("EvaluationResult",),
    "patching": ("patch_scenario",),
    "plugin.collect.python_tests": ("Checker",),
    "scenario.schema": ("Scenario",),
    "side_by_side": ("VariantResults", "compare_saved_runs", "evaluate_variants"),
    "stats.weights": ("compute_weighted_score", "resolve_weight", "weighted_metric_means"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
