"""The plugin of pytest processes that the web app and the tools for agents start.

Loaded with ``-p``, it writes what happens as lines of JSON for the process that follows it: a
``problem`` for what cannot be collected; with ``--collect-only`` a ``scenario`` for each scenario
or variant, in place of which ``--rag-child=list`` has the ``home`` of scenarios and a ``file`` for
each of their files; else the ``progress`` of the run, and in the end each ``result`` and
``contest``.
"""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sized
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.cost import cost_of
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import (
    Bound,
    Case,
    InvalidRow,
    Sample,
    SampleResult,
    ScenarioView,
    value_text,
)
from pytest_rageval.plugin.collect.scenario_file import ScenarioFile
from pytest_rageval.plugin.options import VARIANT, touching
from pytest_rageval.plugin.run.gate_reports import CONTESTS, GateItem
from pytest_rageval.plugin.run.items import case_of
from pytest_rageval.plugin.run.run_files import WRITTEN
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.reports.write_run import ranking_dict
from pytest_rageval.scenario.loader import inspect_scenario
from pytest_rageval.serving.children import OUTPUT, PARENT
from pytest_rageval.stats.weights import field_value
from pytest_rageval.text.codec import as_json

EVERY_S: Final = 0.2
"""Seconds between the counts that ended cases write, at least."""

_LOOK_S = 1.0
_PATIENCE_S = 10.0
_MOST_DOCUMENTS = 1000
_MOST_GROUPS = 20


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of a child.

    What ``--rag-only`` names is named by ``--rag-scenario``, too: by that pytest finds the rootdir.
    """
    modes = "list: scenario files alone; aside: save nothing; rows: leave out what judges them"
    parser.addoption("--rag-child", action="append", default=[], help=modes)
    parser.addoption("--rag-only", action="append", help="a file to collect, and no other")
    parser.addoption("--rag-only-variant", action="append", help="a variant to run, and no other")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Forget what the modes rule out, wherever the project gives it; set the variants to run."""
    if _is(config, "aside"):
        _forget(config, "baseline", "answers")
        config.option.xmlpath = None
    if _is(config, "rows"):
        _forget(config, "samples", "scores", "gates")
    wanted = config.getoption("rag_only_variant")
    if wanted:
        setattr(config.option, VARIANT.dest, wanted)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the files that were named before, which still decide the rootdir; follow the run."""
    only = config.getoption("rag_only")
    if only:
        config.args[:] = only
        config.args_source = pytest.Config.ArgsSource.ARGS
    if _is(config, "list"):  # what is in the files is not collected
        config.args[:] = [argument.partition("::")[0] for argument in config.args]
        _write("home", path=str(_home(config)))
    if hasattr(config, "workerinput"):
        return  # only the main process writes; workers end with it
    if PARENT in os.environ:
        parent = int(os.environ[PARENT])
        threading.Thread(target=_end_after, args=[parent], daemon=True).start()
    is_run = not config.getoption("collectonly")
    follower = Progress(config) if is_run else Outlines()
    config.pluginmanager.register(follower, "rageval-child")


def _home(config: pytest.Config) -> Path:
    """Return the first folder in the rootdir that pytest looks for scenarios in, or the rootdir."""
    named = (config.invocation_params.dir / argument for argument in config.args)
    folders = [one.resolve() for one in named if one.is_dir()]
    return next((one for one in folders if one.is_relative_to(config.rootpath)), config.rootpath)


def _is(config: pytest.Config, mode: str) -> bool:
    return mode in config.getoption("rag_child")


def _forget(config: pytest.Config, *kinds: Any) -> None:
    for option in touching(*kinds):
        setattr(config.option, option.dest, None)
        os.environ.pop(option.variable, None)


def _end_after(parent: int) -> None:
    """Interrupt this process, as Ctrl-C would, once ``parent`` is gone; ten seconds later, kill it.

    It is killed only where it leads a process group, with its workers.
    """
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_PATIENCE_S)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)


def _write(event: str, **values: Any) -> None:
    """Append an event to the file that the variable ``OUTPUT`` names, if it names one."""
    path = os.environ.get(OUTPUT)
    if path:
        fields = {"event": event, **values}
        line = json.dumps(fields, ensure_ascii=False, allow_nan=False, default=str)
        with Path(path).open("ab") as stream:
            stream.write(line.encode("utf-8", "backslashreplace") + b"\n")


# Scenario files


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[Any], list[Any]]:
    """With ``--rag-child=list``, list a scenario file when it is collected; collect no items."""
    collectors = yield
    if _is(parent.config, "list"):
        for collector in collectors:
            for node in collector if isinstance(collector, list) else [collector]:
                # pytest calls ``collect`` for the files that were named, not for those beside them.
                listed = partial(_listed, file_path, node.nodeid, parent.config)
                collect = listed if isinstance(node, ScenarioFile) else list
                setattr(node, "collect", collect)  # noqa: B010  (a method)
    return collectors


def _listed(path: Path, shown: str, config: pytest.Config) -> list[pytest.Item]:
    _write("file", path=str(path), shown=shown, **_entry(path, shown, config))
    return []


def _entry(path: Path, shown: str, config: pytest.Config) -> dict[str, Any]:
    """Return the name of a scenario; where its file cannot be read as one, the first problem."""
    entry: dict[str, Any] = {"name": None, "output_dir": None, "problem": None}
    entry |= {"variants": [], "has_best": False}
    try:
        loaded, _ = inspect_scenario(path, config.stash[SETTINGS].overrides, shown)
    except ScenarioError as error:
        return {**entry, "problem": str(error).splitlines()[0]}
    scenario, wanted = loaded.scenario, VARIANT.values(config)
    variants = [name for name in loaded.variants if not wanted or name in wanted]
    of_file = {"name": scenario.name, "output_dir": scenario.output_dir, "variants": variants}
    has_best = scenario.best is not None and scenario.best.at_least is not None
    return {**entry, **of_file, "has_best": has_best}


# What is wrong with them, and what they are


class Problems:
    """Writes what is wrong with a scenario."""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Write why a file, or a part of it, cannot be collected."""
        if report.failed:
            _write("problem", nodeid=report.nodeid, text=str(report.longrepr))


class Outlines(Problems):
    """Writes what is measured, weighed and asked once everything is collected; nothing is run."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write a line for each scenario, or for each variant of it."""
        plans: dict[str, tuple[Plan, list[Case]]] = {}
        for item in session.items:
            run = case_of(item)
            if run is not None:
                plans.setdefault(run.plan.info.nodeid, (run.plan, []))[1].append(run.case)
        for plan, cases in plans.values():
            _write("scenario", **outline(plan, cases))


def outline(plan: Plan, cases: Iterable[Case]) -> dict[str, Any]:
    """Return what can be said of a scenario before it is run.

    ``samples`` counts all cases, those that are ``invalid`` too; ``docs`` valid ones by document.
    """
    info, cases = plan.info, list(cases)
    fields = ("doc_name", *info.metadata_columns)
    samples = [case for case in cases if not isinstance(case, InvalidRow)]
    docs = Counter(sample.doc_name for sample in samples if sample.doc_name)
    return {
        "name": info.name,
        "path": info.path,
        "variant": info.variant,
        "description": info.description,
        "output_dir": info.output_dir,
        "samples": len(cases),
        "invalid": sum(isinstance(case, InvalidRow) for case in cases),
        "metrics": [
            {
                "name": column.name,
                "weight": column.weight,
                "range": list(column.ends),
                "higher_is_better": column.higher_is_better,
                "threshold": _ends(info.thresholds.get(column.name)),
            }
            for column in info.metrics
        ],
        "weighted_threshold": _ends(info.thresholds.get("weighted_score")),
        "gates": dict(info.gates),
        "compare": [{"name": run.baseline, "looks": run.test.looks} for run in info.compare],
        "doc_weights": dict(info.doc_weights),
        "docs": dict(docs.most_common(_MOST_DOCUMENTS)),
        "groups": [name for name in fields if _are_few(name, samples)],
        "bands": list(info.bands),
        "asks": _asked(plan),
        "cost": cost_of(plan, cases),
        "overridden": list(info.overridden),
        "warnings": list(info.warnings),
    }


def _are_few(field: str, samples: Iterable[Sample]) -> bool:
    """Return whether a field has 2 to 20 values, so that gates can judge each of them apart."""
    values = {value_text(field_value(sample, field)) for sample in samples} - {"None"}
    return 2 <= len(values) <= _MOST_GROUPS


def _ends(bound: Bound | None) -> dict[str, float | None] | None:
    return None if bound is None else {"min": bound.min, "max": bound.max}


def _asked(plan: Plan) -> list[str]:
    """Return what the run asks: the target, and the models by their names."""
    models = [model.model for model in (plan.models.judge, plan.models.embedding) if model]
    return [*([plan.target.shown] if plan.target is not None else []), *models]


# A run


class Progress(Problems):
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
        _write(
            "progress",
            total=self._total,
            done=self._ended.total(),
            outcomes=self._ended,
            variants=self._of_variant,
            weighted_score=mean if math.isfinite(mean) else None,
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the last counts, the folders of files, and how the variants rank."""
        self._write()
        for result, folder in self._config.stash.get(WRITTEN, ()):
            key = "folder" if isinstance(folder, Path) else "problem"
            named = {"name": result.info.name, "variant": result.info.variant}
            _write("result", **named, **{key: str(folder)})
        for contest in self._config.stash.get(CONTESTS, ()):
            ranking = None if contest.ranking is None else ranking_dict(contest.ranking)
            gate = None if contest.gate is None else as_json(contest.gate)
            _write("contest", name=contest.info.name, ranking=ranking, gate=gate)
