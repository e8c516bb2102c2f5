"""Test functions that run over the samples of a scenario: ``@pytest.mark.rag_scenario(file)``.

The test gets each sample as ``rag_sample``, asks the system that it tests, and scores the answer
with ``rageval.check``: with the scenario's metrics, weights and thresholds. The scenario's gates
and summary then cover the cases of this test function.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

import pytest
from msgspec import structs

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.ask_target import filled
from pytest_rageval.engine.scoring.score_sample import (
    score_case,
    skipped_result,
    unanswered_result,
    unscored_result,
)
from pytest_rageval.engine.verdict.sample_verdict import reasons_unjudged
from pytest_rageval.errors import shorten
from pytest_rageval.model import Case, InvalidRow, Outcome, Sample, SampleResult
from pytest_rageval.plugin.collect.scenario_file import (
    case_marks,
    check_where,
    chosen_cases,
    named_plan,
    prepare_live_run,
    scenario_plan,
)
from pytest_rageval.plugin.names import Names
from pytest_rageval.plugin.run.items import CASE, JUDGE_SAMPLE, check_judged, check_thresholds
from pytest_rageval.plugin.run.run_settings import note_run
from pytest_rageval.plugin.run.start_session import ensure_session
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.targets.base import Answer, TargetError, answer_of
from pytest_rageval.targets.python_callable import text_part
from pytest_rageval.text.printable import printable


class _NotGiven(Enum):
    NOT_GIVEN = "as in the data"

    def __repr__(self) -> str:
        return self.name


NOT_GIVEN: Final = _NotGiven.NOT_GIVEN
"""The default answer of a check. It is not None: a system that returns None has not answered."""

MARKER = "rag_scenario"
PARAMETER = "rag_sample"

_SCENARIOS = pytest.StashKey[dict[str, "_TestScenario"]]()
_IS_REFUSED = pytest.StashKey[bool]()
_NAME = "rageval-python-tests"


class TestedCase:
    """A case of a scenario that a test function runs; ``result`` is None until it was scored.

    ``refused`` says why the value given to ``check`` is not an answer.
    """

    __test__ = False
    lost = ""  # the test process scores it: no engine can lose it

    def __init__(self, plan: Plan, case: Case) -> None:
        self.plan = plan
        self.case = case
        self.begin()

    def begin(self) -> None:
        self.result: SampleResult | None = None
        self.refused = ""

    def unscored(self, outcome: Outcome) -> SampleResult:
        """Return the result of a test that scored nothing: skipped, invalid, or with the reason."""
        if outcome == "skipped":
            return skipped_result(self.plan, self.case)
        if isinstance(self.case, InvalidRow):
            return unscored_result(self.plan, self.case)
        reason = self.refused or "rageval.check was not called"
        return unanswered_result(self.plan, self.case, reason)

    def case_outcome(self, reported: Outcome) -> Outcome:
        """Return the outcome of the case, given that of the test.

        A failed test is an ERROR of the case if its answer was refused; a failed or skipped one, if
        its scores cannot be judged. One that skips after its check passes or fails by the scores.
        """
        if reported not in ("failed", "skipped"):
            return reported
        if self.result is None:
            return "error" if self.refused and reported == "failed" else reported
        if reasons_unjudged(self.plan, self.result):
            return "error"
        # It was scored: as skipped, it would be missing from every figure.
        has_passed = reported == "skipped" and not shortfalls(
            self.result, self.plan.info.thresholds
        )
        return "passed" if has_passed else "failed"


class Checker:
    """The fixture ``rageval``: scores the answer of one test with its scenario."""

    def __init__(self, config: pytest.Config, case: TestedCase) -> None:
        self._config = config
        self._case = case

    @property
    def sample(self) -> Sample:
        """The sample of this test, as in the data."""
        assert isinstance(self._case.case, Sample)
        return self._case.case

    def check(
        self,
        answer: object = NOT_GIVEN,
        contexts: Sequence[object] | None = None,
        *,
        retrieved_ids: Sequence[str] | None = None,
    ) -> SampleResult:
        """Score an answer, record the scores, and fail as a case of the scenario would.

        ``answer`` is a text, or anything else that a target may return; by default the answer in
        the data is scored. Contexts that are not given are those of the data. Beside other
        contexts, ids in the data do not count; beside another answer, citations and confidence do
        not. Returns the result if it can be judged and meets the thresholds; else the test fails,
        or is xfailed where that is tolerated. Raises TypeError for a value that is not an answer,
        such as None, or has a confidence or citations that cannot be read, and RuntimeError for a
        second check of the sample. An empty text is an answer.
        """
        __tracebackhide__ = True
        sample = self._answered(answer, contexts, retrieved_ids)
        return self._verdict(self._score(sample))

    async def acheck(
        self,
        answer: object = NOT_GIVEN,
        contexts: Sequence[object] | None = None,
        *,
        retrieved_ids: Sequence[str] | None = None,
    ) -> SampleResult:
        """Do what ``check`` does, without blocking the event loop of an async test.

        ``answer`` may also be an async iterator of texts.
        """
        __tracebackhide__ = True
        if isinstance(answer, AsyncIterator):
            answer = iter([part async for part in answer])
        sample = self._answered(answer, contexts, retrieved_ids)
        return self._verdict(await _in_thread(lambda: self._score(sample)))

    def _answered(
        self,
        answer: object,
        contexts: Sequence[object] | None,
        retrieved_ids: Sequence[str] | None,
    ) -> Sample:
        if self._case.result is not None:
            raise RuntimeError(
                "rageval.check: already checked; each sample can be checked only once"
            )
        said = {"contexts": contexts, "retrieved_ids": retrieved_ids}
        given = {name: value for name, value in said.items() if value is not None}
        plan, keeps_text = self._case.plan, answer is NOT_GIVEN
        try:
            found = _answer(answer, given)
            return filled(self.sample, found, plan.beside, plan.top_k, keeps_text=keeps_text)
        except TargetError as error:
            self._case.refused = f"rageval.check: {error}"
            raise TypeError(self._case.refused) from None

    def _score(self, sample: Sample) -> SampleResult:
        plan = self._case.plan
        judged = self._config.stash[JUDGE_SAMPLE](plan, sample) if plan.judged else None
        if sample != self.sample:
            plan = structs.replace(plan, is_given=True)
        return score_case(plan, sample, judged)

    def _verdict(self, result: SampleResult) -> SampleResult:
        __tracebackhide__ = True
        self._case.result = result
        _judge(self._case.plan, result)
        return result


def _judge(plan: Plan, result: SampleResult) -> None:
    """End the test as a case of the scenario would end."""
    __tracebackhide__ = True
    check_judged(plan, result)
    check_thresholds(plan, result)


def _answer(answer: object, given: dict[str, Any]) -> Answer:
    """Return an answer with the contexts and ids that were ``given`` in addition."""
    extra = replace(answer_of({"answer": "-", **given}), text=None) if given else Answer()
    if answer is NOT_GIVEN:
        return extra
    names = ("contexts", "context_docs", "retrieved_ids")
    known = {name: part for name in names if (part := getattr(extra, name)) is not None}
    whole = answer
    if isinstance(answer, Iterator):
        whole = "".join(map(text_part, list(answer)))
    return replace(answer_of(whole), **known)


async def _in_thread(function: Callable[[], SampleResult]) -> SampleResult:
    """Return the result of ``function``, called in a thread, under asyncio or any anyio loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # An async test without asyncio runs under anyio, so anyio is installed.
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
            f"{definition.nodeid}: {len(marks)} markers {MARKER!r} at the same level; a test runs "
            f"over one scenario: write a test function for each"
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
    variant = str(marks[0].kwargs.get("variant", ""))
    plan = scenario_plan(path, collector, definition.nodeid, variant=variant, answers_given=True)
    check_where([plan], collector)
    if plan.judged:
        prepare_live_run(config, plan)
    names = Names()
    scenario = _TestScenario(plan, {case.index: names.give(case.id) for case in plan.cases})
    config.stash.setdefault(_SCENARIOS, {})[definition.nodeid] = scenario
    metafunc.parametrize(
        PARAMETER,
        [
            pytest.param(case, id=scenario.names[case.index], marks=case_marks(config, plan, case))
            for case in chosen_cases(plan, config)
        ],
    )


def _collector(node: pytest.Item) -> pytest.Collector:
    assert isinstance(node.parent, pytest.Collector)
    return node.parent


def _closest_marks(definition: pytest.Item) -> list[pytest.Mark]:
    """Return the closest markers of a test: on its function, else its class, else its module."""
    found = list(definition.iter_markers_with_node(MARKER))
    node = found[0][0] if found else None
    if isinstance(node, pytest.Class):  # its own marker replaces those of its bases
        own = vars(node.obj).get("pytestmark", ())
        return [mark for mark in own if mark.name == MARKER] or [found[0][1]]
    return [mark for at, mark in found if at is node]


def _scenario_path(mark: pytest.Mark, definition: pytest.Item) -> Path:
    """Return the file that the marker names, relative to the test's folder or to the rootdir."""
    how = f"@pytest.mark.{MARKER}('x.rageval.yaml'), with variant='dense' where it has some"
    if (
        len(mark.args) != 1
        or mark.kwargs.keys() - {"variant"}
        or not isinstance(mark.args[0], str | Path)
    ):
        raise pytest.Collector.CollectError(f"{definition.nodeid}: write {how}")
    folders = (definition.path.parent, definition.config.rootpath)
    for folder in folders:
        path = folder / mark.args[0]
        if path.is_file():
            return path
    shown = " or ".join(str(folder) for folder in dict.fromkeys(folders))
    raise pytest.Collector.CollectError(
        f"{definition.nodeid}: {how}: {mark.args[0]} not found in {shown}"
    )


def plan_plain(made: object) -> None:
    """Plan the run of a test function without other parameters, whose items were just ``made``.

    Whether it has others is known only now: fixtures and hooks give them, too. A problem raised
    here is an error of the file; raised in ``pytest_itemcollected``, it would end a worker.
    """
    for item in made if isinstance(made, list) else ():
        callspec = getattr(item, "callspec", None)
        if callspec is None or list(callspec.params) != [PARAMETER]:
            continue
        if (scenario := _scenario_of(item, callspec)) is not None:
            scenario.plan(_collector(item))


def _scenario_of(item: pytest.Item, callspec: Any) -> _TestScenario | None:
    known = item.config.stash.get(_SCENARIOS, {})
    return known.get(item.nodeid.removesuffix(f"[{callspec.id}]"))


class CaseFinder:
    """Gives each item of a test function its case during collection."""

    def __init__(self) -> None:
        self._refused: set[str] = set()
        self._empty: set[int] = set()
        self._found: dict[str, tuple[object, str, str]] = {}
        """By node id, which of their values the parameters have, the sample's id and the others."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a test that caught the failure of ``check`` and passed."""
        outcome = yield
        case = item.stash.get(CASE, None)
        if isinstance(case, TestedCase) and case.result is not None:
            _judge(case.plan, case.result)
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[Any]) -> None:
        """Deselect what pytest makes, as a skipped test, of a function none of whose rows runs."""
        if self._empty:
            config.hook.pytest_deselected(items=[one for one in items if id(one) in self._empty])
            items[:] = [one for one in items if id(one) not in self._empty]

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Note the case that the item runs, if any."""
        callspec = getattr(item, "callspec", None)
        if callspec is None or PARAMETER not in callspec.params:
            return
        scenario = _scenario_of(item, callspec)
        case = callspec.params[PARAMETER]
        if scenario is None or not isinstance(case, Sample | InvalidRow):
            self._empty.update([id(item)] if scenario else [])
            return
        order = list(callspec.params)  # as their ids stand in the node id
        ends = order[0] == PARAMETER, order[-1] == PARAMETER
        variant = _without(scenario.names[case.index], callspec.id, *ends)
        there = self._found.setdefault(item.nodeid, (callspec.indices, case.id, variant))
        if there[0] != callspec.indices:
            two = (shorten(repr(there[1:])), shorten(repr((case.id, variant))))
            message = (
                f"{item.nodeid} names two cases (sample, other parameters), {' and '.join(two)}: "
                "one would be lost; give the parameters ids of your own (parametrize: ids=[...])"
            )
            self._refuse(item, message)
            return
        try:
            plan = scenario.plan(_collector(item), variant)
        except pytest.Collector.CollectError as error:
            self._refuse(item, str(error))
            return
        note_run(item.config, scenario.nodeid, plan.info)
        item.stash[CASE] = TestedCase(plan, case)

    def _refuse(self, item: pytest.Item, message: str) -> None:
        """Report an error of the item's file, once. Raised in this hook, it would end a worker."""
        item.stash[_IS_REFUSED] = True
        if message not in self._refused:
            self._refused.add(message)
            report = pytest.CollectReport(_collector(item).nodeid, "failed", message, [])
            item.config.hook.pytest_collectreport(report=report)


def checker(item: pytest.Item) -> Checker:
    """Return the checker of this test; fails the test where there is no sample to check."""
    case = item.stash.get(CASE, None)
    if _IS_REFUSED in item.stash:  # workers run it all the same
        pytest.fail("its scenario cannot run: see the error of its file", pytrace=False)
    if not isinstance(case, TestedCase):
        pytest.fail("'rageval' needs @pytest.mark.rag_scenario('x.rageval.yaml')", pytrace=False)
    if isinstance(case.case, InvalidRow):
        pytest.fail(printable(f"invalid row: {case.case.reason}"), pytrace=False)
    return Checker(item.config, case)


class _TestScenario:
    """The scenario of a test function, with a plan for each variant of the test.

    If the test has other parameters, too, each combination of their values is a variant: a run with
    its own name, figures, gates and saved runs. All variants share the samples of ``plan``;
    ``names`` has the samples' names in node ids by their index.
    """

    def __init__(self, plan: Plan, names: Mapping[int, str]) -> None:
        self.names = names
        self.nodeid = plan.info.nodeid
        self._plan = plan
        self._plans: dict[str, Plan] = {}

    def plan(self, collector: pytest.Collector, variant: str = "") -> Plan:
        """Return the plan of a variant; "" is a test without other parameters."""
        if variant not in self._plans:
            name, nodeid = self._plan.info.name, self._plan.info.nodeid
            if variant:
                name = f"{name}[{variant}]"
                # Not in [...]: pytest would take the rest of a node id as part of the parameters.
                nodeid = f"{nodeid}({variant})"
            self._plans[variant] = named_plan(self._plan, collector, name, nodeid)
        return self._plans[variant]


def _without(name: str, whole: str, is_first: bool, is_last: bool) -> str:
    """Return the parameters in a node id without the sample's name.

    >>> _without("1", "1-2-1", True, False), _without("1", "1-2-1", False, True)
    ('2-1', '1-2')
    """
    # pytest escapes non-ASCII characters by default.
    for spelt in (name, name.encode("unicode_escape").decode("ascii")):
        if whole == spelt:  # other parameters may be hidden
            return ""
        if is_first and whole.startswith(f"{spelt}-"):
            return whole.removeprefix(f"{spelt}-")
        if is_last and whole.endswith(f"-{spelt}"):
            return whole.removesuffix(f"-{spelt}")
        if not is_first and not is_last and f"-{spelt}-" in whole:
            return whole.replace(f"-{spelt}-", "-", 1)
    # The parameters before or after it may be hidden (HIDDEN_PARAM): then its name is at an end.
    return whole if is_first and is_last else _without(name, whole, True, True)
