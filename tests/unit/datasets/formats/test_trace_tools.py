"""Records of LangSmith, Langfuse and MLflow: what they say of a trace beside its steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import Case, Sample

Load = Callable[..., Dataset]


def langsmith(own: str = "a1", **more: Any) -> dict[str, Any]:
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


def only(load: Load, *records: dict[str, Any]) -> Case:
    """Return the only row of records, a line each."""
    (case,) = load("t.jsonl", "".join(json.dumps(one) + "\n" for one in records)).cases
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
        # the first that is named so
        ({"answer": "Paris", "source_doc": "a.pdf"}, ("Paris",)),
        ({"reference": "Paris", "answer": "It is Paris."}, ("Paris",)),
        ({"answer": "Paris", "reference": "a.pdf"}, ("Paris",)),
        ({"output": "Paris", "id": "7", "label": "correct"}, ("Paris",)),
        # the first, where no name is known
        ({"capital": "Paris", "country": "France"}, ("Paris",)),
        ({"hauptstadt": "Paris", "quelle": "a.pdf"}, ("Paris",)),
        # ... behind others
        ({"source_doc": "a.pdf", "answer": "Paris"}, ("Paris",)),
        ({"question": "Capital?", "documents": ["a", "b"], "output": "Paris"}, ("Paris",)),
        ({"quelle": "a.pdf", "antwort": "Paris"}, ("Paris",)),
        ({"source_doc": "a.pdf", "answer": {"text": "Paris"}}, ("Paris",)),
        ({"reference": None, "answer": "Paris"}, ("Paris",)),
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
    assert isinstance(case, Sample), case
    assert case.references == references


@pytest.mark.parametrize("none", [None, "", float("nan")])
def test_what_a_data_frame_writes_for_none_is_none(load: Load, none: Any) -> None:
    root = langsmith(error=none, parent_run_id=none)
    child = langsmith("b2", parent_run_id="a1", error=none, run_type="llm")
    case = only(load, root, child)
    assert isinstance(case, Sample), case
    assert (case.answer, case.metadata["status"]) == ("Paris.", "ok")
