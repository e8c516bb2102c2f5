"""E25: runs in short, and their verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.model import GateResult, Outcome, SampleResult
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.mcp.agent_runs import (
    base_of,
    gates_of,
    is_bad,
    relative,
)
from pytest_rageval.serving.project import Project, ScenarioEntry


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
        "observed": 0.3333,
        "bound": 0.5,
        "message": "m",
    }
    assert (len(found["gates_failed"]), found["more_gates_failed"]) == (8, 2)
    assert (found["gates_passed"], found["gates_undecided"]) == (["f1"], 1)


@pytest.mark.parametrize(
    ("outcome", "score", "expected"),
    [
        ("failed", 1.0, True),
        ("error", None, True),
        ("passed", 0.9, True),
        ("xfailed", 0.2, True),  # below a tolerated threshold
        ("passed", 1.0, False),
        ("passed", None, False),
        ("skipped", None, False),
    ],
)
def test_what_could_be_better_is_among_the_worst(
    outcome: Outcome, score: float | None, *, expected: bool
) -> None:
    """[E25]"""
    assert is_bad(SampleResult("a", 0, outcome, weighted_score=score)) is expected


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
