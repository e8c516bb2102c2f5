"""Shows scores and gates in others' reports, and adds runs to the history.

Those reports are the words of -v, JUnit XML, allure and GitHub.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.model import WEIGHTED_SCORE, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.history import record
from pytest_rageval.reports.write_run import latest_remark
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.text.printable import one_line, printable

SCORE_ATTRIBUTE = "rageval_score"
"""The attribute of a report that holds the weighted score of its sample."""


class ScoreWords:
    """Adds the weighted score to the word of an outcome."""

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Return pytest's own word followed by the score, for a judged case.

        Without colours: pytest has its own, and before 8.3 its summary takes no others.
        """
        score = getattr(report, SCORE_ATTRIBUTE, None)
        if score is None or report.when != "call" or hasattr(report, "wasxfail"):
            return None
        if report.passed:
            return "passed", ".", f"PASSED {score:.4f}"
        if report.failed:
            return "failed", "F", f"FAILED {score:.4f}"
        return None


Properties = list[tuple[str, object]]


class JunitProperties:
    """Puts scores on reports as JUnit properties, in the process that writes the XML.

    Not in an xdist worker: it would send them with each report of the case.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Properties] = {}

    @classmethod
    def wanted(cls, config: pytest.Config) -> JunitProperties | None:
        """Return an instance, or None if no XML is written."""
        return cls() if config.getoption("xmlpath", None) else None

    def note(self, report: pytest.TestReport, result: SampleResult) -> None:
        """Put the scores of a case on its report."""
        properties = score_properties(result)
        report.user_properties.extend(properties)
        self._open[_case(report)] = properties

    def close(self, report: pytest.TestReport) -> None:
        """Put the scores on the last report of the case as well, the one that pytest reads."""
        report.user_properties.extend(self._open.pop(_case(report), ()))


def score_properties(result: SampleResult) -> Properties:
    """Return the scores and the weight of a case, named as in ``rageval.f1``.

    A metric without a score has no property, and a case without scores has none at all.
    """
    scores = {**result.scores, WEIGHTED_SCORE: result.weighted_score}
    found: Properties = [
        (f"rageval.{_name(name)}", float(score))
        for name, score in scores.items()
        if score is not None and is_scored(score)
    ]
    return [*found, ("rageval.sample_weight", float(result.sample_weight))] if found else []


def _name(metric: str) -> str:
    """Return a metric's name safe for XML; pytest escapes values, but not names."""
    return one_line(metric).replace("\ufffe", "").replace("\uffff", "")


def _case(report: pytest.TestReport) -> tuple[str, str]:
    return report.nodeid, str(getattr(report, "worker_id", ""))


def protocol_without_allure(config: pytest.Config) -> Any:
    """Return the caller of pytest's protocol that leaves out allure: to it a gate is no test."""
    manager = config.pluginmanager
    allure = manager.get_plugin("allure_listener")
    return manager.subset_hook_caller("pytest_runtest_protocol", [] if allure is None else [allure])


def report_to_allure(config: pytest.Config, report: pytest.TestReport, message: str) -> None:
    """Have allure write the report of a gate, if allure is active (``--alluredir``).

    It belongs to the suite of the scenario's cases; its id is made from the node id, as theirs.
    """
    if not config.pluginmanager.has_plugin("allure_listener"):
        return
    import allure_commons
    from allure_commons.model2 import Label, StatusDetails, TestResult

    path, _, name = report.nodeid.partition("::")
    *folders, file = PurePosixPath(path).parts
    suite = file.rpartition(".")[0]
    package = ".".join([*folders, suite])
    full_name = f"{package}#{name}"
    digest = hashlib.md5(full_name.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    labels = {
        "parentSuite": ".".join(folders),
        "suite": suite,
        "package": package,
        "framework": "pytest",
    }
    now = int(1000 * time.time())
    result = TestResult(
        uuid=str(uuid.uuid4()),
        name=name,
        fullName=full_name,
        historyId=digest,
        testCaseId=digest,
        status=report.outcome,
        statusDetails=StatusDetails(message=message, trace=report.longreprtext),
        labels=[Label(label, value) for label, value in labels.items() if value],
        start=now,
        stop=now,
    )
    allure_commons.plugin_manager.hook.report_result(result=result)


class Publisher:
    """Adds a session's runs to the history and to GitHub; a failure is a remark, never an error."""

    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._uses_github = is_workflow(config)
        self._runs: list[tuple[ScenarioResult, RunInfo]] = []
        self._problem: str | None = None
        self._contests: Sequence[VariantComparison] = ()

    def add(self, result: ScenarioResult, run: RunInfo, folder: Path | str) -> list[str]:
        """Add a run to the history, and keep it for GitHub; return remarks, also on ``latest``.

        ``folder`` is the run's folder, or a sentence why there is none: then there is no history.
        """
        if self._uses_github:
            self._runs.append((result, run))
        if isinstance(folder, str):
            return []
        return [*latest_remark(folder), *record(result, run, folder)]

    def write_summary(self, contests: Sequence[VariantComparison] = ()) -> None:
        """Write the step summary, with the variants of scenarios against each other."""
        self._contests = contests
        if self._runs:
            # Not at the top, here and below: most runs are not in a workflow.
            from pytest_rageval.plugin.show.github import append_summary

            self._problem = append_summary(self._runs, contests=contests)

    def print_annotations(self, terminal: pytest.TerminalReporter, *, is_quiet: bool) -> None:
        """Print the annotations for GitHub, and unless ``is_quiet`` what went wrong."""
        if not self._runs:
            return
        from pytest_rageval.plugin.show.github import annotation_lines

        results = [result for result, _ in self._runs]
        lines = annotation_lines(results, self._root, contests=self._contests)
        if lines:
            terminal.ensure_newline()
        for line in lines:
            terminal.write_line(line)
        if self._problem is not None and not is_quiet:
            terminal.write_line(printable(self._problem), yellow=True)


def is_workflow(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this is GitHub Actions, and the ini file does not switch it off."""
    named = environ.get("GITHUB_ACTIONS") == "true" or environ.get("GITHUB_STEP_SUMMARY")
    return bool(named and config.getini("rageval_github"))
