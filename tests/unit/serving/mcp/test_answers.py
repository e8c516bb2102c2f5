"""What tools for agents answer."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.errors import UserError
from pytest_rageval.model import GateResult, MetricColumn, Outcome, SampleResult, ScenarioInfo
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.mcp.answers import (
    WORST,
    base_of,
    could_be_better,
    cut,
    fitted,
    gates_of,
    packed,
    paged,
    relative,
    short,
    worst_of,
)
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.stats.summary import summarize_scenario


def test_what_is_none_is_left_out_and_what_is_empty_is_not() -> None:
    """[E25] An empty answer is one; a missing one is not."""
    assert packed({"a": None, "b": "", "c": [], "d": [{"e": None}], "f": 0.0}) == (
        '{"b":"","c":[],"d":[{}],"f":0.0}'
    )


def test_what_is_no_finite_number_is_left_out_as_none_is() -> None:
    """[E25] A file may have been changed; a place in a list stays."""
    assert packed({"a": math.nan, "b": (1.0, math.inf), "c": [math.nan], "d": 1}) == (
        '{"b":[1.0,null],"c":[null],"d":1}'
    )


@pytest.mark.parametrize("text", ["a " * 5000, "检索" * 5000, '"\\\n\u0000' * 5000, "é" * 9000])
def test_texts_are_cut_until_all_fit(text: str) -> None:
    """[E25] Ten of them, in any script, with whatever JSON makes of them."""
    answer = fitted(lambda width: {"texts": [cut(text, width)] * 10})
    assert estimate_tokens(answer) <= 2000
    assert len(answer) < 8000
    first = json.loads(answer)["texts"][0]
    assert first.endswith(" more)")
    assert text.startswith(first[:20])


def test_short_texts_stay_whole() -> None:
    assert fitted(lambda width: {"text": cut("x" * 1000, width)}) == packed({"text": "x" * 1000})


def test_a_page_has_as_many_rows_as_fit_and_says_where_to_go_on() -> None:
    """[E25]"""
    rows = [{"id": f"{at:04}", "text": "x" * 300} for at in range(100)]
    seen: list[str] = []
    at = 0
    while True:
        text = paged({"run": "qa/1"}, "samples", rows[at:], at, len(rows))
        assert estimate_tokens(text) <= 2000
        page: dict[str, Any] = json.loads(text)
        seen += [row["id"] for row in page["samples"]]
        if "next" not in page:
            break
        assert page["next"] == len(seen)
        at = page["next"]
    assert seen == [row["id"] for row in rows]


def test_an_empty_page_has_its_total() -> None:
    assert paged({}, "samples", [], 7, 5) == '{"total":5}'


def test_a_row_that_is_too_large_does_not_stop_the_pages() -> None:
    page = json.loads(paged({}, "rows", [{"text": "x" * 9000}, {"text": "y"}], 0, 2))
    assert (len(page["rows"]), page["next"]) == (1, 1)


def test_the_text_of_an_error_is_cut() -> None:
    """[E25] A scenario may have hundreds of problems."""
    assert short("line\n") == "line\n"
    assert estimate_tokens(short("检索" * 10_000)) <= 2000


def test_failed_gates_are_told_and_the_others_named() -> None:
    """[E25] Ten failed: eight are told."""
    gates = [GateResult(f"g{at}", "failed", 1 / 3, 0.5, "m") for at in range(10)]
    others = [
        GateResult("f1", "passed", 1.0, 0.5, ""),
        GateResult("em", "skipped", None, 0.5, ""),
    ]
    found = gates_of([*gates, *others], 100)
    assert found["gates_failed"][0] == {
        "name": "g0",
        "observed": 1 / 3,
        "bound": 0.5,
        "message": "m",
    }
    assert (len(found["gates_failed"]), found["more_gates_failed"]) == (8, 2)
    assert (found["gates_passed"], found["gates_undecided"]) == (["f1"], 1)


@pytest.mark.parametrize(
    ("outcome", "score", "best", "expected"),
    [
        ("failed", 1.0, 1.0, True),
        ("error", None, 1.0, True),
        ("passed", 0.9, 1.0, True),
        ("xfailed", 0.2, 1.0, True),  # below a tolerated threshold
        ("passed", 1.0, 1.0, False),
        ("passed", 2.0, float("inf"), True),  # of a metric without an upper end
        ("passed", 0.5, 0.5, False),
        ("passed", None, 1.0, False),
        ("skipped", None, 1.0, False),
    ],
)
def test_what_could_be_better_is_among_the_worst(
    outcome: Outcome, score: float | None, best: float, *, expected: bool
) -> None:
    """[E25]"""
    assert could_be_better(SampleResult("a", 0, outcome, weighted_score=score), best) is expected


def project(root: Path, output: Path | None = None) -> Project:
    return Project("python", root, (), RunPaths(root, output))


def entry(output_dir: str | None) -> ScenarioEntry:
    return ScenarioEntry(Path("qa.rageval.yaml"), "qa.rageval.yaml", "qa", output_dir)


@pytest.mark.parametrize("output_dir", ["../out", "/somewhere", "a/../../b"])
def test_runs_outside_of_the_rootdir_are_not_touched(tmp_path: Path, output_dir: str) -> None:
    """[E25] Whatever a scenario says; where the user started the server with, is another matter."""
    with pytest.raises(UserError, match=r"outside of the rootdir"):
        base_of(project(tmp_path), entry(output_dir))
    elsewhere = tmp_path.parent / "chosen"
    assert base_of(project(tmp_path, elsewhere), entry(output_dir)) == elsewhere


def test_runs_below_the_rootdir_are(tmp_path: Path) -> None:
    assert base_of(project(tmp_path), entry(None)) == tmp_path / ".rageval"


def test_texts_name_files_below_the_rootdir(tmp_path: Path) -> None:
    """[E25]"""
    text = f"{tmp_path}/qa.jsonl:3 in {tmp_path}"
    assert relative(project(tmp_path), text) == "qa.jsonl:3 in ."


@pytest.mark.skipif(os.sep != "/", reason="its paths are written otherwise")
@pytest.mark.parametrize(
    ("root", "text", "shown"),
    [
        ("/me/rag", "/me/rag-venv/lib/x.py:3", "/me/rag-venv/lib/x.py:3"),
        ("/me/rag", "/me/rag.old/x.py and /me/rag2", "/me/rag.old/x.py and /me/rag2"),
        ("/me/rag", "/mnt/me/rag/x.py", "/mnt/me/rag/x.py"),
        ("/me/rag", "'/me/rag', /me/rag: see /me/rag.", "'.', .: see .."),
        ("/me/rag", "(/me/rag/.venv/x.py)", "(.venv/x.py)"),
        ("/", "/qa.jsonl:3: 1/2 in /", "/qa.jsonl:3: 1/2 in /"),
        ("/me/rag", "在/me/rag/a.yaml和/me/rag中", "在a.yaml和/me/rag中"),
        ("/me/rag", "见/me/rag。/数据/me/rag/x.py", "见.。/数据/me/rag/x.py"),
        ("/me/资料", "在/me/资料/a.yaml", "在a.yaml"),
    ],
)
def test_texts_keep_other_paths(root: str, text: str, shown: str) -> None:
    """[E25] A neighbour of the rootdir begins like it; below / all paths do."""
    assert relative(project(Path(root)), text) == shown


def test_a_red_run_says_why_scores_are_missing_and_which_rows_its_gates_name() -> None:
    """By hand: the mean of toxic is (0.9 + 0 + 0) / 3; the weighted scores name no row."""
    columns = (MetricColumn("f1"), MetricColumn("toxic", 0.0, higher_is_better=False))
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, {}, gates={"toxic": 0.2}, total=5)
    rows = [
        SampleResult(str(at), at, weighted_score=1.0, scores={"f1": 1.0, "toxic": toxic})
        for at, toxic in enumerate((0.0, 0.9, 0.0))
    ]
    rows += [
        SampleResult(str(at), at, "error", scores={"f1": None}, errors={"f1": f"waited {at} s"})
        for at in (3, 4)
    ]
    gate = GateResult("toxic.mean", "failed", 0.3, 0.2, "0.3000 > 0.2000")
    result = replace(summarize_scenario(info, rows, complete=True), gates=(gate,))
    found = worst_of(RunView(result), 100)
    assert found["errors"][0] == "f1 failed on 2 of 5 samples, for instance: waited 3 s"
    assert [(row["id"], row["why"], row["alike"]) for row in found["worst"]] == [
        ("3", ["f1: waited 3 s"], 1),
        ("1", ["toxic 0.9000 > 0.2000"], None),
    ]
    assert found["more_failed"] is None
    assert found["more_errors"] is None
    made = [MetricColumn(f"m{at}") for at in range(8)]
    failed = [SampleResult("a", 0, "error", errors={m.name: f"no {m.name}" for m in made})]
    info = replace(info, metrics=tuple(made), gates={})
    many = worst_of(RunView(summarize_scenario(info, failed, complete=True)), 100)
    assert (len(many["errors"]), many["more_errors"]) == (WORST, 8 - WORST)
    # A green one names what could be better, and nothing is wrong.
    green = worst_of(RunView(replace(result, samples=tuple(rows[:3]), gates=())), 100)
    assert (green["errors"], green["worst"]) == (None, [])
