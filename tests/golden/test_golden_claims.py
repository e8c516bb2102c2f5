"""Claims: what is asked for on tables whose figures RAGChecker's own code gives, too.

Where the two differ, by what METRICS rules: no claim, no reference, no context.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from claim_tables import ALL, Table
from others_data import others_data


def cases() -> list[dict[str, Any]]:
    found = json.loads(others_data("reference/answers.json").read_text("utf-8"))
    return list(found["families"]["claims"]["cases"])


def table_of(case: dict[str, Any]) -> Table:
    return Table(
        case["contexts"],
        case["answer_claims_by_reference"],
        case["reference_claims_by_answer"],
        case["answer_claims_by_context"],
        case["reference_claims_by_context"],
    )


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_claims_of_a_case(case: dict[str, Any]) -> None:
    """All eleven figures of a table that a judge fills."""
    assert set(case["rule"]) == set(ALL)
    found = table_of(case).values()
    assert [found[name] for name in ALL] == [
        value if value is None else pytest.approx(value, abs=1e-12)
        for value in (case["rule"][name] for name in ALL)
    ]


@pytest.mark.full
@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["id"]))
def test_a_metric_alone_has_the_same_figure(case: dict[str, Any]) -> None:
    """With the cells that it wants itself: none comes from another metric."""
    for name in ALL:
        alone = table_of(case).values([name])[name]
        expected = case["rule"][name]
        assert alone == (expected if expected is None else pytest.approx(expected, abs=1e-12)), name
