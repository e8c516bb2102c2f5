"""Which samples depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.model import SampleResult
from pytest_rageval.stats.weights import count_groups, field_value, group_numbers, ungrouped


def row(doc: str | None = None, **metadata: Any) -> SampleResult:
    return SampleResult("s", 0, doc_name=doc, metadata=metadata)


@pytest.mark.parametrize(
    ("field", "numbers", "without"),
    [
        # The first and the third share a document; the rows without one are groups of their own.
        ("doc_name", [0, 1, 0, 2, 3], 2),
        # 1.0 and "1" are the same text; an empty text is a value.
        ("talk", [0, 0, 1, 1, 2], 1),
        ("nowhere", [0, 1, 2, 3, 4], 5),
    ],
)
def test_samples_with_the_same_text_are_one_group(
    info: Callable[..., Any], field: str, numbers: list[int], without: int
) -> None:
    samples = [
        row("a", talk=1.0),
        row("b", talk="1 "),
        row(" a", talk=""),
        row(talk=""),
        row(),
    ]
    grouped = info(group_by=field)
    assert group_numbers(grouped, samples) == numbers
    assert count_groups(grouped, samples) == len(set(numbers))
    assert ungrouped(field, samples) == without


def test_without_a_field_there_are_no_groups(info: Callable[..., Any]) -> None:
    assert group_numbers(info(), [row("a")]) is None
    assert count_groups(info(), [row("a")]) is None


def test_the_document_is_a_field_like_any(info: Callable[..., Any]) -> None:
    assert field_value(row("a", doc_name="other", level=2), "doc_name") == "a"
    assert field_value(row("a", level=2), "level") == 2
    assert field_value(row("a"), "level") is None
