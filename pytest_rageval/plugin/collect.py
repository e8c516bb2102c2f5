"""A scenario file as a collector: one item for each of its cases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from pytest_rageval.engine.plan import Plan, make_plan
from pytest_rageval.errors import UserError
from pytest_rageval.model import InvalidRow
from pytest_rageval.plugin.items import SampleItem
from pytest_rageval.plugin.options import overrides

_MAX_NAME = 200
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NOT_IN_TAGS = re.compile(r"[^\w:+\-.\\/]+")


class RagevalWarning(pytest.PytestWarning):
    """Something in a scenario that is allowed and probably not meant."""


class ScenarioFile(pytest.File):
    """Collects the cases of one scenario file."""

    def collect(self) -> Iterator[SampleItem]:
        """Yield an item for each case; a scenario that cannot be used is one collection error."""
        plan = self._plan()
        for warning in plan.info.warnings:
            self.warn(RagevalWarning(warning))
        names = _Names()
        for case in plan.cases:
            name = names.give(case.id)
            item = SampleItem.from_parent(self, name=name, plan=plan, case=case)
            self._mark(item)
            yield item

    def _plan(self) -> Plan:
        try:
            return make_plan(
                self.path, overrides(self.config), shown=self.nodeid, nodeid=self.nodeid
            )
        except UserError as error:
            raise self.CollectError(printable(str(error))) from error

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


class _Names:
    """Item names from sample ids: what pytest can select on its command line, each once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, sample_id: str) -> str:
        # ``::`` would split the node id, ``[`` breaks --lf, control characters break terminals.
        name = sample_id.replace("::", ":").replace("[", "(").replace("]", ")")
        name = _NOT_IN_NAMES.sub("?", name)[:_MAX_NAME].strip().rstrip(":") or "sample"
        unique, count = name, 1
        while unique in self._given:
            count += 1
            unique = f"{name}~{count}"
        self._given.add(unique)
        return unique


def printable(text: str) -> str:
    """Return ``text`` without lone surrogates, which neither a terminal nor xdist can carry."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
