"""Lists the scenario files that pytest would collect; opens no data, and collects nothing."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError
from pytest_rageval.plugin.child.output import write_line
from pytest_rageval.plugin.collect.scenario_file import ScenarioFile
from pytest_rageval.scenario.loader import decode_scenario, inspect_tree, parse_scenario


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Write a line for each scenario file, and keep pytest from collecting it or any other."""
    found = yield
    for collector in found:
        for one in collector if isinstance(collector, list) else [collector]:
            if isinstance(one, ScenarioFile):
                write_line(_entry(file_path, one.nodeid))
    return []


def _entry(path: Path, shown: str) -> dict[str, Any]:
    """Return the name of a scenario; where its file cannot be read as one, the first problem."""
    entry = {"path": str(path), "shown": shown, "name": None, "output_dir": None, "problem": None}
    try:
        tree = parse_scenario(decode_scenario(path.read_bytes(), shown), path, shown)
        loaded, _ = inspect_tree(tree, path)
    except (ScenarioError, OSError) as error:
        return {**entry, "problem": str(error).splitlines()[0]}
    scenario = loaded.scenario
    return {**entry, "name": scenario.name, "output_dir": scenario.output_dir}
