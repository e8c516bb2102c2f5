"""The fast protocol: a case that passes and needs nothing of pytest takes a short way.

pytest sets up, calls and tears down an item through sixteen hook calls, which cost ten times
what scoring does. A case of this package's own metrics uses none of what they offer. It is
therefore scored first. If it passes, every listener sees the reports that it would have seen, in
the same order. Any other outcome is left to pytest's own protocol, which takes over what scoring
gave. Where a plugin or a conftest.py could tell the difference, all cases take pytest's way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import pytest

from pytest_rageval.engine.scoring.score_sample import score_case
from pytest_rageval.engine.verdict.sample_verdict import judged
from pytest_rageval.model import SampleResult
from pytest_rageval.plugin.run.fast_reports import (
    PHASES,
    reason_against,
    reason_lines,
    strangers,
)
from pytest_rageval.plugin.run.gate_reports import GateItem
from pytest_rageval.plugin.run.items import METHODS, SampleItem, case_of
from pytest_rageval.stats.wording import counted

_CURRENT: Final = "PYTEST_CURRENT_TEST"
# With the report of a setup or teardown that passed, these do nothing but keep it for --durations.
_KEEP_OR_DO_NOTHING: Final = (
    "_pytest.cacheprovider.LFPlugin.",
    "_pytest.logging.LoggingPlugin.",
    "_pytest.main.Session.",
    "_pytest.stepwise.StepwisePlugin.",
    "_pytest.terminal.TerminalReporter.",
    "_pytest.terminalprogress.TerminalProgressPlugin.",
    "pytest_rageval.",
)
# Where plugins may look at the reports that the terminal has kept.
_LOOKING_BACK: Final = (
    "pytest_runtestloop",
    "pytest_keyboard_interrupt",
    "pytest_internalerror",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
)
_RAISED: Final = (KeyboardInterrupt, pytest.exit.Exception)
_DECIDING_MARKS: Final = frozenset({"skip", "skipif", "xfail"})


class FastProtocol:
    """Runs the cases of one process: of pytest's own, or of an xdist worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._first: SampleItem | None = None
        self._previous: pytest.Item | None = None
        self._is_fast = False
        self._log: Callable[[SampleItem, pytest.TestReport], None] = self._log_all
        self._kept: list[Any] | None = None

    def pytest_plugin_registered(self) -> None:
        """Have the next case decide anew: a plugin that came mid-run may tell the difference."""
        self._first = None

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say how many items are cases and gates; with ``-v``, why cases go pytest's own way."""
        gates = sum(isinstance(item, GateItem) for item in items)
        cases = sum(case_of(item) is not None for item in items) if gates else 0
        is_told = gates and self._config.get_verbosity() >= 0
        counts = [f"{counted(cases, 'case')} and {counted(gates, 'gate')}"] if is_told else []
        parents = {item.parent: item for item in items if type(item) is SampleItem}
        reasons = [reason_against(self._config, item.ihook) for item in parents.values()]
        return [*counts, *reason_lines(self._config, reasons)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a case and return True, if it may go the short way, and passes; else None.

        The first case of a file, or of a variant, may not: it sets up what the others share. Nor
        may the last, which tears that down, nor one that runs twice in a row, which pytest keeps
        set up in between.
        """
        first, previous, self._previous = self._first, self._previous, item
        is_last = nextitem is None or nextitem.parent is not item.parent
        if first is None or first.parent is not item.parent or not first.is_set_up:
            self._begin(item)
        elif (
            self._is_fast
            and type(item) is SampleItem
            and not is_last
            and item is not nextitem
            and item is not previous
            and not any(mark.name in _DECIDING_MARKS for mark in item.own_markers)
            and item.__dict__.keys().isdisjoint(METHODS)
        ):
            return self._run(item)
        if is_last:
            self._first = None
        return None

    def _begin(self, item: pytest.Item) -> None:
        """Find out whether the cases of a file, or of a variant, may go the short way."""
        self._first = item if type(item) is SampleItem else None
        if self._first is not None:
            self._first.is_set_up, self._first.tried = False, None
        self._is_fast = (
            self._first is not None
            and self._first.plan.is_plain
            and item.parent is not None
            and not any(mark.name in _DECIDING_MARKS for mark in item.parent.iter_markers())
            and all(getattr(SampleItem, name) is method for name, method in METHODS.items())
            and not reason_against(self._config, item.ihook)
        )
        if self._is_fast:
            self._log = self._chosen_log(item.ihook)

    def _chosen_log(self, hooks: Any) -> Callable[[SampleItem, pytest.TestReport], None]:
        """Return the ``_log_...`` method with the fewest hook calls that reaches all who listen."""
        if hasattr(self._config, "workerinput"):
            return self._log_to_controller
        self._kept = self._kept_reports()
        is_alone = not any(strangers(hooks, "pytest_runtest_logreport", _KEEP_OR_DO_NOTHING))
        return self._log_call if is_alone else self._log_all

    def _kept_reports(self) -> list[Any] | None:
        """Return where the terminal keeps reports of setups and teardowns, None if nobody looks.

        They are a quarter of a run's memory.
        """
        terminal: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None:
            return None
        looks = (
            self._config.getoption("durations", None) is not None
            or self._config.getini("console_output_style") == "times"  # it does so itself
            or any(any(strangers(self._config.hook, hook)) for hook in _LOOKING_BACK)
        )
        return terminal.stats.setdefault("", []) if looks else None

    def _run(self, item: SampleItem) -> bool | None:
        """Run a case, and return True; None if it does not pass, or the session is to stop.

        Its score, or error, is then kept in ``item.tried`` for pytest's way: an error must not get
        a second chance.
        """
        results: list[SampleResult] = []
        try:
            setup = pytest.CallInfo.from_call(partial(self._score, item, results), "setup", _RAISED)
        except _RAISED:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            raise
        if setup.excinfo is not None:
            item.tried = partial(_raise, setup.excinfo.value)
            return None
        result = judged(item.plan, results[0])
        session = item.session
        if result.outcome != "passed" or session.shouldstop or session.shouldfail:
            item.tried = partial(next, iter(results))
            return None
        item.begin()
        item.result = result
        self._log(item, pytest.TestReport.from_item_and_call(item, setup))
        os.environ.pop(_CURRENT, None)
        return True

    def _score(self, item: SampleItem, results: list[SampleResult]) -> None:
        """Add the result of a case to ``results``, in the phase in which pytest's way scores it."""
        os.environ[_CURRENT] = f"{item.nodeid} (setup)".replace("\x00", "(null)")
        results.append(score_case(item.plan, item.case))

    def _log_all(self, item: SampleItem, setup: pytest.TestReport) -> None:
        """Send the reports of a case through the hooks, as pytest does."""
        log, location = item.ihook.pytest_runtest_logreport, setup.location
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=location)
        log(report=setup)
        log(report=_after(setup, "call"))
        log(report=_after(setup, "teardown"))
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=location)

    def _log_call(self, item: SampleItem, setup: pytest.TestReport) -> None:
        """Send the call's report through the hooks; keep the others, for the terminal alone."""
        hooks, location = item.ihook, setup.location
        hooks.pytest_runtest_logstart(nodeid=item.nodeid, location=location)
        if self._kept is not None:
            self._kept += (setup, _after(setup, "teardown"))
        call = _turned(setup) if self._kept is None else _after(setup, "call")
        hooks.pytest_runtest_logreport(report=call)
        hooks.pytest_runtest_logfinish(nodeid=item.nodeid, location=location)

    def _log_to_controller(self, item: SampleItem, setup: pytest.TestReport) -> None:
        """Send one report to the xdist controller, which makes all of them."""
        phases = (setup.start, setup.stop, setup.duration)
        call = _turned(setup)
        setattr(call, PHASES, phases)
        item.ihook.pytest_runtest_logreport(report=call)


def _raise(error: BaseException) -> NoReturn:
    raise error


def _after(setup: pytest.TestReport, when: Any) -> pytest.TestReport:
    """Return the report of a phase after the setup, in which nothing happened."""
    return pytest.TestReport(
        getattr(setup, "id", setup.nodeid),  # from pytest 9.2 on: it would parse a text again
        setup.location,
        setup.keywords,
        "passed",
        None,
        when,
        setup.sections,
        0.0,
        setup.stop,
        setup.stop,
        setup.user_properties,
    )


def _turned(setup: pytest.TestReport) -> pytest.TestReport:
    """Turn the report of a setup, which nobody else has, into that of the call; return it."""
    setup.when, setup.start, setup.duration = "call", setup.stop, 0.0
    return setup
