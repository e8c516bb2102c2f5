"""A run as one point of a scenario's history: its figures without its samples.

A point is made of a result, or read from the ``results.json`` of an earlier run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar
from unicodedata import normalize

from pytest_rageval.model import (
    NOTHING,
    WEIGHTED_SCORE,
    Comparison,
    Counts,
    Estimate,
    GateOutcome,
    GateResult,
    MadeQuestions,
    MetricSummary,
    RunInfo,
    Sampling,
    ScenarioResult,
    Value,
    WeightedSummary,
    title_of,
    without_language,
)
from pytest_rageval.results.layout import SavedHead, read_head
from pytest_rageval.stats.verdict import is_judged
from pytest_rageval.text.codec import from_json


class ComparedWith(Value, frozen=True):
    """A baseline of a run, pinned where ``looks`` are more than 1, and how its gates ended.

    ``outcome`` is the worst of them, None without any.
    """

    baseline: str
    looks: int
    outcome: GateOutcome | None


class RunPoint(Value, frozen=True):
    """One run of a scenario.

    ``folder`` is the run's folder below the base of all runs: ``bot/20261121T093011-123456``.
    ``started_at`` is ISO 8601 in UTC. The overall score is ``weighted_score.mean`` with ``ci_low``
    and ``ci_high``, that of a metric ``metrics["f1"].weighted_mean``, as in ``results.json`` or, of
    a sample of the rows, estimated over all; None where nothing was scored. Charts leave out a run
    that is not ``complete``.
    """

    folder: str
    run_id: str
    scenario: str
    started_at: str
    complete: bool
    counts: Counts
    weighted_score: WeightedSummary
    metrics: Mapping[str, MetricSummary]
    gates_passed: int = 0
    gates_failed: int = 0
    gates_skipped: int = 0
    overridden: tuple[str, ...] = ()
    commit: str | None = None
    definitions: Mapping[str, str] = NOTHING
    """What each metric measures, as ``MetricColumn.definition``; empty in runs of old versions."""
    failed_gates: tuple[GateResult, ...] = ()
    """The gates that failed, in the order of the scenario."""
    compared: tuple[ComparedWith, ...] = ()
    """The baselines that it was compared with; empty in runs of old versions."""
    sample: Sampling | None = None
    """Which of its rows were asked; None where all were."""
    made: MadeQuestions | None = None
    """How many of its questions a model wrote; None without any."""
    judged: bool = True
    """Whether a gate, a threshold, a test function or a metric judged its answers."""
    doc_weights: Mapping[str, float] | None = None
    """What the samples of a document count in every mean; None in runs of old versions."""
    path: str = ""
    """The scenario file, as the run named it: two files may have the same name."""

    @property
    def failed(self) -> bool:
        """Whether a gate or a case failed, or a case could not be judged."""
        return bool(self.gates_failed or self.counts.failed or self.counts.error)

    def mean_of(self, name: str) -> float | None:
        """Return the weighted mean of a metric, None if the run has no such figure."""
        found = self.metrics.get(name)
        return None if found is None else found.weighted_mean


def point_of(result: ScenarioResult, run: RunInfo, folder: str = "") -> RunPoint:
    """Return the point of a result; ``folder`` as in ``RunPoint``, "" if it has none yet."""
    info = result.info
    return replace(
        _measured(result, run, info.title, folder),
        overridden=tuple(info.overridden),
        commit=run.commit,
        definitions={column.name: column.definition for column in info.metrics},
        sample=info.sample,
        made=info.made,
        judged=is_judged(result),
        doc_weights=info.doc_weights,
        path=info.path,
    )


def _measured(found: ScenarioResult | SavedHead, run: RunInfo, title: str, folder: str) -> RunPoint:
    ended = Counter(gate.outcome for gate in found.gates)
    return RunPoint(
        folder=folder,
        run_id=run.id,
        scenario=title,
        started_at=run.started_at,
        complete=found.complete,
        counts=found.counts,
        weighted_score=_estimated(
            found.weighted_score, "mean", found.estimates.get(WEIGHTED_SCORE)
        ),
        metrics={
            name: _estimated(summary, "weighted_mean", found.estimates.get(name))
            for name, summary in found.metrics.items()
        },
        gates_passed=ended["passed"],
        gates_failed=ended["failed"],
        gates_skipped=ended["skipped"],
        failed_gates=_failed(found.gates),
        compared=tuple(_compared(found.comparisons, found.gates)),
    )


S = TypeVar("S", MetricSummary, WeightedSummary)


def _estimated(summary: S, mean: str, estimate: Estimate | None) -> S:
    """Return a summary over all rows, where only a sample was asked; ``mean`` is its field."""
    if estimate is None:
        return summary
    figures: dict[str, Any] = {mean: estimate.mean}
    return replace(summary, ci_low=estimate.beyond_low, ci_high=estimate.beyond_high, **figures)


def _compared(
    comparisons: Iterable[Comparison], gates: Sequence[GateResult]
) -> Iterator[ComparedWith]:
    worst_first: tuple[GateOutcome, ...] = ("failed", "skipped", "passed")
    for found in comparisons:
        ended = {gate.outcome for gate in gates if gate.baseline == found.baseline}
        worst = next((outcome for outcome in worst_first if outcome in ended), None)
        yield ComparedWith(found.baseline, found.looks, worst)


def _failed(gates: Iterable[GateResult]) -> tuple[GateResult, ...]:
    failed = (gate for gate in gates if gate.outcome == "failed")
    return tuple(replace(gate, margin=None) for gate in failed)  # files have no margins


def change_of(name: str, before: RunPoint, after: RunPoint) -> str:
    """Return why a figure of two runs is not the same measure, in words; "" if it is.

    ``name`` is a metric or ``weighted_score``. Other weights of documents change both; a new
    definition changes a metric; ``weighted_score`` changes with the metrics that weigh, their
    weights and their definitions. What an old version did not record is taken as equal.
    """
    said = ["weights of documents changed"] if _are_docs_reweighed(before, after) else []
    if name != WEIGHTED_SCORE:
        said += [f"{name} is defined anew"] if _is_redefined(name, before, after) else []
        return ", ".join(said)
    old, new = _weights(before), _weights(after)
    said += [f"{name} added" for name in new if name not in old]
    said += [f"{name} left out" for name in old if name not in new]
    both = [name for name in new if name in old]
    # All weights twice as large weigh alike.
    ratios = {new[name] / old[name] for name in both}
    if max(ratios, default=1.0) - min(ratios, default=1.0) > _SAME * max(ratios, default=1.0):
        changed = [name for name in both if new[name] != old[name]]
        said += [f"weight of {name} {old[name]:g} -> {new[name]:g}" for name in changed]
    said += [f"{name} is defined anew" for name in both if _is_redefined(name, before, after)]
    return ", ".join(said)


_SAME: Final = 1e-9


def _weights(point: RunPoint) -> dict[str, float]:
    return {name: found.weight for name, found in point.metrics.items() if found.weight > 0.0}


def _are_docs_reweighed(before: RunPoint, after: RunPoint) -> bool:
    """Return whether a document has another weight; one that is not named weighs 1."""
    old, new = (
        None
        if found is None
        else {normalize("NFC", doc): w for doc, w in found.items() if w != 1.0}
        for found in (before.doc_weights, after.doc_weights)
    )
    return old is not None and new is not None and old != new


def _is_redefined(name: str, before: RunPoint, after: RunPoint) -> bool:
    old, new = before.definitions.get(name, ""), after.definitions.get(name, "")
    if before.doc_weights is None or after.doc_weights is None:  # of 0.1.0, without the language
        old, new = without_language(old), without_language(new)
    return bool(old and new) and old != new


def read_point(base: Path, folder: str) -> RunPoint | None:
    """Return the point of the run in ``base / folder``; None if this version cannot read it.

    Only the head of ``results.json`` is read, not its samples, and the commit of ``metadata.json``.
    """
    try:
        head = read_head(base / folder / "results.json")
        f"{head.run.id}{head.run.started_at}".encode()  # fails for half a character: not ours
    except (OSError, ValueError):
        return None
    return replace(
        _measured(head, head.run, title_of(head.scenario.name, head.variant), folder),
        overridden=head.scenario.overridden,
        commit=_commit(base / folder),
        definitions=head.scenario.definitions,
        sample=head.sample,
        made=head.made,
        judged=head.judged,
        doc_weights=head.scenario.doc_weights,
        path=head.scenario.path,
    )


class _Metadata(Value, frozen=True):
    commit: str | None = None


def _commit(folder: Path) -> str | None:
    """Return the commit that ``metadata.json`` names; None if it is missing or damaged."""
    try:
        return from_json((folder / "metadata.json").read_bytes(), _Metadata).commit
    except (OSError, ValueError):
        return None
