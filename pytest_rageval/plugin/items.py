"""A case as a pytest item: scored in its setup (or ERROR), judged in its call (or FAILED)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scorer import reasons_unjudged, score_case, unscored_result
from pytest_rageval.model import Case, Sample, SampleResult
from pytest_rageval.plugin.case_text import failure_text, unjudged_text
from pytest_rageval.stats.verdict import shortfalls

if TYPE_CHECKING:
    from pytest_rageval.engine.ahead import Judgement


class JudgesItem(Protocol):
    """Returns the scores of the judged metrics of an item, when they are there."""

    def __call__(self, item: SampleItem) -> Judgement: ...


JUDGE = pytest.StashKey[JudgesItem]()
"""Where the config keeps what judges items."""


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
        if not self.is_judged:
            return score_case(self.plan, self.case)
        judgement = self.config.stash[JUDGE](self)
        return score_case(self.plan, self.case, judgement.scores, judgement.latency_s)

    @property
    def is_judged(self) -> bool:
        """Whether models are asked about this case."""
        return bool(self.plan.judged) and isinstance(self.case, Sample) and self.case.skip is None

    def unscored(self) -> SampleResult:
        """Return the result of a case that is skipped."""
        return unscored_result(self.plan, self.case)

    def runtest(self) -> None:
        """Compare the scores with the thresholds."""
        assert self.result is not None  # made by setup(), without which pytest runs no call
        missed = shortfalls(self.result, self.plan.info.thresholds)
        if not missed:
            return
        if self.plan.tolerate_shortfalls:
            pytest.xfail("tolerated, gate pass_rate decides: " + "; ".join(map(str, missed)))
        pytest.fail(failure_text(self.plan.info, self.result, missed), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the scenario file and a heading that is no end of the node id.

        The terminal would turn the dots of such a heading into ``::``.
        """
        return self.path, 0, f"{self.plan.info.name}: {self.name} "
