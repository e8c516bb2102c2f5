"""What the processes of a run share: one folder and one start time, made by the first process."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.plugin.options import SETTINGS

_RUN = pytest.StashKey[RunSettings]()
_INPUT = "rageval_run"

PROBLEMS = pytest.StashKey[tuple[str, ...]]()
"""Where the config keeps what went wrong with the models without failing anything."""

PROBLEMS_OUTPUT = "rageval_problems"
"""The name under which an xdist worker tells its controller the same."""


def run_settings(config: pytest.Config) -> RunSettings:
    """Return what this run's clients share; an xdist worker has it from its controller."""
    known = config.stash.get(_RUN, None)
    if known is None:
        known = config.stash[_RUN] = _make(config)
    return known


def pass_to_worker(config: pytest.Config, workerinput: dict[str, Any]) -> None:
    """Tell a worker, which is about to start, what its run shares."""
    run = run_settings(config)
    workerinput[_INPUT] = {"shared_dir": str(run.shared_dir), "started_at": run.started_at}


def remove_shared(config: pytest.Config) -> None:
    """Remove the folder at the end of the run; only who made it does."""
    run = config.stash.get(_RUN, None)
    if run is not None and run.shared_dir is not None and not hasattr(config, "workerinput"):
        shutil.rmtree(run.shared_dir, ignore_errors=True)


def _make(config: pytest.Config) -> RunSettings:
    settings = config.stash[SETTINGS]
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    given = workerinput.get(_INPUT, {})
    # Only named here: most runs ask no model, and share nothing.
    folder = given.get("shared_dir") or f"{tempfile.gettempdir()}/rageval-run-{uuid.uuid4().hex}"
    return RunSettings(
        cache_dir=settings.cache_dir,
        cache_mode=cast("CacheMode", settings.cache_mode),
        shared_dir=Path(folder),
        processes=int(workerinput.get("workercount", 1)),
        budget_usd=settings.budget_usd,
        started_at=float(given.get("started_at", time.time())),
    )
