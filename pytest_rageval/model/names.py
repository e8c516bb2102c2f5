"""Names and words that several layers share: of errors, of details, of outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

# Scores and bounds are compared with this tolerance: a perfect context_precision of ragas is
# 0.9999999999, and sums of weights round.
TOLERANCE: Final = 1e-9

WEIGHTED_SCORE: Final = "weighted_score"
"""The name under which thresholds, gates and files speak of the weighted score."""

TARGET: Final = "target"
"""The name under which errors and details of a sample speak of the system under test."""

RETRIEVAL: Final = "retrieval"
"""The name under which the details of a sample speak of its search result."""

MAX_GRADE: Final = 1000
"""The largest grade of relevance; more is a score that strayed into the judgements."""

BUDGET: Final = "budget: "
"""How the error of a score begins that was not asked for because the budget is spent."""

REPLAY: Final = "replay: "
"""How the error of a score begins that the cache should have had, and has not."""

NOT_ASKED: Final = "not asked: "
"""How the error of a score begins that was not asked for because no reply could be used so far.

Also the reason, where the verdict was certain without it (``stop``).
"""

FAILED_CONTROLS: Final = "control rows: "
"""How the error of a score begins that was not asked for because its judge cannot tell."""

DOES_NOT_APPLY: Final = "not asked for: "
"""How the reason of a score begins that the row itself did not ask for (a metric of rows)."""

EMPTY_ANSWER: Final = "empty answer"
"""The reason of a score that was given to an empty answer without asking a model."""

REPEATS: Final = "repeats"
"""The name under which the details of a score hold the values of every repeat."""

PASSING: Final = "passing"
"""The name under which the details of a score say whether its metric lets the sample pass."""

USABLE: Final = "usable"
"""The name under which a judge's replies that could be used are counted, beside ``FAULTS``."""

FAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "example": "repeats the prompt's example",
        "cut_off": "cut off",
        "shape": "not the shape asked for",
        "verdicts": "verdicts that cannot be",
        "declined": "refused to answer",
        "late": "not in time, alone in flight",
    }
)
"""Why a judge's reply cannot be used: the names in counts, and in words."""

CAUSE: Final = "cause"
"""The field of a sample under which slices find why its answer is low."""

Cause = Literal["retrieval", "generation", "unfaithful", "unknown"]
CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed"]
GateOutcome = Literal["passed", "failed", "skipped"]
Band = Literal["good", "warn", "bad"]
TestName = Literal["permutation", "t", "wilcoxon", "bootstrap"]
Correction = Literal["max-t", "holm", "none"]
"""How p-values of several metrics are adjusted for being several."""
