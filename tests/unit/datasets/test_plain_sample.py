"""Samples that someone's code made: as the data would have given them, or refused by name."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.datasets.plain_sample import NoSampleError, plain_sample
from pytest_rageval.model import Sample
from pytest_rageval.scenario.fields import CHECK_FIELDS

SAMPLE = Sample(
    "q1",
    question="Q?",
    answer="",
    contexts=("a", "b"),
    references=("x",),
    reference_groups=(("x",),),
    context_docs=("d", None),
    retrieved_ids=("1",),
    reference_ids={"1": 2},
    doc_name="d",
    metadata={"lang": "de", "level": 1},
    tags=("t",),
    skip="",
)


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_a_sample_that_is_right_is_left_as_it_is() -> None:
    assert plain_sample(SAMPLE) is SAMPLE
    assert plain_sample(Sample("q2")).metadata == {}


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (math.nan, None),
        (-math.inf, None),
        ({"b", "a"}, ["a", "b"]),
        ((1, 2), [1, 2]),
        ({1: math.nan}, {"1": None}),
        (1 + 2j, "(1+2j)"),
        ("\ud800", "\ud800"),
    ],
)
def test_metadata_become_what_json_can_say(given: Any, plain: Any) -> None:
    found = plain_sample(replace(SAMPLE, metadata={"x": given, 7: "seven"}))
    assert found.metadata == {"x": plain, "7": "seven"}
    json.dumps(found.metadata, allow_nan=False)


def test_numpy_scalars_and_arrays_in_metadata() -> None:
    numpy = pytest.importorskip("numpy")
    given = {"nan": numpy.float64("nan"), "half": numpy.float64(0.5), "list": numpy.array([1, 2])}
    found = plain_sample(replace(SAMPLE, metadata=given))
    assert found.metadata == {"nan": None, "half": 0.5, "list": "[1 2]"}


def test_lists_become_tuples() -> None:
    given: dict[str, Any] = {"contexts": ["a"], "context_docs": ["d"], "reference_groups": [["x"]]}
    found = plain_sample(replace(SAMPLE, **given))
    assert (found.contexts, found.context_docs) == (("a",), ("d",))
    assert found.reference_groups == (("x",),)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("id", 5, "id must be text, found 5"),
        ("id", None, "id must be text, found None"),
        ("row", None, "row must be a whole number, found None"),
        ("index", "1", "index must be a whole number, found '1'"),
        ("question", math.nan, "question must be text or None, found nan"),
        ("answer", b"x", "answer must be text or None, found b'x'"),
        ("skip", True, "skip must be text or None, found True"),
        ("contexts", "one", "contexts must be a list of texts or None, found 'one'"),
        ("contexts", ["a", None], "contexts must be a list of texts or None, found ['a', None]"),
        ("context_docs", [1], "context_docs must be a list of texts, some of them None, or None"),
        ("reference_groups", ["x"], "reference_groups must be a list of lists of texts or None"),
        ("reference_ids", {"d": "2"}, "reference_ids must be whole numbers by document or None"),
        ("reference_ids", ["d"], "reference_ids must be whole numbers by document or None"),
        ("answerable", "no", "answerable must be a boolean or None, found 'no'"),
        ("answerable", 0, "answerable must be a boolean or None, found 0"),
        ("confidence", 7, "confidence must be a number from 0 to 1 or None, found 7"),
        ("confidence", "0.5", "confidence must be a number from 0 to 1 or None, found '0.5'"),
        ("confidence", math.nan, "confidence must be a number from 0 to 1 or None, found nan"),
        ("citations", "1", "citations must be a list of positions and ids of documents or None"),
        ("reference_citations", [None], "reference_citations must be a list of positions and ids"),
        ("cited_sentences", ["It is."], "cited_sentences must be a list of pairs, a text and its"),
        ("history", "x", "history must be a list of {role: ..., content: ...} or None, found 'x'"),
        ("history", [{"role": "user"}], "history must be a list of {role: ..., content: ...} or"),
        ("tags", None, "tags must be a list of texts, found None"),
        ("metadata", None, "metadata must be a mapping, found None"),
        ("metadata", {"x": Mute()}, "metadata cannot be saved: RuntimeError('no words')"),
        ("metadata", {"x": 10**5000}, "metadata cannot be saved: ValueError('Exceeds the limit"),
    ],
)
def test_a_field_of_another_type_is_named_with_what_it_holds(
    field: str, value: Any, message: str
) -> None:
    with pytest.raises(NoSampleError) as caught:
        plain_sample(replace(SAMPLE, **{field: value}))
    assert f"whose {message}" in str(caught.value)


@pytest.mark.parametrize("name", CHECK_FIELDS)
@pytest.mark.parametrize("blank", [[], ()])
def test_a_list_of_no_checks_is_none_as_in_data(name: str, blank: Any) -> None:
    given: dict[str, Any] = {name: blank}
    assert plain_sample(replace(SAMPLE, **given)) == SAMPLE


def test_what_answers_bring_along_is_right_in_its_own_type() -> None:
    whole = {
        "answerable": False,
        "confidence": 1,
        "citations": (1, "a.pdf"),
        "cited_sentences": (("It is.", (0, "b")),),
        "reference_citations": (),
        "history": ({"role": "user", "content": ""},),
    }
    sample = replace(SAMPLE, **whole)
    assert plain_sample(sample) is sample


def test_metadata_that_hold_themselves_cannot_be_saved() -> None:
    inner: list[Any] = []
    inner.append(inner)
    with pytest.raises(NoSampleError, match="'q1', whose metadata cannot be saved: Recursion"):
        plain_sample(replace(SAMPLE, metadata={"x": inner}))


@pytest.mark.parametrize(
    ("given", "ids", "placed"),
    [
        ({}, None, None),
        # What a hook gives is kept: hooks after it see ids beside contexts.
        ({"retrieved_ids": ["a", "a", "b"]}, ("a", "a", "b"), None),
        # What data have is left, unless the hook gives other contexts or ids.
        *(
            ({"retrieved_ids": ids, "contexts": contexts, "context_ids": [*"aab"]}, ids, placed)
            for ids, contexts, placed in (
                (("a", "b"), ("x", "y", "z"), ("a", "a", "b")),
                (("a", "b"), ("xy", "z"), None),
                (("b", "a"), ("x", "y", "z"), None),
                (("a",), ("x", "y", "z"), None),
                (None, ("x", "y", "z"), None),
            )
        ),
    ],
)
def test_ids_by_place_go_where_contexts_or_ids_are_others(
    given: dict[str, Any], ids: Any, placed: Any
) -> None:
    found = plain_sample(Sample("s", **given))
    assert (found.retrieved_ids, found.context_ids) == (ids, placed)
    assert plain_sample(found) is found


def test_a_value_whose_text_raises_is_named_by_its_type() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    given: Any = Odd()
    with pytest.raises(NoSampleError, match="found an object of the type 'Odd'"):
        plain_sample(replace(SAMPLE, question=given))
