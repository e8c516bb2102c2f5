"""Places for fields of a row in what is sent: what they become, and which rows cannot be sent."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.model import Sample
from pytest_rageval.targets.base import TargetError
from pytest_rageval.targets.templates import Template

SAMPLE = Sample(
    "q1",
    question="Where is {it}?",
    contexts=("a", "b"),
    references=("Paris",),
    reference_ids={"d1": 2},
    metadata={"lang": "en", "n": 3, "deep": {"er": "x"}, "a.b": "dotted"},
)


def filled(value: Any, sample: Sample = SAMPLE, **variables: str) -> Any:
    return Template(value).fill(sample, variables)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("{question}", "Where is {it}?"),
        ("{query}", "Where is {it}?"),
        ("{contexts}", ["a", "b"]),
        ("{reference_ids}", {"d1": 2}),
        ("{metadata.n}", 3),
        ("{metadata.deep.er}", "x"),
        ("{metadata.a.b}", "dotted"),
        ("{doc_name}", None),
        ("{metadata.none}", None),
        ({"a": ["{id}", 1, None, True]}, {"a": ["q1", 1, None, True]}),
        # A longer text takes fields as text, as they are, and not looked into again.
        ("in {metadata.lang}: {question}", "in en: Where is {it}?"),
        ("{contexts}\n{id}", "a\n\nb\nq1"),
        ("n={metadata.n} {reference_ids}", 'n=3 {"d1": 2}'),
        ("{{question}} {id}", "{question} q1"),
        ('{"a": {"b": 1}} {id}', '{"a": {"b": 1}} q1'),
        ("{ question }", "{ question }"),
    ],
)
def test_a_text_that_is_one_place_becomes_the_value_and_a_longer_one_text(
    value: Any, found: Any
) -> None:
    """[A21] Lists stay lists, numbers numbers; what the row lacks is null."""
    assert filled(value) == found


def test_variables_stand_for_the_environment() -> None:
    """[A21] And a row cannot name one."""
    sample = Sample("s", question="${TOKEN}")
    assert filled("Bearer ${TOKEN} {question}", sample, TOKEN="t") == "Bearer t ${TOKEN}"
    assert Template({"a": "${ONE}", "b": ["x${TWO}"]}).variables == {"ONE", "TWO"}


@pytest.mark.parametrize("place", ["{question}", "ask {question}"])
def test_a_row_without_a_question_is_not_asked(place: str) -> None:
    with pytest.raises(TargetError, match="not asked: the row has no question"):
        filled(place, Sample("s"))


def test_a_row_without_what_a_text_needs_is_not_asked() -> None:
    with pytest.raises(TargetError, match=r"not asked: the row has no metadata\.lang"):
        filled("in {metadata.lang}", Sample("s", question="q"))


def test_a_place_that_is_no_field_is_refused() -> None:
    """[E12] With the nearest field, and the way to a column of one's own."""
    with pytest.raises(TargetError) as caught:
        Template("{qestion}")
    message = str(caught.value)
    assert message.startswith("unknown field 'qestion'. Did you mean 'question'? Known: answer, ")
    assert "a column of your own is {metadata.qestion}" in message


def test_the_fields_that_are_shown_are_known() -> None:
    assert Template({"a": "{query}", "b": "x {metadata.lang} {{id}}"}).fields == {
        "question",
        "metadata.lang",
    }


def test_a_history_is_a_list_alone_and_lines_in_a_text() -> None:
    """[G3] A first turn has none, which is no reason not to ask."""
    message = {"role": "user", "content": "Who?"}
    later = Sample("q2", question="When?", history=(message,))
    assert filled({"messages": "{history}"}, later) == {"messages": [message]}
    assert filled("{history}\n{question}", later) == "user: Who?\nWhen?"
    assert filled(["{history}", "<{history}>"]) == [[], "<>"]
