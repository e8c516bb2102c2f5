"""Shards made of hand, with any rows: no pytest, no data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import CaseRow, End, Head, shard_lines

INFO = ScenarioInfo(
    "qa",
    "qa.rageval.yaml",
    "qa.rageval.yaml",
    (MetricColumn("em"), MetricColumn("f1")),
    total=10,
    selected=10,
    snapshot="name: qa\nmetrics: [em, f1]\n",
)


def row(at: int, score: float | None = 1.0, **more: Any) -> CaseRow:
    """Return a case at a position of the data."""
    scores = {"em": score, "f1": score}
    result = SampleResult(f"q{at}", at, weighted_score=score, scores=scores, **more)
    return CaseRow(f"qa.rageval.yaml::q{at}", result)


def write_shard(
    folder: Path,
    part: str,
    positions: Sequence[int] | None = None,
    *,
    info: ScenarioInfo = INFO,
    head: dict[str, Any] | None = None,
    end: dict[str, Any] | None = None,
) -> Path:
    """Write the shard of ten cases that has these positions, by default its own, and return it."""
    of = Part.parse(part)
    own = [at for at in range(info.selected) if of.takes(at)]
    taken = own if positions is None else positions
    about = Head(
        of, "1", None, None, 0, "2026-11-23T09:00:00+00:00", False, (info.nodeid,), "", info
    )
    last = End("2026-11-23T10:00:00+00:00", len(taken), max(len(own), len(taken)))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "shard.jsonl"
    lines = shard_lines(
        replace(about, **(head or {})), map(row, taken), replace(last, **(end or {}))
    )
    path.write_text("".join(lines), "ascii")
    return path
