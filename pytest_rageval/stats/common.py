"""Joins several runs by sample id: the samples that all of them scored, and what they lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.groups import group_numbers
from pytest_rageval.stats.summary import Groups
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored, weighted_mean

_Scores = Sequence[float | None]
_Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Common:
    """The samples that count: those with a score in every run that has any.

    ``total`` counts the samples of which some run was to have a score, ``lacking`` by run those of
    them that it has none of. ``scores`` are those of each run that has any, by variant. ``partly``
    counts the samples whose weighted scores leave out a metric that applies in only some runs.
    """

    total: int
    lacking: Mapping[str, int]
    scores: Mapping[str, Sequence[float]]
    weights: Sequence[float]
    groups: Groups
    partly: int

    @property
    def count(self) -> int:
        """How many samples all runs scored: none, if one has no score at all."""
        return len(self.weights) if len(self.scores) == len(self.lacking) else 0


def join(results: Sequence[ScenarioResult], leading: ScenarioResult, metric: str) -> Common:
    """Return what the runs have in common, weighed and grouped as ``leading`` has it."""
    wanted = {result.info.variant: wanted_samples(result) for result in results}
    scored = {
        variant: {name: one for name, one in found.items() if is_scored(score_of(one, metric))}
        for variant, found in wanted.items()
    }
    total = len(set().union(*wanted.values()))
    some = {variant: found for variant, found in scored.items() if found}
    leads = scored[leading.info.variant] or next(iter(some.values()), {})
    columns = _counted(results, leading.info) if metric == WEIGHTED_SCORE else ()
    anew = bool(columns) and len({tuple(weights_of(one.info).items()) for one in results}) > 1
    kept: list[SampleResult] = []
    table: list[Sequence[float]] = []
    partly = 0
    for name in leads:
        samples = [found[name] for found in some.values() if name in found]
        rows = [one.scores for one in samples]
        scores = weighted_alike(columns, rows, [score_of(one, metric) for one in samples], anew)
        found = list(filter(is_scored, scores))
        if len(found) == len(some):
            kept.append(leads[name])
            table.append(found)
            partly += apply_unlike(columns, rows)
    return Common(
        total=total,
        lacking={variant: total - len(found) for variant, found in scored.items()},
        scores={variant: [row[at] for row in table] for at, variant in enumerate(some)},
        weights=[sample.sample_weight for sample in kept],
        groups=group_numbers(leading.info, kept),
        partly=partly,
    )


def wanted_samples(result: ScenarioResult) -> dict[str, SampleResult]:
    """Return by id the samples with a weight that were to have a score.

    Those before which the run stopped asking are among them.
    """
    return {
        sample.sample_id: sample
        for sample in result.samples
        if sample.sample_weight > 0.0 and (sample.is_expected or sample.is_left_out)
    }


def weights_of(info: ScenarioInfo) -> dict[str, float]:
    """Return the weight of each metric that the weighted score follows from, by name, sorted."""
    found = {column.name: column.weight for column in info.metrics if column.weight > 0.0}
    return dict(sorted(found.items()))


def weighted_alike(
    columns: Sequence[MetricColumn], rows: Sequence[_Row], own: _Scores, anew: bool = False
) -> _Scores:
    """Return the weighted scores of a sample in several runs, over the same metrics in each.

    ``rows`` are its scores in each run, ``own`` its weighted scores: it has one in every run. A
    metric that applies in only some is left out of all. ``anew``: the runs weigh differently, and
    all are weighed as ``columns`` say.
    """
    if not (anew or apply_unlike(columns, rows)):
        return own
    common = [one for one in columns if all(row.get(one.name) is not None for row in rows)]
    return [weighted_mean(_weighed(common, row)) for row in rows]


def _weighed(columns: Sequence[MetricColumn], row: _Row) -> Iterator[tuple[float, float]]:
    for column in columns:
        score = row.get(column.name)
        if score is not None:
            yield column.to_unit(score), column.weight


def apply_unlike(columns: Sequence[MetricColumn], rows: Sequence[_Row]) -> bool:
    """Return whether one of the metrics has a score in some of the runs only."""
    return any(len({row.get(one.name) is None for row in rows}) > 1 for one in columns)


def _counted(results: Sequence[ScenarioResult], info: ScenarioInfo) -> list[MetricColumn]:
    """Return the metrics with a weight that all runs have."""
    known = [{column.name for column in one.info.metrics} for one in results]
    return [
        column
        for column in info.metrics
        if column.weight > 0.0 and all(column.name in names for names in known)
    ]
