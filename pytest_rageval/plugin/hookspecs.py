"""The hooks that a ``conftest.py`` or a plugin may implement; loaded at every start of pytest.

Each implementation is called separately; the last registered one comes first, as in pytest.
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
    """Return metrics for scenarios to use: functions, classes or MetricDefinitions.

    A list, or a mapping by name. Called for each scenario, before its file is read::

        def pytest_rageval_metrics(config):
            return {"politeness": politeness}
    """


def pytest_rageval_samples(
    config: pytest.Config, scenario: ScenarioView, samples: Sequence[Sample]
) -> Iterable[Sample] | None:
    """Return the samples to run, fewer or changed; None leaves them unchanged.

    Each implementation gets the result of the one before it. Ids must stay unique, one sample must
    be left, and with xdist every worker must get the same list. Invalid rows are not included, and
    always stay::

        def pytest_rageval_samples(config, scenario, samples):
            return [sample for sample in samples if sample.metadata.get("lang") != "de"]
    """


@pytest.hookspec(firstresult=True)
def pytest_rageval_target(config: pytest.Config, scenario: ScenarioView) -> object | None:
    """Return the system under test, a function of a sample; None leaves it to the next one.

    The first result that is not None takes the place of the scenario's own target::

        def pytest_rageval_target(config, scenario):
            return MyApp(scenario.metadata["tenant"]).answer
    """


def pytest_rageval_sample_scored(
    config: pytest.Config, scenario: ScenarioView, result: SampleResult
) -> None:
    """Receive the result of a sample once its outcome is known, in the main process only.

    If a plugin runs a sample again, the hook is called again::

        def pytest_rageval_sample_scored(config, scenario, result):
            log.info("%s %s: %s", scenario.name, result.sample_id, result.weighted_score)
    """


def pytest_rageval_gates(
    config: pytest.Config, scenario: ScenarioView, result: ScenarioResult
) -> Iterable[GateResult] | None:
    """Return additional gates, decided on the whole result; they count like the scenario's own.

    In a partial run they are skipped (strict: failed), whatever their outcome. They fail if samples
    were lost, or the budget is spent::

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
