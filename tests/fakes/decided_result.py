"""Results for tests of what the terminal shows: any metrics, any scores, no pytest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    Baseline,
    Comparing,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.stats.paired import over_looks
from pytest_rageval.stats.summary import summarize_scenario

Scores = Mapping[str, Sequence[float | None]]


def decided(
    scores: Scores,
    gates: Mapping[str, Any],
    *,
    before: Scores | None = None,
    pinned: Scores | None = None,
    looks: int = 1,
    columns: Sequence[MetricColumn] = (),
    questions: Sequence[str] = (),
    errors: Mapping[int, str] | None = None,
) -> ScenarioResult:
    """Return a complete run of the samples s0, s1, ..., whose weighted score is the first metric's.

    ``before`` are the scores of the run ``main``, which it is compared with, ``pinned`` those of
    ``release-1.4``, which ``looks`` runs are compared with; ``errors`` say why the sample at a
    position has no score.
    """
    first = next(iter(scores.values()))
    names = [f"s{at}" for at in range(len(first))]
    samples = [
        SampleResult(
            name,
            at,
            weighted_score=first[at],
            scores={metric: values[at] for metric, values in scores.items()},
            question=questions[at] if questions else None,
            doc_name="a.pdf" if at % 2 else "b.pdf",
            errors=dict.fromkeys(scores, errors[at]) if errors and at in errors else {},
        )
        for at, name in enumerate(names)
    ]
    usual = SignificanceTest()
    shared = over_looks(usual, looks, len(scores) + 1)
    compare = []
    baselines = {}
    for name, older, test in (("main", before, usual), ("release-1.4", pinned, shared)):
        if older is not None:
            compare.append(Comparing(name, test=test))
            saved = {key: dict(zip(names, found, strict=True)) for key, found in older.items()}
            weighted = saved[next(iter(saved))]
            baselines[name] = Baseline(name, names, {"weighted_score": weighted, **saved})
    info = ScenarioInfo(
        "qa",
        "qa.rageval.yaml",
        "qa.rageval.yaml",
        tuple(columns) or tuple(map(MetricColumn, scores)),
        gates=gates,
        compare=tuple(compare),
        baselines=baselines,
        total=len(samples),
        selected=len(samples),
    )
    result = summarize_scenario(info, samples, complete=True)
    return decide_gates(result, Extent(len(samples), len(samples), len(samples)))
