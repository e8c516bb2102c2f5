"""Runs and variants against each other: what is compared, how it is tested, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_rageval.model.value import (
    NOTHING,
    WEIGHTED_SCORE,
    Cause,
    Correction,
    TestName,
    Value,
)


class SignificanceTest(Value, frozen=True):
    """How a difference of two runs is tested for chance; ``alpha`` is two-sided.

    ``looks`` is how many runs in a row are held against one baseline: they share ``alpha``.
    """

    test: TestName = "permutation"
    alpha: float = 0.05
    n_resamples: int = 10_000
    seed: int = 42
    correction: Correction = "max-t"
    looks: int = 1


class Comparing(Value, frozen=True):
    """The comparison that a scenario asks for; empty ``metrics`` mean all."""

    baseline: str
    metrics: tuple[str, ...] = ()
    test: SignificanceTest = SignificanceTest()


class Baseline(Value, frozen=True):
    """Another run: the ids of its samples, and for each metric their scores by id.

    ``weighted_score`` is among the metrics when the run has all of this scenario's; it is weighed
    as this scenario weighs.
    """

    name: str
    ids: Sequence[str]
    scores: Mapping[str, Mapping[str, float | None]]
    failed: Mapping[str, Sequence[str]] = NOTHING
    """By metric, the samples on which it failed in that run: they have no weighted score."""
    digests: Mapping[str, str] = NOTHING
    """The digests of its answers by sample id, where labels are compared."""
    judged: Mapping[str, Mapping[str, float]] = NOTHING
    """By metric and sample id, the share of the results that is judged, where not all are."""


class MetricComparison(Value, frozen=True, rename={"a_mean": "A_mean", "b_mean": "B_mean"}):
    """A metric in two runs, A (this one) and B (the baseline), over the samples that both scored.

    Means are weighted by sample; ``diff`` is A - B with its interval. ``p_value`` is the raw
    two-sided one and None where no test can say anything, ``p_adjusted`` is adjusted over the
    metrics that are judged together and None for one that is only shown, ``significant`` means
    ``p_adjusted`` below alpha. ``n`` counts the samples, ``n_nonzero`` those that differ.
    ``smallest_detectable`` is the difference that this many samples would have shown with a power
    of 80 %, None where the differences do not vary. ``note`` says what is odd. ``groups`` counts
    the groups of samples, None where each sample is its own. ``undecided`` says why no data of this
    size could have shown a difference, empty where it could.
    """

    a_mean: float | None
    b_mean: float | None
    diff: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    n: int
    n_nonzero: int
    method: str
    smallest_detectable: float | None
    note: str = ""
    groups: int | None = None
    undecided: str = ""


_IN_FILES: Final = {"only_a": "only_here", "only_b": "only_in_baseline"}


class Comparison(Value, frozen=True, rename=_IN_FILES):
    """A run (A) against its ``baseline`` (B), joined by sample id.

    ``correction`` is how the p-values were adjusted. ``alpha`` is that of this one look: ``looks``
    runs share the scenario's. ``only_a`` and ``only_b`` are the ids of samples in one run alone.
    """

    baseline: str
    test: str
    alpha: float
    metrics: Mapping[str, MetricComparison]
    only_a: Sequence[str] = ()
    only_b: Sequence[str] = ()
    correction: Correction = "holm"
    looks: int = 1


BEST: Final = "best"
"""The name of the gate that compares the variants of a scenario."""


class Contest(Value, frozen=True):
    """The variants of a scenario in the order of its file, and how they are compared.

    They are ranked by the metric ``of``. ``at_least`` is the variant that the gate ``best`` is
    about: no other may be significantly better. None without that gate. ``min_pairs`` is the least
    share of the samples that all variants have to score. With ``anyway`` variants are ranked even
    if their questions or metrics differ.
    """

    names: tuple[str, ...]
    of: str = WEIGHTED_SCORE
    at_least: str | None = None
    alpha: float = 0.05
    n_resamples: int = 10_000
    seed: int = 42
    min_pairs: float = 0.9
    anyway: bool = False

    @property
    def reference(self) -> str:
        """The variant that the others are described against: ``at_least``, else the first."""
        return self.at_least or self.names[0]


class RankedVariant(Value, frozen=True):
    """A variant's mean of the metric over the common samples, with its interval.

    ``n`` counts these samples. Variants that share one of the ``letters`` cannot be told apart;
    there are none where the ranking is undecided, or too many would be needed.
    """

    name: str
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    letters: str = ""


class VariantPair(Value, frozen=True):
    """Two variants over the common samples; ``diff`` is the mean of ``a`` minus that of ``b``.

    ``a`` ranks above ``b``. The interval is that of this pair alone. ``p_value`` is the raw
    two-sided one, ``p_adjusted`` that of max-T over all pairs; both are None where no test can say
    anything. ``smallest_detectable`` is the difference that this many samples would have shown
    among all pairs with a power of 80 %, None where none would. ``a_wins`` and ``b_wins`` count the
    samples on which one scores better than the other.
    """

    a: str
    b: str
    diff: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    n: int
    a_wins: int
    b_wins: int
    method: str
    smallest_detectable: float | None


class CauseChange(Value, frozen=True):
    """How many low answers of one cause a variant mends and adds, against the reference.

    ``mended``: low for this cause in ``reference`` and not low in ``variant``; ``new``: not low in
    ``reference`` and low for this cause in ``variant``.
    """

    variant: str
    reference: str
    cause: Cause
    mended: int
    new: int


class Ranking(Value, frozen=True):
    """The variants of a scenario by the mean of ``metric``, best first.

    ``common`` samples of ``total`` have a score in every variant: means and pairs are about these,
    or, where a variant has no score at all, about what the others share. ``undecided`` says why the
    variants cannot be told apart by letters at all, empty where they can. ``complete``: every
    variant of the scenario is here, and all of its samples ran.
    """

    scenario: str
    metric: str
    alpha: float
    variants: Sequence[RankedVariant]
    pairs: Sequence[VariantPair] = ()
    common: int = 0
    total: int = 0
    undecided: str = ""
    causes: Sequence[CauseChange] = ()
    remarks: Sequence[str] = ()
    complete: bool = True
    higher_is_better: bool = True

    @property
    def best(self) -> str:
        """The name of the first variant: the one with the best mean, if any has a mean."""
        return self.variants[0].name

    def pair(self, one: str, other: str) -> VariantPair | None:
        """Return the pair of two variants, in whichever order; None where they were not tested."""
        names = {one, other}
        return next((pair for pair in self.pairs if {pair.a, pair.b} == names), None)
