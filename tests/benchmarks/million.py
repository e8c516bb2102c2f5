"""1,000,000 rows in one process, by pytest and by ``evaluate(write_to=)``: time and memory."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

_COUNT = 1_000_000
_SCENARIO = """\
name: million
dataset: rows.jsonl
metrics: [em, acc, f1]
gates: {weighted_score: 0.01}
"""
_EVALUATE = """\
from pytest_rageval import evaluate
result = evaluate("million.rageval.yaml", write_to="evaluated")
assert len(result.samples) == 1_000_000 and not result.is_red
"""


def million(folder: Path, repeat: int) -> None:
    """Once each: they take minutes."""
    write_rows(_COUNT, folder / "rows.jsonl")
    (folder / "million.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
    for name, arguments, most_s, most_gb in (
        ("pytest", PYTEST, 240, 3),
        ("evaluate(write_to=)", ("-c", _EVALUATE), 85, 1),
    ):
        began = time.monotonic()
        used = run(Command(arguments, folder))
        wall_s = time.monotonic() - began
        said, peak_gb = f"{_COUNT:,} rows by {name}", used.peak_kib * 1024 / 1e9
        sys.stdout.write(
            f"{said:<44} {wall_s:.0f} s {wanted(said, wall_s, most_s, 's')}, CPU "
            f"{used.cpu_s:.0f} s, {peak_gb:.2f} GB {wanted(said, peak_gb, most_gb, 'GB')}\n"
        )
        sys.stdout.flush()
