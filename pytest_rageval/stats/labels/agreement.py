"""Holds the scores of a run against labels of people: the agreement, over all and by slice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from pytest_rageval.model import Agreement, Disagreement, HumanLabels, ScenarioResult
from pytest_rageval.model.value import value_text
from pytest_rageval.stats.intervals import t_quantile
from pytest_rageval.stats.labels.cells import judged_of
from pytest_rageval.stats.labels.coefficients import (
    ac_influence,
    area_under_curve,
    ceiling_influence,
    cohen_kappa,
    coincidences,
    curve_influence,
    gwet_ac,
    human_ceiling,
    kappa_influence,
    kendall,
    kendall_influence,
    krippendorff_alpha,
    majority,
    pair_units,
    spearman,
    spearman_influence,
)
from pytest_rageval.stats.labels.influence import Counted, Unit, dot, sum_of_squares, table_interval
from pytest_rageval.stats.labels.strata import (
    Scale,
    cut_of,
    drawn_weights,
    members_of,
    present_labels,
    saved_draws,
)
from pytest_rageval.stats.summary import Groups, group_sums, weighted_interval
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import field_value, group_numbers, is_scored

MOST_DISAGREEMENTS: Final = 10
_MOST_SLICES: Final = 20

_ONE_LEVEL: Final = "people and the judge use one level only"
_PEOPLE_ONE_LEVEL: Final = "people use one level only"
_EQUAL_SCORES: Final = "all scores of the judge are equal"
_MORE_LEVELS: Final = "there are more than two levels"
_TOO_FEW: Final = "fewer than 2 samples"
_TOO_SPLIT: Final = f"{_TOO_FEW} on which people agree"
_ONE_GROUP: Final = "the labelled samples are, wholly or nearly, of one group"
_ONE_GROUP_OF: Final = "the samples that people call {:g} are, wholly or nearly, of one group"
_CLASSES: Final = ("sensitivity", "specificity", "kappa", "weighted_kappa", "ac1", "ac2")
_WEIGHED: Final = (*_CLASSES, "bias")
_ORDERS: Final = ("spearman", "kendall", "auc")


def agreement_of(result: ScenarioResult, human: HumanLabels) -> Agreement:
    """Return how well a metric agrees with people, over the samples that both rated.

    ``stale`` counts the samples whose labels are all about an earlier answer, ``unscored`` those
    with present labels and no score, or skipped. ``drawn_weights`` says what a label weighs; where
    it cannot know, there are no figures that weigh. Intervals know that samples of a group
    (``group_by``), and cells of a support table, depend on each other.
    """
    result = judged_of(whole := result, human)
    info, scale = result.info, Scale.of(result.info, human)
    members = list(members_of(result, human, scale))
    drawn = drawn_weights(members, human, saved_draws(info))
    bound = cut_of(info, human)
    groups = group_numbers(info, result.samples)
    rated, unscored, stale = [], 0, 0
    for position, sample in enumerate(result.samples):
        labels = human.labels.get(sample.sample_id, ())
        current = present_labels(sample, labels)
        stale += bool(labels) and not current
        score = score_of(sample, human.metric)
        if not current:
            continue
        if not is_scored(score) or not sample.is_expected:
            unscored += 1
            continue
        rated.append(
            Rated(
                sample.sample_id,
                position,
                {label.annotator: label.value for label in current},
                score,
                scale.level(score, human.levels, bound),
                scale.score(score),
                sample.reasons.get(human.metric, ""),
                drawn.weights.get(sample.sample_id, 1.0),
                None if groups is None else groups[position],
            )
        )
    found = _agreement(rated, human, scale, drawn.lost)
    if result is not whole:  # a cell leads to its sample
        found = replace(found, cells=_positions(found, [one.index for one in result.samples]))
    return replace(
        found,
        unscored=unscored,
        stale=stale,
        unlabelled=drawn.unlabelled,
        slices=_slices(result, rated, human, scale, drawn.lost),
    )


def _positions(found: Agreement, of: Sequence[int]) -> dict[str, tuple[int, ...]]:
    return {key: tuple(of[at] for at in positions) for key, positions in found.cells.items()}


def _agreement(rated: Sequence[Rated], human: HumanLabels, scale: Scale, lost: str) -> Agreement:
    """Return the agreement, the bias in the metric's unit; ``lost`` is why none weighs."""
    off_scale = [sample.score for sample in rated if sample.judge is None]
    unclassed = ""
    if off_scale:
        unclassed = (
            f"{off_scale[0]:.4g} is no level, and nothing says where to cut: write human.cut, or a "
            f"threshold of {human.metric}"
        )
    found = agreement(rated, human.levels, unit=scale.label, unclassed=unclassed)
    if lost:
        ends = ("", "_low", "_high")
        none: dict[str, Any] = dict.fromkeys(f"{name}{end}" for name in _WEIGHED for end in ends)
        found = replace(found, **none, why={**found.why, **dict.fromkeys(_WEIGHED, lost)})
    return _in_metric_unit(found, scale)


def _in_metric_unit(found: Agreement, scale: Scale) -> Agreement:
    """Return an agreement with its bias, which was a part of the range, in the metric's unit."""
    bias, low, high = (
        None if one is None else one * scale.span
        for one in (found.bias, found.bias_low, found.bias_high)
    )
    return replace(found, bias=bias, bias_low=low, bias_high=high)


def _slices(
    result: ScenarioResult, rated: Sequence[Rated], human: HumanLabels, scale: Scale, lost: str
) -> dict[str, dict[str, Agreement]]:
    """Return the agreement by field and value, of fields with 2 to 20 values in ``rated``."""
    found = {}
    for column in ("doc_name", *result.info.metadata_columns):
        parts: dict[str, list[Rated]] = {}
        for sample in rated:
            value = field_value(result.samples[sample.position], column)
            if isinstance(value, str | bool | int):
                parts.setdefault(value_text(value), []).append(sample)
        if 2 <= len(parts) <= _MOST_SLICES:
            found[column] = {
                value: replace(
                    _agreement(part, human, scale, lost),
                    disagreements=(),
                    cells={},
                )
                for value, part in sorted(parts.items())
            }
    return found


@dataclass(frozen=True, slots=True)
class Rated:
    """A sample that people and the judge rated.

    ``votes`` holds a declared level for each annotator, one at least. ``score`` is the judge's own
    figure, ``unit`` the same as 0..1, ``judge`` the level that it amounts to, None where it is
    none. ``position`` is the sample's in the run. ``weight`` counts the samples that it stands for,
    where labels were not drawn alike from all. ``group`` is the number of its group, if the
    scenario has ``group_by``: the samples of one depend on each other.
    """

    sample_id: str
    position: int
    votes: Mapping[str, float]
    score: float
    judge: float | None
    unit: float
    reason: str = ""
    weight: float = 1.0
    group: int | None = None


def agreement(
    rated: Sequence[Rated],
    levels: Sequence[float],
    unit: Callable[[float], float] = float,
    *,
    unclassed: str = "a score is none of the levels",
) -> Agreement:
    """Return how well the judge agrees with people on ``rated``.

    ``levels`` are all that are declared, the lowest first; ``unit`` takes a level, or a mean of
    levels, to 0..1. People's view of a sample is the majority of its votes; split ones count for
    ``alpha``, ``ceiling`` and ``bias`` alone. Where a sample has no level of the judge, there are
    no table and no coefficients that compare levels; ``unclassed`` says why. One sample has no
    coefficients. Those of levels, and the bias, weigh samples. Groups change intervals alone.
    """
    views = [majority(sample.votes.values(), levels) for sample in rated]
    seen = [_Seen(one, view) for one, view in zip(rated, views, strict=True) if view is not None]
    cells = _cells(seen, levels)
    table = [[len(cells[row, column]) for column in levels] for row in levels]
    is_classed = all(sample.of.judge is not None for sample in seen)
    figures = _Figures()
    if len(seen) < 2:
        figures.refuse((*_CLASSES, *_ORDERS), _TOO_FEW if len(rated) < 2 else _TOO_SPLIT)
    else:
        if is_classed:
            _compare_levels(figures, seen, levels)
        else:
            figures.refuse(_CLASSES, unclassed)
        _compare_order(figures, seen, levels)
    if len(rated) < 2:
        figures.refuse(("alpha", "ceiling", "bias"), _TOO_FEW)
    else:
        _compare_annotators(figures, rated, levels)
        _add_bias(figures, rated, unit)
    place = {level: at for at, level in enumerate(levels)}
    return Agreement(
        levels=tuple(levels),
        n=len(seen),
        confusion=tuple(map(tuple, table)) if is_classed else (),
        annotators=len({name for sample in rated for name in sample.votes}),
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
        self,
        name: str,
        value: float | None,
        why: str,
        ends: tuple[float, float] | None,
        unsure: str = _ONE_GROUP,
    ) -> None:
        """Note a coefficient, or ``why`` there is none; its interval, or why not: ``unsure``."""
        if value is None:
            self.refuse([name], why)
            return
        self.values[name] = value
        if ends is None:
            self.refuse([f"{name}_low"], unsure)
        else:
            self.values[f"{name}_low"], self.values[f"{name}_high"] = ends


def _groups(rated: Iterable[Rated]) -> Groups:
    """Return the numbers of the samples' groups, None without ``group_by``."""
    found = [sample.group for sample in rated]
    return None if None in found else [group for group in found if group is not None]


def _cells(seen: Sequence[_Seen], levels: Sequence[float]) -> dict[tuple[float, float], list[int]]:
    """Return the positions of samples by the levels of people and of the judge."""
    cells: dict[tuple[float, float], list[int]] = {
        (row, column): [] for row in levels for column in levels
    }
    for sample in seen:
        if sample.of.judge is not None:
            cells[sample.human, sample.of.judge].append(sample.of.position)
    return cells


def _compare_levels(figures: _Figures, seen: Sequence[_Seen], levels: Sequence[float]) -> None:
    for name, level in (("sensitivity", levels[-1]), ("specificity", levels[0])):
        if len(levels) > 2:
            figures.refuse([name], _MORE_LEVELS)
        else:
            _add_share(
                figures, name, [sample.of for sample in seen if sample.human == level], level
            )
    place = {level: at for at, level in enumerate(levels)}
    cells = [(place[one.human], place[one.of.judge]) for one in seen if one.of.judge is not None]
    units = [{cell: one.of.weight} for cell, one in zip(cells, seen, strict=True)]
    shape = len(levels), len(levels)
    counted = Counted.of(units, *shape)
    grouped = Counted.of(units, *shape, _groups(sample.of for sample in seen))
    assert counted is not None  # samples have weights
    assert grouped is not None
    for names, value_of, influence in (
        (("kappa", "weighted_kappa"), cohen_kappa, kappa_influence),
        (("ac1", "ac2"), gwet_ac, ac_influence),
    ):
        for name, quadratic in zip(names, (False, True), strict=True):
            value = value_of(counted.table, quadratic=quadratic)
            measure = partial(influence, quadratic=quadratic)
            ends = table_interval(measure, grouped, value)
            figures.add(name, value, _ONE_LEVEL, ends)


def _add_share(figures: _Figures, name: str, rated: Sequence[Rated], level: float) -> None:
    """Add the share of ``rated`` that the judge calls ``level``, as people call all of them."""
    if not rated:
        figures.refuse([name], f"people call no sample {level:g}")
        return
    right = [float(sample.judge == level) for sample in rated]
    weights = [sample.weight for sample in rated]
    share = dot(right, weights) / math.fsum(weights)
    ends = weighted_interval(right, weights, (0.0, 1.0), groups=_groups(rated))
    figures.add(name, share, "", ends, _few(rated, level))


def _compare_order(figures: _Figures, seen: Sequence[_Seen], levels: Sequence[float]) -> None:
    scores, people = [sample.of.score for sample in seen], [sample.human for sample in seen]
    places = {score: at for at, score in enumerate(sorted(set(scores)))}
    units = [{(levels.index(sample.human), places[sample.of.score]): 1.0} for sample in seen]
    counted = Counted.of(units, len(levels), len(places), _groups(sample.of for sample in seen))
    why = _PEOPLE_ONE_LEVEL if len(set(people)) == 1 else _EQUAL_SCORES
    for name, value_of, measure in (
        ("spearman", spearman, spearman_influence),
        ("kendall", kendall, kendall_influence),
    ):
        value = value_of(scores, people)
        figures.add(name, value, why, table_interval(measure, counted, value))
    if len(levels) > 2:
        figures.refuse(["auc"], _MORE_LEVELS)
        return
    area = area_under_curve(scores, [human == levels[-1] for human in people])
    unsure = _unsure_of_curve(seen, levels, len(places))
    ends = None if unsure else table_interval(curve_influence, counted, area, lowest=0.0)
    figures.add("auc", area, _PEOPLE_ONE_LEVEL, ends, unsure or _ONE_GROUP)


def _unsure_of_curve(seen: Sequence[_Seen], levels: Sequence[float], scores: int) -> str:
    """Return why the area under the curve has no interval, "" if it may have one.

    Its error is how scores vary within a level: equal ones, one sample or one group tell nothing.
    """
    if scores == 1:
        return _EQUAL_SCORES
    for level in levels:
        of_level = [sample.of for sample in seen if sample.human == level]
        if of_level and _independent([1.0] * len(of_level), _groups(of_level)) < 2.0:
            return _few(of_level, level)
    return ""


def _few(rated: Sequence[Rated], level: float) -> str:
    """Return why nothing is known of how samples of a level vary."""
    return f"people call one sample {level:g}" if len(rated) == 1 else _ONE_GROUP_OF.format(level)


def _independent(weights: Sequence[float], groups: Groups) -> float:
    """Return how many equal samples, or groups, say as much as these (Kish 1965)."""
    sizes = group_sums(weights, groups)
    return math.fsum(sizes) ** 2 / sum_of_squares(sizes)


def _compare_annotators(figures: _Figures, rated: Sequence[Rated], levels: Sequence[float]) -> None:
    votes = [sample.votes for sample in rated]
    why = _PEOPLE_ONE_LEVEL
    if len({name for vote in votes for name in vote}) < 2:
        why = "one annotator"
    elif all(len(vote) < 2 for vote in votes):
        why = "no sample has two annotators"
    groups = _groups(rated) or range(len(rated))
    count = len(levels)
    pairs: list[Unit] = [coincidences(vote, levels) for vote in votes]
    found = Counted.of(pairs, count, count, groups)
    alpha = krippendorff_alpha(votes, levels)
    # All but 1/n of alpha is Spearman's rho of the coincidences.
    figures.add("alpha", alpha, why, table_interval(spearman_influence, found, alpha))
    compared, rows = pair_units(votes, levels)
    found = Counted.of(compared, rows, count, groups)
    ceiling = human_ceiling(votes, levels)
    figures.add("ceiling", ceiling, why, table_interval(ceiling_influence, found, ceiling))


def _add_bias(figures: _Figures, rated: Sequence[Rated], unit: Callable[[float], float]) -> None:
    """Add the mean of the judge minus people, whose votes are not cut to a majority here.

    Its variance is the larger of two: that of the sums by group, and that with one more sample (or
    group) that is altogether wrong, for a judge that is right on ten samples may not always be.
    """
    groups, total = _groups(rated), math.fsum(sample.weight for sample in rated)
    above = [
        sample.unit - unit(math.fsum(sample.votes.values()) / len(sample.votes)) for sample in rated
    ]
    shares = [sample.weight / total for sample in rated]
    bias = dot(above, shares)
    terms = [share * (found - bias) for share, found in zip(shares, above, strict=True)]
    squares, apart = (sum_of_squares(group_sums(terms, of)) for of in (groups, None))
    k, ends = _independent(shares, groups), None
    if k >= 2.0:
        # The errors in the added group are as alike as in those there are, and no less than if they
        # were independent: errors that cancel out in every group leave no variance.
        least = k / _independent(shares, None)
        alike = min(max(squares / apart, 1.0) * least, 1.0) if apart else 1.0
        variance = max(squares * k / (k - 1.0), (squares + alike / (k * k)) * k / (k + 1.0))
        half = t_quantile(0.975, k - 1.0) * math.sqrt(variance)
        ends = (bias - half, bias + half)
    figures.add("bias", bias, "", ends)


def _disagreements(
    seen: Sequence[_Seen], unit: Callable[[float], float]
) -> tuple[Disagreement, ...]:
    found = [
        Disagreement(
            sample_id=sample.of.sample_id,
            human=sample.human,
            judge=sample.of.judge,
            score=sample.of.score,
            distance=distance,
            agreeing=sample.agreeing,
            annotators=len(sample.of.votes),
            reason=sample.of.reason,
        )
        for sample in seen
        if sample.of.judge is not None
        and sample.of.judge != sample.human
        and (distance := abs(sample.of.unit - unit(sample.human))) > 0.0
    ]
    # Sorting keeps the order of samples that are equal by both.
    found.sort(key=lambda one: (-one.distance, -one.agreeing / one.annotators))
    return tuple(found[:MOST_DISAGREEMENTS])
