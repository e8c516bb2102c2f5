"""How well a judge agrees with people: coefficients, their intervals, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any, Final

from pytest_rageval.model import Agreement, Disagreement
from pytest_rageval.stats.annotators import human_ceiling, krippendorff_alpha, majority
from pytest_rageval.stats.kappa import Z_95, Table, cohen_kappa, gwet_ac, kappa_interval
from pytest_rageval.stats.rank_correlation import area_under_curve, kendall, spearman
from pytest_rageval.stats.student import t_quantile
from pytest_rageval.stats.summary import wilson_interval

MOST_DISAGREEMENTS: Final = 10

_ONE_LEVEL: Final = "people and the judge use one level only"
_PEOPLE_ONE_LEVEL: Final = "people use one level only"
_MORE_LEVELS: Final = "there are more than two levels"
_TOO_FEW: Final = "fewer than 2 samples"
_CLASSES: Final = ("sensitivity", "specificity", "kappa", "weighted_kappa", "ac1", "ac2")
_OTHERS: Final = ("spearman", "kendall", "auc", "alpha", "ceiling", "bias")


@dataclass(frozen=True, slots=True)
class Rated:
    """A sample that people and the judge rated.

    ``votes`` holds a declared level for each annotator, one at least. ``score`` is the judge's own
    figure, ``unit`` the same as 0..1, ``judge`` the level that it amounts to, None where it is
    none. ``position`` is the sample's in the run. ``weight`` counts the samples that it stands for,
    where labels were not drawn alike from all.
    """

    sample_id: str
    position: int
    votes: Mapping[str, float]
    score: float
    judge: float | None
    unit: float
    reason: str = ""
    weight: float = 1.0


def agreement(
    rated: Sequence[Rated],
    levels: Sequence[float],
    unit: Callable[[float], float] = float,
    *,
    unclassed: str = "a score is none of the levels",
) -> Agreement:
    """Return how well the judge agrees with people on ``rated``.

    ``levels`` are all that are declared, the lowest first; ``unit`` takes a level, or a mean of
    levels, to 0..1. People's view of a sample is the majority of its votes. Samples that are split
    count for ``alpha``, ``ceiling`` and ``bias`` alone. Where a sample has no level of the judge,
    the coefficients that compare levels are None, because of ``unclassed``, and there is no
    confusion table. Below two samples there are only counts. The coefficients that compare levels,
    and the bias, weigh the samples; the table counts them.
    """
    views = [majority(one.votes.values(), levels) for one in rated]
    seen = [_Seen(one, view) for one, view in zip(rated, views, strict=True) if view is not None]
    cells = _cells(seen, levels)
    table = [[len(cells[row, column]) for column in levels] for row in levels]
    is_classed = all(one.of.judge is not None for one in seen)
    figures = _Figures()
    if len(seen) < 2:
        figures.refuse((*_CLASSES, *_OTHERS), _TOO_FEW)
    else:
        if is_classed:
            _compare_levels(figures, _weighted(seen, levels), levels)
        else:
            figures.refuse(_CLASSES, unclassed)
        _compare_order(figures, seen, levels)
        _compare_annotators(figures, rated, levels)
        _add_bias(figures, rated, unit)
    place = {level: at for at, level in enumerate(levels)}
    return Agreement(
        levels=tuple(levels),
        n=len(seen),
        confusion=tuple(map(tuple, table)) if is_classed else (),
        annotators=len({name for one in rated for name in one.votes}),
        split=len(rated) - len(seen),
        why=figures.why,
        disagreements=_disagreements(seen, unit),
        cells={
            f"{place[row]},{place[column]}": tuple(positions)
            for (row, column), positions in cells.items()
            if positions and is_classed
        },
        **figures.values,
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A sample of which people have one view: the level ``human``."""

    of: Rated
    human: float

    @property
    def agreeing(self) -> int:
        return sum(vote == self.human for vote in self.of.votes.values())


@dataclass(slots=True)
class _Figures:
    """Coefficients and the ends of their intervals by name, and why some are undefined."""

    values: dict[str, Any] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def refuse(self, names: Sequence[str], why: str) -> None:
        self.why.update(dict.fromkeys(names, why))

    def add(
        self, name: str, value: float | None, why: str, ends: tuple[float, float] | None = None
    ) -> None:
        if value is None:
            self.refuse([name], why)
            return
        self.values[name] = value
        if ends is not None:
            self.values[f"{name}_low"], self.values[f"{name}_high"] = ends


def _cells(seen: Sequence[_Seen], levels: Sequence[float]) -> dict[tuple[float, float], list[int]]:
    """Return the positions of samples by the levels of people and of the judge."""
    cells: dict[tuple[float, float], list[int]] = {
        (row, column): [] for row in levels for column in levels
    }
    for one in seen:
        if one.of.judge is not None:
            cells[one.human, one.of.judge].append(one.of.position)
    return cells


def _weighted(seen: Sequence[_Seen], levels: Sequence[float]) -> Table:
    """Return the table with weights, scaled to the number of samples that say as much (Kish)."""
    weights = [one.of.weight for one in seen]
    total = math.fsum(weights)
    scale = total / math.fsum(weight * weight for weight in weights)
    place = {level: at for at, level in enumerate(levels)}
    table = [[0.0] * len(levels) for _ in levels]
    for one in seen:
        assert one.of.judge is not None  # else levels are not compared
        table[place[one.human]][place[one.of.judge]] += one.of.weight * scale
    return table


def _compare_levels(figures: _Figures, table: Table, levels: Sequence[float]) -> None:
    for name, at in (("sensitivity", -1), ("specificity", 0)):
        if len(levels) > 2:
            figures.refuse([name], _MORE_LEVELS)
        else:
            _add_share(figures, name, table[at][at], math.fsum(table[at]), levels[at])
    for name, quadratic in (("kappa", False), ("weighted_kappa", True)):
        kappa = cohen_kappa(table, quadratic=quadratic)
        ends = None if kappa is None else kappa_interval(table, kappa, quadratic=quadratic)
        figures.add(name, kappa, _ONE_LEVEL, ends)
    for name, quadratic in (("ac1", False), ("ac2", True)):
        figures.add(name, gwet_ac(table, quadratic=quadratic), "")


def _add_share(figures: _Figures, name: str, right: float, of: float, level: float) -> None:
    if of == 0.0:
        figures.refuse([name], f"people call no sample {level:g}")
    else:
        figures.add(name, right / of, "", wilson_interval(right / of, 0.0, of, Z_95))


def _compare_order(figures: _Figures, seen: Sequence[_Seen], levels: Sequence[float]) -> None:
    scores, people = [one.of.score for one in seen], [one.human for one in seen]
    why = _PEOPLE_ONE_LEVEL if len(set(people)) == 1 else "all scores of the judge are equal"
    figures.add("spearman", spearman(scores, people), why)
    figures.add("kendall", kendall(scores, people), why)
    if len(levels) > 2:
        figures.refuse(["auc"], _MORE_LEVELS)
    else:
        positive = [human == levels[-1] for human in people]
        figures.add("auc", area_under_curve(scores, positive), _PEOPLE_ONE_LEVEL)


def _compare_annotators(figures: _Figures, rated: Sequence[Rated], levels: Sequence[float]) -> None:
    votes = [one.votes for one in rated]
    why = _PEOPLE_ONE_LEVEL
    if len({name for one in votes for name in one}) < 2:
        why = "one annotator"
    elif all(len(one) < 2 for one in votes):
        why = "no sample has two annotators"
    figures.add("alpha", krippendorff_alpha(votes, levels), why)
    figures.add("ceiling", human_ceiling(votes, levels), why)


def _add_bias(figures: _Figures, rated: Sequence[Rated], unit: Callable[[float], float]) -> None:
    """Add the mean of the judge minus people, whose votes are not cut to a majority here."""
    n, total = len(rated), math.fsum(one.weight for one in rated)
    above = [one.unit - unit(math.fsum(one.votes.values()) / len(one.votes)) for one in rated]
    bias = math.fsum(map(mul, above, (one.weight for one in rated))) / total
    terms = (one.weight * (found - bias) for one, found in zip(rated, above, strict=True))
    squares = math.fsum(term * term for term in terms) / total**2
    # As if one more were wrong altogether: a judge that is right on ten samples may not always be.
    variance = squares * n / (n - 1) or 1.0 / (n + 1) / n
    half = t_quantile(0.975, n - 1) * math.sqrt(variance)
    figures.add("bias", bias, "", (bias - half, bias + half))


def _disagreements(
    seen: Sequence[_Seen], unit: Callable[[float], float]
) -> tuple[Disagreement, ...]:
    found = [
        Disagreement(
            sample_id=one.of.sample_id,
            human=one.human,
            judge=one.of.judge,
            score=one.of.score,
            distance=distance,
            agreeing=one.agreeing,
            annotators=len(one.of.votes),
            reason=one.of.reason,
        )
        for one in seen
        if one.of.judge is not None
        and one.of.judge != one.human
        and (distance := abs(one.of.unit - unit(one.human))) > 0.0
    ]
    # Sorting keeps the order of samples that are equal by both.
    found.sort(key=lambda one: (-one.distance, -one.agreeing / one.annotators))
    return tuple(found[:MOST_DISAGREEMENTS])
