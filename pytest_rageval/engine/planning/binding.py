"""A scenario while its names are bound: its lines, problems and metric names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field
from pydantic import BaseModel, ValidationError

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import GivenRows
from pytest_rageval.errors import Problem, unknown_name
from pytest_rageval.metrics.base import (
    METRIC_REGISTRY,
    MetricDefinition,
    NotationError,
    parse_notation,
)
from pytest_rageval.model import Sample, ScenarioView, title_of
from pytest_rageval.registry import Registry, UnknownNameError
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.loader import LoadedScenario
from pytest_rageval.scenario.schema import Scenario

T = TypeVar("T")

ChangeSamples = Callable[[ScenarioView, tuple[Sample, ...]], tuple[tuple[Sample, ...], list[str]]]
"""Returns the samples that are to run, and what the end of the run should say of that."""


def _unchanged(
    _: ScenarioView, samples: tuple[Sample, ...]
) -> tuple[tuple[Sample, ...], list[str]]:
    return samples, []


class Binding(Struct):
    """A scenario while its names are bound; collects everything that is wrong with it."""

    loaded: LoadedScenario
    run_paths: RunPaths = field(default_factory=lambda: RunPaths(Path.cwd()))
    run: RunSettings = field(default_factory=RunSettings)
    known_metrics: Registry[MetricDefinition] = METRIC_REGISTRY
    """The metrics that have a name, those of hooks included."""
    change_samples: ChangeSamples = _unchanged
    given: GivenRows | None = None
    """The rows of a scenario whose data Python code hands over."""
    problems: list[Problem] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    """What the end of the run should say, and is no mistake."""
    refusals: list[Problem] = field(default_factory=list)
    """What is wrong with the saved runs that it is to be compared with."""
    unlike: list[str] = field(default_factory=list)
    """What differs from the saved runs that it is compared with all the same."""
    kept_baselines: list[str] = field(default_factory=list)
    """What is wrong with the saved run that this run was to replace."""
    warnings: list[str] = field(default_factory=list)
    is_part: bool = False
    """Whether a hook has left samples out."""
    row_digests: dict[str, str] = field(default_factory=dict)
    """The digests of the answers as the data have them, if labels are in columns beside them."""

    @property
    def scenario(self) -> Scenario:
        """The scenario itself."""
        return self.loaded.scenario

    @property
    def title(self) -> str:
        """The name under which its runs are kept."""
        return title_of(self.scenario.name, self.loaded.variant)

    def problem(self, message: str, *path: str | int) -> None:
        """Note what is wrong with the value at ``path`` of the scenario."""
        self.problems.append(Problem(self.loaded.where(*path), message))

    def may_be_left_out(self, written: str) -> bool:
        """Return whether a name that no metric has may be that of one left out for its own problem.

        That problem is reported; a second one would mislead.
        """
        if "metrics" in self.loaded.positions or not self.scenario.metrics:
            # The whole list was refused: only its source tells what it names.
            listed = str(self.loaded.tree.data.get("metrics"))
            return written in listed or _known_label(written, self.known_metrics) is not None
        return bool(self.problems) and any(
            written in (spec.name, spec.metric, spec.attribute) for spec in self.scenario.metrics
        )

    def by_metric(
        self, section: str, values: Mapping[str, Any], names: Sequence[str]
    ) -> dict[str, Any]:
        """Return ``values`` under the names that the results use; unknown ones are problems.

        But not those that begin with ``x-``, nor those of metrics that are refused themselves.
        """
        resolved: dict[str, Any] = {}
        for written, value in values.items():
            name = resolve_metric(written, names, self.known_metrics)
            if name is None and (self.may_be_left_out(written) or written.startswith("x-")):
                continue
            if name is None:
                message = unknown_name("metric", written, names)
                if _known_label(written, self.known_metrics) is not None:
                    message = f"metric {written!r} is not among the scenario's metrics"
                self.problem(f"{section}: {message}", section, written)
            elif name in resolved:
                self.problem(f"{section}: {name!r} is named twice", section, written)
            else:
                resolved[name] = value
        return resolved


def carried_over(spec: BaseModel, into: Callable[..., T], **other: Any) -> T:
    """Return what ``into`` makes of the keys of ``spec`` that it has by the same names.

    ``other`` are its further arguments, and those that say something else than the key.
    """
    names = spec.__class__.model_fields.keys() & signature(into).parameters.keys()
    return into(**{name: getattr(spec, name) for name in names} | other)


def resolve_metric(
    written: str, names: Sequence[str], known: Registry[MetricDefinition]
) -> str | None:
    """Return the one of the scenario's ``names`` that a name or alias means, None without one."""
    if written in names:
        return written
    label = _known_label(written, known)
    return label if label in names else None


def metric_name(written: str, known: Registry[MetricDefinition]) -> str:
    """Return what results call a metric that is ``written`` so; other names as they are."""
    return _known_label(written, known) or written


def _known_label(written: str, known: Registry[MetricDefinition]) -> str | None:
    """Return what the results call the metric that is ``written`` so, None if there is none.

    That is its name where an alias is written, or that of a notation, as ``ndcg@10``.
    """
    canonical = known.canonical(written)
    if canonical is not None:
        return canonical
    try:
        notation = parse_notation(written)
        definition = known.get(notation.base)
        return definition.options.model_validate(notation.options).label(definition.name)
    except (NotationError, UnknownNameError, ValidationError):
        return None
