"""The tool ``run_scenario``: a pytest child for one scenario, within a budget, one at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from pytest_rageval.clients.threads import in_thread
from pytest_rageval.errors import Problem, UserError
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.html import PAGE
from pytest_rageval.results.layout import read_head
from pytest_rageval.results.run_point import RunPoint, read_point
from pytest_rageval.serving.mcp.agent_runs import (
    counts_of,
    figures_of,
    gates_of,
    relative,
    worst_of,
)
from pytest_rageval.serving.mcp.answers import Arguments, cut, fitted, significant
from pytest_rageval.serving.mcp.stdio import Report
from pytest_rageval.serving.mcp.waiting import Ended, run_child
from pytest_rageval.serving.names import pick
from pytest_rageval.serving.project import ASIDE, Project, ScenarioEntry
from pytest_rageval.serving.saved_runs import StoredRun, causes_of, read_run
from pytest_rageval.serving.verdicts import point_verdict, run_verdict
from pytest_rageval.serving.web.weights import run_options

_COLLECTING: Final = ("--collect-only", "-q", *ASIDE)
_LAST_RUNS: Final = 5
_LISTED: Final = 5
_TERMINAL: Final = 1500

_Weight = Annotated[float, Field(ge=0.0, le=1e100, allow_inf_nan=False)]


class Weights(Arguments):
    """Weights in place of those in the file."""

    metrics: dict[str, _Weight] = Field({}, description="by metric")
    documents: dict[str, _Weight] = Field({}, description="by document")


class RunArguments(Arguments):
    """What to run."""

    name: str = Field(description="name or path of a scenario")
    weights: Weights | None = Field(None, description="for this run; the file stays as it is")
    limit: int | None = Field(None, ge=1, description="only the first N rows: the run is partial")
    max_cost_usd: float | None = Field(
        None, ge=0.0, allow_inf_nan=False, description="refuse a run that will cost more"
    )


async def outlines(
    project: Project, entries: Sequence[ScenarioEntry], report: Report
) -> dict[str, dict[str, Any]]:
    """Return by path what pytest knows of scenarios once it has read their data.

    That is what plugin/child/outline.py writes, or ``problem``: why it cannot be run.
    """
    if not entries:
        return {}
    paths = [entry.path for entry in entries]
    ended = await run_child(
        project, project.command("outline", *_COLLECTING, scenarios=paths), report
    )
    found = {one["name"]: one for one in ended.events if one["event"] == "scenario"}
    problems = [one for one in ended.events if one["event"] == "problem"]
    return {
        entry.shown: found.get(entry.name or "") or {"problem": _problem(entry, problems, ended)}
        for entry in entries
    }


def _problem(entry: ScenarioEntry, problems: Sequence[Mapping[str, Any]], ended: Ended) -> str:
    own = [one["text"] for one in problems if one["nodeid"] == entry.shown]
    texts = own or [one["text"] for one in problems]
    return "\n".join(texts) or f"pytest ended with exit status {ended.status}:\n{ended.terminal}"


class ScenarioRuns:
    """Runs scenarios of a project, one at a time: two would share limits, budget and answers."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._running: str | None = None

    async def run(
        self, entry: ScenarioEntry, base: Path, given: RunArguments, report: Report
    ) -> tuple[str, bool]:
        """Return the answer, and whether the run itself went wrong.

        Raises UserError for a second run at a time, for a scenario that cannot be run, for unknown
        weights, and for a run above the budget.
        """
        if self._running is not None:
            message = f"{self._running} is running: one run at a time; wait for it, or cancel it"
            raise UserError([Problem("", message)])
        self._running = entry.name or entry.shown
        try:
            options = [] if given.limit is None else [f"--rag-limit={given.limit}"]
            if given.weights is not None or given.max_cost_usd is not None:
                outline = (await outlines(self._project, [entry], report))[entry.shown]
                if "problem" in outline:
                    raise UserError([Problem("", outline["problem"])])
                options += _weight_options(given.weights or Weights(), outline)
                options += await in_thread(partial(_budget, given, outline, base))
            # The second plugin says what is wrong with a scenario that cannot be run.
            plugins = ("progress", "-p", "pytest_rageval.plugin.child.outline")
            command = self._project.command(*plugins, *options, scenarios=[entry.path])
            ended = await run_child(self._project, command, report)
            described = await in_thread(partial(_Described, self._project, ended))
            return fitted(described), described.verdict == "error"
        finally:
            self._running = None


def _weight_options(weights: Weights, outline: Mapping[str, Any]) -> list[str]:
    metrics = [one["name"] for one in outline["metrics"]]
    documents = list({**outline["docs"], **outline["doc_weights"]})
    for kind, given, known in (
        ("metric", weights.metrics, metrics),
        ("document", weights.documents, documents),
    ):
        for name in given:
            pick(kind, name, known)
    return run_options(weights.metrics, weights.documents)


def _budget(given: RunArguments, outline: Mapping[str, Any], base: Path) -> list[str]:
    """Return the option that keeps the run within ``max_cost_usd``; refuse one that will cost more.

    What a run will cost is a guess; the option stops one that costs more after all.
    """
    most, cost = given.max_cost_usd, outline["cost"]
    if most is None or not (cost["usd"] or cost["unpriced"]):
        return []
    if cost["unpriced"]:
        named = ", ".join(cost["unpriced"])
        message = f"the cost cannot be known: {named} has no price in the scenario. Give it one"
        raise UserError([Problem("max_cost_usd", f"{message}, or leave max_cost_usd out")])
    samples = outline["samples"]
    n = min(given.limit or samples, samples)
    usd = max(cost["usd"] / samples, _cost_before(base, outline["name"])) * n
    if usd > most:
        message = (
            f"not run: asking about {n} samples will cost about {usd:.2g} USD, more than {most:g}. "
            "Answers in the cache cost nothing. Set a limit, or a higher max_cost_usd"
        )
        raise UserError([Problem("max_cost_usd", message)])
    return [f"--rag-budget={most!r}"]


def _cost_before(base: Path, scenario: str) -> float:
    """Return what a sample cost in a run before, as if nothing had been in the cache; 0 if none."""
    for point in reversed(trend_of(base, scenario, limit=_LAST_RUNS)):
        usage = read_head(base / point.folder / "results.json")["run"]["usage"]
        if usage and usage["calls"] and usage["cost_usd"] and point.counts.ran:
            whole = usage["cost_usd"] * (usage["calls"] + usage["cached"]) / usage["calls"]
            return float(whole / point.counts.ran)
    return 0.0


class _Described:
    """A run that has ended, as an answer with texts of any width."""

    def __init__(self, project: Project, ended: Ended) -> None:
        self._project = project
        self._ended = ended
        result = next((one for one in ended.events if one["event"] == "result"), {})
        self._folder = Path(result["folder"]) if "folder" in result else None
        self._not_written = result.get("problem")
        self._point: RunPoint | None = None
        self._run: StoredRun | None = None
        if self._folder is not None:
            base = self._folder.parents[1]
            self._point = read_point(base, self._folder.relative_to(base).as_posix())
            self._run = read_run(self._folder)
        saved = [None if self._point is None else point_verdict(self._point)] if result else []
        self.verdict = run_verdict(ended.status, saved)

    def __call__(self, width: int) -> dict[str, Any]:
        """Return the answer with texts of ``width`` characters."""
        return {
            "verdict": self.verdict,
            "exit_status": self._ended.status if self.verdict == "error" else None,
            **self._figures(width),
            "not_written": self._not_written,
            "problems": [cut(one, 2 * width) for one in self._problems()] or None,
            "remarks": [cut(one, width) for one in self._remarks()] or None,
            "terminal": self._terminal(width),
        }

    def _problems(self) -> list[str]:
        found = [event["text"] for event in self._ended.events if event["event"] == "problem"]
        return [relative(self._project, text) for text in found[:_LISTED]]

    def _figures(self, width: int) -> dict[str, Any]:
        point, run, folder = self._point, self._run, self._folder
        if point is None or run is None or folder is None:
            return {}
        usage = run.head["run"]["usage"] or {}
        page = folder / PAGE
        return {
            "run": f"{point.scenario}/{folder.name}",
            "complete": point.complete,
            "counts": counts_of(point),
            "causes": causes_of(run.head) or None,
            **figures_of(point),
            **gates_of(run.head["gates"], width),
            **worst_of(run, width),
            "cost_usd": significant(usage.get("cost_usd")),
            "files": [self._shown(folder / "results.json")]
            + ([self._shown(page)] if page.is_file() else []),
        }

    def _shown(self, path: Path) -> str:
        return self._project.paths.shown(path)

    def _remarks(self) -> list[str]:
        if self._run is None or self._folder is None:
            return []
        about = json.loads((self._folder / "metadata.json").read_text("utf-8"))
        found = [str(warning) for warning in about["warnings"][:_LISTED]]
        usage = self._run.head["run"]["usage"]
        if usage and usage["calls"] and usage["cost_usd"] is None:
            found.append("what it cost is not known: no model that was asked has a price")
        return found

    def _terminal(self, width: int) -> str | None:
        """Return the end of what pytest printed, where nothing else says what went wrong."""
        status = self._ended.status
        is_told = self._point is not None and (status == 0 or (status == 1 and self._point.failed))
        if is_told or self._problems():
            return None
        return relative(self._project, self._ended.terminal)[-min(_TERMINAL, 2 * width) :]
