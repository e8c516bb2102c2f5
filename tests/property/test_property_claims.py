"""G6: each wrong claim of an answer is noise or made up; with the right ones, that is all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from claim_tables import ALL, HISTORY, Table, metric
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.metrics.support.table import (
    ANSWER,
    REFERENCE,
    Cell,
    Level,
    Source,
    Statement,
    SupportTable,
)
from pytest_rageval.metrics.support.table import HISTORY as OF_HISTORY

pytestmark = pytest.mark.full

PARTS = ("claim_precision", "noise_in_relevant", "noise_in_irrelevant", "hallucination")
LEVEL = st.sampled_from(["none", "partial", "full"])


@st.composite
def tables(draw: st.DrawFn) -> SupportTable:
    """Return a table with all cells, of up to four contexts, perhaps with earlier turns."""
    made, wanted, places = (draw(st.integers(low, 4)) for low in (1, 1, 0))
    with_history = draw(st.booleans())
    row = Table(places, "E" * made, "E" * wanted).row
    row = replace(row, history=HISTORY if with_history else "")
    claims = tuple(Statement("claim", at, f"a{at}") for at in range(1, made + 1))
    of_reference = tuple(Statement("reference_claim", at, f"r{at}") for at in range(1, wanted + 1))
    table = SupportTable(row, {"claim": claims, "reference_claim": of_reference})
    sources: list[tuple[tuple[Statement, ...], tuple[Source, ...]]] = [
        (claims, (REFERENCE, *row.evidence)),
        (of_reference, (ANSWER, *row.contexts)),
    ]
    for statements, asked in sources:
        for statement in statements:
            for source in asked:
                level: Level = draw(LEVEL)
                table.cells[statement, source] = Cell(level)
    return table


def scores(table: SupportTable) -> dict[str, float | None]:
    assert all(not _missing(table, name) for name in ALL)
    return {name: metric(name).score_of(table).value for name in ALL}


def _missing(table: SupportTable, name: str) -> list[object]:
    return [key for key in metric(name).measure.wants(table) if key not in table.cells]


@given(tables())
@settings(max_examples=300, deadline=None)
def test_right_noise_and_made_up_are_all_claims(table: SupportTable) -> None:
    found = scores(table)
    assert sum(found[name] or 0.0 for name in PARTS) == pytest.approx(1.0)
    assert None not in [found[name] for name in PARTS]
    # What stands nowhere is right or made up.
    unfounded = 1.0 - (found["claim_faithfulness"] or 0.0)
    assert (found["self_knowledge"] or 0.0) + (found["hallucination"] or 0.0) == pytest.approx(
        unfounded
    )
    assert all(0.0 <= value <= 1.0 for value in found.values() if value is not None)


@given(tables(), st.data())
@settings(max_examples=200, deadline=None)
def test_more_support_is_never_worse(table: SupportTable, data: st.DataObject) -> None:
    """Of the metrics with a better end that read one side alone."""
    key = data.draw(st.sampled_from(sorted(table.cells, key=repr)))
    before = scores(table)
    table.cells[key] = Cell("full")
    after = scores(table)
    assert key[1] != OF_HISTORY or before["context_claim_recall"] == after["context_claim_recall"]
    for name in ("claim_precision", "claim_recall", "claim_f1", "context_claim_recall",
                 "context_claim_precision", "claim_faithfulness"):  # fmt: skip
        assert (after[name] or 0.0) >= (before[name] or 0.0) - 1e-12, name
    assert (after["hallucination"] or 0.0) <= (before["hallucination"] or 0.0) + 1e-12


@given(tables(), st.data())
@settings(max_examples=200, deadline=None)
def test_what_failed_is_never_a_score(table: SupportTable, data: st.DataObject) -> None:
    """A metric fails if a cell that it wants did, and has the same score as before if not."""
    before = scores(table)
    key = data.draw(st.sampled_from(sorted(table.cells, key=repr)))
    del table.cells[key]
    table.failed[key] = ValueError("no reply")
    for name in ALL:
        wanted = key in list(metric(name).measure.wants(table))
        assert (metric(name).failure(table) is not None) == wanted, name
        if not wanted:
            assert metric(name).score_of(table).value == before[name], name
