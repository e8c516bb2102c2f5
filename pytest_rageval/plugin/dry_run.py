"""``--rag-dry-run`` says what a run would ask and cost; it asks nobody, and runs no tests."""

from __future__ import annotations

import pytest

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.forecast import Forecast, forecast
from pytest_rageval.engine.scoring.window import EventLoop
from pytest_rageval.engine.verdict.decide import has_best, scenario_nodeid
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import Case, Sample
from pytest_rageval.plugin.exit_status import where_scenarios_are
from pytest_rageval.plugin.run.items import case_of
from pytest_rageval.plugin.run.last_failed import is_deselected
from pytest_rageval.plugin.run.run_settings import run_settings
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.plugin.show.forecast_lines import (
    NOTHING,
    DryScenario,
    best_line,
    budget_lines,
    last_line,
    scenario_lines,
)
from pytest_rageval.plugin.show.terminal import heading
from pytest_rageval.text.printable import one_line, printable


def forecast_instead(config: pytest.Config) -> None:
    """Have this session say what a run would ask, in this process, and run no test."""
    config.option.dist, config.option.tx = "no", []  # of xdist: there is nothing to spread
    config.option.continue_on_collection_errors = False
    config.option.xmlpath = None  # a report of no tests would look green
    config.pluginmanager.register(DryRun(config), "rageval-dry-run")


class DryRun:
    """Forecasts what the cases that are left after all deselection would ask, and prints it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: list[DryScenario] = []
        self._is_collected = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Forecast instead of running; pytest itself ends a session with collection errors."""
        if session.testsfailed:
            return None
        self._is_collected = True
        chosen: dict[str, tuple[Plan, list[tuple[Case, bool]]]] = {}
        for item in session.items:
            run = case_of(item)
            if run is not None:
                is_skipped = item.get_closest_marker("skip") is not None
                entry = chosen.setdefault(run.plan.info.nodeid, (run.plan, []))
                entry[1].append((run.case, is_skipped))
        if not chosen:
            session.testscollected = 0  # not green: nothing can be said of other tests
        settings, asked = run_settings(self._config), set[str]()
        for plan, cases in chosen.values():
            running = [case for case, is_skipped in cases if not is_skipped]
            found = _looked_at(plan, running, settings, asked)
            info = plan.info
            gates = [one.name for one in gates_of(info) if self._is_left_out(info.nodeid, one.name)]
            self._found.append(DryScenario(plan, len(cases), running, found, gates))
        return True

    def _is_left_out(self, nodeid: str, gate: str) -> bool:
        return is_deselected(nodeid, gate, self._config.getoption("deselect", None) or ())

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what was found; the last line says that nothing was judged."""
        settings = self._config.stash[SETTINGS]
        for one in self._found:
            name = one_line(heading(one.plan.info))
            terminalreporter.section(f"rageval: {name}, dry run", sep="=")
            for line in scenario_lines(one, strict=settings.strict):
                terminalreporter.write_line(printable(line))
        for line in (*self._best(), *budget_lines(self._found, settings.budget_usd)):
            terminalreporter.write_line(printable(line), yellow=True)
        terminalreporter.write_line(printable(self._last_line()), yellow=True)

    def _last_line(self) -> str:
        if self._found:
            return last_line(self._found)
        if not self._is_collected:
            return f"{NOTHING}: see the errors above"
        return f"{NOTHING}: no case of a scenario is selected. {where_scenarios_are(self._config)}"

    def _best(self) -> list[str]:
        """Return a line for each scenario whose variants are judged against each other."""
        strict = self._config.stash[SETTINGS].strict
        judged = [one for one in self._found if has_best(one.plan.info)]
        variants: dict[str, list[DryScenario]] = {}
        for one in judged:
            variants.setdefault(scenario_nodeid(one.plan.info), []).append(one)
        return [
            best_line(several, strict=strict, is_left_out=self._is_left_out(nodeid, "best"))
            for nodeid, several in variants.items()
        ]


def _looked_at(plan: Plan, cases: list[Case], run: RunSettings, asked: set[str]) -> Forecast:
    """Return what these cases would ask beyond ``asked``, the questions of other plans; adds it."""
    samples = [case for case in cases if isinstance(case, Sample)]
    if not plan.is_asked:
        return Forecast()
    loop = EventLoop()
    try:
        return loop.submit(forecast(plan, samples, run, asked)).result()
    finally:
        loop.close()
