"""What a system under test may return, and what is no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from pydantic import BaseModel

from pytest_rageval.targets.base import MOST_CHARACTERS, Answer, TargetError, answer_of


@dataclass
class Reply:
    answer: str
    contexts: list[Any] = field(default_factory=list)
    tokens: int = 3


class Model(BaseModel):
    response: str
    retrieved_contexts: list[str]


class Found(NamedTuple):
    answer: str
    contexts: list[str]
    tokens: int


class Swapped(NamedTuple):
    contexts: list[str]
    answer: str


class Pair(NamedTuple):
    """Its names say nothing, its places do."""

    said: str
    seen: list[str]


@dataclass
class Document:
    """A passage as retrieval libraries have it."""

    page_content: str
    metadata: Mapping[str, Any]


@pytest.mark.parametrize(
    ("value", "text", "contexts", "extra"),
    [
        ("Paris", "Paris", None, {}),
        (("Paris", ["a", "b"]), "Paris", ("a", "b"), {}),
        (("Paris", None), "Paris", None, {}),
        ({"answer": "Paris"}, "Paris", None, {}),
        ({"response": "Paris", "retrieved_contexts": ["a"]}, "Paris", ("a",), {}),
        ({"pred_answer": "Paris", "contexts": "a"}, "Paris", ("a",), {}),
        ({"answer": 42, "contexts": []}, "42", (), {}),
        ({"answer": "Paris", "t": 1.5, "x": {1: {2}}}, "Paris", None, {"t": 1.5, "x": {"1": [2]}}),
        (Reply("Paris", ["a"]), "Paris", ("a",), {"tokens": 3}),
        (Model(response="Paris", retrieved_contexts=["a"]), "Paris", ("a",), {}),
        (SimpleNamespace(answer="Paris", contexts=["a"], other=1), "Paris", ("a",), {}),
        ({"contexts": ["a"]}, None, ("a",), {}),
        (Answer("Paris", (" a ", " "), ("x.md", None)), "Paris", ("a", ""), {}),
        (Found("Paris", ["a"], 3), "Paris", ("a",), {"tokens": 3}),
        (Swapped(["a"], "Paris"), "Paris", ("a",), {}),
        (Pair("Paris", ["a"]), "Paris", ("a",), {}),
    ],
)
def test_an_answer_has_many_forms(
    value: object, text: str | None, contexts: tuple[str, ...] | None, extra: dict[str, Any]
) -> None:
    """[A21]"""
    found = answer_of(value)
    assert (found.text, found.contexts, found.extra) == (text, contexts, extra)


def test_contexts_name_their_documents_and_ids() -> None:
    """[A21] As texts, mappings or objects; from their metadata, too."""
    contexts = [
        "bare",
        {"text": "one", "doc_name": "a.md", "id": 1},
        Document("two", {"source": "b.md"}),
        {"content": "three", "metadata": {"file_name": "c.md"}},
    ]
    found = answer_of({"answer": "x", "contexts": contexts})
    assert found.contexts == ("bare", "one", "two", "three")
    assert found.context_docs == (None, "a.md", "b.md", "c.md")
    assert found.retrieved_ids is None  # not all of them say theirs
    found = answer_of({"answer": "x", "contexts": [{"text": "a", "id": 7}, {"text": "b", "id": 8}]})
    assert found.retrieved_ids == ("7", "8")


@pytest.mark.parametrize(
    ("context", "read"),
    [
        ({"text": "a", "content": "b", "id": "1", "doc_id": "2"}, ("a", None, "1")),
        ({"text": None, "content": "b", "id": None, "doc_id": "2"}, ("b", None, "2")),
        ({"text": "", "id": "1", "source": "s"}, ("", "s", "1")),
        ({"text": " ", "document": "s.pdf", "id": "1"}, ("", None, "1")),  # the document's name
        ({"text": "a", "source": "s", "title": "", "id": 0}, ("a", "s", "0")),
        ({"text": "a", "id": "1", "metadata": {"source": 0, "title": "T"}}, ("a", "0", "1")),
        ({"text": "", "chunk": 3, "id": "1"}, ("", None, "1")),  # its number
        ({"text": "a", "id": ""}, ("a", None, "")),
        ({"text": "", "chunk": "c7", "chunk_id": "c7"}, ("", None, "c7")),  # its name
        ({"text": "", "chunk": "c7", "content": "b", "id": "1"}, ("b", None, "1")),
        ({"text": "a", "id": "1", "source": "", "metadata": {"source": "s"}}, ("a", "s", "1")),
        (
            {"text": "a", "id": "1", "source": "", "title": "T", "metadata": {"source": "s"}},
            ("a", "s", "1"),
        ),
        ({"text": "a", "id": "1", "doc_name": "", "source": "s"}, ("a", "s", "1")),
        ({"text": "a", "id": "1", "meta": {"source": "", "title": "s"}}, ("a", "s", "1")),
        ({"content": "\n", "contents": "b", "id": "1"}, ("b", None, "1")),
        ({"text": "a", "id": "", "doc_id": "2"}, ("a", None, "2")),
        ({"text": "a", "id": " ", "doc_id": None, "chunk_id": 7}, ("a", None, "7")),
        ({"text": "", "content": 3, "page_content": {}, "id": "1"}, ("", None, "1")),
    ],
)
def test_a_blank_part_of_a_context_is_no_part(context: Any, read: tuple[Any, ...]) -> None:
    """The first name of a text or an id that is filled counts; 'chunk' may be a name."""
    for one in (context, SimpleNamespace(**context)):
        found = answer_of({"answer": "x", "contexts": ["other", one]})
        docs = found.context_docs or (None, None)
        assert found.contexts is not None
        assert (found.contexts[1], docs[1]) == read[:2]
        found = answer_of({"answer": "x", "contexts": [one]})
        assert found.retrieved_ids == (read[2],)


def test_a_name_that_has_null_leaves_the_place_to_another_but_for_the_answer() -> None:
    found = answer_of({"answer": "x", "contexts": None, "retrieved_contexts": ["a"]})
    assert found.contexts == ("a",)
    found = answer_of({"answer": "x", "retrieved_ids": None, "retrieved_context_ids": ["7"]})
    assert found.retrieved_ids == ("7",)
    with pytest.raises(TargetError, match="returned None as its answer"):
        answer_of({"answer": None, "response": "x"})


def test_contexts_are_read_as_those_of_a_data_set() -> None:
    """Blank ones are left out later, and so are ids that are there already."""
    value = {
        "answer": "x",
        "contexts": [" a\n", "", "b"],
        "context_docs": ["1.md", "2.md", None],
        "retrieved_ids": [3, "1", "3"],
    }
    found = answer_of(value)
    assert found.contexts == ("a", "", "b")
    assert found.context_docs == ("1.md", "2.md", None)
    assert found.retrieved_ids == ("3", "1", "3")
    assert answer_of({"answer": "x", "contexts": []}).context_docs == ()


class NAType:
    """As pandas'."""

    def __repr__(self) -> str:
        return "<NA>"


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "returned nothing (None); expected a text, a pair"),
        ({"contexts": None}, "returned neither an answer nor contexts; [] says"),
        ({"retrieved_ids": None, "n": 1}, "returned neither an answer nor contexts"),
        (Answer(), "returned neither an answer nor contexts"),
        (3, "returned 3 (int); expected"),
        (["Paris"], "returned ['Paris'] (list); expected"),
        (b"Paris", "returned b'Paris' (bytes); expected"),
        (Odd(), "returned <odd> (Odd); expected"),
        ({"text": "Paris", "n": 1}, "returned a mapping with 'text', 'n'; expected"),
        (
            {"reply": "a"},
            "'contexts'; of an address, name its key: target: {url: ..., answer: KEY}",
        ),
        ({}, "returned a mapping with no keys; expected"),
        ({"error": "quota exceeded"}, "returned an error: quota exceeded"),
        ({"error": {"code": 500}, "detail": "x"}, "returned an error: {'code': 500}"),
        (SimpleNamespace(error="quota exceeded"), "returned an error: quota exceeded"),
        ({"error": None, "detail": "x"}, "returned a mapping with 'error', 'detail'; expected"),
        ({"answer": None}, "returned None as its answer"),
        # As a data frame has what is missing.
        ({"answer": float("nan"), "contexts": ["x"]}, "returned nan as its answer"),
        ({"answer": np.float32("nan")}, "returned nan as its answer"),
        ({"answer": NAType()}, "returned <NA> as its answer"),
        ((np.datetime64("NaT", "s"), ["x"]), "returned NaT as its answer"),
        ({"answer": ["a"]}, "its answer is ['a'] (list), expected a text"),
        ({"answer": True}, "its answer is True (bool), expected a text"),
        ({"answer": "a", "contexts": 3}, "its contexts are 3 (int), expected a list"),
        (
            {"answer": "a", "contexts": ["x", {}]},
            "its context 2 is a dict without a text;",
        ),
        (
            {"answer": "a", "contexts": [{"text": 3}]},
            "its context 1 is a dict without a text; expected a text, or one under 'text', "
            "'page_content', 'content', 'chunk', 'document' or 'contents'",
        ),
        ({"answer": "a", "contexts": [None]}, "its context 1 is a NoneType without a text"),
        ({"answer": "a", "retrieved_ids": "d1"}, "its retrieved_ids are 'd1', expected a list"),
        (
            {"answer": "a", "contexts": ["x"], "context_docs": ["1", "2"]},
            "its context_docs has 2 entries, expected 1: one for each context",
        ),
        (
            {"answer": "a", "contexts": ["x", "y"], "context_docs": ["1"]},
            "its context_docs has 1 entry, expected 2: one for each context",
        ),
        (
            {"answer": "a", "contexts": ["x", "y"], "context_docs": 3},
            "its context_docs is 3 (int), expected a list of 2: one for each context",
        ),
        ("x" * (MOST_CHARACTERS + 1), "an answer of 1,000,001 characters, at most 1,000,000"),
        (("a", ["x" * (MOST_CHARACTERS + 1)]), "returned a context of 1,000,001 characters"),
        ({"answer": "a", "more": "x" * MOST_CHARACTERS}, "1,000,000 characters of other fields"),
    ],
)
def test_what_is_no_answer_says_what_it_is(value: object, message: str) -> None:
    """[A21]"""
    with pytest.raises(TargetError) as caught:
        answer_of(value)
    assert message in str(caught.value)


@pytest.mark.parametrize("depth", [65, 500, 3000])
def test_what_is_nested_too_deep_is_no_answer(depth: int) -> None:
    """X3: wherever it is, the reply is unusable, in words; a number may be too long to write."""
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    for value in (deep, {"answer": "a", "more": deep}, ("a", deep), Answer("a", extra={"m": deep})):
        with pytest.raises(TargetError, match="returned a value nested more than 64 deep"):
            answer_of(value)
    with pytest.raises(TargetError, match="a whole number of 4,300 digits or more"):
        answer_of({"answer": 10**5000})
