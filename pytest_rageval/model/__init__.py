"""The plain values that cross borders: between layers, between xdist processes, into files.

All are frozen dataclasses of JSON types. ``None`` as a score means unscored and is never a zero.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_rageval.model.names import (
    BEST,
    BUDGET,
    CAUSE,
    CAUSES,
    DOES_NOT_APPLY,
    EMPTY_ANSWER,
    MAX_GRADE,
    NOT_ASKED,
    PASSING,
    REPEATS,
    REPLAY,
    RETRIEVAL,
    SEPARATOR,
    TARGET,
    TOLERANCE,
    WEIGHTED_SCORE,
    Cause,
    Correction,
    GateOutcome,
    Outcome,
    TestName,
)
from pytest_rageval.model.plain import NOTHING, json_plain, plain_cell, value_text, wire_text
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
    Diagnosis,
    MetricColumn,
    ScenarioInfo,
    ScenarioView,
    SignificanceTest,
    title_of,
)

if TYPE_CHECKING:
    from pytest_rageval.model.labels import (
        CHOSEN,
        RANDOM,
        Agreement,
        Corrected,
        Disagreement,
        Draw,
        HumanLabels,
        Label,
        answer_digest,
    )
    from pytest_rageval.model.variants import (
        CauseChange,
        Contest,
        RankedVariant,
        Ranking,
        VariantPair,
    )

__all__ = [
    "BEST",
    "BUDGET",
    "CAUSE",
    "CAUSES",
    "CHOSEN",
    "DOES_NOT_APPLY",
    "EMPTY_ANSWER",
    "MAX_GRADE",
    "NOTHING",
    "NOT_ASKED",
    "PASSING",
    "RANDOM",
    "REPEATS",
    "REPLAY",
    "RETRIEVAL",
    "SEPARATOR",
    "TARGET",
    "TOLERANCE",
    "WEIGHTED_SCORE",
    "Agreement",
    "Baseline",
    "Bound",
    "Case",
    "Cause",
    "CauseChange",
    "Comparing",
    "Comparison",
    "Contest",
    "Corrected",
    "Correction",
    "Counts",
    "Diagnosis",
    "Disagreement",
    "Draw",
    "GateOutcome",
    "GateResult",
    "HumanLabels",
    "InvalidRow",
    "Label",
    "MetricColumn",
    "MetricComparison",
    "MetricSummary",
    "Outcome",
    "RankedVariant",
    "Ranking",
    "RunInfo",
    "Sample",
    "SampleResult",
    "ScenarioInfo",
    "ScenarioResult",
    "ScenarioView",
    "Score",
    "SignificanceTest",
    "TestName",
    "VariantPair",
    "WeightedSummary",
    "answer_digest",
    "json_plain",
    "plain_cell",
    "title_of",
    "value_text",
    "wire_text",
]


def __getattr__(name: str) -> Any:
    """Load labels and variants when they are asked for: most scenarios have neither."""
    for module in ("labels", "variants") if name in __all__ else ():
        found = import_module(f"{__name__}.{module}")
        if hasattr(found, name):
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
