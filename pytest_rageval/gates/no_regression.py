"""The gates ``no_regression`` and ``compare_fail``: read from a scenario, bound to a saved run.

``compare_fail`` is the short form, and what ``--rag-compare-fail METRIC:DROP`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import (
    BaselineOptionError,
    ByName,
    Gate,
    GateKind,
    Location,
    UndecidedGate,
    targets_of,
)
from pytest_rageval.gates.regression import Mode, RegressionGate, Undecided, corrected_gate
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Correction,
    ScenarioInfo,
    SignificanceTest,
    TestName,
    value_text,
)
from pytest_rageval.scenario.spec import DROP, Name, Portion, Resamples, Seed, Share, Spec


def _drop_of(value: Any) -> tuple[float, bool]:
    """Return the largest allowed fall, and whether it is a share of the other run's mean."""
    text = str(value).strip()
    try:
        number = math.nan if isinstance(value, bool) else float(text.removesuffix("%"))
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        found = shorten(repr(value))
        raise ValueError(f"expected a number >= 0, or per cent like 5%, found {found}")
    is_relative = text.endswith("%")
    return (number / 100.0 if is_relative else number), is_relative


class RegressionSpec(Spec):
    """What is compared, and how; what is absent is as ``compare`` has it."""

    baseline: Name | None = Field(
        None, description="a saved run, by name or path; the run that 'compare' names when absent"
    )
    metrics: list[Name] = Field(
        [WEIGHTED_SCORE],
        min_length=1,
        description="what must not fall (or rise, where lower is better)",
    )
    max_drop: Annotated[tuple[float, bool], BeforeValidator(_drop_of), WithJsonSchema(DROP)] = (
        Field(
            (0.0, False),
            description="the fall of the mean that is allowed; 5% is a share of the other mean",
            json_schema_extra={"default": 0},
        )
    )
    alpha: Share | None = Field(
        None, description="two-sided; intervals have the confidence 1 - alpha"
    )
    test: TestName | None = Field(None, description="of significance; t and wilcoxon need scipy")
    n_resamples: Resamples | None = Field(
        None, description="for bootstrap, and for permutation where it is not exact"
    )
    seed: Seed | None = Field(None, description="of the resamples")
    correction: Correction | None = Field(
        None, description="how p-values of several metrics are adjusted"
    )
    min_pairs: Portion = Field(
        0.9,
        description="the share of the baseline's samples, scored or not, that must have a score"
        " in both runs",
    )
    undecided: Undecided = Field(
        "fail",
        description="the outcome if that share, or the number of pairs, is too small to know",
    )
    mode: Mode = Field("significant", description="when it fails, see below")
    anyway: bool = Field(
        False,
        description="compare also with a run that measured something else; each difference is "
        "then a warning",
    )
    corrected: bool = Field(
        False, description="the difference that people would see decides; max_drop is then a number"
    )


class FallSpec(RegressionSpec):
    """How far one metric may fall; a bare number is ``max_drop``."""

    short_form = "max_drop"


def _make(options: RegressionSpec, location: Location) -> list[Gate]:
    return [_gate("no_regression", options, location)]


def _make_short(options: Mapping[str, FallSpec], location: Location) -> list[Gate]:
    return [
        _gate(
            f"compare_fail.{metric}",
            options[metric].model_copy(update={"metrics": [metric]}),
            Location(location.info, (*location.path, metric)),
        )
        for metric in options
    ]


def _gate(name: str, options: RegressionSpec, location: Location) -> Gate:
    info = location.info
    columns = targets_of(info)
    for metric in options.metrics:
        if metric not in columns:
            raise location.error(unknown_name("metric", metric, columns))
    _check_ranges(options, location)
    usual = SignificanceTest() if info.compare is None else info.compare.test
    wanted = options.baseline or (info.compare.baseline if info.compare is not None else None)
    if wanted is None:
        hint = "give 'baseline', or compare the run (--rag-compare NAME, or 'compare')"
        raise location.error(f"needs a run to compare with: {hint}")
    baseline = info.baselines.get(wanted)
    if baseline is None:
        return UndecidedGate(name, wanted, tuple(options.metrics), options.anyway, location.path)
    missing = [metric for metric in options.metrics if metric not in baseline.scores]
    if missing:
        has = ", ".join(sorted(baseline.scores)) or "none of them"
        named = ", ".join(missing) + _why_unweighed(missing, baseline, info)
        message = f"the baseline {baseline.name!r} has no {named}; it has: {has}"
        raise BaselineOptionError(location.path, message)
    max_drop, relative = options.max_drop
    gate = RegressionGate(
        name,
        baseline,
        {metric: columns[metric].higher_is_better for metric in options.metrics},
        max_drop,
        relative,
        options.mode,
        SignificanceTest(
            options.test or usual.test,
            options.alpha or usual.alpha,
            options.n_resamples or usual.n_resamples,
            usual.seed if options.seed is None else options.seed,
            options.correction or usual.correction,
        ),
        {metric: _span(metric, info) for metric in options.metrics},
        options.min_pairs,
        options.undecided,
    )
    return corrected_gate(gate, location) if options.corrected else gate


def _span(metric: str, info: ScenarioInfo) -> float:
    """Return the width of a metric's range, which may be infinite."""
    low, high = info.weighted_range if metric == WEIGHTED_SCORE else targets_of(info)[metric].range
    return high - low


def _check_ranges(options: RegressionSpec, location: Location) -> None:
    drop, relative = options.max_drop
    for metric in options.metrics:
        span = _span(metric, location.info)
        if options.mode == "non_inferior" and math.isinf(span):
            message = (
                f"mode 'non_inferior' needs the range of a metric, and {metric} is unbounded; "
                "declare its 'range', or take mode 'significant' or 'exceeds'"
            )
            raise location.error(message, "mode")
        if not relative and 0.0 < drop >= span:  # such a gate would pass whatever happens
            message = (
                f"max_drop {value_text(drop)} can never be exceeded: the range of {metric} is "
                f"{span:g} wide. For per cent of the baseline write {value_text(drop)}%"
            )
            raise location.error(message)


def _why_unweighed(missing: Sequence[str], baseline: Baseline, info: ScenarioInfo) -> str:
    """Return which metrics with a weight the baseline lacks, so that it has no weighted score."""
    absent = [
        column.name
        for column in info.metrics
        if column.weight > 0.0 and column.name not in (*baseline.scores, *missing)
    ]
    if WEIGHTED_SCORE not in missing or not absent:
        return ""
    return f", because it has no {', '.join(absent)}"


_Falls = Annotated[dict[str, FallSpec], Field(min_length=1), ByName]

GATES = (
    GateKind(
        "no_regression",
        "scenario",
        RegressionSpec,
        _make,
        description="no metric fell against another run",
        example="{baseline: main}",
    ),
    GateKind(
        "compare_fail",
        "scenario",
        _Falls,
        _make_short,
        description="metric: its largest fall against the run that 'compare' names, or a "
        "mapping as in no_regression; one gate for each, tested alone",
        example="{f1: 0.02}",
        keys="metrics",
    ),
)
"""Both compare the metrics that they name with one saved run."""
