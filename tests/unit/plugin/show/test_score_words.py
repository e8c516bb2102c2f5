"""[A11] The score behind the outcome in -v."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rageval.plugin.show.pytest_reports import ScoreWords


@pytest.mark.parametrize(
    ("outcome", "fields", "words"),
    [
        ("passed", {}, "PASSED 0.75"),
        ("failed", {}, "FAILED 0.75"),
        ("passed", {"rageval_score": None}, None),
        ("skipped", {}, None),
        ("passed", {"when": "teardown"}, None),
        ("passed", {"wasxfail": "reason"}, None),
    ],
)
def test_a_judged_case_has_its_score_behind_the_outcome(
    outcome: str, fields: dict[str, Any], words: str | None
) -> None:
    """[A11] pytest says all else."""
    known = {"when": "call", "rageval_score": 0.75, **fields}
    known |= {"passed": outcome == "passed", "failed": outcome == "failed"}
    report: Any = SimpleNamespace(**known)
    found = ScoreWords().pytest_report_teststatus(report)
    assert (found and found[2]) == words
