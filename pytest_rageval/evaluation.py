"""``evaluate`` runs a scenario in a script or notebook and writes its files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from operator import methodcaller
from pathlib import Path
from typing import Any, TextIO

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.evaluate import Evaluated, Progress, evaluate_plan
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import OptionError, Problem, ScenarioError, UserError
from pytest_rageval.model import ScenarioResult, title_of
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.reports.base import requested_reports
from pytest_rageval.reports.run_info import run_info
from pytest_rageval.reports.write_run import write_run
from pytest_rageval.run_paths import EVALUATION_ROWS
from pytest_rageval.scenario.in_memory import Changes, overrides_of, tree_of
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.text.printable import one_line

_EVERY_S = 0.1


def evaluate(  # noqa: PLR0913  (all but the scenario are options)
    scenario: str | os.PathLike[str] | Scenario | Mapping[str, Any],
    overrides: Iterable[Override | str] | Changes = (),
    *,
    variant: str = "",
    folder: str | os.PathLike[str] | None = None,
    target: Callable[..., Any] | None = None,
    progress: bool | Progress | None = None,
    run: RunSettings | None = None,
    write_to: str | os.PathLike[str] | None = None,
    reports: Iterable[str] = (),
) -> ScenarioResult:
    """Score every case of a scenario in this process, decide its gates, and return the result.

    ``scenario`` is the path of a file, a Scenario, or a mapping with the content of a file. The
    data files of a Scenario or mapping are relative to ``folder`` (default: the working directory).
    ``overrides`` is a mapping, ``{"metric_weights": {"f1": 2}}``, or a list of texts as for
    ``--rag-set``, ``["metric_weights.f1=2"]``. ``variant`` is the one to score, of a scenario that
    has variants; ``evaluate_variants`` scores all of them. ``target`` is a function, async or not,
    that answers instead of the scenario's own target, within that target's limits; a mapping may
    also hold it under ``target``.

    ``progress`` is called as ``progress(done, total)`` with numbers of samples; True writes a line
    to stderr, at a terminal or in a notebook. ``run`` says where replies are cached and what
    they may cost; without it nothing is cached. ``write_to`` is a folder for the files of the run,
    as for ``--rag-output``; ``reports`` names additional ones, as for ``--rag-report``.

    It may be called while an event loop runs. Raises ScenarioError, which lists all problems, when
    the scenario or its data cannot be used, and OptionError for other arguments.
    """
    __tracebackhide__ = methodcaller("errisinstance", UserError)
    requested = requested_of(reports, write_to)
    run = run or RunSettings()
    try:
        plan = plan_of(scenario, overrides_of(overrides), folder, target, run, variant)
    except UserError as error:
        # Without our own frames and causes: --showlocals would print the whole scenario.
        raise error.with_traceback(None) from None
    return evaluate_planned(plan, run, progress, write_to, requested)


def evaluate_planned(
    plan: Plan,
    run: RunSettings,
    progress: bool | Progress | None,
    write_to: str | os.PathLike[str] | None,
    requested: tuple[str, ...],
) -> ScenarioResult:
    """Score every case of a plan, write the files if wanted, and return the result."""
    started = datetime.now(UTC)
    plan = replace(plan, keeps_expected=EVALUATION_ROWS in requested)
    with _progress(progress, plan.info.title) as listener:
        evaluated = evaluate_plan(plan, run, listener)
    if write_to is not None:
        _write(evaluated, started, Path(write_to), requested)
    return evaluated.result


def requested_of(reports: Iterable[str], write_to: object) -> tuple[str, ...]:
    """Return the names of the reports; mistakes in them are found before anything is paid for."""
    names = [reports] if isinstance(reports, str) else list(reports)
    if names and write_to is None:
        raise OptionError([Problem("reports", "need a folder, write_to")])
    try:
        return requested_reports(names)
    except UnknownNameError as error:
        raise OptionError([Problem("reports", str(error))]) from error


def plan_of(
    scenario: str | os.PathLike[str] | Scenario | Mapping[str, Any],
    overrides: list[Override],
    folder: str | os.PathLike[str] | None,
    target: Callable[..., Any] | None,
    run: RunSettings,
    variant: str,
) -> Plan:
    """Return the plan of what ``evaluate`` was given; raises ScenarioError and OptionError."""
    if isinstance(scenario, str | os.PathLike):
        if folder is not None:
            message = "only for scenarios without a file; in a file, paths are relative to the file"
            raise OptionError([Problem("folder", message)])
        path, tree = Path(scenario), None
    else:
        if isinstance(scenario, Mapping) and callable(scenario.get("target")):
            target = target or scenario["target"]
            scenario = {key: value for key, value in scenario.items() if key != "target"}
        path, tree = Path(folder or Path.cwd()) / "scenario.yaml", tree_of(scenario)
    shown = path.name if tree is None else tree.source
    plan = make_plan(
        path,
        overrides,
        shown=shown,
        nodeid=title_of(shown, variant),
        variant=variant,
        run=run,
        tree=tree,
        give_target=lambda _view: target,
    )
    return _runnable(plan, target)


def _runnable(plan: Plan, given: Callable[..., Any] | None) -> Plan:
    """Return the plan; raise ScenarioError for one whose target only pytest can make."""
    target = plan.target
    if target is None:
        return plan
    if given is not None:
        name = getattr(given, "__name__", type(given).__name__)
        shown = f"function {name!r}"
        info = replace(plan.info, target=shown)
        return replace(plan, target=replace(target, shown=shown), info=info)
    if target.make is not None:
        return plan
    message = f"target: {target.shown} exists only when pytest runs the scenario"
    hint = "use an import path, or evaluate(..., target=function)"
    raise ScenarioError([Problem(plan.info.path, f"{message}; {hint}")])


def _write(
    evaluated: Evaluated, started: datetime, output: Path, requested: tuple[str, ...]
) -> None:
    result, usage = evaluated.result, evaluated.usage
    plain = asdict(usage) if usage is not None else None
    run = run_info(result, started, datetime.now(UTC), usage=plain)
    write_run(result, run, Path.cwd(), output, requested)


@contextmanager
def _progress(progress: bool | Progress | None, name: str) -> Iterator[Progress | None]:
    """Provide the function to call with the progress, or None."""
    if not isinstance(progress, bool):
        yield progress
        return
    stream = sys.stderr
    if not progress or not (stream.isatty() or "ipykernel" in sys.modules):
        yield None
        return
    line = ProgressLine(one_line(name), stream)
    try:
        yield line
    finally:
        line.end()


@dataclass
class ProgressLine:
    """Shows ``support-bot: 12/120 samples`` on one line, updated at most ten times a second."""

    name: str
    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _next: float = field(default=0.0, init=False)
    _is_open: bool = field(default=False, init=False)

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` samples are done."""
        now = self.clock()
        if now >= self._next or done == total:
            self._next = now + _EVERY_S
            self._is_open = True
            self.stream.write(f"\r{self.name}: {done}/{total} samples")
            self.stream.flush()

    def end(self) -> None:
        """End the line, if one was begun."""
        if self._is_open:
            self.stream.write("\n")
            self.stream.flush()
