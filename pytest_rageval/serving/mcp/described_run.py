"""A run that has ended, as ``run_scenario`` answers: of a scenario, or of several variants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval.model import title_of
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.write_variants import SIDE_BY_SIDE
from pytest_rageval.results.run_point import RunPoint, read_point
from pytest_rageval.run_paths import base_of
from pytest_rageval.serving.mcp.agent_runs import (
    METRICS,
    VARIANTS,
    WORST,
    counts_of,
    figures_of,
    gates_of,
    relative,
    worst_of,
)
from pytest_rageval.serving.mcp.answers import cut, rounded, significant
from pytest_rageval.serving.mcp.waiting import Ended
from pytest_rageval.serving.project import Project
from pytest_rageval.serving.saved_runs import StoredRun, read_run
from pytest_rageval.serving.variants import contest_of
from pytest_rageval.serving.verdicts import Verdict, gate_verdict, point_verdict, run_verdict

_LISTED: Final = 5
_PAIRS: Final = 12
_TERMINAL: Final = 1500


class DescribedRun:
    """A run that has ended, as an answer with texts of any width.

    ``variants`` are those that were to run: without one of them the verdict is partial at best.
    """

    def __init__(self, project: Project, ended: Ended, variants: Sequence[str] = ()) -> None:
        self._project = project
        self._ended = ended
        events = [one for one in ended.events if one["event"] == "result"]
        self._parts = {one["variant"]: _Part(project, one) for one in events}
        self._lost = [name for name in variants if name not in self._parts]
        contests = [one for one in ended.events if one["event"] == "contest"]
        self._gate = next((one["gate"] for one in contests), None)
        ranking = next((one["ranking"] for one in contests), None)
        self._contest = None if ranking is None else contest_of({**ranking, "gate": self._gate})
        self.verdict = run_verdict(ended.status, list(self._verdicts()))

    def _verdicts(self) -> list[Verdict | None]:
        found = [part.verdict for part in self._parts.values()]
        if found and self._lost:
            found.append("partial")
        if self._gate is not None:
            found.append(gate_verdict(self._gate["outcome"]))
        return found

    def __call__(self, width: int) -> dict[str, Any]:
        """Return the answer with texts of ``width`` characters."""
        return {
            "verdict": self.verdict,
            "exit_status": self._ended.status if self.verdict == "error" else None,
            **self._figures(width),
            "best": None if self._gate is None else _best(self._gate, width),
            "not_run": self._lost or None,
            "problems": [cut(one, 2 * width) for one in self._problems()] or None,
            "remarks": [cut(one, width) for one in self._remarks()] or None,
            "terminal": self._terminal(width),
        }

    def _figures(self, width: int) -> dict[str, Any]:
        parts = self._parts
        if len(parts) == 1 and not self._lost:
            return next(iter(parts.values())).whole(width)
        worst_first = sorted(parts.items(), key=lambda one: one[1].verdict == "passed")
        shown = worst_first[: _most(VARIANTS, width)]
        each = WORST // max(1, len(parts))
        return {
            "ranking": None if self._contest is None else _ranking(self._contest, width),
            "variants": {name: part.short(width, each) for name, part in shown} or None,
            "more_variants": len(parts) - len(shown) or None,
            "files": self._files() or None,
        }

    def _files(self) -> list[str]:
        """Return the page that shows the variants side by side, if there is one."""
        homes = {part.folder.parent.parent for part in self._parts.values() if part.folder}
        pages = [home / SIDE_BY_SIDE for home in homes]
        return [self._project.paths.shown(page) for page in pages if page.is_file()]

    def _problems(self) -> list[str]:
        found = [event["text"] for event in self._ended.events if event["event"] == "problem"]
        return [relative(self._project, text) for text in found[:_LISTED]]

    def _remarks(self) -> list[str]:
        found = [text for part in self._parts.values() for text in part.remarks()]
        return list(dict.fromkeys(found))[:_LISTED]

    def _terminal(self, width: int) -> str | None:
        """Return the end of what pytest printed, where nothing else says what went wrong."""
        status, points = self._ended.status, [part.point for part in self._parts.values()]
        has_failed = any(point is not None and point.failed for point in points)
        is_named = has_failed or (self._gate is not None and self._gate["outcome"] == "failed")
        is_told = points and None not in points and (status == 0 or (status == 1 and is_named))
        if is_told or self._problems():
            return None
        return relative(self._project, self._ended.terminal)[-min(_TERMINAL, 2 * width) :]


class _Part:
    """The files of a scenario, or of one variant of it."""

    def __init__(self, project: Project, event: Mapping[str, Any]) -> None:
        self._project = project
        self.folder = Path(event["folder"]) if "folder" in event else None
        self.point: RunPoint | None = None
        self._not_written = event.get("problem")
        self._run: StoredRun | None = None
        if self.folder is not None:
            base = base_of(self.folder, title_of(event["name"], event["variant"]))
            self.point = read_point(base, self.folder.relative_to(base).as_posix())
            self._run = read_run(self.folder)

    @property
    def verdict(self) -> Verdict | None:
        return None if self.point is None else point_verdict(self.point)

    def whole(self, width: int) -> dict[str, Any]:
        """Return all that is told of a run."""
        point, run, folder = self.point, self._run, self.folder
        if point is None or run is None or folder is None:
            return {"not_written": self._not_written}
        usage = run.head.run.usage or {}
        page = folder / PAGE
        return {
            "run": f"{point.scenario}/{folder.name}",
            "complete": point.complete,
            "counts": counts_of(point),
            "causes": run.head.causes or None,
            **figures_of(point),
            **gates_of(run.head.gates, width),
            **worst_of(run, width),
            "cost_usd": significant(usage.get("cost_usd")),
            "files": [self._shown(folder / "results.json")]
            + ([self._shown(page)] if page.is_file() else []),
        }

    def short(self, width: int, worst: int) -> dict[str, Any]:
        """Return what is told of a run beside those of other variants."""
        found = self.whole(width)
        if self.point is None or self._run is None:
            return found
        metrics = found["metrics"].items()
        samples = worst_of(self._run, width, worst)
        return {
            "run": found["run"],
            "verdict": self.verdict,
            "counts": found["counts"],
            "causes": found["causes"],
            "weighted_score": found["weighted_score"],
            "metrics": {name: one["mean"] for name, one in list(metrics)[: METRICS // 4]},
            "more_metrics": len(self.point.metrics) - min(len(metrics), METRICS // 4) or None,
            **{key: found[key] for key in _GATES if found[key]},
            "worst": [{key: one[key] for key in ("id", "why")} for one in samples["worst"]] or None,
            "more_failed": samples["more_failed"],
            "cost_usd": found["cost_usd"],
        }

    def _shown(self, path: Path) -> str:
        return self._project.paths.shown(path)

    def remarks(self) -> list[str]:
        """Return what is odd about a run."""
        if self._run is None or self.folder is None:
            return []
        about = json.loads((self.folder / "metadata.json").read_text("utf-8"))
        found = [str(warning) for warning in about["warnings"][:_LISTED]]
        usage = self._run.head.run.usage
        if usage and usage.get("calls") and usage.get("cost_usd") is None:
            found.append("what it cost is not known: no model that was asked has a price")
        return found


_GATES: Final = ("gates_failed", "more_gates_failed", "gates_undecided")


def _most(number: int, width: int) -> int:
    """Return how many of a list are told where texts have this width."""
    return max(4, min(number, width // 20))


def _best(gate: Mapping[str, Any], width: int) -> dict[str, Any]:
    return {"outcome": gate["outcome"], "message": cut(gate["message"], 2 * width)}


def _ranking(found: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Return who ranks where, with letters, and each pair that was tested."""
    variants, pairs = found["variants"], found["pairs"]
    told = pairs[: _most(_PAIRS, width)]
    return {
        "metric": found["metric"],
        "common": found["common"],
        "total": found["total"],
        "undecided": cut(found["undecided"], 2 * width) or None,
        "variants": {
            one["name"]: {
                "mean": rounded(one["mean"]),
                "ci": _interval(one),
                "letters": one["letters"] or None,
            }
            for one in variants[: _most(VARIANTS, width)]
        },
        "pairs": [
            {
                "a": one["a"],
                "b": one["b"],
                "diff": rounded(one["diff"]),
                "ci": _interval(one),
                "p_adjusted": significant(one["p_adjusted"]),
            }
            for one in told
        ],
        "more_pairs": len(pairs) - len(told) or None,
        "remarks": [cut(text, width) for text in found["remarks"][:_LISTED]] or None,
    }


def _interval(one: Mapping[str, Any]) -> list[float | None] | None:
    ends = [rounded(one["ci_low"]), rounded(one["ci_high"])]
    return None if None in ends else ends
