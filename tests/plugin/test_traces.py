"""A30: a scenario over exported traces, from the path to the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

CHECKED = """
    name: production
    dataset: {path: spans.jsonl, key_map: {answer: answer}}
    answers: {path: gold.csv, key: id}
    metrics: [em]
    gates: {em: 0.5}
"""


def _span(trace: str, own: str, parent: str | None, at: float, **attributes: Any) -> dict[str, Any]:
    return {
        "name": own,
        "context": {"trace_id": trace, "span_id": f"{trace}-{own}"},
        "parent_id": parent and f"{trace}-{parent}",
        "start_time": 1_800_000_000 + at,
        "end_time": 1_800_000_001 + at,
        "attributes": {name.replace("__", "."): value for name, value in attributes.items()},
    }


def _trace(trace: str, question: str, answer: str | None) -> list[dict[str, Any]]:
    kind = "openinference__span__kind"
    root = {kind: "CHAIN", "input__value": question}
    if answer is not None:
        root["output__value"] = answer
    found = {
        "retrieval__documents__0__document__id": "d1",
        "retrieval__documents__0__document__content": "The pier opens at nine.",
    }
    spans = [
        _span(trace, "root", None, 0, **root),
        _span(trace, "search", "root", 0.25, **{kind: "RETRIEVER", **found}),
    ]
    if answer is None:
        spans[0]["status"] = {"status_code": "ERROR", "description": "too many requests"}
    return spans


@pytest.fixture
def traces(project: Project) -> Project:
    """Return a project with three traces, one of which failed, and the right answers."""
    spans = [
        *_trace("a", "When does the pier open?", "at nine"),
        *_trace("b", "When does the pier close?", "at noon"),
        *_trace("c", "Is there a fee?", None),
    ]
    project.rows(spans, "spans.jsonl")
    project.file("gold.csv", "id,references\na,at nine\nb,at ten\nc,no\n")
    return project


@pytest.mark.parametrize("how", ["run", pytest.param("workers", marks=pytest.mark.full)])
def test_traces_are_checked_against_answers_of_a_second_file(
    traces: Project, how: str, request: pytest.FixtureRequest
) -> None:
    """One of two answers is right; the failed trace is an ERROR that says why, not a lost row.

    The same in this process and with two workers.
    """
    traces.scenario(CHECKED)
    run: Run = request.getfixturevalue(how)
    result = run()
    result.assert_outcomes(passed=3, failed=1, errors=1)  # with the gates em and unscored
    result.stdout.fnmatch_lines(["*trace c failed and has no answer: too many requests*"])
    samples = {sample["id"]: sample for sample in traces.results("production")["samples"]}
    assert [samples[name]["scores"]["em"] for name in "ab"] == [1.0, 0.0]
    assert samples["a"]["contexts"] == ["The pier opens at nine."]
    assert samples["a"]["metadata"]["latency_ms"] == 1000.0
