"""Records of LangSmith, Langfuse and MLflow: what they say of a trace beside its steps."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Record = dict[str, Any]


def langsmith(own: str = "a1", **more: Any) -> Record:
    """Return a run of LangSmith, as ``Run.dict()`` and data frames of runs have it."""
    return {
        "id": own,
        "trace_id": "a1",
        "parent_run_id": None,
        "name": "ask",
        "run_type": "chain",
        "start_time": "2027-01-15T08:00:00",
        "end_time": "2027-01-15T08:00:04",
        "error": None,
        "inputs": {"question": "Capital?"},
        "outputs": {"answer": "Paris."},
        **more,
    }


def only(load: Load, *records: Record) -> Sample:
    """Return the only row of records, a line each."""
    (case,) = load("t.jsonl", "".join(json.dumps(one) + "\n" for one in records)).cases
    assert isinstance(case, Sample), case
    return case


# LangSmith.


@pytest.mark.parametrize(
    ("outputs", "references"),
    [
        # the only one, whatever its name is
        ({"answer": "Paris"}, ("Paris",)),
        ({"city": "Paris"}, ("Paris",)),
        ({"source_doc": "Paris"}, ("Paris",)),
        ({"标准": "巴黎"}, ("巴黎",)),
        ({"output": ["Paris", "Lutetia"]}, ("Paris", "Lutetia")),
        ({"output": {"text": "Paris"}}, ("Paris",)),
        # the first, also where a later one is named so: that may be what a system said
        ({"label": "Paris", "prediction": "Lyon"}, ("Paris",)),
        ({"target": "Paris", "response": "Lyon"}, ("Paris",)),
        ({"正解": "Paris", "模型回答": "Lyon"}, ("Paris",)),
        ({"final_answer": "Paris", "answer": ""}, ("Paris",)),
        ({"expected_text": "Paris", "output": {"messages": []}}, ("Paris",)),
        ({"answer": "Paris", "source_doc": "a.pdf"}, ("Paris",)),
        ({"reference": "Paris", "answer": "It is Paris."}, ("Paris",)),
        ({"answer": "Paris", "reference": "a.pdf"}, ("Paris",)),
        ({"output": "Paris", "id": "7", "label": "correct"}, ("Paris",)),
        # the first, where no name is known
        ({"capital": "Paris", "country": "France"}, ("Paris",)),
        ({"hauptstadt": "Paris", "quelle": "a.pdf"}, ("Paris",)),
        ({"expected_file": "a.pdf", "category": "x"}, ("a.pdf",)),
        # ... behind others
        ({"source_doc": "a.pdf", "answer": "Paris"}, ("Paris",)),
        ({"question": "Capital?", "documents": ["a", "b"], "output": "Paris"}, ("Paris",)),
        ({"quelle": "a.pdf", "antwort": "Paris"}, ("Paris",)),
        ({"source_doc": "a.pdf", "answer": {"text": "Paris"}}, ("Paris",)),
        ({"question": "Capital?", "response": "Lyon", "ground_truth": "Paris"}, ("Paris",)),
        ({"sourceDocs": ["a.pdf"], "answer": "Paris"}, ("Paris",)),
        # null is not said by another name
        ({"source_doc": "a.pdf", "answer": None}, None),
        ({"capital": None, "country": "France"}, None),
        # as a table has it, and none
        (json.dumps({"answer": "Paris"}), ("Paris",)),
        ({}, None),
        (None, None),
        ("Paris", None),
        ({"answer": None}, None),
    ],
)
def test_the_reference_of_a_run_is_the_output_of_its_example(
    load: Load, outputs: Any, references: tuple[str, ...] | None
) -> None:
    case = only(load, langsmith(reference_outputs=outputs))
    assert case.references == references


@pytest.mark.parametrize("none", [None, "", float("nan")])
def test_what_a_data_frame_writes_for_none_is_none(load: Load, none: Any) -> None:
    root = langsmith(error=none, parent_run_id=none)
    child = langsmith("b2", parent_run_id="a1", error=none, run_type="llm")
    case = only(load, root, child)
    assert (case.answer, case.metadata["status"]) == ("Paris.", "ok")


# Langfuse.

TIME = "2027-01-15T08:00:0"


def step(kind: str, own: str, begins: int, parent: str | None = "root", **more: Any) -> Record:
    """Return an observation of Langfuse."""
    start, end = f"{TIME}{begins}Z", f"{TIME}{begins + 1}Z"
    given = {"id": own, "traceId": "t1", "type": kind, "name": own, "level": "DEFAULT"}
    return {**given, "startTime": start, "endTime": end, "parentObservationId": parent, **more}


def langfuse(*observations: Record, scores: Sequence[Record] = (), **more: Any) -> Record:
    """Return a trace of Langfuse."""
    return {
        "id": "t1",
        "timestamp": f"{TIME}0Z",
        "name": "ask",
        "input": {"question": "Capital?"},
        "output": "Paris.",
        "latency": 4.5,
        "htmlPath": "/p/t1",
        "observations": observations,
        "scores": scores,
        **more,
    }


ROOT = step("SPAN", "root", 0, None, input={"question": "Capital?"}, output="Paris.")
SEARCH, MODEL = step("RETRIEVER", "r", 1), step("GENERATION", "g", 2, model="m1")


def score(value: Any, of: str | None = None, name: str = "helpful", **more: Any) -> Record:
    """Return a score of Langfuse: of the trace, or of an observation."""
    return {"traceId": "t1", "observationId": of, "name": name, "value": value, **more}


def events(trace: Record) -> list[Record]:
    """Return what a client sends of a trace: here its scores first."""
    own = {name: value for name, value in trace.items() if name not in ("observations", "scores")}
    parts = {"score": trace["scores"], "observation": trace["observations"], "trace": [own]}
    return [
        {"id": f"{kind}{at}", "type": f"{kind}-create", "body": {"id": f"{kind}{at}", **one}}
        for kind, listed in parts.items()
        for at, one in enumerate(listed)
    ]


@pytest.mark.parametrize("in_events", [False, True])
@pytest.mark.parametrize(
    ("observations", "scores", "found"),
    [
        ([ROOT, MODEL], [score(0.75)], 0.75),
        ([ROOT, MODEL], [score(0.25), score(0.75)], 0.75),
        ([ROOT, MODEL], [score(0.5, name="other"), score(0.75)], 0.75),
        # of the root, or of the only step that has one
        ([ROOT, MODEL], [score(0.75, "root")], 0.75),
        ([ROOT, MODEL], [score(0.75, "g")], 0.75),
        ([ROOT, MODEL], [score(0.75, "not exported")], 0.75),
        ([SEARCH | {"parentObservationId": None}], [score(0.75, "r")], 0.75),
        ([], [score(0.75, "root")], 0.75),
        ([ROOT, SEARCH, MODEL], [score(0.25, "r", "relevant"), score(0.75, "g")], 0.75),
        ([ROOT, SEARCH, MODEL], [score(1, "r"), score(1, "g")], 1),
        ([ROOT, step("EVENT", "e", 3, None)], [score(0.75, "root")], 0.75),
        # no number
        ([ROOT], [score(True, dataType="BOOLEAN")], True),
        ([ROOT], [score(1, stringValue="True", dataType="BOOLEAN")], 1),
        ([ROOT], [score("right", dataType="CATEGORICAL")], "right"),
        ([ROOT], [score(None, stringValue="right", dataType="CATEGORICAL")], "right"),
        ([ROOT], [score(0, stringValue=None, dataType="CATEGORICAL")], 0),
        ([ROOT], [score(0.5, stringValue="half", dataType="NUMERIC")], 0.5),
        ([ROOT], [score(0.5, stringValue="half")], 0.5),
        # the trace's own one, in any order
        ([ROOT, MODEL], [score(0.75), score(0.25, "g")], 0.75),
        ([ROOT, MODEL], [score(0.25, "g"), score(0.75)], 0.75),
        ([ROOT, MODEL], [score(0.75), score(0.25, "root")], 0.75),
        # ... else that of the root
        ([ROOT, MODEL], [score(0.75, "root"), score(0.25, "g")], 0.75),
        ([MODEL, ROOT], [score(0.25, "g"), score(0.75, "root"), score(0.5, "r")], 0.75),
        ([ROOT, step("EVENT", "e", 3, None)], [score(0.75, "root"), score(0.25, "e")], 0.75),
        # a number beside a category
        ([ROOT], [score(0, stringValue="right", dataType="CATEGORICAL")], "right"),
        ([ROOT], [score(0, string_value="right", data_type="CATEGORICAL")], "right"),
        ([ROOT], [score(0, stringValue="Paris", dataType="CORRECTION")], "Paris"),
    ],
)
def test_the_score_of_a_trace_is_a_column(
    load: Load, observations: list[Record], scores: list[Record], found: Any, in_events: bool
) -> None:
    trace = langfuse(*observations, scores=scores)
    case = only(load, *(events(trace) if in_events else [trace]))
    assert case.metadata["score_helpful"] == found


def test_scores_of_several_steps_are_left_out_and_named(load: Load) -> None:
    scores = [score(0.25, "r"), score(0.75, "g"), score(0.5, name="clear")]
    dataset = load("t.jsonl", json.dumps(langfuse(ROOT, SEARCH, MODEL, scores=scores)))
    (case,) = dataset.cases
    assert case.metadata["score_clear"] == 0.5
    assert "score_helpful" not in case.metadata
    assert dataset.warnings[0] == (
        "t.jsonl: 1 column of which a trace says different things ('score_helpful'): left out"
    )


@pytest.mark.parametrize("has_record", [False, True])
def test_a_root_whose_parent_is_in_another_service_is_a_top_step(
    load: Load, has_record: bool
) -> None:
    remote = ROOT | {"parentObservationId": "elsewhere", "isRootObservation": True}
    trace = langfuse(remote, MODEL, scores=[score(0.75, "root"), score(0.25, "g")])
    case = only(load, *(one for one in events(trace) if has_record or one["id"] != "trace0"))
    assert case.metadata["score_helpful"] == 0.75


FAILED = {"level": "ERROR", "statusMessage": "the guard raised", "output": None}
INNER = step("GENERATION", "g", 1, model="m1", output="Lyon.")
"""What a model said within the request."""


def top(kind: str, own: str, begins: int, **more: Any) -> Record:
    return step(kind, own, begins, None, **more)


@pytest.mark.parametrize("in_events", [False, True])
@pytest.mark.parametrize(
    ("observations", "answer"),
    [
        # the trace has an output, whatever failed below it
        ([top("SPAN", "root", 0, **FAILED), INNER], "Paris."),
        ([top("SPAN", "root", 0), INNER | FAILED], "Paris."),
        ([top("GENERATION", "g", 0, **FAILED)], "Paris."),
    ],
)
def test_the_output_of_a_langfuse_trace_is_the_answer(
    load: Load, observations: list[Record], answer: str, in_events: bool
) -> None:
    trace = langfuse(*observations)
    case = only(load, *(events(trace) if in_events else [trace]))
    assert (case.answer, case.metadata["status"]) == (answer, "ok")


@pytest.mark.parametrize(
    ("observations", "answer"),
    [
        ([top("SPAN", "root", 0), INNER], "Lyon."),
        ([top("SPAN", "root", 0, level="WARNING", statusMessage="slow"), INNER], "Lyon."),
        ([top("SPAN", "root", 0, level="DEBUG"), INNER], "Lyon."),
        # the root gave something although it failed
        ([top("SPAN", "root", 0, **FAILED | {"output": "Sorry."}), INNER], "Lyon."),
        # another try, or another way, worked
        ([top("SPAN", "root", 0), step("GENERATION", "f", 0, **FAILED), INNER], "Lyon."),
        ([top("GENERATION", "f", 0, **FAILED), top("GENERATION", "g", 1, output="Lyon.")], "Lyon."),
        ([top("SPAN", "cache", 0, **FAILED), top("SPAN", "root", 0), INNER], "Lyon."),
        ([top("SPAN", "cache", 0, **FAILED), top("GENERATION", "g", 1, output="Lyon.")], "Lyon."),
        ([top("GUARDRAIL", "guard", 0, **FAILED), top("CHAIN", "root", 1), INNER], "Lyon."),
        ([top("SPAN", "root", 0, **FAILED), INNER, top("TOOL", "ask a colleague", 2)], "Lyon."),
        # what failed came behind the answer, or beside it
        ([top("SPAN", "root", 0), INNER, step("TOOL", "save", 3, **FAILED)], "Lyon."),
        ([top("SPAN", "root", 0), INNER, top("TOOL", "save", 3, **FAILED)], "Lyon."),
        ([top("SPAN", "root", 0), INNER, top("SPAN", "save", 3, **FAILED)], "Lyon."),
        ([top("SPAN", "root", 0), INNER, top("EVENT", "lost", 3, **FAILED)], "Lyon."),
        ([top("SPAN", "root", 0), INNER, top("EVALUATOR", "judge", 3, **FAILED)], "Lyon."),
        ([top("EVENT", "lost", 0, **FAILED), top("GENERATION", "g", 1, output="Lyon.")], "Lyon."),
        # a model of a tool answered, or of a step whose parent is not in the file
        (
            [
                top("TOOL", "ask", 0),
                INNER | {"parentObservationId": "ask"},
                top("SPAN", "save", 3, **FAILED),
            ],
            "Lyon.",
        ),
        (
            [INNER | {"parentObservationId": "elsewhere"}, top("SPAN", "save", 3, **FAILED)],
            "Lyon.",
        ),
        ([top("GENERATION", "g", 1, output="Lyon."), top("RETRIEVER", "r", 2, **FAILED)], "Lyon."),
    ],
)
def test_a_failed_step_is_no_failed_trace(
    load: Load, observations: list[Record], answer: str
) -> None:
    case = only(load, langfuse(*observations, output=None))
    assert (case.answer, case.metadata["status"]) == (answer, "ok")


@pytest.mark.parametrize("in_events", [False, True])
@pytest.mark.parametrize(
    ("observations", "reason"),
    [
        ([top("SPAN", "root", 0, **FAILED), INNER], ": the guard raised"),
        ([top("AGENT", "root", 0, **FAILED), SEARCH, INNER], ": the guard raised"),
        (
            [top("SPAN", "root", 0, **FAILED | {"output": {"error": "x"}}), INNER],
            ": the guard raised",
        ),
        ([top("SPAN", "root", 0, **FAILED | {"statusMessage": None}), INNER], ""),
        (
            [top("SPAN", "root", 0, **FAILED | {"statusMessage": None}), INNER | FAILED],
            ": the guard raised",
        ),
        # all tries failed
        (
            [
                top("SPAN", "root", 0, **FAILED | {"statusMessage": "timeout"}),
                INNER,
                top("SPAN", "again", 2, **FAILED),
                step("GENERATION", "h", 2, "again", model="m1", output="Nice."),
            ],
            ": the guard raised",
        ),
        # without a step around them: what a search asks a model is no answer
        (
            [
                top("RETRIEVER", "r", 0, output=[]),
                step("GENERATION", "g", 0, "r", model="m1", output="Maybe Lyon"),
                top("GENERATION", "h", 2, **FAILED),
            ],
            ": the guard raised",
        ),
        # notes and judges stand behind the request
        ([top("SPAN", "root", 0, **FAILED), INNER, top("EVENT", "e", 3)], ": the guard raised"),
        ([top("SPAN", "root", 0, **FAILED), INNER, top("EVALUATOR", "e", 3)], ": the guard raised"),
    ],
)
def test_a_langfuse_trace_that_failed_has_no_answer(
    load: Load, observations: list[Record], reason: str, in_events: bool
) -> None:
    """What a model said within it was given to nobody."""
    trace = langfuse(*observations, output=None)
    records = [*(events(trace) if in_events else [trace]), langfuse(id="t2")]
    lines = "".join(json.dumps(one) + "\n" for one in records)
    failed = [case for case in load("t.jsonl", lines).cases if isinstance(case, InvalidRow)]
    assert [case.reason for case in failed] == [f"trace t1 failed and has no answer{reason}"]


def test_an_empty_output_of_a_trace_whose_root_failed_is_what_was_given(load: Load) -> None:
    case = only(load, langfuse(top("SPAN", "root", 0, **FAILED), INNER, output=""))
    assert case.answer == ""


# MLflow.


def mlflow(*assessments: Record) -> Record:
    """Return a trace of MLflow: a root, and a model below it."""

    def one(own: str, parent: str | None, **attributes: Any) -> Record:
        times = {"start_time_unix_nano": 18 * 10**17, "end_time_unix_nano": 18 * 10**17 + 10**9}
        ids = {"trace_id": "tr-1", "span_id": own, "parent_span_id": parent}
        named = {f"mlflow.{name}": json.dumps(value) for name, value in attributes.items()}
        return {"name": own, **ids, **times, "attributes": named}

    spans = [one(ROOT_ID, None, spanInputs="Capital?", spanOutputs="Paris."), one(STEP, ROOT_ID)]
    return {"info": {"trace_id": "tr-1", "assessments": assessments}, "data": {"spans": spans}}


ROOT_ID, STEP = "026f3e4e89e2ce0d", "126f3e4e89e2ce0d"


def test_an_expectation_that_is_a_check_is_one(load: Load) -> None:
    """It was a column ``expected_must_include``, which nothing checks."""
    expected = {"expectation": {"value": ["Paris"]}, "assessment_name": "must_include"}
    case = only(load, mlflow(expected))
    assert case.must_include == ("Paris",)


def said(kind: str, value: Any, of: str | None = None) -> Record:
    name = "helpful" if kind == "feedback" else "expected_response"
    return {"assessment_name": name, kind: {"value": value}, "span_id": of}


@pytest.mark.parametrize(
    ("assessments", "helpful", "references"),
    [
        ([said("feedback", 0.75), said("expectation", "Paris")], 0.75, ("Paris",)),
        (
            [said("feedback", 0.75, ROOT_ID), said("expectation", "Paris", ROOT_ID)],
            0.75,
            ("Paris",),
        ),
        ([said("feedback", 0.75, STEP), said("expectation", "Paris", STEP)], 0.75, ("Paris",)),
        ([said("feedback", 0.25), said("feedback", 0.75)], 0.75, None),
        ([said("feedback", "yes")], "yes", None),
        ([said("feedback", 0.75, "not exported")], 0.75, None),
        # beside that of a step
        ([said("feedback", 0.75), said("feedback", 0.25, STEP)], 0.75, None),
        ([said("feedback", 0.75, ROOT_ID), said("feedback", 0.25, STEP)], 0.75, None),
        ([said("feedback", 0.75, "Am8+Tonizg0="), said("feedback", 0.25, STEP)], 0.75, None),
        ([said("expectation", "Paris"), said("expectation", "a.pdf", STEP)], None, ("Paris",)),
    ],
)
def test_an_assessment_of_a_trace_is_not_replaced_by_that_of_a_span(
    load: Load, assessments: list[Record], helpful: Any, references: tuple[str, ...] | None
) -> None:
    case = only(load, mlflow(*assessments))
    assert (case.metadata.get("score_helpful"), case.references) == (helpful, references)
