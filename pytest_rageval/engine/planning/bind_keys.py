"""Binds everything in a scenario but its data, for the plan and for the check of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.planning.bind_baselines import bind_comparison
from pytest_rageval.engine.planning.bind_bounds import (
    bind_thresholds,
    bind_weights,
    checks_in_full,
    resolve_gates,
)
from pytest_rageval.engine.planning.bind_metrics import bind_metrics
from pytest_rageval.engine.planning.binding import Binding, carried_over, resolve_metric
from pytest_rageval.engine.planning.snapshot import snapshot_text
from pytest_rageval.errors import unknown_name
from pytest_rageval.model import (
    BEST,
    CAUSE,
    WEIGHTED_SCORE,
    Bound,
    Contest,
    Diagnosis,
    Sample,
    ScenarioInfo,
)
from pytest_rageval.scenario.schema import BestSpec, Scenario
from pytest_rageval.scenario.variants import unknown_variant


def bind_keys(
    binding: Binding, path: str, nodeid: str = ""
) -> tuple[tuple[BoundMetric, ...], ScenarioInfo]:
    """Return the metrics of a scenario and what it says of itself; its gates are still unchecked.

    Until its data are known, every field that a gate names counts as one of theirs.
    """
    scenario = binding.scenario
    metrics = bind_weights(binding, bind_metrics(binding))
    thresholds = bind_thresholds(binding, metrics)
    if not scenario.thresholds and not scenario.gates:
        thresholds = checks_in_full(metrics)
    names = [metric.column.name for metric in metrics]
    info = carried_over(
        scenario,
        ScenarioInfo,
        path=path,
        nodeid=nodeid,
        metrics=tuple(metric.column for metric in metrics),
        thresholds=thresholds,
        gates=resolve_gates(binding, metrics),
        bands=(scenario.bands.good, scenario.bands.warn),
        tolerates_shortfalls=scenario.tolerate == "pass_rate",
        metadata_columns=_fields_of_gates(scenario),
        overridden=binding.loaded.overridden,
        overridden_by=binding.loaded.overridden_by,
        compare=bind_comparison(binding, names),
        metadata=binding.loaded.metadata,
        diagnose=bind_diagnosis(binding, metrics, thresholds),
        variant=binding.loaded.variant,
        # What these keys come to follows from the data and the gates.
        target="",
        human=(),
        stop=None,
        contest=bind_contest(binding, names),
    )
    return metrics, with_snapshot(info, scenario)


def _fields_of_gates(scenario: Scenario) -> tuple[str, ...]:
    by = scenario.gates.get("by")
    return tuple(key for key in by if not key.startswith("x-")) if isinstance(by, Mapping) else ()


def with_snapshot(info: ScenarioInfo, scenario: Scenario) -> ScenarioInfo:
    """Return ``info`` with the scenario as YAML text, and its SHA-256."""
    text = snapshot_text(scenario)
    return replace(info, snapshot=text, snapshot_sha256=hashlib.sha256(text.encode()).hexdigest())


def bind_contest(binding: Binding, metrics: Sequence[str]) -> Contest | None:
    """Return how the variants are compared; None where the scenario has none.

    ``metrics`` are the names of the metrics of this variant; unknown names are problems.
    """
    names = binding.loaded.variants
    if not names:
        return None
    spec = binding.scenario.best or BestSpec()
    known = [*metrics, WEIGHTED_SCORE]
    of = resolve_metric(spec.of, known, binding.known_metrics)
    if of is None and not binding.is_unmade(spec.of):
        binding.problem(f"best.of: {unknown_name('metric', spec.of, known)}", BEST, "of")
    if spec.at_least is not None and spec.at_least not in names:
        binding.problem(f"best.at_least: {unknown_variant(spec.at_least, names)}", BEST, "at_least")
    elif spec.at_least is not None and len(names) < 2:
        binding.problem("best: compares variants, and there is one only", BEST)
    return carried_over(spec, Contest, names=names, of=of or WEIGHTED_SCORE)


_SECTION: Final = "diagnose"
_OBVIOUS: Final = {"retrieval": "context_recall", "generation": "faithfulness"}


def bind_diagnosis(
    binding: Binding, metrics: Sequence[BoundMetric], thresholds: dict[str, Bound]
) -> Diagnosis | None:
    """Return the metrics that tell causes apart; None where the scenario asks for no causes."""
    spec = binding.scenario.diagnose
    if spec is None:
        return None
    known = {metric.column.name: metric for metric in metrics}
    found: dict[str, str | None] = {}
    for key, written in (("retrieval", spec.retrieval), ("generation", spec.generation)):
        name = resolve_metric(written or _OBVIOUS[key], list(known), binding.known_metrics)
        if name is not None:
            problem = _misfit(key, known[name], thresholds)
            if problem and written is not None:
                binding.problem(f"{_SECTION}.{key}: {problem}", _SECTION, key)
            name = None if problem else name
        elif written is not None and not binding.is_unmade(written):
            message = unknown_name("metric", written, list(known))
            binding.problem(f"{_SECTION}.{key}: {message}", _SECTION, key)
        found[key] = name
    return Diagnosis(found["retrieval"], found["generation"])


def _misfit(key: str, metric: BoundMetric, thresholds: dict[str, Bound]) -> str:
    """Return why a metric cannot tell what ``key`` is about, "" if it can."""
    name, needs = metric.column.name, metric.info.needs | metric.info.or_needs
    if key == "retrieval" and "answer" in needs:
        return f"{name!r} looks at the answer; name a metric of the contexts alone"
    if key == "generation" and needs and not {"answer", "contexts"} <= needs:
        return f"{name!r} does not compare the answer with the contexts; name one that does"
    if name not in thresholds and metric.column.middle is None:
        return f"{name!r} has no middle of its range to tell low scores by; give it a threshold"
    return ""


def check_diagnosed(
    binding: Binding, diagnosis: Diagnosis, dataset: Dataset, provided: frozenset[str]
) -> None:
    """Note what the data lack for causes to be found, or what stands in the way.

    ``provided`` are the fields that a system under test fills in later.
    """
    if CAUSE in dataset.metadata_columns:
        message = f"{dataset.shown} has a column {CAUSE!r}, as the causes are called; rename it"
        binding.problem(f"{_SECTION}: {message}", _SECTION)
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if diagnosis.retrieval is not None or not samples:
        return
    for fields in (("contexts",), ("references", "reference_contexts")):
        if provided.isdisjoint(fields) and not any(
            getattr(sample, field) for sample in samples for field in fields
        ):
            needed = " or ".join(map(repr, fields))
            binding.problem(
                f"{_SECTION}: needs {needed}, and no row of {dataset.shown} has any; name the "
                f"column in dataset.key_map, or a metric of the contexts in {_SECTION}.retrieval",
                _SECTION,
            )
