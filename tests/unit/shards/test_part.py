"""[E17] Which part of a run a shard is."""

from __future__ import annotations

import pytest

from pytest_rageval.shards.part import Part


@pytest.mark.parametrize(
    "text",
    ["", "2", "0/3", "4/3", "-1/3", "1/0", "1/-2", "a/b", "1/2/3", "1.0/2", "١/٢", "1/1000000000"],
)
def test_what_is_no_part_is_refused(text: str) -> None:
    """Arabic digits too: a shard's name must be the same everywhere."""
    with pytest.raises(ValueError, match="no part of a run"):
        Part.parse(text)


def test_blanks_do_not_matter() -> None:
    assert Part.parse(" 2 / 5 ") == Part(2, 5)


@pytest.mark.parametrize("of", [1, 2, 3, 7, 61])
def test_each_position_is_in_one_part(of: int) -> None:
    parts = [Part(index, of) for index in range(1, of + 1)]
    assert all(sum(part.takes(at) for part in parts) == 1 for at in range(100))


def test_parts_sort_by_number() -> None:
    assert sorted([Part(10, 12), Part(9, 12)]) == [Part(9, 12), Part(10, 12)]
