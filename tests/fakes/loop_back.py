"""A run in one process whose results go the way of those of xdist, at the price of a plain run.

It cannot show what comes of several processes: who runs what, in which order, who writes, what they
share, and what a crash takes along.
"""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace

import execnet
import pytest

from pytest_rageval.plugin.run.session import _UNSENT, RagevalSession
from pytest_rageval.text.codec import to_json


class LoopBack:
    """A pytest plugin: of a run's session it makes a controller, and adds the one of a worker."""

    def pytest_plugin_registered(self, plugin: object, manager: pytest.PytestPluginManager) -> None:
        """Split a session in two when it is there: the one registered last hears first."""
        if type(plugin) is RagevalSession:
            plugin._is_controller = True
            plugin.refuse = lambda: None  # a controller reads no baseline; it has a report
            worker = _Worker(plugin._config, plugin._settings)
            manager.register(_Wire(plugin, worker))
            manager.register(worker)


class _Worker(RagevalSession):
    """Has what runs and puts results on reports; the rest is the controller's work."""

    pytest_sessionfinish = pytest_terminal_summary = pytest_unconfigure = None  # type: ignore[assignment]

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._is_worker = True


class _Wire:
    """Makes of each report of the worker what xdist's controller gets of it."""

    def __init__(self, controller: RagevalSession, worker: RagevalSession) -> None:
        self._controller = controller
        self._worker = worker
        self._positions: dict[str, int] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the controller what there is to run, as xdist does."""
        names = [item.nodeid for item in session.items]
        self._positions = {name: at for at, name in enumerate(names)}
        self._controller.pytest_xdist_node_collection_finished(None, names)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Tell the controller what a worker says at its end."""
        outcome = yield
        unsent = self._worker._unsent
        output = {_UNSENT: to_json((unsent, self._worker._odd))} if unsent else {}
        self._controller.pytest_testnodedown(SimpleNamespace(workeroutput=output))
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send a report; those of gates are the controller's own."""
        if report.nodeid in self._positions:
            self._send(report, item_index=self._positions[report.nodeid], worker_id="gw0")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Send what xdist sends: what went wrong."""
        if not report.passed:
            self._send(report)

    def _send(self, report: pytest.TestReport | pytest.CollectReport, **more: object) -> None:
        config = self._controller._config
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        data = execnet.loads(execnet.dumps({**data, **more}))
        received = config.hook.pytest_report_from_serializable(config=config, data=data)
        assert type(received) is type(report)
        vars(report).clear()
        vars(report).update(vars(received))
