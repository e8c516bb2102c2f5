"""Runs of a scenario as the tools for agents name and describe them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import Problem, UserError, shorten
from pytest_rageval.model import GateResult, SampleResult
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.run_paths import run_folder
from pytest_rageval.serving.mcp.answers import cut, rounded
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.serving.saved_runs import StoredRun
from pytest_rageval.stats.verdict import badness, shortfalls, shown_errors
from pytest_rageval.stats.weights import is_scored

WORST: Final = 5
METRICS: Final = 40
"""How many metrics are told at most."""
VARIANTS: Final = 12
"""How many variants are told at most."""
NAME: Final = 200
"""How many characters of a name are told at most."""
_GATES: Final = 8
_QUESTION: Final = 120


def relative(project: Project, text: str) -> str:
    """Return a text of pytest's with paths relative to the rootdir."""
    root = str(project.paths.root)
    return text.replace(f"{root}{os.sep}", "").replace(root, ".")


def base_of(project: Project, entry: ScenarioEntry) -> Path:
    """Return the base folder of a scenario's runs; raises UserError if they are elsewhere.

    A folder that the user gave when the server was started may be anywhere.
    """
    base = project.paths.run_base(entry.output_dir)
    top = project.paths.root if project.paths.output is None else base
    for home in (base, *(base / run_folder(title) for title in entry.titles)):
        if not is_inside(home, top):
            where = f"the runs are in {home.resolve()}, outside of the rootdir"
            raise UserError([Problem(entry.shown, f"{where}: not read or written")])
    return base


def is_inside(path: Path, top: Path) -> bool:
    """Return whether a path is below ``top`` once its links are followed."""
    return path.resolve().is_relative_to(top.resolve())


def figures_of(point: RunPoint) -> dict[str, Any]:
    """Return the means of a run with their intervals."""
    metrics = {
        shorten(name, NAME): _figure(one.weighted_mean, one.ci_low, one.ci_high, one.n)
        for name, one in list(point.metrics.items())[:METRICS]
    }
    overall = point.weighted_score
    more = len(point.metrics) - len(metrics)
    return {
        "weighted_score": _figure(overall.mean, overall.ci_low, overall.ci_high, overall.n),
        "metrics": metrics,
        **({"more_metrics": more} if more else {}),
    }


def _figure(mean: float | None, low: float | None, high: float | None, n: int) -> dict[str, Any]:
    interval = None if low is None or high is None else [rounded(low), rounded(high)]
    return {"mean": rounded(mean), "ci": interval, "n": n}


def counts_of(point: RunPoint) -> dict[str, int]:
    """Return how many cases ended how, without what is 0 but for ``ran`` and ``samples``."""
    counts = asdict(point.counts)
    return {key: n for key, n in counts.items() if n or key in ("samples", "ran")}


def gates_of(gates: Sequence[GateResult], width: int) -> dict[str, Any]:
    """Return the failed gates with their message, and how many there are of the others."""
    ended = [[gate for gate in gates if gate.outcome == one] for one in _OUTCOMES]
    failed, passed, skipped = ended
    return {
        "gates_failed": [
            {
                "name": shorten(gate.name, NAME),
                "observed": rounded(gate.observed),
                "bound": gate.bound,
                "message": cut(gate.message, width),
            }
            for gate in failed[:_GATES]
        ],
        "more_gates_failed": max(0, len(failed) - _GATES) or None,
        "gates_passed": [shorten(gate.name, NAME) for gate in passed[:_GATES]],
        "more_gates_passed": max(0, len(passed) - _GATES) or None,
        "gates_undecided": len(skipped) or None,
    }


_OUTCOMES = ("failed", "passed", "skipped")


def worst_of(run: StoredRun, width: int, most: int = WORST) -> dict[str, Any]:
    """Return the ``most`` worst samples with the reasons, and how many more failed."""
    ranked = sorted((one for one in run.samples if is_bad(one)), key=badness)
    failed = sum(one.outcome in ("failed", "error") for one in ranked)
    shown = ranked[:most]
    more = failed - sum(one.outcome in ("failed", "error") for one in shown)
    return {"worst": [row_of(one, run, width) for one in shown], "more_failed": more or None}


def is_bad(sample: SampleResult) -> bool:
    """Return whether a sample failed, or could be better."""
    if sample.outcome in ("failed", "error"):
        return True
    score = sample.weighted_score
    return sample.outcome != "skipped" and is_scored(score) and score < 1.0


def row_of(sample: SampleResult, run: StoredRun, width: int) -> dict[str, Any]:
    """Return a sample in short, with what it misses."""
    return {
        "id": cut(sample.sample_id, NAME),
        "outcome": sample.outcome,
        "weighted_score": rounded(sample.weighted_score),
        "question": cut(sample.question, min(width, _QUESTION)),
        **cause_of(sample, width),
        "why": [cut(one, width) for one in why(sample, run)[:WORST]],
    }


def cause_of(sample: SampleResult, width: int) -> dict[str, str]:
    """Return why an answer is low and what that was told by; {} where there is no cause."""
    if sample.cause is None:
        return {}
    return {"cause": sample.cause, "cause_reason": cut(sample.cause_reason, width)}


def why(sample: SampleResult, run: StoredRun) -> list[str]:
    """Return what is wrong with a sample: errors, thresholds that it misses, low scores."""
    found = [f"{name}: {text}" for name, text in shown_errors(sample).items()]
    found += [str(one) for one in shortfalls(sample, run.plan.info.thresholds)]
    if found or sample.outcome in ("skipped", "xfailed"):
        return found
    low = sorted(
        (column.to_unit(score), name, score)
        for name, column in ((one.name, one) for one in run.plan.info.metrics)
        if column.weight > 0.0 and is_scored(score := sample.scores.get(name))
    )
    return [f"{name} {score:.4f}" for unit, name, score in low[:1] if unit < 1.0]
