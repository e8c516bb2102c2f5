"""Gates that are given to the merge, not to the shards: ``--rag-gate`` and its like."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.binding import resolve_metric
from pytest_rageval.engine.planning.snapshot import dumped
from pytest_rageval.engine.verdict.sample_verdict import reasons_unjudged
from pytest_rageval.errors import OptionError, Problem, UserError
from pytest_rageval.gates.base import GateOptionError, each_gate
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.model import WEIGHTED_SCORE, Bound, SampleResult, ScenarioInfo
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.short_forms import metric_step, value_at
from pytest_rageval.scenario.yaml.tree import YamlTree
from pytest_rageval.shards.on_disk import is_overridden
from pytest_rageval.stats.verdict import Shortfall, judging, shortfalls


class LateGates:
    """A scenario with gates that its shards did not know of.

    ``info`` is what a whole run with these options has. Raises OptionError for gates that cannot
    be made.
    """

    def __init__(self, info: ScenarioInfo, overrides: Sequence[Override]) -> None:
        names = [column.name for column in info.metrics]
        self._names = names
        tree = YamlTree({"gates": deepcopy(dict(info.gates))}, info.path)
        snapshot = YamlTree(yaml.safe_load(info.snapshot), info.path)
        known = dict(zip(info.overridden, info.overridden_by, strict=True))
        last = {}
        for override in overrides:
            self._resolved(override).apply(tree)
            if name := override.apply(snapshot, self._name):
                known[name], last[name] = override.source, override
        text = dumped(snapshot.data)
        has_own = judging(info.gates) or snapshot.data.get("thresholds")
        stay = has_own or not judging(tree.data["gates"])
        self._checks = {} if stay else info.thresholds
        """What every row had to pass in the shards, where nothing else judged, and need not now."""
        self.info = replace(
            info,
            gates=tree.data["gates"],
            thresholds=info.thresholds if stay else {},
            overridden=tuple(known),
            overridden_by=tuple(known.values()),
            snapshot=text,
            snapshot_sha256=hashlib.sha256(text.encode()).hexdigest(),
        )
        self.replacing = [
            override
            for name, override in last.items()
            if is_overridden(name, info.overridden)
            and self._value(override, info) != self._value(override, self.info)
        ]
        """Those that put another value where the shards were given one."""
        self._refuse_tolerance(info, overrides)
        wanted = {*self.info.thresholds, *self._gated(self.info, overrides)}
        self._plan = Plan(self.info, (), (), frozenset(wanted))
        # What nothing asks about is judged by its weighted score.
        wanted = {*info.thresholds, *(self._gated(info, overrides) or {WEIGHTED_SCORE})}
        self._plan_before = Plan(info, (), (), frozenset(wanted))
        self._given = _flags(overrides)

    def _refuse_tolerance(self, info: ScenarioInfo, overrides: Sequence[Override]) -> None:
        """Refuse what changes which scores a case may lack: the cases are judged already."""
        if self.info.tolerated != info.tolerated:
            message = (
                "gates.unscored for one metric says how cases are judged: give it to the shards"
            )
            raise OptionError([Problem(_flags(overrides), message)])

    def _gated(self, info: ScenarioInfo, overrides: Sequence[Override]) -> set[str]:
        """Return the metrics that a gate is about; raises OptionError."""
        gated: set[str] = set()
        for made in each_gate(info.gates, info):
            if isinstance(made, GateOptionError):
                where = ".".join(("gates", *made.path))
                raise OptionError([Problem(_flags(overrides), f"{where}: {made}")])
            gated.update(target for gate in made for target in gate.targets)
        return gated

    def _name(self, written: str) -> str:
        """Return the name that results use for a metric; other names as written."""
        return _name_in(self._names, written)

    def _resolved(self, override: Override) -> Override:
        """Return an override that names its metric as results do."""
        path: list[Any] = list(override.path)
        at = metric_step(override.path)
        if at:
            path[at] = self._name(path[at])
        return replace(override, path=tuple(path))

    def _value(self, override: Override, info: ScenarioInfo) -> Any:
        return value_at({"gates": info.gates}, self._resolved(override).path)

    def reasons_unjudged(self, result: SampleResult) -> list[str]:
        """Return why a sample is an ERROR now that these gates ask about it; [] if it is none."""
        return reasons_unjudged(self._plan, result)

    def refuse_pardon(self, result: SampleResult) -> None:
        """Raise OptionError for a case that its shard did not pass, and these gates might.

        In a scenario without gates and thresholds, every row has to pass its checks, and a case
        needs its weighted score. With gates neither may hold: only a run with them can tell.
        """
        may_pass = result.outcome == "failed" or result.xfail is not None
        missed = shortfalls(result, self._checks) if may_pass else []
        if missed and all(isinstance(one, Shortfall) for one in missed):
            ended = "FAILED" if result.outcome == "failed" else result.outcome
            message = (
                f"{result.sample_id} {ended} in its shard ({missed[0]}), where for want of gates "
                "every row has to pass its checks: give it to the shards"
            )
            raise OptionError([Problem(self._given, message)])
        if result.outcome != "error" or reasons_unjudged(self._plan, result):
            return
        before = reasons_unjudged(self._plan_before, result)
        if before:
            message = (
                f"{result.sample_id} was an ERROR in its shard ({before[0]}), and with this it is "
                "none: give it to the shards"
            )
            raise OptionError([Problem(self._given, message)])


def is_of_shard(override: Override, info: ScenarioInfo) -> bool:
    """Return whether a shard ran with this key overridden, and with no laxer threshold."""
    names = [column.name for column in info.metrics]
    ran = YamlTree(yaml.safe_load(info.snapshot), info.path)
    try:
        name = override.apply(ran, partial(_name_in, names))
    except UserError:  # what it changes is told in another way there
        return True
    if name is None:
        return True
    section, _, metric = name.partition(".")
    bound = info.thresholds.get(_name_in(names, metric)) if section == "thresholds" else None
    return is_overridden(name, info.overridden) and not (bound and _is_laxer(bound, override.value))


def _is_laxer(bound: Bound, value: Any) -> bool:
    """Return whether a bare number would be stricter than the bound; False for anything else."""
    if not isinstance(value, int | float):
        return False
    above = bound.min is not None and value > bound.min
    return above or (bound.max is not None and value < bound.max)


def _name_in(names: Sequence[str], written: str) -> str:
    """Return the one of the names that a name or alias means; other names as written."""
    return resolve_metric(written, names, METRIC_REGISTRY) or written


def _flags(overrides: Sequence[Override]) -> str:
    return ", ".join(dict.fromkeys(override.flag for override in overrides))
