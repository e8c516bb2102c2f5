"""Binding the names in a scenario to objects: metrics, weights, thresholds, gates, cases.

Every mistake of a name or a number is found here, before anything is scored, and all of them are
reported together.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.engine.marks import mark_cases
from pytest_rageval.engine.snapshot import snapshot_text
from pytest_rageval.errors import (
    MissingExtraError,
    Problem,
    ScenarioError,
    nearest,
    shorten,
    unknown_name,
)
from pytest_rageval.gates.base import GateOptionError, each_gate
from pytest_rageval.metrics.base import METRIC_REGISTRY, Metric, MetricDefinition, MetricInfo
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    Case,
    InvalidRow,
    MetricColumn,
    Sample,
    ScenarioInfo,
)
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.loader import LoadedScenario, by_line, inspect_scenario
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import MetricSpec, ThresholdSpec
from pytest_rageval.stats.weights import resolve_weight


@dataclass(frozen=True, slots=True)
class BoundMetric:
    """A metric of the scenario: what its scores are called, how it is measured, what it weighs."""

    column: MetricColumn
    info: MetricInfo
    metric: Metric
    position: int = 0


@dataclass(frozen=True)
class Plan:
    """A scenario ready to be scored. ``cases`` are in dataset order."""

    info: ScenarioInfo
    metrics: tuple[BoundMetric, ...]
    cases: Sequence[Case]
    doc_weights: Mapping[str, float]
    required: frozenset[str]
    """The names that a threshold or a gate asks about: unscored, they are an error."""
    on_invalid: str = "fail"
    tolerate_shortfalls: bool = False

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weights of the metrics, in their order."""
        return tuple(column.weight for column in self.info.metrics)

    @cached_property
    def scores_are_unit(self) -> bool:
        """Whether every score enters the weighted score as it is."""
        return all(
            column.range == (0.0, 1.0) and column.higher_is_better for column in self.info.metrics
        )


def make_plan(
    path: Path, overrides: Iterable[Override] = (), *, shown: str = "", nodeid: str = ""
) -> Plan:
    """Return the plan of the scenario in ``path``.

    ``shown`` is the file's name in messages and results. Raises ScenarioError with everything that
    is wrong with the scenario and its data.
    """
    loaded, problems = inspect_scenario(path, overrides, shown)
    if loaded is None:
        raise ScenarioError(problems)
    binder = _Binder(loaded, shown or str(path), nodeid, is_sound=not problems)
    plan = binder.bind()
    problems = sorted([*problems, *binder.problems], key=by_line)
    if problems or plan is None:
        raise ScenarioError(dict.fromkeys(problems))
    return plan


class _Binder:
    """Binds one scenario and collects what is wrong with it."""

    def __init__(self, loaded: LoadedScenario, shown: str, nodeid: str, is_sound: bool) -> None:
        self._loaded = loaded
        self._is_sound = is_sound
        self._scenario = loaded.scenario
        self._shown = shown
        self._nodeid = nodeid
        self.problems: list[Problem] = []
        self._warnings = list(loaded.warnings)

    def bind(self) -> Plan | None:
        """Return the plan; None when nothing can be made of the scenario, see ``problems``."""
        metrics = self._metrics()
        names = [metric.column.name for metric in metrics]
        weights = self._by_metric("metric_weights", self._scenario.metric_weights, names)
        metrics = tuple(_weighed(metric, weights) for metric in metrics)
        self._check_weights(weights, names)
        thresholds = self._thresholds(metrics)
        dataset = self._dataset()
        info = self._info(metrics, thresholds, dataset)
        required = frozenset(thresholds) | self._gated(info)
        self._warn_of_unused_models()
        if dataset is None:
            return None
        cases = self._cases(dataset, metrics)
        self._check_doc_weights(cases)
        return Plan(
            info=replace(
                info, total=len(cases), selected=len(cases), warnings=self._all_warnings()
            ),
            metrics=metrics,
            cases=cases,
            doc_weights=self._scenario.doc_weights,
            required=required,
            on_invalid=self._scenario.dataset.on_invalid,
            tolerate_shortfalls=self._scenario.tolerate == "pass_rate",
        )

    def _problem(self, message: str, *path: str | int) -> None:
        self.problems.append(Problem(self._loaded.where(*path), message))

    def _all_warnings(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f"{self._shown}: {warning}" for warning in self._warnings))

    # Metrics and their options

    def _metrics(self) -> tuple[BoundMetric, ...]:
        bound: dict[str, BoundMetric] = {}
        offered: set[str] = set()
        for number, spec in enumerate(self._scenario.metrics):
            at = self._loaded.position("metrics", number)
            try:
                definition = METRIC_REGISTRY.get(spec.metric)
            except UnknownNameError as error:
                self._problem(f"metrics[{at}]: {error}", "metrics", at)
                continue
            offered |= definition.options.model_fields.keys()
            made = self._metric(at, spec, definition)
            if made is None:
                continue
            if made.column.name in bound or made.column.name == WEIGHTED_SCORE:
                hint = "give it a name of its own, {name: ...}"
                taken = "is named twice" if made.column.name in bound else "is a reserved name"
                message = f"metrics[{at}]: {made.column.name!r} {taken}; {hint}"
                self._problem(message, "metrics", at)
                continue
            bound[made.column.name] = made
        for name in self._scenario.metric_options:
            if name not in offered:
                message = unknown_name("option", name, offered)
                self._problem(f"metric_options: {message}", "metric_options", name)
        return tuple(bound.values())

    def _metric(
        self, at: int, spec: MetricSpec, definition: MetricDefinition
    ) -> BoundMetric | None:
        info = definition.info
        known = definition.options.model_fields
        shared = {
            name: value
            for name, value in self._scenario.metric_options.items()
            if name in known and name not in spec.options
        }
        try:
            options = definition.options.model_validate({**shared, **spec.options})
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self._option_problem(at, spec, known, dict(detail))
            return None
        name = spec.name or info.name
        try:
            metric = definition.make(name, options)
        except MissingExtraError as error:
            self._problem(f"metrics[{at}]: {error}", "metrics", at)
            return None
        column = MetricColumn(
            name,
            range=info.range,
            higher_is_better=info.higher_is_better,
            version=info.version,
        )
        return BoundMetric(column, info, metric, at)

    def _option_problem(
        self, at: int, spec: MetricSpec, known: Iterable[str], detail: dict[str, Any]
    ) -> None:
        option = str(detail["loc"][0]) if detail["loc"] else ""
        if option in spec.options:
            place: tuple[str | int, ...] = ("metrics", at, spec.metric, option)
            label = f"metrics[{at}].{spec.metric}"
        else:
            place, label = ("metric_options", option), "metric_options"
        if detail["type"] == "extra_forbidden":
            message = f"{label}: {unknown_name('option', option, known)}"
        else:
            expected = detail.get("ctx", {}).get("expected") or detail["msg"]
            found = shorten(repr(detail["input"]))
            message = f"{label}.{option}: expected {expected}, found {found}"
        self._problem(message, *place)

    # Weights and thresholds

    def _by_metric(
        self, section: str, values: Mapping[str, Any], names: Sequence[str]
    ) -> dict[str, Any]:
        """Return ``values`` with the names that the results use; unknown ones are problems."""
        resolved: dict[str, Any] = {}
        for written, value in values.items():
            name = self._resolve(written, names)
            if name is None:
                message = unknown_name("metric", written, names)
                in_use = METRIC_REGISTRY.canonical(written)
                if in_use is not None:
                    message = f"metric {written!r} is not among the scenario's metrics"
                self._problem(f"{section}: {message}", section, written)
            elif name in resolved:
                self._problem(f"{section}: {name!r} is named twice", section, written)
            else:
                resolved[name] = value
        return resolved

    @staticmethod
    def _resolve(written: str, names: Sequence[str]) -> str | None:
        if written in names:
            return written
        canonical = METRIC_REGISTRY.canonical(written)
        return canonical if canonical in names else None

    def _check_weights(self, weights: Mapping[str, float], names: Sequence[str]) -> None:
        if not weights:
            return
        if names and all(resolve_weight(name, weights) == 0.0 for name in names):
            message = "metric_weights: all weights are 0; at least one metric must count"
            self._problem(message, "metric_weights")
        unnamed = [name for name in names if name not in weights]
        if unnamed:
            self._warnings.append(
                f"metric_weights names some metrics only; 1.0 is assumed for {', '.join(unnamed)}"
            )

    def _thresholds(self, metrics: Sequence[BoundMetric]) -> dict[str, Bound]:
        columns = {metric.column.name: metric.column for metric in metrics}
        columns[WEIGHTED_SCORE] = MetricColumn(WEIGHTED_SCORE)
        specs: dict[str, ThresholdSpec] = self._by_metric(
            "thresholds", self._scenario.thresholds, list(columns)
        )
        thresholds = {}
        for name, spec in specs.items():
            bound = _bound(spec, columns[name])
            thresholds[name] = bound
            low, high = columns[name].range
            for end in (bound.min, bound.max):
                if end is not None and not low <= end <= high:
                    message = f"thresholds.{name}: {end:g} is outside the range {low:g}..{high:g}"
                    self._problem(message, "thresholds", name)
        return thresholds

    # Gates

    def _gated(self, info: ScenarioInfo) -> frozenset[str]:
        """Check all gates and return the names of the metrics that some gate is about."""
        gated: set[str] = set()
        for made in each_gate(info.gates, info):
            if isinstance(made, GateOptionError):
                name = ".".join(("gates", *made.path))
                self._problem(f"{name}: {made}", "gates", *made.path)
            else:
                gated |= {found for gate in made if (found := _target(gate)) is not None}
        return frozenset(gated)

    # The data

    def _dataset(self) -> Dataset | None:
        spec = self._scenario.dataset
        if spec.rows == [] and not self._is_sound:
            return None  # what stands in for a data set that was refused
        row_lines = None
        if spec.rows is not None:
            lines = self._loaded.tree.lines
            prefix = ("dataset", "rows") if ("dataset", "rows") in lines else ("dataset",)
            row_lines = [lines.get((*prefix, at)) for at in range(len(spec.rows))]
        try:
            return load_dataset(
                spec, self._loaded.path.parent, self._loaded.where("dataset"), row_lines
            )
        except ScenarioError as error:
            self.problems += error.problems
        except MissingExtraError as error:
            self._problem(f"dataset: {error}", "dataset")
        return None

    def _cases(self, dataset: Dataset, metrics: Sequence[BoundMetric]) -> Sequence[Case]:
        self._check_columns(dataset, metrics)
        cases = [
            _checked(case, line, metrics)
            for case, line in zip(dataset.cases, dataset.lines, strict=True)
        ]
        invalid = [case for case in cases if isinstance(case, InvalidRow)]
        if invalid and len(invalid) == len(cases) and not self.problems:
            self.problems += _all_invalid(invalid, dataset.shown)
        fields = {"id", "doc_name", *dataset.metadata_columns}
        for section, specs in (("skip", self._scenario.skip), ("xfail", self._scenario.xfail)):
            for number, spec in enumerate(specs):
                at = self._loaded.position(section, number)
                for name in spec.where:
                    if name not in fields:
                        message = unknown_name("field", name, fields)
                        self._problem(f"{section}[{at}].where: {message}", section, at)
        return mark_cases(cases, self._scenario.skip, self._scenario.xfail)

    def _check_columns(self, dataset: Dataset, metrics: Sequence[BoundMetric]) -> None:
        samples = [case for case in dataset.cases if isinstance(case, Sample)]
        if not samples:
            return
        for metric in metrics:
            for need in sorted(metric.info.needs):
                if all(getattr(sample, need) is None for sample in samples):
                    lacking = _lacking(need, self._scenario.dataset.key_map, dataset)
                    message = f"metric {metric.column.name!r} needs {need!r}; {lacking}"
                    self._problem(message, "metrics", metric.position)

    def _check_doc_weights(self, cases: Sequence[Case]) -> None:
        weights = self._scenario.doc_weights
        if not weights:
            return
        names = [case.doc_name for case in cases if isinstance(case, Sample)]
        present = {unicodedata.normalize("NFC", name) for name in names if name is not None}
        unused = [name for name in weights if unicodedata.normalize("NFC", name) not in present]
        if unused:
            listed = ", ".join(shorten(name) for name in unused)
            self._warnings.append(f"doc_weights names documents that no row has: {listed}")
        if names and all(resolve_weight(name, weights) == 0.0 for name in names):
            message = "doc_weights: every row weighs 0; at least one document must count"
            self._problem(message, "doc_weights")

    def _warn_of_unused_models(self) -> None:
        for role in ("judge", "embedding"):
            if getattr(self._scenario, role) is not None:
                self._warnings.append(f"{role} is not used: no metric of this scenario asks it")

    def _info(
        self,
        metrics: Sequence[BoundMetric],
        thresholds: Mapping[str, Bound],
        dataset: Dataset | None,
    ) -> ScenarioInfo:
        scenario = self._scenario
        snapshot = snapshot_text(scenario)
        return ScenarioInfo(
            name=scenario.name,
            path=self._shown,
            nodeid=self._nodeid or self._shown,
            metrics=tuple(metric.column for metric in metrics),
            thresholds=thresholds,
            gates=self._resolved_gates([metric.column.name for metric in metrics]),
            bands=(scenario.bands.good, scenario.bands.warn),
            description=scenario.description,
            output_dir=scenario.output_dir,
            save_path=scenario.save_path,
            snapshot=snapshot,
            snapshot_sha256=hashlib.sha256(snapshot.encode("utf-8", "surrogatepass")).hexdigest(),
            dataset_sha256=dataset.sha256 if dataset else "",
            overridden=self._loaded.overridden,
            metadata_columns=dataset.metadata_columns if dataset else (),
        )

    def _resolve_gates(
        self, gates: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
    ) -> dict[str, Any]:
        """Return ``gates`` under the names that results use, also those inside of ``by``."""
        resolved: dict[str, Any] = {}
        for key, value in gates.items():
            name = self._resolve(key, names) or key
            if name in resolved:
                where = ".".join(("gates", *path))
                self._problem(f"{where}: {name!r} is named twice", "gates", *path, key)
            elif name == "by" and isinstance(value, Mapping):
                resolved[name] = {
                    field: self._resolve_gates(inner, names, (*path, key, field))
                    if isinstance(inner, Mapping)
                    else inner
                    for field, inner in value.items()
                }
            else:
                resolved[name] = value
        return resolved

    def _resolved_gates(self, names: Sequence[str]) -> dict[str, Any]:
        return self._resolve_gates(self._scenario.gates, names, ())


def _lacking(need: str, key_map: Mapping[str, str], dataset: Dataset) -> str:
    """Return what is the matter with a field that no valid row has."""
    sources = [key_map[need]] if need in key_map else FIELD_ALIASES.get(need, (need,))
    present = [column for column in sources if column in dataset.columns]
    if present:
        return f"no valid row of {dataset.shown} has anything in its column {present[0]!r}"
    guess = nearest(need, dataset.columns)
    hint = f"; did you mean the column {guess!r}?" if guess else ""
    columns = ", ".join(dataset.columns[:20])
    return f"{dataset.shown} has no such field (key_map?){hint} Columns: {columns}"


def _weighed(metric: BoundMetric, weights: Mapping[str, float]) -> BoundMetric:
    weight = weights.get(metric.column.name, 1.0)
    return replace(metric, column=replace(metric.column, weight=weight))


def _bound(spec: ThresholdSpec, column: MetricColumn) -> Bound:
    if spec.value is None:
        return Bound(spec.min, spec.max)
    return Bound(min=spec.value) if column.higher_is_better else Bound(max=spec.value)


def _target(gate: object) -> str | None:
    """Return the metric that a gate, or the one inside a slice gate, is about."""
    target: str | None = getattr(gate, "target", None)
    if target is None and hasattr(gate, "inner"):
        return _target(gate.inner)
    return target


def _checked(case: Case, line: int | None, metrics: Sequence[BoundMetric]) -> Case:
    """Return ``case``, or an invalid row when no metric has the fields that it needs."""
    if isinstance(case, InvalidRow) or not metrics:
        return case
    lacking = []
    for metric in metrics:
        missing = missing_fields(case, metric.info)
        if not missing:
            return case
        lacking.append(missing)
    fields = sorted({field for missing in lacking for field in missing})
    reason = f"no {' and no '.join(fields)}, without which no metric can score it"
    known = {
        name: value
        for name in ("question", "answer", "references", "doc_name")
        if (value := getattr(case, name)) is not None
    }
    return InvalidRow(case.id, case.index, case.row, line, reason, shorten(repr(known), 500))


def missing_fields(sample: Sample, info: MetricInfo) -> list[str]:
    """Return the fields that the metric needs and the sample lacks, sorted."""
    for need in info.needs:
        if getattr(sample, need) is None:
            return sorted(need for need in info.needs if getattr(sample, need) is None)
    return []


def _all_invalid(invalid: Sequence[InvalidRow], shown: str) -> Iterator[Problem]:
    yield Problem(shown, f"none of {len(invalid)} rows is valid")
    for row in invalid[:5]:
        yield Problem(f"{shown}:{row.line}" if row.line else f"{shown}: row {row.row}", row.reason)
