"""[E11] The garbage collector looks less often while an evaluation runs, and then as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_rageval.collector import rare_collections


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_looks_less_often_and_then_as_before() -> None:
    gc.set_threshold(700, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (50_000, 20, 100)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (90_000, 30, 200)])
def test_what_somebody_has_chosen_stays(chosen: tuple[int, int, int]) -> None:
    """Not at all, or even less often."""
    gc.set_threshold(*chosen)
    with rare_collections():
        assert gc.get_threshold() == chosen
