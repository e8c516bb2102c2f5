"""``patch_scenario``: values written into a scenario file, which is checked before."""

from __future__ import annotations

import os
from functools import partial

from pytest_rageval.engine.binding import metric_name
from pytest_rageval.engine.check import find_problems
from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.scenario import patch
from pytest_rageval.scenario.changes import Changes


def patch_scenario(path: str | os.PathLike[str], changes: Changes) -> tuple[str, ...]:
    """Write ``changes`` into the scenario file at ``path``; return the names of what changed.

    ``changes`` is nested as the scenario is; None removes a key::

        patch_scenario("bot.yaml", {"metric_weights": {"f1": 0.4}, "judge": "gpt-4o-mini"})
        # ('metric_weights.f1', 'judge.model')

    A value that is there already is no change; without changes the file is not touched. All else
    in the file stays as it is, to the character. Short forms are widened: ``judge: gpt-4o``
    becomes a mapping when its temperature is set. Lists are replaced as a whole.

    The file is replaced in one step, and only by one that has no new problems: else ScenarioError.
    It is raised, too, for keys and passwords. Needs ruamel.yaml: MissingExtraError without it.
    """
    name_of = partial(metric_name, known=METRIC_REGISTRY)
    return patch.patch_file(path, changes, find_problems, name_of)
