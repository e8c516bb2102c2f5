"""What a row asks of its answer: must_include, must_not_include, must_match, answer_checks.

The score is the share of the row's checks that the answer passes. A row without the field is left
out: the metric does not apply to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import Field

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.metrics.pattern_search import SlowPatternError, search
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.row_checks import Check, checks_of, included


class CaseOptions(NoOptions):
    """Whether the case of letters counts."""

    ignore_case: bool = Field(False, description="whether upper and lower case are equal")


class RowChecks:
    """Applies the checks that a row has in one of its fields."""

    def __init__(
        self, name: str, checks: Callable[[Sample], Sequence[Check]], ignore_case: bool = False
    ) -> None:
        self._name = name
        self._checks = checks
        self._ignore_case = ignore_case

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the share in 0..1 by weight, with the checks that the answer fails."""
        checks, answer = self._checks(sample), sample.answer or ""
        try:
            passed = [check.passes(answer, self._search, context.latency_s) for check in checks]
        except SlowPatternError as error:
            return Score(self._name, None, error=str(error))
        if None in passed:
            return Score(self._name, None, error="no latency: the answer was not asked for now")
        failed = [check for check, passes in zip(checks, passed, strict=True) if not passes]
        if not failed:
            return Score(self._name, 1.0)
        value = 1.0 - math.fsum(c.weight for c in failed) / math.fsum(c.weight for c in checks)
        listed = [str(check) for check in failed]
        said = "; ".join(_said(check, context.latency_s) for check in failed)
        reason = f"{len(failed)} of {len(checks)} failed: {said}"
        return Score(self._name, max(value, 0.0), reason, {"failed": listed})

    def _search(self, pattern: str, text: str, ignore_case: bool) -> bool:
        return search(pattern, text, ignore_case or self._ignore_case)


def _said(check: Check, latency_s: float | None) -> str:
    if check.kind != "max_latency_s" or latency_s is None:
        return str(check)
    # A server that answers one after the other makes the others wait: nobody outside can tell.
    return f"{check} (took {latency_s:.2f} s with its queue; target.concurrency: 1 has none)"


def _must_include(name: str, options: CaseOptions) -> RowChecks:
    ignore_case = options.ignore_case
    return RowChecks(
        name,
        lambda row: included(row.must_include or (), is_not=False, ignore_case=ignore_case),
    )


def _must_not_include(name: str, options: CaseOptions) -> RowChecks:
    ignore_case = options.ignore_case
    return RowChecks(
        name,
        lambda row: included(row.must_not_include or (), is_not=True, ignore_case=ignore_case),
    )


def _must_match(name: str, options: CaseOptions) -> RowChecks:
    def checks(row: Sample) -> list[Check]:
        return [Check("regex", pattern) for pattern in row.must_match or ()]

    return RowChecks(name, checks, options.ignore_case)


def _answer_checks(name: str, _: NoOptions) -> RowChecks:
    return RowChecks(name, lambda row: checks_of(row.answer_checks or ()))


def _definition(
    name: str, make: Callable[[str, Any], RowChecks], options: type[NoOptions] = CaseOptions
) -> MetricDefinition:
    own = frozenset({name})
    return MetricDefinition(MetricInfo(name, needs=own | {"answer"}, of_row=own), make, options)


METRICS = (
    _definition("must_include", _must_include),
    _definition("must_not_include", _must_not_include),
    _definition("must_match", _must_match),
    _definition("answer_checks", _answer_checks, NoOptions),
)
