"""What the page is told of saved runs: of a scenario, of its variants, and how these ranked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import convert

from pytest_rageval.model import ScenarioInfo
from pytest_rageval.reports.history import all_runs
from pytest_rageval.reports.write_variants import SIDE_BY_SIDE
from pytest_rageval.results.layout import gate_dict, read_head
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.run_paths import RunPaths, run_folder
from pytest_rageval.serving.project import Outline, ScenarioEntry
from pytest_rageval.serving.variants import read_contest
from pytest_rageval.serving.verdicts import gate_verdict, joint_verdict, point_verdict
from pytest_rageval.serving.web.points import file_inside, point_dict

NO_DETAILS: Final[Mapping[str, Any]] = {"gates": [], "causes": None}
"""What is told of a run that is not there."""

_RESULTS: Final = "results.json"


class Shelf:
    """The saved runs of scenarios, whose ``outlines`` are known by id once their files are read."""

    def __init__(self, paths: RunPaths, outlines: Mapping[str, Outline]) -> None:
        self._paths = paths
        self._outlines = outlines

    def base(self, entry: ScenarioEntry) -> Path:
        """Return the folder of all runs."""
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
        """Return by id the last run of each scenario, or the verdict of its variants' last runs."""
        by_base = {
            base: {point.scenario: point for point in all_runs(base)}
            for base in {self.base(entry) for entry in entries}
        }
        return {entry.id: self._standing(entry, by_base[self.base(entry)]) for entry in entries}

    def _standing(self, entry: ScenarioEntry, last: Mapping[str, RunPoint]) -> dict[str, Any]:
        points = [last.get(title) for title in entry.titles]
        if not entry.variants:
            known = [point_dict(one, self.base(entry), entry) for one in points if one is not None]
            return {"last": known[0] if known else None, "verdict": None}
        found = [None if point is None else point_verdict(point) for point in points]
        contest = self.contest(entry) if any(found) else None
        if contest is not None and contest["gate"] is not None:
            found.append(
                "partial" if contest["newer"] else gate_verdict(contest["gate"]["outcome"])
            )
        return {"last": None, "verdict": joint_verdict(found)}

    def point(self, point: RunPoint, entry: ScenarioEntry) -> dict[str, Any]:
        """Return a run as the page has it, with cards once the scenario was read."""
        info = self._info(entry, entry.variant_of(point.scenario))
        return point_dict(point, self.base(entry), entry, info)

    def _info(self, entry: ScenarioEntry, variant: str) -> ScenarioInfo | None:
        """Return what is known of a scenario, or of a variant, once its file was read."""
        outline = self._outlines.get(entry.id)
        if outline is None or variant not in outline.figures:
            return None
        return convert(outline.figures[variant]["info"], ScenarioInfo)

    def details(self, point: RunPoint, entry: ScenarioEntry) -> Mapping[str, Any]:
        """Return the gates of a run and its causes of low answers; none if the file is not ours."""
        with suppress(OSError, ValueError):
            head = read_head(self.base(entry) / point.folder / _RESULTS)
            gates = [gate_dict(gate) for gate in head.gates]
            return {"gates": gates, "causes": head.causes}
        return NO_DETAILS

    def views(self, entry: ScenarioEntry, outline: Outline) -> list[dict[str, Any]]:
        """Return what is known of each variant, or of the scenario as its only one."""
        last = {point.scenario: point for point in self.points(entry)}
        views = []
        for variant, title in zip(entry.variants or ("",), entry.titles or ("",), strict=True):
            point = last.get(title)
            found: dict[str, Any] = {"last": None, **NO_DETAILS}
            if point is not None:
                found = {"last": self.point(point, entry), **self.details(point, entry)}
            if variant:
                figures = outline.figures.get(variant)
                found |= {"name": variant, "outline": figures and outline_dict(figures)}
            views.append(found)
        return views

    def contest(self, entry: ScenarioEntry) -> dict[str, Any] | None:
        """Return how the variants ranked when several ran; ``newer`` ran again since."""
        if not entry.variants or entry.name is None:
            return None
        folder = self.base(entry) / run_folder(entry.name)
        found = read_contest(folder)
        if found is None:
            return None
        last = {point.scenario: point.started_at for point in self.points(entry)}
        newer = [
            variant
            for variant, title in zip(entry.variants, entry.titles, strict=True)
            if last.get(title, "") > found["written_at"]
        ]
        has_page = file_inside(folder / SIDE_BY_SIDE, self.base(entry)) is not None
        page = f"/runs/{entry.id}/{SIDE_BY_SIDE}" if has_page else None
        return {**found, "newer": newer, "page": page}


def outline_dict(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page gets of an outline."""
    return {key: value for key, value in figures.items() if key != "info"}
