"""The section ``best`` of a scenario file: what its variants are ranked by, and which must lead."""

from __future__ import annotations

from pydantic import Field

from pytest_rageval.model import WEIGHTED_SCORE
from pytest_rageval.scenario.spec import Name, Number, Share, Spec, Whole


class BestSpec(Spec):
    """How the variants are compared; a bare name is the variant that none may beat."""

    short_form = "at_least"

    of: Name = Field(WEIGHTED_SCORE, description="the metric by which variants are ranked")
    at_least: Name | None = Field(
        None, description="the variant that none may be significantly better than: the gate 'best'"
    )
    alpha: Share = Field(0.05, description="over all pairs of variants, two-sided")
    min_pairs: Number = Field(
        0.9, ge=0.0, le=1.0, description="share of the samples that every variant must score"
    )
    n_resamples: Whole = Field(10_000, ge=100, description="where the test is not exact")
    seed: Whole = Field(42, ge=0, description="where the test is not exact")
    anyway: bool = Field(False, description="also where metrics, weights or questions differ")
