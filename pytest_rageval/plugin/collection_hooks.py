"""What the hooks of others say while a scenario is collected: metrics, samples, the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition
from pytest_rageval.model import Case, InvalidRow, Sample, ScenarioView
from pytest_rageval.plugin.hook_calls import (
    RUN_HOOKS,
    HookError,
    Implementation,
    implementations,
)
from pytest_rageval.registry import Registry


def known_metrics(hooks: Any, config: pytest.Config) -> Registry[MetricDefinition]:
    """Return the metrics that have a name, with those of ``pytest_rageval_metrics``.

    Raises HookError.
    """
    registry = METRIC_REGISTRY
    for one in implementations(hooks, "pytest_rageval_metrics", config):
        found = one.call(config=config)
        if found is not None:
            registry = _extended(registry, found, one)
    return registry


def _extended(
    known: Registry[MetricDefinition], found: object, giver: Implementation
) -> Registry[MetricDefinition]:
    # Not at the top: most runs have no such hook.
    from pytest_rageval.metrics.custom.define import define_metrics
    from pytest_rageval.metrics.custom.signature import CustomMetricError

    try:
        return known.extended(define_metrics(found, f"{giver.shown}: what it returned"))
    except CustomMetricError as error:
        raise HookError(str(error)) from error
    except ValueError as error:
        raise giver.refused(f"returned what cannot be added: {error}") from error


def with_changed_samples(plan: Plan, hooks: Any, config: pytest.Config) -> Plan:
    """Return the plan with the samples that ``pytest_rageval_samples`` leaves; raises HookError."""
    found = implementations(hooks, "pytest_rageval_samples", config)
    if not found:
        return plan
    view = ScenarioView.of(plan.info)
    given = samples = tuple(case for case in plan.cases if isinstance(case, Sample))
    remarks = []
    for one in found:
        said = one.call(config=config, scenario=view, samples=samples)
        changed = samples if said is None else tuple(one.listed(said))
        if changed != samples:
            _check(changed, one)
            remarks.append(
                f"{one.shown} changed samples: {len(samples)} before, {len(changed)} now"
            )
            samples = changed
    return plan if samples is given else _with_samples(plan, samples, remarks)


def _check(samples: Sequence[object], giver: Implementation) -> None:
    ids: Counter[str] = Counter()
    for sample in samples:
        if not isinstance(sample, Sample):
            raise giver.refused(f"returned {shorten(repr(sample))} among the samples: no Sample")
        ids[sample.id] += 1
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise giver.refused(f"returned two samples with the id {shorten(twice[0])!r}")
    if not samples:
        raise giver.refused("left no sample to run")


def _with_samples(plan: Plan, samples: Sequence[Sample], remarks: Sequence[str]) -> Plan:
    invalid = [case for case in plan.cases if isinstance(case, InvalidRow)]
    cases: list[Case] = [*samples, *invalid]
    if all(one.index < other.index for one, other in pairwise(samples)):
        cases.sort(key=lambda case: case.index)  # else the order is the hook's
    info = plan.info
    columns = [*info.metadata_columns, *(name for sample in samples for name in sample.metadata)]
    info = replace(
        info,
        total=len(cases),
        selected=len(cases),
        metadata_columns=tuple(dict.fromkeys(columns)),
        remarks=(*info.remarks, *remarks),
    )
    return replace(
        plan, info=info, cases=[replace(case, index=at) for at, case in enumerate(cases)]
    )


def with_run_hooks(plan: Plan, hooks: Any, config: pytest.Config) -> Plan:
    """Return the plan with the names of those whose hooks are to see its run; raises HookError."""
    found = [one for hook in RUN_HOOKS for one in implementations(hooks, hook, config)]
    if not found:
        return plan
    return replace(plan, info=replace(plan.info, hooks=tuple(one.shown for one in found)))


def target_of_hooks(view: ScenarioView, hooks: Any, config: pytest.Config) -> object | None:
    """Return what ``pytest_rageval_target`` says the system under test is, None when nothing.

    The first implementation that says something counts. Raises HookError.
    """
    for one in implementations(hooks, "pytest_rageval_target", config):
        found: object = one.call(config=config, scenario=view)
        if found is not None:
            if not callable(found):
                raise one.refused(f"returned {shorten(repr(found))}, which cannot be called")
            return found
    return None
