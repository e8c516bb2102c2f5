"""The plain values that cross borders: between layers, between xdist processes, into files.

All are frozen dataclasses of JSON types. ``None`` as a score means unscored and is never a zero.
"""

from __future__ import annotations

from pytest_rageval.model.names import (
    BUDGET,
    EMPTY_ANSWER,
    MAX_GRADE,
    NOT_ASKED,
    PASSING,
    REPEATS,
    REPLAY,
    RETRIEVAL,
    TARGET,
    TOLERANCE,
    WEIGHTED_SCORE,
    Correction,
    GateOutcome,
    Outcome,
    TestName,
)
from pytest_rageval.model.plain import NOTHING, json_plain
from pytest_rageval.model.result import (
    Comparison,
    Counts,
    GateResult,
    MetricComparison,
    MetricSummary,
    RunInfo,
    SampleResult,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.model.sample import Case, InvalidRow, Sample, Score
from pytest_rageval.model.scenario import (
    Baseline,
    Bound,
    Comparing,
    MetricColumn,
    ScenarioInfo,
    ScenarioView,
    SignificanceTest,
)

__all__ = [
    "BUDGET",
    "EMPTY_ANSWER",
    "MAX_GRADE",
    "NOTHING",
    "NOT_ASKED",
    "PASSING",
    "REPEATS",
    "REPLAY",
    "RETRIEVAL",
    "TARGET",
    "TOLERANCE",
    "WEIGHTED_SCORE",
    "Baseline",
    "Bound",
    "Case",
    "Comparing",
    "Comparison",
    "Correction",
    "Counts",
    "GateOutcome",
    "GateResult",
    "InvalidRow",
    "MetricColumn",
    "MetricComparison",
    "MetricSummary",
    "Outcome",
    "RunInfo",
    "Sample",
    "SampleResult",
    "ScenarioInfo",
    "ScenarioResult",
    "ScenarioView",
    "Score",
    "SignificanceTest",
    "TestName",
    "WeightedSummary",
    "json_plain",
]
