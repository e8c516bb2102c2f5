"""``--rag-init`` writes a scenario that runs green as it is, and overwrites nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project


def _names(project: Project) -> set[str]:
    return {entry.name for entry in project.path.iterdir() if entry.is_file()}


def test_it_writes_a_scenario_with_rows_and_a_configuration(project: Project) -> None:
    """[E14] Three rows; the files are named, and a pytest.ini is there as there was none."""
    result = project.pytest("--rag-init")
    assert result.ret == pytest.ExitCode.OK
    assert _names(project) >= {"quickstart.rageval.yaml", "quickstart.jsonl", "pytest.ini"}
    rows = (project.path / "quickstart.jsonl").read_text("utf-8").splitlines()
    assert len([json.loads(row) for row in rows]) == 3
    for name in ("quickstart.rageval.yaml", "quickstart.jsonl", "pytest.ini"):
        assert name in result.stdout.str()


def test_the_scenario_is_commented(project: Project) -> None:
    """[E14] It is read by someone who sees a scenario for the first time."""
    project.pytest("--rag-init")
    lines = (project.path / "quickstart.rageval.yaml").read_text("utf-8").splitlines()
    assert sum(line.lstrip().startswith("#") for line in lines) >= 5


@pytest.mark.parametrize(
    "args", [(), ("-W", "error"), ("--strict-markers", "--strict-config"), ("-n", "2")], ids=str
)
def test_what_it_wrote_is_green(project: Project, args: tuple[str, ...]) -> None:
    """[E14] Three cases and some gates, without a warning."""
    project.pytest("--rag-init")
    result = project.pytest(*args)
    assert result.ret == pytest.ExitCode.OK
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] > 3
    assert project.results("quickstart")["counts"]["passed"] == 3
    assert "passed" in project.gates("quickstart").values()


def test_it_writes_into_a_folder(project: Project) -> None:
    """[E14] Which it makes where there is none."""
    result = project.pytest("--rag-init=evals/bot")
    assert result.ret == pytest.ExitCode.OK
    folder = project.path / "evals" / "bot"
    assert (folder / "quickstart.rageval.yaml").is_file()
    assert (folder / "quickstart.jsonl").is_file()
    assert _names(project) == set()
    project.pytest("--rag-scenario=evals/bot/quickstart.rageval.yaml").assert_outcomes(
        passed=project.pytest("evals/bot").parseoutcomes()["passed"]
    )


@pytest.mark.parametrize("name", ["quickstart.rageval.yaml", "quickstart.jsonl"])
def test_it_overwrites_nothing(project: Project, name: str) -> None:
    """[E14, E12] Exit status 4, naming the file; nothing else is written either."""
    (project.path / name).write_text("mine", "utf-8")
    result = project.pytest("--rag-init")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert name in result.stderr.str()
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert _names(project) == {name}
    assert (project.path / name).read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("tox.ini", "[pytest]\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("pytest.ini", "[pytest]\n"),
    ],
)
def test_a_configuration_is_left_as_it_is(project: Project, name: str, text: str) -> None:
    """[E14] No second one beside it, and not a byte of it changed."""
    (project.path / name).write_text(text, "utf-8")
    result = project.pytest("--rag-init")
    assert result.ret == pytest.ExitCode.OK
    assert (project.path / name).read_text("utf-8") == text
    assert _names(project) & {"pyproject.toml", "tox.ini", "setup.cfg", "pytest.ini"} == {name}


def test_a_folder_that_cannot_be_made_is_wrong_use(project: Project) -> None:
    """[E12] A file is in the way."""
    (project.path / "taken").write_text("a file", "utf-8")
    result = project.pytest("--rag-init=taken/here")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_no_tests_are_run(project: Project) -> None:
    """[E14] It writes and exits."""
    project.pytester.makepyfile("def test_fails(): assert 0")
    result = project.pytest("--rag-init")
    assert result.ret == pytest.ExitCode.OK
    assert "test_fails" not in result.stdout.str()


def test_it_reports_to_any_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """[E14] One that knows ASCII only, of a folder with a Chinese name."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = project.pytester.runpytest_subprocess("--rag-init=评测")
    assert result.ret == pytest.ExitCode.OK
    assert "Traceback" not in result.stderr.str()
    assert (project.path / "评测" / "quickstart.rageval.yaml").is_file()
