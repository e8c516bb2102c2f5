"""Ranks the variants of a scenario: over common samples, every pair tested, with letters."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from pytest_rageval.model import (
    CAUSES,
    TOLERANCE,
    WEIGHTED_SCORE,
    CauseChange,
    Contest,
    MetricComparison,
    RankedVariant,
    Ranking,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    VariantPair,
)
from pytest_rageval.stats.comparison import (
    Common,
    differences,
    join,
    metrics_in_all,
    wanted_samples,
)
from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.summary import summarize
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted, left_out, made_text

_TOO_MANY_LETTERS: Final = (
    "too many letters would be needed: variants differ within families and not between them; "
    "variants.json has every pair"
)

_ALPHABET: Final = string.ascii_lowercase + string.ascii_uppercase

# Sets may double with each pair, and their comparison takes the square of their number.
_MOST_SETS: Final = 200

_LetterSet = frozenset[int]
"""The ranks of the variants that share a letter."""


def rank_variants(
    results: Sequence[ScenarioResult], contest: Contest, *, complete: bool = True
) -> Ranking:
    """Return the variants that ran, best first, with every pair of them tested.

    ``results`` holds a run of each variant, which ``info.variant`` names; one at least. Samples are
    joined by id. They weigh, and are grouped, as in ``contest.reference``. A variant without any
    score has no mean and ranks last. An undecided ranking says why; it has no letters, and its
    pairs are untested, or left out where the runs do not compare. ``complete`` is that of Ranking.
    """
    ordered = sorted(results, key=lambda result: contest.names.index(result.info.variant))
    reference_run = next(
        (result for result in ordered if result.info.variant == contest.reference), ordered[0]
    )
    why_not_comparable = list(differences(ordered, contest.of))
    common = join(ordered, reference_run, contest.of)
    metrics = [metric for metric in reference_run.info.metrics if metric.name == contest.of]
    upwards = all(metric.higher_is_better for metric in metrics)
    ranked = _ranked(ordered, contest.of, common, upwards)
    pairs: tuple[VariantPair, ...] = ()
    out_of_reach, too_many_letters = "", list[str]()
    if contest.anyway or not why_not_comparable:
        pairs, out_of_reach = _pairs(
            [variant.name for variant in ranked if variant.n], common, contest, upwards
        )
    reasons = [
        *([] if contest.anyway else why_not_comparable),
        _why_undecided(ordered, contest, common),
    ]
    undecided = "; ".join(filter(None, reasons)) or out_of_reach
    if undecided:
        # Differences and wins are shown all the same.
        pairs = tuple(map(_untested, pairs))
    else:
        ranked, too_many_letters = _with_letters(ranked, pairs)
    made = [made_text(reference_run.info.made)] if reference_run.info.made is not None else []
    remarks = _remarks(common, contest, why_not_comparable, undecided)
    return Ranking(
        scenario=reference_run.info.name,
        metric=contest.of,
        alpha=contest.alpha,
        variants=tuple(ranked),
        pairs=pairs,
        common=common.count,
        total=common.total,
        undecided=undecided,
        causes=tuple(cause_changes(ordered, reference_run)),
        remarks=(*made, *too_many_letters, *remarks),
        complete=complete,
        higher_is_better=upwards,
    )


def _with_letters(
    ranked: Sequence[RankedVariant], pairs: Iterable[VariantPair]
) -> tuple[list[RankedVariant], list[str]]:
    """Return the variants with their letters, and a remark where there would be too many."""
    apart = [(pair.a, pair.b) for pair in pairs if pair.significant]
    letters = letters_of([variant.name for variant in ranked], apart)
    remarks = [] if letters is not None else [_TOO_MANY_LETTERS]
    named = [replace(variant, letters=(letters or {}).get(variant.name, "")) for variant in ranked]
    return named, remarks


def _ranked(
    results: Sequence[ScenarioResult], metric: str, common: Common, upwards: bool
) -> list[RankedVariant]:
    """Return the variants by their means, equal ones as the file has them."""
    variants = [_figures(result.info, metric, common) for result in results]
    sign = -1.0 if upwards else 1.0
    return sorted(variants, key=lambda v: math.inf if v.mean is None else sign * v.mean)


def _figures(info: ScenarioInfo, metric: str, common: Common) -> RankedVariant:
    """Return a variant's figures over the common samples, made as in its own run."""
    scores = common.scores.get(info.variant, ())
    weights = common.weights[: len(scores)]  # none for a variant without any score
    ranges = {found.name: found.range for found in info.metrics}
    ends = ranges.get(metric, info.weighted_range)
    summary = summarize(scores, weights, ends, groups=common.groups)
    return RankedVariant(
        info.variant, summary.weighted_mean, summary.ci_low, summary.ci_high, len(scores)
    )


def _pairs(
    names: Sequence[str], common: Common, contest: Contest, upwards: bool
) -> tuple[tuple[VariantPair, ...], str]:
    """Return all pairs in the order of the ranking, and why one cannot be decided, else ""."""
    rivals = list(combinations(names, 2))
    scores = {f"{at}": (common.scores[a], common.scores[b]) for at, (a, b) in enumerate(rivals)}
    compared = compare_paired(
        scores,
        common.weights,
        alpha=contest.alpha,
        n_resamples=contest.n_resamples,
        seed=contest.seed,
        groups=common.groups,
        at_once=len(rivals) or 1,
        pair="common sample",  # a pair is two variants here
    )
    comparisons = list(compared.values())
    wins = [_wins(a, b, upwards) for a, b in scores.values()]
    pairs = tuple(
        _pair(pair, each, won) for pair, each, won in zip(rivals, comparisons, wins, strict=True)
    )
    out_of_reach = next((each.undecided for each in comparisons if each.undecided), "")
    return pairs, out_of_reach


def _pair(names: tuple[str, str], compared: MetricComparison, wins: tuple[int, int]) -> VariantPair:
    return VariantPair(
        a=names[0],
        b=names[1],
        diff=compared.diff,
        ci_low=compared.ci_low,
        ci_high=compared.ci_high,
        p_value=compared.p_value,
        p_adjusted=compared.p_adjusted,
        significant=compared.significant,
        n=compared.n,
        a_wins=wins[0],
        b_wins=wins[1],
        method=compared.method,
        smallest_detectable=None if compared.undecided else compared.smallest_detectable,
    )


def _wins(a: Sequence[float], b: Sequence[float], upwards: bool) -> tuple[int, int]:
    """Return on how many samples each is better."""
    from pytest_rageval.stats.permutation import paired_differences

    diffs = paired_differences(a, b)
    above, below = int((diffs > 0.0).sum()), int((diffs < 0.0).sum())
    return (above, below) if upwards else (below, above)


def _untested(pair: VariantPair) -> VariantPair:
    """Return a pair without its test: the ranking is undecided."""
    return replace(pair, p_value=None, p_adjusted=None, significant=False, method="none")


def _why_undecided(results: Sequence[ScenarioResult], contest: Contest, common: Common) -> str:
    """Return why the ranking says nothing of the whole data set, "" where it does."""
    names = [result.info.variant for result in results]
    metric = contest.of
    if len(names) < 2:
        return (
            f"only {', '.join(names)} ran, and there is nothing to compare it with; "
            "run the other variants too"
        )
    shared = (WEIGHTED_SCORE, *metrics_in_all(results))
    if metric not in shared:
        without = [result.info.variant for result in results if metric not in result.metrics]
        has = "has" if len(without) == 1 else "have"
        return (
            f"{', '.join(without)} {has} no {metric}; rank by what all have: "
            f"{', '.join(shared)} ('best: {{of: {shared[-1]}}}')"
        )
    if not frozenset.intersection(*(frozenset(wanted_samples(result)) for result in results)):
        return (
            f"no sample is in the data of all of {', '.join(names)}; rows are joined by their id "
            "(key_map: {id: ...})"
        )
    if not common.total:
        return f"{metric} applies to no sample"
    needed = math.ceil(contest.min_pairs * common.total - TOLERANCE)
    if needed <= common.count and common.count - common.partly < needed:
        return (
            f"on {counted(common.partly, 'sample')} of {common.total} a metric applies in some "
            f"variants only (an empty answer?), and min_pairs: {contest.min_pairs:g} asks for "
            f"{needed} that all metrics measure alike; mend these, rank by one metric "
            "('best: {of: ...}'), or, if what is left is enough: 'best: {min_pairs: 0}'"
        )
    if common.count < needed or not common.count:
        asked = f", and min_pairs: {contest.min_pairs:g} asks for {needed}" if needed > 0 else ""
        enough = ", or, if what is left is enough: 'best: {min_pairs: 0}'" if common.count else ""
        return (
            f"only {common.count} of {counted(common.total, 'sample')} have {metric} in all of "
            f"{', '.join(names)}{asked}: {_who_lacks(common)}; mend these{enough}"
        )
    return ""


def _who_lacks(common: Common) -> str:
    """Return in words how many samples each variant lacks, the one that lacks most first."""
    missing = sorted(common.missing.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} lacks {count}" for name, count in missing if count)
    return text or "no metric applies to them in every variant"


def _remarks(
    common: Common, contest: Contest, unlike: Sequence[str], undecided: str
) -> Iterator[str]:
    if contest.anyway:
        # What differs; behind the last semicolon `differences` says what to do about it.
        yield from (f"{text.rpartition('; ')[0]}; compared anyway" for text in unlike)
    if common.partly:
        yield left_out(common.partly, "some variants", "all")
    if common.ruled_out:
        yield f"{contest.of} does not apply to {counted(common.ruled_out, 'row')}"
    if common.count < common.total and not undecided:
        others = counted(common.total - common.count, "sample")
        yield f"{others} of {common.total} left out: {_who_lacks(common)}"


def letters_of(
    ranked: Sequence[str], significant: Collection[tuple[str, str]]
) -> dict[str, str] | None:
    """Return the letters of each name in ``ranked``, best first; None where 52 are too few.

    ``significant`` are the pairs that can be told apart, in whichever order. The best has the
    letter "a". After "z" come "A" to "Z". Variants that differ within families but not between
    them need too many to be read; None, too, where more than 200 sets arise on the way. By Piepho
    (2004): insert and absorb, then sweep. Only whole letters are swept: one name's part of a letter
    may be redundant, too, but without it neighbours would read "ab", "ac", "bc" in place of "ab",
    "abc", "bc".

    >>> letters_of(["gpt", "dense", "bm25"], [("gpt", "bm25")])
    {'gpt': 'a', 'dense': 'ab', 'bm25': 'b'}
    """
    place = {name: at for at, name in enumerate(ranked)}
    apart = sorted(tuple(sorted((place[a], place[b]))) for a, b in significant)
    sets: list[_LetterSet] = [frozenset(place.values())] if place else []
    for a, b in apart:
        sets = _absorbed(_inserted(sets, a, b))
        if len(sets) > _MOST_SETS:
            return None
    kept = sorted(_swept(sorted(sets, key=sorted)), key=sorted)
    if len(kept) > len(_ALPHABET):
        return None
    sets_by_letter = list(zip(_ALPHABET, kept, strict=False))
    return {
        name: "".join(letter for letter, letter_set in sets_by_letter if at in letter_set)
        for name, at in place.items()
    }


def _inserted(sets: Iterable[_LetterSet], a: int, b: int) -> Iterator[_LetterSet]:
    """Yield the sets, with two in place of each that holds both of a significant pair."""
    for letter_set in sets:
        if a in letter_set and b in letter_set:
            yield letter_set - {a}
            yield letter_set - {b}
        else:
            yield letter_set


def _absorbed(sets: Iterable[_LetterSet]) -> list[_LetterSet]:
    """Return the sets that are no part of another."""
    distinct = set(sets)
    return [found for found in distinct if not any(found < other for other in distinct)]


def _swept(sets: Sequence[_LetterSet]) -> list[_LetterSet]:
    """Return the sets whose pairs are not all in others, too; the last are tried first."""
    kept = list(sets)
    for letter_set in reversed(sets):
        others = [other for other in kept if other is not letter_set]
        if all(any(pair <= other for other in others) for pair in _only_by_letter(letter_set)):
            kept = others
    return kept


def _only_by_letter(letter_set: _LetterSet) -> Iterator[frozenset[int]]:
    """Yield what only a letter can say: its pairs, or that a name stands alone."""
    yield from map(frozenset, combinations(letter_set, 2) if len(letter_set) > 1 else [letter_set])


def cause_changes(
    results: Sequence[ScenarioResult], reference: ScenarioResult
) -> Iterator[CauseChange]:
    """Yield for each other run and cause how many low answers it fixes and adds.

    Only samples that are decided in both runs count: without a score, an answer is neither low nor
    fixed. Runs that do not look for causes give nothing.
    """
    before = _causes(reference)
    for result in results:
        if result is reference or None in (result.info.diagnose, reference.info.diagnose):
            continue
        now = _causes(result)
        shared = [(before[name], now[name]) for name in before if name in now]
        fixed = Counter(was for was, cause in shared if cause is None)
        new = Counter(cause for was, cause in shared if was is None)
        for cause in CAUSES:
            yield CauseChange(
                result.info.variant, reference.info.variant, cause, fixed[cause], new[cause]
            )


def _causes(result: ScenarioResult) -> dict[str, str | None]:
    """Return the cause of each sample that is decided, None where it is not low."""
    return {
        sample.sample_id: sample.cause
        for sample in result.samples
        if _is_decided(result.info, sample)
    }


def _is_decided(info: ScenarioInfo, sample: SampleResult) -> bool:
    """Return whether it is known that the answer is low, or that it is not."""
    names = info.thresholds or (WEIGHTED_SCORE,)
    return sample.outcome not in ("error", "skipped") and all(
        is_scored(score_of(sample, name)) for name in names
    )
