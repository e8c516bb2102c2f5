"""Calls the hooks that change a scenario during collection: its metrics, samples and target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.binding import ChangeSamples
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricDefinition
from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.model import Sample, ScenarioView
from pytest_rageval.plugin.hook_calls import (
    GATES,
    RUN_HOOKS,
    HookError,
    Implementation,
    implementations,
)
from pytest_rageval.registry import Registry


def known_metrics(hooks: Any, config: pytest.Config) -> Registry[MetricDefinition]:
    """Return the named metrics, including those of ``pytest_rageval_metrics``; raises HookError."""
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
    from pytest_rageval.metrics.custom.from_python import define_metrics
    from pytest_rageval.metrics.custom.signature import CustomMetricError

    try:
        return known.extended(define_metrics(found, f"{giver.shown}: what it returned"))
    except CustomMetricError as error:
        raise HookError(str(error)) from error
    except ValueError as error:
        raise giver.refused(f"returned what cannot be added: {error}") from error


def samples_of_hooks(hooks: Any, config: pytest.Config) -> ChangeSamples | None:
    """Return a function that applies ``pytest_rageval_samples``, or None without such hooks.

    The function raises HookError.
    """
    found = implementations(hooks, "pytest_rageval_samples", config)
    return partial(_changed, found, config) if found else None


def _changed(
    hooks: Sequence[Implementation],
    config: pytest.Config,
    view: ScenarioView,
    samples: tuple[Sample, ...],
) -> tuple[tuple[Sample, ...], list[str]]:
    remarks = []
    for one in hooks:
        said = one.call(config=config, scenario=view, samples=samples)
        changed = _checked(samples if said is None else one.listed(said), one)
        if _differ(changed, samples):
            remarks.append(
                f"{one.shown} changed samples: {len(samples)} before, {len(changed)} now"
            )
            samples = changed
    return samples, remarks


def _differ(changed: tuple[Sample, ...], samples: tuple[Sample, ...]) -> bool:
    try:
        return changed != samples
    except Exception:  # noqa: BLE001  (objects that a hook put into the metadata)
        return True


def _checked(given: Sequence[object], giver: Implementation) -> tuple[Sample, ...]:
    """Return the samples of a hook as plain values; raises HookError for invalid ones."""
    samples = tuple(_plain(sample, giver) for sample in given)
    ids = Counter(sample.id for sample in samples)
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise giver.refused(f"returned two samples with the id {shorten(twice[0])!r}")
    if not samples:
        raise giver.refused("left no samples to run")
    return samples


def _plain(given: object, giver: Implementation) -> Sample:
    # Not at the top: most runs have no such hook.
    from pytest_rageval.datasets.plain_sample import NoSampleError, plain_sample, shown

    if not isinstance(given, Sample):
        raise giver.refused(f"returned {shown(given)} among the samples: not a Sample")
    try:
        return plain_sample(given)
    except NoSampleError as error:
        raise giver.refused(f"returned {error}") from error


def with_run_hooks(plan: Plan, hooks: Any, config: pytest.Config) -> Plan:
    """Return the plan with the names of the run hooks that apply to it; raises HookError."""
    found = [one for hook in RUN_HOOKS for one in implementations(hooks, hook, config)]
    if not found:
        return plan
    info = replace(plan.info, hooks=tuple(one.shown for one in found))
    adds_gates = [shown for shown in info.hooks if shown.startswith(f"{GATES} of ")]
    if info.stop is not None and adds_gates:
        remark = f"stop: nothing stops early: the gates of {adds_gates[0]} need every sample"
        info = replace(info, stop=None, remarks=(*info.remarks, remark))
    return replace(plan, info=info)


def target_of_hooks(view: ScenarioView, hooks: Any, config: pytest.Config) -> object | None:
    """Return the first result of ``pytest_rageval_target`` that is not None; raises HookError."""
    for one in implementations(hooks, "pytest_rageval_target", config):
        found: object = one.call(config=config, scenario=view)
        if found is not None:
            if not callable(found):
                raise one.refused(f"returned {shorten(repr(found))}, which cannot be called")
            return found
    return None
