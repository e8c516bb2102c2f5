"""Binds weights, thresholds, gates, variants and causes.

``bind_groups`` and ``check_diagnosed`` also look at the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.planning.bind_metrics import bind_metrics
from pytest_rageval.engine.planning.binding import Binding, carried_over, resolve_metric
from pytest_rageval.engine.planning.snapshot import snapshot_text
from pytest_rageval.errors import Problem, did_you_mean, shorten, unknown_name
from pytest_rageval.gates.base import (
    BaselineOptionError,
    GateOptionError,
    NoThresholdsError,
    each_gate,
    scenario_gate,
    targets_of,
)
from pytest_rageval.model import (
    BEST,
    CAUSE,
    WEIGHTED_SCORE,
    Bound,
    Case,
    Comparing,
    Contest,
    Diagnosis,
    MetricColumn,
    Sample,
    ScenarioInfo,
)
from pytest_rageval.scenario.fields import CHECK_FIELDS
from pytest_rageval.scenario.loader import inspect_tree
from pytest_rageval.scenario.schema import BestSpec, Scenario
from pytest_rageval.scenario.spec import BoundSpec, without_own_keys
from pytest_rageval.scenario.variants import unknown_variant, variant_names
from pytest_rageval.scenario.yaml.tree import YamlTree
from pytest_rageval.stats.verdict import judging
from pytest_rageval.stats.weights import resolve_weight, ungrouped


def bind_weights(binding: Binding, metrics: Sequence[BoundMetric]) -> tuple[BoundMetric, ...]:
    """Return the metrics with the weights of the scenario, 1.0 where it gives none.

    A column without a closed range, and a neutral metric, then have 0.0.
    """
    names = [metric.column.name for metric in metrics]
    weights = binding.by_metric("metric_weights", binding.scenario.metric_weights, names)
    open_ended = [name for name, metric in zip(names, metrics, strict=True) if _is_open(metric)]
    neutral = [metric.column.name for metric in metrics if metric.info.is_neutral]
    unweighed = {**dict.fromkeys(open_ended, _OPEN), **dict.fromkeys(neutral, _NEUTRAL)}
    _check_weights(binding, weights, names, unweighed, open_ended)
    defaults = {**dict.fromkeys(names, 1.0), **dict.fromkeys(unweighed, 0.0)}
    return tuple(_weighed(metric, {**defaults, **weights}) for metric in metrics)


_OPEN: Final = "has no closed range; write both ends, such as range: [0, 10]"
_NEUTRAL: Final = "is neither better high nor better low; write its weight under metric_weights"


def _is_open(metric: BoundMetric) -> bool:
    """Return whether the metric is a column of the data and its range lacks an end."""
    return bool(metric.info.column) and metric.column.middle is None


def _check_weights(
    binding: Binding,
    weights: Mapping[str, float],
    names: Sequence[str],
    unweighed: Mapping[str, str],
    open_ended: Sequence[str],
) -> None:
    for name in unweighed:
        if name in open_ended and weights.get(name):
            message = (
                f"metric_weights.{name}: a column without a closed range has no part in "
                "weighted_score; write both ends, such as range: [0, 10], or the weight 0"
            )
            binding.problem(message, "metric_weights", name)
    left = [name for name in names if name not in unweighed or name in weights]
    if names and not left and not binding.problems:
        first = names[0]
        message = (
            f"metrics: nothing makes a weighted_score, for {first!r} {unweighed[first]}, or add a "
            "metric such as em"
        )
        binding.problem(message, "metrics")
    if not weights:
        return
    if left and all(resolve_weight(weights, name) == 0.0 for name in left):
        message = "metric_weights: all weights are 0; at least one metric must count"
        binding.problem(message, "metric_weights")
    unnamed = [name for name in left if name not in weights]
    if unnamed:
        binding.warnings.append(
            f"metric_weights names some metrics only; 1.0 is assumed for {', '.join(unnamed)}"
        )


def _weighed(metric: BoundMetric, weights: Mapping[str, float]) -> BoundMetric:
    weight = weights[metric.column.name]
    return replace(metric, column=replace(metric.column, weight=weight))


def bind_thresholds(binding: Binding, metrics: Sequence[BoundMetric]) -> dict[str, Bound]:
    """Return the bound of each name with a threshold; one outside the range is a problem."""
    columns = {metric.column.name: metric.column for metric in metrics}
    columns[WEIGHTED_SCORE] = MetricColumn(WEIGHTED_SCORE)
    of_nuggets = {m.column.name for m in metrics if "nuggets" in m.info.of_row}
    specs: dict[str, BoundSpec] = binding.by_metric(
        "thresholds", binding.scenario.thresholds, list(columns)
    )
    thresholds = {}
    for name, spec in specs.items():
        column = columns[name]
        if name in of_nuggets:
            binding.warnings.append(
                f"thresholds.{name}: a judge and people agree on nuggets by run, not reliably by "
                f"row; write a gate on the mean, 'gates: {{{name}: ...}}'"
            )
        try:
            bound = spec.within(column.range, higher_is_better=column.higher_is_better)
            thresholds[name] = bound
        except ValueError as error:
            binding.problem(f"thresholds.{name}: {error}", "thresholds", name)
    return thresholds


def checks_in_full(metrics: Sequence[BoundMetric]) -> dict[str, Bound]:
    """Return a bound of 1.0 for each metric that checks what its own row demands."""
    checks = frozenset(CHECK_FIELDS)
    return {metric.column.name: Bound(min=1.0) for metric in metrics if metric.info.of_row & checks}


def resolve_gates(binding: Binding, metrics: Sequence[BoundMetric]) -> dict[str, Any]:
    """Return the scenario's gates under the names that results use, also those inside of ``by``."""
    names = [metric.column.name for metric in metrics]
    return _resolve_gates(binding, binding.scenario.gates, names, ())


def _resolve_gates(
    binding: Binding, gates: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
) -> dict[str, Any]:
    resolved: dict[str, Any] = {}
    for key, value in gates.items():
        name = _metric_or(key, binding, names)
        if key.startswith("x-") and name not in names:
            continue  # the user's own, as everywhere
        kind = None if name in names else scenario_gate(name)
        if name in resolved:
            _named_twice(binding, name, (*path, key))
        elif kind is None or not isinstance(value, Mapping):
            resolved[name] = value
        elif kind.keys == "fields":
            resolved[name] = _resolve_fields(binding, value, names, (*path, key))
        elif kind.keys == "metrics":
            resolved[name] = _renamed_keys(binding, value, names, (*path, key))
        else:
            resolved[name] = _with_metric_names(binding, value, names)
    return resolved


def _resolve_fields(
    binding: Binding, fields: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
) -> dict[str, Any]:
    return {
        field: _resolve_gates(binding, gates, names, (*path, field))
        if isinstance(gates, Mapping)
        else gates
        for field, gates in fields.items()
    }


def _metric_or(written: str, binding: Binding, names: Sequence[str]) -> str:
    """Return the name that results use for a metric; other names as written."""
    if written == WEIGHTED_SCORE or scenario_gate(written) is not None:
        # Looking further than the scenario's own metrics would load all of them.
        found = binding.known_metrics.loaded(written)
        return found if found is not None and found in names else written
    return resolve_metric(written, names, binding.known_metrics) or written


def _named_twice(binding: Binding, name: str, path: tuple[str, ...]) -> None:
    binding.problem(f"{'.'.join(('gates', *path[:-1]))}: {name!r} is named twice", "gates", *path)


def _renamed_keys(
    binding: Binding, values: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
) -> dict[str, Any]:
    """Return the values as ``binding.by_metric`` does, but with unknown names as written."""
    resolved: dict[str, Any] = {}
    for written, value in values.items():
        name = _metric_or(written, binding, names)
        if name in resolved:
            _named_twice(binding, name, (*path, written))
        elif name in names or not written.startswith("x-"):
            resolved[name] = value
    return resolved


def _with_metric_names(
    binding: Binding, options: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    metrics = options.get("metrics")
    if not isinstance(metrics, list):
        return dict(options)
    return {**options, "metrics": [_metric_or(str(name), binding, names) for name in metrics]}


def bind_groups(binding: Binding, info: ScenarioInfo, cases: Sequence[Case]) -> None:
    """Check the field of ``group_by``, and say how many rows lack it."""
    name = info.group_by
    if name is None:
        return
    has_documents = any(case.doc_name for case in cases if isinstance(case, Sample))
    known = (*("doc_name",) * has_documents, *info.metadata_columns)
    lacking = ungrouped(name, cases)
    if name not in known or (cases and lacking == len(cases)):
        hint = f"{did_you_mean(name, known)} Known: {', '.join(known) or 'none'}"
        message = f"group_by: no row has a field {shorten(name)!r}.{hint}"
        binding.problem(message, "group_by")
    elif lacking:
        rows = f"{lacking} of {len(cases)} rows have no {name!r}"
        binding.remarks.append(f"{rows}: each is a group of its own (group_by)")


def bind_gates(binding: Binding, info: ScenarioInfo) -> frozenset[str]:
    """Check all gates and return the names of the metrics that some gate is about."""
    gated: set[str] = set()
    for made in each_gate(info.gates, info):
        if isinstance(made, GateOptionError):
            if _follows(binding, info, made):
                continue
            name = ".".join(("gates", *made.path))
            problem = Problem(binding.loaded.where("gates", *made.path), f"{name}: {made}")
            is_refusal = isinstance(made, BaselineOptionError)
            (binding.refusals if is_refusal else binding.problems).append(problem)
        else:
            gated.update(*(gate.targets for gate in made))
    return frozenset(gated)


def warn_of_utilization_alone(
    binding: Binding, metrics: Sequence[BoundMetric], gated: Collection[str]
) -> None:
    """Warn where a gate bounds claim_utilization and none bounds context_claim_recall."""
    of_gates = {metric.info.name for metric in metrics if metric.column.name in gated}
    if "claim_utilization" in of_gates and "context_claim_recall" not in of_gates:
        binding.warnings.append(
            "gates: claim_utilization alone can rise when contexts are lost, for it is a share of "
            "what they have; bound context_claim_recall, too"
        )


def _follows(binding: Binding, info: ScenarioInfo, error: GateOptionError) -> bool:
    """Return whether a problem of a gate follows from another one, which is reported."""
    if isinstance(error, NoThresholdsError):
        return bool(without_own_keys(binding.loaded.tree.data.get("thresholds")))
    known = targets_of(info)
    return any(step not in known and binding.may_be_left_out(step) for step in error.path)


def bind_keys(
    binding: Binding, path: str, nodeid: str = ""
) -> tuple[tuple[BoundMetric, ...], ScenarioInfo]:
    """Return the metrics of a scenario and what it says of itself; its gates are still unchecked.

    Before the data are read, fields in ``by`` are taken to exist.
    """
    scenario = binding.scenario
    metrics = bind_weights(binding, bind_metrics(binding))
    thresholds = bind_thresholds(binding, metrics)
    names = [metric.column.name for metric in metrics]
    gates = resolve_gates(binding, metrics)
    given = {*scenario.thresholds, *judging(gates)}
    if given.isdisjoint(names) and not without_own_keys(dict.fromkeys(given)):
        thresholds = checks_in_full(metrics)  # nothing else would judge an answer
    info = carried_over(
        scenario,
        ScenarioInfo,
        path=path,
        nodeid=nodeid,
        metrics=tuple(metric.column for metric in metrics),
        thresholds=thresholds,
        gates=gates,
        bands=(scenario.bands.good, scenario.bands.warn),
        tolerates_shortfalls=scenario.tolerate == "pass_rate" and binding.run.expects_failures,
        expects_failures=binding.run.expects_failures,
        metadata_columns=_fields_of_gates(scenario),
        overridden=binding.loaded.overridden,
        overridden_by=binding.loaded.overridden_by,
        compare=_comparisons(binding, names),
        pinned=_pinned(binding),
        sample=None,  # how many rows are drawn is known once they are read
        metadata=binding.loaded.metadata,
        diagnose=bind_diagnosis(binding, metrics, thresholds),
        variant=binding.loaded.variant,
        # These three are set later: by the target, the labels and the gates.
        target="",
        human=(),
        stop=None,
        contest=bind_contest(binding, names),
        repeated=_repeated(scenario, metrics),
    )
    return metrics, with_snapshot(info, scenario)


def _repeated(scenario: Scenario, metrics: Sequence[BoundMetric]) -> tuple[str, ...]:
    """Return the metrics that a judge scores several times for each answer.

    Metrics that fill holes are not among them: of repeated grades the middle one is kept.
    """
    if scenario.judge is None or scenario.judge.repeats < 2:
        return ()
    asking = (one for one in metrics if "judge" in one.info.asks and not one.info.fills)
    return tuple(metric.column.name for metric in asking)


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
    if of is None and not binding.may_be_left_out(spec.of):
        binding.problem(f"best.of: {unknown_name('metric', spec.of, known)}", BEST, "of")
    if spec.at_least is not None and spec.at_least not in names:
        binding.problem(f"best.at_least: {unknown_variant(spec.at_least, names)}", BEST, "at_least")
    elif spec.at_least is not None and len(names) < 2:
        binding.problem("best: compares variants, and there is one only", BEST)
    return carried_over(spec, Contest, names=names, of=of or WEIGHTED_SCORE)


_DIAGNOSE: Final = "diagnose"
_DEFAULT_METRICS: Final = {"retrieval": "context_recall", "generation": "faithfulness"}


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
        name = resolve_metric(written or _DEFAULT_METRICS[key], list(known), binding.known_metrics)
        if name is not None:
            problem = _misfit(key, known[name], thresholds)
            if problem and written is not None:
                binding.problem(f"{_DIAGNOSE}.{key}: {problem}", _DIAGNOSE, key)
            name = None if problem else name
        elif written is not None and not binding.may_be_left_out(written):
            message = unknown_name("metric", written, list(known))
            binding.problem(f"{_DIAGNOSE}.{key}: {message}", _DIAGNOSE, key)
        found[key] = name
    return Diagnosis(found["retrieval"], found["generation"])


def _misfit(key: str, metric: BoundMetric, thresholds: dict[str, Bound]) -> str:
    """Return why low scores of a metric do not show the cause ``key``, "" if they do."""
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
    """Note as problems what the data lack for causes to be found, and a column in the way.

    Without a metric for ``retrieval``, contexts are compared with what was expected.
    ``provided`` are the fields that a system under test fills in later.
    """
    if CAUSE in dataset.metadata_columns:
        message = f"{dataset.shown} has a column {CAUSE!r}, as the causes are called; rename it"
        binding.problem(f"{_DIAGNOSE}: {message}", _DIAGNOSE)
    samples = [case for case in dataset.cases if isinstance(case, Sample)]
    if diagnosis.retrieval is not None or not samples:
        return
    for fields in (("contexts",), ("references", "reference_contexts")):
        sought = (*fields, *(("nuggets",) if "references" in fields else ()))
        if provided.isdisjoint(fields) and not any(
            getattr(sample, field) for sample in samples for field in sought
        ):
            needed = " or ".join(map(repr, sought))
            binding.problem(
                f"{_DIAGNOSE}: needs {needed}, and no row of {dataset.shown} has any; name the "
                f"column in dataset.key_map, or a metric of the contexts in {_DIAGNOSE}.retrieval",
                _DIAGNOSE,
            )


def _pinned(binding: Binding) -> tuple[str, ...]:
    """Return the runs that ``--rag-save`` must not replace, those with several looks included."""
    runs = (run.name for run in binding.scenario.compare or () if run.looks > 1)
    return tuple(dict.fromkeys([*binding.loaded.pinned, *runs]))


def _comparisons(binding: Binding, names: Sequence[str]) -> tuple[Comparing, ...]:
    if not binding.scenario.compare:
        return ()
    # Not at the top: most scenarios are compared with nothing.
    from pytest_rageval.engine.planning.bind_comparisons import bind_comparisons

    return bind_comparisons(binding, names)


def find_problems(tree: YamlTree, path: Path) -> list[Problem]:
    """Return the problems of keys, metrics, weights, thresholds and gates, in every variant."""
    found: list[Problem] = []
    for variant in variant_names(tree.data) or ("",):
        loaded, problems = inspect_tree(deepcopy(tree), path, variant=variant)
        binding = Binding(loaded)
        _, info = bind_keys(binding, tree.source)
        bind_gates(binding, info)
        found += [*problems, *binding.problems]
    return list(dict.fromkeys(found))
