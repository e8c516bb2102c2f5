"""What the processes of a run share: the settings and folder of clients; who has which name."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.errors import DuplicateNameError, Problem
from pytest_rageval.model import ControlVerdict, ScenarioInfo, verdicts_of
from pytest_rageval.plugin.run.run_hooks import with_late_hooks
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.reports.base import OLD_S
from pytest_rageval.run_paths import folder_name, run_folder

_CLAIMED = pytest.StashKey[dict[Path, tuple[Path, ScenarioInfo]]]()
_RUNS = pytest.StashKey[dict[str, dict[str, ScenarioInfo]]]()


def collected_scenarios(config: pytest.Config) -> list[ScenarioInfo]:
    """Return the scenarios whose files were collected, even if no case is selected.

    First what claimed each name: a scenario file, or a test function over it. Then what came to the
    same file after that: of another function a run for each value of its parameters, if cases of it
    were collected; and the file itself.
    """
    found = {info.nodeid: info for _, info in config.stash.get(_CLAIMED, {}).values()}
    for function, runs in config.stash.get(_RUNS, {}).items():
        if function not in found:
            found |= runs
    return list(found.values())


def note_run(config: pytest.Config, function: str, info: ScenarioInfo) -> None:
    """Note a run of the test function with this node id; each value of its parameters is a run."""
    config.stash.setdefault(_RUNS, {}).setdefault(function, {})[info.nodeid] = info


def with_collected(
    config: pytest.Config, selected: Mapping[str, ScenarioInfo]
) -> dict[str, ScenarioInfo]:
    """Return the selected scenarios by their node ids, and those without a selected case.

    In place of a test function with parameters are its runs, if one of them is selected. Each has
    the names of all run hooks, also of those that were registered after it was read.
    """
    found = dict(selected)
    for info in collected_scenarios(config):
        runs = config.stash.get(_RUNS, {}).get(info.nodeid, {})
        is_split = not runs.keys().isdisjoint(selected)
        found |= (runs if is_split else {info.nodeid: info}) | found
    return {nodeid: with_late_hooks(info, config) for nodeid, info in found.items()}


def claim_name(config: pytest.Config, path: Path, info: ScenarioInfo) -> None:
    """Reserve the scenario's name for the file ``path``; raise DuplicateNameError if it is taken.

    A file may claim its name again, for instance for a test function. A name is taken if its run
    folder, or its folder of baselines, is that of another file's scenario.
    """
    paths = config.stash[SETTINGS].run_paths
    base, way_out = paths.run_base(info.output_dir), "'name' or 'output_dir'"
    folders = [base / run_folder(info.title), base / folder_name(info.name)]
    if paths.baselines is not None:  # one folder for all, whatever their output_dir
        folders.append(paths.baseline_folder(info.title, info.output_dir))
        way_out = "'name'"
    claimed = config.stash.setdefault(_CLAIMED, {})
    # `folders` has that of all variants, too: what compares them is there.
    for folder in folders:
        other, known = claimed.setdefault(folder, (path.resolve(), info))
        if other == path.resolve():
            if info.is_of_file and not known.is_of_file:
                note_run(config, info.nodeid, info)
            continue
        message = (
            f"name: {info.name!r} is also the name of {known.path}: both would share run folder, "
            f"history and baselines. Give one of them another {way_out}"
        )
        raise DuplicateNameError([Problem(info.path, message)])


_PREFIX = "rageval-run-"
_OURS = re.compile(rf"{_PREFIX}(?:(\d{{1,9}})-)?[0-9a-f]{{32}}")
_RUN = pytest.StashKey[RunSettings]()
_INPUT = "rageval_run"
_WARNS = "rageval_warns"
_HAS_WARNER = pytest.StashKey[bool]()

PROBLEMS = pytest.StashKey[tuple[str, ...]]()
"""Key in the config: problems with models that failed no test."""

PROBLEMS_OUTPUT = "rageval_problems"
"""The key under which an xdist worker sends these problems to its controller."""

UNMET = pytest.StashKey[tuple[str, ...]]()
"""Key in the config: what ``--rag-where`` asked for and no row has."""

UNMET_OUTPUT = "rageval_unmet"
"""The key under which an xdist worker sends this to its controller."""


def run_settings(config: pytest.Config) -> RunSettings:
    """Return the settings of this run's clients, made once.

    An xdist worker has the shared folder and the start from its controller.
    """
    known = config.stash.get(_RUN, None)
    if known is None:
        known = config.stash[_RUN] = _make(config)
    return known


def pass_to_worker(config: pytest.Config, workerinput: dict[str, Any]) -> None:
    """Pass the shared folder and the start to an xdist worker; the first one shows warnings."""
    run = run_settings(config)
    workerinput[_INPUT] = {"shared_dir": str(run.shared_dir), "started_at": run.started_at}
    workerinput[_WARNS] = not config.stash.get(_HAS_WARNER, False)
    config.stash[_HAS_WARNER] = True


def usage_so_far(
    config: pytest.Config, scenario: str | None = None
) -> dict[str, float | None] | None:
    """Return what the models cost, over all processes; None if no model was asked.

    For all scenarios, or for the one with the node id ``scenario``.
    """
    folder = run_settings(config).shared_dir
    if folder is None or not folder.is_dir():
        return None
    from pytest_rageval.clients.accounting import is_counted, run_usage, scenario_usage

    if not is_counted(folder):  # only a target was asked, no model
        return None
    used = run_usage(folder) if scenario is None else scenario_usage(folder, scenario)
    return None if used is None else asdict(used)


def verdicts_so_far(config: pytest.Config, info: ScenarioInfo) -> Mapping[str, ControlVerdict]:
    """Return what control rows say of each judge of a scenario, whichever process asked them."""
    if not info.controls:
        return {}
    from pytest_rageval.engine.scoring.control_rows import read_verdict

    folder = run_settings(config).shared_dir
    return verdicts_of(info.controls, lambda digest: read_verdict(folder, digest))


def shows_warnings(config: pytest.Config) -> bool:
    """Return whether this process shows warnings about scenarios.

    Of xdist's workers only the first does, because all of them collect all scenarios.
    """
    return bool(getattr(config, "workerinput", {}).get(_WARNS, True))


def remove_shared(config: pytest.Config) -> None:
    """Remove the shared folder at the end of the run, in the process that made it."""
    run = config.stash.get(_RUN, None)
    if run is None or run.shared_dir is None or hasattr(config, "workerinput"):
        return
    if run.shared_dir.exists():  # most runs ask no model, and have none
        shutil.rmtree(run.shared_dir, ignore_errors=True)
        _remove_old(run.shared_dir.parent)


def _remove_old(folder: Path) -> None:
    """Remove the folders of runs that were killed at least a day ago."""
    for found in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            ours = _OURS.fullmatch(found.name)
            if ours is not None and not _may_live(found, int(ours[1] or 0)):
                shutil.rmtree(found, ignore_errors=True)


def _may_live(folder: Path, process: int) -> bool:
    """Return whether a folder changed within a day, its process still runs, or it is not ours.

    Process 0 is unknown, and counts as ended.
    """
    own = folder.lstat()
    if not stat.S_ISDIR(own.st_mode) or (os.name == "posix" and own.st_uid != os.getuid()):
        return True  # not ours to remove
    newest = max([own.st_mtime, *(entry.stat().st_mtime for entry in os.scandir(folder))])
    return newest > time.time() - OLD_S or _is_running(process)


def _is_running(process: int) -> bool:
    if os.name != "posix" or not process:  # on Windows, os.kill would end the process
        return False
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _new_name() -> str:
    return f"{tempfile.gettempdir()}/{_PREFIX}{os.getpid()}-{uuid.uuid4().hex}"


def _make(config: pytest.Config) -> RunSettings:
    settings = config.stash[SETTINGS]
    shards = settings.shard.of if settings.shard is not None else 1
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    given = workerinput.get(_INPUT, {})
    # Only a name: most runs ask no model, and need no folder.
    folder = given.get("shared_dir") or _new_name()
    return RunSettings(
        cache_dir=settings.cache_dir,
        cache_mode=cast("CacheMode", settings.cache_mode),
        shared_dir=Path(folder),
        processes=int(workerinput.get("workercount", 1)),
        shards=shards,
        budget_usd=None if settings.budget_usd is None else settings.budget_usd / shards,
        is_dry=bool(config.getoption("rag_dry_run")),
        expects_failures=not config.getoption("runxfail", False),
        started_at=float(given.get("started_at", time.time())),
    )
