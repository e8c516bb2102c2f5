"""[E17] Values from a file are of the types that their fields declare, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest

from pytest_rageval.results.typed import check_of


class Pair(NamedTuple):
    name: str
    size: int


@dataclass
class Whole:
    pairs: tuple[Pair, ...]
    ends: tuple[float, float]
    said: Mapping[str, Any]
    mood: Literal["good", "bad"] | None = None


GOOD = Whole((Pair("a", 1),), (0.0, float("inf")), {"x": object()}, "good")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (int, [0, 10**30], [True, 1.0, "1", None]),
        (float, [0, 1.5, -1e9], [True, "1", float("nan"), float("inf"), 10**400, None]),
        (bool, [True], [1, None]),
        (str | None, ["", None, "\ud800"], [1, b""]),
        (Literal["a", "b"], ["a"], ["c", None, [], 1]),
        (Sequence[str], [[], ["a"], ("a",)], ["a", [1], None, {"a": 1}]),
        (Mapping[str, float | None], [{}, {"a": None, "b": 1}], [{"a": "x"}, {1: 1.0}, [], None]),
        (tuple[float, float], [[0, float("-inf")]], [[0], [0, 1, 2], [0, "1"], [0, float("nan")]]),
        (Whole, [GOOD], [None, Whole((), (0, 1), {1: 2}), Whole((("a", 1),), (0, 1), {})]),  # type: ignore[arg-type,dict-item]
        (Whole, [Whole((), (0, 1), {})], [Whole((Pair("a", "1"),), (0, 1), {})]),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_a_type(kind: Any, good: list[Any], bad: list[Any]) -> None:
    check = check_of(kind)
    assert [value for value in good if not check(value)] == []
    assert [value for value in bad if check(value)] == []
