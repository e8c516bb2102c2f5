"""A scenario file read by itself, whose first problems are an error."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario, inspect_scenario
from pytest_rageval.scenario.overrides import Override


def load_scenario(
    path: Path, overrides: Iterable[Override] = (), shown: str = ""
) -> LoadedScenario:
    """Return the scenario in ``path`` with ``overrides`` applied.

    ``shown`` is the file's name in messages. Raises ScenarioError with every problem of the file.
    """
    loaded, problems = inspect_scenario(path, overrides, shown)
    if problems:
        raise ScenarioError(problems)
    return loaded
