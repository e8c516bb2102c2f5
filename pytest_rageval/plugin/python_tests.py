"""Ordinary test functions over the samples of a scenario: ``@pytest.mark.rag_scenario(file)``.

The test gets each sample as ``rag_sample``, asks whatever it tests, and has the answer scored by
``rageval.check``: with the metrics, weights and thresholds of the scenario, whose gates and summary
are then over the cases of this test function.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from pytest_rageval.engine.answering import filled
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scorer import (
    reasons_unjudged,
    score_case,
    unanswered_result,
    unscored_result,
)
from pytest_rageval.model import Case, InvalidRow, Outcome, Sample, SampleResult
from pytest_rageval.plugin.case_text import unjudged_text
from pytest_rageval.plugin.collect import case_marks, named_plan, prepare_asking, scenario_plan
from pytest_rageval.plugin.items import ASK, CASE, check_thresholds
from pytest_rageval.plugin.names import Names
from pytest_rageval.plugin.options import SETTINGS
from pytest_rageval.plugin.session import ensure_session
from pytest_rageval.targets.answers import answer_of
from pytest_rageval.targets.base import Answer, TargetError

if TYPE_CHECKING:
    from pytest_rageval.engine.ahead import Judgement


class _NotSaid(Enum):
    NOT_SAID = "as the data have it"

    def __repr__(self) -> str:
        return self.name


NOT_SAID: Final = _NotSaid.NOT_SAID
"""The answer of a check that is given none: a system that gave None has not answered."""

MARKER = "rag_scenario"
PARAMETER = "rag_sample"

_USED = pytest.StashKey[dict[str, "_Used"]]()
_NAME = "rageval-python-tests"


class TestedCase:
    """A case of a scenario that a test function runs; ``result`` is None until it was scored.

    ``refused`` says why what was to be scored is no answer.
    """

    __test__ = False

    def __init__(self, plan: Plan, case: Case) -> None:
        self.plan = plan
        self.case = case
        self.begin()

    def begin(self) -> None:
        """Forget the result: the test runs, for the first time or again."""
        self.result: SampleResult | None = None
        self.refused = ""

    def unscored(self, outcome: Outcome) -> SampleResult:
        """Return the result of a test that had nothing scored, and why, unless it is skipped."""
        if isinstance(self.case, InvalidRow) or outcome == "skipped":
            return unscored_result(self.plan, self.case)
        found = unanswered_result(self.plan, self.case)
        reason = self.refused or "rageval.check was not called"
        return replace(found, errors=dict.fromkeys(found.scores, reason))

    def case_outcome(self, reported: Outcome) -> Outcome:
        """Return the outcome of the case: a test cannot end in an ERROR, a case can."""
        if reported != "failed":
            return reported
        if self.result is None:
            return "error" if self.refused else reported
        return "error" if reasons_unjudged(self.plan, self.result) else reported


class Checker:
    """What the fixture ``rageval`` is: scores the answers of one test with its scenario."""

    def __init__(self, config: pytest.Config, case: TestedCase) -> None:
        self._config = config
        self._case = case

    @property
    def sample(self) -> Sample:
        """The sample of this test, as the data have it."""
        assert isinstance(self._case.case, Sample)
        return self._case.case

    def check(
        self,
        answer: object = NOT_SAID,
        contexts: Sequence[object] | None = None,
        *,
        retrieved_ids: Sequence[str] | None = None,
    ) -> SampleResult:
        """Score an answer, note the scores, and fail as a case of the scenario would.

        ``answer`` is a text, or whatever else a target may return; without one, the answer of the
        data is scored. What is not said stays as the data have it. Returns the result when it
        meets the thresholds. Raises TypeError for what is no answer, as None and an empty text. A
        sample can be checked once.
        """
        sample = self._answered(answer, contexts, retrieved_ids)
        return self._verdict(self._score(sample))

    async def acheck(
        self,
        answer: object = NOT_SAID,
        contexts: Sequence[object] | None = None,
        *,
        retrieved_ids: Sequence[str] | None = None,
    ) -> SampleResult:
        """Do what ``check`` does, without blocking the event loop of an async test."""
        sample = self._answered(answer, contexts, retrieved_ids)
        return self._verdict(await _in_thread(lambda: self._score(sample)))

    def _answered(
        self,
        answer: object,
        contexts: Sequence[object] | None,
        retrieved_ids: Sequence[str] | None,
    ) -> Sample:
        if self._case.result is not None:
            raise RuntimeError("rageval.check: this sample was checked before; once is all it can")
        said = {"contexts": contexts, "retrieved_ids": retrieved_ids}
        given = {name: value for name, value in said.items() if value is not None}
        try:
            found = _answer(answer, given)
        except TargetError as error:
            self._case.refused = f"rageval.check: {error}"
            raise TypeError(self._case.refused) from None
        return filled(self.sample, found, self._case.plan.top_k)

    def _score(self, sample: Sample) -> SampleResult:
        plan = self._case.plan
        judgement: Judgement | None = None
        if plan.judged:
            judgement = self._config.stash[ASK](plan, sample)
        return score_case(plan, sample, judgement)

    def _verdict(self, result: SampleResult) -> SampleResult:
        __tracebackhide__ = True
        case = self._case
        case.result = result
        reasons = reasons_unjudged(case.plan, result)
        if reasons:
            pytest.fail(unjudged_text(case.plan.info, result, reasons), pytrace=False)
        check_thresholds(case.plan.info, result)
        return result


def _answer(answer: object, given: dict[str, Any]) -> Answer:
    """Return an answer with what was said beside it."""
    beside = answer_of({"answer": "-", **given}) if given else Answer()
    beside = replace(beside, text=None)
    if answer is NOT_SAID:
        return beside
    found = answer_of(answer)
    names = ("contexts", "context_docs", "retrieved_ids")
    said = {name: part for name in names if (part := getattr(beside, name)) is not None}
    return replace(found, **said)


async def _in_thread(function: Callable[[], SampleResult]) -> SampleResult:
    """Return what ``function`` returns in a thread, under asyncio or whatever else anyio runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # An async test without asyncio is one of anyio's, which the user has installed then.
        to_thread: Any = import_module("anyio.to_thread")
        return cast("SampleResult", await to_thread.run_sync(function))
    return await asyncio.to_thread(function)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Run a test function with the marker once for each sample of its scenario."""
    definition, config = metafunc.definition, metafunc.config
    marks = _closest_marks(definition)
    if not marks:
        return
    if len(marks) > 1:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: {len(marks)} markers {MARKER!r} in one place; a test runs over "
            f"one scenario: write a test function for each"
        )
    if PARAMETER not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(
            f"{definition.nodeid}: @pytest.mark.{MARKER} needs the argument {PARAMETER!r} (the "
            f"sample) or 'rageval' (whose check() scores an answer)"
        )
    ensure_session(config, config.stash[SETTINGS])
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(CaseFinder(), _NAME)
    collector = _collector(definition)
    path = _scenario_path(marks[0], definition)
    plan = scenario_plan(path, collector, definition.nodeid, answers_given=True)
    if plan.judged:
        prepare_asking(config, plan)
    names = Names()
    used = _Used(plan, {case.index: names.give(case.id) for case in plan.cases})
    if definition.get_closest_marker("parametrize") is None:
        used.plan(collector)  # here, what is wrong with it is an error of this file alone
    config.stash.setdefault(_USED, {})[definition.nodeid] = used
    metafunc.parametrize(
        PARAMETER,
        [
            pytest.param(case, id=used.names[case.index], marks=case_marks(config, plan, case))
            for case in plan.cases
        ],
    )


def _collector(node: pytest.Item) -> pytest.Collector:
    assert isinstance(node.parent, pytest.Collector)
    return node.parent


def _closest_marks(definition: pytest.Item) -> list[pytest.Mark]:
    """Return the markers that stand closest to a test: at its function, its class, its module."""
    found = list(definition.iter_markers_with_node(MARKER))
    node = found[0][0] if found else None
    if isinstance(node, pytest.Class):  # without those of its bases, which its own takes over
        own = vars(node.obj).get("pytestmark", ())
        return [mark for mark in own if mark.name == MARKER] or [found[0][1]]
    return [mark for at, mark in found if at is node]


def _scenario_path(mark: pytest.Mark, definition: pytest.Item) -> Path:
    """Return the file that the marker names: beside the test's file, or below the rootdir."""
    how = f"@pytest.mark.{MARKER}('x.rageval.yaml')"
    if len(mark.args) != 1 or mark.kwargs or not isinstance(mark.args[0], str | Path):
        raise pytest.Collector.CollectError(f"{definition.nodeid}: write {how}")
    folders = (definition.path.parent, definition.config.rootpath)
    for folder in folders:
        path = folder / mark.args[0]
        if path.is_file():
            return path
    shown = " nor in ".join(str(folder) for folder in dict.fromkeys(folders))
    raise pytest.Collector.CollectError(
        f"{definition.nodeid}: {how}: there is no {mark.args[0]} in {shown}"
    )


class CaseFinder:
    """Gives each item of a test function its case, as it is collected."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note which case the item runs, if it runs one."""
        callspec = getattr(item, "callspec", None)
        if callspec is None or PARAMETER not in callspec.params:
            return
        used = item.config.stash[_USED].get(item.nodeid.removesuffix(f"[{callspec.id}]"))
        case = callspec.params[PARAMETER]
        if used is None or not isinstance(case, Sample | InvalidRow):
            return
        is_plain = list(callspec.params) == [PARAMETER]
        variant = "" if is_plain else _without(used.names[case.index], callspec.id)
        try:
            plan = used.plan(_collector(item), variant)
        except pytest.Collector.CollectError as error:  # collecting the file is over
            raise pytest.UsageError(str(error)) from error
        item.stash[CASE] = TestedCase(plan, case)


def checker(item: pytest.Item) -> Checker:
    """Return what scores the answer of this test; a row that is no sample fails the test here."""
    case = item.stash.get(CASE, None)
    if not isinstance(case, TestedCase):
        pytest.fail("'rageval' needs @pytest.mark.rag_scenario('x.rageval.yaml')", pytrace=False)
    if isinstance(case.case, InvalidRow):
        pytest.fail(f"invalid row: {case.case.reason}", pytrace=False)
    return Checker(item.config, case)


class _Used:
    """A scenario that a test function uses, with a plan for each variant of the test.

    A test that is parametrised otherwise, too, is a run of its own with each of its parameters: one
    with a name, figures, gates and saved runs of its own. Its samples are those of ``plan``, which
    has no name yet; ``names`` are the samples' names in node ids.
    """

    def __init__(self, plan: Plan, names: Mapping[int, str]) -> None:
        self.names = names
        self._plan = plan
        self._plans: dict[str, Plan] = {}

    def plan(self, collector: pytest.Collector, variant: str = "") -> Plan:
        """Return the plan of a variant, the plain one when it has no name."""
        if variant not in self._plans:
            name, nodeid = self._plan.info.name, self._plan.info.nodeid
            if variant:
                name = f"{name}[{variant}]"
                # Not in brackets: pytest takes what follows them in a node id for part of them.
                nodeid = f"{nodeid}({variant})"
            self._plans[variant] = named_plan(self._plan, collector, name, nodeid)
        return self._plans[variant]


def _without(name: str, whole: str) -> str:
    """Return what the parameters' part of a node id says beside the sample's name.

    >>> _without("q1", "q1-gpt")
    'gpt'
    """
    # pytest spells out what is not ASCII, unless the ini file says otherwise.
    for spelt in (name, name.encode("unicode_escape").decode("ascii")):
        if whole.startswith(f"{spelt}-"):
            return whole.removeprefix(f"{spelt}-")
        if whole.endswith(f"-{spelt}"):
            return whole.removesuffix(f"-{spelt}")
        if f"-{spelt}-" in whole:
            return whole.replace(f"-{spelt}-", "-", 1)
    return whole
