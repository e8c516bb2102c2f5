"""Lists the scenario files that pytest would collect; opens no data, and collects nothing."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.plugin.child.output import end_with_parent, write_line
from pytest_rageval.plugin.collect.scenario_file import ScenarioFile
from pytest_rageval.plugin.options import VARIANT
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.scenario.loader import inspect_scenario


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Look into whole files: what is in them is not collected."""
    end_with_parent(config)
    config.args[:] = [argument.partition("::")[0] for argument in config.args]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """Have a scenario file write a line when it is collected, and no file collect anything."""
    found = yield
    for collector in found:
        for one in collector if isinstance(collector, list) else [collector]:
            # pytest calls it for the files that were named, not for those beside them.
            is_ours = isinstance(one, ScenarioFile)
            listed = partial(_listed, file_path, one.nodeid, parent.config)
            setattr(one, "collect", listed if is_ours else list)  # noqa: B010  (a method)
    return found


def _listed(path: Path, shown: str, config: pytest.Config) -> list[pytest.Item]:
    write_line(_entry(path, shown, config))
    return []


def _entry(path: Path, shown: str, config: pytest.Config) -> dict[str, Any]:
    """Return the name of a scenario; where its file cannot be read as one, the first problem."""
    entry: dict[str, Any] = {"path": str(path), "shown": shown, "name": None, "output_dir": None}
    entry |= {"problem": None, "variants": []}
    try:
        loaded, _ = inspect_scenario(path, config.stash[SETTINGS].overrides, shown)
    except ScenarioError as error:
        return {**entry, "problem": str(error).splitlines()[0]}
    scenario, wanted = loaded.scenario, VARIANT.values(config)
    variants = [name for name in loaded.variants if not wanted or name in wanted]
    found = {"name": scenario.name, "output_dir": scenario.output_dir, "variants": variants}
    return {**entry, **found}
