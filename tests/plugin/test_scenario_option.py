"""``--rag-scenario`` runs the scenarios it names, and nothing else unless that is named too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

TWO = """
    name: qa
    metrics: [em]
    dataset:
      - {id: right, answer: Paris, references: [Paris]}
      - {id: other, answer: Paris, references: [Paris]}
"""


@pytest.fixture(autouse=True)
def _an_ordinary_test(project: Project) -> None:
    project.pytester.makepyfile(test_plain="def test_plain(): pass")


def test_only_the_scenario_runs(project: Project, run: Run) -> None:
    """[A1] Two cases pass; the ordinary test and the other scenario are not collected."""
    project.scenario(TWO)
    project.scenario(TWO, "second")
    result = run("--rag-scenario=qa.rageval.yaml")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK


def test_it_is_repeatable(project: Project) -> None:
    """[A1] Two cases each of two files."""
    project.scenario(TWO, "first")
    project.scenario(TWO, "second")
    project.scenario(TWO, "third")
    result = project.pytest(
        "--rag-scenario", "first.rageval.yaml", "--rag-scenario", "second.rageval.yaml"
    )
    result.assert_outcomes(passed=4)


def test_other_arguments_are_run_too(project: Project) -> None:
    """[A1] A test file named beside it: one function and two cases."""
    project.scenario(TWO)
    result = project.pytest("--rag-scenario=qa.rageval.yaml", "test_plain.py")
    result.assert_outcomes(passed=3)


def test_it_comes_before_testpaths(project: Project) -> None:
    """[A1] The ini file's ``testpaths`` are a default, which the option replaces."""
    project.pytester.makeini("[pytest]\ntestpaths = test_plain.py")
    project.scenario(TWO)
    result = project.pytest("--rag-scenario=qa.rageval.yaml")
    result.assert_outcomes(passed=2)


def test_one_sample_is_chosen_by_its_id(project: Project) -> None:
    """[A1, A2] ``FILE::ID`` as in a node id."""
    project.scenario(TWO)
    result = project.pytest("--rag-scenario=qa.rageval.yaml::other")
    result.assert_outcomes(passed=1)
    assert project.outcomes() == {"other": "passed"}


def test_several_samples_of_one_file_are_chosen(project: Project) -> None:
    """[A1, A2] Both of two, each by its own option: a complete run."""
    project.scenario(TWO)
    project.pytest(
        "--rag-scenario=qa.rageval.yaml::right", "--rag-scenario=qa.rageval.yaml::other"
    ).assert_outcomes(passed=2)
    assert project.results()["complete"] is True


def test_a_file_that_is_named_twice_runs_once(project: Project) -> None:
    """[A1] By the option twice, and by the option and as an argument."""
    project.scenario(TWO)
    option = "--rag-scenario=qa.rageval.yaml"
    project.pytest(option, option).assert_outcomes(passed=2)
    project.pytest(option, "qa.rageval.yaml").assert_outcomes(passed=2)


@pytest.mark.parametrize("sample_id", ["a::b", "x[1]", "two words", "双源CT"])
def test_the_id_is_that_of_the_data(project: Project, sample_id: str) -> None:
    """[A1, A2] Also where the node id cannot spell it."""
    project.rows([{"id": name, "answer": "a", "references": ["a"]} for name in (sample_id, "y")])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    result = project.pytest(f"--rag-scenario=qa.rageval.yaml::{sample_id}")
    result.assert_outcomes(passed=1)
    assert project.outcomes() == {sample_id: "passed"}


def test_a_file_of_any_name_is_a_scenario_when_it_is_named(project: Project, run: Run) -> None:
    """[A1] ``bot.yml`` matches no pattern."""
    project.pytester.makefile(".yml", bot=TWO)
    result = run("--rag-scenario=bot.yml")
    result.assert_outcomes(passed=2)


def test_a_missing_file_is_wrong_use_of_the_command_line(project: Project, plain: Run) -> None:
    """[A1, E12] Exit status 4, the file's name, no traceback."""
    result = plain("--rag-scenario=nowhere.rageval.yaml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nowhere.rageval.yaml*no such file*"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_a_folder_is_no_scenario_file(project: Project) -> None:
    """[A1, E12] Exit status 4."""
    project.pytester.mkdir("scenarios")
    result = project.pytest("--rag-scenario=scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*scenarios*folder*"])


def test_an_unknown_id_is_wrong_use_of_the_command_line(project: Project) -> None:
    """[A1, E12] As for an unknown node id: exit status 4."""
    project.scenario(TWO)
    result = project.pytest("--rag-scenario=qa.rageval.yaml::nobody")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not found*qa.rageval.yaml::nobody*"])


@pytest.fixture
def outside(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside the rootdir, which an ini file in the project fixes."""
    project.pytester.makeini("[pytest]")
    return tmp_path_factory.mktemp("outside")


def _write(folder: Path, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "qa.rageval.yaml").write_text(text, "utf-8")
    return f"--rag-scenario={folder / 'qa.rageval.yaml'}"


def _in_rootdir(project: Project) -> tuple[str, ...]:
    return ("-c", str(project.path / "tox.ini"), "--rootdir", str(project.path))


def test_a_file_outside_the_rootdir_runs(project: Project, outside: Path) -> None:
    """[A1] Its files are written under the rootdir all the same."""
    result = project.pytest(*_in_rootdir(project), _write(outside, TWO))
    result.assert_outcomes(passed=2)
    assert project.outcomes() == {"right": "passed", "other": "passed"}


def test_files_of_one_name_outside_the_rootdir_stay_apart(
    project: Project, run: Run, outside: Path
) -> None:
    """[A1, A2] Same file name, same ids, other scenario: 2 + 2 cases, one run folder each."""
    first = _write(outside / "a", TWO.replace("name: qa", "name: first"))
    second = _write(outside / "b", TWO.replace("name: qa", "name: second"))
    result = run(*_in_rootdir(project), first, second)
    result.assert_outcomes(passed=4)
    assert len(project.outcomes("first")) == len(project.outcomes("second")) == 2


def test_paths_are_relative_to_the_working_directory(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A1] Not to the rootdir, which is one level up here."""
    project.pytester.makeini("[pytest]")
    deep = project.pytester.mkdir("deep")
    _write(deep, TWO)
    monkeypatch.chdir(deep)
    result = project.pytest("--rag-scenario=qa.rageval.yaml")
    result.assert_outcomes(passed=2)


def test_the_environment_names_scenarios_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A1] ``RAGEVAL_SCENARIO``, several separated by ``;``: 2 + 2 cases, no ordinary test."""
    project.scenario(TWO, "first")
    project.scenario(TWO, "second")
    monkeypatch.setenv("RAGEVAL_SCENARIO", "first.rageval.yaml; second.rageval.yaml")
    project.pytest().assert_outcomes(passed=4)
