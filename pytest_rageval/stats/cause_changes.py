"""Counts which low answers of one run another mends, and which it adds, by their cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_rageval.model import (
    CAUSES,
    WEIGHTED_SCORE,
    CauseChange,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored


def cause_changes(
    results: Sequence[ScenarioResult], reference: ScenarioResult
) -> Iterator[CauseChange]:
    """Yield for each other run and cause how many low answers it mends and adds.

    Samples count that both runs judged: where a score is missing, an answer is neither low nor
    mended. Nothing of runs that do not look for causes.
    """
    before = _causes(reference)
    for result in results:
        if result is reference or None in (result.info.diagnose, reference.info.diagnose):
            continue
        now = _causes(result)
        shared = [(before[name], now[name]) for name in before if name in now]
        mended = Counter(was for was, found in shared if found is None)
        new = Counter(found for was, found in shared if was is None)
        for cause in CAUSES:
            yield CauseChange(
                result.info.variant, reference.info.variant, cause, mended[cause], new[cause]
            )


def _causes(result: ScenarioResult) -> dict[str, str | None]:
    """Return the cause of each sample that was judged, None where it is not low."""
    return {
        sample.sample_id: sample.cause
        for sample in result.samples
        if _is_judged(result.info, sample)
    }


def _is_judged(info: ScenarioInfo, sample: SampleResult) -> bool:
    """Return whether it is known that the answer is low, or that it is not."""
    names = info.thresholds or (WEIGHTED_SCORE,)
    return sample.outcome not in ("error", "skipped") and all(
        is_scored(score_of(sample, name)) for name in names
    )
