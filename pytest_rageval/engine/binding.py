"""What binding the parts of a scenario has in common: its lines, its problems, its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_rageval.errors import Problem, unknown_name
from pytest_rageval.metrics.base import METRIC_REGISTRY, Metric, MetricInfo
from pytest_rageval.model import MetricColumn
from pytest_rageval.scenario.loader import LoadedScenario
from pytest_rageval.scenario.schema import Scenario


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric of the scenario: what its scores are called, how it is measured, what it weighs."""

    column: MetricColumn
    info: MetricInfo
    metric: Metric
    position: int = 0


@dataclass
class Binding:
    """A scenario while its names are bound; collects everything that is wrong with it.

    ``is_sound`` says that its file had no problems before.
    """

    loaded: LoadedScenario
    is_sound: bool = True
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.loaded.scenario

    def problem(self, message: str, *path: str | int) -> None:
        """Note what is wrong with the value at ``path`` of the scenario."""
        self.problems.append(Problem(self.loaded.where(*path), message))

    def by_metric(
        self, section: str, values: Mapping[str, Any], names: Sequence[str]
    ) -> dict[str, Any]:
        """Return ``values`` under the names that the results use; unknown ones are problems."""
        resolved: dict[str, Any] = {}
        for written, value in values.items():
            name = resolve_metric(written, names)
            if name is None:
                message = unknown_name("metric", written, names)
                if METRIC_REGISTRY.canonical(written) is not None:
                    message = f"metric {written!r} is not among the scenario's metrics"
                self.problem(f"{section}: {message}", section, written)
            elif name in resolved:
                self.problem(f"{section}: {name!r} is named twice", section, written)
            else:
                resolved[name] = value
        return resolved


def resolve_metric(written: str, names: Sequence[str]) -> str | None:
    """Return which of the scenario's metric ``names`` is meant by a name or alias of a metric."""
    if written in names:
        return written
    canonical = METRIC_REGISTRY.canonical(written)
    return canonical if canonical in names else None
