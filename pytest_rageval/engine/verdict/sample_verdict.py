"""When a sample may count as judged: the one rule behind every green run.

A score can be missing for two reasons. It *failed*: an error of the judge, the network, the code or
the clock. Or it *does not apply*: the row has no reference, the answer makes no claim. A metric
that does not apply is left out of the weighted score and shown; one with a weight that failed
leaves the sample without a weighted score. What a threshold or a gate names may not be missing,
except where the row or the run rules it out (``LeftOut``): it is unanswerable, say, or does not ask
for the metric (``must_include``).
docs/explanation/when-is-a-run-green.md explains it to users.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_rageval.model import TARGET, WEIGHTED_SCORE, SampleResult
from pytest_rageval.stats.verdict import (
    NOTHING_WEIGHS,
    blamed_metrics,
    is_ruled_out,
    is_tolerated,
    shortfalls,
    was_not_asked,
)
from pytest_rageval.stats.weights import is_scored

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan


def judged(plan: Plan, result: SampleResult) -> SampleResult:
    """Return a scored result with the outcome that pytest would report."""
    if reasons_unjudged(plan, result):
        if result.invalid is not None and plan.on_invalid != "fail":
            return replace(result, outcome="skipped" if plan.on_invalid == "skip" else "xfailed")
        return replace(result, outcome="xfailed" if result.xfail is not None else "error")
    if not shortfalls(result, plan.info.thresholds):
        is_tolerated = bool(reasons_tolerated(plan, result))
        return replace(result, outcome="xfailed") if is_tolerated else result
    tolerated = plan.info.tolerates_shortfalls or result.xfail is not None
    return replace(result, outcome="xfailed" if tolerated else "failed")


def reasons_unjudged(plan: Plan, result: SampleResult) -> list[str]:
    """Return why the result is an ERROR; [] if it can be judged, or what is missing is tolerated.

    It is an ERROR when the row is invalid, the target gave no answer, nothing was scored, a metric
    that a threshold or a gate names has no score, a metric was not asked (budget spent, not in the
    cache), no metric with a weight applies, or one with a weight failed and ``weighted_score`` is
    judged, as it is without thresholds and gates. What the row or the run rules out is not missed.
    """
    if result.weighted_score is not None and None not in result.scores.values():
        return []
    if result.invalid is not None:
        return [f"invalid row: {result.invalid}"]
    if TARGET in result.errors:
        return [f"not answered: {result.errors[TARGET]}"]
    return _unscored(result, _wanted(plan, result))


def reasons_tolerated(plan: Plan, result: SampleResult) -> list[str]:
    """Return the missing scores that ``gates.unscored`` tolerates, and why they are missing.

    Only scores whose absence would make the sample an ERROR are included.
    """
    if None not in result.scores.values() or not (tolerated := plan.info.tolerated):
        return []
    blamed = blamed_metrics(plan.info, result)
    missing = [
        name
        for name, score in result.scores.items()
        if name in tolerated
        and not is_scored(score)
        and (name in result.errors or _is_required(plan, result, name) or name in blamed)
    ]
    return _unscored(result, missing)


def _unscored(result: SampleResult, names: Iterable[str]) -> list[str]:
    """Return why metrics have no score; what several failed at, once."""
    by_reason: dict[str, list[str]] = {}
    for name in names:
        by_reason.setdefault(_why(result, name), []).append(name)
    return [f"{', '.join(alike)} unscored: {reason}" for reason, alike in by_reason.items()]


def _is_required(plan: Plan, result: SampleResult, name: str) -> bool:
    """Return whether a threshold or a gate wants a score of this metric for this sample."""
    return name in plan.required and not is_ruled_out(result, name)


def _wanted(plan: Plan, result: SampleResult) -> list[str]:
    """Return the names of the missing scores that prevent a verdict on the sample."""
    tolerated = plan.info.tolerated
    without = [name for name, score in result.scores.items() if not is_scored(score)]
    wanted = {name for name in without if was_not_asked(result, name)}
    wanted.update(
        name for name in without if _is_required(plan, result, name) and name not in tolerated
    )
    if not is_scored(result.weighted_score) and not is_tolerated(plan.info, result, tolerated):
        wanted.update(_unweighed(plan, result, without))
    return [name for name in (*result.scores, WEIGHTED_SCORE) if name in wanted]


def _unweighed(plan: Plan, result: SampleResult, without: list[str]) -> list[str]:
    """Return the scores that leave the sample without a weighted score, if that is an ERROR."""
    if len(without) == len(result.scores):
        return [name for name in without if not is_ruled_out(result, name)]
    failed = [name for name in blamed_metrics(plan.info, result) if name in result.errors]
    if not failed:
        return [WEIGHTED_SCORE]
    return failed if WEIGHTED_SCORE in plan.required else []


def _why(result: SampleResult, name: str) -> str:
    if name == WEIGHTED_SCORE:
        return NOTHING_WEIGHS
    return result.errors.get(name) or result.reasons.get(name) or "no reason given"
