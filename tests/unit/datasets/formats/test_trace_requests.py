"""A trace is one request, and its answer is what the system gave: nothing else replaces it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import Case, InvalidRow, Sample

Load = Callable[..., Dataset]

SECOND = 1_800_000_000


def span(
    own: str, parent: str | None, asked: Any = None, said: Any = None, **more: Any
) -> dict[str, Any]:
    kind = more.pop("kind", "CHAIN")
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    attributes |= {} if asked is None else {"input.value": asked}
    attributes |= {} if said is None else {"output.value": said}
    return {
        "name": own,
        "context": {"trace_id": "t1", "span_id": own},
        "parent_id": parent,
        "start_time": SECOND + more.pop("begins", 0),
        "end_time": SECOND + 9,
        "status": {"status_code": more.pop("status", "UNSET")},
        "attributes": attributes,
        "events": [],
    }


@pytest.fixture
def read(load: Load) -> Callable[..., Case]:
    """Return a function of spans that returns the first row; another one is valid."""
    valid = {**span("other", None, "Who?", "Me."), "context": {"trace_id": "t2", "span_id": "o"}}

    def first(*spans: dict[str, Any]) -> Case:
        lines = "".join(json.dumps(one) + "\n" for one in [*spans, valid])
        return load("spans.jsonl", lines).cases[0]

    return first


ONE, OTHER = ("How long?", "Five days."), ("Is there a fee?", "No.")


@pytest.mark.parametrize(
    "spans",
    [
        [span("a", None, *ONE), span("b", None, *OTHER, begins=1)],
        [span("batch", None), span("a", "batch", *ONE), span("b", "batch", *OTHER, begins=1)],
    ],
    ids=["two roots", "a batch"],
)
def test_two_requests_in_a_trace_are_no_row(
    read: Callable[..., Case], spans: list[dict[str, Any]]
) -> None:
    case = read(*spans)
    assert isinstance(case, InvalidRow)
    assert "several requests, such as 'How long?' and 'Is there a fee?'" in case.reason


def test_steps_that_pass_on_a_question_are_one_request(read: Callable[..., Case]) -> None:
    """One writes the question anew, the other is asked what that said."""
    case = read(
        span("root", None),
        span("rewrite", "root", "How long?", "How long do refunds take?"),
        span("answer", "root", "How long do refunds take?", "Five days.", begins=1),
    )
    assert isinstance(case, Sample), case


def test_an_empty_output_is_an_empty_answer(read: Callable[..., Case]) -> None:
    case = read(span("root", None, "How long?", ""), span("m", "root", *ONE, kind="LLM"))
    assert isinstance(case, Sample), case
    assert case.answer == ""


@pytest.mark.parametrize(
    "attributes",
    [
        {"mlflow.spanInputs": '"How long?"', "mlflow.spanOutputs": '""'},
        {"traceloop.entity.input": '"How long?"', "traceloop.entity.output": '""'},
        {
            "input.value": "How long?",
            "output.value": '""',
            "output.mime_type": "application/json",
        },
    ],
    ids=["MLflow", "OpenLLMetry", "OpenInference by its mime type"],
)
def test_an_empty_output_in_json_is_an_empty_answer(
    read: Callable[..., Case], attributes: dict[str, str]
) -> None:
    """Its text is two quotes."""
    root = {**span("root", None), "attributes": attributes}
    case = read(root, span("m", "root", *ONE, kind="LLM"))
    assert isinstance(case, Sample), case
    assert (case.question, case.answer) == ("How long?", "")


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (span("root", None, "How long?", json.dumps({"error": "timeout"})), ": timeout"),
        (span("root", None, *ONE, status="ERROR"), ""),
    ],
    ids=["an output that is an error", "a status"],
)
def test_a_root_that_failed_has_no_answer(
    read: Callable[..., Case], root: dict[str, Any], why: str
) -> None:
    case = read(root, span("m", "root", *ONE, kind="LLM"))
    assert isinstance(case, InvalidRow)
    assert case.reason.endswith(f"trace t1 failed and has no answer{why}")


def test_the_output_that_was_asked_for_an_answer_is_told(read: Callable[..., Case]) -> None:
    """Of several roots the last output is the answer; so its keys are what the message names."""
    case = read(
        span("a", None, "How long?", {"intent": "refund", "language": "en"}),
        span("b", None, None, {"code": "x1", "state": "ok"}, begins=1),
    )
    assert isinstance(case, InvalidRow)
    assert case.reason.endswith(
        "It has 'code', 'state'. Write dataset.key_map: {answer: trace_output.code}"
    )


def test_a_masked_answer_is_not_proposed_as_the_answer(read: Callable[..., Case]) -> None:
    masked = {"note": "[REDACTED]", "state": "***", "more": {"code": "x1"}}
    case = read(span("a", None, "How long?", masked))
    assert isinstance(case, InvalidRow)
    assert case.reason.endswith("It has 'more'. Write dataset.key_map: {answer: trace_output.more}")
