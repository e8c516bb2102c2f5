"""Folders that runs share, and those that killed runs left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fake_config import configured

from pytest_rageval.plugin.run.run_settings import (
    _new_name,
    _remove_old,
    pass_to_worker,
    run_settings,
    shows_warnings,
)

DAYS_AGO = time.time() - 2 * 24 * 3600
HEX = "0123456789abcdef" * 2


def made(path: Path) -> Path:
    """Return a folder with a file, both two days old."""
    path.mkdir()
    (path / "ledger").write_text("x", encoding="utf-8")
    for one in (path / "ledger", path):
        os.utime(one, (DAYS_AGO, DAYS_AGO))
    return path


@pytest.fixture
def dead() -> int:
    """Return the id of a process that is gone."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_only_old_folders_of_dead_runs_are_removed(tmp_path: Path, dead: int) -> None:
    """[R9] After a kill; a live run may be idle for days, and others have such names, too."""
    old = [made(tmp_path / f"rageval-run-{dead}-{HEX}"), made(tmp_path / f"rageval-run-{HEX}")]
    live = made(tmp_path / Path(_new_name()).name)
    used = made(tmp_path / f"rageval-run-{dead}-{HEX[::-1]}")
    (used / "ledger").write_text("y", encoding="utf-8")
    foreign = made(tmp_path / "rageval-run-mine")
    link = tmp_path / f"rageval-run-{HEX[::-1]}"
    link.symlink_to(foreign)
    _remove_old(tmp_path)
    assert [path.exists() for path in old] == [False, False]
    assert all(path.exists() for path in (live, used, foreign, link))


def test_workers_share_the_run_of_their_controller_and_one_of_them_warns(tmp_path: Path) -> None:
    """[U6] All of them collect all scenarios; a process without workers warns itself."""
    controller = configured(tmp_path, "--rag-budget=2", "--rag-cache=off")
    assert shows_warnings(controller)
    told: list[dict[str, Any]] = [{"workercount": 2}, {"workercount": 2}]
    for workerinput in told:
        pass_to_worker(controller, workerinput)
    workers = [configured(tmp_path, "--rag-budget=2", "--rag-cache=off") for _ in told]
    for worker, workerinput in zip(workers, told, strict=True):
        cast("SimpleNamespace", worker).workerinput = workerinput
    assert [shows_warnings(worker) for worker in workers] == [True, False]
    run = run_settings(controller)
    for worker in workers:
        shared = run_settings(worker)
        assert (shared.shared_dir, shared.started_at) == (run.shared_dir, run.started_at)
        assert (shared.processes, shared.budget_usd, shared.cache_mode) == (2, 2.0, "off")


def test_a_shard_has_its_part_of_the_budget(tmp_path: Path) -> None:
    """[E17] And knows of how many it is, for the limits."""
    run = run_settings(configured(tmp_path, "--rag-shard=2/4", "--rag-budget=6"))
    assert (run.budget_usd, run.shards) == (1.5, 4)
    whole = run_settings(configured(tmp_path, "--rag-budget=6"))
    assert (whole.budget_usd, whole.shards) == (6.0, 1)
