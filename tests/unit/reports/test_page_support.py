"""The tables that the page of a run holds: those of the worst answers, as far as there is room."""

from __future__ import annotations

import re
from typing import Any

import pytest
from page_data import words_of
from support_rows import CONTEXTS, TABLE, answered

from pytest_rageval.metrics.support.table import Cell, Statement, SupportRow, SupportTable, context
from pytest_rageval.model import (
    MetricColumn,
    RunInfo,
    Sample,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.page import support
from pytest_rageval.reports.page.assemble import asset
from pytest_rageval.reports.page.data import page_data
from pytest_rageval.stats.summary import summarize_scenario

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


def ran(samples: list[SampleResult]) -> ScenarioResult:
    n = len(samples)
    columns = (MetricColumn("f1"), MetricColumn("noise", higher_is_better=False))
    return summarize_scenario(
        ScenarioInfo("s", "s.yaml", "s", columns, total=n, selected=n), samples, complete=True
    )


def scored(at: int, f1: float, noise: float, **more: Any) -> SampleResult:
    return answered(
        at, scores={"f1": f1, "noise": noise}, weighted_score=(f1 + 1 - noise) / 2, **more
    )


def test_the_worst_by_any_score_have_their_tables_when_not_all_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Room for two: the lowest weighted score is s2, the lowest f1 s0, the highest noise s2."""
    samples = [scored(0, 0.1, 0.0), scored(1, 0.5, 0.5), scored(2, 0.2, 0.9), scored(3, 1.0, 0.0)]
    monkeypatch.setattr(support, "_FIRST", 1)
    size = support._size(support.table_of(samples[0]))
    monkeypatch.setattr(support, "TABLE_BYTES", 2 * size)
    found = support.support_data(ran(samples))
    assert [at for at, _ in found["tables"]] == [0, 2]
    assert found["left"] == [1, 3]


def test_a_table_that_does_not_fit_keeps_no_smaller_one_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of the worst answer takes more than all there is; the next looks for room."""
    large = {**TABLE, "statements": TABLE["statements"] * 9}
    samples = [scored(0, 0.0, 1.0, details={"support": large}), scored(1, 1.0, 0.0)]
    monkeypatch.setattr(support, "TABLE_BYTES", support._size(support.table_of(samples[1])))
    found = support.support_data(ran(samples))
    assert ([at for at, _ in found["tables"]], found["left"]) == ([1], [0])


def test_pages_of_several_runs_share_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [scored(0, 0.1, 0.0), scored(1, 0.5, 0.5)]
    monkeypatch.setattr(support, "TABLE_BYTES", 2 * support._size(support.table_of(samples[0])))
    assert len(support.support_data(ran(samples))["tables"]) == 2
    assert len(support.support_data(ran(samples), share=2)["tables"]) == 1


def test_contexts_are_there_in_full_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The texts of a page are cut to few characters where samples are many; these are not."""
    long_context = "x" * 5_000
    samples = [scored(0, 0.1, 0.0), scored(1, 0.2, 0.0, contexts=(long_context, *CONTEXTS[1:]))]
    (_, first), (_, second) = support.support_data(ran(samples))["tables"]
    assert first["contexts"] == {str(at): text for at, text in enumerate(CONTEXTS, 1)}
    assert second["contexts"]["1"] == ["x" * 4_000, 5_000]
    monkeypatch.setattr(support, "SOURCE_BYTES", support._size(first["contexts"]))
    (_, first), (_, second) = support.support_data(ran(samples))["tables"]
    assert "contexts" in first
    assert "contexts" not in second
    longest_first = [
        scored(0, 0.1, 0.0, contexts=(long_context, *CONTEXTS[1:])),
        scored(1, 0.2, 0.0),
    ]
    (_, first), (_, second) = support.support_data(ran(longest_first))["tables"]
    assert ("contexts" in first, "contexts" in second) == (False, True)


def test_a_table_is_no_text_of_details_and_other_details_of_that_name_are() -> None:
    other = {"support": {"statements": "a metric of one's own"}}
    data = page_data(ran([answered(0), answered(1, details=other)]), RUN, [])
    assert [at for at, _ in data["support"]["tables"]] == [0]
    assert data["support"]["left"] == []
    assert [
        (at, data["remark_names"][name]) for at, kind, name, _ in data["remarks"] if kind == 2
    ] == [(1, "support")]


@pytest.mark.parametrize(
    "broken",
    [
        {**TABLE, "statements": [{"text": "no number"}]},
        {**TABLE, "sources": ["contexts"]},
        {**TABLE, "cells": [[["full"]]]},
        {**TABLE, "cells": [7]},
    ],
)
def test_a_table_that_is_none_is_left_to_the_results(broken: Any) -> None:
    found = support.support_data(ran([answered(0, broken), answered(1)]))
    assert [at for at, _ in found["tables"]] == [1]
    assert found["left"] == [0]


def test_the_details_of_a_table_name_the_documents_that_are_known() -> None:
    sample = Sample("a", contexts=("x", "y"), context_docs=("x.pdf", None))
    table = SupportTable(SupportRow(sample, "An answer."))
    said = Statement("claim", 1, "An answer.")
    table.statements["claim"] = (said,)
    for places in ((1,), (2,), (1, 2)):
        table.cells[said, context(*places)] = Cell("full")
    assert table.details()["sources"] == [
        {"kind": "contexts", "index": [1], "docs": ["x.pdf"]},
        {"kind": "contexts", "index": [2]},
        {"kind": "contexts", "index": [1, 2], "docs": ["x.pdf", None]},
    ]


def test_every_word_of_the_tables_is_said() -> None:
    code = "".join(map(asset, ("support_table.js", "support_faults.js", "marked_answer.js")))
    made_up = r"(of|one|importance|source|level|fault)_\w+"
    english = dict(words_of(asset("support_words.js"))[0])
    assert [key for key in english if f'"{key}"' not in code and not re.match(made_up, key)] == []
