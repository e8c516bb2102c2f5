"""TREC scenarios run, and their figures equal those of systems with other names for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import ScenarioResult, evaluate

Figures = Mapping[str, float]

KS = (1, 5, 10, 20, 50, 100)
# Our name of each measure by the reference's: "P@5" is "precision@5".
WHOLE = {
    "map": "map",
    "mrr": "mrr",
    "recip_rank": "mrr",
    "Rprec": "rprec",
    "bpref": "bpref",
    "ndcg": "ndcg",
    "set_P": "precision",
    "set_recall": "recall",
    "AP": "map",
    "RR": "mrr",
}
CUT = {
    "P": "precision",
    "recall": "recall",
    "ndcg": "ndcg",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "success": "hit_rate",
    "R": "recall",
    "nDCG": "ndcg",
}


def ours(name: str, level: int = 1) -> str | None:
    """Return our name of a measure of the reference, None for one that is not here.

    ``level`` is the least relevant grade; nDCG knows none.
    """
    found = re.fullmatch(r"(.+?)[@_](\d+)", name)
    base, cutoff = (CUT.get(found[1]), f"@{found[2]}") if found else (WHOLE.get(name), "")
    if base is None:
        return None
    return base + (f"(rel={level})" if level > 1 and base != "ndcg" else "") + cutoff


def run_trec(folder: Path, qrels: Path, run: Path, metrics: Iterable[str], **more: Any) -> Any:
    """Return the result of a scenario over two TREC files."""
    scenario = {
        "name": "s",
        "qrels_path": str(qrels),
        "run_path": str(run),
        "metrics": list(metrics),
        **more,
    }
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return evaluate(folder / "s.yaml")


def asked(figures: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(ours, figures))))


def assert_figures(found: Figures, expected: Figures, tolerance: float, where: str) -> None:
    """Compare the figures of the reference, under its names, with ours."""
    assert expected
    for name, figure in expected.items():
        mine = ours(name)
        assert mine is not None, name
        assert found[mine] == pytest.approx(figure, abs=tolerance, rel=0), (where, name)


def means(result: ScenarioResult) -> dict[str, float]:
    return {
        name: summary.mean for name, summary in result.metrics.items() if summary.mean is not None
    }


def by_query(result: ScenarioResult) -> dict[str, dict[str, float]]:
    found = {}
    for sample in result.samples:
        assert None not in sample.scores.values(), sample.sample_id
        found[sample.sample_id] = {name: value or 0.0 for name, value in sample.scores.items()}
    return found
