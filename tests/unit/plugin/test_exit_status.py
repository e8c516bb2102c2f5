"""[G5] Options that ask for quality in a run that judged none: wrong use, and never green."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fake_config import configured

from pytest_rageval.plugin.exit_status import refuse_empty_run

USAGE = pytest.ExitCode.USAGE_ERROR


def ended(
    config: Any, status: int = pytest.ExitCode.OK, *, has_scenario: bool = False
) -> tuple[int, str]:
    """Return the exit status of a run that would end with ``status``, and what it says."""
    said: list[str] = []
    reporter = SimpleNamespace(write_line=lambda text, **_: said.append(text))
    config.pluginmanager = SimpleNamespace(get_plugin=lambda _: reporter)
    session = SimpleNamespace(config=config, exitstatus=status)
    refuse_empty_run(cast("pytest.Session", session), has_scenario=has_scenario)
    return session.exitstatus, "".join(said)


@pytest.mark.parametrize(
    "option",
    [
        "--rag-fail-under=0.5",
        "--rag-gate=f1=0.5",
        "--rag-compare-fail=f1:0.1",
        "--rag-save=main",
        "--rag-save-failed=main",
        "--rag-strict",
    ],
)
def test_without_a_scenario_it_is_wrong_use(tmp_path: Path, option: str) -> None:
    """[G5] Also where other tests passed. What is set for all runs (addopts) is no question."""
    for status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        exit_status, said = ended(configured(tmp_path, option), status)
        assert exit_status == USAGE
        flag = option.partition("=")[0]
        assert said == (
            f"ERROR: {flag}: no case of a scenario ran, so nothing was judged. All cases were "
            "deselected (-k, -m, --deselect, --rag-where), or there is no scenario. Name one with "
            "--rag-scenario=FILE; no file here matches *.rageval.yaml *.rageval.yml"
        )
    assert ended(configured(tmp_path, addopts=[option])) == (0, "")


def test_other_runs_end_as_they_are(tmp_path: Path) -> None:
    """[G5] Judged, red already, only collected, without such an option, or a worker of xdist."""
    config = configured(tmp_path, "--rag-strict")
    assert ended(config, has_scenario=True)[0] == pytest.ExitCode.OK
    assert ended(config, pytest.ExitCode.TESTS_FAILED)[0] == pytest.ExitCode.TESTS_FAILED
    assert ended(configured(tmp_path, "--rag-strict", collectonly=True))[0] == pytest.ExitCode.OK
    assert ended(configured(tmp_path, "--rag-limit=1"))[0] == pytest.ExitCode.OK
    worker: Any = config
    worker.workerinput = {}
    assert ended(worker)[0] == pytest.ExitCode.OK


def test_a_scenario_that_was_not_selected_is_named(tmp_path: Path) -> None:
    """[G5] The first one below the rootdir, by its name; or that its cases were left out."""
    for name in ("node_modules/a.rageval.yaml", "b/qa.rageval.yaml", "c/qa.rageval.yaml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    _, said = ended(configured(tmp_path, "--rag-gate=em=0", "--rag-strict"))
    assert said.startswith("ERROR: --rag-gate, --rag-strict: no case of a scenario ran, ")
    assert said.endswith(
        "b/qa.rageval.yaml was not selected: see testpaths, norecursedirs, -k and --rag-where, "
        "or name it: "
        "--rag-scenario=b/qa.rageval.yaml"
    )
    _, said = ended(configured(tmp_path, "--rag-strict", "--rag-scenario=b/qa.rageval.yaml"))
    assert said.endswith("All cases were deselected (-k, -m, --deselect, --rag-where)")
