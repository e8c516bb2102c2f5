"""Refuses a second scenario file of the same name: both would share runs and baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_rageval.errors import DuplicateNameError, Problem
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.run_paths import folder_name, run_folder

_CLAIMED = pytest.StashKey[dict[Path, tuple[Path, ScenarioInfo]]]()


def collected_scenarios(config: pytest.Config) -> list[ScenarioInfo]:
    """Return the scenarios whose files were collected, even if no case is selected."""
    found = (info for _, info in config.stash.get(_CLAIMED, {}).values())
    return list({info.nodeid: info for info in found}.values())


def claim_name(config: pytest.Config, path: Path, info: ScenarioInfo) -> None:
    """Reserve the scenario's name for the file ``path``; raise DuplicateNameError if it is taken.

    A file may claim its name again, for instance for a test function.
    """
    base = config.stash[SETTINGS].run_paths.run_base(info.output_dir)
    claimed = config.stash.setdefault(_CLAIMED, {})
    # The folder of all variants, too: what compares them is there.
    for folder in (base / run_folder(info.title), base / folder_name(info.name)):
        other, known = claimed.setdefault(folder, (path.resolve(), info))
        if other == path.resolve():
            continue
        message = (
            f"name: {info.name!r} is also the name of {known.path}: both would share run folder, "
            "history and baselines. Give one of them another 'name' or 'output_dir'"
        )
        raise DuplicateNameError([Problem(info.path, message)])
