"""Which answers people label next, and how many labels a figure still needs."""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.model import Draw
from pytest_rageval.stats.intervals import LARGEST_PROBABILITY, t_quantile
from pytest_rageval.stats.labels.corrected import LEAST_LABELS, Judged, residuals
from pytest_rageval.stats.labels.influence import Z_95, dot
from pytest_rageval.stats.labels.strata import CHANGED, Member, code_in
from pytest_rageval.stats.summary import group_sums

FIRST: Final = 30
"""With so many labels, the judge's verdict decides where the next draw looks; before, none does."""

MOST_STRATA: Final = 3
"""The most strata of one draw: of more, some are drawn from together."""

LEAST_IN_STRATUM: Final = 5
"""So many labels each stratum gets before the others get more."""

_LARGEST_CORRELATION: Final = 1.0 - 1e-12

HIGH: Final = "high"
LOW: Final = "low"
SEVERAL: Final = "several"
"""Kinds of strata besides CHANGED: by the judge's verdict, or several strata as one."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of the population from which ``drawn`` samples were drawn uniformly.

    ``labelled`` of its ``size`` samples had labels before; ``share`` is that of all weight.
    """

    kind: str
    size: int
    share: float
    labelled: int
    drawn: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawn samples, and the strata that they are from.

    ``strata`` are by code, and ``of`` has the code of each sample of the population; both are empty
    where the draw was uniform.
    """

    ids: Sequence[str]
    strata: Mapping[str, Stratum] = field(default_factory=dict)
    of: Mapping[str, str] = field(default_factory=dict)


def draw(
    population: Sequence[Member],
    n: int,
    seed: int,
    bearing: Sequence[Draw] = (),
    kinds: Mapping[str, str] | None = None,
    apart: Collection[str] = (),
) -> Drawing:
    """Draw ``n`` samples without a label, or all there are.

    ``bearing`` are the earlier draws that labels come from, oldest first; ``kinds`` has the kind of
    each earlier stratum by its code. With fewer than FIRST labels before it, a draw is uniform.
    With as many, or once answers have changed, it is by strata: changed answers are apart, the
    others are divided by the judge's verdict or, if earlier draws had strata, as these were, so
    that a judge who wavers does not divide them again. The samples ``apart`` are drawn from
    separately, too, and are wanted as much as changed ones.
    """
    rng, kinds = random.Random(seed), kinds or {}
    parts = _parts(population, bearing, kinds, apart)
    if not parts:
        unlabelled = [member.sample_id for member in population if not member.is_labelled]
        return Drawing(rng.sample(unlabelled, min(n, len(unlabelled))))
    counts = allocation([part.need for part in parts], n)
    total = math.fsum(part.weight for part in parts) or 1.0
    ids: list[str] = []
    strata: dict[str, Stratum] = {}
    of: dict[str, str] = {}
    for part, count in zip(parts, counts, strict=True):
        code = _code(rng, kinds.keys() | strata.keys())
        unlabelled = [member.sample_id for member in part.members if not member.is_labelled]
        ids += rng.sample(unlabelled, count)
        of |= dict.fromkeys((member.sample_id for member in part.members), code)
        size = len(part.members)
        strata[code] = Stratum(part.kind, size, part.weight / total, size - len(unlabelled), count)
    return Drawing(ids, strata, of)


@dataclass(frozen=True, slots=True)
class _Part:
    """Samples of the population from which a draw is uniform."""

    kind: str
    members: Sequence[Member]

    @property
    def labels(self) -> Sequence[float]:
        return [label for member in self.members if (label := member.judged.human) is not None]

    @property
    def weight(self) -> float:
        return math.fsum(member.judged.weight for member in self.members)

    @property
    def least(self) -> int:
        return LEAST_LABELS if self.kind == CHANGED else LEAST_IN_STRATUM

    @property
    def lacks_labels(self) -> bool:
        return len(self.labels) < min(self.least, len(self.members))

    @property
    def need(self) -> StratumNeed:
        """What decides how many of its samples are labelled.

        The deviation of the labels is taken as if one more were 1/2 away from their mean, and
        multiplied by the mean weight of a sample.
        """
        labels, size = self.labels, len(self.members)
        mean = math.fsum(labels) / max(len(labels), 1)
        squares = math.fsum((label - mean) ** 2 for label in labels)
        deviation = math.sqrt((squares + 0.25) / (len(labels) + 1))
        return StratumNeed(size, len(labels), deviation * self.weight / size, self.least)


def _parts(
    population: Sequence[Member],
    bearing: Sequence[Draw],
    kinds: Mapping[str, str],
    apart: Collection[str],
) -> list[_Part]:
    """Return the strata, changed answers first; [] if the draw is to be uniform.

    Within each, a corrected mean takes labels for drawn uniformly. Where there are too many, the
    smallest are drawn from together, those first that have their least labels.
    """
    members: defaultdict[tuple[str, ...], list[Member]] = defaultdict(list)
    has_strata = any(earlier.strata for earlier in bearing)
    for member in population:
        key = [code_in(earlier, member) for earlier in bearing]
        if member.sample_id in apart:
            key.append(CHANGED)
        elif CHANGED not in key and not has_strata:
            key.append(HIGH if member.judged.verdict else LOW)
        members[tuple(key)].append(member)
    parts = [_Part(_kind(key, kinds), members[key]) for key in sorted(members)]
    labelled = sum(member.is_labelled for member in population)
    if labelled < FIRST and not has_strata and {part.kind for part in parts} <= {HIGH, LOW}:
        return []
    while len(parts) > MOST_STRATA:
        parts.sort(key=lambda part: (part.lacks_labels * part.least, len(part.members)))
        parts[:2] = [_Part(SEVERAL, [*parts[0].members, *parts[1].members])]
    return sorted(parts, key=lambda part: part.kind != CHANGED)


def _kind(key: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return what a stratum is: changed, or as the newest draw with strata has it, else several."""
    if CHANGED in key:
        return CHANGED
    named = [kinds.get(code, code) for code in key if code]
    return named[-1] if named else SEVERAL


def _code(rng: random.Random, taken: Collection[str]) -> str:
    """Return a new code, which tells people nothing of what is in the stratum."""
    while (code := f"s-{rng.getrandbits(24):06x}") in taken:
        pass
    return code


@dataclass(frozen=True, slots=True)
class StratumNeed:
    """Samples to label from: all that it holds, those that are labelled, and the labels' spread.

    It gets ``least`` labels before the others get more.
    """

    size: int
    labelled: int
    deviation: float
    least: int = LEAST_IN_STRATUM


def labels_needed(
    pilot: Sequence[Judged], half_width: float, confidence: float = 0.95
) -> tuple[int, int] | None:
    """Return the fewest and the most labels in all that bring the interval to ± ``half_width``.

    ``pilot`` is the whole population, ``half_width`` is in 0..1, as scores are. None if fewer than
    10 samples are labelled, or all of these are of one group. With Y and f people's and the judge's
    scores and N of the n + N samples without a label, n is the smallest with
    t² var(Y)/n (1 - rho² N/(n + N)) <= ``half_width``², with the t of ``confidence``. Both numbers
    come from the 95 % interval of rho by Fisher; a judge of rho below 0 is not believed. A number
    above that of the samples says that not even all would do. Where all people say the same, one
    more is taken to differ.
    """
    rows = [answer for answer in pilot if answer.weight > 0.0]
    labelled = [(row, row.human) for row in rows if row.human is not None]
    n, size = len(labelled), len(rows)
    if n < LEAST_LABELS:
        return None
    weights = [row.weight for row, _ in labelled]
    groups = [-1 - at if row.group is None else row.group for at, (row, _) in enumerate(labelled)]
    human = group_sums(residuals([label for _, label in labelled], weights), groups)
    judge = group_sums(residuals([row.judge for row, _ in labelled], weights), groups)
    k = len(human)
    if k < 2:
        return None
    variance = dot(human, human) / n * k / (k - 1) or 1.0 / (n + 1)
    probability = min(0.5 + confidence / 2.0, LARGEST_PROBABILITY)
    few, many = sorted(
        _smallest(variance, max(rho, 0.0), size, half_width, probability)
        for rho in _fisher(human, judge)
    )
    return few, many


def allocation(strata: Sequence[StratumNeed], labels: int) -> list[int]:
    """Return how many of ``labels`` more samples to label in each stratum, by Neyman's rule.

    Each is first brought to its least, that with the largest least before others, and of equal ones
    that with the fewest labels. Then each label goes where it most lowers the variance, which is
    Σ (size·deviation)²/labelled, among equals where the smaller share is labelled. No stratum gets
    more than it holds, so the sum may be less than ``labels``.

    >>> allocation([StratumNeed(100, 5, 0.4), StratumNeed(100, 5, 0.2), StratumNeed(3, 0, 0.5)], 12)
    [8, 1, 3]
    """
    labelled = [stratum.labelled for stratum in strata]
    for _ in range(labels):
        left = [at for at, stratum in enumerate(strata) if labelled[at] < stratum.size]
        if not left:
            break
        labelled[max(left, key=lambda at: _urgency(strata[at], labelled[at]))] += 1
    return [now - stratum.labelled for now, stratum in zip(labelled, strata, strict=True)]


def _urgency(stratum: StratumNeed, labelled: int) -> tuple[float, ...]:
    if labelled < stratum.least:
        return math.inf, stratum.least, -labelled
    gain = (stratum.size * stratum.deviation) ** 2 / (labelled * (labelled + 1))
    return gain, -labelled / stratum.size


def _fisher(human: Sequence[float], judge: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the correlation of residuals."""
    spread = math.sqrt(dot(human, human) * dot(judge, judge))
    if spread == 0.0:
        return 0.0, 0.0
    rho = dot(human, judge) / spread
    centre = math.atanh(min(max(rho, -_LARGEST_CORRELATION), _LARGEST_CORRELATION))
    half = Z_95 / math.sqrt(max(len(human) - 3, 1))
    return math.tanh(centre - half), math.tanh(centre + half)


def _smallest(variance: float, rho: float, size: int, half_width: float, probability: float) -> int:
    """Return the fewest labels that do, LEAST_LABELS at least; ``size`` + 1 if all do not."""

    def is_enough(n: int) -> bool:
        left = variance / n * (1.0 - rho * rho * (size - n) / size)
        return t_quantile(probability, n - 1) ** 2 * left <= half_width * half_width

    return LEAST_LABELS + bisect_left(range(LEAST_LABELS, size + 1), True, key=is_enough)
