"""The runs that tools start: followed with progress, described, and ended with a cancelled call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from pytest_rageval.clients.base import cost_text
from pytest_rageval.errors import listed, shorten
from pytest_rageval.model import ScenarioResult
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.made_questions import made_lines
from pytest_rageval.reports.missing import Remark
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.write_run import SIDE_BY_SIDE
from pytest_rageval.results.run_point import point_of
from pytest_rageval.serving.children import Child, started
from pytest_rageval.serving.mcp.answers import (
    COMPARED_METRICS,
    REMARKS,
    VARIANTS,
    WORST,
    compared_of,
    counts_of,
    cut,
    figures_of,
    gates_of,
    overridden_of,
    relative,
    rounded,
    significant,
    worst_of,
)
from pytest_rageval.serving.mcp.stdio import Report
from pytest_rageval.serving.project import Project
from pytest_rageval.serving.saved_runs import read_run
from pytest_rageval.serving.verdicts import Verdict, point_verdict, run_verdict, shown_ranking

T = TypeVar("T")

EVERY_S = 5.0
"""Seconds between reports of progress to a client that asks for them: it must not lose patience."""

_STEP = 1e-3  # by which a report rises when no case has ended


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that has ended: pytest's exit status, its events, and the end of its output."""

    status: int
    events: Sequence[dict[str, Any]]
    terminal: str


async def run_child(project: Project, command: Sequence[str], report: Report) -> Ended:
    """Run ``command`` in the project; return what it left.

    A call that is cancelled ends the child with all that it started before it returns.
    """
    return await to_the_end(_follow(project, command, report))


async def _follow(project: Project, command: Sequence[str], report: Report) -> Ended:
    async with started(command, project.folder) as child:
        ended = asyncio.create_task(child.wait())
        reported = 0.0
        try:
            while not (await asyncio.wait([ended], timeout=EVERY_S))[0]:
                reported = await _report_progress(child, report, reported)
            return Ended(ended.result(), child.events, child.terminal())
        finally:
            ended.cancel()


async def _report_progress(child: Child, report: Report, before: float) -> float:
    """Report how many cases have ended; return the number, which must rise each time."""
    counts = [event for event in child.events if event["event"] == "progress"]
    event = counts[-1] if counts else {}
    done, total = event.get("done", 0), event.get("total", 0)
    now = max(float(done), before + _STEP)
    outcomes = [f"{n} {name}" for name, n in event.get("outcomes", {}).items()]
    message = f"{done} of {total} cases" if total else "starting"
    await report(now, max(float(total), now) if total else None, ", ".join([message, *outcomes]))
    return now


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; if cancelled, cancel it and wait until it has tidied up."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        import anyio  # the SDK's: it repeats a cancellation at each await that is not shielded

        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        raise


_LISTED: Final = 5
_PAIRS: Final = 12
_VARIANT: Final = 40  # characters of a variant's name before a remark
_TERMINAL: Final = 1500


class DescribedRun:
    """A run that has ended, as an answer with texts of any width.

    ``variants`` were to run: if one of them is missing, the verdict is partial at best.
    """

    def __init__(self, project: Project, ended: Ended, variants: Sequence[str] = ()) -> None:
        self._project = project
        self._ended = ended
        events = [event for event in ended.events if event["event"] == "result"]
        self._parts = {event["variant"]: _Part(project, event) for event in events}
        self._lost = [name for name in variants if name not in self._parts]
        contests = [event for event in ended.events if event["event"] == "contest"]
        self._gate = next((contest["gate"] for contest in contests), None)
        ranking = next((contest["ranking"] for contest in contests), None)
        self._contest = None if ranking is None else shown_ranking({**ranking, "gate": self._gate})
        verdicts = [part.verdict for part in self._parts.values()]
        gates = [] if self._gate is None else [self._gate]
        self.verdict = run_verdict(ended.status, verdicts, gates, is_part=bool(self._lost))

    def __call__(self, width: int) -> dict[str, Any]:
        """Return the answer with texts of ``width`` characters."""
        return {
            "verdict": self.verdict,
            "exit_status": self._ended.status if self.verdict == "error" else None,
            **self._figures(width),
            "best": self._best(width),
            "not_run": self._lost or None,
            "problems": [cut(problem, 2 * width) for problem in self._problems()] or None,
            **self._remarks(width),
            "terminal": self._terminal(width),
        }

    def _best(self, width: int) -> dict[str, Any] | None:
        gate = self._gate
        return gate and {"outcome": gate["outcome"], "message": cut(gate["message"], 2 * width)}

    def _figures(self, width: int) -> dict[str, Any]:
        parts = self._parts
        if len(parts) == 1 and not self._lost:
            return next(iter(parts.values())).whole(width)
        worst_first = sorted(parts.items(), key=lambda part: part[1].verdict == "passed")
        shown = worst_first[: _most(VARIANTS, width)]
        each = max(1, WORST // max(1, len(parts)))
        return {
            "ranking": None if self._contest is None else _ranking(self._contest, width),
            "variants": {name: part.short(width, each) for name, part in shown} or None,
            "more_variants": len(parts) - len(shown) or None,
            "files": self._files() or None,
        }

    def _files(self) -> list[str]:
        """Return the page that shows the variants side by side; [] if there is none."""
        homes = {part.folder.parent.parent for part in self._parts.values() if part.folder}
        pages = [home / SIDE_BY_SIDE for home in homes]
        return [self._project.paths.shown(page) for page in pages if page.is_file()]

    def _problems(self) -> list[str]:
        found = [event["text"] for event in self._ended.events if event["event"] == "problem"]
        return [relative(self._project, text) for text in found[:_LISTED]]

    def _remarks(self, width: int) -> dict[str, Any]:
        """Return the first remarks, errors before others, and how many more there are.

        Each is told once, with its first reason, and the variants that it is about unless it is
        about all.
        """
        about: dict[tuple[str, bool], tuple[Remark, list[str]]] = {}
        for name, part in self._parts.items():
            for remark in part.remarks():
                _, names = about.setdefault((remark.text, remark.is_error), (remark, []))
                names.append(shorten(name, _VARIANT))
        told = [
            str(remark) if len(names) == len(self._parts) else f"{listed(names, 2)}: {remark}"
            for remark, names in sorted(about.values(), key=lambda one: not one[0].is_error)
        ]
        return {
            "remarks": [cut(text, width) for text in told[:REMARKS]] or None,
            "more_remarks": len(told[REMARKS:]) or None,
        }

    def _terminal(self, width: int) -> str | None:
        """Return the end of what pytest printed, where nothing else says what went wrong."""
        status, views = self._ended.status, [part.view for part in self._parts.values()]
        has_failed = any(view is not None and view.result.is_red for view in views)
        is_named = has_failed or (self._gate is not None and self._gate["outcome"] == "failed")
        is_told = views and None not in views and (status == 0 or (status == 1 and is_named))
        if is_told or self._problems():
            return None
        return relative(self._project, self._ended.terminal)[-min(_TERMINAL, 2 * width) :]


class _Part:
    """The run of a scenario, or of one variant of it, as its files have it."""

    def __init__(self, project: Project, event: Mapping[str, Any]) -> None:
        self._project = project
        self.folder = Path(event["folder"]) if "folder" in event else None
        self._not_written = event.get("problem")
        self._run = None if self.folder is None else read_run(self.folder)

    @property
    def view(self) -> RunView | None:
        return None if self._run is None else self._run.view

    @property
    def verdict(self) -> Verdict | None:
        if self._run is None:
            return None
        head = self._run.head
        # A result that was read back does not know the test function that may have judged it.
        return point_verdict(replace(point_of(self._run.view.result, head.run), judged=head.judged))

    def whole(self, width: int) -> dict[str, Any]:
        """Return what an answer has of a run."""
        run, folder = self._run, self.folder
        if run is None or folder is None:
            return {"not_written": self._not_written}
        result = run.view.result
        usage = run.head.run.usage or {}
        page = folder / PAGE
        return {
            "run": f"{result.info.title}/{folder.name}",
            "complete": result.complete,
            **overridden_of(run.head.scenario.overridden),
            "asked": run.view.asked or None,
            "apart": [cut(line, width) for line in [*made_lines(result)][1:]] or None,
            "counts": counts_of(result),
            "causes": run.head.causes or None,
            **figures_of(result),
            **gates_of(result.gates, width),
            "compared": compared_of(run.view),
            **worst_of(run.view, width),
            "cost_usd": significant(usage.get("cost_usd")),
            "files": [
                self._project.paths.shown(path)
                for path in (folder / "results.json", page)
                if path.is_file()
            ],
        }

    def short(self, width: int, worst: int) -> dict[str, Any]:
        """Return what a reply has of a run where it has other variants, too."""
        found = self.whole(width)
        if self._run is None:
            return found
        metrics = found["metrics"].items()
        samples = worst_of(self._run.view, width, worst)
        return {
            "run": found["run"],
            "verdict": self.verdict,
            **overridden_of(self._run.head.scenario.overridden),
            "counts": found["counts"],
            "causes": found["causes"],
            "weighted_score": found["weighted_score"],
            "metrics": {name: mean["mean"] for name, mean in list(metrics)[:COMPARED_METRICS]},
            "more_metrics": max(0, len(self._run.head.metrics) - COMPARED_METRICS) or None,
            **{key: found[key] for key in _GATE_KEYS if found[key]},
            "errors": samples["errors"],
            "more_errors": samples.get("more_errors"),
            "worst": [{key: row.get(key) for key in _ROW_KEYS} for row in samples["worst"]] or None,
            "more_failed": samples.get("more_failed"),
            "cost_usd": found["cost_usd"],
        }

    def remarks(self) -> list[Remark]:
        """Return what to know of a run beside its figures, its errors, and what ``apart`` has."""
        if self._run is None or self.folder is None:
            return []
        about = json.loads((self.folder / "metadata.json").read_text("utf-8"))
        view = self._run.view
        apart = set(islice(made_lines(view.result), 1, None))
        found = [part for part in view.remarks if str(part) not in apart]
        unpaired = [line for run in view.compared for line in run.unpaired]
        warnings = map(str, about["warnings"])
        found += map(Remark, [*_weightless(view.result), *unpaired, *warnings])
        usage = self._run.head.run.usage
        if usage and usage.get("calls") and usage.get("cost_usd") is None:
            found.append(Remark("what it cost is not known: no model that was asked has a price"))
        elif usage and usage.get("unpriced"):
            cost = cost_text(usage["cost_usd"], usage["unpriced"])
            found.append(Remark(f"what it cost is known in part: {cost}"))
        return list(dict.fromkeys(found))


def _weightless(result: ScenarioResult) -> Iterator[str]:
    """Yield how many samples count for nothing: the verdict is then one of fewer rows."""
    n = sum(sample.sample_weight == 0 for sample in result.samples)
    if n:
        yield f"{n} of {len(result.samples)} samples weigh 0: no mean counts them"


_ROW_KEYS: Final = ("id", "why", "alike")
_GATE_KEYS: Final = ("gates_failed", "more_gates_failed", "gates_undecided")


def _most(number: int, width: int) -> int:
    """Return how many of a list are shown where texts have this width."""
    return max(4, min(number, width // 20))


def _ranking(found: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Return who ranks where, with letters, and each pair that was tested."""
    variants, pairs = found["variants"], found["pairs"]
    listed = pairs[: _most(_PAIRS, width)]
    return {
        "metric": found["metric"],
        "common": found["common"],
        "total": found["total"],
        "undecided": cut(found["undecided"], 2 * width) or None,
        "variants": {
            variant["name"]: {
                "mean": rounded(variant["mean"]),
                "ci": _interval(variant),
                "letters": variant["letters"] or None,
            }
            for variant in variants[: _most(VARIANTS, width)]
        },
        "pairs": [
            {
                "a": pair["a"],
                "b": pair["b"],
                "diff": rounded(pair["diff"]),
                "ci": _interval(pair),
                "p_adjusted": significant(pair["p_adjusted"]),
            }
            for pair in listed
        ],
        "more_pairs": len(pairs) - len(listed) or None,
        "remarks": [cut(text, width) for text in found["remarks"][:_LISTED]] or None,
    }


def _interval(figures: Mapping[str, Any]) -> list[float | None] | None:
    ends = [rounded(figures["ci_low"]), rounded(figures["ci_high"])]
    return None if None in ends else ends
