"""Says how the variants of a scenario rank, for the terminal and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.model import RankedVariant, Ranking
from pytest_rageval.reports.figures import change, figure, interval
from pytest_rageval.stats.wording import counted, p_figure

_WHAT = {"unfaithful": "unfaithful answer", "unknown": "unexplained low answer"}

HEADS = ("mean", "95 % interval", "letters", "to the best", "p (max-T)")
"""The heads of the columns beside the variant's name."""


def ranking_rows(ranking: Ranking) -> list[tuple[str, tuple[str, ...]]]:
    """Return each variant with its figures as text, in the order of ``HEADS``."""
    columns = sorted({letter for one in ranking.variants for letter in one.letters})
    return [(one.name, _row(ranking, one, columns)) for one in ranking.variants]


def _row(ranking: Ranking, one: RankedVariant, columns: Sequence[str]) -> tuple[str, ...]:
    # One place for each letter, so that equal letters are below each other.
    letters = "".join(letter if letter in one.letters else " " for letter in columns)
    pair = ranking.pair(one.name, ranking.best)
    diff = None if pair is None or pair.diff is None else abs(pair.diff)
    if diff and ranking.higher_is_better:
        diff = 0.0 - diff
    adjusted = p_figure(None if pair is None else pair.p_adjusted)
    return figure(one.mean), interval(one.ci_low, one.ci_high), letters, change(diff), adjusted


def ranking_head(ranking: Ranking) -> str:
    """Return what the variants are ranked by, and over which samples."""
    order = "" if ranking.higher_is_better else ", lowest first"
    left_out = ranking.total - ranking.common
    lost = f", {left_out} of {ranking.total} lack a score somewhere" if left_out else ""
    part = "" if ranking.complete else "; a partial run, which decides nothing"
    return (
        f"by {ranking.metric}{order}, over {counted(ranking.common, 'common sample')}{lost}{part}"
    )


def ranking_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what the letters mean, or why there are none, and what changed in causes."""
    if ranking.undecided:
        yield f"no letters: {ranking.undecided}"
    elif any(one.letters for one in ranking.variants):
        how = f"max-T over {len(ranking.pairs)} pairs, " if len(ranking.pairs) > 1 else ""
        yield (f"variants that share a letter cannot be told apart ({how}alpha {ranking.alpha:g})")
    yield from cause_change_lines(ranking)
    yield from ranking.remarks


def cause_change_lines(ranking: Ranking) -> Iterator[str]:
    """Yield what each variant mends and brings, against the reference; nothing for no change."""
    for one in ranking.causes:
        if one.mended or one.new:
            what = _WHAT.get(one.cause, f"{one.cause} failure")
            mended, new = _some(one.mended, what), _some(one.new, "new one")
            yield f"{one.variant} mends {mended} of {one.reference} and brings {new}"


def _some(count: int, what: str) -> str:
    return counted(count, what) if count else f"no {what}"
