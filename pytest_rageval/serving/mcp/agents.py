"""Tools for coding agents over MCP: what a project's scenarios and their runs show, in short."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_rageval import __version__
from pytest_rageval.clients.threads import in_thread
from pytest_rageval.errors import Problem, RagevalError, UserError, shorten
from pytest_rageval.model import WEIGHTED_SCORE, SampleResult
from pytest_rageval.reports.history import trend_of
from pytest_rageval.serving.mcp.agent_runs import (
    base_of,
    point_verdict,
    relative,
    row_of,
    why,
)
from pytest_rageval.serving.mcp.answers import (
    MOST_TOKENS,
    cut,
    fitted,
    paged,
    rounded,
    short,
    significant,
)
from pytest_rageval.serving.mcp.run_tool import RunArguments, ScenarioRuns, outlines
from pytest_rageval.serving.mcp.stdio import Answer, Report, Tool, serve_tools
from pytest_rageval.serving.mcp.waiting import to_the_end
from pytest_rageval.serving.names import pick
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.serving.row_place import row_place
from pytest_rageval.serving.saved_runs import (
    LATEST,
    StoredRun,
    compare_saved,
    find_run,
    read_run,
)
from pytest_rageval.stats.verdict import badness, score_of
from pytest_rageval.stats.weights import is_scored

_PAGE: Final = 20
_TEXTS: Final = 5
_FULL_TOKENS: Final = 8000
_WHY: Final = 150
_PROBLEM: Final = 300
_METRICS: Final = 30
_REMARKS: Final = 10
_NAME: Final = 200

INSTRUCTIONS: Final = (
    "RAG evaluations of this project: scenarios that pytest runs. Begin with list_scenarios. Runs "
    "are named scenario/run: qa/latest, qa/20260101T120000-000000, or a saved baseline, qa/main. "
    "A run that is partial has decided no gate."
)

_HOW: Final = "Write scenario/run, for instance qa/latest; list_scenarios has the names"
_RUN = Field(description="scenario/run; run may be an id, its beginning, latest, or a baseline")


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ListArguments(_Arguments):
    """Which scenarios to list."""

    contains: str = Field("", description="part of the name or path")
    offset: int = Field(0, ge=0)


class SamplesArguments(_Arguments):
    """Which samples to list."""

    run: str = _RUN
    outcome: Literal["passed", "failed", "error", "skipped", "xfailed"] | None = None
    metric: str | None = Field(None, description="order by this metric")
    offset: int = Field(0, ge=0)
    limit: int = Field(_PAGE, ge=1, le=100)


class ExplainArguments(_Arguments):
    """Which sample to explain."""

    run: str = _RUN
    id: str = Field(description="id of the sample, or its beginning")
    full: bool = Field(False, description="texts up to four times as long")


class CompareArguments(_Arguments):
    """Which runs to compare."""

    a: str = _RUN
    b: str = Field(description="the older run; as a, the scenario may be left out")


def serve_agents(project: Project) -> int:
    """Serve the tools on stdin and stdout until they are closed; return pytest's exit status."""
    return serve_tools("pytest-rageval", __version__, tools_of(project), INSTRUCTIONS)


def tools_of(project: Project) -> list[Tool]:
    """Return the tools for a project."""
    desk = _Desk(project)
    tool = partial(_tool, project)
    return [
        tool(
            "list_scenarios",
            "Scenarios with their samples, metrics, models and last run.",
            ListArguments,
            desk.list_scenarios,
        ),
        tool(
            "run_scenario",
            "Run a scenario: verdict, means with intervals, failed gates, worst samples.",
            RunArguments,
            desk.run_scenario,
            is_reading=False,
        ),
        tool(
            "list_samples",
            "Samples of a run, the worst first, with what they miss.",
            SamplesArguments,
            desk.list_samples,
        ),
        tool(
            "explain_sample",
            "One sample of a run: texts, scores, reasons, errors, and the line of its row.",
            ExplainArguments,
            desk.explain_sample,
        ),
        tool(
            "compare_runs",
            "A run against an older one: differences, intervals, adjusted p, what got worse.",
            CompareArguments,
            desk.compare_runs,
        ),
    ]


_Call = Callable[[Any, Report], Awaitable[str | Answer]]


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


async def _answer(project: Project, call: _Call, given: Any, report: Report) -> Answer:
    """Return what a tool answers; the text of an error is as short as answers are."""
    try:
        found = await call(given, report)
    except RagevalError as error:
        return Answer(short(relative(project, str(error))), is_error=True)
    return found if isinstance(found, Answer) else Answer(found)


class _Desk:
    """What the tools have in common: the project, its scenarios, and the run that is going on."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._runs = ScenarioRuns(project)
        self._entries: list[ScenarioEntry] = []

    async def list_scenarios(self, given: ListArguments, report: Report) -> str:
        """Return a page of the scenarios."""
        part = given.contains.casefold()
        found = [
            entry
            for entry in await self._scenarios()
            if part in f"{entry.name or ''}\n{entry.shown}".casefold()
        ]
        chosen = found[given.offset : given.offset + _PAGE]
        read = [entry for entry in chosen if entry.problem is None]
        known = await outlines(self._project, read, report)
        rows = await in_thread(
            lambda: [self._scenario(entry, known.get(entry.shown, {})) for entry in chosen]
        )
        return paged({}, "scenarios", rows, given.offset, len(found))

    def _scenario(self, entry: ScenarioEntry, outline: Mapping[str, Any]) -> dict[str, Any]:
        problem = entry.problem or outline.get("problem")
        try:
            last = self._last_run(entry)
        except UserError as error:
            last, problem = None, problem or str(error)
        metrics = [cut(one["name"], _NAME) for one in outline.get("metrics", ())]
        return {
            "name": entry.name,
            "path": entry.shown,
            "samples": outline.get("samples"),
            "metrics": metrics[:_METRICS] or None,
            "more_metrics": len(metrics[_METRICS:]) or None,
            "asks": outline.get("asks"),
            "last": last,
            "problem": None if problem is None else cut(problem, _PROBLEM),
        }

    def _last_run(self, entry: ScenarioEntry) -> dict[str, Any] | None:
        if entry.name is None:
            return None
        points = trend_of(base_of(self._project, entry), entry.name, limit=1)
        if not points:
            return None
        (point,) = points
        return {
            "run": point.folder.rpartition("/")[2],
            "verdict": point_verdict(point),
            "weighted_score": rounded(point.weighted_score.mean),
        }

    async def run_scenario(self, given: RunArguments, report: Report) -> Answer:
        """Run a scenario; a run that itself went wrong is an error of the tool, too."""
        if given.name not in (named := self._named()):
            await self._scenarios()
            named = self._named()
        entry = named[pick("scenario", given.name, list(named))]
        if entry.problem is not None:
            raise UserError([Problem("", entry.problem)])
        base = base_of(self._project, entry)
        text, is_error = await self._runs.run(entry, base, given, report)
        return Answer(text, is_error=is_error)

    async def list_samples(self, given: SamplesArguments, _: Report) -> str:
        """Return a page of samples, the worst first."""
        path, shown = await self._find(given.run)
        return await in_thread(partial(_listed, path, shown, given))

    async def explain_sample(self, given: ExplainArguments, _: Report) -> str:
        """Return all that is known of a sample."""
        path, shown = await self._find(given.run)
        return await in_thread(partial(_explained, self._project.paths.root, path, shown, given))

    async def compare_runs(self, given: CompareArguments, _: Report) -> str:
        """Return the differences of two runs."""
        a, shown_a = await self._find(given.a)
        b, shown_b = await self._find(given.b, shown_a.rpartition("/")[0])
        found = await in_thread(partial(compare_saved, a, b))
        return fitted(partial(_compared, {"a": shown_a, "b": shown_b}, found))

    def _named(self) -> dict[str, ScenarioEntry]:
        """Return the scenarios, as far as they are known, by path and by name."""
        by_path = {entry.shown: entry for entry in self._entries}
        return by_path | {entry.name: entry for entry in self._entries if entry.name is not None}

    async def _scenarios(self) -> list[ScenarioEntry]:
        """Return the scenarios below the rootdir, as pytest finds them now."""
        entries = await to_the_end(self._project.scenarios())
        root = self._project.paths.root
        self._entries = [entry for entry in entries if entry.path.is_relative_to(root)]
        return self._entries

    async def _find(self, run: str, scenario: str = "") -> tuple[Path, str]:
        """Return the folder or file of a run, and its full name; ``scenario`` is the default."""
        name, of_scenario = self._split(run, scenario)
        if of_scenario not in {entry.name for entry in self._entries}:
            await self._scenarios()
            name, of_scenario = self._split(run, scenario)
        names = {entry.name: entry for entry in self._entries if entry.name is not None}
        entry = names[pick("scenario", of_scenario, list(names))]
        assert entry.name is not None
        base = base_of(self._project, entry)
        baselines = self._project.paths.baseline_folder(entry.name, entry.output_dir)
        found = await in_thread(partial(find_run, base, entry.name, name, baselines))
        return found, f"{entry.name}/{found.stem}"

    def _split(self, run: str, scenario: str) -> tuple[str, str]:
        """Return the run and the scenario that ``run`` names: ``scenario/run``, or one of them.

        A scenario alone means its latest run; a run alone is one of the default, or of the only
        scenario.
        """
        names = [entry.name for entry in self._entries if entry.name is not None]
        if run in names:
            return LATEST, run
        before, separator, name = run.rpartition("/")
        if separator:
            return name, before
        default = scenario or (names[0] if len(names) == 1 else "")
        if not default and names:
            raise UserError([Problem("", f"run {shorten(run)!r}: of which scenario? {_HOW}")])
        return run, default


def _listed(path: Path, shown: str, given: SamplesArguments) -> str:
    run = read_run(path)
    samples = [one for one in run.samples if given.outcome in (None, one.outcome)]
    samples.sort(key=_by_metric(run, given.metric) if given.metric else badness)
    page = samples[given.offset : given.offset + given.limit]
    rows = [row_of(one, run, _WHY) | _score(one, given.metric) for one in page]
    return paged({"run": shown}, "samples", rows, given.offset, len(samples))


def _score(sample: SampleResult, metric: str | None) -> dict[str, Any]:
    return {} if metric is None else {metric: rounded(score_of(sample, metric))}


def _by_metric(run: StoredRun, metric: str) -> Callable[[SampleResult], tuple[bool, float, int]]:
    """Return a key that sorts samples by a metric, the worst first, unscored ones at the end."""
    columns = {column.name: column for column in run.plan.info.metrics}
    pick("metric", metric, [*columns, WEIGHTED_SCORE])

    def key(sample: SampleResult) -> tuple[bool, float, int]:
        score = score_of(sample, metric)
        if not is_scored(score):
            return True, 0.0, sample.index
        return False, columns[metric].to_unit(score) if metric in columns else score, sample.index

    return key


def _explained(root: Path, path: Path, shown: str, given: ExplainArguments) -> str:
    run = read_run(path)
    samples = {one.sample_id: one for one in run.samples}
    wanted = given.id if given.id in samples else given.id.rpartition("… (")[0] or given.id
    sample = samples[pick("sample", wanted, list(samples), begins=True)]
    plain = run.saved.samples[sample.sample_id]
    place = row_place(root, path, run.head["scenario"], plain)
    head = {"run": shown, "id": sample.sample_id, "row": place}
    wrong = why(sample, run)
    most, times = (_FULL_TOKENS, 4) if given.full else (MOST_TOKENS, 1)
    return fitted(lambda width: _explanation(head, plain, wrong, width * times), most)


def _explanation(
    head: Mapping[str, Any], plain: Mapping[str, Any], wrong: list[str], width: int
) -> dict[str, Any]:
    scores = {name: rounded(score) for name, score in plain["scores"].items()}
    return {
        **head,
        "id": cut(head["id"], width),
        "outcome": plain["outcome"],
        "weighted_score": rounded(plain["weighted_score"]),
        "why": _texts(wrong, width),
        "scores": dict(list(scores.items())[:_METRICS]),
        "question": cut(plain["question"], width),
        "answer": cut(plain["answer"], width),
        "references": _texts(plain["references"], width),
        "contexts": _texts(plain["contexts"], width),
        "reasons": _cut_values(plain["reasons"], width),
        "details": _cut_values(plain["details"], width),
        "doc_name": cut(plain["doc_name"], width),
        "weight": plain["sample_weight"],
        "metadata": _cut_values(plain["metadata"], width),
    }


def _texts(texts: Sequence[str] | None, width: int) -> list[str | None] | None:
    """Return the first texts, and how many more there are."""
    if not texts:
        return None
    more = len(texts) - _TEXTS
    return [*(cut(one, width) for one in texts[:_TEXTS]), *([f"… {more} more"] if more > 0 else [])]


def _cut_values(values: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Return the first values, as they are where they are short, else cut as JSON."""
    shown = {}
    for name, value in list(values.items())[:_METRICS]:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown[cut(name, _NAME)] = value if len(text) <= width else cut(text, width)
    return shown


def _compared(names: Mapping[str, str], found: Mapping[str, Any], width: int) -> dict[str, Any]:
    metrics = {
        cut(name, _NAME): {
            "a": rounded(one["A_mean"]),
            "b": rounded(one["B_mean"]),
            "diff": rounded(one["diff"]),
            "ci": [rounded(one["ci_low"]), rounded(one["ci_high"])],
            "p_adjusted": significant(one["p_adjusted"]),
            "verdict": one["verdict"],
        }
        for name, one in list(found["metrics"].items())[:_METRICS]
    }
    worse = [
        {
            "id": cut(one["id"], _NAME),
            "a": rounded(one["a"]),
            "b": rounded(one["b"]),
            "question": cut(one["question"], width),
        }
        for one in found["worse"]
    ]
    return {
        **names,
        "n": found["n"],
        "metrics": metrics,
        "more_metrics": len(found["metrics"]) - len(metrics) or None,
        "worse": worse,
        "more_worse": (found["fell"] or 0) - len(worse) or None,
        "better": found["better"],
        "remarks": [cut(one, width) for one in found["remarks"][:_REMARKS]],
        "more_remarks": len(found["remarks"][_REMARKS:]) or None,
    }
