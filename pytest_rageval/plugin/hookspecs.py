"""The hooks that a ``conftest.py`` or a plugin may implement; pytest reads this at every start.

Each implementation is called on its own, the one that was registered last first, as pytest does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_rageval.metrics.base import MetricDefinition
    from pytest_rageval.model import (
        GateResult,
        Sample,
        SampleResult,
        ScenarioResult,
        ScenarioView,
    )


def pytest_rageval_metrics(
    config: pytest.Config,
) -> Iterable[object] | Mapping[str, object] | MetricDefinition | None:
    """Return metrics that scenarios can name: functions, classes, MetricDefinitions.

    A list, or a mapping from their names. Called for each scenario, before it is read::

        def pytest_rageval_metrics(config):
            return {"politeness": politeness}
    """


def pytest_rageval_samples(
    config: pytest.Config, scenario: ScenarioView, samples: Sequence[Sample]
) -> Iterable[Sample] | None:
    """Return the samples that are to run, fewer or changed; None leaves them as they are.

    Each implementation gets what the one before it returned. Ids must stay unique, and with xdist
    every worker must come to the same list. Invalid rows are not among them, and stay::

        def pytest_rageval_samples(config, scenario, samples):
            return [sample for sample in samples if sample.metadata.get("lang") != "de"]
    """


@pytest.hookspec(firstresult=True)
def pytest_rageval_target(config: pytest.Config, scenario: ScenarioView) -> object | None:
    """Return the system under test, as a function of a sample; None leaves the scenario's own.

    The first one that is not None counts::

        def pytest_rageval_target(config, scenario):
            return MyApp(scenario.metadata["tenant"]).answer
    """


def pytest_rageval_sample_scored(
    config: pytest.Config, scenario: ScenarioView, result: SampleResult
) -> None:
    """Look at the result of a sample, once its outcome is known; in the main process alone.

    A sample that is run again, by a plugin that does so, comes again::

        def pytest_rageval_sample_scored(config, scenario, result):
            log.info("%s %s: %s", scenario.name, result.sample_id, result.weighted_score)
    """


def pytest_rageval_gates(
    config: pytest.Config, scenario: ScenarioView, result: ScenarioResult
) -> Iterable[GateResult] | None:
    """Return more gates, decided on the whole result; they are outcomes as the scenario's own.

    In a run of a part of the samples they are skipped, whatever they say::

        def pytest_rageval_gates(config, scenario, result):
            slow = max(sample.latency_s for sample in result.samples)
            verdict = "passed" if slow < 2.0 else "failed"
            return [GateResult("latency", verdict, slow, 2.0, f"slowest {slow:.1f} s, at most 2 s")]
    """


def pytest_rageval_summary(
    config: pytest.Config, scenario: ScenarioView, result: ScenarioResult
) -> str | Iterable[str] | None:
    """Return lines to print below the scenario's table.

    One text, or a list of them::

        def pytest_rageval_summary(config, scenario, result):
            return f"dashboard: https://rag.example/{scenario.name}"
    """
