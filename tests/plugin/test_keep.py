"""E22: ``--rag-keep N`` leaves the newest runs, from the command line, environment or ini file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run


@pytest.mark.full
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
