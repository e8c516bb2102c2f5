"""Decides the gate ``best``: nothing may be significantly better than the variant it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_rageval.model import (
    BEST,
    Contest,
    GateOutcome,
    GateResult,
    RankedVariant,
    Ranking,
    VariantPair,
)
from pytest_rageval.stats.wording import counted, p_figure


def best_verdict(ranking: Ranking, contest: Contest) -> GateResult:
    """Fail if a variant is significantly better than ``contest.reference``, or it cannot be told.

    It cannot be told where the ranking is undecided, where a variant was not compared, or where one
    or a sample of it did not run. ``observed`` is by how much the reference is ahead of the best
    other variant, negative where it is behind, None without a mean.
    """
    name = contest.reference
    rivals = list(_rivals(ranking, name))
    better = [rival for rival in rivals if rival.is_better]
    why = "; ".join(_why_not(ranking, contest, rivals))
    if why:
        message = f"it cannot be said that nothing is better than {name}: {why}"
    elif better:
        message = "; ".join(_defeat(ranking, name, rival) for rival in better)
    else:
        message = _evidence(ranking, name, rivals)
    outcome: GateOutcome = "failed" if why or better else "passed"
    lead = rivals[0].lead if rivals else None
    return GateResult(BEST, outcome, lead, 0.0, message, lead)


@dataclass(frozen=True, slots=True)
class _Rival:
    """Another variant; ``lead`` is by how much the named one is better, None without a mean."""

    variant: RankedVariant
    pair: VariantPair | None
    lead: float | None

    @property
    def is_tested(self) -> bool:
        return self.pair is not None and self.pair.p_adjusted is not None

    @property
    def is_better(self) -> bool:
        significant = self.pair is not None and self.pair.significant
        return significant and self.lead is not None and self.lead < 0.0


def _rivals(ranking: Ranking, name: str) -> Iterator[_Rival]:
    """Yield the other variants, best first."""
    own = next((variant.mean for variant in ranking.variants if variant.name == name), None)
    for one in ranking.variants:
        if one.name != name:
            lead = None if own is None or one.mean is None else own - one.mean
            if lead is not None and not ranking.higher_is_better:
                lead = 0.0 - lead
            yield _Rival(one, ranking.pair(name, one.name), lead)


def _why_not(ranking: Ranking, contest: Contest, rivals: Sequence[_Rival]) -> Iterator[str]:
    """Yield why the comparison shows nothing, and what it could have shown."""
    ran = {variant.name for variant in ranking.variants}
    absent = [name for name in contest.names if name not in ran]
    untested = [rival.variant.name for rival in rivals if not rival.is_tested]
    if absent:
        yield f"{', '.join(absent)} did not run"
    if ranking.undecided:
        yield ranking.undecided
        yield from _unseen(rivals)
    elif untested:
        yield f"not compared with {', '.join(untested)}"
    if not ranking.complete:
        yield "not every sample of every variant ran"


def _unseen(rivals: Sequence[_Rival]) -> Iterator[str]:
    """Yield the smallest difference that would have been shown in every comparison still open."""
    smallest = [
        rival.pair.smallest_detectable
        for rival in rivals
        if rival.pair is not None
        and rival.pair.smallest_detectable is not None
        and not rival.pair.significant
    ]
    if smallest:
        yield f"a difference below {max(smallest):.4f} may go unseen (power 80 %)"


def _defeat(ranking: Ranking, name: str, rival: _Rival) -> str:
    """Return by how much, and how surely, another variant is better."""
    pair, other = rival.pair, rival.variant
    assert pair is not None  # else it would not be better
    # It ranks above, so the pair's difference is that of the other variant minus the named one.
    figures = (pair.diff, pair.ci_low, pair.ci_high)
    diff, low, high = ("-" if figure is None else f"{figure:+.4f}" for figure in figures)
    mean, own = (_mean(ranking, one) for one in (other.name, name))
    return (
        f"{other.name} is significantly better than {name}: {ranking.metric} {mean} against {own}, "
        f"difference {diff} ({low}..{high}), {_p_text(ranking, pair)} ({_tests(ranking)}), "
        f"{counted(pair.n, 'common sample')}"
    )


def _evidence(ranking: Ranking, name: str, rivals: Sequence[_Rival]) -> str:
    """Return what a pass rests on."""
    basis = (
        f"{ranking.metric} {_mean(ranking, name)}, {_samples(ranking)}, "
        f"{_tests(ranking)}, alpha {ranking.alpha:g}"
    )
    parts = [f"nothing is significantly better than {name} ({basis})"]
    first = rivals[0]
    if first.pair is not None and first.lead is not None:
        where = "ahead" if first.lead < 0.0 else "behind"
        by = f"{where} by {abs(first.lead):.4f}" if first.lead else "equal"
        parts.append(f"{first.variant.name} is {by} ({_p_text(ranking, first.pair)})")
    return "; ".join([*parts, *_unseen(rivals)])


def _samples(ranking: Ranking) -> str:
    """Return how many samples the verdict rests on, and of how many."""
    if ranking.common == ranking.total:
        return counted(ranking.common, "common sample")
    return f"{ranking.common} common of {counted(ranking.total, 'sample')}"


def _tests(ranking: Ranking) -> str:
    """Return what p-values are adjusted for."""
    count = len(ranking.pairs)
    return f"max-T over {count} pairs" if count > 1 else "1 pair"


def _p_text(ranking: Ranking, pair: VariantPair) -> str:
    text = f"p {p_figure(pair.p_value)}"
    if len(ranking.pairs) == 1:
        return text
    return f"{text}, adjusted {p_figure(pair.p_adjusted)}"


def _mean(ranking: Ranking, name: str) -> str:
    means = {variant.name: variant.mean for variant in ranking.variants}
    mean = means.get(name)
    return "-" if mean is None else f"{mean:.4f}"
