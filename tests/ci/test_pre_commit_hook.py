"""E24: the hook for pre-commit loads scenarios as a run would, and asks and writes nothing."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
SCENARIO = """\
name: garden
dataset: answers.jsonl
metrics: [em]
target: "nowhere:answer"
"""
ROW = '{"question": "?", "references": "a"}\n'
ODD_CONFIG = """\
[pytest]
addopts = --cov=src
asyncio_mode = auto
filterwarnings = error
testpaths = tests
"""


def hook() -> dict[str, Any]:
    (found,) = yaml.safe_load(MANIFEST.read_text("utf-8"))
    return dict(found)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose own configuration names plugins that the hook's environment lacks."""
    # pytest warns of a plugin that was imported before; a test of its own may have done so.
    monkeypatch.delitem(sys.modules, "pytest_rageval.plugin.sound_rows", raising=False)
    (pytester.path / "pytest.ini").write_text(ODD_CONFIG, "utf-8")
    (pytester.path / "garden.rageval.yaml").write_text(SCENARIO, "utf-8")
    (pytester.path / "nowhere.py").write_text("def answer(q): raise SystemExit(9)\n", "utf-8")
    (pytester.path / "answers.jsonl").write_text(ROW, "utf-8")
    return pytester.path


def test_the_hook_passes_a_sound_scenario_and_writes_nothing(
    pytester: pytest.Pytester, project: Path
) -> None:
    before = sorted(project.rglob("*"))
    result = pytester.runpytest_inprocess(*words()[1:])
    assert result.ret == 0
    new = [path for path in sorted(project.rglob("*")) if path not in before]
    assert [path for path in new if "__pycache__" not in path.parts] == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("garden.rageval.yaml", SCENARIO.replace("[em]", "[emm]"), "*unknown metric 'emm'*"),
        ("garden.rageval.yaml", SCENARIO.replace("answers.", "rows."), "*no file 'rows.jsonl'*"),
        ("answers.jsonl", "{not JSON\n", "*answers.jsonl*"),
    ],
    ids=["metric", "no data", "broken data"],
)
def test_the_hook_refuses_what_a_run_would_refuse(
    pytester: pytest.Pytester, project: Path, file: str, text: str, message: str
) -> None:
    (project / file).write_text(text, "utf-8")
    result = pytester.runpytest_inprocess(*words()[1:])
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])


@pytest.mark.full
def test_the_hook_refuses_rows_that_would_be_errors(
    pytester: pytest.Pytester, project: Path
) -> None:
    """Unless the scenario, or the row itself, says that they may be none."""
    rows = ROW + "".join(f'{{"id": "r{at}", "tags": {{}}}}\n' for at in range(12))
    rows += '{"question": 1, "tags": {}, "skip": true}\n{"tags": {}, "xfail": "known"}\n'
    (project / "answers.jsonl").write_text(rows, "utf-8")
    result = pytester.runpytest_inprocess(*words()[1:])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = [f"*garden.rageval.yaml: row {at + 2} (r{at}, line {at + 2}): *" for at in range(10)]
    result.stderr.fnmatch_lines([*expected, "*and 2 more"])
    scenario = SCENARIO.replace("answers.jsonl", "{path: answers.jsonl, on_invalid: skip}")
    (project / "garden.rageval.yaml").write_text(scenario, "utf-8")
    assert pytester.runpytest_inprocess(*words()[1:]).ret == 0


@pytest.mark.parametrize(
    ("name", "is_looked_at"),
    [
        ("eval/garden.rageval.yaml", True),
        ("answers.csv", True),
        ("answers.jsonl.gz", True),
        ("gold.xlsx", True),
        ("app.py", False),
        ("csv", False),
    ],
)
def test_the_hook_looks_at_scenarios_and_data(name: str, is_looked_at: bool) -> None:
    assert bool(re.search(hook()["files"], name)) is is_looked_at
    assert hook()["pass_filenames"] is False  # a data file is no argument of pytest


@pytest.mark.full
def test_pre_commit_runs_the_hook(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With the packages that are here: its own environment would be installed from an index."""
    pytest.importorskip("pre_commit")
    source = tmp_path_factory.mktemp("hooks")
    shutil.copy(MANIFEST, source)
    _commit(source)
    hooks = [{"id": "rageval-check", "language": "system", "entry": _entry()}]
    (project / "app.py").touch()
    config = {"repos": [{"repo": str(source), "rev": "HEAD", "hooks": hooks}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), "utf-8")
    _commit(project)
    command = [sys.executable, "-m", "pre_commit", "run", "--files"]
    for file, text, said in (
        ("app.py", "", "(no files to check)Skipped"),
        ("answers.jsonl", ROW, "Passed"),
        ("answers.jsonl", ROW + '{"tags": {}}\n', "row 2 (sample-2, line 2): a tag must be text"),
        ("garden.rageval.yaml", SCENARIO.replace("[em]", "[emm]"), "unknown metric 'emm'"),
    ):
        (project / file).write_text(text, "utf-8")
        found = subprocess.run(
            [*command, file], cwd=project, check=False, capture_output=True, text=True
        )
        assert said in found.stdout, found.stdout + found.stderr
        assert found.returncode == int("row" in said or "metric" in said)


def words() -> list[str]:
    """Return the words of the command that pre-commit runs."""
    return [*shlex.split(hook()["entry"]), *hook()["args"]]


def _entry() -> str:
    return f"{sys.executable} -m {hook()['entry']}"


def _commit(folder: Path) -> None:
    git = ["git", "-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
