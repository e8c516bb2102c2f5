"""What the app knows of the project: its scenarios, what is in each, and their saved runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, UserError
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.patching import patch_scenario
from pytest_rageval.reports.history import all_runs
from pytest_rageval.results.layout import read_head
from pytest_rageval.results.run_point import RunPoint, read_point
from pytest_rageval.serving.project import Outline, Project, ScenarioEntry
from pytest_rageval.serving.saved_runs import causes_of, compare_saved
from pytest_rageval.serving.web.live_runs import Event, LiveRun, LiveRuns
from pytest_rageval.serving.web.points import page_of, point_dict
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.serving.web.weights import Weights, read_weights, run_options

_RESULTS: Final = "results.json"

_GATE = ("name", "outcome", "observed", "bound", "message")
_NO_DETAILS: Final[Mapping[str, Any]] = {"gates": [], "causes": None}
_MOST_POINTS = 2000


class Desk:
    """Answers the requests of the page; knows no HTTP but the statuses of its refusals."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.runs = LiveRuns()
        self._entries: dict[str, ScenarioEntry] = {}
        self._problem: str | None = None
        self._search: asyncio.Task[None] | None = None
        self._outlines: dict[str, Outline] = {}
        self._reading, self._writing = asyncio.Lock(), asyncio.Lock()

    # Scenarios

    async def scenarios(self, *, fresh: bool = False) -> dict[str, Any]:
        """Return the scenarios with their last runs; ``fresh`` looks for files anew."""
        await self._found(fresh=fresh)
        last = await asyncio.to_thread(self._last_points)
        listed = [
            {
                "id": one.id,
                "name": one.name or one.shown,
                "shown": one.shown,
                "problem": one.problem or self._known_problem(one.id),
                "last": last.get(one.id),
            }
            for one in self._entries.values()
        ]
        return {"scenarios": listed, "problem": self._problem, "running": self.runs.running}

    def _known_problem(self, scenario: str) -> str | None:
        """Return why a scenario that was read cannot be run."""
        problems = self._outlines[scenario].problems if scenario in self._outlines else ()
        return problems[0] if problems else None

    async def scenario(self, scenario: str) -> dict[str, Any]:
        """Return what is in a scenario, by a pytest child that reads its file and data."""
        entry = await self.entry(scenario)
        digest = _digest(entry.path)
        outline = await self._read(entry)
        entry = self._entries.get(scenario, entry)
        points = await asyncio.to_thread(self._points, entry)
        info, figures = _info(outline), outline.figures
        shown = None if figures is None else {k: v for k, v in figures.items() if k != "info"}
        return {
            "id": scenario,
            "name": entry.name or entry.shown,
            "shown": entry.shown,
            "digest": digest,
            "problems": list(outline.problems),
            "outline": shown,
            "last": self._point(points[-1], entry, info) if points else None,
            **(_details(self._base(entry) / points[-1].folder) if points else _NO_DETAILS),
        }

    async def entry(self, scenario: str) -> ScenarioEntry:
        """Return the scenario with this id; refuses an unknown one."""
        await self._found()
        if scenario not in self._entries:
            raise Refused(404, "no such scenario; it may have been moved: load the page again")
        return self._entries[scenario]

    async def entries(self, *, fresh: bool = False) -> list[ScenarioEntry]:
        """Return the scenarios; refuses where pytest cannot collect them."""
        await self._found(fresh=fresh)
        if self._problem is not None:
            raise Refused(500, self._problem)
        return list(self._entries.values())

    async def _found(self, *, fresh: bool = False) -> None:
        if self._search is None or (fresh and self._search.done()):
            self._search = asyncio.create_task(self._look())
        await asyncio.shield(self._search)

    async def _look(self) -> None:
        found, self._problem = await self.project.scenarios()
        self._entries = {one.id: one for one in found}

    async def _read(self, entry: ScenarioEntry) -> Outline:
        if entry.name is not None and entry.problem is not None:
            return Outline(None, (entry.problem,))  # two of one name
        async with self._reading:  # one child, however often the page is clicked
            self._outlines[entry.id] = outline = await self.project.outline(entry)
        if outline.figures is not None and entry.id in self._entries:  # renamed meanwhile?
            now = {key: outline.figures[key] for key in ("name", "output_dir")}
            self._entries[entry.id] = replace(self._entries[entry.id], **now)
        return outline

    async def _outline(self, scenario: str) -> tuple[ScenarioEntry, dict[str, Any]]:
        entry = await self.entry(scenario)
        outline = self._outlines.get(scenario) or await self._read(entry)
        if outline.figures is None:
            raise Refused(400, outline.problems[0])
        return entry, outline.figures

    # Running and writing

    async def start(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        """Start a run with other weights; refused while there is one."""
        self.runs.refuse_second()
        entry, figures = await self._outline(scenario)
        weights = run_options(*read_weights(body, figures))
        more = ("--rag-report=html", *weights)
        command = self.project.command("progress", *more, scenarios=[entry.path])
        if any("\0" in text for text in command):
            raise Refused(400, "a name with a null character cannot be given to a run")
        run = self.runs.start(
            scenario, command, self.project.folder, lambda event: self._told(event, entry)
        )
        return {"run": run.id}

    def run(self, run: str) -> LiveRun:
        """Return a run of this server; refuses an unknown one."""
        return self.runs.find(run)

    async def write_weights(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        """Write weights into the scenario's file, unless it has changed since it was read."""
        entry, figures = await self._outline(scenario)
        metrics, documents = read_weights(body, figures)
        async with self._writing:
            if body.get("digest") != _digest(entry.path):
                message = f"{entry.shown} has changed since the page was loaded; load it anew"
                raise Refused(409, message)
            try:
                changed = await asyncio.to_thread(_patch, entry.path, metrics, documents)
            except ScenarioError as error:
                raise Refused(400, str(error)) from error
        self._outlines.pop(scenario, None)
        return {"changed": list(changed), "digest": _digest(entry.path)}

    def _told(self, event: Event, entry: ScenarioEntry) -> Event:
        """Return the event of a result with its figures, gates and page."""
        folder = Path(event.get("folder", ""))
        base = folder.parent.parent
        point = read_point(base, f"{folder.parent.name}/{folder.name}") if folder.name else None
        if point is None:
            return {**event, "point": None}
        info = _info(self._outlines.get(entry.id))
        shown = {key: value for key, value in event.items() if key != "folder"}
        return {**shown, "point": self._point(point, entry, info), **_details(folder)}

    # Saved runs

    async def history(self, scenario: str, limit: int) -> dict[str, Any]:
        """Return the newest ``limit`` runs of a scenario, oldest first."""
        entry = await self.entry(scenario)
        points = await asyncio.to_thread(self._points, entry)
        info = _info(self._outlines.get(scenario))
        newest = points[max(0, len(points) - min(limit, _MOST_POINTS)) :]
        return {"points": [self._point(point, entry, info) for point in newest]}

    async def compare(self, scenario: str, a: str, b: str) -> dict[str, Any]:
        """Return run ``a`` against the older ``b``."""
        entry = await self.entry(scenario)
        points = {one.run_id: one for one in await asyncio.to_thread(self._points, entry)}
        for run in (a, b):
            if run not in points:
                raise Refused(404, f"no such run of {entry.name}: it may have been deleted")
        base, info = self._base(entry), _info(self._outlines.get(scenario))
        ours, theirs = (base / points[run].folder for run in (a, b))
        try:
            found = await asyncio.to_thread(compare_saved, ours, theirs)
        except UserError as error:  # a file was damaged, or changed by hand
            raise Refused(400, str(error)) from error
        ends = {key: self._point(points[run], entry, info) for key, run in (("a", a), ("b", b))}
        return {**found, **ends}

    async def page(self, scenario: str, run: str) -> Path:
        """Return the file of a run's page."""
        entry = await self.entry(scenario)
        for point in await asyncio.to_thread(self._points, entry):
            if point.run_id == run and (file := page_of(self._base(entry), point)) is not None:
                return file
        raise Refused(404, "no such page")

    def _base(self, entry: ScenarioEntry) -> Path:
        return self.project.paths.run_base(entry.output_dir)

    def _points(self, entry: ScenarioEntry) -> Sequence[RunPoint]:
        if entry.name is None:
            return ()
        points, _ = all_runs(self._base(entry))
        return [point for point in points if point.scenario == entry.name]

    def _last_points(self) -> dict[str, dict[str, Any]]:
        """Return the last run of each scenario that has one, by the scenario's id."""
        by_base = {
            base: {point.scenario: point for point in all_runs(base)[0]}
            for base in {self._base(entry) for entry in self._entries.values()}
        }
        return {
            entry.id: self._point(by_base[self._base(entry)][entry.name], entry, None)
            for entry in self._entries.values()
            if entry.name in by_base[self._base(entry)]
        }

    def _point(
        self, point: RunPoint, entry: ScenarioEntry, info: ScenarioInfo | None
    ) -> dict[str, Any]:
        return point_dict(point, self._base(entry), entry.id, info)


def _details(folder: Path) -> Mapping[str, Any]:
    """Return the gates of a run and its causes of low answers; none if the file is not ours."""
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        head = read_head(folder / _RESULTS)
        gates = [{key: gate[key] for key in _GATE} for gate in head["gates"]]
        return {"gates": gates, "causes": causes_of(head)}
    return _NO_DETAILS


def _patch(path: Path, metrics: Weights, documents: Weights) -> Sequence[str]:
    given = {"metric_weights": dict(metrics), "doc_weights": dict(documents)}
    return patch_scenario(path, {key: changes for key, changes in given.items() if changes})


def _info(outline: Outline | None) -> ScenarioInfo | None:
    if outline is None or outline.figures is None:
        return None
    return ScenarioInfo.from_dict(outline.figures["info"])


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Refused(404, f"the scenario's file cannot be read: {error.strerror}") from error
