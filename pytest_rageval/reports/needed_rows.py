"""In one sentence, how many rows a comparison needs to see the fall that matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pytest_rageval.gates.base import Gate, GateOptionError, make_gates, targets_of
from pytest_rageval.gates.early_regression import Mode
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Comparison,
    Sample,
    ScenarioInfo,
    SignificanceTest,
)
from pytest_rageval.stats.needed_rows import (
    MOST_ROWS,
    Spread,
    alpha_of,
    spread_of_differences,
    spread_of_scores,
)
from pytest_rageval.stats.paired import alpha_of_each, correction_used
from pytest_rageval.stats.weights import group_numbers, is_scored, rescale, resolve_weight

_NOT_KNOWN: Final = "how many rows is not known"
_APART: Final = "as if the two runs' scores had nothing in common: fewer when they have"
_USUAL: Final = 0.02
"""The fall that matters where no gate says another, as a share of the metric's range."""


def rows_of_comparison(info: ScenarioInfo, comparison: Comparison) -> str:
    """Return how many rows see a fall, by how far the differences of the two runs spread.

    "" where gates compare, but none tests a metric on all rows (those of the mode ``any``, on
    labels or on slices do not); and where no ``max_drop`` and no finite range says which fall
    matters.
    """
    return _sentence(
        _wanted(info, comparison.baseline, list(comparison.metrics), alpha_of(comparison)),
        partial(spread_of_differences, comparison),
        names=len(comparison.metrics) > 1,
    )


def rows_of_saved_run(info: ScenarioInfo, samples: Sequence[Sample], baseline: Baseline) -> str:
    """Return how many rows see a fall, by how far the scores of ``baseline`` spread.

    ``samples`` are those that a run would score. Its scores are not known: they are taken to spread
    like those of ``baseline``. "" as in ``rows_of_comparison``.
    """
    comparing = next((run for run in info.compare if run.baseline == baseline.name), None)
    of_table = () if comparing is None else comparing.metrics
    known = of_table or (*(column.name for column in info.metrics), WEIGHTED_SCORE)
    metrics = [name for name in known if name in baseline.scores]
    test = SignificanceTest() if comparing is None else comparing.test
    alpha = _of_each(test, len(of_table or info.metrics))
    text = _sentence(
        _wanted(info, baseline.name, metrics, alpha),
        partial(_spread, info, samples, baseline),
        names=len(of_table or info.metrics) > 1,
    )
    return f"{text}, {_APART}" if text and _NOT_KNOWN not in text else text


def _spread(
    info: ScenarioInfo, samples: Sequence[Sample], baseline: Baseline, metric: str
) -> Spread:
    scores, rows = baseline.scores[metric], list[tuple[float, float, Sample]]()
    for sample in samples:
        weight, score = resolve_weight(info.doc_weights, sample.doc_name), scores.get(sample.id)
        if weight > 0.0 and is_scored(score):
            rows.append((score, weight, sample))
    return spread_of_scores(
        [score for score, _, _ in rows],
        rescale([weight for _, weight, _ in rows]),
        group_numbers(info, [sample for _, _, sample in rows]),
    )


def _sentence(wanted: Iterable[_Wanted], spread_of: Callable[[str], Spread], *, names: bool) -> str:
    """Return the sentence about the metric that needs most rows, with its name if ``names``."""
    aims = [aim for each in wanted if (aim := each.aim(spread_of(each.metric))) is not None]
    if not aims:
        return ""
    aim = max(aims, key=lambda aim: aim.needed)
    return aim.sentence(f" in {aim.metric}" if names else "")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a test of a metric with ``alpha`` is to see; ``span`` is the width of its range."""

    metric: str
    is_up: bool  # more is better
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
        # A fall of just ``max_drop`` never exceeds it: one of twice that is to be seen.
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
        """Return how many rows see the fall, and which fall the rows that there are see."""
        spread = self.spread
        if spread.unknown:
            return f"{self._goal(where)}: {_NOT_KNOWN} ({spread.unknown})"
        seen = spread.seen(spread.units, self.alpha, self.margin)
        verb = "exclude" if self.margin else "see"
        enough = ": enough" if seen <= self.fall else ""
        unit = "" if spread.groups is None else " groups"
        return (
            f"{self._goal(where)}: {_rows(spread, self.needed)}; "
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
    word = "about" if needed < MOST_ROWS else "more than"
    if spread.groups is None:
        return f"{word} {_about(needed)} rows"
    rows = _about(needed * spread.rows / spread.units)
    return f"{word} {_about(needed)} groups ({rows} rows)"


def _about(count: float) -> str:
    """Return a number with two significant figures.

    >>> _about(1342), _about(87)
    ('1,300', '87')
    """
    return f"{float(f'{count:.2g}'):,.0f}"


def _wanted(
    info: ScenarioInfo, baseline: str, metrics: Collection[str], alpha: float
) -> Iterator[_Wanted]:
    """Yield what gates test of ``metrics`` against ``baseline``.

    Without a gate on ``baseline``, that is the weighted score at ``alpha``, or the first of
    ``metrics`` if it is not among them.
    """
    gates = _gates(info, baseline)
    for gate in gates:
        if isinstance(gate, RegressionGate) and not gate.by_labels and gate.mode != "any":
            yield from (one for one in _of_gate(gate) if one.metric in metrics)
    if gates or not metrics:
        return
    metric = WEIGHTED_SCORE if WEIGHTED_SCORE in metrics else next(iter(metrics))
    column = targets_of(info)[metric]
    low, high = info.weighted_range if metric == WEIGHTED_SCORE else column.range
    yield _Wanted(metric, column.higher_is_better, high - low, 0.0, False, "significant", alpha)


def _of_gate(gate: RegressionGate) -> Iterator[_Wanted]:
    # The interval of ``non_inferior`` is that of each metric alone.
    alone = gate.mode == "non_inferior"
    alpha = gate.test.alpha if alone else _of_each(gate.test, len(gate.targets))
    for metric, is_up in gate.higher_is_better.items():
        bounds = gate.spans[metric], gate.max_drop, gate.relative
        yield _Wanted(metric, is_up, *bounds, gate.mode, alpha)


def _of_each(test: SignificanceTest, family: int) -> float:
    return alpha_of_each(test.alpha, correction_used(test.test, test.correction), family)


def _gates(info: ScenarioInfo, baseline: str) -> list[Gate]:
    """Return the gates that compare with ``baseline``; [] where a gate cannot be made."""
    try:
        gates = make_gates(info.gates, info)
    except GateOptionError:
        return []
    return [gate for gate in gates if gate.compared_with and gate.compared_with.name == baseline]
