"""What the app knows of the project: its scenarios, what is in each, and their saved runs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import ScenarioError, UserError
from pytest_rageval.model import title_of
from pytest_rageval.patching import patch_scenario, try_changes
from pytest_rageval.reports.write_run import SIDE_BY_SIDE
from pytest_rageval.results.run_point import read_point
from pytest_rageval.run_paths import base_of, run_folder
from pytest_rageval.scenario.loader import inspect_scenario, read_scenario
from pytest_rageval.scenario.variants import VARIANTS
from pytest_rageval.serving.project import Outline, Project, ScenarioEntry
from pytest_rageval.serving.saved_runs import compare_saved
from pytest_rageval.serving.verdicts import merged
from pytest_rageval.serving.web.data_files import MOST_MB, DataFiles, suffixes
from pytest_rageval.serving.web.first_scenarios import (
    propose_in_child,
    read_asked,
    refuse_taken,
    write_scenario,
)
from pytest_rageval.serving.web.live_runs import Event, Job, LiveRuns, Widen
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.serving.web.run_store import (
    RunStore,
    file_inside,
    page_of,
    point_dict,
    run_name,
    saved_in,
)
from pytest_rageval.serving.web.settings import Settings, read_settings, read_variants, refuse_own

_MOST_POINTS: Final = 2000


class AppService:
    """Answers the requests of the page; knows no HTTP but the statuses of its refusals."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.runs = LiveRuns()
        self._entries: dict[str, ScenarioEntry] = {}
        self._problem: str | None = None
        self._search: asyncio.Task[None] | None = None
        self._outlines: dict[str, Outline] = {}
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._store = RunStore(project.paths)
        self._files = DataFiles(project.paths.root)
        self._home = project.paths.root
        self._reading, self._writing = asyncio.Lock(), asyncio.Lock()
        self._uploading, self._checking = asyncio.Lock(), asyncio.Lock()

    # Scenarios

    async def scenarios(self, *, fresh: bool = False) -> dict[str, Any]:
        """Return the scenarios with their last runs; ``fresh`` looks for files anew."""
        await self._found(fresh=fresh or self._is_outdated())
        last = await asyncio.to_thread(self._store.standings, list(self._entries.values()))
        listed = [
            {
                "id": one.id,
                "name": one.name or one.shown,
                "shown": one.shown,
                "problem": one.problem or self._known_problem(one.id),
                "variants": list(one.variants),
                "unfinished": self.runs.unfinished(one.id, *saved_in(last[one.id])),
                **last[one.id],
            }
            for one in self._entries.values()
        ]
        going = {"running": self.runs.running, "waiting": self.runs.waiting}
        name = self.project.paths.root.name
        return {"project": name, "scenarios": listed, "problem": self._problem, **going}

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
        variants = await asyncio.to_thread(self._store.variants, entry, outline)
        return {
            "id": scenario,
            "name": entry.name or entry.shown,
            "shown": entry.shown,
            "digest": digest,
            "problems": list(outline.problems),
            "outline": merged(outline.figures.values()) if outline.figures else None,
            "variants": variants,
            "contest": await asyncio.to_thread(self._store.contest, entry),
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
        if fresh and self._search is not None and not self._search.done():
            await asyncio.shield(self._search)  # it may have looked too early
        if self._search is None or (fresh and self._search.done()):
            self._search = asyncio.create_task(self._look())
        await asyncio.shield(self._search)

    async def _look(self) -> None:
        found, self._problem, self._home = await self.project.scenarios()
        self._entries = {one.id: one for one in found}
        stamps = {one.id: _stamp(one.path) for one in found}
        changed = [id_ for id_, stamp in stamps.items() if stamp != self._stamps.get(id_)]
        for id_ in changed:
            self._outlines.pop(id_, None)
        self._stamps = stamps

    def _is_outdated(self) -> bool:
        """Return whether a scenario file was changed by others since pytest looked."""
        return any(_stamp(one.path) != self._stamps.get(one.id) for one in self._entries.values())

    async def _read(self, entry: ScenarioEntry) -> Outline:
        if entry.has_namesake:
            return Outline({}, (entry.problem or "",))
        async with self._reading:  # one child, however often the page is clicked
            self._outlines[entry.id] = outline = await self.project.outline(entry)
        if outline.figures and entry.id in self._entries:  # renamed meanwhile?
            first = next(iter(outline.figures.values()))
            now = {key: first[key] for key in ("name", "output_dir")}
            variants = tuple(filter(None, outline.figures))
            self._entries[entry.id] = replace(self._entries[entry.id], **now, variants=variants)
        return outline

    async def _outline(self, scenario: str) -> tuple[ScenarioEntry, dict[str, Any]]:
        """Return a scenario, and what holds for all its variants."""
        entry = await self.entry(scenario)
        known = None if entry.has_namesake else self._outlines.get(scenario)
        outline = known or await self._read(entry)
        if not outline.figures:
            raise Refused(400, outline.problems[0])
        return self._entries.get(scenario, entry), merged(outline.figures.values())

    # A scenario from a file

    async def data_files(self) -> dict[str, Any]:
        """Return the data files of the project, and where one that is uploaded will be."""
        await self._found()
        files, is_whole = await asyncio.to_thread(self._files.listed)
        return {
            "files": files,
            "is_whole": is_whole,
            "folder": self._files.shown_folder(self._home),
            "most_mb": MOST_MB,
            "suffixes": [f".{suffix}" for suffix in (*suffixes(), "gz")],
        }

    async def upload(self, name: str, parts: AsyncIterator[bytes]) -> dict[str, Any]:
        """Keep a file that is sent, and return its name."""
        await self._found()
        async with self._uploading:  # one at a time: many could fill the disk
            return {"file": await self._files.save(name, parts, self._home)}

    async def propose(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of a file, and the scenario that would be written."""
        data = self._files.find(body.get("file"))
        asked = read_asked(body)
        async with self._reading:
            return await propose_in_child(self.project, data, asked)

    async def make(self, body: dict[str, Any]) -> dict[str, Any]:
        """Write the scenario that was shown beside its data, and look for it."""
        data = self._files.find(body.get("file"))
        found = await self.propose(body)
        if found["scenario"] is None:
            raise Refused(409, found["problem"] or found["question"]["text"])
        refuse_taken(found["scenario"]["name"], await self.entries())
        async with self._writing:
            files = await asyncio.to_thread(
                write_scenario, data.parent, found["scenario"], body.get("digest")
            )
        await self._found(fresh=True)
        made = [one.id for one in self._entries.values() if one.path == files[0]]
        shown = [self.project.paths.shown(path) for path in files]
        return {"id": made[0] if made else None, "files": shown}

    # Running and writing

    async def start(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        """Start a run with other settings, of some variants; refused while there is one.

        With a ``digest``, refused, too, where the file has changed since the page read it: the body
        has both ends of a threshold of which one is edited, and the other may be outdated.
        """
        await self._found(fresh=self._is_outdated())
        entry, figures = await self._outline(scenario)
        if "digest" in body:
            _refuse_stale(entry, body)
        variants = read_variants(body, entry.variants)
        settings = await asyncio.to_thread(_read_whole, body, figures, entry.path)
        job = self._job(entry, variants, settings.run_options())
        return {"run": self.runs.start(*job).id}

    async def start_all(self) -> dict[str, Any]:
        """Run all scenarios that can be read, one after the other; refused while there is a run."""
        await self._found(fresh=self._is_outdated())
        good = [entry for entry in self._entries.values() if entry.problem is None]
        if not good:
            raise Refused(400, "there is no scenario to run")
        self.runs.start_all([self._job(entry, entry.variants) for entry in good])
        return {"waiting": [entry.id for entry in good]}

    def _job(
        self, entry: ScenarioEntry, variants: Sequence[str], options: Sequence[str] = ()
    ) -> tuple[Job, Widen]:
        more = ("--rag-report=html", *options)
        # Without a choice, those that the file has by then.
        chosen = () if tuple(variants) == entry.variants else variants
        command = self.project.command(*more, scenarios=[entry.path], variants=chosen)
        if any("\0" in text for text in command):
            raise Refused(400, "a name with a null character cannot be given to a run")
        job = Job(entry.id, command, self.project.folder, variants)
        return job, lambda event: self._told(event, entry)

    async def check(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return what the loader says of changes."""
        entry, figures = await self._outline(scenario)
        settings = read_settings(body, figures)
        async with self._checking:  # however many windows ask: reading many rows takes seconds
            problems = await asyncio.to_thread(problems_of, entry.path, settings)
        return {"problems": problems}

    async def write(self, scenario: str, body: dict[str, Any]) -> dict[str, Any]:
        """Write settings into the scenario's file, unless it has changed since it was read."""
        entry, figures = await self._outline(scenario)
        settings = await asyncio.to_thread(_read_whole, body, figures, entry.path)
        async with self._writing:
            _refuse_stale(entry, body)
            try:
                variants = read_scenario(entry.path).data.get(VARIANTS) or {}
                refuse_own(variants, read_settings(body, figures))
                changed = await asyncio.to_thread(patch_scenario, entry.path, settings.nested)
            except ScenarioError as error:
                raise Refused(400, str(error)) from error
        self._outlines.pop(scenario, None)
        self._stamps[scenario] = _stamp(entry.path)
        return {"changed": list(changed), "digest": _digest(entry.path)}

    def _told(self, event: Event, entry: ScenarioEntry) -> Event:
        """Return the event of a result with its figures and page; that of a ranking, too."""
        if event["event"] == "contest":
            ranked = self._store.contest(entry) if event["ranking"] else None
            return {"event": "contest", "gate": event["gate"], "contest": ranked}
        if "folder" not in event:
            return {**event, "point": None}
        # Not the base of the entry: output_dir may have been edited while the run waited.
        folder = Path(event["folder"])
        base = base_of(folder, title_of(event["name"], event["variant"]))
        point = read_point(base, folder.relative_to(base).as_posix())
        if point is None:
            return {**event, "point": None}
        shown = {key: value for key, value in event.items() if key != "folder"}
        return {**shown, "point": point_dict(point, base, entry)}

    # Saved runs

    async def history(self, scenario: str, limit: int) -> dict[str, Any]:
        """Return the newest ``limit`` runs of a scenario, at most 2000, oldest first.

        ``count`` is how many there are; ``baselines`` has the names of the saved ones.
        """
        entry = await self.entry(scenario)
        points = await asyncio.to_thread(self._store.points, entry)
        newest = points[max(0, len(points) - min(limit, _MOST_POINTS)) :]
        saved = await asyncio.to_thread(self._store.baselines, entry)
        base = self._store.base(entry)
        shown = [point_dict(point, base, entry) for point in newest]
        return {"points": shown, "count": len(points), "baselines": list(saved)}

    async def compare(self, scenario: str, a: str, b: str) -> dict[str, Any]:
        """Return run ``a`` against the older ``b``; each may be a baseline."""
        entry = await self.entry(scenario)
        base = self._store.base(entry)
        known = await asyncio.to_thread(self._store.points, entry)
        paths = await asyncio.to_thread(self._store.baselines, entry)
        paths |= {run_name(one, entry): base / one.folder for one in known}
        for run in (a, b):
            if run not in paths:
                raise Refused(404, f"no such run of {entry.name}: it may have been deleted")
        try:
            found = await asyncio.to_thread(compare_saved, paths[a], paths[b])
        except UserError as error:  # a file was damaged, or changed by hand
            raise Refused(400, str(error)) from error
        return {**found, "a": a, "b": b}

    async def page(self, scenario: str, run: str) -> Path:
        """Return the file of a run's page."""
        entry = await self.entry(scenario)
        for point in await asyncio.to_thread(self._store.points, entry):
            file = page_of(self._store.base(entry), point)
            if file is not None and run_name(point, entry) == run:
                return file
        raise Refused(404, "no such page")

    async def side_by_side(self, scenario: str) -> Path:
        """Return the file of the page that shows the variants of a scenario side by side."""
        entry = await self.entry(scenario)
        folder = self._store.base(entry) / run_folder(entry.name or "")
        file = (
            file_inside(folder / SIDE_BY_SIDE, self._store.base(entry)) if entry.variants else None
        )
        if file is None:
            raise Refused(404, "no such page")
        return file


def _read_whole(body: dict[str, Any], figures: dict[str, Any], path: Path) -> Settings:
    """Return what a body changes, with the weights of all metrics where the file has none yet.

    With ``metric_weights``, a metric that these do not name would weigh 1.
    """
    settings = read_settings(body, figures)
    try:
        weights = inspect_scenario(path)[0].scenario.metric_weights
    except ScenarioError:  # said when it is run or written
        return settings
    # What was typed where the server was started is a weight of each run, and none of the file.
    typed = figures["overridden"]
    if weights or "metric_weights" in typed:
        return settings
    metrics = [one for one in figures["metrics"] if f"metric_weights.{one['name']}" not in typed]
    return settings.with_all_weights(metrics)


def problems_of(path: Path, settings: Settings) -> list[dict[str, Any]]:
    """Return what is wrong with all changes together, each with the path of the one it names."""
    texts = _refusals(path, settings.nested)
    found = [
        {"path": list(steps), "text": text}
        for steps in settings.values
        for text in texts
        if text.startswith(f"{'.'.join(steps)}: ")
    ]
    named = {one["text"] for one in found}
    return found + [{"path": [], "text": text} for text in texts if text not in named]


def _refusals(path: Path, changes: dict[str, Any]) -> list[str]:
    try:
        try_changes(path, changes)
    except ScenarioError as error:
        return [problem.message for problem in error.problems]
    return []


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return what differs once a file is written anew, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _refuse_stale(entry: ScenarioEntry, body: Mapping[str, Any]) -> None:
    if body.get("digest") != _digest(entry.path):
        raise Refused(409, f"{entry.shown} has changed since the page was loaded; load it anew")


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Refused(404, f"the scenario's file cannot be read: {error.strerror}") from error
