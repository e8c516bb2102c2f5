"""What the page is told of a saved run: its figures with their bands, and where its page is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_rageval.model import WEIGHTED_SCORE, ScenarioInfo
from pytest_rageval.reports.html import PAGE
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.serving.verdicts import point_verdict


def point_dict(
    point: RunPoint, base: Path, scenario: str, info: ScenarioInfo | None = None
) -> dict[str, Any]:
    """Return a run as JSON has it; ``cards`` only with the scenario's ``info``.

    ``base`` is the folder of all runs and ``scenario`` the id of the scenario. A metric that is no
    longer in the scenario has no card.
    """
    verdict = point_verdict(point)
    has_page = page_of(base, point) is not None
    return {
        "run": point.run_id,
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
        "overridden": list(point.overridden),
        "commit": point.commit,
        "page": f"/runs/{scenario}/{point.run_id}/{PAGE}" if has_page else None,
        "cards": [] if info is None else _cards(point, info),
    }


def page_of(base: Path, point: RunPoint) -> Path | None:
    """Return the file of a run's page, None without one; a link to elsewhere is none."""
    file = (base / point.folder / PAGE).resolve()
    return file if file.is_file() and file.is_relative_to(base.resolve()) else None


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
