"""Shows the weighted score after each outcome in ``-v``: ``PASSED 0.83``."""

from __future__ import annotations

import pytest

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
            return "passed", ".", f"PASSED {score:.2f}"
        if report.failed:
            return "failed", "F", f"FAILED {score:.2f}"
        return None
