"""What the page is told of a saved run: its figures with their bands, and where its page is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_rageval.model import WEIGHTED_SCORE, ScenarioInfo
from pytest_rageval.reports.html import PAGE
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.serving.project import ScenarioEntry
from pytest_rageval.serving.verdicts import point_verdict


def run_name(point: RunPoint, entry: ScenarioEntry) -> str:
    """Return what the page calls a run: its id, or ``dense/20261121T093011-123456``."""
    variant = entry.variant_of(point.scenario)
    return f"{variant}/{point.run_id}" if variant else point.run_id


def point_dict(
    point: RunPoint, base: Path, entry: ScenarioEntry, info: ScenarioInfo | None = None
) -> dict[str, Any]:
    """Return a run of a scenario as JSON has it; ``cards`` only with the scenario's ``info``.

    ``base`` is the folder of all runs. A metric that is no longer in the scenario has no card.
    """
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
        "gates_passed": point.gates_passed,
        "gates_failed": point.gates_failed,
        "gates_skipped": point.gates_skipped,
        "weighted_score": asdict(point.weighted_score),
        "metrics": {name: asdict(found) for name, found in point.metrics.items()},
        "definitions": dict(point.definitions),
        "overridden": list(point.overridden),
        "commit": point.commit,
        "page": f"/runs/{entry.id}/{quote(name, safe='')}/{PAGE}" if has_page else None,
        "cards": [] if info is None else _cards(point, info),
    }


def page_of(base: Path, point: RunPoint) -> Path | None:
    """Return the file of a run's page, None without one."""
    return file_inside(base / point.folder / PAGE, base)


def file_inside(file: Path, base: Path) -> Path | None:
    """Return a file below ``base``, None if there is none; a link to elsewhere is none."""
    found = file.resolve()
    return found if found.is_file() and found.is_relative_to(base.resolve()) else None


def _cards(point: RunPoint, info: ScenarioInfo) -> list[dict[str, Any]]:
    names = [column.name for column in info.metrics if column.name in point.metrics]
    cards = [_card(info, name, asdict(point.metrics[name])) for name in names]
    overall = asdict(point.weighted_score)
    return [*cards, _card(info, WEIGHTED_SCORE, {**overall, "weighted_mean": overall["mean"]})]


def _card(info: ScenarioInfo, name: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    mean = figures["weighted_mean"]
    ends = {key: figures[key] for key in ("ci_low", "ci_high")}
    band = info.band_of(name, mean)
    return {"name": name, "value": mean, **ends, "band": band, "weight": figures.get("weight")}
