"""``evaluate`` runs a scenario in a script or notebook; it writes files only where asked to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from operator import methodcaller
from pathlib import Path
from typing import Any, Final

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import GivenRows
from pytest_rageval.engine.evaluate import Evaluated, Progress, evaluate_plan
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import OptionError, Problem, ScenarioError, UserError
from pytest_rageval.executors.base import UserWorkers, Workers
from pytest_rageval.model import ScenarioResult, title_of
from pytest_rageval.notebooks.frames import EvaluationResult, given_rows, is_frame, library_of
from pytest_rageval.notebooks.progress import shown_progress
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.reports.base import requested_reports
from pytest_rageval.reports.history import record
from pytest_rageval.reports.write_run import run_info, write_run
from pytest_rageval.run_paths import EVALUATION_ROWS, RunPaths
from pytest_rageval.scenario.in_memory import Changes, name_given_rows, overrides_of, tree_of
from pytest_rageval.scenario.loader import read_scenario
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import Scenario

AnyScenario = str | os.PathLike[str] | Scenario | Mapping[str, Any]
"""The path of a file, a Scenario, or what a file holds."""


@dataclass(frozen=True, slots=True)
class Handed:
    """What Python code hands over, and no file could hold: a function that answers, and rows."""

    target: Callable[..., Any] | None = None
    rows: GivenRows | None = None
    library: str = ""
    """The library of the data frame that the rows came from; empty where they came from none."""


def evaluate(  # noqa: PLR0913  (all but the scenario are options)
    scenario: AnyScenario | None = None,
    overrides: Iterable[Override | str] | Changes = (),
    *,
    variant: str = "",
    dataset: Any = None,
    folder: str | os.PathLike[str] | None = None,
    target: Callable[..., Any] | None = None,
    progress: bool | Progress | None = None,
    run: RunSettings | None = None,
    write_to: str | os.PathLike[str] | None = None,
    reports: Iterable[str] = (),
    executor: Executor | None = None,
) -> EvaluationResult:
    """Score every case of a scenario, decide its gates, and return the result.

    ``scenario`` is the path of a file, a Scenario, or a mapping with the content of a file. The
    data files of a Scenario or mapping are relative to ``folder`` (default: the working directory).
    ``overrides`` is a mapping, ``{"metric_weights": {"f1": 2}}``, or a list of texts as for
    ``--rag-set``, ``["metric_weights.f1=2"]``. ``variant`` is the one to score, of a scenario that
    has variants; ``evaluate_variants`` scores all of them. ``dataset`` is a data frame, or a list
    of mappings, whose rows take the place of the scenario's; ``target`` is a function, async or
    not, that answers instead of the scenario's own target, within that target's limits. A mapping
    may also hold both under these keys.

    ``progress`` is called as ``progress(done, total)`` with numbers of samples; True shows it on
    stderr, at a terminal or in a notebook. ``run`` says where replies are cached and what
    they may cost; without it nothing is cached. ``write_to`` is a folder for the files of the run,
    as for ``--rag-output``; ``reports`` names additional ones, as for ``--rag-report``.
    ``executor`` is one of ``concurrent.futures``, or of Dask, loky or mpi4py, whose workers compute
    the metrics that ask no model; it is left open. Without one all is done in this process.

    It may be called while an event loop runs. Raises ScenarioError, which lists all problems, when
    scenario or data cannot be used, BaselineError for a saved run that cannot be compared with,
    OptionError for other arguments, and MissingExtraError for data that only pyarrow can read.
    """
    __tracebackhide__ = methodcaller("errisinstance", UserError)
    requested = requested_of(reports, write_to)
    run, workers = run or RunSettings(), workers_of(executor)
    try:
        scenario, handed = take_out(scenario, target, dataset)
        given, writes = overrides_of(overrides), write_to is not None
        plan = plan_of(scenario, given, folder, handed, run, variant, writes=writes)
    except UserError as error:
        # Without our own frames and causes: --showlocals would print the whole scenario.
        raise error.with_traceback(None) from None
    result, _ = evaluate_planned(plan, run, progress, write_to, requested, workers)
    return EvaluationResult.of(result, handed.library)


def expect(name: str, value: object, kind: Any, words: str) -> None:
    """Raise OptionError for an argument that is neither None nor of that kind."""
    if value is not None and not isinstance(value, kind):
        message = f"expected {words}, found a value of type {type(value).__name__}"
        raise OptionError([Problem(name, message)])


def workers_of(executor: Executor | None) -> Workers | None:
    """Return the workers of an executor; raises OptionError for another object."""
    expect("executor", executor, Executor, "an Executor of concurrent.futures")
    return None if executor is None else UserWorkers(executor)


def evaluate_planned(
    plan: Plan,
    run: RunSettings,
    progress: bool | Progress | None,
    write_to: str | os.PathLike[str] | None,
    requested: tuple[str, ...],
    workers: Workers | None = None,
) -> tuple[ScenarioResult, Path | None]:
    """Score every case of a plan, write the files if wanted; return the result and their folder."""
    expect("progress", progress, (bool, Callable), "True, False or a function")
    started = datetime.now(UTC)
    plan = replace(plan, keeps_expected=EVALUATION_ROWS in requested)
    with shown_progress(progress, plan.info.title) as listener:
        evaluated = evaluate_plan(plan, run, listener, workers)
    if write_to is not None:
        return _write(evaluated, started, Path(write_to), requested)
    return evaluated.result, None


def requested_of(reports: Iterable[str], write_to: object) -> tuple[str, ...]:
    """Return the names of the reports; OptionError for mistakes, before anything is paid for."""
    expect("reports", reports, Iterable, "names of reports")
    expect("write_to", write_to, (str, os.PathLike), "a path")
    names = [reports] if isinstance(reports, str) else [*map(str, reports or ())]
    if names and write_to is None:
        raise OptionError([Problem("reports", "need a folder, write_to")])
    try:
        return requested_reports(names)
    except UnknownNameError as error:
        raise OptionError([Problem("reports", str(error))]) from error


_EXPECTED: Final = "expected a path, a Scenario or a mapping"
_EXAMPLE: Final = 'evaluate({"metrics": ["f1"]}, dataset=rows)'


def take_out(
    scenario: AnyScenario | None, target: Callable[..., Any] | None = None, dataset: Any = None
) -> tuple[AnyScenario, Handed]:
    """Return a scenario that a file could hold, and the function and rows taken out of it.

    ``target`` and ``dataset`` take the place of the scenario's. Raises OptionError for a
    ``dataset`` that is no data, ScenarioError without a scenario.
    """
    if scenario is None or is_frame(scenario):
        found = "found none" if scenario is None else "found rows; hand them over as dataset="
        raise ScenarioError([Problem("scenario", f"{_EXPECTED}, {found}: {_EXAMPLE}")])
    if isinstance(scenario, Mapping):
        if callable(scenario.get("target")):
            target = scenario["target"] if target is None else target
            scenario = {key: value for key, value in scenario.items() if key != "target"}
        data = scenario.get("dataset")
        rest, held = (dict(data), data.get("rows")) if isinstance(data, Mapping) else ({}, data)
        if is_frame(held):
            rest.pop("rows", None)
            rows = given_rows(held)
            scenario = {**scenario, "dataset": {**rest, "path": rows.shown}}
            if dataset is None:
                return scenario, Handed(target, rows, library_of(held))
    if dataset is None:
        return scenario, Handed(target)
    rows = replace(given_rows(dataset), must_be_used=True)
    return scenario, Handed(target, rows, library_of(dataset))


def plan_of(  # noqa: PLR0913  (what ``evaluate`` takes)
    scenario: AnyScenario,
    overrides: list[Override],
    folder: str | os.PathLike[str] | None,
    handed: Handed,
    run: RunSettings,
    variant: str,
    *,
    writes: bool = False,
) -> Plan:
    """Return the plan of what ``evaluate`` was given; raises its UserErrors.

    ``writes``: whether files of the run are written, which may take the place of others.
    """
    expect("target", handed.target, Callable, "a function (a scenario's own may be an import path)")
    expect("folder", folder, (str, os.PathLike), "a path")
    expect("run", run, RunSettings, "RunSettings")
    if isinstance(scenario, str | os.PathLike):
        if folder is not None:
            message = "only for scenarios without a file; in a file, paths are relative to the file"
            raise OptionError([Problem("folder", message)])
        path = Path(scenario)
        tree = None if handed.rows is None else read_scenario(path, path.name)
    else:
        path, tree = Path(folder or Path.cwd()) / "scenario.yaml", tree_of(scenario)
    if tree is not None and handed.rows is not None:
        name_given_rows(tree, handed.rows.shown)
    shown = path.name if tree is None else tree.source
    plan = make_plan(
        path,
        overrides,
        shown=shown,
        nodeid=title_of(shown, variant),
        variant=variant,
        run_paths=RunPaths(Path.cwd()) if writes else None,
        run=run,
        tree=tree,
        rows=handed.rows,
        give_target=lambda _view: handed.target,
    )
    if handed.target is not None:
        return _with_shown_function(plan, handed.target)
    if plan.target is not None and plan.target.make is None:
        message = f"target: {plan.target.shown} exists only when pytest runs the scenario"
        hint = "use an import path, or evaluate(..., target=function)"
        raise ScenarioError([Problem(plan.info.path, f"{message}; {hint}")])
    return plan


def _with_shown_function(plan: Plan, function: Callable[..., Any]) -> Plan:
    """Return the plan with the name of the function that answers, as what reports show."""
    if plan.target is None:
        return plan
    shown = f"function {getattr(function, '__name__', type(function).__name__)!r}"
    info = replace(plan.info, target=shown)
    return replace(plan, target=replace(plan.target, shown=shown), info=info)


def _write(
    evaluated: Evaluated, started: datetime, output: Path, requested: tuple[str, ...]
) -> tuple[ScenarioResult, Path]:
    """Write the files of a run; return its result with the remarks about them, and their folder."""
    result, usage = evaluated.result, evaluated.usage
    run = run_info(result, started, datetime.now(UTC), usage=asdict(usage) if usage else None)
    folder = write_run(result, run, Path.cwd(), output, requested)
    remarks = (*result.info.remarks, *record(result, run, folder))
    return replace(result, info=replace(result.info, remarks=remarks)), folder
