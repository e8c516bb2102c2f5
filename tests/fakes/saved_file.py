"""A ``results.json`` as version 0.1.0 wrote it, with any samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_OUTCOMES = ("scored", "passed", "failed", "error", "skipped", "xfailed", "invalid")


def saved_file(
    samples: Sequence[Mapping[str, Any]], metrics: Sequence[str] = (), **scenario: Any
) -> dict[str, Any]:
    """Return the file as JSON has it; ``scenario`` says more of the scenario ``qa``."""
    n, counts = len(samples), dict.fromkeys(_OUTCOMES, 0)
    figures = {"n": n, "unscored": 0, "ci_low": None, "ci_high": None}
    metric = {"mean": 0.5, "weighted_mean": 0.5, "weight": 1.0, "std": None, **figures}
    return {
        "schema": 1,
        "scenario": {"name": "qa", "path": "qa.rageval.yaml", **scenario},
        "run": {"id": "r", "started_at": "2026", "finished_at": "2026", "version": "0.1.0"},
        "complete": True,
        "counts": {**counts, "samples": n, "ran": n, "scored": n, "passed": n},
        "metrics": dict.fromkeys(metrics, metric),
        "weighted_score": {"mean": 0.5, **figures},
        "gates": [],
        "comparison": None,
        "samples": [{"index": at, **sample} for at, sample in enumerate(samples)],
    }
