"""D6, D8, E15: a comparison in the files of a run, and saved runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_rageval.model import (
    Comparison,
    MetricColumn,
    MetricComparison,
    RunInfo,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports.write_run import save_baseline, write_run
from pytest_rageval.results.saved_run import load_baseline

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")

FELL = MetricComparison(
    a_mean=0.55,
    b_mean=0.65,
    diff=-0.1,
    ci_low=-0.2,
    ci_high=-0.01,
    p_value=0.015625,
    p_adjusted=0.03125,
    significant=True,
    n=7,
    n_nonzero=6,
    method="permutation, exact",
    smallest_detectable=0.08,
)
UNTESTED = MetricComparison(
    None, None, None, None, None, None, None, False, 0, 0, "none", None, "no score | on both sides"
)
COMPARISON = Comparison(
    "main <v1>", "permutation", 0.05, {"f1": FELL, "em": UNTESTED}, ("new",), ("old 1", "old 2")
)


@pytest.fixture
def ran(result: Callable[..., ScenarioResult]) -> ScenarioResult:
    """A run of one sample that was compared."""
    sample = SampleResult("a::一", 0, weighted_score=0.5, scores={"f1": 0.5, "em": None})
    columns = (MetricColumn("f1", definition="f1 v1 ()"), MetricColumn("em", definition="em v2 ()"))
    made = result([sample], *columns, judgements_sha256="abc")
    return replace(made, comparisons=(COMPARISON,))


def test_the_comparison_is_in_results_json(ran: ScenarioResult, tmp_path: Path) -> None:
    """D6, D8: UltraRAG's names of the means, with what decides beside them."""
    folder = write_run(ran, RUN, tmp_path, tmp_path / "out")
    found = json.loads((folder / "results.json").read_text("utf-8"))
    comparison = found["comparison"]
    assert list(comparison) == [
        "baseline", "test", "alpha", "metrics", "only_here", "only_in_baseline", "correction",
    ]  # fmt: skip
    assert (comparison["baseline"], comparison["test"]) == ("main <v1>", "permutation")
    assert comparison["alpha"] == 0.05
    assert comparison["metrics"]["f1"] == {
        "A_mean": 0.55,
        "B_mean": 0.65,
        "diff": -0.1,
        "ci_low": -0.2,
        "ci_high": -0.01,
        "p_value": 0.015625,
        "p_adjusted": 0.03125,
        "significant": True,
        "n": 7,
        "n_nonzero": 6,
        "method": "permutation, exact",
        "smallest_detectable": 0.08,
        "note": "",
        "undecided": "",
    }
    assert comparison["metrics"]["em"]["A_mean"] is None
    assert comparison["metrics"]["em"]["significant"] is False
    assert comparison["only_here"] == ["new"]
    assert comparison["only_in_baseline"] == ["old 1", "old 2"]
    assert found["scenario"]["judgements_sha256"] == "abc"
    assert found["scenario"]["definitions"] == {"f1": "f1 v1 ()", "em": "em v2 ()"}


def test_save_path_of_two_trec_runs_has_the_layout_of_ultrarags_tool(
    ran: ScenarioResult, tmp_path: Path
) -> None:
    """F1: as evaluate_trec_pvalue has it, with the p-value that is not adjusted."""
    made = replace(ran, info=replace(ran.info, save_path="o.json"))
    write_run(made, RUN, tmp_path, tmp_path / "out")
    assert json.loads((tmp_path / "o.json").read_text("utf-8")) == {
        "f1": {
            "A_mean": 0.55, "B_mean": 0.65, "diff": -0.1, "p_value": 0.015625, "significant": True,
        },
        "em": {
            "A_mean": None, "B_mean": None, "diff": None, "p_value": None, "significant": False,
        },
    }  # fmt: skip


def test_the_comparison_is_in_summary_md(ran: ScenarioResult, tmp_path: Path) -> None:
    """E15, S4, S7: in a table that no name of the data breaks, with both p and one word."""
    folder = write_run(ran, RUN, tmp_path, tmp_path / "out")
    lines = (folder / "summary.md").read_text("utf-8").splitlines()
    at = lines.index("## Compared with main &#60;v1&#62;")
    assert lines[at + 2 : at + 6] == [
        "| metric | A (this run) | B | A - B | interval | p (permutation) | p (Holm) | n | "
        "verdict | |",
        "|---|---|---|---|---|---|---|---|---|---|",
        "| f1 | 0.5500 | 0.6500 | -0.1000 | -0.2000..-0.0100 | 0.0156 | 0.0312 | 7 | **worse** | |",
        "| em | - | - | - | - | - | - | 0 | undecided | no score &#124; on both sides |",
    ]
    assert "Only in this run: 1 samples" in lines
    assert "Only in the baseline: 2 samples" in lines


def test_without_a_comparison_nothing_is_said_of_one(ran: ScenarioResult, tmp_path: Path) -> None:
    folder = write_run(replace(ran, comparisons=()), RUN, tmp_path, tmp_path / "out")
    assert json.loads((folder / "results.json").read_text("utf-8"))["comparison"] is None
    assert "Compared" not in (folder / "summary.md").read_text("utf-8")


# Saved runs


def test_a_saved_run_is_the_results_json_of_the_run(ran: ScenarioResult, tmp_path: Path) -> None:
    """E15: so that any run can be named as a baseline later."""
    output = tmp_path / "out"
    folder = write_run(ran, RUN, tmp_path, output)
    path = output / "s" / "baselines" / "main.json"
    save_baseline(ran, RUN, path, output)
    assert path.read_bytes() == (folder / "results.json").read_bytes()
    found = load_baseline("main", path, "s.yaml:1", (), "main.json")
    assert (found.head.scenario.name, list(found.samples)) == ("s", ["a::一"])
    assert found.head.scenario.definitions == {"f1": "f1 v1 ()", "em": "em v2 ()"}
    assert found.head.scenario.judgements_sha256 == "abc"


def test_a_saved_run_in_the_output_folder_makes_it_one(ran: ScenarioResult, tmp_path: Path) -> None:
    """The folder is kept out of version control, whichever file comes first."""
    output = tmp_path / "out"
    save_baseline(ran, RUN, output / "s" / "baselines" / "main.json", output)
    assert (output / ".gitignore").read_text("utf-8") == "*\n"
    assert (output / "CACHEDIR.TAG").exists()


def test_a_saved_run_elsewhere_leaves_its_folder_alone(ran: ScenarioResult, tmp_path: Path) -> None:
    """E15: a baseline that is meant to be committed must not be ignored."""
    path = tmp_path / "kept" / "deep" / "main.json"
    save_baseline(ran, RUN, path, tmp_path / "out")
    assert [file.name for file in (tmp_path / "kept").rglob("*") if file.is_file()] == ["main.json"]
    assert not (tmp_path / "out").exists()


def test_saving_again_replaces_the_file_at_once(ran: ScenarioResult, tmp_path: Path) -> None:
    """A12: no other file is left, and no half one was there."""
    path = tmp_path / "main.json"
    path.write_text("old", "utf-8")
    save_baseline(ran, RUN, path, tmp_path / "out")
    assert json.loads(path.read_text("utf-8"))["schema"] == 1
    assert [file.name for file in tmp_path.iterdir()] == ["main.json"]


def test_where_nothing_can_be_written_is_an_oserror(ran: ScenarioResult, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OSError, match="file"):
        save_baseline(ran, RUN, tmp_path / "file" / "main.json", tmp_path / "out")
