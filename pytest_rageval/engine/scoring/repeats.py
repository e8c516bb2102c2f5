"""How a metric is asked about a sample more than once, and what becomes of its repeats."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pytest_rageval.clients.accounting import Tally
from pytest_rageval.clients.errors import BudgetError, ClientError, ReplayMissError
from pytest_rageval.errors import MissingExtraError, describe_error
from pytest_rageval.model import BUDGET, NOT_ASKED, PASSING, REPEATS, REPLAY, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.scoring.score_reuse import ScoreReuse


@dataclass(frozen=True, slots=True)
class Asking:
    """How a metric is asked: its place in the queue for calls, how often, and for which scenario.

    Those with the lowest ``order`` come first. ``reuse`` has the scores in the cache.
    """

    order: int
    repeats: int
    reuse: ScoreReuse | None
    scenario: str


def with_replies(score: Score, tally: Tally) -> Score:
    """Return the score with how many replies of the judge could be used, and how many not."""
    return replace(score, replies=dict(tally.replies)) if tally.replies else score


def error_text(error: BaseException) -> str:
    """Return what a metric raised, in words; what the run did not ask for is marked as such."""
    if isinstance(error, BudgetError):
        return f"{BUDGET}{error}"
    if isinstance(error, ReplayMissError):
        return f"{REPLAY}{error}"
    known = isinstance(error, ClientError | MissingExtraError)
    return str(error) if known else describe_error(error)


def merged(name: str, scores: Sequence[Score]) -> Score:
    """Return the mean of the repeats that have a score, with the details of the first of them.

    If repeats decide whether the sample passes, the majority counts; a tie fails it. The errors are
    listed as its error. Its reason is why others, without an error, have no score, else what the
    first one that has a score says. Replies are counted together. If the run did not ask for all
    repeats, the one whose error says so is returned: the judge did not fail.
    """
    counts = sum((Counter(score.replies or {}) for score in scores), Counter[str]())
    scores = [replace(score, replies=dict(counts) or None) for score in scores]
    for score in scores:
        if score.error is not None and score.error.startswith((BUDGET, REPLAY, NOT_ASKED)):
            return score
    values = [score.value for score in scores]
    scored = [score for score in scores if score.value is not None and not math.isnan(score.value)]
    passing = _passing(scores)
    if not scored:
        # A repeat that failed must not pass for one to which the metric does not apply.
        first = next((score for score in scores if score.error), scores[0])
        return replace(first, details={**(first.details or {}), **passing}) if passing else first
    numbers = [cast("float", score.value) for score in scored]
    # Equal values are kept: the float mean of three times 0.1 is not 0.1 and may miss a threshold.
    agree = len(set(numbers)) == 1
    spread = None if len(numbers) < 2 else 0.0 if agree else statistics.stdev(numbers)
    repeats = {"values": values, "spread": spread}
    details: Mapping[str, object] = {**(scored[0].details or {}), **passing, REPEATS: repeats}
    count = f"{len(scored)} of {len(scores)} repeats scored"
    return replace(
        scored[0],
        metric=name,
        value=numbers[0] if agree else math.fsum(numbers) / len(numbers),
        reason=_lacking(
            count, (one.reason for one in scores if one.value is None and not one.error)
        )
        or _first_reason(scores),
        details=details,
        error=_lacking(count, (one.error for one in scores)),
    )


def _first_reason(scores: Sequence[Score]) -> str | None:
    """Return what the first repeat says; where it says nothing, what another one does."""
    said = [(at, one.reason) for at, one in enumerate(scores, 1) if one.value is not None]
    if said[0][1]:
        return said[0][1]
    others = (f"in repeat {at} of {len(scores)}: {reason}" for at, reason in said if reason)
    return next(others, None)


def _passing(scores: Sequence[Score]) -> dict[str, bool]:
    """Return whether most of the repeats that decide it let the sample pass; {} if none decides."""
    found = [(score.details or {}).get(PASSING) for score in scores]
    said = [bool(one) for one in found if one is not None]
    return {PASSING: 2 * sum(said) > len(said)} if said else {}


def _lacking(count: str, why: Iterable[str | None]) -> str | None:
    """Return why repeats have no score, each reason once; None where there is none."""
    said = dict.fromkeys(filter(None, why))
    return f"{count}: {'; '.join(said)}" if said else None
