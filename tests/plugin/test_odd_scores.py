"""What a metric of someone else may return beside its value never ends the run, nor the files."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

ODD_METRIC = """
    import pathlib
    import numpy
    from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
    from pytest_rageval.metrics.base import METRIC_REGISTRY
    from pytest_rageval.model import Score

    DETAILS = {
        "nan": {"x": float("nan"), "deep": [float("inf")]},
        "path": {"x": pathlib.Path("a.txt")},
        "numbered": {1: "one"},
        "tuple key": {("a", "b"): 1},
        "surrogate": {"x": chr(0xD800)},
        "numpy": {"x": numpy.float64(0.5), "many": numpy.arange(3)},
        "tuple": {"x": (1, 2)},
        "set": {"x": {1}},
        "bytes": {"x": b"raw"},
    }
    VALUES = {
        "numpy value": numpy.float64(0.5),
        "numpy32 value": numpy.float32(0.5),
        "whole value": 1,
        "text value": "0.5",
        "list value": [0.5],
    }
    REASONS = {"reason": ValueError("an object"), "odd reason": chr(0xD800)}

    class Odd:
        def __init__(self, name, options):
            self.name = name

        def score(self, sample, context):
            kind = sample.answer
            if kind == "nothing returned":
                return None
            if kind == "number returned":
                return 0.5
            if kind == "odd error":
                raise ValueError(chr(0xD800) + chr(27))
            return Score(
                self.name,
                VALUES.get(kind, 1.0),
                reason=REASONS.get(kind),
                details=DETAILS.get(kind),
            )

    if METRIC_REGISTRY.canonical("odd") is None:
        METRIC_REGISTRY.add(MetricDefinition(MetricInfo("odd", frozenset({"answer"})), Odd))
"""

KINDS = [
    "nan",
    "path",
    "numbered",
    "tuple key",
    "surrogate",
    "numpy",
    "tuple",
    "set",
    "bytes",
    "numpy value",
    "numpy32 value",
    "whole value",
    "text value",
    "list value",
    "reason",
    "odd reason",
    "nothing returned",
    "number returned",
    "odd error",
]


@pytest.fixture
def odd(project: Project) -> Project:
    """Return a project with a metric that answers oddly, as each row's answer asks."""
    project.conftest(ODD_METRIC)
    project.scenario(
        """
        name: qa
        metrics: [odd]
        thresholds: {odd: 0.1}
        dataset: qa.jsonl
        """
    )
    return project


@pytest.mark.full
def test_odd_answers_reach_the_controller(odd: Project, run: Run) -> None:
    """[A20, E2] All of them at once, with the same bytes as in one process.

    Each is judged or an ERROR, and results.json is JSON without NaN.
    """
    odd.rows([{"id": kind, "answer": kind} for kind in KINDS])
    odd.pytest()
    result = run()
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert set(odd.outcomes()) == set(KINDS)
    assert set(odd.outcomes().values()) == {"passed", "error"}
    assert odd.without_run(0) == odd.without_run(1)


@pytest.mark.full
def test_odd_reasons_and_names_reach_the_controller(project: Project, run: Run) -> None:
    """[E2] Lone surrogates in reasons, tags and documents, and a gate that quotes one."""
    odd_text = "odd \ud800 text"
    row = {"answer": "Rome", "references": ["Paris"], "doc_name": odd_text, "tags": [odd_text]}
    project.rows(
        [
            {"id": "a", **row},
            {"id": "b", **row, "skip": odd_text},
            {"id": "c", **row, "xfail": odd_text},
        ]
    )
    project.scenario(
        """
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        gates: {by: {doc_name: {em: 1}}}
        dataset: qa.jsonl
        """
    )
    result = run("-rA", "--junitxml=junit.xml")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    # a and the slice of its document fail; the gate on unscored samples passes.
    result.assert_outcomes(failed=2, skipped=1, xfailed=1, passed=1)
