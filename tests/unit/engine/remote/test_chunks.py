"""E19: chunks are a quarter of a second of work, and half a megabyte at most."""

from __future__ import annotations

import pytest

from pytest_rageval.engine.remote.sending import ChunkSize


@pytest.mark.parametrize(
    ("seconds", "packed", "expected"),
    [
        (0.0016, 1_600, 128),  # 0.1 ms a sample: 2,500 would do, but 8 times 16 is the most
        (0.16, 1_600, 25),  # 10 ms a sample: 0.25 s / 10 ms
        (32.0, 1_600, 1),  # 2 s a sample
        (0.0016, 800_000, 10),  # 50 KB a sample: 500,000 / 50,000
        (0.0, 0, 128),  # a clock too coarse
    ],
)
def test_the_first_chunk_teaches_the_next(seconds: float, packed: int, expected: int) -> None:
    """The first one has 16 samples."""
    size = ChunkSize()
    assert size.next(10_000, 2) == 16
    size.learn(16, seconds, packed)
    assert size.next(10_000, 2) == expected


def test_a_small_rest_teaches_nothing() -> None:
    size = ChunkSize()
    size.learn(7, 70.0, 7)
    assert size.next(1000, 2) == 16


def test_at_the_end_no_worker_has_much_more_than_another() -> None:
    """Of 40 samples, one of 4 workers gets 10; of 9 a quarter of a chunk, 4, and not 3."""
    assert ChunkSize().next(40, 4) == 10
    assert ChunkSize().next(9, 4) == 4
    assert ChunkSize().next(3, 4) == 3


def test_chunks_grow_no_further_than_2048() -> None:
    size = ChunkSize()
    for count in (16, 128, 1024, 2048):
        size.learn(count, count * 1e-6, count)
    assert size.next(100_000, 2) == 2048
