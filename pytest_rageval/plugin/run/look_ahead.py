"""Asks the target and judges about the next samples while pytest runs the current one."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

import pytest

from pytest_rageval.clients.base import cost_text
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.engine.verdict.certainty import SharedCertainty, certainty_of
from pytest_rageval.model import Sample
from pytest_rageval.plugin.run.items import JUDGE_ITEM, JUDGE_SAMPLE, FixtureItem, SampleItem
from pytest_rageval.plugin.run.run_settings import PROBLEMS, PROBLEMS_OUTPUT
from pytest_rageval.plugin.run.sample_logs import ensure_sample_logs
from pytest_rageval.targets.base import TargetError

_BEAT_S = 15.0
_LOG_BEAT_S = 60.0  # where nobody watches, such as in CI
_NAME = "rageval-look-ahead"


def ensure_look_ahead(config: pytest.Config, run: RunSettings) -> None:
    """Register the look-ahead of this process, once."""
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(LookAhead(config, run), _NAME)
        ensure_sample_logs(config)


class LookAhead:
    """Feeds the live run with the items that this process runs next, and closes it at the end."""

    def __init__(self, config: pytest.Config, run: RunSettings) -> None:
        self._config = config
        self._live = LiveRun(run)
        self._positions: dict[str, int] = {}
        self._fed: set[pytest.Item] = set()
        self._item_with_own_target: pytest.Item | None = None
        self._total = 0
        self._certainties: dict[int, SharedCertainty] = {}
        self._certain: set[int] = set()
        self._nextitem: pytest.Item | None = None
        self._last_beat = time.monotonic()
        self._is_waiting = False
        config.stash[JUDGE_ITEM] = self._judge_item
        config.stash[JUDGE_SAMPLE] = self._judge_sample

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of the items after all deselection, and the verdicts to watch."""
        self._positions = {item.nodeid: at for at, item in enumerate(session.items)}
        cases = [item for item in session.items if isinstance(item, SampleItem)]
        self._total = sum(item.is_asked for item in cases)
        selected = Counter(id(item.plan) for item in cases)
        for plan in {id(item.plan): item.plan for item in cases}.values():
            certainty = certainty_of(plan)
            # With deselected cases the verdict is not that of the scenario.
            if certainty is not None and selected[id(plan)] == plan.info.total:
                shared = SharedCertainty(certainty, plan.info.nodeid, self._live.settings)
                self._certainties[id(plan)] = shared

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Feed the next samples before this item runs; if the verdict is certain, skip the item.

        Not one whose sample is being asked about: that is paid for.
        """
        self._nextitem = nextitem
        if isinstance(item, SampleItem) and item.is_asked and self._runs_tests:
            if not self._stop_if_certain(item.plan):
                self._feed(item)
            elif not self._live.scenario(item.plan).window.has(_sample(item)):
                item.leave_out()
        return (yield)

    def _stop_if_certain(self, plan: Plan, waited_for: Sample | None = None) -> bool:
        """Return whether the verdict is certain; if so, nothing but ``waited_for`` is begun."""
        found = self._certainties.get(id(plan))
        if found is not None and id(plan) not in self._certain and found.is_reached:
            self._certain.add(id(plan))
            self._live.scenario(plan).window.cut(waited_for)
        return id(plan) in self._certain

    def _feed(self, item: SampleItem) -> None:
        """Feed this sample and the next ones, as many as the window holds."""
        size = self._live.scenario(item.plan).window.size
        for found in islice(self._upcoming(item), size):
            # Cheapest test first: all but the last were fed earlier.
            if found in self._fed or not isinstance(found, SampleItem) or not found.is_asked:
                continue
            scenario = self._live.scenario(found.plan)
            is_asked = scenario.is_ready and id(found.plan) not in self._certain
            if is_asked and not _may_be_skipped(found):
                scenario.window.feed([_sample(found)])
                self._fed.add(found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> None:
        """Note an item whose target is made for it alone: then the request's node is the item.

        That is the case for the scope ``function``, and for ``class`` since cases are in no class.
        """
        item = request.node
        if isinstance(item, FixtureItem) and fixturedef.argname == item.fixture:
            self._item_with_own_target = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Set the duration of a setup to how long this sample took, not how long pytest waited.

        Also note the sample for the verdict.
        """
        report = yield
        if call.when != "setup" or not isinstance(item, SampleItem) or not item.is_asked:
            return report
        if item.result is not None:
            report.duration = item.result.latency_s
            if id(item.plan) in self._certainties:
                self._certainties[id(item.plan)].add(item.result)
                self._stop_if_certain(item.plan)
        return report

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Ask the control rows that are left, and close, before the session decides the gates."""
        outcome = yield
        # With xdist the main process runs no samples: only its workers settle.
        if self._live.settings.processes == 1 or hasattr(self._config, "workerinput"):
            cases = (item for item in session.items if isinstance(item, SampleItem))
            plans = {id(item.plan): item.plan for item in cases}
            self._live.settle_last(plans.values(), self._heartbeat)
            self._live.close()
        return outcome

    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> None:
        """Close while the last item still has its fixtures, which judges may need."""
        if nextitem is None:
            self._live.settle(self._heartbeat)
            self._live.close()
            self._fed.clear()  # a plugin may run cases again

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Close in any case, and pass on problems that fail no test."""
        self._live.close()
        self._config.stash[PROBLEMS] = self._live.problems
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[PROBLEMS_OUTPUT] = list(self._live.problems)

    @property
    def _runs_tests(self) -> bool:
        option = self._config.getoption
        return not (option("setuponly", False) or option("setupplan", False))

    def _judge_item(self, item: SampleItem) -> Judgement:
        sample = _sample(item)
        if isinstance(item, FixtureItem):
            self._use_fixture(item)

        def meanwhile() -> None:
            self._stop_if_certain(item.plan, sample)
            self._heartbeat()

        return self._live.scenario(item.plan).window.wait(sample, meanwhile)

    def _judge_sample(self, plan: Plan, sample: Sample) -> Judgement:
        return self._live.scenario(plan).now(sample, self._heartbeat)

    def _use_fixture(self, item: FixtureItem) -> None:
        """Use the fixture's value as the target, and look ahead if the next cases share it.

        Cases share a fixture of module scope or wider. One made for each case is asked only while
        it exists, even if its value is always the same object.
        """
        is_shared, problem = self._item_with_own_target is not item, ""
        try:
            self._live.scenario(item.plan).use_target(item.target, is_shared=is_shared)
        except TargetError as error:
            problem = f"not answered: the fixture's value {error}"
        if problem:  # outside the handler, so that its exception is not shown, too
            pytest.fail(problem, pytrace=False)
        if is_shared:
            self._feed(item)

    def _heartbeat(self) -> None:
        """Print the progress every 15 s at an interactive terminal, else every minute.

        With -q neither. That a server is waited for, which may be starting or have a wrong URL, is
        said at once in any case.
        """
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None:
            return
        waiting = self._live.opened.waiting if self._live.opened is not None else ""
        if waiting and not self._is_waiting:
            self._say(terminal, f"waiting up to {waiting}; Ctrl-C ends it")
        self._is_waiting = bool(waiting)
        if self._is_quiet:
            return
        is_watched = bool(terminal.isatty) and not os.environ.get("CI")
        now = time.monotonic()
        if now >= self._last_beat + (_BEAT_S if is_watched else _LOG_BEAT_S):
            self._last_beat = now
            self._say(terminal, self._progress)

    def _say(self, terminal: pytest.TerminalReporter, text: str) -> None:
        with _uncaptured(self._config):
            terminal.ensure_newline()
            terminal.write_line(f"rageval: {text}")

    @property
    def _progress(self) -> str:
        done, clients = f"{self._live.finished} of {self._total} samples", self._live.opened
        if clients is None:  # a target but no models
            return f"{done} answered"
        usage = clients.usage
        cost = cost_text(usage.cost_usd, usage.unpriced)
        return f"{done} judged, {usage.calls} calls{cost and f', {cost}'}{clients.flight}"

    @property
    def _is_quiet(self) -> bool:
        return self._config.getoption("verbose", 0) < 0 or hasattr(self._config, "workerinput")

    def _upcoming(self, item: pytest.Item) -> Iterator[pytest.Item]:
        """Yield this item and the following ones that are known to run in this process."""
        yield item
        items = item.session.items
        if not hasattr(self._config, "workerinput"):
            yield from islice(items, self._positions.get(item.nodeid, len(items)) + 1, None)
        elif self._nextitem is not None:
            yield self._nextitem
            yield from _queued(self._config, items)


def _sample(item: SampleItem) -> Sample:
    assert isinstance(item.case, Sample)
    return item.case


def _uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Suspend pytest's capturing of output."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        return nullcontext()
    found: AbstractContextManager[None] = capture.global_and_fixture_disabled()
    return found


def _may_be_skipped(item: pytest.Item) -> bool:
    """Return whether a marker may keep the item from running.

    If it runs after all, its sample is asked about then.
    """
    if item.get_closest_marker("skip") is not None:
        return True
    not_run = (mark for mark in item.iter_markers("xfail") if not mark.kwargs.get("run", True))
    return any(_may_hold(mark) for mark in (*item.iter_markers("skipif"), *not_run))


def _may_hold(mark: pytest.Mark) -> bool:
    """Return whether the marker's condition may be true; a text, which pytest evaluates, may be."""
    conditions = (mark.kwargs["condition"],) if "condition" in mark.kwargs else mark.args
    try:
        return not conditions or any(map(bool, conditions))
    except Exception:  # noqa: BLE001  (pytest reports it)
        return True


def _queued(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items in the queue of an xdist worker, [] if xdist has no such queue.

    The queue is not part of xdist's interface. Without it, a worker judges two samples at a time.
    Judging all items ahead would pay for those of other workers, too.
    """
    for plugin in config.pluginmanager.get_plugins():
        queue: Any = getattr(plugin, "torun", None)
        if queue is None:
            continue
        try:
            with queue.lock() as waiting:
                return [items[at] for at in list(waiting) if isinstance(at, int)]
        except (AttributeError, TypeError, IndexError):
            return []
    return []
