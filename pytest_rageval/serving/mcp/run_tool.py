"""The tool ``run_scenario``: a pytest child for one scenario, within a budget, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from pytest_rageval.clients.threads import in_thread
from pytest_rageval.engine.planning.where import parse_condition
from pytest_rageval.errors import OptionError, Problem, UserError, shorten
from pytest_rageval.model import title_of
from pytest_rageval.reports.history import trend_of
from pytest_rageval.results.layout import read_head
from pytest_rageval.serving.mcp.answers import Arguments, fitted
from pytest_rageval.serving.mcp.described_run import DescribedRun, Ended, run_child
from pytest_rageval.serving.mcp.stdio import Report
from pytest_rageval.serving.project import LOOKING, Outline, Project, ScenarioEntry, pick
from pytest_rageval.serving.verdicts import merged
from pytest_rageval.serving.web.settings import Settings, weights_by_path

_LAST_RUNS: Final = 5

_Weight = Annotated[float, Field(ge=0.0, le=1e100, allow_inf_nan=False)]


class Weights(Arguments):
    """Weights in place of those in the file."""

    metrics: dict[str, _Weight] = Field({}, description="by metric")
    documents: dict[str, _Weight] = Field({}, description="by document")


class RunArguments(Arguments):
    """What to run."""

    name: str = Field(description="name or path of a scenario")
    variant: str | None = Field(None, description="only this variant of it")
    weights: Weights | None = Field(None, description="for this run; the file stays as it is")
    where: list[str] = Field([], description="only rows with FIELD=VALUE, != or ~: partial")
    limit: int | None = Field(None, ge=1, description="only the first N rows: the run is partial")
    max_cost_usd: float | None = Field(
        None, ge=0.0, allow_inf_nan=False, description="refuse a run that will cost more"
    )


async def outlines(
    project: Project, entries: Sequence[ScenarioEntry], report: Report, where: Sequence[str] = ()
) -> dict[str, Outline]:
    """Return by shown path what pytest knows of scenarios once it has read their data.

    ``where`` are options that choose among their rows. A scenario that cannot be collected has the
    messages in place of figures.
    """
    if not entries:
        return {}
    paths = [entry.path for entry in entries]
    ended = await run_child(project, project.command(*LOOKING, *where, scenarios=paths), report)
    scenarios = [event for event in ended.events if event["event"] == "scenario"]
    problems = [event for event in ended.events if event["event"] == "problem"]
    by_path: dict[str, Outline] = {}
    for entry in entries:
        figures = {event["variant"]: event for event in scenarios if event["path"] == entry.shown}
        texts = () if figures else (_problem(entry, problems, ended),)
        by_path[entry.shown] = Outline(figures, texts)
    return by_path


def _problem(entry: ScenarioEntry, problems: Sequence[Mapping[str, Any]], ended: Ended) -> str:
    own = [problem["text"] for problem in problems if problem["nodeid"] == entry.shown]
    texts = own or [problem["text"] for problem in problems]
    return "\n".join(texts) or f"pytest ended with exit status {ended.status}:\n{ended.terminal}"


class ScenarioRuns:
    """Runs scenarios of a project, one at a time: two would share limits, budget and answers."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._running: str | None = None

    async def run(
        self, entry: ScenarioEntry, base: Path, request: RunArguments, report: Report
    ) -> tuple[str, bool]:
        """Return the answer, and whether the run itself went wrong.

        Raises UserError for a second run at a time, an unknown variant, and what is no condition.
        Where weights or a budget are given, also for a scenario that cannot be run or has none of
        these rows, for unknown weights, and for a run above the budget; without, the answer says
        what went wrong.
        """
        if self._running is not None:
            message = f"{self._running} is running: one run at a time; wait for it, or cancel it"
            raise UserError([Problem("", message)])
        variants = _variants(entry, request.variant)
        self._running = entry.name or entry.shown
        try:
            options = where = _where_options(request.where)
            if request.limit is not None:
                options = [*options, f"--rag-limit={request.limit}"]
            if request.weights is not None or request.max_cost_usd is not None:
                looked = figures = await self._figures(entry, variants, report, where)
                if request.limit is not None and request.max_cost_usd is not None:
                    # The cost is that of the limited rows: this limit replaces the file's. A weight
                    # may be that of a document beyond it: such names are looked up in both.
                    figures = await self._figures(entry, variants, report, options)
                    looked = [*looked, *figures]
                weighted = _weight_options(request.weights or Weights(), merged(looked))
                options = [*options, *weighted]
                options += await in_thread(partial(_budget, request, figures, base))
            command = self._project.command(*options, scenarios=[entry.path], variants=variants)
            ended = await run_child(self._project, command, report)
            described = await in_thread(partial(DescribedRun, self._project, ended, variants))
            return fitted(described), described.verdict == "error"
        finally:
            self._running = None

    async def _figures(
        self,
        entry: ScenarioEntry,
        variants: Sequence[str],
        report: Report,
        options: Sequence[str],
    ) -> Sequence[Mapping[str, Any]]:
        """Return the outlines of the variants; raises UserError where there are none.

        ``options`` choose among the rows.
        """
        outline = (await outlines(self._project, [entry], report, options))[entry.shown]
        figures = [
            outline.figures[name] for name in outline.figures if not variants or name in variants
        ]
        if not figures:
            message = "\n".join(outline.problems) or "no case of it is selected"
            raise UserError([Problem("", message)])
        return figures


def _variants(entry: ScenarioEntry, wanted: str | None) -> tuple[str, ...]:
    """Return the variants to run: all of them where none is named."""
    if wanted is None:
        return entry.variants
    if not entry.variants:
        raise UserError([Problem("variant", f"{entry.name} has no variants; leave it out")])
    return (pick("variant", wanted, entry.variants),)


def _where_options(conditions: Sequence[str]) -> list[str]:
    """Return the options that choose rows; raises OptionError for what is no condition."""
    for text in conditions:
        parse_condition("where", text)
        if "\0" in text or not text.isprintable():
            raise OptionError([Problem(f"where {shorten(text)}", "holds no plain text")])
    return [f"--rag-where={text}" for text in conditions]


def _weight_options(weights: Weights, outline: Mapping[str, Any]) -> list[str]:
    metrics = [metric["name"] for metric in outline["metrics"]]
    documents = list({**outline["docs"], **outline["doc_weights"]})
    for kind, weights_by_name, names in (
        ("metric", weights.metrics, metrics),
        ("document", weights.documents, documents),
    ):
        for name in weights_by_name:
            if name not in names and name in outline["own_weights"]:
                message = f"{name} has not one weight in all variants; name one with 'variant'"
                raise UserError([Problem("weights", message)])
            pick(kind, name, names)
    return Settings(weights_by_path(weights.metrics, weights.documents)).run_options()


def _budget(request: RunArguments, figures: Sequence[Mapping[str, Any]], base: Path) -> list[str]:
    """Return the option that keeps the run within ``max_cost_usd``; refuse one that will cost more.

    What a run will cost is a guess; the option stops one that costs more after all. ``figures`` are
    the outlines of the variants that will run.
    """
    most = request.max_cost_usd
    unpriced = [name for figure in figures for name in figure["cost"]["unpriced"]]
    if most is None or not (unpriced or any(figure["cost"]["usd"] for figure in figures)):
        return []
    if unpriced:
        named = ", ".join(dict.fromkeys(unpriced))
        message = f"the cost cannot be known: {named} has no price in the scenario. Give it one"
        raise UserError([Problem("max_cost_usd", f"{message}, or leave max_cost_usd out")])
    numbers = [min(request.limit or figure["samples"], figure["samples"]) for figure in figures]
    n = sum(numbers)
    usd = sum(
        max(figure["cost"]["usd"] / figure["samples"], _cost_before(base, figure)) * number
        for figure, number in zip(figures, numbers, strict=True)
    )
    if usd > most:
        message = (
            f"not run: asking about {n} samples will cost about {usd:.2g} USD, more than {most:g}. "
            "Answers in the cache cost nothing. Set a limit, or a higher max_cost_usd"
        )
        raise UserError([Problem("max_cost_usd", message)])
    return [f"--rag-budget={most!r}"]


def _cost_before(base: Path, outline: Mapping[str, Any]) -> float:
    """Return the USD a sample cost in a recent run, as if nothing was cached; 0 if not known."""
    title = title_of(outline["name"], outline["variant"])
    for point in reversed(trend_of(base, title, limit=_LAST_RUNS)):
        usage = read_head(base / point.folder / "results.json").run.usage or {}
        calls, usd = usage.get("calls"), usage.get("cost_usd")
        if calls and usd and not usage.get("unpriced") and point.counts.ran:
            return usd * (calls + (usage.get("cached") or 0.0)) / calls / point.counts.ran
    return 0.0
