"""Reports on a run while it goes on: how many cases have ended and how, and where its files are."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sized
from pathlib import Path
from typing import Final

import pytest

from pytest_rageval.model import SampleResult, ScenarioView
from pytest_rageval.plugin.child.output import end_with_parent, is_worker, write_line
from pytest_rageval.plugin.run.contests import CONTESTS
from pytest_rageval.plugin.run.gate_reports import GateItem
from pytest_rageval.plugin.run.run_files import WRITTEN
from pytest_rageval.reports.write_variants import ranking_dict
from pytest_rageval.text.codec import plain

EVERY_S: Final = 0.2
"""How often counts are written at most."""


def pytest_configure(config: pytest.Config) -> None:
    """Follow the run, in its main process."""
    if not is_worker(config):
        config.pluginmanager.register(Progress(config), "rageval-progress")
        end_with_parent(config)


class Progress:
    """Counts ended cases, and writes the counts a few times a second."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._total = 0
        self._ended: Counter[str] = Counter()
        self._of_variant: Counter[str] = Counter()
        self._weight = self._sum = 0.0
        self._next = 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note how many cases there are."""
        self._begin(sum(not isinstance(item, GateItem) for item in session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sized) -> None:
        """Note how many cases there are; each worker has found all of them."""
        self._begin(len(ids))

    def _begin(self, total: int) -> None:
        if total > self._total:
            self._total = total
            self._write()

    def pytest_rageval_sample_scored(self, scenario: ScenarioView, result: SampleResult) -> None:
        """Count a case."""
        self._ended[result.outcome] += 1
        if scenario.variant:
            self._of_variant[scenario.variant] += 1
        if result.weighted_score is not None:
            self._weight += result.sample_weight
            self._sum += result.sample_weight * result.weighted_score
        if time.monotonic() >= self._next:
            self._write()

    def _write(self) -> None:
        self._next = time.monotonic() + EVERY_S
        mean = self._sum / self._weight if self._weight > 0.0 else math.nan
        write_line(
            {
                "event": "progress",
                "total": self._total,
                "done": self._ended.total(),
                "outcomes": self._ended,
                "variants": self._of_variant,
                "weighted_score": mean if math.isfinite(mean) else None,
            }
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the last counts, the folders of files, and how the variants rank."""
        self._write()
        for result, folder in self._config.stash.get(WRITTEN, ()):
            is_there = isinstance(folder, Path)
            found = {"folder": str(folder)} if is_there else {"problem": folder}
            named = {"name": result.info.name, "variant": result.info.variant}
            write_line({"event": "result", **named, **found})
        for one in self._config.stash.get(CONTESTS, ()):
            ranking = None if one.ranking is None else ranking_dict(one.ranking)
            gate = None if one.gate is None else plain(one.gate)
            write_line(
                {"event": "contest", "name": one.info.name, "ranking": ranking, "gate": gate}
            )
