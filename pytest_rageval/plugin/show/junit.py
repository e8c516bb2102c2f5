"""Writes the scores of a case to JUnit XML (``--junitxml``), as properties of its test case."""

from __future__ import annotations

import pytest

from pytest_rageval.model import WEIGHTED_SCORE, SampleResult
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.text.printable import one_line

Properties = list[tuple[str, object]]


class JunitProperties:
    """Puts the properties on reports, in the process that has the results and writes the XML.

    An xdist worker would send them with each report of the case.
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
        """Put them on the last report of the case as well, the one that pytest reads."""
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
