"""A scenario from its path to its figures, without pytest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pytest_rageval.engine.decide import Extent, decide_gates
from pytest_rageval.engine.plan import Plan, make_plan
from pytest_rageval.engine.scorer import reasons_unjudged, score_case, unscored_result
from pytest_rageval.model import Case, Sample, SampleResult, ScenarioResult
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.verdict import shortfalls


def evaluate(path: str | Path, overrides: Iterable[Override] = ()) -> ScenarioResult:
    """Return the result of the scenario file at ``path``, every case scored in this process.

    Raises ScenarioError, with all problems in one go, when the scenario or its data cannot be
    used. Nothing is written.
    """
    path = Path(path)
    plan = make_plan(path, overrides, shown=path.name)
    samples = [run_case(plan, case) for case in plan.cases]
    result = summarize_scenario(plan.info, samples, complete=True)
    return decide_gates(result, Extent(len(samples), len(samples), len(samples)))


def run_case(plan: Plan, case: Case) -> SampleResult:
    """Return the result of ``case`` with its outcome, as pytest would report it."""
    if isinstance(case, Sample) and case.skip is not None:
        return replace(unscored_result(plan, case), outcome="skipped")
    result = score_case(plan, case)
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
