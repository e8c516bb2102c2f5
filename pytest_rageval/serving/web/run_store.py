"""What the page is told of saved runs: of a scenario, of its variants, and how these ranked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pytest_rageval.reports.history import all_runs, left_out, unread_since
from pytest_rageval.reports.html import PAGE
from pytest_rageval.reports.write_run import SIDE_BY_SIDE
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.run_paths import RunPaths, run_folder
from pytest_rageval.serving.project import Outline, ScenarioEntry
from pytest_rageval.serving.verdicts import (
    Verdict,
    gate_verdict,
    joint_verdict,
    point_verdict,
    read_ranking,
)
from pytest_rageval.stats.wording import made_text

_IN_TREND: Final = 20
_NAMED: Final = 3
_UNDECIDED: Final = {
    "outcome": "skipped",
    "message": "no run has decided it: run all variants together",
}


class RunStore:
    """The saved runs of scenarios."""

    def __init__(self, paths: RunPaths) -> None:
        self._paths = paths

    def base(self, entry: ScenarioEntry) -> Path:
        """Return the folder of all runs, also of other scenarios with the same ``output_dir``."""
        return self._paths.run_base(entry.output_dir)

    def points(self, entry: ScenarioEntry) -> Sequence[RunPoint]:
        """Return the runs of a scenario and of its variants, oldest first."""
        return [point for point in all_runs(self.base(entry)) if point.scenario in entry.titles]

    def baselines(self, entry: ScenarioEntry) -> dict[str, Path]:
        """Return the saved runs of a scenario and of its variants, by what the page calls them."""
        found: dict[str, Path] = {}
        for title in entry.titles:
            folder = self._paths.baseline_folder(title, entry.output_dir)
            for file in sorted(folder.glob("*.json")):
                if file_inside(file, folder) is not None:
                    found["/".join(filter(None, (entry.variant_of(title), file.stem)))] = file
        return found

    def standings(self, entries: Collection[ScenarioEntry]) -> dict[str, dict[str, Any]]:
        """Return by id the last run of each scenario, or the verdict of its variants' last runs.

        Also ``ran_at``, when the newest of these began; ``trend``, the weighted scores of the last
        complete runs, [] with variants; ``unread`` says which newer runs cannot be read, then the
        verdict is no pass; and with variants ``overridden``, what options changed.
        """
        by_base: dict[Path, dict[str, list[RunPoint]]] = {}
        for base in {self.base(entry) for entry in entries}:
            for point in all_runs(base):
                by_base.setdefault(base, {}).setdefault(point.scenario, []).append(point)
        return {
            entry.id: self._standing(entry, by_base.get(self.base(entry), {})) for entry in entries
        }

    def _standing(self, entry: ScenarioEntry, runs: Mapping[str, list[RunPoint]]) -> dict[str, Any]:
        base, titles = self.base(entry), () if entry.has_namesake else entry.titles
        points = [runs[title][-1] if title in runs else None for title in titles]
        since = [point.run_id if point is not None else "" for point in points]
        unread = [unread_since(base, *one) for one in zip(titles, since, strict=True)]
        lost = [folder for folders in unread for folder in folders]
        ran_at = max((point.started_at for point in points if point is not None), default=None)
        standing: dict[str, Any] = {
            "last": None,
            "verdict": "partial" if lost else None,
            "ran_at": ran_at,
            "trend": [],
            "unread": left_out(lost) if lost else None,
        }
        if not entry.variants:
            known = [point for title in titles for point in runs.get(title, ())]
            whole = [point.weighted_score.mean for point in known if point.complete]
            last = brief_dict(known[-1], base, entry) if known and not lost else None
            trend = [mean for mean in whole[-_IN_TREND:] if mean is not None]
            return {**standing, "last": last, "trend": trend}
        found: list[Verdict | None] = [
            "partial" if newer else None if point is None else point_verdict(point)
            for point, newer in zip(points, unread, strict=True)
        ]
        contest = self.contest(entry) if any(found) else None
        best: Verdict | None = None
        if contest is not None and contest["gate"] is not None:
            best = "partial" if contest["newer"] else gate_verdict(contest["gate"]["outcome"])
        # Each once: a weight that was set for a run of all variants stands in each of them.
        named = (name for point in points if point is not None for name in point.overridden)
        overridden = list(dict.fromkeys(named))
        return {**standing, "verdict": joint_verdict(found, best), "overridden": overridden}

    def variants(self, entry: ScenarioEntry, outline: Outline) -> list[dict[str, Any]]:
        """Return what is known of each variant before a run, and its last run."""
        last = {point.scenario: point for point in self.points(entry)}
        base = self.base(entry)
        return [
            {
                "name": variant,
                "outline": outline.figures.get(variant),
                "last": point_dict(last[title], base, entry) if title in last else None,
            }
            # Not strict: without variants there is one title.
            for variant, title in zip(entry.variants, entry.titles, strict=False)
        ]

    def contest(self, entry: ScenarioEntry) -> dict[str, Any] | None:
        """Return the gate and the page of the last ranking; ``newer`` are variants of other runs.

        The gate is undecided where the scenario asks for ``best`` and no saved ranking has it.
        None without variants; without a ranking, also if there is no such gate, or no run.
        """
        if not entry.variants or entry.name is None:
            return None
        folder = self.base(entry) / run_folder(entry.name)
        found = read_ranking(folder)
        last = {point.scenario: point for point in self.points(entry)}
        if found is None:
            is_open = entry.has_best and bool(last)
            return {"gate": _UNDECIDED, "newer": [], "page": None} if is_open else None
        gate = found["gate"] or (_UNDECIDED if entry.has_best else None)
        newer = [
            variant
            for variant, title in zip(entry.variants, entry.titles, strict=True)
            if title in last and _is_other(last[title], variant, found)
        ]
        has_page = file_inside(folder / SIDE_BY_SIDE, self.base(entry)) is not None
        page = f"/runs/{entry.id}/{SIDE_BY_SIDE}" if has_page else None
        return {"gate": gate, "newer": newer, "page": page}


def _is_other(point: RunPoint, variant: str, ranking: Mapping[str, Any]) -> bool:
    """Return whether a run is not the one that was ranked; older files do not say which was."""
    if runs := ranking["runs"]:
        return runs.get(variant) not in (Path(point.folder).name, point.run_id)
    return bool(point.started_at > ranking["written_at"])


def saved_in(standing: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return when the last saved run of a scenario began, and the verdict of what is saved."""
    last = standing["last"] or {}
    return standing["ran_at"], standing["verdict"] or last.get("verdict", "")


def run_name(point: RunPoint, entry: ScenarioEntry) -> str:
    """Return what the page calls a run: its id, or ``dense/20261121T093011-123456``."""
    variant = entry.variant_of(point.scenario)
    return f"{variant}/{point.run_id}" if variant else point.run_id


def point_dict(point: RunPoint, base: Path, entry: ScenarioEntry) -> dict[str, Any]:
    """Return a run of a scenario as JSON has it; ``base`` is the folder of all runs."""
    metrics = {name: asdict(found) for name, found in point.metrics.items()}
    return {**brief_dict(point, base, entry), "metrics": metrics}


def brief_dict(point: RunPoint, base: Path, entry: ScenarioEntry) -> dict[str, Any]:
    """Return a run without its metrics: a project may have hundreds of scenarios."""
    verdict, name = point_verdict(point), run_name(point, entry)
    has_page = page_of(base, point) is not None
    return {
        "run": name,
        "variant": entry.variant_of(point.scenario),
        "started_at": point.started_at,
        "complete": point.complete,
        "verdict": "partial" if verdict == "empty" else verdict,
        "counts": asdict(point.counts),
        "not_asked": point.counts.not_asked,
        "sampled": None if point.sample is None else len(point.sample.drawn),
        "made": None if point.made is None else made_text(point.made),
        "gates_passed": point.gates_passed,
        "gates_failed": point.gates_failed,
        "gates_skipped": point.gates_skipped,
        "failed_gates": [
            {"name": gate.name, "message": gate.message} for gate in point.failed_gates[:_NAMED]
        ],
        "weighted_score": asdict(point.weighted_score),
        "overridden": list(point.overridden),
        "commit": point.commit,
        "page": f"/runs/{entry.id}/{quote(name, safe='')}/{PAGE}" if has_page else None,
    }


def page_of(base: Path, point: RunPoint) -> Path | None:
    """Return the file of a run's page, None without one."""
    return file_inside(base / point.folder / PAGE, base)


def file_inside(file: Path, base: Path) -> Path | None:
    """Return a file below ``base``, None if there is none; a link to elsewhere is none."""
    found = file.resolve()
    return found if found.is_file() and found.is_relative_to(base.resolve()) else None
