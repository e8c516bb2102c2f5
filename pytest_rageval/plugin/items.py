"""A case as a pytest item: scored in its setup (or ERROR), judged in its call (or FAILED)."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scorer import reasons_unjudged, score_case, unscored_result
from pytest_rageval.model import Case, Outcome, Sample, SampleResult, ScenarioInfo
from pytest_rageval.plugin.case_text import failure_text, unjudged_text
from pytest_rageval.stats.verdict import shortfalls

if TYPE_CHECKING:
    from pytest_rageval.engine.ahead import Judgement


class JudgesItem(Protocol):
    """Returns what was asked about an item, when it is there."""

    def __call__(self, item: SampleItem) -> Judgement: ...


class RunsCase(Protocol):
    """What runs a case of a scenario: an item of its file, or a test function of the user's.

    ``result`` is None until the case was scored.
    """

    plan: Plan
    case: Case
    result: SampleResult | None

    def begin(self) -> None:
        """Forget the result: the case runs, for the first time or again."""
        ...

    def unscored(self, outcome: Outcome) -> SampleResult:
        """Return the result where nothing was scored, of a case with this outcome."""
        ...

    def case_outcome(self, reported: Outcome) -> Outcome:
        """Return the outcome of the case from that of the report."""
        ...


CASE = pytest.StashKey[RunsCase]()
"""Where a test function's item keeps the case that it runs."""


class AsksNow(Protocol):
    """Returns what is asked about a sample of a scenario, at once."""

    def __call__(self, plan: Plan, sample: Sample) -> Judgement: ...


ASK = pytest.StashKey[AsksNow]()
"""Where the config keeps what asks about the samples of test functions."""

JUDGE = pytest.StashKey[JudgesItem]()
"""Where the config keeps what asks about items."""


class SampleItem(pytest.Item):
    """One case of a scenario. ``result`` is None until it was scored."""

    def __init__(self, *, plan: Plan, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._ihook = self.parent.ihook if self.parent is not None else self.session.ihook
        self.plan = plan
        self.case = case
        self.result: SampleResult | None = None

    @property
    def ihook(self) -> Any:
        """The hooks of the file. pytest finds them anew at each call, which costs 5 % of a run."""
        return self._ihook

    def setup(self) -> None:
        """Score the case; what cannot be judged ends here, so that pytest reports an ERROR."""
        if self.config.getoption("setuponly", False) or self.config.getoption("setupplan", False):
            return
        self.result = self._score()
        reasons = reasons_unjudged(self.plan, self.result)
        if reasons:
            pytest.fail(unjudged_text(self.plan.info, self.result, reasons), pytrace=False)

    def _score(self) -> SampleResult:
        if not self.is_asked:
            return score_case(self.plan, self.case)
        return score_case(self.plan, self.case, self.config.stash[JUDGE](self))

    @property
    def is_asked(self) -> bool:
        """Whether the system under test or models are asked about this case."""
        return self.plan.is_asked and isinstance(self.case, Sample) and self.case.skip is None

    def begin(self) -> None:
        """Forget the result: the case runs, for the first time or again."""
        self.result = None

    def unscored(self, _: Outcome) -> SampleResult:
        """Return the result of a case that is skipped."""
        return unscored_result(self.plan, self.case)

    def case_outcome(self, reported: Outcome) -> Outcome:
        """Return the outcome of the report: it is that of the case."""
        return reported

    def runtest(self) -> None:
        """Compare the scores with the thresholds."""
        assert self.result is not None  # made by setup(), without which pytest runs no call
        check_thresholds(self.plan.info, self.result)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the scenario file and a heading that is no end of the node id.

        The terminal would turn the dots of such a heading into ``::``.
        """
        return self.path, 0, f"{self.plan.info.name}: {self.name} "


def check_thresholds(info: ScenarioInfo, result: SampleResult) -> None:
    """End the test that runs a case, FAILED or tolerated, where a score misses its threshold."""
    __tracebackhide__ = True
    missed = shortfalls(result, info.thresholds)
    if missed and info.tolerates_shortfalls:
        pytest.xfail("tolerated, gate pass_rate decides: " + "; ".join(map(str, missed)))
    if missed:
        pytest.fail(failure_text(info, result, missed), pytrace=False)


def case_of(item: pytest.Item) -> RunsCase | None:
    """Return the case of a scenario that an item runs, None for an item that runs none."""
    return item if isinstance(item, SampleItem) else item.stash.get(CASE, None)


class FixtureItem(SampleItem, pytest.Function):
    """One case of a scenario whose system under test is the value of the fixture ``fixture``."""

    def __init__(self, *, plan: Plan, **kwargs: Any) -> None:
        assert plan.target is not None
        self.fixture = plan.target.fixture or ""
        super().__init__(plan=plan, callobj=_taking(self.fixture), **kwargs)

    @property
    def target(self) -> object:
        """What the fixture gave: the system under test."""
        return self.funcargs[self.fixture]

    def setup(self) -> None:
        """Have pytest fill the fixture in, then score the case."""
        try:
            pytest.Function.setup(self)
        except (Exception, pytest.fail.Exception) as error:
            self.result = self._unanswered(error)
            raise
        super().setup()

    def _unanswered(self, error: BaseException) -> SampleResult | None:
        """Return the result of a case whose system under test could not be made."""
        # Not at the top: most scenarios have no target.
        from pytest_rageval.engine.ahead import Judgement
        from pytest_rageval.engine.answering import Answered
        from pytest_rageval.targets.frames import told

        if not isinstance(self.case, Sample):
            return None
        message = f"fixture {self.fixture!r}: {told(error).partition(chr(10))[0]}"
        return score_case(self.plan, self.case, Judgement(answered=Answered(self.case, message)))


def _taking(fixture: str) -> FunctionType:
    """Return a function with one parameter, called as the fixture that pytest is to fill in."""

    def case(target: object) -> None:
        """Never called: the item does its own work."""

    return FunctionType(case.__code__.replace(co_varnames=(fixture,)), {}, "case")
