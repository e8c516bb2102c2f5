"""E21: the cause of a low answer is the one that was made, on real questions and passages.

``python -m tests.simulations causes`` prints the whole table.
"""

from __future__ import annotations

import pytest
from causes import found_causes, samples_in
from others_data import others_data


@pytest.mark.full
@pytest.mark.parametrize("file", ["nq-oracle/first_500.jsonl", "clapnq/dev.jsonl"])
def test_the_cause_that_was_made_is_found(file: str) -> None:
    """E21: short and long references, in 11 ways; never retrieval where a reference stands."""
    found = found_causes(samples_in(others_data(f"data/{file}"), 120))
    assert len(found) == 11
    assert {way: one.share for way, one in found.items() if one.share < 0.9} == {}
    assert sum(one.wrong for one in found.values()) == 0
