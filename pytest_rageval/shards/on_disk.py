"""Whether scenario and data on disk are still those that shards ran with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_rageval.datasets.trec import data_digest
from pytest_rageval.engine.planning.snapshot import snapshot_text
from pytest_rageval.errors import UserError
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec
from pytest_rageval.scenario.loader import inspect_scenario

# An option for a key of one of these may change its other keys: then none of them is compared.
_AS_ONE: Final = ("judge", "embedding", "target", "compare")


def changes_since(info: ScenarioInfo, root: Path) -> Iterator[str]:
    """Yield a line if scenario or data are on this machine, and not as the shards ran with them.

    Without the scenario's file, nothing is compared; without the data, only the scenario. What
    options changed in the shards is not compared: they are not given to a merge.
    """
    path = root / info.path
    if not os.path.isfile(path):  # noqa: PTH113  (false, too, of a name that no file can have)
        return
    ran = yaml.safe_load(info.snapshot)
    found = [*_changed_keys(info, ran, path), *_changed_data(info, ran, path)]
    if found:
        yield (
            f"{info.path}: changed since the shards ran: {', '.join(found)}; merged as they ran. "
            "Run them again to judge what is there now"
        )


def _changed_keys(info: ScenarioInfo, ran: Mapping[str, Any], path: Path) -> Iterable[str]:
    """Return the keys of the scenario that say something else now."""
    try:
        loaded, problems = inspect_scenario(path, shown=info.path, variant=info.variant)
    except UserError:
        return ["the scenario, which cannot be read"]
    if problems:
        return ["the scenario, which is not valid"]
    before, now = _leaves(ran), _leaves(yaml.safe_load(snapshot_text(loaded.scenario)))
    differing = {
        path
        for path in before.keys() | now.keys()
        if before.get(path) != now.get(path) and not is_overridden(path, info.overridden)
    }
    own = () if info.is_of_file else ("name",)  # a test function gives its own
    return sorted({path.partition(".")[0] for path in differing}.difference(own))


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values by dotted paths; a list is one value, and null is left out."""
    if not isinstance(value, Mapping):
        return {} if value is None else {path: value}
    found: dict[str, Any] = {}
    for key, part in value.items():
        found |= _leaves(part, f"{path}.{key}" if path else str(key))
    return found


def is_overridden(path: str, overridden: Iterable[str]) -> bool:
    """Return whether a key, one above it or one below it is among those that were overridden."""
    names = [one.partition(".")[0] if one.startswith(_AS_ONE) else one for one in overridden]
    return any(f"{path}.".startswith(f"{name}.") or name.startswith(f"{path}.") for name in names)


def _changed_data(info: ScenarioInfo, ran: Mapping[str, Any], path: Path) -> Iterator[str]:
    spec = DatasetSpec.model_validate(ran["dataset"])
    second = ran.get("answers")
    answers = None if second is None else AnswersSpec.model_validate(second)
    try:
        digest = data_digest(spec, path.parent, answers)
    except UserError:  # they are elsewhere, or the scenario itself has them
        return
    if digest not in ("", info.dataset_sha256):
        yield f"the data ({spec.path or spec.run_path})"
