"""The folder that cases are fed in: files that are right, a project with runs, an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest import mock

from fuzz_seeds import FILES, PROJECT, SCENARIOS

from pytest_rageval import ScenarioResult, evaluate
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.errors import RagevalError
from pytest_rageval.evaluation import Handed, plan_of
from pytest_rageval.model import RunInfo
from pytest_rageval.plugin.child import outline
from pytest_rageval.reports.base import RunFolder
from pytest_rageval.reports.other_layouts import REPORTS
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.project import FoundScenarios, Outline, Project, ScenarioEntry

T = TypeVar("T")

RUN: Final = RunInfo("run", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "v")


class Ground:
    """Where cases are fed; what one of them changes there is as it was before the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._loop: asyncio.Runner | None = None
        self._made: dict[Any, Any] = {}
        self._fresh: set[Path] = set()
        sys.modules.pop("fuzz_app", None)  # of another folder
        # Nothing is asked over a network: a reply that is not in the empty cache is an error.
        self.run = RunSettings(cache_dir=folder / "cache", cache_mode="replay")
        for name, raw in FILES.items():
            (folder / name).write_bytes(raw)
        compared = {k: part for k, part in SCENARIOS[1].items() if k not in ("compare", "gates")}
        result = evaluate(compared, folder=folder, run=self.run)
        self.base: dict[str, Any] = json.loads(written(result))
        self._files = {**FILES, "base.json": written(result).encode()}
        (folder / "base.json").write_bytes(self._files["base.json"])

    def write(self, name: str, raw: bytes) -> Path:
        """Write a file for the present case, and return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        self._fresh.add(path)
        return path

    def empty(self, name: str) -> Path:
        """Return an empty folder for the present case."""
        path = self.folder / name
        path.mkdir(parents=True)
        self._fresh.add(path)
        return path

    def tidy(self) -> None:
        """Undo what the case has written."""
        for path in self._fresh:
            before = self._files.get(path.relative_to(self.folder).as_posix())
            if before is not None:
                path.write_bytes(before)
            elif path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        self._fresh.clear()

    def once(self, make: Callable[[Ground], T]) -> T:
        """Return what ``make`` returned for this ground the first time."""
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of a coroutine."""
        self._loop = self._loop or asyncio.Runner()
        return self._loop.run(work)

    def close(self) -> None:
        """End the event loop."""
        if self._loop is not None:
            self._loop.close()


def written(result: ScenarioResult) -> str:
    """Return a result as ``results.json`` has it."""
    return "".join(results_chunks(result, RUN))


def evaluated(ground: Ground, scenario: Any, changes: Any = (), **more: Any) -> ScenarioResult:
    """Return the result of a scenario: a path, or what a file next to all others would hold.

    Refuses a result that cannot be written as JSON, or that is green for nothing.
    """
    folder = None if isinstance(scenario, Path) else ground.folder
    result = evaluate(scenario, changes, folder=folder, run=ground.run, **more)
    json.loads(written(result), parse_constant=_refuse)
    green = all(gate.outcome != "failed" for gate in result.gates) and not (
        result.counts.failed or result.counts.error
    )
    assert not (green and result.counts.scored == 0), "green, and nothing was scored"
    return result


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} in results.json")


@dataclass(frozen=True)
class Served(Project):
    """A project whose scenarios are found without a child."""

    async def scenarios(self) -> FoundScenarios:
        """Return its one scenario."""
        name = f"{PROJECT['name']}.rageval.json"
        entries = [ScenarioEntry(self.folder / name, name, PROJECT["name"])]
        return FoundScenarios(entries, None, self.folder)

    async def outline(self, scenario: ScenarioEntry) -> Outline:
        """Return what the child would say of its metrics and documents."""
        plan = plan_of(scenario.path, [], None, Handed(), RunSettings(), "")
        return Outline({"": json.loads(json.dumps(outline(plan, plan.cases)))})


def project_of(ground: Ground) -> Served:
    """Return a project with a scenario and two runs of it."""
    folder = ground.folder / "project"
    folder.mkdir()
    for name, raw in FILES.items():
        (folder / name).write_bytes(raw)
    file = folder / f"{PROJECT['name']}.rageval.json"
    file.write_text(json.dumps(PROJECT), "utf-8")
    for _ in range(2):
        evaluate(file, run=ground.run, write_to=folder / ".rageval")
    return Served("python", folder, (), RunPaths(folder))


def runs_of(ground: Ground) -> list[Path]:
    """Return the folders of the runs of the project."""
    base = ground.once(project_of).folder / ".rageval" / PROJECT["name"]
    return sorted(path.parent for path in base.glob("*/results.json"))


@dataclass
class _Child:
    """A run that has ended: what a pytest child of ours would have told and written."""

    status: int
    events: Sequence[Mapping[str, Any]]

    async def wait(self) -> int:
        return self.status

    def terminal(self) -> str:
        return ""


def in_this_process(ground: Ground) -> Any:
    """Return a patch: the scenario of a request is run here, and in no child."""

    @contextlib.asynccontextmanager
    async def started(command: Sequence[str], _: Path) -> AsyncIterator[_Child]:
        changes = [one.partition("=")[2] for one in command if one.startswith("--rag-set=")]
        file = next(one.partition("=")[2] for one in command if one.startswith("--rag-scenario="))
        output = Path(next(one for one in command if "--rag-output=" in one).partition("=")[2])
        try:
            result = evaluated(ground, Path(file), changes)
        except RagevalError as error:
            yield _Child(4, [{"event": "problem", "text": str(error)}])
            return
        folder = output / "run"
        folder.mkdir(parents=True)
        _, dbgpt_rows = REPORTS
        dbgpt_rows.write(result, RUN, RunFolder(folder, folder))
        yield _Child(0, [{"event": "result", "folder": str(folder)}])

    return mock.patch("pytest_rageval.serving.web.dbgpt.started", started)


def environment() -> Any:
    """Return a patch of the variables of the environment that readers look at."""
    return mock.patch.dict(os.environ, {"RAGEVAL_API_KEY": "open-sesame", "OPENAI_API_KEY": "k"})
