"""A planned scenario to its figures, without pytest: every case scored in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.decide import Extent, decide_gates
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scorer import reasons_unjudged, score_case, unscored_result
from pytest_rageval.model import Case, Sample, SampleResult, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.verdict import shortfalls

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.engine.ahead import Judgement
    from pytest_rageval.engine.judging import Judging

Progress = Callable[[int, int], object]
"""Is told how many samples are done, of how many."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of a scenario, and what its models cost (None where none was asked)."""

    result: ScenarioResult
    usage: Usage | None = None


def evaluate_plan(plan: Plan, run: RunSettings, progress: Progress | None = None) -> Evaluated:
    """Return the result of a scenario with its gates decided.

    Whatever ``progress`` raises, and Ctrl-C, ends the evaluation; what was opened is closed.
    """
    told = _Told(progress, len(plan.cases))
    if not plan.is_asked:
        return Evaluated(_summed(plan, [told.after(run_case(plan, case)) for case in plan.cases]))
    # Not at the top: scenarios that ask nobody need no event loop.
    from pytest_rageval.engine.judging import Judging

    judging = Judging(run)
    try:
        samples = _asked(plan, judging, told)
        usage = judging.usage
    finally:
        judging.close()
    remarks = (*plan.info.remarks, *(f"models: {problem}" for problem in judging.problems))
    return Evaluated(
        _summed(replace(plan, info=replace(plan.info, remarks=remarks)), samples), usage
    )


def _summed(plan: Plan, samples: list[SampleResult]) -> ScenarioResult:
    result, ran = summarize_scenario(plan.info, samples, complete=True), len(samples)
    return decide_gates(result, Extent(ran, ran, ran))


class _Told:
    """Tells a ``progress`` what is done, once for each sample at most, and never backwards."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._results = 0
        self._shown = -1
        self.at_least(0)

    def after(self, result: SampleResult) -> SampleResult:
        """Count a result, and return it."""
        self._results += 1
        self.at_least(self._results)
        return result

    def at_least(self, done: int) -> None:
        """Say that so many samples are done."""
        if self._progress is not None and done > self._shown:
            self._shown = done
            self._progress(done, self._total)


def _asked(plan: Plan, judging: Judging, told: _Told) -> list[SampleResult]:
    """Return the results of all cases; many samples are answered and judged at once."""
    asked = [case for case in plan.cases if isinstance(case, Sample) and case.skip is None]
    judging.feed(plan, asked)
    return [told.after(_wait(plan, case, judging, told)) for case in plan.cases]


def _wait(plan: Plan, case: Case, judging: Judging, told: _Told) -> SampleResult:
    """Return the result of a case, when it is there."""
    if not isinstance(case, Sample) or case.skip is not None:
        return run_case(plan, case)
    found = judging.wait(plan, case, lambda: told.at_least(judging.finished))
    return run_case(plan, case, found)


def run_case(plan: Plan, case: Case, judgement: Judgement | None = None) -> SampleResult:
    """Return the result of ``case`` with its outcome, as pytest would report it.

    ``judgement`` is what was asked about it beforehand.
    """
    if case.skip is not None:
        return replace(unscored_result(plan, case), outcome="skipped")
    result = score_case(plan, case, judgement)
    if reasons_unjudged(plan, result):
        if result.invalid is not None and plan.on_invalid != "fail":
            return replace(result, outcome="skipped" if plan.on_invalid == "skip" else "xfailed")
        return replace(result, outcome="xfailed" if result.xfail is not None else "error")
    if not shortfalls(result, plan.info.thresholds):
        return replace(result, outcome="passed")
    tolerated = plan.info.tolerates_shortfalls or result.xfail is not None
    return replace(result, outcome="xfailed" if tolerated else "failed")
