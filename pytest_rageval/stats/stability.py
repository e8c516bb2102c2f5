"""How steady a judge is: verdicts that its repeats change, and the chance of another mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_rageval.model import REPEATS, WEIGHTED_SCORE, Bound, SampleResult, ScenarioInfo
from pytest_rageval.stats.summary import standard_deviation
from pytest_rageval.stats.verdict import score_of, shortfalls
from pytest_rageval.stats.weights import is_scored, rescale, weighted_mean


@dataclass(frozen=True, slots=True)
class Stability:
    """Of ``samples`` judged up to ``repeats`` times, ``flips`` pass in some and fail in others."""

    repeats: int
    samples: int
    flips: int


def stability(info: ScenarioInfo, samples: Iterable[SampleResult]) -> Stability | None:
    """Return how stable the verdicts are, None if nothing was asked more than once."""
    metrics = [column.name for column in info.metrics]
    judged = [(sample, found) for sample in samples if (found := repeats_of(sample, metrics))]
    if not judged:
        return None
    counts = [len(values) for _, found in judged for values in found.values()]
    flips = sum(_flips(info, sample, found) for sample, found in judged)
    return Stability(max(counts), len(judged), flips)


def repeats_of(sample: SampleResult, metrics: Iterable[str]) -> dict[str, list[float | None]]:
    """Return the values of all repeats for each of ``metrics`` that was asked more than once."""
    if not sample.details:
        return {}
    found = {metric: _values(sample.details.get(metric)) for metric in metrics}
    return {metric: values for metric, values in found.items() if values is not None}


def _values(details: Any) -> list[float | None] | None:
    """Return the values of the repeats that make a score, None if there are none.

    A user's metric may have anything under ``repeats`` in its details.
    """
    repeats = details.get(REPEATS) if isinstance(details, Mapping) else None
    if not isinstance(repeats, Mapping) or set(repeats) != {"values", "spread"}:
        return None
    values = repeats["values"]
    if not isinstance(values, list) or len(values) < 2 or not _is_known(repeats["spread"]):
        return None
    return values if all(map(_is_known, values)) else None


def _is_known(value: Any) -> bool:
    """Return whether a value is a number or null."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _flips(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[float | None]]
) -> bool:
    """Return whether some repeats meet the thresholds and others miss them.

    A repeat without a score has no verdict.
    """
    whole = min(map(len, repeats.values()))
    asked = [
        at for at in range(whole) if all(values[at] is not None for values in repeats.values())
    ]
    verdicts = {bool(shortfalls(as_in(info, sample, repeats, at), info.thresholds)) for at in asked}
    return len(verdicts) > 1


def as_in(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[Any]], at: int
) -> SampleResult:
    """Return the sample as it would be if it had been judged in repeat ``at`` only."""
    scores = dict(sample.scores)
    scores.update({metric: values[at] for metric, values in repeats.items()})
    overall = weighted_mean(
        (
            None if (value := scores.get(column.name)) is None else column.to_unit(value),
            column.weight,
        )
        for column in info.metrics
    )
    return replace(sample, scores=scores, weighted_score=overall)


LEAST: Final = 0.001
"""The smallest chance that is told: the tails of a normal distribution are not those of a judge."""


@dataclass(frozen=True, slots=True)
class SecondRun:
    """How far the mean would move if the judge were asked again, as often as in this run.

    ``judged`` counts the samples with a weight that a judge was or may have been asked about,
    ``known`` those of them with scores of two repeats or more. ``sd`` is the standard deviation of
    the mean: 0 where all repeats agree, None where none, or fewer than half of ``judged``, are
    known.
    """

    repeats: int
    judged: int
    known: int
    sd: float | None

    def chance(self, mean: float, bound: Bound) -> float | None:
        """Return how likely the verdict of ``bound`` is another one the next time, 0.001 to 1.

        The next mean is normal around this one; both runs have chance in them. None where no
        repeats differ, and where that is not known.
        """
        if not self.sd:
            return None
        width = self.sd * math.sqrt(2.0)
        to_min = -math.inf if bound.min is None else (bound.min - mean) / width
        to_max = math.inf if bound.max is None else (bound.max - mean) / width
        if bound.holds(mean):
            flips = _beyond(-to_min) + _beyond(to_max)
        else:  # it would have to land between the bounds, both of which lie on one side
            near, far = sorted((abs(to_min), abs(to_max)))
            flips = _beyond(near) - _beyond(far)
        return max(flips, LEAST)

    def said(self, mean: float, bound: Bound) -> str:
        """Return in words how sure the verdict of ``bound`` is."""
        if self.sd is None:
            return f"how sure this is, is not known: {self.lacking}"
        chance = self.chance(mean, bound)
        if chance is None:
            lacking = "" if self.known == self.judged else f", {self.lacking}"
            samples = "sample" if self.known == 1 else "samples"
            return f"no flip seen in {self.repeats} repeats of {self.known} {samples}{lacking}"
        share = "less than 1" if chance < 0.005 else f"{100.0 * chance:.0f}"
        return f"a second run would differ in {share} %"

    @property
    def lacking(self) -> str:
        """How many samples lack a second score."""
        if not self.judged:
            return "the judge scored no sample"
        few = self.judged - self.known
        return f"{few} of {self.judged} judged samples lack a second score"


def second_run(
    info: ScenarioInfo, samples: Iterable[SampleResult], target: str
) -> SecondRun | None:
    """Return what is known of a second run; None where no judge is asked for it several times.

    Each sample adds w²s²/k: its weight, the variance of its repeats (divisor k - 1), how many
    there are. One that asks no judge, such as an empty answer, adds nothing. One without a second
    score, also one that a metric does not apply to, such as a refusal, adds the mean variance of
    the others, as of one repeat: not known is not steady.
    """
    asked = _asked(info, target)
    if not asked:
        return None
    scored = [s for s in samples if s.is_expected and is_scored(score_of(s, target))]
    weights = rescale([sample.sample_weight for sample in scored])
    judged = [
        (weight, found)
        for sample, weight in zip(scored, weights, strict=True)
        if weight and (found := _repeated(info, sample, target, asked)) is not None
    ]
    known = [(weight, found) for weight, found in judged if len(found) > 1]
    repeats = max((len(found) for _, found in known), default=0)
    if 2 * len(known) < len(judged) or not known:
        return SecondRun(repeats, len(judged), len(known), None)
    variances = [_variance(found) for _, found in known]
    typical = math.fsum(variances) / len(variances)
    parts = [w * w * s / len(f) for (w, f), s in zip(known, variances, strict=True)]
    parts += [weight * weight * typical for weight, found in judged if len(found) < 2]
    sd = math.sqrt(math.fsum(parts)) / math.fsum(weights)
    return SecondRun(repeats, len(judged), len(known), sd)


def _asked(info: ScenarioInfo, target: str) -> list[str]:
    """Return the metrics behind ``target`` that a judge is asked for more than once."""
    if target != WEIGHTED_SCORE:
        return [target] if target in info.repeated else []
    weighing = [column for column in info.metrics if column.weight > 0.0]
    if any(column.filled for column in weighing):
        return []  # of grades that are repeated the middle one is kept: how steady they are is lost
    return [column.name for column in weighing if column.name in info.repeated]


def _repeated(
    info: ScenarioInfo, sample: SampleResult, target: str, asked: Sequence[str]
) -> list[float] | None:
    """Return what the score would be by each repeat that has one; None if no judge was asked.

    [] where a metric does not apply to the answer: results do not say whether the judge was asked
    for that or a phrase told it.
    """
    repeats = repeats_of(sample, asked)
    if any(sample.left_out.get(name) == "answer" for name in asked if name not in repeats):
        return []
    if not repeats:
        return None
    if target != WEIGHTED_SCORE:
        return [value for value in repeats[target] if is_scored(value)]
    whole = min(map(len, repeats.values()))
    complete = [at for at in range(whole) if all(is_scored(of[at]) for of in repeats.values())]
    values = [as_in(info, sample, repeats, at).weighted_score for at in complete]
    return [value for value in values if is_scored(value)]


def _variance(values: Sequence[float]) -> float:
    # The float mean of equal values may be another number.
    spread = standard_deviation(values) if len(set(values)) > 1 else 0.0
    return spread * spread if spread else 0.0


def _beyond(deviations: float) -> float:
    """Return the chance that a normal value lies so many standard deviations above its mean."""
    return math.erfc(deviations / math.sqrt(2.0)) / 2.0
