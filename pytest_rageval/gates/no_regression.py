"""The gates ``no_regression`` and ``compare_fail``: read from a scenario, bound to a saved run.

``compare_fail`` is the short form, and what ``--rag-compare-fail METRIC:DROP`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import (
    BaselineOptionError,
    Gate,
    GateKind,
    Location,
    UndecidedGate,
    targets_of,
)
from pytest_rageval.gates.early_regression import Mode, Undecided
from pytest_rageval.gates.regression import RegressionGate, corrected_gate
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Comparing,
    Correction,
    ScenarioInfo,
    SignificanceTest,
    TestName,
    value_text,
)
from pytest_rageval.scenario.spec import DROP, Name, Portion, Resamples, Seed, Share, Spec
from pytest_rageval.stats.paired import over_looks


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
        " in both runs; for `weighted_score`, every metric that they had",
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
    return _gates("no_regression", options, location)


def _make_short(options: Mapping[str, FallSpec], location: Location) -> list[Gate]:
    gates: list[Gate] = []
    for metric, spec in options.items():
        place = Location(location.info, (*location.path, metric))
        named = [name.casefold() for name in spec.metrics]
        if "metrics" in spec.model_fields_set and named != [metric.casefold()]:
            raise place.error(
                "of this metric alone: name each under compare_fail, or use no_regression",
                "metrics",
            )
        only = spec.model_copy(update={"metrics": [metric]})
        gates += _gates("compare_fail", only, place, always_named=True)
    return gates


def _gates(
    kind: str, options: RegressionSpec, location: Location, *, always_named: bool = False
) -> list[Gate]:
    """Return a gate for each run to compare with.

    With several runs, the names of the gates say which run and, if there is only one, which metric.
    ``always_named``: with one run they say the metric, too.
    """
    known = targets_of(location.info)
    for name in options.metrics:
        if name not in known:
            raise location.error(unknown_name("metric", name, known))
    _check_ranges(options, location)
    metric = f".{options.metrics[0]}" if len(options.metrics) == 1 else ""
    plain = f"{kind}{metric}" if always_named else kind
    runs = location.info.compare
    if options.baseline is not None or len(runs) < 2:
        return [_gate(plain, options, location, _named_run(options, location))]
    return [_gate(f"{kind}.{run.baseline}{metric}", options, location, run) for run in runs]


def _named_run(options: RegressionSpec, location: Location) -> Comparing:
    """Return the one run to compare with: that of ``baseline``, or the only one of ``compare``."""
    runs = location.info.compare
    if options.baseline is None and not runs:
        hint = "give 'baseline', or compare the run (--rag-compare NAME, or 'compare')"
        raise location.error(f"needs a run to compare with: {hint}")
    listed = [run for run in runs if options.baseline in (None, run.baseline)]
    if listed or options.baseline is None:
        return listed[0]
    usual = runs[0].test if runs else SignificanceTest()
    # The looks are those at another run: this one has the whole alpha.
    alone = replace(usual, alpha=usual.alpha * usual.looks, looks=1)
    return Comparing(options.baseline, test=alone)


def _gate(name: str, options: RegressionSpec, location: Location, run: Comparing) -> Gate:
    info = location.info
    columns = targets_of(info)
    test = _test(options, location, run)
    baseline = info.baselines.get(run.baseline)
    if baseline is None:
        return UndecidedGate(
            name, run.baseline, tuple(options.metrics), options.anyway, location.path
        )
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
        test,
        {metric: _span(metric, info) for metric in options.metrics},
        options.min_pairs,
        options.undecided,
    )
    return corrected_gate(gate, location) if options.corrected else gate


def _test(options: RegressionSpec, location: Location, run: Comparing) -> SignificanceTest:
    """Return how the gate tests; the ``looks`` at its run share alpha."""
    usual, looks = run.test, run.test.looks
    if looks > 1 and options.mode == "any":
        raise location.error(
            f"mode 'any' tests nothing, and {shorten(run.baseline)!r} has {looks} looks, which "
            "share alpha; take another mode, or name the run that it is for "
            f"({location.path[0]}: {{baseline: ...}})",
            "mode",
        )
    whole = SignificanceTest(
        options.test or usual.test,
        options.alpha or usual.alpha * looks,
        options.n_resamples or usual.n_resamples,
        usual.seed if options.seed is None else options.seed,
        options.correction or usual.correction,
    )
    try:
        return over_looks(whole, looks, len(options.metrics))
    except ValueError as error:
        raise location.error(str(error)) from error


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
        is_tested = options.mode != "non_inferior"  # the interval may go further than the scores
        if relative and drop >= 1.0 and is_tested and _never_below_0(metric, location.info):
            message = (
                f"max_drop {100 * drop:g}% can never be exceeded: {metric} is never below 0, and "
                "cannot fall by more than 100%"
            )
            raise location.error(message)


def _never_below_0(metric: str, info: ScenarioInfo) -> bool:
    """Return whether a metric that should be high cannot be negative, and so not fall below 0."""
    if metric == WEIGHTED_SCORE:
        return info.weighted_range[0] >= 0.0
    column = targets_of(info)[metric]
    return column.higher_is_better and column.range[0] >= 0.0


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


_Falls = Annotated[dict[str, FallSpec], Field(min_length=1)]

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
"""Each compares the metrics that it names with a saved run, or with each of several."""
