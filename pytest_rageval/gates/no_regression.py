"""The gates ``no_regression`` and ``compare_fail``: read from a scenario, bound to a saved run.

``compare_fail`` is the short form, and what ``--rag-compare-fail METRIC:DROP`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.errors import unknown_name
from pytest_rageval.gates.base import (
    BaselineOptionError,
    Gate,
    GateKind,
    GateOptionError,
    mapping_schema,
    targets_of,
)
from pytest_rageval.gates.corrected_regression import corrected_gate
from pytest_rageval.gates.regression import RegressionGate, UndecidedGate
from pytest_rageval.gates.regression_options import (
    REGRESSION_KEYS,
    RegressionOptions,
    baseline_name,
    drop_of,
    read_options,
    test_of,
)
from pytest_rageval.model import WEIGHTED_SCORE, Baseline, ScenarioInfo, value_text


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    if not isinstance(options, Mapping):
        raise GateOptionError(path, "expected a mapping, for instance {baseline: main}")
    return [_gate("no_regression", options, path, info)]


def _make_short(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    if not isinstance(options, Mapping) or not options:
        raise GateOptionError(path, "expected a mapping, for instance {f1: 0.02}")
    gates: list[Gate] = []
    for metric, value in options.items():
        given = dict(value) if isinstance(value, Mapping) else {"max_drop": value}
        given["metrics"] = [metric]
        gates.append(_gate(f"compare_fail.{metric}", given, (*path, metric), info))
    return gates


def _gate(name: str, plain: Mapping[str, Any], path: tuple[str, ...], info: ScenarioInfo) -> Gate:
    options = read_options(plain, path)
    columns = targets_of(info)
    for metric in options.metrics:
        if metric not in columns:
            raise GateOptionError(path, unknown_name("metric", metric, columns))
    _check_ranges(options, path, info)
    wanted = baseline_name(options, path, info)
    baseline = info.baselines.get(wanted)
    if baseline is None:
        return UndecidedGate(name, wanted, tuple(options.metrics))
    lacking = [metric for metric in options.metrics if metric not in baseline.scores]
    if lacking:
        has = ", ".join(sorted(baseline.scores)) or "none of them"
        named = ", ".join(lacking) + _why_unweighed(lacking, baseline, info)
        message = f"the baseline {baseline.name!r} has no {named}; it has: {has}"
        raise BaselineOptionError(path, message)
    max_drop, relative = drop_of(options.max_drop) or (0.0, False)
    gate = RegressionGate(
        name,
        baseline,
        {metric: columns[metric].higher_is_better for metric in options.metrics},
        max_drop,
        relative,
        options.mode,
        test_of(options, info),
        {metric: _span(metric, info) for metric in options.metrics},
        options.min_pairs,
        options.undecided,
    )
    return corrected_gate(gate, path, info) if options.corrected else gate


def _span(metric: str, info: ScenarioInfo) -> float:
    """Return the width of a metric's range, which may be infinite."""
    low, high = info.weighted_range if metric == WEIGHTED_SCORE else targets_of(info)[metric].range
    return high - low


def _check_ranges(options: RegressionOptions, path: tuple[str, ...], info: ScenarioInfo) -> None:
    drop, relative = drop_of(options.max_drop) or (0.0, False)
    for metric in options.metrics:
        span = _span(metric, info)
        if options.mode == "non_inferior" and math.isinf(span):
            message = (
                f"mode 'non_inferior' needs the range of a metric, and {metric} is unbounded; "
                "declare its 'range', or take mode 'significant' or 'exceeds'"
            )
            raise GateOptionError((*path, "mode"), message)
        if not relative and 0.0 < drop >= span:  # such a gate would pass whatever happens
            message = (
                f"max_drop {value_text(drop)} can never be exceeded: the range of {metric} is "
                f"{span:g} wide. For per cent of the baseline write {value_text(drop)}%"
            )
            raise GateOptionError(path, message)


def _why_unweighed(lacking: Sequence[str], baseline: Baseline, info: ScenarioInfo) -> str:
    """Return which metrics with a weight the baseline lacks, so that it has no weighted score."""
    absent = [
        column.name
        for column in info.metrics
        if column.weight > 0.0 and column.name not in (*baseline.scores, *lacking)
    ]
    if WEIGHTED_SCORE not in lacking or not absent:
        return ""
    return f", because it has no {', '.join(absent)}"


_FALL = {"anyOf": [REGRESSION_KEYS["max_drop"], mapping_schema(REGRESSION_KEYS)]}

GATES = (
    GateKind(
        "no_regression",
        "scenario",
        _make,
        description="no metric fell against another run",
        schema=mapping_schema(REGRESSION_KEYS),
    ),
    GateKind(
        "compare_fail",
        "scenario",
        _make_short,
        description="metric: its largest fall against the run that 'compare' names",
        schema={"type": "object", "additionalProperties": _FALL, "minProperties": 1},
    ),
)
"""Both compare the metrics that they name with one saved run."""
