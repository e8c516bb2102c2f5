"""What a report of pytest says about the outcome of a case."""

from __future__ import annotations

import pytest

from pytest_rageval.model import Outcome


def is_of_a_part(report: pytest.TestReport) -> bool:
    """Return whether a report belongs to a subtest, which has the node id of its test.

    Subtests come from pytest 9 or the plugin pytest-subtests; both set ``context``.
    """
    return type(report) is not pytest.TestReport and hasattr(report, "context")


def outcome_of(report: pytest.TestReport) -> Outcome | None:
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
