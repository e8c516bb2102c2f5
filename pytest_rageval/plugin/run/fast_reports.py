"""What lets cases take the fast protocol, and an xdist controller's part in it.

A worker sends one report of a case that took it, that of its call. The controller makes the
others from it, so that its plugins see all of them, in their order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from types import ModuleType
from typing import Any, Final

import pytest

from pytest_rageval.plugin.run import transport
from pytest_rageval.plugin.settings import SETTINGS

PHASES: Final = "rageval_phases"
"""The attribute of the one report of a case: start, stop and duration of its setup."""

_NOT_FROM: Final = "rageval_not_fast"
"""The key in a worker's input: what in the controller would tell the difference."""

# The fast protocol does not call these.
_PASSED_OVER: Final = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
)
# Whoever implements these may change what follows, or see that a case is scored before it starts.
_ANNOUNCING: Final = (
    "pytest_runtest_logstart",
    "pytest_runtest_logreport",
    "pytest_runtest_logfinish",
    "pytest_report_teststatus",
    "pytest_report_to_serializable",
    "pytest_report_from_serializable",
    "pytest_rageval_sample_scored",
)
# A case that passes can do without what plugins of these modules do at an item, unless one of
# _OPTIONS is given. In a worker, execnet runs the module xdist.remote as __channelexec__.
_HARMLESS: Final = (
    "_pytest.",
    "pytest_rageval.",
    "xdist.",
    "__channelexec__.",
    "_hypothesis_pytestplugin.",
    "langsmith.",
)
_OPTIONS: Final = {
    "setuponly": "--setup-only",
    "setupplan": "--setup-plan",
    "setupshow": "--setup-show",
    "trace": "--trace",
    "usepdb": "--pdb",
}
# Older versions look for exceptions of threads and finalizers only during a phase of an item; from
# this one on, exceptions wait for the next item that goes pytest's own way.
_OLDEST: Final = (8, 4)


def reason_against(config: pytest.Config, hooks: Any) -> str:
    """Return why the cases that meet these hooks go pytest's own way, "" if they need not.

    ``hooks`` are those of a collector or, in a controller, of the configuration.
    """
    refused = config.stash[SETTINGS].no_fast
    if refused:
        return refused
    if pytest.version_tuple[:2] < _OLDEST:
        return "pytest before 8.4"
    for name, option in _OPTIONS.items():
        if config.getoption(name, False):
            return option
    if told := next(_told(config, hooks), ""):
        return told
    if hasattr(config, "workerinput"):
        return str(config.workerinput.get(_NOT_FROM, "an xdist controller without rageval"))
    return ""


def _told(config: pytest.Config, hooks: Any) -> Iterator[str]:
    """Yield who would tell the difference."""
    for listeners, names in ((hooks, _PASSED_OVER), (config.hook, _ANNOUNCING)):
        for hook in names:
            yield from (f"{hook} of {giver}" for giver in strangers(listeners, hook))


def strangers(hooks: Any, hook: str, known: Sequence[str] = _HARMLESS) -> Iterator[str]:
    """Yield the modules that implement a hook, but for those with a prefix in ``known``."""
    for implementation in getattr(hooks, hook).get_hookimpls():
        plugin, function = implementation.plugin, implementation.function
        name = function.__qualname__
        owner = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
        unknown = [
            module
            for module in (function.__module__, owner)
            if not f"{module}.{name}".startswith(tuple(known))
        ]
        if unknown:
            yield str(unknown[0])


def reason_lines(config: pytest.Config, reasons: Sequence[str]) -> list[str]:
    """Return what ``-v`` says about the reasons against the fast protocol."""
    # Not get_verbosity(): before pytest 9 it needs the terminal plugin.
    if config.getoption("verbose", 0) <= 0:
        return []
    return [f"rageval: no fast protocol ({reason})" for reason in dict.fromkeys(reasons) if reason]


class FastReports:
    """Makes all reports of a case from the one that an xdist worker sent, in the controller."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._hook = config.hook
        self._has_cases = False

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say, with ``-v``, why cases went pytest's own way, where they did."""
        reasons = [reason_against(self._config, self._hook)] if self._has_cases else []
        for line in reason_lines(self._config, reasons):
            terminalreporter.write_line(line)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Have a worker's cases go pytest's own way where a plugin here would see a difference."""
        node.workerinput[_NOT_FROM] = reason_against(self._config, self._hook)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(
        self, report: pytest.TestReport
    ) -> Generator[None, object, object]:
        """Make the reports before and after that of a call, if its case took the fast protocol."""
        self._has_cases = self._has_cases or hasattr(report, transport.ATTRIBUTE)
        phases = report.__dict__.pop(PHASES, None)
        if phases is None:
            return (yield)
        setup, teardown = _copy(report, "setup"), _copy(report, "teardown")
        setup.start, setup.stop, setup.duration = phases
        where = {"nodeid": report.nodeid, "location": report.location}
        self._hook.pytest_runtest_logstart(**where)
        self._hook.pytest_runtest_logreport(report=setup)
        outcome = yield
        self._hook.pytest_runtest_logreport(report=teardown)
        self._hook.pytest_runtest_logfinish(**where)
        return outcome


def _copy(report: pytest.TestReport, when: Any) -> pytest.TestReport:
    """Return a copy of the report for another phase of the case, with the times of this one."""
    made = pytest.TestReport.__new__(pytest.TestReport)
    made.__dict__.update(report.__dict__)
    made.__dict__.pop(transport.ATTRIBUTE, None)
    made.when = when
    made.sections = list(report.sections)
    made.user_properties = list(report.user_properties)
    return made
