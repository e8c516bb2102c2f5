"""F12: metrics that read one support table have one prompt, whose judge is tested once for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from judged_project import JudgedProject
from support_judge import PlantedTruth, SupportJudge

from pytest_rageval.controls import built_in_rows
from tests.plugin.conftest import green, interrupted

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full

ROW = {"question": "How high is it?", "answer": "It is high.", "references": ["It is tall."]}
METRICS = ("claim_precision", "claim_recall")
TOLD = "this judge does not tell supported statements from others"


def own_rows(metric: str) -> list[dict[str, Any]]:
    """Return rows of a user's file: halls have stages, and no bars."""
    return [
        {
            "id": f"{metric}-{expect}{at}",
            "metric": metric,
            "expect": expect,
            "question": "What is there?",
            "answer": f"Hall {at} has a {what}.",
            "contexts": [f"The stage of hall {at} is old.", "Doors open at six."],
        }
        for at in range(6)
        for expect, what in (("high", "stage"), ("low", "bar"))
    ]


@pytest.fixture
def judge_server() -> Iterator[SupportJudge]:
    """Return a judge that knows our control rows, those above and the row."""
    truth = PlantedTruth({"It is high.": ["It is high."], "It is tall.": ["It is tall."]})
    truth.levels["It is high.", "It is tall."] = truth.levels["It is tall.", "It is high."] = "full"
    for row in built_in_rows("support", "en").rows:
        (source,) = row.sample.contexts or ()
        truth.levels[row.sample.answer or "", source] = "full" if row.expect == "high" else "none"
    for row in own_rows("support"):
        level = "full" if row["expect"] == "high" else "none"
        truth.levels[row["answer"], "\n".join(row["contexts"])] = level
    with SupportJudge(truth) as running:
        yield running


def scenario(judged: JudgedProject, *files: str, mode: str = "warn", **keys: Any) -> None:
    """Write a scenario of one row; ``files`` name the metrics of a user's control rows."""
    controls = {"mode": mode}
    if files:
        rows = [row for name in files for row in own_rows(name)]
        judged.project.rows(rows, file="controls.jsonl")
        controls["file"] = "controls.jsonl"
    judge = {"controls": controls, "reasks": 0}
    judged.scenario([ROW], **{"metrics": list(METRICS), "judge": judge, **keys})


def controls(judged: JudgedProject) -> dict[str, Any]:
    """Return what the newest run says of the judge of each metric."""
    found: dict[str, Any] = judged.project.results()["controls"]
    return found


@pytest.mark.parametrize("args", [(), ("-n", "2")], ids=["plain", "workers"])
def test_a_judge_that_knows_is_asked_once_for_all_metrics(
    judged: JudgedProject, judge_server: SupportJudge, args: tuple[str, ...]
) -> None:
    """F12: ten rows decide it; the row has two texts with claims, and two cells."""
    scenario(judged, mode="require", gates=dict.fromkeys(METRICS, 1.0))
    if not args:
        forecast = judged.pytest("--rag-dry-run").stdout
        forecast.fnmatch_lines(
            ["judge     m: about 14 calls (13 to 22 *), 10 of them for control rows, *"]
        )
        assert judged.asked == []
    result = green(judged.pytest(*args))
    assert judge_server.counts == {"claims": 2, "cells": 12}
    passed = {"passed": True, "set": 1, "good": [1.0] * 5, "bad": [0.0] * 5, "reason": ""}
    assert controls(judged) == dict.fromkeys(METRICS, passed)
    result.stdout.no_fnmatch_line("*control*")
    assert judged.pytest("--rag-cache=replay").ret == pytest.ExitCode.OK


def test_a_yes_sayer_is_told_of_all_metrics_at_once(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """F12: six rows of twelve are enough to see it."""
    judge_server.truth.levels.clear()
    judge_server.truth.default = "full"
    scenario(judged)
    rows = "(control rows: good 1 1 1, bad 1 1 1)"
    result = green(judged.pytest())
    line = f"{', '.join(METRICS)}: {TOLD} {rows}: do not trust these figures"
    assert [one for one in result.outlines if "control rows" in one] == [line]
    judged.server.forget()
    scenario(judged, mode="require")
    assert judged.pytest("--rag-cache=off").ret == pytest.ExitCode.TESTS_FAILED
    assert judge_server.counts == {"cells": 6}
    (sample,) = judged.project.results()["samples"]
    assert sample["errors"] == dict.fromkeys(METRICS, f"control rows: {TOLD}")
    gates = judged.project.gates()
    assert [gates[f"controls:{name}"] for name in METRICS] == ["failed", "failed"]


def test_a_users_rows_of_support_are_those_of_all_metrics(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """F12: all contexts of a row are one source."""
    scenario(judged, "support")
    assert judged.pytest().ret == pytest.ExitCode.OK
    assert [one["set"] for one in controls(judged).values()] == [0, 0]
    assert [one["passed"] for one in controls(judged).values()] == [True, True]
    asked = ("Hall 0 has a bar.", "The stage of hall 0 is old.\nDoors open at six.")
    assert judge_server.cells[asked] == 1
    assert judge_server.counts == {"claims": 2, "cells": 12}


def test_a_users_rows_of_a_metric_are_those_of_this_metric(
    judged: JudgedProject, judge_server: SupportJudge
) -> None:
    """F12: its claims are asked for, as for any row; the other metric has our rows."""
    rows = [
        {**row, "references": [row["answer"].replace("bar", "stage")]}
        for row in own_rows("claim_precision")
    ]
    truth = judge_server.truth
    for row in rows:
        truth.claims[row["answer"]] = [row["answer"]]
        level = "full" if row["expect"] == "high" else "none"
        truth.levels[row["answer"], row["references"][0]] = level
    scenario(judged, "claim_precision")
    judged.project.rows(rows, file="controls.jsonl")
    assert judged.pytest().ret == pytest.ExitCode.OK
    assert {name: one["set"] for name, one in controls(judged).items()} == {
        "claim_precision": 0,
        "claim_recall": 1,
    }
    assert judge_server.counts == {"claims": 2 + 10, "cells": 2 + 10 + 10}


def test_rows_of_support_without_a_metric_of_a_table_are_refused(judged: JudgedProject) -> None:
    """F12"""
    scenario(judged, "support", metrics=["graded"])
    result = interrupted(judged.pytest())
    result.stdout.fnmatch_lines(["*controls.jsonl:1: unknown metric that asks a model 'support'*"])
    assert judged.asked == []


def test_rows_of_support_need_contexts_and_an_answer(judged: JudgedProject) -> None:
    """F12: it is said once a row, however many metrics read the table."""
    scenario(judged, "support")
    rows = [{**row, "contexts": None} for row in own_rows("support")]
    judged.project.rows(rows, file="controls.jsonl")
    result = interrupted(judged.pytest())
    lines = [line for line in result.outlines if "this row lacks them" in line]
    assert len(lines) == 12
    assert "metric 'support' needs 'contexts'; this row lacks them" in lines[0]
