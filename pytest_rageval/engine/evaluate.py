"""Runs a plan without pytest: every case in this process, or computed by an executor's workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.collector import rare_collections
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.score_sample import left_out_result, score_case, unscored_result
from pytest_rageval.engine.verdict.certainty import certainty_of
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.engine.verdict.sample_verdict import judged
from pytest_rageval.model import (
    NOTHING,
    Case,
    ControlVerdict,
    Sample,
    SampleResult,
    ScenarioResult,
    verdicts_of,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.wording import counted

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Usage
    from pytest_rageval.engine.remote.sending import SentAhead
    from pytest_rageval.engine.scoring.live_run import LiveScenario
    from pytest_rageval.engine.scoring.window import Judgement
    from pytest_rageval.executors.base import Workers

Progress = Callable[[int, int], object]
"""Called with the number of finished cases and the number of all cases."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The result of a scenario, and what its models cost (None if none was asked)."""

    result: ScenarioResult
    usage: Usage | None = None


def evaluate_plan(
    plan: Plan, run: RunSettings, progress: Progress | None = None, workers: Workers | None = None
) -> Evaluated:
    """Return the result of a scenario with its gates decided.

    ``workers`` compute the metrics that they can. A sample that they lose has no result, and every
    gate fails. An exception of ``progress``, or Ctrl-C, ends the evaluation; connections and files
    are closed, and what the workers still have is cancelled. Raises ScenarioError for a metric that
    they do not have.
    """
    with rare_collections(), _scorer(plan, workers) as scorer:
        reporter = _Reporter(progress, len(plan.cases))
        if not plan.is_asked:
            return Evaluated(_summed(plan, _computed(scorer, reporter), scorer))
        # Not at the top: scenarios that ask no model or target need no event loop.
        from pytest_rageval.engine.scoring.live_run import LiveRun

        live = LiveRun(run)
        try:
            samples = _asked(scorer, live.scenario(scorer.plan), reporter)
            live.settle(lambda: None)  # wait for the control rows
            controls = verdicts_of(plan.info.controls, live.known_verdict)
            usage = live.usage
        finally:
            live.close()
        remarks = (*plan.info.remarks, *(f"models: {problem}" for problem in live.problems))
        plan = replace(plan, info=replace(plan.info, remarks=remarks))
        return Evaluated(_summed(plan, samples, scorer, controls), usage)


@dataclass
class _Scorer:
    """Scores the cases of a plan, with what workers have computed where there are some.

    ``lost`` are the names of samples without a result, and ``why`` the reasons.
    """

    plan: Plan
    ahead: SentAhead | None = None
    lost: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def run(
        self, case: Case, reporter: _Reporter, judgement: Judgement | None = None
    ) -> SampleResult | None:
        """Return the result of a case; None for a sample that is lost."""
        if self.ahead is not None and isinstance(case, Sample) and case.skip is None:
            from pytest_rageval.engine.remote.sending import LostSampleError, with_scores

            ahead = self.ahead
            try:
                computed = ahead.take(case, lambda: reporter.at_least(ahead.finished))
            except LostSampleError as error:
                self.lost.append(case.id)
                self.why.append(str(error))
                reporter.count()
                return None
            judgement = with_scores(judgement, computed)
        result = run_case(self.plan, case, judgement)
        reporter.count()
        return result


@contextmanager
def _scorer(plan: Plan, workers: Workers | None) -> Iterator[_Scorer]:
    if workers is None:
        yield _Scorer(plan)
        return
    # Not at the top: most evaluations need no other process.
    from pytest_rageval.engine.remote.sending import SentAhead, prepared

    plan = plan if plan.remote else prepared(plan, workers)
    if not plan.remote:
        yield _Scorer(plan)
        return
    ahead = SentAhead(plan, workers, plan.asked_samples)
    try:
        yield _Scorer(plan, ahead)
    finally:
        ahead.close()


def _computed(scorer: _Scorer, reporter: _Reporter) -> list[SampleResult]:
    results = (scorer.run(case, reporter) for case in scorer.plan.cases)
    return [result for result in results if result is not None]


def _summed(
    plan: Plan,
    samples: list[SampleResult],
    scorer: _Scorer,
    controls: Mapping[str, ControlVerdict] = NOTHING,
) -> ScenarioResult:
    reasons = [f"{counted(count, 'sample')} {why}" for why, count in Counter(scorer.why).items()]
    info = replace(plan.info, remarks=(*plan.info.remarks, *reasons))
    extent = Extent(info.total, len(plan.cases), len(samples), lost=scorer.lost)
    result = replace(summarize_scenario(info, samples, extent.complete), controls=controls)
    return decide_gates(result, extent)


class _Reporter:
    """Calls ``progress`` with 0, then at most once for each case; never with a smaller number."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._counted = 0
        self._shown = -1
        self.at_least(0)

    def count(self) -> None:
        """Count a case that has its result, or that is lost."""
        self._counted += 1
        self.at_least(self._counted)

    def at_least(self, done: int) -> None:
        """Report that at least this many cases are done."""
        if self._progress is not None and done > self._shown:
            self._shown = done
            self._progress(done, self._total)


def _asked(scorer: _Scorer, live: LiveScenario, reporter: _Reporter) -> list[SampleResult]:
    """Return the results in asking order; many samples are answered and judged concurrently.

    A lost sample has none. Once the gates are certain, samples that are not under way are left out.
    """
    plan = scorer.plan
    cases, certainty = plan.asking_order, certainty_of(plan)
    window = live.window
    window.feed([case for case in cases if isinstance(case, Sample) and case.skip is None])
    results: list[SampleResult] = []
    is_certain = False
    for case in cases:
        judgement = None
        if isinstance(case, Sample) and case.skip is None:
            if is_certain and not window.has(case):
                results.append(left_out_result(plan, case))
                reporter.count()
                continue
            judgement = window.wait(case, lambda: reporter.at_least(window.finished))
        result = scorer.run(case, reporter, judgement)
        if result is None:
            continue
        results.append(result)
        if certainty is not None and judgement is not None and not is_certain:
            certainty.add(result)
            is_certain = certainty.is_reached
            if is_certain:
                window.cut()
    return results


def run_case(plan: Plan, case: Case, judgement: Judgement | None = None) -> SampleResult:
    """Return the result of ``case`` with its outcome, as pytest would report it.

    ``judgement`` has the answer and the scores that a live run collected for it.
    """
    if case.skip is not None:
        return replace(unscored_result(plan, case), outcome="skipped")
    return judged(plan, score_case(plan, case, judgement))
