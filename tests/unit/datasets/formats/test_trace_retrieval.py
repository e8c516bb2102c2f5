"""What a step of retrieval found: documents, nothing, or what nobody recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample

Load = Callable[..., Dataset]

SECOND = 1_800_000_000
KIND = "openinference.span.kind"


def span(own: str, parent: str | None, begins: float = 0, **attributes: Any) -> dict[str, Any]:
    """Return a span; ``__`` in attributes' names are dots."""
    return {
        "name": own,
        "context": {"trace_id": "t1", "span_id": own},
        "parent_id": parent,
        "start_time": SECOND + begins,
        "end_time": SECOND + 9,
        "attributes": {name.replace("__", "."): value for name, value in attributes.items()},
    }


def phoenix(own: str = "search", begins: float = 1, kind: str = "RETRIEVER", **more: Any) -> Any:
    parent = more.pop("parent", "root")
    return span(own, parent, begins, **{KIND: kind, "input.value": "How long?", **more})


def numbered(*documents: dict[str, str], kind: str = "retrieval.documents") -> dict[str, str]:
    return {
        f"{kind}.{at}.document.{part}": value
        for at, document in enumerate(documents)
        for part, value in document.items()
    }


ROOT = span("root", None, **{KIND: "CHAIN", "input.value": "How long?", "output.value": "A day."})
OTHER = {**ROOT, "context": {"trace_id": "t2", "span_id": "other"}}
ONE = {"id": "d1", "content": "A day."}
HIDDEN = [{"id": "d1", "score": "0.9"}, {"id": "d2", "score": "0.5"}]


@pytest.fixture
def read(load: Load) -> Callable[..., Sample]:
    """Return a function of the steps below a root; another trace of the file stays a row."""

    def first(*steps: dict[str, Any], **keys: Any) -> Sample:
        lines = "".join(json.dumps(one) + "\n" for one in [ROOT, *steps, OTHER])
        case, other = load("spans.jsonl", lines, **keys).cases
        assert isinstance(other, Sample)
        assert isinstance(case, Sample), case
        return case

    return first


Read = Callable[..., Sample]


MASKED = [{"page_content": "[REDACTED]", "metadata": {"source": "a.pdf"}}]


def _genai(**more: Any) -> dict[str, Any]:
    return span("search", "root", 1, gen_ai__operation__name="retrieval", **more)


def _langfuse(**more: Any) -> dict[str, Any]:
    return span("search", "root", 1, langfuse__observation__type="retriever", **more)


@pytest.mark.parametrize(
    ("step", "setting"),
    [
        (phoenix(), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value="__REDACTED__"), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value="[REDACTED]"), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value="***"), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value=""), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value="{}"), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value='["[REDACTED]"]'), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value='{"documents": ["***"]}'), "OPENINFERENCE_HIDE_OUTPUTS"),
        (phoenix(output__value=json.dumps(MASKED)), "OPENINFERENCE_HIDE_OUTPUTS"),
        (_genai(), "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        (_langfuse(), "capture_output"),
        (_langfuse(langfuse__observation__output="null"), "capture_output"),
    ],
    ids=[
        "none",
        "redacted",
        "masked",
        "stars",
        "empty",
        "no keys",
        "list",
        "object",
        "passage",
        "genai",
        "langfuse",
        "null",
    ],
)
def test_a_search_whose_output_was_not_recorded_is_unknown(
    read: Read, step: dict[str, Any], setting: str
) -> None:
    """A30: it is no search that found nothing, and no metric may take it for one."""
    case = read(step)
    reason = case.metadata["unrecorded_search"]
    assert "trace t1: what its step 'search' found is not recorded" in reason
    assert setting in reason
    assert "on_invalid: skip" in reason


@pytest.mark.parametrize(("metric", "invalid"), [("quoted_spans_alignment", 1), ("em", 0)])
def test_it_is_invalid_where_a_metric_needs_what_was_found(
    tmp_path: Path, metric: str, invalid: int
) -> None:
    """The answers of such traces can be judged; what they found is not left out in silence."""
    found = phoenix("again", parent="other", **numbered(ONE))
    found["context"]["trace_id"] = "t2"
    spans = tmp_path / "spans.jsonl"
    spans.write_text("".join(json.dumps(one) + "\n" for one in [ROOT, phoenix(), OTHER, found]))
    dataset = {"path": "spans.jsonl", "key_map": {"references": "trace_name"}}
    scenario = {"name": "t", "dataset": dataset, "metrics": [metric]}
    assert evaluate(scenario, folder=tmp_path).counts.invalid == invalid


def test_where_no_search_was_recorded_the_setting_is_named(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    spans.write_text("".join(json.dumps(one) + "\n" for one in [ROOT, phoenix()]))
    scenario = {"name": "t", "dataset": "spans.jsonl", "metrics": ["quoted_spans_alignment"]}
    with pytest.raises(ScenarioError, match="OPENINFERENCE_HIDE_OUTPUTS"):
        evaluate(scenario, folder=tmp_path)


def test_a_recorded_list_of_no_documents_found_nothing(read: Read) -> None:
    case = read(_genai(gen_ai__retrieval__documents="[]"))
    assert (case.contexts, case.retrieved_ids) == ((), ())


@pytest.mark.parametrize(
    "steps",
    [
        # the outer or the inner one of two inside each other
        [phoenix("outer", 1, **numbered(ONE)), phoenix("inner", 2, parent="outer")],
        [phoenix("outer", 1), phoenix("inner", 2, parent="outer", **numbered(ONE))],
        # a reranker has what both left
        [
            phoenix("search", 1),
            phoenix("rerank", 2, "RERANKER", **numbered(ONE, kind="reranker.output_documents")),
        ],
    ],
    ids=["outer", "inner", "reranker"],
)
def test_what_another_step_recorded_of_the_same_search_counts(
    read: Read, steps: list[dict[str, Any]]
) -> None:
    case = read(*steps)
    assert case.retrieved_ids == ("d1",)


@pytest.mark.parametrize(
    "steps",
    [
        [phoenix("dense", 1, **numbered(ONE)), phoenix("sparse", 2)],
        [phoenix("search", 1, **numbered(ONE)), phoenix("sparse", 2, "RERANKER")],
    ],
    ids=["a second search", "a reranker"],
)
def test_a_step_beside_known_ones_is_unknown_too(read: Read, steps: list[dict[str, Any]]) -> None:
    """Half of what a hybrid search found would be taken for all of it."""
    case = read(*steps)
    assert "what its step 'sparse' found is not recorded" in case.metadata["unrecorded_search"]


def test_a_failed_search_beside_one_that_worked_has_no_output(read: Read) -> None:
    failed = {**phoenix("first", 1), "status": {"status_code": "ERROR", "description": "down"}}
    case = read(failed, phoenix("second", 2, **numbered(ONE)))
    assert case.retrieved_ids == ("d1",)


def test_what_worked_inside_a_failed_search_counts(read: Read) -> None:
    """A wrapper that failed may have handed on what the one before it found, or a part of it."""
    failed = {**phoenix("outer", 1, **numbered(HIDDEN[0])), "status": {"status_code": "ERROR"}}
    two = {"id": "d2", "content": "No fee."}
    case = read(failed, phoenix("inner", 2, parent="outer", **numbered(two)))
    assert (case.contexts, case.retrieved_ids) == (("No fee.",), ("d2",))


def test_contexts_that_a_key_map_names_need_no_recorded_search(read: Read) -> None:
    case = read(phoenix(), key_map={"contexts": "trace_name"})
    assert case.contexts == ("root",)


@pytest.mark.parametrize(
    "step",
    [
        phoenix(**numbered(*HIDDEN)),
        phoenix(output__value=json.dumps({"matches": HIDDEN})),
        _genai(gen_ai__retrieval__documents=json.dumps(HIDDEN)),
        phoenix(**numbered(*({**one, "content": "__REDACTED__"} for one in HIDDEN))),
        phoenix(
            output__value=json.dumps({"documents": [["[REDACTED]", "***"]], "ids": [["d1", "d2"]]})
        ),
    ],
    ids=["numbered", "output", "genai", "redacted", "chroma"],
)
def test_ids_are_read_where_the_texts_are_hidden(read: Read, step: dict[str, Any]) -> None:
    """A30: the contexts are unknown, not empty texts."""
    case = read(step)
    assert (case.contexts, case.retrieved_ids) == (None, ("d1", "d2"))


def test_contexts_are_unknown_where_one_text_is_hidden(read: Read) -> None:
    case = read(phoenix(**numbered(ONE, HIDDEN[1])))
    assert (case.contexts, case.retrieved_ids) == (None, ("d1", "d2"))


def test_texts_of_html_are_passages(read: Read) -> None:
    """They begin as Python's repr of an object does."""
    passages = ['<p class="a">A fee.</p>', "<td (b)>\n<Node d1>A day.</td>", "<B (1)> and more"]
    case = read(phoenix(output__value=json.dumps(passages)))
    assert case.contexts == tuple(passages)


@pytest.mark.parametrize("output", [["A fee.", "[REDACTED]"], {"documents": ["***", "A fee."]}])
def test_a_hidden_text_of_a_list_keeps_its_place(read: Read, output: Any) -> None:
    """The contexts are unknown; those of another search alone are not all of them."""
    case = read(phoenix(output__value=json.dumps(output)), phoenix("again", 2, **numbered(ONE)))
    assert case.contexts is None


@pytest.mark.parametrize(
    ("output", "contexts"),
    [
        ([[{"text": "A"}, 0.9], [{"text": "B"}, 0.5]], ("A", "B")),
        ([[{"text": "A"}, 0.9]], ("A",)),
        ([["A", 0.9], ["B", 0.5]], ("A", "B")),
        ([["A", "B"]], ("A", "B")),
        ({"documents": [["A", "B"]]}, ("A", "B")),
        # of several queries, it is not certain what the model was given
        ([["A", "B"], ["C", "D"]], None),
        ([[{"text": "A"}, {"text": "B"}], [{"text": "C"}]], None),
        ({"documents": [["A", "B"], ["C"]], "ids": [["1", "2"], ["3"]]}, None),
    ],
)
def test_lists_in_a_list_are_documents_with_scores_or_of_several_queries(
    read: Read, output: Any, contexts: tuple[str, ...] | None
) -> None:
    case = read(phoenix(output__value=json.dumps(output)))
    assert case.contexts == contexts


def test_texts_that_only_the_output_has_are_read(read: Read) -> None:
    output = json.dumps([{"id": "d1", "text": "A day."}, {"id": "d2", "text": "No fee."}])
    case = read(phoenix(**numbered(*HIDDEN), output__value=output))
    assert (case.contexts, case.retrieved_ids) == (("A day.", "No fee."), ("d1", "d2"))


def test_a_document_without_an_id_beside_others_is_named(load: Load) -> None:
    """A30: ids of some of the documents are no list of what was found."""
    some = phoenix(**numbered(ONE, {"content": "No fee."}))
    none = phoenix("find", **numbered({"content": "A"}, {"content": "B"}))
    none["context"], none["parent_id"] = {"trace_id": "t2", "span_id": "find"}, "other"
    lines = "".join(json.dumps(one) + "\n" for one in (ROOT, some, OTHER, none))
    found = load("spans.jsonl", lines)
    first = found.cases[0]
    assert isinstance(first, Sample), first
    assert (first.contexts, first.retrieved_ids) == (("A day.", "No fee."), None)
    assert found.warnings == (
        "spans.jsonl:1: 1 trace in which some documents have no id, first t1 (document 2): its "
        "retrieved_ids cannot be read; export an id with each document",
    )


@pytest.mark.parametrize(
    ("output", "found"),
    [
        *(([], ()), ([[]], ()), ({"documents": []}, ()), ({"documents": None}, ())),
        ({"matches": [], "count": 0}, ()),
        ({"documents": None, "took_ms": 12, "cached": True}, ()),
        *(({"count": 3}, None), ({"documents": None, "num_results": 3}, None)),
        # Without text and id they are no documents.
        ([{"role": "tool", "content": "A day.", "id": "m1"}], None),
        ([{"title": "Refunds", "url": "https://x"}], None),
        ([["<Node d1>"]], None),
        (["<lib.schema.Node object at 0x7f3a>", "<Document(id='d1', text='A day.')>"], None),
        *(({"documents": ["[REDACTED]"]}, None), (["[REDACTED]", "***"], None)),
    ],
)
def test_an_output_without_documents_found_nothing_or_is_not_known(
    read: Read, output: Any, found: tuple[()] | None
) -> None:
    case = read(phoenix(output__value=json.dumps(output)))
    assert (case.contexts, case.retrieved_ids) == (found, found)


def test_a_search_that_nobody_recorded_is_told_of_in_any_case(load: Load) -> None:
    """A metric of one's own may take the whole sample, and look at no contexts as at none found."""
    lines = "".join(json.dumps(one) + "\n" for one in [ROOT, phoenix()])
    (warning,) = load("spans.jsonl", lines).warnings
    assert "1 trace in which it is not recorded what a search found: trace t1" in warning
