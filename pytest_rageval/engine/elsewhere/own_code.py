"""How metrics of a user's own are called where other threads may do so at the same time."""

from __future__ import annotations

import threading
from typing import Final

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.score_sample import computed_scores
from pytest_rageval.model import Sample, Score

_LOCK: Final = threading.Lock()


def scores_alone(plan: Plan, sample: Sample) -> list[Score]:
    """Return the scores of metrics of the user's own, one thread of this process at a time.

    They share their modules, and few are written for several threads.
    """
    with _LOCK:
        return computed_scores(plan, sample)
