"""Binding the names in a scenario to objects: metrics, weights, thresholds, gates, cases.

Every mistake of a name or a number is found here, before anything is scored, and all of them are
reported together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.datasets.save import columns_of
from pytest_rageval.engine.bind_baselines import bind_baselines, bind_comparison
from pytest_rageval.engine.bind_bounds import (
    bind_gates,
    bind_thresholds,
    bind_weights,
    resolve_gates,
)
from pytest_rageval.engine.bind_cases import bind_cases, bind_dataset
from pytest_rageval.engine.bind_metrics import bind_metrics
from pytest_rageval.engine.bind_models import bind_models
from pytest_rageval.engine.bind_samples import bind_samples
from pytest_rageval.engine.bind_target import bind_target
from pytest_rageval.engine.binding import Binding, BoundMetric, ChangeSamples, metric_name
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.snapshot import snapshot_text
from pytest_rageval.errors import BaselineError, ScenarioError
from pytest_rageval.metrics.base import MetricDefinition
from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.model import Bound, ScenarioInfo, ScenarioView, json_plain
from pytest_rageval.places import Places
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.loader import by_line, inspect_scenario, inspect_tree
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.yaml_tree import YamlTree
from pytest_rageval.targets.base import ANSWERED_FIELDS

GiveTarget = Callable[[ScenarioView], object | None]
"""Returns the function that answers in a scenario, None where the scenario says itself."""


def _nobody(_: ScenarioView) -> None:
    return None


def make_plan(  # noqa: PLR0913  (all but the path are options)
    path: Path,
    overrides: Iterable[Override] = (),
    *,
    shown: str = "",
    nodeid: str = "",
    places: Places | None = None,
    run: RunSettings | None = None,
    answers_given: bool = False,
    known_metrics: Registry[MetricDefinition] = METRIC_REGISTRY,
    give_target: GiveTarget = _nobody,
    change_samples: ChangeSamples | None = None,
    tree: YamlTree | None = None,
) -> Plan:
    """Return the plan of the scenario in ``path``, or in ``tree`` where it stands in no file.

    ``shown`` is the file's name in messages and results; ``known_metrics`` are those that have a
    name; ``give_target`` may return a function that takes the place of the scenario's target, and
    ``change_samples`` other samples than the data have. With
    ``answers_given`` somebody else asks the system under test, a test of the user's, and the
    target is left alone; how many runs there are, and what they are called, shows later, and so
    the plan is compared with nothing before it is ``named``. Raises ScenarioError with everything
    that is wrong with the scenario and its data; BaselineError when that is all right, and a run
    that it is to be compared with is not.
    """
    name_of = partial(metric_name, known=known_metrics)
    if tree is None:
        loaded, problems = inspect_scenario(path, overrides, shown, name_of)
    else:
        loaded, problems = inspect_tree(tree, path, overrides, name_of)
    if loaded is None:
        raise ScenarioError(problems)
    binding = Binding(
        loaded,
        is_sound=not problems,
        places=places or Places(Path.cwd()),
        run=run or RunSettings(),
        known_metrics=known_metrics,
        warnings=list(loaded.warnings),
    )
    if change_samples is not None:
        binding.change_samples = change_samples
    view = ScenarioView(loaded.scenario.name, shown or str(path), _own_keys(loaded.tree.data))
    given = None if answers_given else give_target(view)
    plan = _bind(binding, view, nodeid or view.path, given=given, answers_given=answers_given)
    if plan is not None and answers_given:
        binding.refusals.clear()
        plan = replace(plan, rename=partial(_named, binding))
    problems = sorted([*problems, *binding.problems], key=by_line)
    if problems or plan is None:
        raise ScenarioError(dict.fromkeys(problems))
    if binding.refusals:
        raise BaselineError(dict.fromkeys(binding.refusals))
    return plan


def _bind(
    binding: Binding, view: ScenarioView, nodeid: str, *, given: object, answers_given: bool
) -> Plan | None:
    """Return the plan; None when nothing can be made of the data, see the binding's problems."""
    scenario = binding.scenario
    metrics = bind_weights(binding, bind_metrics(binding))
    thresholds = bind_thresholds(binding, metrics)
    dataset = bind_dataset(binding)
    if dataset is not None:
        dataset = bind_samples(binding, dataset, view)
    columns = dataset.metadata_columns if dataset is not None else None
    target = None if answers_given else bind_target(binding, columns, given)
    # A target that cannot be bound is one problem, not one more for each field it would give.
    asks = answers_given or given is not None or binding.loaded.tree.has(("target",))
    provided = target.provides if target is not None else (ANSWERED_FIELDS if asks else frozenset())
    cases = bind_cases(binding, dataset, metrics, provided) if dataset is not None else ()
    info = replace(
        _info(binding, metrics, thresholds, dataset),
        path=view.path,
        nodeid=nodeid,
        target=target.shown if target is not None else "",
        total=len(cases),
        selected=len(cases),
    )
    plan = Plan(
        info=info,
        metrics=metrics,
        cases=cases,
        required=frozenset(thresholds),
        on_invalid=scenario.dataset.on_invalid,
        models=bind_models(binding, metrics),
        top_k=scenario.top_k,
        target=target,
        saved_columns=columns_of(scenario.dataset.key_map) if binding.places.answers else None,
    )
    plan = _with_gates(binding, plan, compares=dataset is not None and not answers_given)
    return plan if dataset is not None else None


def _info(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    thresholds: Mapping[str, Bound],
    dataset: Dataset | None,
) -> ScenarioInfo:
    """Return what the scenario and its data say of themselves."""
    scenario = binding.scenario
    snapshot = snapshot_text(scenario)
    return ScenarioInfo(
        name=scenario.name,
        path="",
        nodeid="",
        metrics=tuple(metric.column for metric in metrics),
        thresholds=thresholds,
        gates=resolve_gates(binding, metrics),
        bands=(scenario.bands.good, scenario.bands.warn),
        doc_weights=scenario.doc_weights,
        tolerates_shortfalls=scenario.tolerate == "pass_rate",
        description=scenario.description,
        output_dir=scenario.output_dir,
        save_path=scenario.save_path,
        snapshot=snapshot,
        snapshot_sha256=_sha256(snapshot),
        dataset_sha256=dataset.sha256 if dataset else "",
        judgements_sha256=dataset.judgements_sha256 if dataset else "",
        metadata_columns=dataset.metadata_columns if dataset else (),
        overridden=binding.loaded.overridden,
        compare=bind_comparison(binding, [metric.column.name for metric in metrics]),
        metadata=_own_keys(binding.loaded.tree.data),
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _named(binding: Binding, plan: Plan, name: str, nodeid: str) -> Plan:
    """Return a plan that was compared with nothing as that of a run called ``name``."""
    scenario = binding.scenario.model_copy(update={"name": name})
    loaded = replace(binding.loaded, scenario=scenario)
    own = replace(binding, loaded=loaded, problems=[], remarks=[], refusals=[], warnings=[])
    known, snapshot = plan.info, snapshot_text(scenario)
    info = replace(
        known, name=name, nodeid=nodeid, snapshot=snapshot, snapshot_sha256=_sha256(snapshot)
    )
    found = _with_gates(own, replace(plan, info=info), compares=True)
    if own.problems:
        raise ScenarioError(dict.fromkeys(own.problems))
    if own.refusals:
        raise BaselineError(dict.fromkeys(own.refusals))
    warnings = tuple(dict.fromkeys([*known.warnings, *found.info.warnings]))
    remarks = (*known.remarks, *found.info.remarks)
    return replace(found, info=replace(found.info, warnings=warnings, remarks=remarks), rename=None)


def _with_gates(binding: Binding, plan: Plan, *, compares: bool) -> Plan:
    """Return the plan with the runs it is compared with, its gates, and what was noticed."""
    info = plan.info
    if compares and not binding.problems:
        info = replace(info, baselines=bind_baselines(binding, plan))
    gated = bind_gates(binding, info)
    warnings = tuple(dict.fromkeys(f"{info.path}: {warning}" for warning in binding.warnings))
    info = replace(info, warnings=warnings, remarks=tuple(binding.remarks))
    return replace(plan, info=info, required=plan.required | gated)


def _own_keys(data: Mapping[object, object]) -> dict[str, object]:
    """Return what the user keeps in the file for other readers: hooks are told of it."""
    own = {str(key): value for key, value in data.items()}
    return {
        key.removeprefix("x-"): json_plain(value)
        for key, value in own.items()
        if key.startswith("x-")
    }
