"""What a run leaves behind: a folder with its files, and a link to the newest one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

ONE = """
    name: qa
    description: one question
    metrics: [em, f1]
    dataset: [{id: right, answer: Paris, references: [Paris], level: easy}]
"""

FILES = {
    "results.json",
    "scores.csv",
    "invalid.csv",
    "summary.md",
    "metadata.json",
    "scenario.snapshot.yaml",
}


def test_the_folder_holds_every_file(project: Project, run: Run) -> None:
    """[A12] Six files, no temporary ones left."""
    project.scenario(ONE)
    run()
    assert {entry.name for entry in project.folder().iterdir()} == FILES


def test_the_run_id_is_the_start_in_utc(project: Project) -> None:
    """[A12] ``20261121T093011-123456``, in the folder's name and in the files."""
    project.scenario(ONE)
    project.pytest()
    run = project.results()["run"]
    name = project.folder().name
    assert re.fullmatch(r"\d{8}T\d{6}-\d{6}", name)
    assert run["id"] == name
    assert run["started_at"].endswith("+00:00")
    digits = re.sub(r"\D", "", run["started_at"])
    assert digits.startswith(name[:8] + name[9:15])
    assert run["started_at"] <= run["finished_at"]


def test_latest_leads_to_the_newest_run(project: Project, plain: Run) -> None:
    """[A12] A link to the folder of the second run, beside both."""
    project.scenario(ONE)
    project.pytest()
    plain()
    base = project.path / ".rageval" / "qa"
    _, second = project.folders()
    assert (base / "latest").resolve() == second
    assert {entry.name for entry in base.iterdir()} == {
        "latest",
        *(folder.name for folder in project.folders()),
    }


def test_latest_is_a_text_file_where_links_are_not_possible(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A12] It holds the run's id."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    project.scenario(ONE)
    result = project.pytest()
    assert result.ret == pytest.ExitCode.OK
    latest = project.path / ".rageval" / "qa" / "latest"
    assert not latest.is_symlink()
    assert latest.read_text("utf-8").strip() == project.folder().name


def test_version_control_and_backups_pass_the_folder_by(project: Project) -> None:
    """[A12] ``.gitignore`` and ``CACHEDIR.TAG`` with the signature of bford.info/cachedir."""
    project.scenario(ONE)
    project.pytest()
    base = project.path / ".rageval"
    assert "*" in (base / ".gitignore").read_text("utf-8").splitlines()
    tag = (base / "CACHEDIR.TAG").read_text("utf-8")
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_gitignore_of_the_user_is_kept(project: Project) -> None:
    """[A12] Someone may want the runs in version control."""
    project.scenario(ONE)
    project.pytester.mkdir(".rageval").joinpath(".gitignore").write_text("# mine\n", "utf-8")
    project.pytest()
    assert (project.path / ".rageval" / ".gitignore").read_text("utf-8") == "# mine\n"


def test_metadata_describes_the_run(project: Project) -> None:
    """[A12] For tools that list runs."""
    project.scenario(ONE)
    project.pytest()
    metadata = json.loads((project.folder() / "metadata.json").read_text("utf-8"))
    expected = {
        "run_id": project.folder().name,
        "scenario_name": "qa",
        "description": "one question",
        "scenario_path": "qa.rageval.yaml",
        "complete": True,
        "valid_samples": 1,
        "invalid_samples": 0,
        "overridden": [],
    }
    assert {key: metadata[key] for key in expected} == expected


def test_the_summary_has_the_weighted_means(project: Project) -> None:
    """[A12] Under the heading that readers of rag_eval look for: em 1, f1 1."""
    project.scenario(ONE)
    project.pytest()
    lines = (project.folder() / "summary.md").read_text("utf-8").splitlines()
    assert lines[0] == "# qa"
    heading = lines.index("## Metric Means (weighted)")
    table = [line.split("|")[1:3] for line in lines[heading:] if line.startswith("|")]
    assert [" em ", " 1.0000 "] in table
    assert [" f1 ", " 1.0000 "] in table
    assert [" **weighted_score** ", " **1.0000** "] in table


def test_scores_csv_has_a_row_for_each_sample(project: Project) -> None:
    """[A12] Columns in the order of the contract, metadata and metrics between."""
    project.scenario(ONE)
    project.pytest()
    (row,) = project.table("scores.csv")
    assert row == {
        "sample_id": "right",
        "question": "",
        "answer": "Paris",
        "doc_name": "",
        "level": "easy",
        "em": "1.0",
        "f1": "1.0",
        "weighted_score": "1.0",
        "sample_weight": "1.0",
        "outcome": "passed",
        "error": "",
    }
    assert list(row)[-4:] == ["weighted_score", "sample_weight", "outcome", "error"]
    assert list(row)[:4] == ["sample_id", "question", "answer", "doc_name"]


def test_scores_csv_runs_no_formulas(project: Project) -> None:
    """[A12] Text that begins like a formula gets an apostrophe; numbers stay numbers."""
    rows = [{"answer": f"{sign}1+1", "references": ["x"]} for sign in "=+-@\t"]
    project.rows([*rows, {"answer": "1=1", "references": ["x"], "delta": -1}])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    project.pytest()
    table = project.table("scores.csv")
    assert [row["answer"] for row in table] == [*(f"'{sign}1+1" for sign in "=+-@\t"), "1=1"]
    assert table[-1]["delta"] == "-1"


def test_the_snapshot_runs_as_the_scenario_did(project: Project) -> None:
    """[A12] Inline rows and defaults included; run again, it gives the same figures."""
    project.scenario(ONE)
    project.pytest()
    snapshot = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    project.scenario(snapshot.replace("name: qa", "name: again"), "again")
    result = project.pytest("--rag-scenario=again.rageval.yaml")
    result.assert_outcomes(passed=1)
    assert project.results("again")["samples"] == project.results()["samples"]


def _runs(folder: Path) -> list[Path]:
    return list(folder.glob("qa/2*/results.json"))


def test_output_dir_of_the_scenario_is_relative_to_the_rootdir(project: Project) -> None:
    """[A12] Not to the scenario's folder."""
    deep = project.pytester.mkdir("deep")
    text = "name: qa\nmetrics: [em]\noutput_dir: out\ndataset: [{answer: a, references: [a]}]\n"
    (deep / "qa.rageval.yaml").write_text(text, "utf-8")
    project.pytest()
    assert len(_runs(project.path / "out")) == 1
    assert project.wrote_nothing


def test_the_ini_value_comes_before_the_scenario(project: Project) -> None:
    """[A12] ``rageval_output``, relative to the rootdir."""
    project.pytester.makeini("[pytest]\nrageval_output = from_ini")
    project.scenario(ONE + "    output_dir: out\n")
    project.pytest()
    assert len(_runs(project.path / "from_ini")) == 1
    assert not (project.path / "out").exists()


def test_the_environment_comes_before_the_ini_value(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A12] ``RAGEVAL_OUTPUT``."""
    project.pytester.makeini("[pytest]\nrageval_output = from_ini")
    monkeypatch.setenv("RAGEVAL_OUTPUT", "from_environment")
    project.scenario(ONE)
    project.pytest()
    assert len(_runs(project.path / "from_environment")) == 1
    assert not (project.path / "from_ini").exists()


def test_the_option_comes_first(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """[A12] ``--rag-output``."""
    monkeypatch.setenv("RAGEVAL_OUTPUT", "from_environment")
    project.scenario(ONE)
    project.pytest("--rag-output=from_option")
    assert len(_runs(project.path / "from_option")) == 1
    assert not (project.path / "from_environment").exists()


def test_the_option_is_relative_to_the_working_directory(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A12] As every path that is typed in a shell."""
    project.pytester.makeini("[pytest]")
    project.scenario(ONE)
    deep = project.pytester.mkdir("deep")
    monkeypatch.chdir(deep)
    project.pytest("--rag-output=out", "../qa.rageval.yaml")
    assert len(_runs(deep / "out")) == 1


def test_a_folder_that_cannot_be_written_is_said(project: Project) -> None:
    """[A12] A file is in the way: the table says so, the outcomes stand."""
    project.scenario(ONE)
    (project.path / "taken").write_text("a file", "utf-8")
    result = project.pytest("--rag-output=taken")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["run *not written*"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_scenarios_of_one_name_have_a_folder_each(project: Project) -> None:
    """[A12] The second gets a number, so that neither is lost."""
    project.scenario(ONE, "first")
    project.scenario(ONE, "second")
    project.pytest()
    folders = project.folders()
    paths = [
        json.loads((folder / "results.json").read_text("utf-8"))["scenario"]["path"]
        for folder in folders
    ]
    assert paths == ["first.rageval.yaml", "second.rageval.yaml"]


@pytest.mark.parametrize("name", ["bots/support", "..", "a:b*c?", "双源CT", "x" * 300])
def test_any_name_makes_one_folder(project: Project, name: str) -> None:
    """[A12] Directly under the output folder, never above or deeper."""
    project.scenario(ONE.replace("name: qa", f"name: {json.dumps(name)}"))
    result = project.pytest()
    result.assert_outcomes(passed=1)
    assert len(list((project.path / ".rageval").glob("*/2*/results.json"))) == 1


def test_failing_runs_are_written_too(project: Project) -> None:
    """[A12] A case and a gate fail."""
    project.scenario(
        """
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        gates: {em: 1}
        dataset: [{id: wrong, answer: Rome, references: [Paris]}]
        """
    )
    assert project.pytest().ret == pytest.ExitCode.TESTS_FAILED
    assert {entry.name for entry in project.folder().iterdir()} == FILES


def test_save_path_gets_the_lists_and_averages(project: Project, plain: Run) -> None:
    """[D8] em 1, 0, unscored: the average is over the scored ones, (1 + 0)/2."""
    project.with_broken_metrics()
    project.scenario(
        """
        name: qa
        metrics: [em, raises]
        save_path: out/result.json
        dataset:
          - {answer: Paris, references: [Paris]}
          - {answer: raise, references: [Paris]}
        """
    )
    plain()
    assert json.loads((project.path / "out" / "result.json").read_text("utf-8")) == {
        "em": [1.0, 0.0],
        "avg_em": 0.5,
        "raises": [1.0, None],
        "avg_raises": 1.0,
    }
