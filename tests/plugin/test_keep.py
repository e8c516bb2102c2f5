"""E22: ``--rag-keep N`` leaves the newest runs, from the command line, environment or ini file."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green

pytestmark = pytest.mark.full


def test_older_runs_go_once_the_new_one_is_written(
    project: Project, run: Run, plain: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E22] Red runs count; the process with the results removes, and saved runs stay."""
    project.scenario("name: qa\ndataset: qa.jsonl\nmetrics: [em]\ngates: {em: 0.5}\n")
    project.rows([{"answer": "x", "references": ["x"]}])
    run("--rag-save", "main")
    project.rows([{"answer": "y", "references": ["x"]}])
    assert run().ret == pytest.ExitCode.TESTS_FAILED
    assert len(project.folders()) == 2
    result = run("--rag-keep", "2")
    result.stdout.fnmatch_lines(["keep 2: 1 older run removed: 2*"])
    assert len(project.folders()) == 2
    assert plain("--collect-only", "--rag-keep=1").ret == pytest.ExitCode.OK
    project.file("pytest.ini", "[pytest]\nrageval_keep = 1\n")
    monkeypatch.setenv("RAGEVAL_KEEP", "2")
    run()
    assert len(project.folders()) == 2
    monkeypatch.delenv("RAGEVAL_KEEP")
    run()
    assert len(project.folders()) == 1
    assert (project.path / ".rageval" / "qa" / "baselines" / "main.json").is_file()
    history = plain("--rag-history")
    assert sum(line.startswith("2") for line in history.outlines) == 1
    # This scenario's rows, and a run that another one names, are in use.
    named = project.folder()
    project.file(
        "b/other.rageval.yaml", f"compare: {{baseline: .rageval/qa/{named.name}/results.json}}"
    )
    rows = f"--rag-set=dataset={{path: {named / 'scores.csv'}, key_map: {{references: em}}}}"
    run("qa.rageval.yaml")
    run("qa.rageval.yaml")
    assert [one.name for one in project.folders()][:-1] == [named.name]
    project.file("b/other.rageval.yaml", "")
    run("qa.rageval.yaml", rows)
    assert [one.name for one in project.folders()][:-1] == [named.name]
    run("qa.rageval.yaml")
    assert not named.exists()


NAMES = "name: other\ncompare: {baseline: RUNS/qa/RUN/results.json}\n"


@pytest.fixture
def kept(project: Project) -> Project:
    """Return a project with a scenario that keeps one run, and has one already."""
    project.file("pytest.ini", "[pytest]\nrageval_keep = 1\ntestpaths = bot\n")
    project.file("bot/qa.rageval.yaml", "dataset: qa.jsonl\nmetrics: [em]\nname: qa\n")
    project.rows([{"answer": "x", "references": ["x"]}], "bot/qa.jsonl")
    project.pytest()
    return project


@pytest.mark.parametrize(
    ("file", "stays"),
    [
        ("notes.md", False),
        ("artifacts/results.json", False),
        ("bot/qa.jsonl.bak", False),
        (".github/workflows/ci.yaml", False),
        ("node_modules/x/o.rageval.yaml", False),
        ("copies/scenario.snapshot.yaml", False),
        ("zz/o.rageval.yaml", True),
        ("zz/deep/er/o.rageval.yml", True),
        ("zz/o.yaml", True),
        ("zz/o.yml", True),
    ],
)
def test_a_run_stays_that_a_scenario_names_and_nothing_else(
    kept: Project, file: str, stays: bool
) -> None:
    """[E22] Behind however many folders, and of any name."""
    for at in range(600):  # those of a virtual environment
        (kept.path / "env" / str(at)).mkdir(parents=True)
    first = kept.folder()
    kept.file(file, NAMES.replace("RUNS", ".rageval").replace("RUN", first.name))
    result = green(kept.pytest())
    assert first.exists() is stays
    assert ("1 older run removed" in result.stdout.str()) is not stays


def test_the_copies_of_a_scenario_in_run_folders_keep_no_run(project: Project) -> None:
    """[E22] A comparison with a path is in the folder of each run that made it."""
    project.file("pytest.ini", "[pytest]\ntestpaths = bot\n")
    text = "dataset: qa.jsonl\nmetrics: [em]\nname: qa\noutput_dir: runs\n"
    project.file("bot/qa.rageval.yaml", text)
    project.rows([{"answer": "x", "references": ["x"]}], "bot/qa.jsonl")
    project.pytest()
    first = project.folder(base="runs")
    compare = NAMES.partition("\n")[2].replace("RUNS", "runs").replace("RUN", first.name)
    project.file("bot/qa.rageval.yaml", text + compare)
    project.pytest("--rag-keep=1")
    assert len(project.folders(base="runs")) == 2
    project.file("bot/qa.rageval.yaml", text)
    project.pytest("--rag-keep=1")
    assert len(project.folders(base="runs")) == 1


def test_where_not_all_folders_can_be_looked_at_all_runs_stay(
    kept: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E22] A rootdir may be a whole home folder."""
    monkeypatch.setattr("pytest_rageval.plugin.exit_status._ALL_FOLDERS", 3)
    for name in "abc":
        (kept.path / name).mkdir()
    result = kept.pytest()
    assert (result.ret, len(kept.folders())) == (pytest.ExitCode.OK, 2)
    result.stdout.fnmatch_lines(["keep 1: not all older runs removed: more than 3 folders below *"])
    (kept.path / "c").rmdir()
    (kept.path / "b").rmdir()
    kept.pytest()
    assert len(kept.folders()) == 1
