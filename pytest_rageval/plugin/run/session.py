"""A run from start to end: results arrive with pytest's reports, gates are decided, files written.

The same class serves a plain run, an xdist worker, which sends its results on, and its controller.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.collector import garbage_kept
from pytest_rageval.model import (
    ControlVerdict,
    Outcome,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.plugin.exit_status import end_with, is_green, refuse_empty_run, runs_nothing
from pytest_rageval.plugin.options import STRICT
from pytest_rageval.plugin.run import transport
from pytest_rageval.plugin.run.gate_reports import Contests, GateItem, gate_items, report_gates
from pytest_rageval.plugin.run.last_failed import deselected
from pytest_rageval.plugin.run.run_files import RunFiles
from pytest_rageval.plugin.run.run_hooks import RunHooks
from pytest_rageval.plugin.run.run_results import Results
from pytest_rageval.plugin.run.run_settings import (
    PROBLEMS,
    PROBLEMS_OUTPUT,
    UNMET,
    UNMET_OUTPUT,
    pass_to_worker,
    remove_shared,
    usage_so_far,
    verdicts_so_far,
    with_collected,
)
from pytest_rageval.plugin.run.transport import error_of, is_of_a_part, outcome_of
from pytest_rageval.plugin.settings import Settings, is_controller
from pytest_rageval.plugin.show.next_steps import Ended
from pytest_rageval.plugin.show.pytest_reports import SCORE_ATTRIBUTE, JunitProperties
from pytest_rageval.plugin.show.terminal import (
    ScenarioTable,
    overridden_lines,
    terminal_width,
    undecided_lines,
    usage_line,
)
from pytest_rageval.text.codec import from_json, to_json
from pytest_rageval.text.printable import printable

if TYPE_CHECKING:
    from pytest_rageval.plugin.run.items import RunsCase

_FAILED = pytest.ExitCode.TESTS_FAILED
_REFUSED = "rageval_refused"
_OF_SCENARIO = "rageval_scenario"
_UNSENT = "rageval_unsent"
# After so many results gc.freeze() hides them, and pytest's reports, which live until the end.
_FREEZE_EVERY = 10_000


class RagevalSession:
    """Follows a run from its reports to its files."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._is_worker = hasattr(config, "workerinput")
        self._is_controller = is_controller(config)
        self._started = datetime.now(UTC)
        self._results = Results(judges_all=STRICT.is_typed(config))
        self._items: dict[str, RunsCase] = {}
        self._gates: dict[str, GateItem] = {}
        self._warm: set[str] = set()
        self._failed_parts: set[str] = set()
        self._broken: dict[str, str] = {}
        self._is_refused = False
        self._is_broken_off = False
        self._is_stopped = False
        self._refusals: list[str] = []
        self._unfinished: pytest.Session | None = None
        self._recorded = 0
        self._unsent: list[ScenarioInfo] = []
        self._odd: dict[str, str] = {}
        self._selection = ""
        self._workers: set[str] = set()
        self._summarized: list[ScenarioResult] = []
        self._contests = Contests(config, settings)
        self._files = RunFiles(config, settings, self._started, self.workers, self.usage)
        self._junit = JunitProperties.wanted(config)
        self._hooks = RunHooks(config)
        # Asked once for each scenario, not for each sample.
        self._is_followed: Callable[[str], bool] = cache(
            lambda scenario: self._hooks.follows_samples(self._results.info(scenario))
        )

    # Before the run

    # The outermost wrapper: nobody who selects or orders items meets the gates.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Put the gates of the selected scenarios behind all items; under xdist, nowhere."""
        outcome = yield
        is_listed = self._config.getoption("collectonly", False) or not runs_nothing(self._config)
        if is_listed and not (self._is_worker or self._is_controller):
            # Not at the top: an xdist controller collects and scores nothing.
            from pytest_rageval.plugin.run.items import case_of

            found = ((case_of(item), item) for item in items)
            infos = ((case.plan.info, item) for case, item in found if case is not None)
            gates = list(gate_items(self._config, {pair[0].nodeid: pair for pair in infos}))
            items += gates
            report = pytest.CollectReport("", "passed", None, [*gates])
            self._config.hook.pytest_collectreport(report=report)  # so that they are counted
        return outcome

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, after all deselection."""
        if self._is_controller:
            return
        # Not at the top: an xdist controller collects and scores nothing.
        from pytest_rageval.plugin.run.items import case_of

        self._items = {item.nodeid: case for item in session.items if (case := case_of(item))}
        of = {nodeid: case.plan.info.nodeid for nodeid, case in self._items.items()}
        self._odd = {nodeid: one for nodeid, one in of.items() if not nodeid.startswith(one)}
        self._results.expect(self._items, self._odd)
        self._unsent = self.selected_scenarios()
        self.begin(self._unsent)
        if self._items:
            gc.freeze()  # hides the samples from the collector, until hooks.py calls gc.unfreeze()

    def begin(self, scenarios: Iterable[ScenarioInfo]) -> None:
        """Note the scenarios that are about to run."""
        for info in scenarios:
            self._results.open(info)

    def selected_scenarios(self) -> list[ScenarioInfo]:
        """Return the collected scenarios, each with how many cases are selected."""
        infos = [case.plan.info for case in self._items.values()]
        selected = Counter(info.nodeid for info in infos)
        scenarios = with_collected(self._config, {info.nodeid: info for info in infos})
        return [replace(info, selected=selected[info.nodeid]) for info in scenarios.values()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Pass the shared settings to an xdist worker."""
        pass_to_worker(self._config, node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Iterable[str]) -> None:
        """Note the items of the workers, to name those that are lost in a crash."""
        self._results.expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Mark the report of a scenario, and of a refused one, for the controller as well."""
        report = yield
        is_refused = getattr(collector, "is_refused", None)
        if is_refused:
            setattr(report, _REFUSED, True)
        if is_refused is not None:
            setattr(report, _OF_SCENARIO, True)
        return report

    def refuse(self) -> None:
        """Note that a scenario is refused."""
        self._is_refused = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a refused scenario; for the controller, mark the report of a test file with one."""
        if report.failed and self._is_refused:
            setattr(report, _REFUSED, True)
        self._is_refused = self._is_refused or hasattr(report, _REFUSED)
        self._is_broken_off = self._is_broken_off or report.failed
        if report.failed and hasattr(report, _OF_SCENARIO):
            self._refusals.append(report.longreprtext)

    # During the run

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Load everything before the first case of a scenario, so that its time does not count."""
        case = self._items.get(nodeid)
        if case is not None and case.plan.info.nodeid not in self._warm:
            # Not at the top: an xdist controller scores nothing.
            from pytest_rageval.engine.scoring.warm_up import warm_up

            self._warm.add(case.plan.info.nodeid)
            warm_up(case.plan, case.case)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Forget an earlier attempt: plugins may run failed items again."""
        case = self._items.get(item.nodeid)
        if case is not None:
            case.begin()
            self._failed_parts.discard(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a report; in a worker, attach it to the report."""
        if is_of_a_part(report):
            if report.failed:
                self._failed_parts.add(report.nodeid)
            return
        outcome = outcome_of(report)
        if outcome is None:
            if report.failed:
                self._broken[report.nodeid] = error_of(report)
            if self._junit is not None and report.when == "teardown":
                self._junit.close(report)
            return
        item = self._items.get(report.nodeid)
        if item is not None:
            self._finish(item, report, outcome)
        elif hasattr(report, transport.ATTRIBUTE):
            self._receive(report)

    def _finish(self, item: RunsCase, report: pytest.TestReport, outcome: Outcome) -> None:
        if outcome == "passed" and report.nodeid in self._failed_parts:
            outcome = "failed"  # pytest itself changes it later, when it shows the report
        outcome, scenario = item.case_outcome(outcome), item.plan.info.nodeid
        if item.lost:  # without a result: the gates fail, and name it
            self._results.note_lost(scenario, report.nodeid)
            return
        # What pytest skips counts as not run, also where it was scored before that.
        scored = (item.result if outcome != "skipped" else None) or item.unscored(outcome)
        result = scored if scored.outcome == outcome else replace(scored, outcome=outcome)
        if self._is_worker:
            first = (self._unsent, self._selection, self._odd) if self._unsent else ()
            message = to_json(transport.Message(scenario, result, *first))
            setattr(report, transport.ATTRIBUTE, message)
            self._unsent = []
        else:
            self.record(scenario, report, result)
        item.result = None

    def _receive(self, report: pytest.TestReport) -> None:
        message = from_json(getattr(report, transport.ATTRIBUTE), transport.Message)
        delattr(report, transport.ATTRIBUTE)  # the terminal keeps every report until the end
        if message.scenarios:
            self._selection = message.selection
            self._results.expect((), message.odd)
            self.begin(message.scenarios)
        self.record(message.nodeid, report, message.result)
        self._workers.add(str(getattr(report, "worker_id", "")))

    def record(self, scenario: str, report: pytest.TestReport, result: SampleResult) -> None:
        """Take the result of a case, in the process that has those of all workers."""
        self._results.record(scenario, report.nodeid, result)
        self._recorded += 1
        if self._recorded % _FREEZE_EVERY == 0:
            gc.freeze()
        # For the words of -v.
        setattr(report, SCORE_ATTRIBUTE, result.weighted_score)
        if self._junit is not None:
            self._junit.note(report, result)
        if self._is_followed(scenario):
            self._hooks.sample_scored(self._results.info(scenario), result)

    # After the run

    # The innermost wrapper: the terminal's own wrapper writes the last progress after our gates.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last case, decide the gates, in the process that has all results."""
        stopped, interrupted = True, False
        self._unfinished = session
        self._gates = {item.nodeid: item for item in session.items if isinstance(item, GateItem)}
        if self._gates:  # they are not run: the last case is the last item
            session.items[:] = [item for item in session.items if not isinstance(item, GateItem)]
        try:
            outcome = yield
            stopped = False
            return outcome
        except KeyboardInterrupt as error:
            # pytest's and xdist's own Interrupted (for -x, --maxfail) derive from it.
            interrupted = type(error) is KeyboardInterrupt
            raise
        finally:
            stopped = stopped or bool(session.shouldfail or session.shouldstop)
            if not self._is_worker:
                self.judge(session, stopped=stopped, interrupted=interrupted)
            session.items += self._gates.values()

    def judge(self, session: pytest.Session, *, stopped: bool, interrupted: bool) -> None:
        """Decide the gates of all scenarios, if any case was to run; report them unless Ctrl-C."""
        if runs_nothing(self._config):
            return
        if not stopped:
            self._results.note_vanished()
        if not self.has_cases:
            return
        self._is_stopped = stopped
        named = self._config.getoption("deselect", None) or ()
        strict = self._settings.strict
        with garbage_kept():
            self._summarized = [
                deselected(self._hooks.with_failures(result), named, strict=strict)
                for result in self._results.summarized(
                    stopped=stopped,
                    strict=strict,
                    more_gates=self._hooks.gates,
                    controls=self.controls,
                    broken=self._broken,
                )
            ]
            self._summarized = self._contests.judge(self._summarized, named, stopped=stopped)
        if not interrupted:
            report_gates(session, self._summarized, self._gates, self._contests.found)
        self._summarized = [
            self._files.with_saved(session, result, is_reported=not interrupted)
            for result in self._summarized
        ]

    def results_of_cases(self) -> dict[str, SampleResult]:
        """Return the results of all scenarios by node id."""
        found: dict[str, SampleResult] = {}
        for result in self._summarized:
            found |= self._results.rows_of(result.info.nodeid)
        return found

    @property
    def has_cases(self) -> bool:
        """Whether there is something to judge."""
        return self._results.has_results

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Any:
        """Write the files of every scenario with results."""
        self._unfinished = None
        if self._is_refused:
            end_with(session, pytest.ExitCode.USAGE_ERROR)
        if not self._is_worker:
            self.finish(session)
        elif self._unsent:
            getattr(self._config, "workeroutput", {})[_UNSENT] = to_json((self._unsent, self._odd))

    def finish_late(self) -> None:
        """Do what ``pytest_sessionfinish`` does if another's hook kept it from being called."""
        if self._unfinished is not None:
            RagevalSession.pytest_sessionfinish(self, self._unfinished)  # a shard's is a wrapper

    def finish(self, session: pytest.Session) -> None:
        """Make the exit status red if the run is, and write its files; its gates are decided."""
        refuse_empty_run(session, has_scenario=self.has_cases)
        if self._is_red:
            # A hook may call pytest.exit(returncode=0); what failed has failed all the same.
            end_with(session, _FAILED if is_green(session.exitstatus) else session.exitstatus)
        with garbage_kept():
            for result in self._summarized:
                if self._results.ran(result):
                    self._files.write(result, self._summarized, is_usable=not self._refusals)
            self._contests.write(self._files.written)
        self._files.publisher.write_summary(self._contests.found)

    @property
    def _is_red(self) -> bool:
        """Whether a scenario could not be used, or what was judged of one is red."""
        best = [one.gate for one in self._contests.found if one.gate is not None]
        return (
            bool(self._refusals)
            or any(one.is_red for one in self._summarized)
            or any(gate.outcome == "failed" for gate in best)
        )

    def usage(self, scenario: str | None = None) -> dict[str, float | None] | None:
        """Return what the models cost, of all scenarios or of the one with this node id."""
        return usage_so_far(self._config, scenario)

    def controls(self, info: ScenarioInfo) -> Mapping[str, ControlVerdict]:
        """Return what control rows say of the judges of a scenario."""
        return verdicts_so_far(self._config, info)

    def workers(self, scenario: str) -> int:
        """Return how many workers of xdist ran cases of the run, of whichever scenario."""
        return len(self._workers)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over a worker's problems, and its scenarios if it sent them with no result.

        If no worker sends a result, their cases were taken away from this plugin.
        """
        output = getattr(node, "workeroutput", {})
        if _UNSENT in output:
            infos, odd = from_json(output[_UNSENT], tuple[list[ScenarioInfo], dict[str, str]])
            self._results.expect((), odd)
            self.begin(infos)
        for key, name in ((PROBLEMS, PROBLEMS_OUTPUT), (UNMET, UNMET_OUTPUT)):
            said = output.get(name, ())
            known = self._config.stash.get(key, ())
            self._config.stash[key] = tuple(dict.fromkeys([*known, *said]))

    def ended(self) -> Ended:
        """Return how the run ended, once it is over."""
        return Ended(
            self._files.written,
            [one.gate for one in self._contests.found if one.gate is not None],
            self._is_stopped,
            self._refusals,
            not self._broken.keys().isdisjoint(self.results_of_cases()),
            self._contests.pages,
        )

    def pytest_unconfigure(self) -> None:
        """Remove the folder that the processes shared."""
        self.finish_late()
        remove_shared(self._config)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables of all scenarios and the remarks about the run."""
        is_quiet = self._config.option.no_summary or self._config.get_verbosity() < -1
        self.show(terminalreporter, is_quiet=is_quiet)

    def show(self, terminal: pytest.TerminalReporter, *, is_quiet: bool) -> None:
        """Print what is to be known of the run."""
        self._files.publisher.print_annotations(terminal, is_quiet=is_quiet)
        if is_quiet:
            return
        for result, folder in self._files.written:
            said = self._files.remarks_on(result.info)
            remarks = [*overridden_lines(result.info), *result.info.remarks, *said]
            table = ScenarioTable(result, folder, self._config.rootpath, remarks)
            table.write(terminal, terminal_width(self._config))
            for line in self._hooks.summary(result):
                terminal.write_line(printable(line))
        self._contests.show(terminal)
        if (usage := self.usage()) is not None:
            terminal.write_line(usage_line(usage))
        for problem in self._config.stash.get(PROBLEMS, ()):
            terminal.write_line(f"models: {printable(problem)}", yellow=True)
        for line in self._config.stash.get(UNMET, ()):
            terminal.write_line(f"NOT DECIDED: {printable(line)}", yellow=True)
        is_over = self._is_broken_off and not self._results.has_results  # nothing was to be judged
        left_out = () if is_over else self._results.left_out
        for line in undecided_lines(self._summarized, left_out, self._contests.found):
            terminal.write_line(printable(line), yellow=True)
