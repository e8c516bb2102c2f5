"""In one sentence, how many rows a comparison needs to see the fall that matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.gates.base import Gate, GateOptionError, make_gates, targets_of
from pytest_rageval.gates.regression import Mode, RegressionGate
from pytest_rageval.model import WEIGHTED_SCORE, Comparison, ScenarioInfo, SignificanceTest
from pytest_rageval.stats.needed_rows import Spread, spread_of_differences
from pytest_rageval.stats.paired import alpha_of_each, correction_used

_USUAL: Final = 0.02
"""The fall that matters where no gate says another, as a share of the metric's range."""


def rows_of_comparison(info: ScenarioInfo, comparison: Comparison) -> str:
    """Return how many rows see a fall, by how far the differences of the two runs spread."""
    return rows_sentence(
        info,
        comparison.baseline,
        list(comparison.metrics),
        lambda metric: spread_of_differences(comparison, metric),
    )


def rows_sentence(
    info: ScenarioInfo,
    baseline: str,
    metrics: Collection[str],
    spread_of: Callable[[str], Spread],
) -> str:
    """Return how many rows see a fall against ``baseline``, for the metric that needs most.

    ``metrics`` are those that are compared. "" where nothing is tested: gates of the mode ``any``,
    or by labels, alone, and no metric with a range.
    """
    wanted = [one for one in _wanted(info, baseline, metrics) if one.metric in metrics]
    aims = [aim for each in wanted if (aim := each.aim(spread_of(each.metric))) is not None]
    if not aims:
        return ""
    aim = max(aims, key=lambda aim: aim.needed)
    return aim.sentence(f" in {aim.metric}" if len(metrics) > 1 else "")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a test of a metric with ``alpha`` is to see; ``span`` is the width of its range."""

    metric: str
    is_up: bool
    span: float
    max_drop: float
    is_relative: bool
    mode: Mode
    alpha: float

    def aim(self, spread: Spread) -> _Aim | None:
        """Return the fall in figures; None where it is not known how large a fall matters."""
        if self.is_relative and spread.baseline is None:
            return None
        scale = abs(spread.baseline or 0.0) if self.is_relative else 1.0
        fall = self.max_drop * scale or _USUAL * self.span
        if math.isinf(fall):
            return None
        exceeds = self.mode == "exceeds" and self.max_drop > 0.0
        margin = self.span if self.mode == "non_inferior" else 0.0
        worse = "fall" if self.is_up else "rise"
        allowed = fall if exceeds else 0.0
        return _Aim(self.metric, worse, fall, allowed, self.alpha, margin, spread)


@dataclass(frozen=True, slots=True)
class _Aim:
    """The ``fall`` of a metric that a test with ``alpha`` is to see beyond what is ``allowed``.

    ``margin`` is the range of the scores where the test is to exclude the fall, else 0.
    """

    metric: str
    worse: str
    fall: float
    allowed: float
    alpha: float
    margin: float
    spread: Spread

    @property
    def needed(self) -> int:
        """How many independent rows or groups see it; 0 where that is not known."""
        is_known = not self.spread.unknown
        return self.spread.needed(self.fall, self.alpha, self.margin) if is_known else 0

    def sentence(self, where: str) -> str:
        """Return how many rows see it, and what those that are there see."""
        spread = self.spread
        if spread.unknown:
            return f"{self._goal(where)}: how many rows is not known ({spread.unknown})"
        seen = spread.seen(spread.units, self.alpha, self.margin)
        verb = "exclude" if self.margin else "see"
        enough = ": enough" if seen <= self.fall else ""
        unit = "" if spread.groups is None else " groups"
        return (
            f"{self._goal(where)}: about {_rows(spread, self.needed)}; "
            f"these {spread.units:,}{unit} {verb} {self.allowed + seen:.2g}{enough}"
        )

    def _goal(self, where: str) -> str:
        fall = f"a {self.worse} of {self.allowed + self.fall:.3g}{where}"
        if self.margin:
            goal = f"exclude {fall} if nothing changed"
        else:
            goal = f"see that {fall} exceeds {self.allowed:.3g}" if self.allowed else f"see {fall}"
        return f"to {goal} (power 80 %)"


def _rows(spread: Spread, needed: int) -> str:
    if spread.groups is None:
        return f"{_about(needed)} rows"
    rows = _about(needed * spread.rows / spread.units)
    return f"{_about(needed)} groups ({rows} rows)"


def _about(count: float) -> str:
    """Return a number with two significant figures.

    >>> _about(1342), _about(87)
    ('1,300', '87')
    """
    return f"{float(f'{count:.2g}'):,.0f}"


def _wanted(info: ScenarioInfo, baseline: str, metrics: Collection[str]) -> Iterator[_Wanted]:
    """Yield what gates test against ``baseline``; without any, the weighted score, or the first."""
    gates = _gates(info, baseline)
    for gate in gates:
        if not isinstance(gate, RegressionGate) or gate.by_labels or gate.mode == "any":
            continue
        alpha = gate.test.alpha
        if gate.mode != "non_inferior":  # its interval is that of each metric alone
            alpha = _of_each(gate.test, len(gate.targets))
        for metric, is_up in gate.higher_is_better.items():
            bounds = gate.spans[metric], gate.max_drop, gate.relative
            yield _Wanted(metric, is_up, *bounds, gate.mode, alpha)
    if gates or not metrics:
        return
    metric = WEIGHTED_SCORE if WEIGHTED_SCORE in metrics else next(iter(metrics))
    column = targets_of(info)[metric]
    low, high = info.weighted_range if metric == WEIGHTED_SCORE else column.range
    test = SignificanceTest() if info.compare is None else info.compare.test
    alpha = _of_each(test, len(metrics))
    yield _Wanted(metric, column.higher_is_better, high - low, 0.0, False, "significant", alpha)


def _of_each(test: SignificanceTest, family: int) -> float:
    return alpha_of_each(test.alpha, correction_used(test.test, test.correction), family)


def _gates(info: ScenarioInfo, baseline: str) -> list[Gate]:
    """Return the gates that compare with ``baseline``; none of a run without its baseline."""
    try:
        gates = make_gates(info.gates, info)
    except GateOptionError:
        return []
    return [gate for gate in gates if gate.compared_with and gate.compared_with.name == baseline]
