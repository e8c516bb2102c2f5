"""A scenario from its path to its figures, without pytest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.decide import Extent, decide_gates
from pytest_rageval.engine.plan import Plan, make_plan
from pytest_rageval.engine.scorer import reasons_unjudged, score_case, unscored_result
from pytest_rageval.model import (
    NOTHING,
    Case,
    Sample,
    SampleResult,
    ScenarioResult,
    Score,
)
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.verdict import shortfalls


def evaluate(
    path: str | Path, overrides: Iterable[Override] = (), *, run: RunSettings | None = None
) -> ScenarioResult:
    """Return the result of the scenario file at ``path``, every case scored in this process.

    ``run`` says where replies of judges are kept; without it they are kept nowhere. Raises
    ScenarioError, with all problems in one go, when the scenario or its data cannot be used.
    No report is written.
    """
    path, run = Path(path), run or RunSettings()
    plan = make_plan(path, overrides, shown=path.name, run=run)
    samples = _judged(plan, run) if plan.judged else [run_case(plan, case) for case in plan.cases]
    result = summarize_scenario(plan.info, samples, complete=True)
    return decide_gates(result, Extent(len(samples), len(samples), len(samples)))


def _judged(plan: Plan, run: RunSettings) -> list[SampleResult]:
    """Return the results of all cases; many samples are judged at once."""
    # Not at the top: scenarios without a judge need no event loop.
    from pytest_rageval.engine.judging import Judging

    judging = Judging(run)
    asked = [case for case in plan.cases if isinstance(case, Sample) and case.skip is None]
    try:
        judging.feed(plan, asked)
        results = []
        for case in plan.cases:
            if isinstance(case, Sample) and case.skip is None:
                found = judging.wait(plan, case, lambda: None)
                results.append(run_case(plan, case, found.scores, found.latency_s))
            else:
                results.append(run_case(plan, case))
        return results
    finally:
        judging.close()


def run_case(
    plan: Plan, case: Case, judged: Mapping[str, Score] = NOTHING, latency_s: float = 0.0
) -> SampleResult:
    """Return the result of ``case`` with its outcome, as pytest would report it.

    ``judged`` are the scores of the metrics that ask a model, which took ``latency_s``.
    """
    if isinstance(case, Sample) and case.skip is not None:
        return replace(unscored_result(plan, case), outcome="skipped")
    result = score_case(plan, case, judged, latency_s)
    if reasons_unjudged(plan, result):
        if result.invalid is not None and plan.on_invalid != "fail":
            return replace(result, outcome="skipped" if plan.on_invalid == "skip" else "xfailed")
        return replace(result, outcome="xfailed" if _expected(case) else "error")
    if not shortfalls(result, plan.info.thresholds):
        return replace(result, outcome="passed")
    tolerated = plan.tolerate_shortfalls or _expected(case)
    return replace(result, outcome="xfailed" if tolerated else "failed")


def _expected(case: Case) -> bool:
    return isinstance(case, Sample) and case.xfail is not None
