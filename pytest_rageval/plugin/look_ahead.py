"""Has the samples behind the present one judged meanwhile: many calls in flight, one case each."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

import pytest

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.ahead import Judgement
from pytest_rageval.engine.judging import Judging
from pytest_rageval.engine.plan import Plan
from pytest_rageval.model import Sample
from pytest_rageval.plugin.items import ASK, JUDGE, FixtureItem, SampleItem
from pytest_rageval.plugin.sample_logs import ensure_sample_logs
from pytest_rageval.plugin.shared import PROBLEMS, PROBLEMS_OUTPUT
from pytest_rageval.targets.base import TargetError

_BEAT_S = 15.0
_NAME = "rageval-look-ahead"


def ensure_look_ahead(config: pytest.Config, run: RunSettings) -> None:
    """Register the plugin object that judges ahead, once."""
    if not config.pluginmanager.has_plugin(_NAME):
        config.pluginmanager.register(LookAhead(config, run), _NAME)
        ensure_sample_logs(config)


class LookAhead:
    """Feeds the judges with the items that this process is about to run, and closes them."""

    def __init__(self, config: pytest.Config, run: RunSettings) -> None:
        self._config = config
        self._judging = Judging(run)
        self._positions: dict[str, int] = {}
        self._fed: set[pytest.Item] = set()
        self._own: pytest.Item | None = None
        self._total = 0
        self._nextitem: pytest.Item | None = None
        self._next_beat = time.monotonic() + _BEAT_S
        config.stash[JUDGE] = self._judge
        config.stash[ASK] = self._ask

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of the items after all deselection."""
        self._positions = {item.nodeid: at for at, item in enumerate(session.items)}
        self._total = sum(isinstance(item, SampleItem) and item.is_asked for item in session.items)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Start with the next samples before this item is run."""
        self._nextitem = nextitem
        if isinstance(item, SampleItem) and item.is_asked and self._is_running:
            self._feed(item)
        return (yield)

    def _feed(self, item: SampleItem) -> None:
        """Have this sample asked about, and those behind it as far as is worth it."""
        window = self._judging.window(item.plan)
        for found in islice(self._upcoming(item, self._nextitem), window):
            # All but the last were fed with the item before; markers take time to look up.
            if found in self._fed or not isinstance(found, SampleItem) or not found.is_asked:
                continue
            if self._judging.is_ready(found.plan) and not _may_be_skipped(found):
                sample = found.case
                assert isinstance(sample, Sample)
                self._judging.feed(found.plan, [sample])
                self._fed.add(found)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> None:
        """Note an item whose target is made for it alone: the scope is the item then.

        So it is for the scope ``function``, and for ``class``: cases are in none.
        """
        item = request.node
        if isinstance(item, FixtureItem) and fixturedef.argname == item.fixture:
            self._own = item

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report of a setup the time that the judges took, not that of the waiting."""
        report = yield
        result = item.result if isinstance(item, SampleItem) and item.is_asked else None
        if result is not None and call.when == "setup":
            report.duration = result.latency_s
        return report

    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> None:
        """Close after the last item: under ``-x``, fixtures that judges need go right after it."""
        if nextitem is None:
            self._judging.close()
            self._fed.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Close, whatever happened, and leave word of what went wrong without failing anything."""
        self._judging.close()
        self._config.stash[PROBLEMS] = self._judging.problems
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[PROBLEMS_OUTPUT] = list(self._judging.problems)

    @property
    def _is_running(self) -> bool:
        option = self._config.getoption
        return not (option("setuponly", False) or option("setupplan", False))

    def _judge(self, item: SampleItem) -> Judgement:
        sample = item.case
        assert isinstance(sample, Sample)
        if isinstance(item, FixtureItem):
            self._use_fixture(item)
        return self._judging.wait(item.plan, sample, self._heartbeat)

    def _ask(self, plan: Plan, sample: Sample) -> Judgement:
        return self._judging.now(plan, sample, self._heartbeat)

    def _use_fixture(self, item: FixtureItem) -> None:
        """Take the fixture's value for the target, and ask ahead where the next cases share it.

        That is a fixture of module or session scope. One that is made for each case is asked for
        that case alone, while it is there: even where its value is the same object each time.
        """
        is_shared, problem = self._own is not item, ""
        try:
            self._judging.use_target(item.plan, item.target, is_shared=is_shared)
        except TargetError as error:
            problem = f"not answered: the fixture's value {error}"
        if problem:  # not inside of the handler, whose exception would be shown, too
            pytest.fail(problem, pytrace=False)
        if is_shared:
            self._feed(item)

    def _heartbeat(self) -> None:
        """Say every now and then that the run goes on: at a terminal, where somebody waits."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + _BEAT_S
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self._is_watched(terminal):
            with _uncaptured(self._config):
                terminal.ensure_newline()
                terminal.write_line(f"rageval: {self._progress}")

    @property
    def _progress(self) -> str:
        done, usage = f"{self._judging.finished} of {self._total} samples", self._judging.usage
        if usage is None:  # a target alone
            return f"{done} answered"
        cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.4f} USD"
        return f"{done} judged, {usage.calls} calls{cost}"

    def _is_watched(self, terminal: pytest.TerminalReporter) -> bool:
        quiet = self._config.getoption("verbose", 0) < 0 or hasattr(self._config, "workerinput")
        return not quiet and not os.environ.get("CI") and bool(terminal.isatty)

    def _upcoming(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[pytest.Item]:
        """Yield this item and those after it, as far as it is known that they run here."""
        yield item
        items = item.session.items
        if not hasattr(self._config, "workerinput"):
            yield from islice(items, self._positions.get(item.nodeid, len(items)) + 1, None)
        elif nextitem is not None:
            yield nextitem
            yield from _queued(self._config, items)


def _uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """Let what is written reach the terminal although a case is being set up."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        return nullcontext()
    found: AbstractContextManager[None] = capture.global_and_fixture_disabled()
    return found


def _may_be_skipped(item: pytest.Item) -> bool:
    """Return whether a marker says, or may say, that the item does not run.

    One that is not asked about ahead and runs all the same is asked about when it runs.
    """
    if item.get_closest_marker("skip") is not None:
        return True
    unless = (mark for mark in item.iter_markers("xfail") if not mark.kwargs.get("run", True))
    return any(_may_hold(mark) for mark in (*item.iter_markers("skipif"), *unless))


def _may_hold(mark: pytest.Mark) -> bool:
    """Return whether a marker holds, as far as is known: a text, code for pytest, may do."""
    conditions = (mark.kwargs["condition"],) if "condition" in mark.kwargs else mark.args
    try:
        return not conditions or any(map(bool, conditions))
    except Exception:  # noqa: BLE001  (pytest says what is wrong with it)
        return True


def _queued(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return what an xdist worker has in its queue; nothing where xdist keeps it differently.

    The queue is not part of xdist's interface. A worker that could not look into it would judge
    two samples at a time; one that judged all items ahead would pay for those of the others, too.
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
