"""The gate ``no_regression``: no metric fell against a saved run, by more than chance explains.

``compare_fail`` is its short form, and what ``--rag-compare-fail METRIC:DROP`` writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import (
    BaselineOptionError,
    Gate,
    GateKind,
    GateOptionError,
    read_number,
    targets_of,
    without_own_keys,
)
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Baseline,
    GateResult,
    MetricComparison,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
    TestName,
)

Mode = Literal["significant", "non_inferior", "any"]


@dataclass(frozen=True, slots=True)
class RegressionOptions:
    """``mode`` says what a regression is.

    ``significant``: a fall by more than ``max_drop`` that is significant; ``non_inferior``: a fall
    larger than ``max_drop`` cannot be excluded; ``any``: a fall by more than ``max_drop``, be it
    chance or not. A ``max_drop`` with a per cent sign is a share of the baseline's mean.
    """

    baseline: str | None = None
    metrics: Sequence[str] = (WEIGHTED_SCORE,)
    max_drop: float | str = 0.0
    alpha: float | None = None
    test: TestName | None = None
    n_resamples: int | None = None
    seed: int | None = None
    mode: Mode = "significant"
    anyway: bool = False


@dataclass(frozen=True, slots=True)
class RegressionGate:
    """Tests all its metrics together (Holm), and names those that fell."""

    name: str
    baseline: Baseline
    higher_is_better: Mapping[str, bool]
    max_drop: float
    relative: bool
    mode: Mode
    test: SignificanceTest

    @property
    def targets(self) -> tuple[str, ...]:
        """The metrics that it is about."""
        return tuple(self.higher_is_better)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when a metric has no sample that both runs scored."""
        # numpy comes along; who compares nothing need not load it.
        from pytest_rageval.stats.comparison import compare_runs

        metrics = list(self.higher_is_better)
        compared = compare_runs(result, self.baseline, metrics, self.test).metrics
        found = {name: self._gain(name, compared[name]) for name in metrics}
        failed = [name for name in metrics if self._fell(name, compared[name])]
        shown = failed or [min(metrics, key=lambda name: found[name] or 0.0)]
        worst = min(shown, key=lambda name: -1e300 if found[name] is None else found[name] or 0.0)
        message = "; ".join(self._sentence(name, compared[name]) for name in shown)
        if not failed and len(metrics) > 1:
            message = f"none of {len(metrics)} metrics, worst {message}"
        observed, bound = found[worst], 0.0 - self._allowed(compared[worst])
        margin = None if observed is None else observed - bound
        outcome: Literal["failed", "passed"] = "failed" if failed else "passed"
        return GateResult(self.name, outcome, observed, bound, message, margin)

    def _gain(self, name: str, found: MetricComparison) -> float | None:
        """Return the difference, negative where this run is worse."""
        if found.diff is None:
            return None
        return found.diff if self.higher_is_better[name] else -found.diff

    def _allowed(self, found: MetricComparison) -> float:
        return self.max_drop * abs(found.b_mean or 0.0) if self.relative else self.max_drop

    def _fell(self, name: str, found: MetricComparison) -> bool:
        gain, allowed = self._gain(name, found), self._allowed(found)
        if gain is None:
            return True
        if self.mode == "non_inferior":
            low, high = found.ci_low, found.ci_high
            if low is None or high is None:
                return True
            return (low if self.higher_is_better[name] else -high) < -allowed - TOLERANCE
        too_much = -gain > allowed + TOLERANCE
        return too_much and (self.mode == "any" or found.significant)

    def _sentence(self, name: str, found: MetricComparison) -> str:
        if found.diff is None or found.a_mean is None or found.b_mean is None:
            return f"{name}: no sample was scored in both runs"
        text = (
            f"{name}: A {found.a_mean:.4f}, B {found.b_mean:.4f} ({self.baseline.name}), "
            f"difference {found.diff:+.4f}, {_p_text(found)}, n {found.n}"
        )
        if self.mode == "non_inferior" and found.ci_low is not None and found.ci_high is not None:
            text += f", interval {found.ci_low:+.4f}..{found.ci_high:+.4f}"
        if found.smallest_detectable is not None:
            smallest = f"{found.smallest_detectable:.4f}"
            worse = "falls" if self.higher_is_better[name] else "rises"
            text += f"; this n shows {worse} from {smallest} upwards (power 80 %)"
        return text + (f" ({found.note})" if found.note else "")


def _p_text(found: MetricComparison) -> str:
    if found.p_value is None:
        return "no p value"
    text = f"p {found.p_value:.3g}"
    if found.p_adjusted is not None and found.p_adjusted != found.p_value:
        text += f" (adjusted {found.p_adjusted:.3g})"
    return text


@dataclass(frozen=True, slots=True)
class UndecidedGate:
    """Stands for a gate whose baseline is about to be saved for the first time."""

    name: str
    baseline: str

    def check(self, result: ScenarioResult) -> GateResult:
        """Skip: there is nothing to compare with."""
        message = f"not compared with {self.baseline!r}"
        return GateResult(self.name, "skipped", None, None, message)


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
    options = _options(plain, path)
    columns = targets_of(info)
    for metric in options.metrics:
        if metric not in columns:
            raise GateOptionError(path, unknown_name("metric", metric, columns))
    baseline_name = _baseline_name(options, path, info)
    baseline = info.baselines.get(baseline_name)
    if baseline is None:
        return UndecidedGate(name, baseline_name)
    lacking = [metric for metric in options.metrics if metric not in baseline.scores]
    if lacking:
        has = ", ".join(sorted(baseline.scores)) or "none of them"
        named = ", ".join(lacking) + _why_unweighed(lacking, baseline, info)
        message = f"the baseline {baseline.name!r} has no {named}; it has: {has}"
        raise BaselineOptionError(path, message)
    max_drop, relative = _drop_of(options.max_drop) or (0.0, False)
    return RegressionGate(
        name,
        baseline,
        {metric: columns[metric].higher_is_better for metric in options.metrics},
        max_drop,
        relative,
        options.mode,
        _test(options, info),
    )


def _why_unweighed(lacking: Sequence[str], baseline: Baseline, info: ScenarioInfo) -> str:
    """Return for want of which metrics a run has no weighted score; weight 0 is no want."""
    counted = [column.name for column in info.metrics if column.weight > 0.0]
    absent = [name for name in counted if name not in baseline.scores]
    unsaid = [name for name in absent if name not in lacking]
    if WEIGHTED_SCORE not in lacking or not unsaid:
        return ""
    return f", because it has no {', '.join(unsaid)}"


def _options(plain: Mapping[str, Any], path: tuple[str, ...]) -> RegressionOptions:
    given = without_own_keys(plain)
    for key, value in given.items():
        if key not in _ALLOWED:
            raise GateOptionError((*path, key), unknown_name("option", key, _ALLOWED))
        expected, allowed = _ALLOWED[key]
        if not allowed(value):
            message = f"expected {expected}, found {shorten(repr(value))}"
            raise GateOptionError((*path, key), message)
    if "alpha" in given:
        given["alpha"] = read_number(given["alpha"])
    return RegressionOptions(**given)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_drop(value: Any) -> bool:
    return _drop_of(value) is not None


# By hand, and not by pydantic: an xdist controller makes gates, too, and need not load that.
_ALLOWED: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "baseline": ("the name of a saved run", _is_text),
    "metrics": (
        "a list of metrics",
        lambda value: isinstance(value, list) and bool(value) and all(map(_is_text, value)),
    ),
    "max_drop": ("a number >= 0, or per cent like 5%", _is_drop),
    "alpha": (
        "a number between 0 and 1",
        lambda value: (number := read_number(value)) is not None and 0.0 < number < 1.0,
    ),
    "test": (" or ".join(get_args(TestName)), lambda value: value in get_args(TestName)),
    "n_resamples": ("a whole number >= 100", lambda value: _is_whole(value, 100)),
    "seed": ("a whole number >= 0", lambda value: _is_whole(value, 0)),
    "mode": (" or ".join(get_args(Mode)), lambda value: value in get_args(Mode)),
    "anyway": ("true or false", lambda value: isinstance(value, bool)),
}


def _baseline_name(options: RegressionOptions, path: tuple[str, ...], info: ScenarioInfo) -> str:
    name = options.baseline or (info.compare.baseline if info.compare is not None else None)
    if name is None:
        known = "give 'baseline', or compare the run (--rag-compare NAME, or 'compare')"
        raise GateOptionError(path, f"needs a run to compare with: {known}")
    return name


def _drop_of(value: Any) -> tuple[float, bool] | None:
    """Return the largest fall that is allowed, and whether it is a share of the baseline."""
    text = str(value).strip()
    relative = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    if isinstance(value, bool) or not 0.0 <= number < math.inf:
        return None
    return (number / 100.0, True) if relative else (number, False)


def _test(options: RegressionOptions, info: ScenarioInfo) -> SignificanceTest:
    usual = info.compare.test if info.compare is not None else SignificanceTest()
    return SignificanceTest(
        options.test or usual.test,
        options.alpha or usual.alpha,
        options.n_resamples or usual.n_resamples,
        usual.seed if options.seed is None else options.seed,
    )


GATES = (
    GateKind("no_regression", "scenario", _make),
    GateKind("compare_fail", "scenario", _make_short),
)
"""Both compare all metrics that they name with one saved run."""
