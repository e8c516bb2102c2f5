"""Tools for coding agents over MCP: what a project's scenarios and their runs show, in short."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, Field

from pytest_rageval import __version__
from pytest_rageval.clients.threads import in_thread
from pytest_rageval.errors import Problem, RagevalError, UserError, shorten
from pytest_rageval.model import title_of
from pytest_rageval.reports.history import left_out, trend_of, unread_since
from pytest_rageval.serving.mcp.answers import (
    METRICS,
    NAME,
    VARIANTS,
    Arguments,
    base_of,
    cut,
    is_inside,
    overridden_of,
    paged,
    relative,
    rounded,
    short,
)
from pytest_rageval.serving.mcp.described_run import to_the_end
from pytest_rageval.serving.mcp.run_tool import RunArguments, ScenarioRuns, outlines
from pytest_rageval.serving.mcp.saved_tools import (
    CompareArguments,
    ExplainArguments,
    SamplesArguments,
    compared_runs,
    explained_sample,
    listed_samples,
)
from pytest_rageval.serving.mcp.stdio import Reply, Report, Tool, serve_tools
from pytest_rageval.serving.project import Outline, Project, ScenarioEntry, pick
from pytest_rageval.serving.saved_runs import LATEST, find_run
from pytest_rageval.serving.verdicts import point_verdict

_PAGE_SIZE: Final = 20
_PROBLEM_WIDTH: Final = 300
_PROBLEMS_WIDTH: Final = 600

INSTRUCTIONS: Final = (
    "RAG evaluations of this project: scenarios that pytest runs. Begin with list_scenarios. Runs "
    "are named scenario/run: qa/latest, qa/previous, qa/20260101T120000-000000, or a saved "
    "baseline, qa/main. "
    "A run that is not complete has decided no gate. Variants of a scenario have runs of their "
    "own, qa::dense/latest; those that share a letter in a ranking cannot be told apart."
)

_NAMING: Final = "Write scenario/run, for instance qa/latest; list_scenarios has the names"

_Call = Callable[[Any, Report], Awaitable[str | Reply]]


class ListArguments(Arguments):
    """Which scenarios to list."""

    contains: str = Field("", description="part of the name or path")
    offset: int = Field(0, ge=0)


def serve_agents(project: Project) -> int:
    """Serve the tools on stdin and stdout until they are closed; return pytest's exit status."""
    return serve_tools("pytest-rageval", __version__, tools_of(project), INSTRUCTIONS)


def tools_of(project: Project) -> list[Tool]:
    """Return the tools for a project."""
    tools = _AgentTools(project)
    tool = partial(_tool, project)
    return [
        tool(
            "list_scenarios",
            "Scenarios with their samples, metrics, models and last run.",
            ListArguments,
            tools.list_scenarios,
        ),
        tool(
            "run_scenario",
            "Run a scenario: verdict, means with intervals, failed gates, worst samples, and how "
            "its variants rank.",
            RunArguments,
            tools.run_scenario,
            is_reading=False,
        ),
        tool(
            "list_samples",
            "Samples of a run, the worst first, with what they miss.",
            SamplesArguments,
            tools.list_samples,
        ),
        tool(
            "explain_sample",
            "One sample of a run: texts, scores, reasons, errors, and the line of its row.",
            ExplainArguments,
            tools.explain_sample,
        ),
        tool(
            "compare_runs",
            "A run against an older one: differences, intervals, adjusted p, what got worse.",
            CompareArguments,
            tools.compare_runs,
        ),
    ]


def _tool(
    project: Project,
    name: str,
    description: str,
    arguments: type[BaseModel],
    call: _Call,
    *,
    is_reading: bool = True,
) -> Tool:
    hints = {"readOnlyHint": is_reading, "destructiveHint": False, "openWorldHint": not is_reading}
    return Tool(name, description, arguments, partial(_answer, project, call), hints)


async def _answer(project: Project, call: _Call, request: Any, report: Report) -> Reply:
    """Return what a tool answers; the text of an error is as short as answers are."""
    try:
        answer = await call(request, report)
    except RagevalError as error:
        return Reply(short(relative(project, str(error))), is_error=True)
    return answer if isinstance(answer, Reply) else Reply(answer)


class _AgentTools:
    """What the tools have in common: the project, its scenarios, and the run that is going on."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._runs = ScenarioRuns(project)
        self._entries_read: list[tuple[ScenarioEntry, int]] = []
        self._problem: str | None = None

    async def list_scenarios(self, request: ListArguments, report: Report) -> str:
        """Return a page of the scenarios."""
        part = request.contains.casefold()
        matching = [
            entry
            for entry in await self._scenarios()
            if part in f"{entry.name or ''}\n{entry.shown}".casefold()
        ]
        page = matching[request.offset : request.offset + _PAGE_SIZE]
        readable = [entry for entry in page if entry.problem is None]
        by_path = await outlines(self._project, readable, report)
        nothing = Outline({})
        rows = await in_thread(
            lambda: [self._scenario(entry, by_path.get(entry.shown, nothing)) for entry in page]
        )
        head = {"problem": self._problem}
        return paged(head, "scenarios", rows, request.offset, len(matching))

    def _scenario(self, entry: ScenarioEntry, outline: Outline) -> dict[str, Any]:
        problem = entry.problem or "\n".join(outline.problems) or None
        try:
            last = self._last_runs(entry)
        except UserError as error:
            last, problem = {}, problem or str(error)
        figures = list(outline.figures.values())
        names = dict.fromkeys(metric["name"] for part in figures for metric in part["metrics"])
        metrics = [cut(name, NAME) for name in names]
        return {
            "name": cut(entry.name, NAME),
            "path": entry.shown,
            "variants": list(entry.variants[:VARIANTS]) or None,
            "more_variants": len(entry.variants[VARIANTS:]) or None,
            "samples": max((part["samples"] for part in figures), default=None),
            "metrics": metrics[:METRICS] or None,
            "more_metrics": len(metrics[METRICS:]) or None,
            "asks": list(dict.fromkeys(name for part in figures for name in part["asks"]))
            if figures
            else None,
            "last": (last or None) if entry.variants else last.get(""),
            "problem": None if problem is None else cut(problem, _PROBLEM_WIDTH),
        }

    def _last_runs(self, entry: ScenarioEntry) -> dict[str, dict[str, Any]]:
        """Return the last run of each variant, or of the scenario under ""."""
        if entry.name is None:
            return {}
        base, titles = base_of(self._project, entry), entry.titles[:VARIANTS]
        runs = {entry.variant_of(title): self._last_run(base, title) for title in titles}
        return {variant: last for variant, last in runs.items() if last is not None}

    def _last_run(self, base: Path, title: str) -> dict[str, Any] | None:
        points = trend_of(base, title, limit=1)
        newest = points[0].folder.rpartition("/")[2] if points else ""
        unread = unread_since(base, title, points[0].run_id if points else "")
        missing = {"unread": cut(left_out(unread), _PROBLEM_WIDTH)} if unread else {}
        if not points:
            return missing or None
        (point,) = points
        return {
            "run": newest,
            "verdict": point_verdict(point),
            "weighted_score": rounded(point.weighted_score.mean),
            **overridden_of(point.overridden),
            "partial": None if point.complete else f"{point.counts.ran}/{point.counts.samples}",
            **missing,
        }

    async def run_scenario(self, request: RunArguments, report: Report) -> Reply:
        """Run a scenario; a run that itself went wrong is an error of the tool, too."""
        if request.name not in (named := self._named()):
            await self._scenarios()
            named = self._named()
        if request.name not in named:
            self._pick(request.name, [entry.name or entry.shown for entry in self._entries])
        self._refuse_shared(request.name)
        entry = named[request.name]
        if entry.problem is not None:
            raise UserError([Problem("", entry.problem)])
        base = base_of(self._project, entry)
        text, is_error = await self._runs.run(entry, base, request, report)
        return Reply(text, is_error=is_error)

    async def list_samples(self, request: SamplesArguments, _: Report) -> str:
        """Return a page of samples, the worst first."""
        path, full_name = await self._find(request.run)
        return await in_thread(partial(listed_samples, path, full_name, request))

    async def explain_sample(self, request: ExplainArguments, _: Report) -> str:
        """Return all that is known of a sample."""
        path, full_name = await self._find(request.run)
        return await in_thread(
            partial(explained_sample, self._project.paths.root, path, full_name, request)
        )

    async def compare_runs(self, request: CompareArguments, _: Report) -> str:
        """Return the differences of two runs."""
        a, name_a = await self._find(request.a)
        b, name_b = await self._find(request.b, name_a.rpartition("/")[0])
        return await in_thread(partial(compared_runs, a, b, {"a": name_a, "b": name_b}))

    @property
    def _entries(self) -> list[ScenarioEntry]:
        """The scenarios that were read last, [] once the file of one has changed."""
        known = self._entries_read
        is_same = all(mtime == _changed_at(entry.path) for entry, mtime in known)
        return [entry for entry, _ in known] if is_same else []

    @property
    def _titles(self) -> dict[str, tuple[ScenarioEntry, str]]:
        """The known scenarios, once for each name of their runs, by path and by that name."""
        kept = [(entry, title) for entry in self._entries for title in entry.titles]
        by_path = {title_of(one.shown, one.variant_of(title)): (one, title) for one, title in kept}
        return by_path | {title: (one, title) for one, title in kept}

    def _refuse_shared(self, name: str) -> None:
        """Raise UserError for a name of several scenarios whose runs are in several folders."""
        paths = self._project.paths
        same = [entry for entry in self._entries if name in (entry.name, *entry.titles)]
        if len({paths.run_base(entry.output_dir) for entry in same}) > 1:
            files = " and ".join(entry.shown for entry in same)
            message = f"{shorten(name)!r} is the name of {files}: write a path in its place"
            raise UserError([Problem("", message)])

    def _named(self) -> dict[str, ScenarioEntry]:
        """Return the known scenarios by path and by name."""
        by_path = {entry.shown: entry for entry in self._entries}
        return by_path | {entry.name: entry for entry in self._entries if entry.name is not None}

    async def _scenarios(self) -> list[ScenarioEntry]:
        """Return the scenarios below the rootdir, as pytest finds them now."""
        entries, problem, _ = await to_the_end(self._project.scenarios())
        # What pytest prints last names what it could not collect.
        printed = relative(self._project, problem or "")
        is_cut = len(printed) > _PROBLEMS_WIDTH
        self._problem = problem and "…" * is_cut + printed[-_PROBLEMS_WIDTH:]
        if problem is not None and not entries:
            raise UserError([Problem("", problem)])
        root = self._project.paths.root
        below = [entry for entry in entries if entry.path.is_relative_to(root)]
        self._entries_read = [(entry, _changed_at(entry.path)) for entry in below]
        return below

    def _pick(self, name: str, known: list[str]) -> None:
        """Raise UserError for an unknown scenario; it may be where pytest could not look."""
        try:
            pick("scenario", name, known)
        except UserError as error:
            more = [] if self._problem is None else [Problem("", self._problem)]
            raise UserError([*error.problems, *more]) from None

    async def _find(self, run: str, scenario: str = "") -> tuple[Path, str]:
        """Return the folder or file of a run, and its full name; ``scenario`` is the default."""
        name, of_scenario = self._split(run, scenario)
        if of_scenario not in self._titles:
            await self._scenarios()
            name, of_scenario = self._split(run, scenario)
        titles = self._titles
        if of_scenario not in titles:
            known = dict.fromkeys(title for _, title in titles.values())
            self._pick(of_scenario, list(known))
        self._refuse_shared(of_scenario)
        entry, title = titles[of_scenario]
        base = base_of(self._project, entry)
        baselines = self._project.paths.baseline_folder(title, entry.output_dir)
        path = await in_thread(partial(find_run, base, title, name, baselines))
        file = path if path.is_file() else path / "results.json"
        own = self._project.paths.baselines or base
        if not any(is_inside(file, top) for top in (self._project.paths.root, base, own)):
            raise UserError([Problem("", f"run {shorten(run)!r} is a link to elsewhere")])
        return path, f"{of_scenario}/{path.stem}"

    def _split(self, run: str, scenario: str) -> tuple[str, str]:
        """Return the run and the scenario that ``run`` names: ``scenario/run``, or one of them.

        A scenario alone means its latest run; a run alone is one of the default, or of the only
        scenario.
        """
        if run in self._titles:
            return LATEST, run
        names = [title for entry in self._entries for title in entry.titles]
        before, separator, name = run.rpartition("/")
        for entry in self._entries:
            if entry.variants and entry.name in (run, before):
                title, which = entry.titles[0], name if separator else LATEST
                message = f"{entry.name} has variants: write one of them, as {title}/{which}"
                raise UserError([Problem("", message)])
        if separator:
            return name, before
        default = scenario or (names[0] if len(names) == 1 else "")
        if not default and names:
            raise UserError([Problem("", f"run {shorten(run)!r}: of which scenario? {_NAMING}")])
        return run, default


def _changed_at(path: Path) -> int:
    """Return when a file was last changed, in nanoseconds; 0 if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
