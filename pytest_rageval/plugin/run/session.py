"""A run from start to end: results arrive with pytest's reports, gates are decided, files written.

The same class serves a plain run, an xdist worker (which sends its results on) and an xdist
controller (which receives them).
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.model import (
    GateResult,
    Outcome,
    RunInfo,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.plugin.claimed_names import collected_scenarios
from pytest_rageval.plugin.options import STRICT
from pytest_rageval.plugin.quality_options import refuse_empty_run
from pytest_rageval.plugin.run import transport
from pytest_rageval.plugin.run.contests import Contests
from pytest_rageval.plugin.run.garbage import garbage_kept
from pytest_rageval.plugin.run.gate_reports import report_failure, report_gates
from pytest_rageval.plugin.run.last_failed import deselected
from pytest_rageval.plugin.run.run_hooks import RunHooks
from pytest_rageval.plugin.run.run_results import Results
from pytest_rageval.plugin.run.run_settings import (
    PROBLEMS,
    PROBLEMS_OUTPUT,
    pass_to_worker,
    remove_shared,
    run_settings,
)
from pytest_rageval.plugin.run.save_answers import AnswerFile
from pytest_rageval.plugin.run.save_baseline import BaselineSaver
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.history_and_ci import Publisher
from pytest_rageval.plugin.show.junit import JunitProperties
from pytest_rageval.plugin.show.last_lines import overridden_lines, undecided_lines
from pytest_rageval.plugin.show.next_steps import Ended, NextSteps
from pytest_rageval.plugin.show.score_words import SCORE_ATTRIBUTE, ScoreWords
from pytest_rageval.plugin.show.table_lines import terminal_width
from pytest_rageval.plugin.show.terminal import ScenarioTable, usage_line
from pytest_rageval.reports.run_info import run_info
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.text.printable import printable

if TYPE_CHECKING:
    from pytest_rageval.plugin.run.items import RunsCase

WRITTEN = pytest.StashKey[list[tuple[ScenarioResult, Path | str]]]()
"""Key in the config: each result with the folder of its files, or a sentence why there is none."""

_PLUGIN = "rageval-session"
_REFUSED = "rageval_refused"
_OF_SCENARIO = "rageval_scenario"
# Results, and the reports that pytest keeps, live until the end of the run, too.
_FREEZE_EVERY = 10_000


def ensure_session(config: pytest.Config, settings: Settings) -> None:
    """Register the session of this process, once."""
    if not config.pluginmanager.has_plugin(_PLUGIN):
        session = RagevalSession(config, settings)
        config.pluginmanager.register(session, _PLUGIN)
        config.pluginmanager.register(NextSteps(config, session.ended), "rageval-next-steps")
        # Not get_verbosity(): before pytest 9 it needs the terminal plugin.
        if config.getoption("verbose", 0) > 0:
            config.pluginmanager.register(ScoreWords())


def note_refusal(config: pytest.Config) -> None:
    """Have the run end with a usage error: a baseline, or a scenario's name, is refused."""
    found = config.pluginmanager.get_plugin(_PLUGIN)
    if found is not None:
        found.refuse()


class RagevalSession:
    """Follows a run from its reports to its files."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._is_worker = hasattr(config, "workerinput")
        self._is_controller = not self._is_worker and config.getoption("dist", "no") != "no"
        self._started = datetime.now(UTC)
        self._results = Results(judges_all=STRICT.is_typed(config))
        self._items: dict[str, RunsCase] = {}
        self._warm: set[str] = set()
        self._failed_parts: set[str] = set()
        self._broken: set[str] = set()
        self._is_refused = False
        self._is_broken_off = False
        self._is_stopped = False
        self._has_broken_file = False
        self._recorded = 0
        self._baselines = BaselineSaver(settings.run_paths)
        self._remarks: dict[str, list[str]] = {}
        self._unsent: list[ScenarioInfo] = []
        self._workers: set[str] = set()
        self._summarized: list[ScenarioResult] = []
        self._contests = Contests(config, settings)
        self._infos: dict[str, RunInfo] = {}
        self._written = config.stash.setdefault(WRITTEN, [])
        self._junit = JunitProperties.wanted(config)
        self._publisher = Publisher(config)
        self._answers = AnswerFile(settings.run_paths)
        self._hooks = RunHooks(config)

    # Before the run

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, after all deselection."""
        if self._is_controller:
            return
        # Not at the top: an xdist controller collects and scores nothing.
        from pytest_rageval.plugin.run.items import case_of

        found = ((item.nodeid, case_of(item)) for item in session.items)
        self._items = {nodeid: case for nodeid, case in found if case is not None}
        self._results.expect(nodeid for nodeid, case in self._items.items() if case.plan.elsewhere)
        infos = [case.plan.info for case in self._items.values()]
        selected = Counter(info.nodeid for info in infos)
        scenarios = {info.nodeid: info for info in infos}
        others = [one for one in collected_scenarios(self._config) if one.nodeid not in scenarios]
        self._unsent = [
            replace(info, selected=selected[info.nodeid]) for info in (*scenarios.values(), *others)
        ]
        for info in self._unsent:
            self._results.open(info)
        if self._items:
            gc.freeze()  # hides the samples from the collector, until hooks.py calls gc.unfreeze()

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
        """Note a refused scenario."""
        self._is_refused = self._is_refused or hasattr(report, _REFUSED)
        self._is_broken_off = self._is_broken_off or report.failed
        if report.failed and hasattr(report, _OF_SCENARIO):
            self._has_broken_file = True

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
        if _is_of_a_part(report):
            if report.failed:
                self._failed_parts.add(report.nodeid)
            return
        outcome = _outcome(report)
        if outcome is None:
            if report.failed:
                self._broken.add(report.nodeid)
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
        outcome = item.case_outcome(outcome)
        if item.lost:  # without a result: the gates fail, and name it
            self._results.note_lost()
            return
        scored = item.result or item.unscored(outcome)
        result = scored if scored.outcome == outcome else replace(scored, outcome=outcome)
        nodeid = item.plan.info.nodeid
        if self._is_worker:
            message = transport.Message(nodeid, result, self._unsent)
            setattr(report, transport.ATTRIBUTE, transport.encode(message))
            self._unsent = []
        else:
            self._record(nodeid, report, result)
        item.result = None

    def _receive(self, report: pytest.TestReport) -> None:
        message = transport.decode(getattr(report, transport.ATTRIBUTE))
        delattr(report, transport.ATTRIBUTE)  # the terminal keeps every report until the end
        for info in message.scenarios:
            self._results.open(info)
        self._record(message.nodeid, report, message.result)
        self._workers.add(str(getattr(report, "worker_id", "")))

    def _record(self, scenario: str, report: pytest.TestReport, result: SampleResult) -> None:
        self._results.record(scenario, report.nodeid, result)
        self._recorded += 1
        if self._recorded % _FREEZE_EVERY == 0:
            gc.freeze()
        # For the words of -v.
        setattr(report, SCORE_ATTRIBUTE, result.weighted_score)
        self._hooks.sample_scored(self._results.info(scenario), result)
        if self._junit is not None:
            self._junit.note(report, result)

    # After the run

    # The innermost wrapper: the terminal's own wrapper writes the last progress after our gates.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last case, decide the gates, in the process that has all results."""
        stopped, interrupted = True, False
        announced = self._announce_gates(session)
        try:
            outcome = yield
            stopped = False
            return outcome
        except KeyboardInterrupt as error:
            # pytest's and xdist's own Interrupted (for -x, --maxfail) derive from it.
            interrupted = type(error) is KeyboardInterrupt
            raise
        finally:
            if not self._is_worker and self._results.has_results:
                stopped = stopped or bool(session.shouldfail or session.shouldstop)
                self._is_stopped = stopped
                named = self._config.getoption("deselect", None) or ()
                strict = self._settings.strict
                with garbage_kept():
                    self._summarized = [
                        deselected(self._hooks.with_failures(result), named, strict=strict)
                        for result in self._results.summarized(
                            stopped=stopped, strict=strict, more_gates=self._hooks.gates
                        )
                    ]
                    self._summarized = self._contests.judge(
                        self._summarized, named, stopped=stopped
                    )
                if not interrupted:
                    report_gates(session, self._summarized, announced, self._contests.found)
                self._save(session, is_reported=not interrupted)

    def _announce_gates(self, session: pytest.Session) -> int:
        """Add the gates to pytest's number of tests, by which the progress display divides.

        An xdist controller does not know its scenarios yet, and adds none.
        """
        expected = 0 if self._is_worker else self._results.gate_count()
        session.testscollected += expected
        return expected

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files of every scenario with results."""
        if self._is_refused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        refuse_empty_run(session, has_scenario=self._results.has_results)
        with garbage_kept():
            for result in self._summarized:
                if result.samples:
                    self._written.append((result, self._write(result)))
            self._contests.write()
        self._publisher.finish(self._contests.found)

    def _write(self, result: ScenarioResult) -> Path | str:
        info, settings, run = result.info, self._settings, self._run_info(result)
        output, root = settings.run_paths.run_base(info.output_dir), settings.run_paths.root
        try:
            folder: Path | str = write_run(result, run, root, output, settings.reports)
        except OSError as error:
            folder = f"not written: {error}"
        remarks = self._remarks.setdefault(info.nodeid, [])
        remarks.extend(self._answers.add(result))
        remarks.extend(self._publisher.add(result, run, folder))
        if settings.keep is not None and isinstance(folder, Path):
            remarks.extend(self._without_old(result.info, folder, settings.keep))
        return folder

    def _without_old(self, info: ScenarioInfo, folder: Path, keep: int) -> list[str]:
        """Remove older runs; a file that is compared or saved may be in the folder of one."""
        # Not at the top: most runs have no such option.
        from pytest_rageval.reports.keep_runs import remove_old_runs

        paths = self._settings.run_paths
        names = [*info.baselines, *([paths.saving] if paths.saving else [])]
        spared = [paths.known_baseline_file(name, info.title, info.output_dir) for name in names]
        spared += [paths.answers] if paths.answers else []
        return list(remove_old_runs(folder, info.title, keep, spared))

    def _usage(self, scenario: str | None = None) -> dict[str, float | None] | None:
        """Return what the models cost, over all processes; None if no model was asked.

        For all scenarios, or for the one with the node id ``scenario``.
        """
        folder = run_settings(self._config).shared_dir
        if folder is None or not folder.is_dir():
            return None
        from pytest_rageval.clients.accounting.ledger import is_counted, run_usage, scenario_usage

        if not is_counted(folder):  # only a target was asked, no model
            return None
        used = run_usage(folder) if scenario is None else scenario_usage(folder, scenario)
        return None if used is None else asdict(used)

    def _save(self, session: pytest.Session, *, is_reported: bool) -> None:
        """Save the runs as baselines if requested; a run that cannot be saved is a failure."""
        if self._baselines.name is None:
            return
        for at, result in enumerate(self._summarized):
            broken = self._results.count_of(result.info.nodeid, self._broken)
            best = self._contests.gate_of(result.info)
            done = self._baselines.save(result, self._run_info(result), broken, best)
            self._remarks.setdefault(result.info.nodeid, []).append(done.remark)
            if done.is_failure:
                name = f"save:{self._baselines.name}"
                if is_reported:
                    report_failure(session, result, name, done.remark)
                gate = GateResult(name, "failed", None, None, done.remark)
                self._summarized[at] = replace(result, gates=(*result.gates, gate))

    def _run_info(self, result: ScenarioResult) -> RunInfo:
        """Return the run's facts, the same for the scenario's baseline and its run folder."""
        nodeid = result.info.nodeid
        if nodeid not in self._infos:
            workers, usage, now = len(self._workers), self._usage(nodeid), datetime.now(UTC)
            self._infos[nodeid] = run_info(result, self._started, now, workers=workers, usage=usage)
        return self._infos[nodeid]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over the problems that a worker reports."""
        problems = getattr(node, "workeroutput", {}).get(PROBLEMS_OUTPUT, ())
        known = self._config.stash.get(PROBLEMS, ())
        self._config.stash[PROBLEMS] = tuple(dict.fromkeys([*known, *problems]))

    def ended(self) -> Ended:
        """Return how the run ended, once it is over."""
        return Ended(
            self._written,
            [one.gate for one in self._contests.found if one.gate is not None],
            self._is_stopped,
            self._has_broken_file,
            any(self._results.count_of(one.info.nodeid, self._broken) for one, _ in self._written),
        )

    def pytest_unconfigure(self) -> None:
        """Remove the folder that the processes shared."""
        remove_shared(self._config)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables of all scenarios and the remarks about the run."""
        is_quiet = self._config.option.no_summary or self._config.get_verbosity() < -1
        self._publisher.write(terminalreporter, is_quiet=is_quiet)
        if is_quiet:
            return
        for result, folder in self._written:
            remarks = [
                *overridden_lines(result.info),
                *result.info.remarks,
                *self._remarks.get(result.info.nodeid, ()),
            ]
            table = ScenarioTable(result, folder, self._config.rootpath, remarks)
            table.write(terminalreporter, terminal_width(self._config))
            for line in self._hooks.summary(result):
                terminalreporter.write_line(printable(line))
        self._contests.show(terminalreporter)
        usage = self._usage()
        if usage is not None:
            terminalreporter.write_line(usage_line(usage))
        for problem in self._config.stash.get(PROBLEMS, ()):
            terminalreporter.write_line(f"models: {printable(problem)}", yellow=True)
        is_over = self._is_broken_off and not self._results.has_results  # nothing was to be judged
        left_out = () if is_over else self._results.left_out
        for line in undecided_lines(self._summarized, left_out, self._contests.found):
            terminalreporter.write_line(printable(line), yellow=True)


def _is_of_a_part(report: pytest.TestReport) -> bool:
    """Return whether a report belongs to a subtest, which has the node id of its test.

    Subtests come from pytest 9 or the plugin pytest-subtests; both set ``context``.
    """
    return type(report) is not pytest.TestReport and hasattr(report, "context")


def _outcome(report: pytest.TestReport) -> Outcome | None:
    """Return the outcome of a case according to a report, None if the report does not decide it.

    Outcomes that pytest does not know decide nothing: after ``rerun``, a plugin repeats the item.
    """
    when, outcome = report.when, str(report.outcome)
    if when == "teardown" or (when == "setup" and outcome == "passed"):
        return None
    if outcome == "skipped":
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    if outcome == "failed":
        return "error" if when == "setup" else "failed"
    return "passed" if outcome == "passed" else None
