"""The public ``patch_scenario``: checks changes, then has them written into a scenario file."""

from __future__ import annotations

import os
from functools import partial
from operator import methodcaller

from pytest_rageval.engine.planning.bind_keys import find_problems
from pytest_rageval.engine.planning.binding import metric_name
from pytest_rageval.errors import UserError
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.scenario import patch
from pytest_rageval.scenario.in_memory import Changes


def patch_scenario(path: str | os.PathLike[str], changes: Changes) -> tuple[str, ...]:
    """Write ``changes`` into the scenario file at ``path``; return the names of the changed keys.

    ``changes`` is nested as the scenario is; None removes a key::

        patch_scenario("bot.yaml", {"metric_weights": {"f1": 0.4}, "judge": "gpt-4o-mini"})
        # ('metric_weights.f1', 'judge.model')

    Equal values are not changes; without changes the file is not touched. Every other character of
    the file stays. Short forms are widened: ``judge: gpt-4o`` becomes a mapping when its
    temperature is set. Lists are replaced as a whole.

    The file is replaced in one step. Raises ScenarioError if the new file would have new problems,
    or would hold keys or passwords.
    """
    __tracebackhide__ = methodcaller("errisinstance", UserError)
    name_of = partial(metric_name, known=METRIC_REGISTRY)
    try:
        return patch.patch_file(path, changes, find_problems, name_of)
    except UserError as error:  # as in ``evaluate``
        raise error.with_traceback(None) from None


def try_changes(path: str | os.PathLike[str], changes: Changes) -> tuple[str, ...]:
    """Return what ``patch_scenario`` would return; nothing is written. Raises the same errors."""
    name_of = partial(metric_name, known=METRIC_REGISTRY)
    return patch.try_patch(path, changes, find_problems, name_of)
