"""[U6] What the first sample would wait for is done before its time begins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.warm_up import warm_up
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, MetricInfo
from pytest_rageval.model import Score


def test_a_metric_of_the_user_sees_the_samples_alone(
    plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[U6] Nothing is tried out with it: what it does may count, or cost."""
    seen: list[str] = []

    class Witness:
        def __init__(self, *_: object) -> None: ...

        def score(self, sample: object, _: object) -> Score:
            seen.append(str(sample))
            return Score("witness", 1.0)

    entries = {entry.name: entry for entry in METRIC_REGISTRY}
    monkeypatch.setattr(METRIC_REGISTRY, "_entries", entries)
    monkeypatch.setattr(METRIC_REGISTRY, "_aliases", dict(METRIC_REGISTRY._aliases))
    METRIC_REGISTRY.add(MetricDefinition(MetricInfo("witness", frozenset({"answer"})), Witness))
    made = plan("name: s\nmetrics: [witness, em]\ndataset: [{answer: x, references: [x]}]\n")
    warm_up(made, made.cases[0])
    assert seen == []
