"""Writes what compares the variants of a scenario: ``variants.json``, and the page on request."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from pytest_rageval.model import Contest, GateResult, Ranking, ScenarioResult
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.reports.html import PAGE
from pytest_rageval.text.codec import as_json, to_json

RANKING: Final = "variants.json"
SIDE_BY_SIDE: Final = "variants.html"


def ranking_dict(ranking: Ranking) -> dict[str, Any]:
    """Return a ranking as ``variants.json`` has it: variants by name, best first."""
    found = as_json(ranking)
    return {"schema": 1, **found, "variants": {one.pop("name"): one for one in found["variants"]}}


def write_variants(
    folder: Path,
    results: Collection[ScenarioResult],
    ranking: Ranking,
    gate: GateResult | None = None,
    requested: Collection[str] = (),
    contest: Contest | None = None,
) -> Path | None:
    """Write the files to ``folder``; return the page if ``requested`` asks for pages.

    A whole run without a page takes an older one away, which shows other answers; a run in part
    leaves it. ``contest`` is how they were ranked, if that is not what the scenario says. Raises
    OSError.
    """
    text = to_json({**ranking_dict(ranking), "gate": gate}, indent=1)
    write_atomically(folder / RANKING, [text, "\n"])
    if PAGE not in requested:
        if ranking.complete:
            (folder / SIDE_BY_SIDE).unlink(missing_ok=True)
        return None
    # Imported here: few runs ask for the page.
    from pytest_rageval.reports.page.variants_page import variants_page

    page = variants_page(list(results), ranking, gate, contest)
    return write_atomically(folder / SIDE_BY_SIDE, page)
