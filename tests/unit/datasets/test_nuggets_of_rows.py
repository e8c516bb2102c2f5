"""What a row says of its list of nuggets, whether or not its scenario reads it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.datasets.answer_fields import has_stale_nuggets, nuggets_digest, row_nuggets
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
    assert tuple(row_nuggets(Sample("a", metadata={"nuggets": value}))) == found


def test_nuggets_that_are_read() -> None:
    assert row_nuggets(Sample("a", nuggets=(VITAL,))) == (VITAL,)


def test_a_list_is_of_a_question_and_its_references() -> None:
    metadata = {"nuggets_of": nuggets_digest("How long?", ["30 days"])}
    sample = Sample("a", question="How long?", references=("30 days",), metadata=metadata)
    assert not has_stale_nuggets(sample)
    assert not has_stale_nuggets(Sample("a", question="Why?"))  # nothing says of what it was made
    assert has_stale_nuggets(
        Sample("a", question="How?", references=("30 days",), metadata=metadata)
    )
    assert has_stale_nuggets(Sample("a", question="How long?", metadata=metadata))
