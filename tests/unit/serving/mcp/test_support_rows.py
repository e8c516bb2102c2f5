"""What an agent reads of the support table of a sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support_rows import FULL, answered, no, source, statement

from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.model import MetricColumn, RunInfo, ScenarioInfo
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.serving.mcp.answers import MOST_TOKENS
from pytest_rageval.serving.mcp.saved_tools import ExplainArguments, explained_sample
from pytest_rageval.stats.summary import summarize_scenario

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")


def explained(tmp_path: Path, **sample: Any) -> str:
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),), total=1, selected=1)
    result = summarize_scenario(info, [answered(**sample)], complete=True)
    folder = write_run(result, RUN, tmp_path, tmp_path)
    return explained_sample(tmp_path, folder, "s/run", ExplainArguments(run="s/run", id="s0"))


def test_statements_that_lack_support_come_first_with_what_each_source_says(
    tmp_path: Path,
) -> None:
    """Of nine statements, three have no cell that is not full."""
    found = json.loads(explained(tmp_path))
    rows = found["support"]
    assert "details" not in found
    assert rows[0] == {
        "of": "sentence 1",
        "text": "Opened items can be returned within 60 days.",
        "cites": [2],
        "contexts[2] returns.pdf": "none: The source says 30 days, not 60.",
    }
    assert rows[1]["contexts[1, 3] hours.pdf"] == "full"
    assert [row["of"] for row in rows[-3:]] == ["sentence 3", "sentence 4", "nugget 2"]


def test_a_large_table_does_not_make_the_answer_too_long(tmp_path: Path) -> None:
    table = {
        "statements": [statement("claim", at, f"Claim {at} of many.") for at in range(50)],
        "sources": [source("contexts", at + 1) for at in range(20)],
        "cells": [[no(f"Part {at} says nothing of it.") for at in range(20)]] * 50,
    }
    text = explained(tmp_path, table=table)
    assert estimate_tokens(text) <= MOST_TOKENS
    rows = json.loads(text)["support"]
    assert rows[-1] == "… 38 more"
    assert rows[0]["more"] == 14


def test_what_supports_a_statement_and_what_it_cites_in_vain_is_shown(tmp_path: Path) -> None:
    """The last of twenty contexts supports the claim, and [9] of a sentence does not exist."""
    table = {
        "statements": [
            statement("claim", 1, "The store opens at 9."),
            statement("sentence", 1, "It opens at 9.", 1, lost=["9"]),
        ],
        "sources": [source("contexts", at + 1) for at in range(20)],
        "cells": [[*[no("Nothing.")] * 19, FULL], [FULL, *[None] * 19]],
    }
    claim, sentence = json.loads(explained(tmp_path, table=table))["support"]
    assert claim["contexts[20]"] == "full"
    assert claim["more"] == 14
    assert sentence["cites_nothing_by"] == ["9"]


def test_names_of_many_documents_do_not_make_the_answer_too_long(tmp_path: Path) -> None:
    places = range(1, 61)
    docs = [f"policy-of-store-{at}-{'x' * 150}.pdf" for at in places]
    table = {
        "statements": [statement("nugget", at, f"Nugget {at}.") for at in range(1, 13)],
        "sources": [source("contexts", *places, docs=docs)],
        "cells": [[no("Nothing.")]] * 12,
    }
    assert estimate_tokens(explained(tmp_path, table=table)) <= MOST_TOKENS


def test_scores_and_values_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    """40 of 43 scores, and of 50 columns."""
    scores = {f"m{at}": 1.0 for at in range(43)}
    columns = {f"c{at}": at for at in range(50)}
    found = json.loads(explained(tmp_path, scores=scores, metadata=columns))
    assert (len(found["scores"]), found["more_scores"]) == (40, 3)
    assert (len(found["metadata"]), found["metadata"]["…"]) == (41, "10 more")
