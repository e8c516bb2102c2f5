"""F9: which configuration of pytest holds, and what ``--rag-init`` writes beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.plugin.configuration import (
    configuration_of,
    outside_rootdir,
    path_unknown_to_workers,
)
from pytest_rageval.plugin.scaffold import write_scaffold


@pytest.mark.parametrize(
    ("name", "text", "counts"),
    [
        ("pytest.ini", "", True),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", True),
        ("pyproject.toml", "[project]\n", False),
        ("tox.ini", "[tox]\n[pytest]\n", True),
        ("setup.cfg", "[metadata]\n", False),
    ],
)
def test_a_configuration_above_a_folder_holds_in_it(
    tmp_path: Path, name: str, text: str, counts: bool
) -> None:
    """F9."""
    (tmp_path / name).write_text(text)
    found = configuration_of(tmp_path / "evals" / "bot")
    assert (found == tmp_path / name) is counts


@pytest.mark.full
def test_no_second_ini_file_is_written_below_a_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F9: it would hide the first one."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    write_scaffold(tmp_path / "evals")
    assert not (tmp_path / "evals" / "pytest.ini").exists()
    assert (tmp_path / "evals" / "quickstart.rageval.yaml").exists()
    assert f"{tmp_path / 'pytest.ini'} already exists" in capsys.readouterr().out


def test_a_scenario_elsewhere_says_which_configuration_holds(tmp_path: Path) -> None:
    """F9: that of the working directory, not its own."""
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    (there / "tox.ini").write_text("[pytest]\n")
    path = there / "evals" / "x.yaml"
    assert list(outside_rootdir([path, path, here / "y.yaml"], here, here / "pytest.ini")) == [
        f"rageval: {path} is outside the rootdir; pytest uses rootdir {here}, configuration "
        f"{here / 'pytest.ini'}; {there / 'tox.ini'} is ignored: "
        f"use it with 'pytest -c {there / 'tox.ini'}'"
    ]
    (line,) = outside_rootdir([path], here, None)
    assert f"rootdir {here}, configuration none; " in line


@pytest.mark.parametrize(
    ("name", "spec", "is_lost"),
    [
        ("x.yaml", "socket=127.0.0.1:8888", True),
        ("evals/x.yaml", "2*ssh=host", True),
        ("/abs/x.yaml", "socket=127.0.0.1:8888", False),
        ("x.yaml", "popen", False),
        ("x.yaml", "2*popen//python=python3", False),
        ("x.yaml", "ssh=host//chdir=/work", False),
    ],
)
def test_a_relative_path_is_refused_where_workers_are_elsewhere(
    name: str, spec: str, is_lost: bool
) -> None:
    """F11: the controller says it, in place of a traceback of the worker."""
    found = path_unknown_to_workers([name], ["popen", spec])
    assert (found is not None) is is_lost
    if found is not None:
        assert found.startswith(
            f"--rag-scenario: {name}: the workers of --tx {spec} run in another folder"
        )
        assert found.endswith(f"--rag-scenario={Path.cwd() / name}")
