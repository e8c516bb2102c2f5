"""A case as a pytest item: its setup scores it (or ERROR), its call judges it (or FAILED)."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.score_sample import (
    left_out_result,
    score_case,
    skipped_result,
    stop_reason,
    unscored_result,
)
from pytest_rageval.engine.verdict.sample_verdict import reasons_tolerated, reasons_unjudged
from pytest_rageval.errors import did_you_mean
from pytest_rageval.model import FAILED_CONTROLS, Case, Outcome, Sample, SampleResult
from pytest_rageval.plugin.show.failures import ScenarioLines, failure_text, placed, unjudged_text
from pytest_rageval.stats.verdict import shortfalls, unwritten
from pytest_rageval.text.printable import wrappable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_rageval.engine.scoring.window import Judgement


class RunsCase(Protocol):
    """An object that runs a case: an item of the scenario file, or a user's test function.

    ``result`` is there from scoring to report, else None; ``lost`` says why it never is, else "".
    """

    plan: Plan
    case: Case
    result: SampleResult | None
    lost: str

    def begin(self) -> None:
        """Forget the result: the case runs, for the first time or again."""
        ...

    def unscored(self, outcome: Outcome) -> SampleResult:
        """Return the result of a case that was not scored and has this outcome."""
        ...

    def case_outcome(self, reported: Outcome) -> Outcome:
        """Return the outcome of the case, given the outcome of the report."""
        ...


CASE = pytest.StashKey[RunsCase]()
"""Key in a test function's item: the case that it runs."""


JUDGE_ITEM: pytest.StashKey[Callable[[SampleItem], Judgement]] = pytest.StashKey()
"""Key in the config: waits for the target and judges, and returns their replies about an item."""

JUDGE_SAMPLE: pytest.StashKey[Callable[[Plan, Sample], Judgement]] = pytest.StashKey()
"""Key in the config: the same for a sample of a test function."""


class ComputesRemotely(Protocol):
    """What has scores computed in other processes."""

    def prepare(self, plan: Plan) -> Plan:
        """Return the plan as that of a run whose metrics it computes; raises ScenarioError."""
        ...

    def scores(self, item: SampleItem, judgement: Judgement | None) -> Judgement | None:
        """Return an item's scores with what was asked about it; raises LostSampleError."""
        ...


ENGINE: pytest.StashKey[ComputesRemotely] = pytest.StashKey()
"""Key in the config: what computes scores in other processes, where the run has an engine."""


_HOOKS: pytest.StashKey[Any] = pytest.StashKey()
"""Key in the parent of items: the hooks that are called for them."""

_PLACE: pytest.StashKey[str] = pytest.StashKey()
"""Key in the parent of items: the path that pytest's reports show."""

_UNWRITTEN: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""Key in the config: by scenario and reason of the run, the first case that is an ERROR for it."""


class SampleItem(pytest.Item):
    """One case of a scenario.

    ``tried``, if set, returns or raises what scoring the case has come to already.
    """

    def __init__(self, *, plan: Plan, case: Case, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._ihook: Any = None
        self.plan = plan
        self.case = case
        self.result: SampleResult | None = None
        self.lost = ""
        self.is_set_up = False
        self.tried: Callable[[], SampleResult] | None = None
        self._is_left_out = False
        self._is_repeated = False

    @property
    def ihook(self) -> Any:
        """The hooks of the file. pytest looks them up at each call, which costs 5 % of a run.

        Until collection ends, a conftest.py of another folder may still be loaded, whose hooks are
        not for these items; so nothing is kept before.
        """
        if self._ihook is None:
            assert self.parent is not None
            if not self.session.testscollected:
                return self.parent.ihook
            known = self.parent.stash.get(_HOOKS, None)
            self._ihook = known or self.parent.stash.setdefault(_HOOKS, self.parent.ihook)
        return self._ihook

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """Where the case is, as pytest says it; its file is looked up once for all of them."""
        assert self.parent is not None
        shown = self.parent.stash.get(_PLACE, None)
        if shown is None:
            shown = self.parent.stash[_PLACE] = super().location[0]
        return shown, *self.reportinfo()[1:]

    def setup(self) -> None:
        """Score the case; if it cannot be judged, fail here, so that pytest reports an ERROR."""
        self.is_set_up = True  # and so are its parents, which pytest sets up first
        if self.config.getoption("setuponly", False) or self.config.getoption("setupplan", False):
            return
        judgement = self.config.stash[JUDGE_ITEM](self) if self.is_asked else None
        if self.is_computed_remotely:
            judgement = self._computed(judgement)
        tried, self.tried = self.tried, None
        self.result = tried() if tried is not None else score_case(self.plan, self.case, judgement)
        self._say_once(self.result)
        check_judged(self.plan, self.result)

    def _computed(self, judgement: Judgement | None) -> Judgement | None:
        """Return what was asked about the case, and the scores that the engine computed."""
        # Not at the top: most runs have no engine.
        from pytest_rageval.engine.remote.sending import LostSampleError

        try:
            return self.config.stash[ENGINE].scores(self, judgement)
        except LostSampleError as error:
            self.lost = str(error)
        pytest.fail(self.lost, pytrace=False)  # outside: else its exception is shown, too

    @property
    def is_computed_remotely(self) -> bool:
        """Whether an engine computes scores of this case."""
        return bool(self.plan.remote) and isinstance(self.case, Sample) and self.case.skip is None

    def _say_once(self, result: SampleResult) -> None:
        """Have pytest skip the case if an earlier one is an ERROR for the same reason of the run.

        Its target is not written yet, or a judge does not pass its control rows. In the results,
        all of these cases are ERRORs.
        """
        said = unwritten(self.plan.info.target, result)
        if said is not None:
            said = f"not answered: {said}"
        elif self.plan.info.requires_controls:
            said = _by_failed_controls(self.plan, result)
        if said is None or self.get_closest_marker("xfail") is not None:
            return
        known = self.config.stash.setdefault(_UNWRITTEN, {})
        first = known.setdefault(f"{self.plan.info.nodeid} {said}", self.name)
        if first != self.name:
            self._is_repeated = True
            pytest.skip(wrappable(f"as {first}: {said}"))

    @property
    def is_asked(self) -> bool:
        """Whether the system under test or a model is asked about this case."""
        return self.plan.is_asked and isinstance(self.case, Sample) and self.case.skip is None

    def begin(self) -> None:
        self.result = None
        self._is_repeated = False
        self.lost = ""

    def leave_out(self) -> None:
        """Have pytest skip the case: the verdict is certain without it."""
        self._is_left_out = True
        self.add_marker(pytest.mark.skip(reason=stop_reason(self.plan)))

    def unscored(self, outcome: Outcome) -> SampleResult:
        if self._is_left_out:
            return left_out_result(self.plan, self.case)
        make = skipped_result if outcome == "skipped" else unscored_result
        return make(self.plan, self.case)

    def case_outcome(self, reported: Outcome) -> Outcome:
        return "error" if self._is_repeated else reported

    def runtest(self) -> None:
        """Compare the scores with the thresholds."""
        assert self.result is not None  # pytest runs no call without setup()
        check_thresholds(self.plan, self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return pytest's own representation, placed at the row's line for failures of ours."""
        shown = super().repr_failure(excinfo)
        if isinstance(excinfo.value, pytest.fail.Exception):
            return placed(shown, self.path, self.plan.line_of(self.case.row))
        return shown

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the scenario file, the line (from 0) of the row, else of the data, and a heading.

        The heading must not end like the node id, in which pytest would replace the dots by ``::``.
        """
        line = self.plan.line_of(self.case.row) - 1
        return self.path, line, f"{self.plan.heading}: {self.name} "


def _by_failed_controls(plan: Plan, result: SampleResult) -> str | None:
    """Return why a case cannot be judged if failed control rows are the only reason, else None."""
    said = [error for error in result.errors.values() if error.startswith(FAILED_CONTROLS)]
    reasons = reasons_unjudged(plan, result) if said else []
    is_it = reasons and all(any(one in reason for one in said) for reason in reasons)
    return "; ".join(reasons) if is_it else None


METHODS: Final = {
    name: getattr(SampleItem, name)
    for name in ("setup", "runtest", "teardown", "reportinfo", "repr_failure")
}
"""What pytest calls of an item, to find out later whether anybody has replaced it."""


def check_judged(plan: Plan, result: SampleResult) -> None:
    """Fail the test that runs a case if the case cannot be judged."""
    __tracebackhide__ = True
    reasons = reasons_unjudged(plan, result)
    if reasons:
        pytest.fail(unjudged_text(plan.info, result, reasons), pytrace=False)


def check_thresholds(plan: Plan, result: SampleResult) -> None:
    """Fail or xfail the test that runs a case if a score misses its threshold.

    Also xfail it if a score is missing that ``gates.unscored`` tolerates.
    """
    __tracebackhide__ = True
    info = plan.info
    missed = shortfalls(result, info.thresholds)
    if missed and info.tolerates_shortfalls:
        said = "; ".join(map(str, missed))
        _tolerate(f"tolerated, gate pass_rate decides: {said}")
    if missed:
        pytest.fail(failure_text(info, result, missed), pytrace=False)
    tolerated = reasons_tolerated(plan, result)
    if tolerated:
        _tolerate("tolerated, gate unscored decides: " + "; ".join(tolerated))


def _tolerate(reason: str) -> NoReturn:
    """Xfail the test, without a traceback: formatting one is slow, and pytest prints none."""
    raise pytest.xfail.Exception(wrappable(reason), pytrace=False)


def case_of(item: pytest.Item) -> RunsCase | None:
    """Return the case that an item runs, None for other items."""
    return item if isinstance(item, SampleItem) else item.stash.get(CASE, None)


class FixtureItem(SampleItem, pytest.Function):
    """One case of a scenario whose system under test is the value of the fixture ``fixture``."""

    def __init__(self, *, plan: Plan, **kwargs: Any) -> None:
        assert plan.target is not None
        self.fixture = plan.target.fixture or ""
        super().__init__(plan=plan, callobj=_taking(self.fixture), **kwargs)

    @property
    def target(self) -> object:
        """The value of the fixture: the system under test."""
        return self.funcargs[self.fixture]

    def setup(self) -> None:
        """Have pytest set up the fixture, then score the case."""
        unknown = ""
        try:
            pytest.Function.setup(self)
        except (Exception, pytest.fail.Exception) as error:
            unknown = self._unknown(error)
            self.result = self._unanswered(unknown or self._describe(error))
            if not unknown:
                raise
        if unknown:  # outside the handler, so that its exception is not shown, too
            line = ScenarioLines(self.path, self.plan.info.variant).of_target()
            pytest.fail(f"{self.plan.info.path}:{line}: target: {unknown}", pytrace=False)
        super().setup()

    def _unknown(self, error: BaseException) -> str:
        """Return the message for an unknown fixture with the nearest guess, "" for other errors."""
        if not isinstance(error, pytest.FixtureLookupError):
            return ""
        shown = error.formatrepr()  # the only public place with the known names
        known = re.search(r"not found\s+available fixtures: (.*)", shown.errorstring)
        if known is None or error.argname is None:
            return ""
        guess = did_you_mean(error.argname, known[1].split(", "))
        said = f"fixture {error.argname!r} not found.{guess} Available: {known[1]}"
        if error.argname == self.fixture:
            return said
        places = [line for line in shown.tblines if line.startswith("file ")]
        return f"fixture {self.fixture!r} ({places[-1]}): {said}"

    def _describe(self, error: BaseException) -> str:
        from pytest_rageval.targets.base import describe_exception

        return f"fixture {self.fixture!r}: {describe_exception(error).partition(chr(10))[0]}"

    def _unanswered(self, message: str) -> SampleResult | None:
        """Return the result of a sample whose system under test could not be made, else None."""
        # Not at the top: most scenarios have no target.
        from pytest_rageval.engine.scoring.ask_target import TargetReply
        from pytest_rageval.engine.scoring.window import Judgement

        if not isinstance(self.case, Sample):
            return None
        return score_case(self.plan, self.case, Judgement(answered=TargetReply(self.case, message)))


def _taking(fixture: str) -> FunctionType:
    """Return a function whose one parameter has the name of the fixture, for pytest to fill in."""

    def case(target: object) -> None:
        """Never called: the item does its own work."""

    return FunctionType(case.__code__.replace(co_varnames=(fixture,)), {}, "case")
