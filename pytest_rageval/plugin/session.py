"""One run: results come in with pytest's reports, gates go out as reports, files are written.

The same object serves a plain run, an xdist worker (which passes its results on) and an xdist
controller (which receives them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_rageval.model import Outcome, RunInfo, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin import garbage, transport
from pytest_rageval.plugin.gate_reports import report_gates
from pytest_rageval.plugin.junit import JunitProperties
from pytest_rageval.plugin.names import printable
from pytest_rageval.plugin.options import Settings
from pytest_rageval.plugin.publish import Publisher
from pytest_rageval.plugin.results import Results
from pytest_rageval.plugin.run_hooks import RunHooks
from pytest_rageval.plugin.save_answers import AnswerFile
from pytest_rageval.plugin.shared import (
    PROBLEMS,
    PROBLEMS_OUTPUT,
    pass_to_worker,
    remove_shared,
    run_settings,
)
from pytest_rageval.plugin.terminal import ScenarioTable, usage_line
from pytest_rageval.reports.run_info import run_info
from pytest_rageval.reports.store import save_baseline, write_run

if TYPE_CHECKING:
    from pytest_rageval.plugin.items import RunsCase

_PLUGIN = "rageval-session"
SCORE_ATTRIBUTE = "rageval_score"
_REFUSED = "rageval_refused"
# Results and the reports that pytest keeps stay to the end of the run, too.
_FREEZE_EVERY = 10_000


def ensure_session(config: pytest.Config, settings: Settings) -> None:
    """Register the run's plugin object, once."""
    if not config.pluginmanager.has_plugin(_PLUGIN):
        config.pluginmanager.register(RagevalSession(config, settings), _PLUGIN)
        # Not get_verbosity(): before pytest 9 it needs the terminal plugin.
        if config.getoption("verbose", 0) > 0:
            config.pluginmanager.register(ScoreBesideOutcome())


def note_refusal(config: pytest.Config) -> None:
    """Have the run end as wrong use: a run to compare with is refused."""
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
        self._results = Results()
        self._items: dict[str, RunsCase] = {}
        self._failed_parts: set[str] = set()
        self._is_refused = False
        self._recorded = 0
        self._saved: dict[Path, str] = {}
        self._remarks: dict[str, list[str]] = {}
        self._unsent: list[ScenarioInfo] = []
        self._workers: set[str] = set()
        self._summarized: list[ScenarioResult] = []
        self._written: list[tuple[ScenarioResult, Path | str]] = []
        self._junit = JunitProperties.wanted(config)
        self._publisher = Publisher(config)
        self._answers = AnswerFile(settings.places)
        self._hooks = RunHooks(config)

    # What is going to run

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, after all deselection."""
        if self._is_controller:
            return
        # Not at the top: an xdist controller collects nothing, and needs no engine for scoring.
        from pytest_rageval.plugin.items import case_of

        found = ((item.nodeid, case_of(item)) for item in session.items)
        self._items = {nodeid: case for nodeid, case in found if case is not None}
        infos = [case.plan.info for case in self._items.values()]
        selected = Counter(info.nodeid for info in infos)
        scenarios = {info.nodeid: info for info in infos}
        self._unsent = [
            replace(info, selected=selected[nodeid]) for nodeid, info in scenarios.items()
        ]
        for info in self._unsent:
            self._results.open(info)
        if self._items:
            garbage.freeze()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell an xdist worker what the run shares."""
        pass_to_worker(self._config, node.workerinput)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Iterable[str]) -> None:
        """Note which items the workers have, to name those that a crash takes along."""
        self._results.expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Mark the report of a scenario whose baseline is refused, also for the controller."""
        report = yield
        if getattr(collector, "is_refused", False):
            setattr(report, _REFUSED, True)
        return report

    def refuse(self) -> None:
        """Note that a run to compare with is refused."""
        self._is_refused = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a refused baseline."""
        self._is_refused = self._is_refused or hasattr(report, _REFUSED)

    # What ran

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Forget what an attempt before this one left: plugins run items again that failed."""
        case = self._items.get(item.nodeid)
        if case is not None:
            case.begin()
            self._failed_parts.discard(item.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result that a report brings; in a worker, put it on the report."""
        if _is_of_a_part(report):
            if report.failed:
                self._failed_parts.add(report.nodeid)
            return
        outcome = _outcome(report)
        if outcome is None:
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
            outcome = "failed"  # pytest itself says so later, when it shows the report
        outcome = item.case_outcome(outcome)
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
        delattr(report, transport.ATTRIBUTE)  # the terminal keeps every report to the end
        for info in message.scenarios:
            self._results.open(info)
        self._record(message.nodeid, report, message.result)
        self._workers.add(str(getattr(report, "worker_id", "")))

    def _record(self, scenario: str, report: pytest.TestReport, result: SampleResult) -> None:
        self._results.record(scenario, report.nodeid, result)
        self._recorded += 1
        if self._recorded % _FREEZE_EVERY == 0:
            garbage.freeze()
        # Reports can carry attributes of plugins; this one is for the words of -v.
        setattr(report, SCORE_ATTRIBUTE, result.weighted_score)
        self._hooks.sample_scored(self._results.info(scenario), result)
        if self._junit is not None:
            self._junit.note(report, result)

    # What follows from it

    # The innermost wrapper: the terminal's own one writes the last progress after our gates.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last case, decide the gates, where all results are."""
        stopped = True
        interrupted = False
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
                with garbage.garbage_kept():
                    found = self._results.summarized(
                        stopped=stopped,
                        strict=self._settings.strict,
                        more_gates=self._hooks.gates,
                    )
                    self._summarized = [self._hooks.with_failures(result) for result in found]
                if not interrupted:
                    report_gates(session, self._summarized, announced)

    def _announce_gates(self, session: pytest.Session) -> int:
        """Count the gates among what is going to run; the progress display divides by that.

        An xdist controller does not know its scenarios yet, and announces none.
        """
        expected = 0 if self._is_worker else self._results.gate_count()
        session.testscollected += expected
        return expected

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files of every scenario of which something ran."""
        if self._is_refused:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        finished = datetime.now(UTC)
        with garbage.garbage_kept():
            for result in self._summarized:
                if result.samples:
                    self._written.append((result, self._write(result, finished)))
        self._publisher.finish()

    def _write(self, result: ScenarioResult, finished: datetime) -> Path | str:
        info, places = result.info, self._settings.places
        output = places.run_base(info.output_dir)
        workers, usage = len(self._workers), self._usage(info.nodeid)
        run = run_info(result, self._started, finished, workers=workers, usage=usage)
        folder: Path | str
        try:
            folder = write_run(result, run, places.root, output, self._settings.reports)
        except OSError as error:
            folder = f"not written: {error}"
        finally:
            self._save(result, run)
        remarks = self._remarks.setdefault(info.nodeid, [])
        remarks.extend(self._answers.add(result))
        remarks.extend(self._publisher.add(result, run, folder))
        return folder

    def _usage(self, scenario: str | None = None) -> dict[str, float | None] | None:
        """Return what the models cost all processes of this run, None where none was asked.

        Of all scenarios, or of the one with a node id.
        """
        folder = run_settings(self._config).shared_dir
        if folder is None or not folder.is_dir():
            return None
        from pytest_rageval.clients.ledger import is_counted, run_usage, scenario_usage

        if not is_counted(folder):  # only a target was asked, that is no model
            return None
        used = run_usage(folder) if scenario is None else scenario_usage(folder, scenario)
        return None if used is None else asdict(used)

    def _save(self, result: ScenarioResult, run: RunInfo) -> None:
        """Save the run as a baseline, when that was asked for and all of it ran."""
        info, places = result.info, self._settings.places
        name = places.saving
        if name is None:
            return
        path = places.baseline_file(name, info.name, info.output_dir)
        remarks = self._remarks.setdefault(info.nodeid, [])
        ran = f"{result.counts.ran} of {result.counts.samples} samples ran"
        if not result.complete:
            remarks.append(f"baseline {name} NOT saved: {ran}")
        elif path in self._saved:
            remarks.append(f"baseline {name} NOT saved: {self._saved[path]} was saved there")
        else:
            try:
                save_baseline(result, run, path, places.run_base(info.output_dir))
            except OSError as error:
                remarks.append(f"baseline {name} NOT saved: {error}")
            else:
                self._saved[path] = info.name
                shown = places.shown(path)
                where = "" if shown == name else f": {shown}"
                remarks.append(f"baseline {name} saved{where}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker says went wrong."""
        problems = getattr(node, "workeroutput", {}).get(PROBLEMS_OUTPUT, ())
        known = self._config.stash.get(PROBLEMS, ())
        self._config.stash[PROBLEMS] = tuple(dict.fromkeys([*known, *problems]))

    def pytest_unconfigure(self) -> None:
        """Remove what only this run needed."""
        remove_shared(self._config)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the means and gates of each scenario."""
        is_quiet = self._config.option.no_summary or self._config.get_verbosity() < -1
        self._publisher.write(terminalreporter, is_quiet=is_quiet)
        if is_quiet:
            return
        for result, folder in self._written:
            remarks = [*result.info.remarks, *self._remarks.get(result.info.nodeid, ())]
            root = self._config.rootpath
            ScenarioTable(result, folder, root, remarks).write(terminalreporter)
            for line in self._hooks.summary(result):
                terminalreporter.write_line(printable(line))
        usage = self._usage()
        if usage is not None:
            terminalreporter.write_line(usage_line(usage))
        for problem in self._config.stash.get(PROBLEMS, ()):
            terminalreporter.write_line(f"models: {printable(problem)}", yellow=True)


class ScoreBesideOutcome:
    """Shows the weighted score beside the outcome: ``PASSED 0.83``."""

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Return pytest's own words with the score behind them, for a judged case."""
        score = getattr(report, SCORE_ATTRIBUTE, None)
        if score is None or report.when != "call" or hasattr(report, "wasxfail"):
            return None
        if report.passed:
            return "passed", ".", (f"PASSED {score:.2f}", {"green": True})
        if report.failed:
            return "failed", "F", (f"FAILED {score:.2f}", {"red": True})
        return None


def _is_of_a_part(report: pytest.TestReport) -> bool:
    """Return whether a report is that of a subtest: it has the node id of its test.

    pytest 9 has subtests, before that it is the plugin pytest-subtests; the name is common to both.
    """
    return type(report) is not pytest.TestReport and hasattr(report, "context")


def _outcome(report: pytest.TestReport) -> Outcome | None:
    """Return what a report decides about its case, None when it decides nothing yet.

    An outcome that pytest does not have decides nothing: ``rerun`` is that of an attempt after
    which a plugin runs the item again.
    """
    when, outcome = report.when, str(report.outcome)
    if when == "teardown" or (when == "setup" and outcome == "passed"):
        return None
    if outcome == "skipped":
        return "xfailed" if hasattr(report, "wasxfail") else "skipped"
    if outcome == "failed":
        return "error" if when == "setup" else "failed"
    return "passed" if outcome == "passed" else None
