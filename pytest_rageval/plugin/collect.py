"""A scenario file as a collector: one item for each of its cases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning import make_plan
from pytest_rageval.errors import BaselineError, UserError
from pytest_rageval.model import Case, InvalidRow
from pytest_rageval.plugin.collection_hooks import (
    known_metrics,
    samples_of_hooks,
    target_of_hooks,
    with_run_hooks,
)
from pytest_rageval.plugin.garbage import garbage_kept
from pytest_rageval.plugin.items import FixtureItem, SampleItem
from pytest_rageval.plugin.names import Names, printable
from pytest_rageval.plugin.options import SETTINGS, overrides
from pytest_rageval.plugin.session import note_refusal
from pytest_rageval.plugin.shared import run_settings

_NOT_IN_TAGS = re.compile(r"[^\w+\-.\\/]+")
# Markers with a meaning of their own: data must not switch off tests by naming a topic "skip".
_PYTEST_MARKERS = ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings")


class RagevalWarning(pytest.PytestWarning):
    """Something in a scenario that is allowed and probably not meant."""


class ScenarioFile(pytest.File):
    """Collects the cases of one scenario file.

    ``is_refused`` says that it could not be collected for want of a run to compare with.
    """

    is_refused = False

    def collect(self) -> list[SampleItem]:
        """Return an item for each case; a scenario that cannot be used is one collection error."""
        with garbage_kept():
            plan = scenario_plan(self.path, self, self.nodeid)
            if plan.is_asked:
                prepare_asking(self.config, plan)
            names = Names()
            return [self._item(plan, case, names.give(case.id)) for case in plan.cases]

    def _item(self, plan: Plan, case: Case, name: str) -> SampleItem:
        kind = SampleItem if plan.target is None or plan.target.fixture is None else FixtureItem
        item = kind.from_parent(self, name=name, plan=plan, case=case)
        for mark in case_marks(self.config, plan, case):
            item.add_marker(mark)
        return item


class FixtureScenarioFile(ScenarioFile, pytest.Module):
    """Collects a scenario whose target is a fixture: only below a module, fixtures have scopes."""

    def _getobj(self) -> ModuleType:
        """Return a module without anything in it, for those who look into every module."""
        return ModuleType(self.path.name.partition(".")[0])


def scenario_file(path: Path, parent: pytest.Collector) -> ScenarioFile:
    """Return the collector of ``path``."""
    # A file outside the rootdir gets an empty node id from pytest, and two of them collide.
    root = parent.config.rootpath
    nodeid = None if path.is_relative_to(root) else Path(os.path.relpath(path, root)).as_posix()
    kind = FixtureScenarioFile if _may_take_a_fixture(path, parent.config) else ScenarioFile
    return kind.from_parent(parent, path=path, nodeid=nodeid)


def _may_take_a_fixture(path: Path, config: pytest.Config) -> bool:
    """Return whether the target may be a fixture; the file is read for good only later."""
    if any(override.path[0] == "target" for override in overrides(config)):
        return True
    try:
        raw = path.read_bytes()
    except OSError:
        return False  # said when it is read
    return b"target" in raw and b"fixture" in raw


def scenario_plan(
    path: Path,
    collector: pytest.Collector,
    nodeid: str,
    *,
    answers_given: bool = False,
) -> Plan:
    """Return the plan of the scenario in ``path``, which ``collector`` is about to collect.

    ``nodeid`` is that of its cases' parent. What is wrong with the scenario is a collection error,
    what is odd a warning; ``collector.is_refused`` is set when a run to compare with is refused.
    """
    config = collector.config
    try:
        plan = make_plan(
            path,
            overrides(config),
            shown=_shown(path, config),
            nodeid=nodeid,
            places=config.stash[SETTINGS].places,
            run=run_settings(config),
            answers_given=answers_given,
            known_metrics=known_metrics(collector.ihook, config),
            give_target=lambda view: target_of_hooks(view, collector.ihook, config),
            change_samples=samples_of_hooks(collector.ihook, config),
        )
        plan = with_run_hooks(plan, collector.ihook, config)
    except UserError as error:
        raise _refused(error, collector) from error
    _warn(plan.info.warnings, collector)
    return plan


def named_plan(plan: Plan, collector: pytest.Collector, name: str, nodeid: str) -> Plan:
    """Return a scenario's plan as that of a run called ``name``, with errors as those above."""
    try:
        named = plan.named(name, nodeid)
    except UserError as error:
        raise _refused(error, collector) from error
    _warn([text for text in named.info.warnings if text not in plan.info.warnings], collector)
    return named


def _refused(error: UserError, collector: pytest.Collector) -> pytest.Collector.CollectError:
    if isinstance(error, BaselineError):
        setattr(collector, "is_refused", True)  # noqa: B010  (collectors of pytest have none)
        note_refusal(collector.config)
    return collector.CollectError(printable(str(error)))


def _warn(messages: Iterable[str], collector: pytest.Collector) -> None:
    try:
        for message in messages:
            collector.warn(RagevalWarning(printable(message)))
    except RagevalWarning as error:  # -W error
        raise collector.CollectError(str(error)) from error


def prepare_asking(config: pytest.Config, plan: Plan) -> None:
    """Have the samples of a scenario asked about ahead, and load what that needs."""
    # Not at the top: scenarios that ask nobody need no event loop.
    from pytest_rageval.engine.kept import preload
    from pytest_rageval.plugin.look_ahead import ensure_look_ahead

    ensure_look_ahead(config, run_settings(config))
    preload(plan, run_settings(config))


def case_marks(config: pytest.Config, plan: Plan, case: Case) -> list[pytest.MarkDecorator]:
    """Return the markers of a case: that it is skipped or expected to fail, and its tags."""
    found = []
    if case.skip is not None:
        found.append(pytest.mark.skip(reason=printable(case.skip) or "skipped by the row"))
    if case.xfail is not None:
        found.append(pytest.mark.xfail(reason=printable(case.xfail)))
    if isinstance(case, InvalidRow):  # after its own: pytest gives the first reason
        reason = printable(f"invalid row: {case.reason}")
        marks = {"skip": pytest.mark.skip(reason=reason), "xfail": pytest.mark.xfail(reason=reason)}
        found += [marks[plan.on_invalid]] if plan.on_invalid in marks else []
    return [*found, *(_tag(config, tag) for tag in case.tags)]


def _tag(config: pytest.Config, tag: str) -> pytest.MarkDecorator:
    """Return the marker of a tag, registered so that ``--strict-markers`` accepts it."""
    name = _NOT_IN_TAGS.sub("_", printable(tag)).lstrip("_") or "tag"
    if name in _PYTEST_MARKERS:
        name += "_"
    line = f"{name}: a tag of rageval samples"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return cast("pytest.MarkDecorator", getattr(pytest.mark, name))


def _shown(path: Path, config: pytest.Config) -> str:
    """Return a path as node ids have it: relative to the rootdir, with slashes."""
    return Path(os.path.relpath(path, config.rootpath)).as_posix()
