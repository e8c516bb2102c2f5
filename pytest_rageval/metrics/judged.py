"""The metrics judged, how much of a search result is judged, and rbp, which says what is open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from pytest_rageval.metrics.base import MAX_CUTOFF, ScoringContext, defined
from pytest_rageval.metrics.holes import hole_ranks, judged_share
from pytest_rageval.metrics.ranking import MeasureOptions
from pytest_rageval.model import Sample, Score

_NEEDS = "retrieved_ids reference_ids"


class JudgedOptions(MeasureOptions):
    """How much of a ranking is looked at."""

    k: int | None = Field(
        None, ge=1, le=MAX_CUTOFF, strict=True, description="only the first k results count"
    )


class RbpOptions(MeasureOptions):
    """How patient the reader is, and what is relevant."""

    p: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
        0.8, description="the probability that the reader goes on to the next result"
    )
    rel: int = Field(
        1,
        ge=1,
        le=MAX_CUTOFF,
        strict=True,
        description="a document is relevant from this grade upwards",
    )

    @property
    def parameters(self) -> dict[str, Any]:
        """The options ``p`` and ``rel``, where they are no defaults."""
        return self.model_dump(exclude_defaults=True, exclude={"filled"})


@dataclass(frozen=True)
class JudgedMetric:
    """The share of the first k results that is judged; of all results if fewer, or without k."""

    name: str
    options: JudgedOptions

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the share in 0..1; unscored where nothing was retrieved, or nothing is judged."""
        if not sample.reference_ids:
            return _not_judged(self.name)
        share = judged_share(sample, self.options.k)
        reason = "nothing was retrieved" if share is None else None
        return Score(self.name, share, reason=reason)


@dataclass(frozen=True)
class RankBiasedPrecision:
    """(1 - p) Σ pⁱ⁻¹ relᵢ (Moffat and Zobel 2008): a reader who goes on with probability p.

    The ``residual`` in the details is what the holes and all that is below the last rank would add
    if it were relevant: (1 - p) Σ pⁱ⁻¹ over the holes, and pⁿ after rank n.
    """

    name: str
    options: RbpOptions

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the figure in 0..1; where nothing was retrieved, 0 with a residual of 1.

        Unscored where nothing is judged.
        """
        if not sample.reference_ids:
            return _not_judged(self.name)
        retrieved = sample.retrieved_ids or ()
        value = self._share(_relevant_ranks(sample, sample.reference_ids, self.options.rel))
        rest = self._share(hole_ranks(sample, None)) + self.options.p ** len(retrieved)
        return Score(self.name, value, details={"residual": rest})

    def _share(self, ranks: list[int]) -> float:
        p = self.options.p
        return (1.0 - p) * math.fsum(p ** (rank - 1) for rank in ranks)


def _relevant_ranks(sample: Sample, judged: Mapping[str, int], rel: int) -> list[int]:
    retrieved = enumerate(sample.retrieved_ids or (), 1)
    return [rank for rank, name in retrieved if judged.get(name, 0) >= rel]


def _not_judged(name: str) -> Score:
    return Score(name, None, reason="no document is judged: reference_ids are empty")


METRICS = (
    defined(
        "judged", _NEEDS, "the share of the results that is judged", JudgedMetric, JudgedOptions
    ),
    defined(
        "rbp rank_biased_precision",
        _NEEDS,
        "what a reader finds who goes on to the next result with probability p",
        RankBiasedPrecision,
        RbpOptions,
    ),
)
