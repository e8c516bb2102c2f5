"""A scenario file as a collector: one item for each of its cases."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from pytest_rageval.engine.plan import Plan, make_plan
from pytest_rageval.errors import BaselineError, UserError
from pytest_rageval.model import Case, InvalidRow
from pytest_rageval.plugin.garbage import garbage_kept
from pytest_rageval.plugin.items import SampleItem
from pytest_rageval.plugin.names import Names, printable
from pytest_rageval.plugin.options import SETTINGS, Settings, overrides
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
            plan = self._plan()
            self._warn(plan.info.warnings)
            if plan.judged:
                self._prepare_judges(plan)
            names = Names()
            return [self._item(plan, case, names.give(case.id)) for case in plan.cases]

    def _item(self, plan: Plan, case: Case, name: str) -> SampleItem:
        item = SampleItem.from_parent(self, name=name, plan=plan, case=case)
        self._mark(item)
        return item

    def _warn(self, messages: Sequence[str]) -> None:
        try:
            for message in messages:
                self.warn(RagevalWarning(printable(message)))
        except RagevalWarning as error:  # -W error
            raise self.CollectError(str(error)) from error

    def _plan(self) -> Plan:
        try:
            return make_plan(
                self.path,
                overrides(self.config),
                shown=self.nodeid,
                nodeid=self.nodeid,
                places=self._settings.places,
                run=run_settings(self.config),
            )
        except UserError as error:
            self.is_refused = isinstance(error, BaselineError)
            raise self.CollectError(printable(str(error))) from error

    def _prepare_judges(self, plan: Plan) -> None:
        # Not at the top: scenarios without a judge need no event loop.
        from pytest_rageval.plugin.look_ahead import ensure_look_ahead

        ensure_look_ahead(self.config, run_settings(self.config))
        for metric in plan.judged:
            metric.preload()

    @property
    def _settings(self) -> Settings:
        return self.config.stash[SETTINGS]

    def _mark(self, item: SampleItem) -> None:
        case = item.case
        if isinstance(case, InvalidRow):
            if item.plan.on_invalid == "skip":
                item.add_marker(pytest.mark.skip(reason=printable(f"invalid row: {case.reason}")))
            elif item.plan.on_invalid == "xfail":
                item.add_marker(pytest.mark.xfail(reason=printable(f"invalid row: {case.reason}")))
            return
        if case.skip is not None:
            item.add_marker(pytest.mark.skip(reason=printable(case.skip) or "skipped by the row"))
        if case.xfail is not None:
            item.add_marker(pytest.mark.xfail(reason=printable(case.xfail)))
        for tag in case.tags:
            item.add_marker(self._tag(tag))

    def _tag(self, tag: str) -> pytest.MarkDecorator:
        """Return the marker of a tag, registered so that ``--strict-markers`` accepts it."""
        name = _NOT_IN_TAGS.sub("_", printable(tag)).lstrip("_") or "tag"
        if name in _PYTEST_MARKERS:
            name += "_"
        line = f"{name}: a tag of rageval samples"
        if line not in self.config.getini("markers"):
            self.config.addinivalue_line("markers", line)
        return cast("pytest.MarkDecorator", getattr(pytest.mark, name))


def scenario_file(path: Path, parent: pytest.Collector) -> ScenarioFile:
    """Return the collector of ``path``."""
    # A file outside the rootdir gets an empty node id from pytest, and two of them collide.
    root = parent.config.rootpath
    nodeid = None if path.is_relative_to(root) else Path(os.path.relpath(path, root)).as_posix()
    return ScenarioFile.from_parent(parent, path=path, nodeid=nodeid)
