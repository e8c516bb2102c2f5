"""Runs a plan without pytest: every case is scored in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.score_sample import score_case, unscored_result
from pytest_rageval.engine.stopping import certainty_of, in_asking_order, left_out_result
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.engine.verdict.green import reasons_tolerated, reasons_unjudged
from pytest_rageval.model import Case, Sample, SampleResult, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.verdict import shortfalls

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.engine.scoring.live_run import LiveScenario
    from pytest_rageval.engine.scoring.window import Judgement

Progress = Callable[[int, int], object]
"""Called with the number of finished samples and the number of all samples."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The result of a scenario, and what its models cost (None if none was asked)."""

    result: ScenarioResult
    usage: Usage | None = None


def evaluate_plan(plan: Plan, run: RunSettings, progress: Progress | None = None) -> Evaluated:
    """Return the result of a scenario with its gates decided.

    An exception of ``progress``, or Ctrl-C, ends the evaluation; connections and files are closed.
    """
    reporter = _Reporter(progress, len(plan.cases))
    if not plan.is_asked:
        return Evaluated(
            _summed(plan, [reporter.after(run_case(plan, case)) for case in plan.cases])
        )
    # Not at the top: scenarios that ask no model or target need no event loop.
    from pytest_rageval.engine.scoring.live_run import LiveRun

    live = LiveRun(run)
    try:
        samples = _asked(plan, live.scenario(plan), reporter)
        usage = live.usage
    finally:
        live.close()
    remarks = (*plan.info.remarks, *(f"models: {problem}" for problem in live.problems))
    return Evaluated(
        _summed(replace(plan, info=replace(plan.info, remarks=remarks)), samples), usage
    )


def _summed(plan: Plan, samples: list[SampleResult]) -> ScenarioResult:
    extent = Extent(plan.info.total, len(samples), len(samples))
    return decide_gates(summarize_scenario(plan.info, samples, extent.complete), extent)


class _Reporter:
    """Calls ``progress`` at most once for each sample, never with a smaller number."""

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
        """Report that at least this many samples are done."""
        if self._progress is not None and done > self._shown:
            self._shown = done
            self._progress(done, self._total)


def _asked(plan: Plan, live: LiveScenario, reporter: _Reporter) -> list[SampleResult]:
    """Return the results of all cases; many samples are answered and judged concurrently."""
    cases, certainty = in_asking_order(plan), certainty_of(plan)
    live.feed([case for case in cases if isinstance(case, Sample) and case.skip is None])
    results, is_certain = [], False
    for case in cases:
        judgement = None
        if isinstance(case, Sample) and case.skip is None:
            if is_certain and not live.has(case):
                results.append(reporter.after(left_out_result(plan, case)))
                continue
            judgement = live.wait(case, lambda: reporter.at_least(live.finished))
        results.append(reporter.after(run_case(plan, case, judgement)))
        if certainty is not None and judgement is not None and not is_certain:
            certainty.add(results[-1])
            is_certain = certainty.is_reached
            if is_certain:
                live.cut()
    return results


def run_case(plan: Plan, case: Case, judgement: Judgement | None = None) -> SampleResult:
    """Return the result of ``case`` with its outcome, as pytest would report it.

    ``judgement`` has the answer and the scores that a live run collected for it.
    """
    if case.skip is not None:
        return replace(unscored_result(plan, case), outcome="skipped")
    result = score_case(plan, case, judgement)
    if reasons_unjudged(plan, result):
        if result.invalid is not None and plan.on_invalid != "fail":
            return replace(result, outcome="skipped" if plan.on_invalid == "skip" else "xfailed")
        return replace(result, outcome="xfailed" if result.xfail is not None else "error")
    if not shortfalls(result, plan.info.thresholds):
        return replace(result, outcome="xfailed" if reasons_tolerated(plan, result) else "passed")
    tolerated = plan.info.tolerates_shortfalls or result.xfail is not None
    return replace(result, outcome="xfailed" if tolerated else "failed")
