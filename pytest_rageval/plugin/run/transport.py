"""What pytest's report of a case says, and how it carries a result from an xdist worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from pytest_rageval.errors import shorten
from pytest_rageval.model import Outcome, SampleResult, ScenarioInfo, Value
from pytest_rageval.text.printable import one_line


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


def error_of(report: pytest.TestReport) -> str:
    """Return the error of a failed report, on one line, shortened: ``RuntimeError: gone``."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return shorten(one_line(str(getattr(crash, "message", report.longreprtext))))


ATTRIBUTE = "rageval"
"""The attribute of a report that holds the message; what this plugin adds begins with it."""


class Message(Value, frozen=True):
    """A result of the scenario ``nodeid``; a worker's first message also has all ``scenarios``.

    ``selection`` comes with them: in a shard, the digest of all cases from which it takes its own.
    So does ``odd``: items whose node ids do not begin with those of their scenarios, and these.
    """

    nodeid: str
    result: SampleResult
    scenarios: Sequence[ScenarioInfo] = ()
    selection: str = ""
    odd: Mapping[str, str] = {}


NOT_KEPT: Final[Mapping[str, Any]] = {"sections": [], "user_properties": [], "keywords": {}}
"""What a shard does not carry of a report: what was printed, and what may be of any type."""

_OF_XDIST: Final = frozenset({"node", "worker_id", "testrun_uid", "item_index"})


def without_own(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a report without those that this plugin and xdist have added."""
    return {
        name: fact
        for name, fact in facts.items()
        if name not in _OF_XDIST and not name.startswith(ATTRIBUTE)
    }
