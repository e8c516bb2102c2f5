"""What a row says of its list of nuggets, whether or not its scenario reads it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.datasets.answer_fields import listed_before, nuggets_digest, nuggets_of
from pytest_rageval.model import Sample

VITAL = {"text": "30 days", "importance": "vital"}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (None, ()),
        (["30 days"], (VITAL,)),
        ('["30 days"]', (VITAL,)),
        ([{"text": "free", "importance": "okay"}], ({"text": "free", "importance": "okay"},)),
        ([{"text": "free", "importance": "high"}], ()),  # what is wrong a run says
    ],
)
def test_nuggets_of_a_column_that_is_not_read(value: Any, found: Any) -> None:
    assert tuple(nuggets_of(Sample("a", metadata={"nuggets": value}))) == found


def test_nuggets_that_are_read() -> None:
    assert nuggets_of(Sample("a", nuggets=(VITAL,))) == (VITAL,)


def test_a_list_is_of_a_question_and_its_references() -> None:
    metadata = {"nuggets_of": nuggets_digest("How long?", ["30 days"])}
    sample = Sample("a", question="How long?", references=("30 days",), metadata=metadata)
    assert not listed_before(sample)
    assert not listed_before(Sample("a", question="Why?"))  # nothing says of what it was made
    assert listed_before(Sample("a", question="How?", references=("30 days",), metadata=metadata))
    assert listed_before(Sample("a", question="How long?", metadata=metadata))
