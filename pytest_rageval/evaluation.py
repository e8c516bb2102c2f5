"""``evaluate``: a scenario from a script or a notebook, to its figures and its files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.evaluate import Evaluated, Progress, evaluate_plan
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning import make_plan
from pytest_rageval.errors import OptionError, Problem, ScenarioError
from pytest_rageval.model import ScenarioResult
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.reports.base import requested_reports
from pytest_rageval.reports.run_info import run_info
from pytest_rageval.reports.store import write_run
from pytest_rageval.scenario.changes import Changes, overrides_of
from pytest_rageval.scenario.in_memory import tree_of
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import Scenario

_EVERY_S = 0.1


def evaluate(  # noqa: PLR0913  (all but the scenario are options)
    scenario: str | os.PathLike[str] | Scenario | Mapping[str, Any],
    overrides: Iterable[Override | str] | Changes = (),
    *,
    folder: str | os.PathLike[str] | None = None,
    target: Callable[..., Any] | None = None,
    progress: bool | Progress | None = None,
    run: RunSettings | None = None,
    write_to: str | os.PathLike[str] | None = None,
    reports: Iterable[str] = (),
) -> ScenarioResult:
    """Return the result of a scenario, every case scored in this process and all gates decided.

    ``scenario`` is the path of a file, a Scenario, or a mapping of what a file would say; data
    files of the latter two are relative to ``folder`` (by default the working directory).
    ``overrides`` is a mapping, ``{"metric_weights": {"f1": 2}}``, or a list of texts as
    ``--rag-set`` takes them, ``["metric_weights.f1=2"]``. ``target`` is a function that answers,
    async or not, in the place of the scenario's own and within its limits; a mapping may also hold
    it as its ``target``.

    ``progress`` is called as ``progress(done, total)`` with numbers of samples; True is a line on
    stderr, at a terminal or in a notebook. ``run`` says where replies of judges are kept, and what
    they may cost; without it they are kept nowhere. ``write_to`` is a folder for the files of the
    run, as ``--rag-output``; ``reports`` are those to write on top, as ``--rag-report``.

    It may be called where an event loop runs. Raises ScenarioError, with all problems in one go,
    when the scenario or its data cannot be used, and OptionError for the other arguments.
    """
    requested = _requested(reports, write_to)
    run, started = run or RunSettings(), datetime.now(UTC)
    plan = _plan(scenario, overrides_of(overrides), folder, target, run)
    with _shown(progress, plan.info.name) as told:
        evaluated = evaluate_plan(plan, run, told)
    if write_to is not None:
        _write(evaluated, started, Path(write_to), requested)
    return evaluated.result


def _requested(reports: Iterable[str], write_to: object) -> tuple[str, ...]:
    """Return the reports that are asked for, before anything is paid for."""
    names = [reports] if isinstance(reports, str) else list(reports)
    if names and write_to is None:
        raise OptionError([Problem("reports", "need a folder, write_to")])
    try:
        return requested_reports(names)
    except UnknownNameError as error:
        raise OptionError([Problem("reports", str(error))]) from error


def _plan(
    scenario: str | os.PathLike[str] | Scenario | Mapping[str, Any],
    overrides: list[Override],
    folder: str | os.PathLike[str] | None,
    target: Callable[..., Any] | None,
    run: RunSettings,
) -> Plan:
    """Return the plan of a scenario, in whichever form it is."""
    if isinstance(scenario, str | os.PathLike):
        if folder is not None:
            message = "is for scenarios that are no file: data files are relative to the file"
            raise OptionError([Problem("folder", message)])
        path, tree = Path(scenario), None
    else:
        if isinstance(scenario, Mapping) and callable(scenario.get("target")):
            target = target or scenario["target"]
            scenario = {key: value for key, value in scenario.items() if key != "target"}
        path, tree = Path(folder or Path.cwd()) / "scenario.yaml", tree_of(scenario)
    shown = path.name if tree is None else tree.source
    plan = make_plan(
        path, overrides, shown=shown, run=run, tree=tree, give_target=lambda _view: target
    )
    return _runnable(plan, target)


def _runnable(plan: Plan, given: Callable[..., Any] | None) -> Plan:
    """Return the plan; raise ScenarioError for one whose target only pytest can make."""
    target = plan.target
    if target is None:
        return plan
    if given is not None:
        name = getattr(given, "__name__", type(given).__name__)
        return replace(plan, target=replace(target, shown=f"function {name!r}"))
    if target.make is not None:
        return plan
    message = f"target: {target.shown} is there when pytest runs the scenario only"
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
def _shown(progress: bool | Progress | None, name: str) -> Iterator[Progress | None]:
    """Provide what is told of the progress."""
    if not isinstance(progress, bool):
        yield progress
        return
    stream = sys.stderr
    if not progress or not (stream.isatty() or "ipykernel" in sys.modules):
        yield None
        return
    line = ProgressLine(name, stream)
    try:
        yield line
    finally:
        line.end()


class ProgressLine:
    """Shows ``support-bot: 12/120 samples`` on one line, written over ten times a second."""

    def __init__(
        self, name: str, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._next = 0.0
        self._is_open = False

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` samples are done."""
        now = self._clock()
        if now >= self._next or done == total:
            self._next = now + _EVERY_S
            self._is_open = True
            self._stream.write(f"\r{self._name}: {done}/{total} samples")
            self._stream.flush()

    def end(self) -> None:
        """End the line, where one was begun."""
        if self._is_open:
            self._stream.write("\n")
            self._stream.flush()
