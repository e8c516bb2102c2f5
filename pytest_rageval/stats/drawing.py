"""Which answers people label next: drawn uniformly at first, then by strata."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.model import Draw, Label
from pytest_rageval.stats import label_plan
from pytest_rageval.stats.corrected import LEAST_LABELS
from pytest_rageval.stats.label_plan import LEAST_IN_STRATUM, allocation
from pytest_rageval.stats.label_strata import CHANGED, code_in

FIRST: Final = 30
"""So many labels are drawn uniformly before the judge's verdict decides where to look."""

MOST_STRATA: Final = 3

HIGH: Final = "high"
LOW: Final = "low"
SEVERAL: Final = "several"
"""Kinds of strata besides CHANGED: by the judge's verdict, and such as were put together."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer of the population; ``is_high`` is the judge's verdict, ``weight`` its sample's.

    ``human`` is what people say of it, from 0 to 1: None without labels that were drawn. So is
    ``score`` what the judge says; no draw depends on it. ``labels`` are all of its sample, also of
    other answers.
    """

    sample_id: str
    digest: str
    is_high: bool
    weight: float = 1.0
    human: float | None = None
    score: float = 0.0
    labels: Sequence[Label] = ()


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
    population: Sequence[Candidate],
    n: int,
    seed: int,
    bearing: Sequence[Draw] = (),
    kinds: Mapping[str, str] | None = None,
    apart: Collection[str] = (),
) -> Drawing:
    """Draw ``n`` samples without a label, or all there are.

    ``bearing`` are earlier draws that bear labels, ``kinds`` those of all earlier strata by code.
    The first FIRST labels are drawn uniformly. Then, or as soon as answers have changed, the draw
    is by strata: changed answers, and the judge's verdict or what the last draw made of it, so that
    a judge who wavers does not split strata any further. The samples ``apart`` are wanted as much
    as changed ones, and are a stratum, too.
    """
    rng, kinds = random.Random(seed), kinds or {}
    parts = _parts(population, bearing, kinds, apart)
    if not parts:
        free = [one.sample_id for one in population if one.human is None]
        return Drawing(rng.sample(free, min(n, len(free))))
    counts = allocation([part.plan for part in parts], n)
    total = math.fsum(part.weight for part in parts) or 1.0
    ids: list[str] = []
    strata: dict[str, Stratum] = {}
    of: dict[str, str] = {}
    for part, count in zip(parts, counts, strict=True):
        code = _code(rng, kinds.keys() | strata.keys())
        free = [one.sample_id for one in part.members if one.human is None]
        ids += rng.sample(free, count)
        of |= dict.fromkeys((one.sample_id for one in part.members), code)
        size = len(part.members)
        strata[code] = Stratum(part.kind, size, part.weight / total, size - len(free), count)
    return Drawing(ids, strata, of)


@dataclass(frozen=True, slots=True)
class _Part:
    """Samples of the population from which a draw is uniform."""

    kind: str
    members: Sequence[Candidate]

    @property
    def labels(self) -> Sequence[float]:
        return [one.human for one in self.members if one.human is not None]

    @property
    def weight(self) -> float:
        return math.fsum(one.weight for one in self.members)

    @property
    def least(self) -> int:
        return LEAST_LABELS if self.kind == CHANGED else LEAST_IN_STRATUM

    @property
    def lacks(self) -> bool:
        return len(self.labels) < min(self.least, len(self.members))

    @property
    def plan(self) -> label_plan.Stratum:
        """What decides how much of it is labelled.

        The deviation of the labels is taken as if one more were 1/2 away from their mean.
        """
        labels, size = self.labels, len(self.members)
        mean = math.fsum(labels) / max(len(labels), 1)
        squares = math.fsum((label - mean) ** 2 for label in labels)
        deviation = math.sqrt((squares + 0.25) / (len(labels) + 1))
        return label_plan.Stratum(size, len(labels), deviation * self.weight / size, self.least)


def _parts(
    population: Sequence[Candidate],
    bearing: Sequence[Draw],
    kinds: Mapping[str, str],
    apart: Collection[str],
) -> list[_Part]:
    """Return the strata, changed answers first; [] if the draw is to be uniform.

    They are those within which a corrected mean takes labels for drawn uniformly. Where these are
    too many, some that have their labels are drawn from together.
    """
    found: defaultdict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    has_strata = any(one.strata for one in bearing)
    for one in population:
        key = [code_in(earlier, one) for earlier in bearing]
        if one.sample_id in apart:
            key.append(CHANGED)
        elif CHANGED not in key and not has_strata:
            key.append(HIGH if one.is_high else LOW)
        found[tuple(key)].append(one)
    parts = [_Part(_kind(key, kinds), found[key]) for key in sorted(found)]
    labelled = sum(one.human is not None for one in population)
    if labelled < FIRST and not has_strata and {one.kind for one in parts} <= {HIGH, LOW}:
        return []
    while len(parts) > MOST_STRATA:
        parts.sort(key=lambda part: (part.lacks * part.least, len(part.members)))
        parts[:2] = [_Part(SEVERAL, [*parts[0].members, *parts[1].members])]
    return sorted(parts, key=lambda part: part.kind != CHANGED)


def _kind(key: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return what a stratum is: changed, or as the newest draw that knows it has it."""
    if CHANGED in key:
        return CHANGED
    named = [kinds.get(code, code) for code in key if code]
    return named[-1] if named else SEVERAL


def _code(rng: random.Random, taken: Collection[str]) -> str:
    """Return a new code, which tells people nothing of what is in the stratum."""
    while (code := f"s-{rng.getrandbits(24):06x}") in taken:
        pass
    return code
