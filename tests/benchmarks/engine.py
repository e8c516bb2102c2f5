"""Measures what an engine of Dask's costs and gains; skipped where Dask is not installed."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from tests.benchmarks.measure import Command, Usage, run, wanted
from tests.benchmarks.rows import SHARED, write_rows

_HERE = Path(__file__).resolve().parent
_LONG = SHARED / "data" / "clapnq" / "dev.jsonl"
_ROWS, _FEW = 200_000, 2_000


def engine(folder: Path, repeat: int) -> None:
    """ROUGE on long texts and 200,000 short rows with two workers of Dask; the size of a plan."""
    if find_spec("distributed") is None:
        sys.stdout.write("engine: skipped, needs pip install 'pytest-rageval[dask]'\n")
        return
    if _LONG.is_file():
        _heavy(folder, min(repeat, 3))
    _light(folder)
    _packed(folder)


def _heavy(folder: Path, repeat: int) -> None:
    rows = [json.loads(line) for line in _LONG.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["references"]]
    made = [{**row, "id": f"{at}-{row['id']}"} for at in range(8) for row in rows]
    _write(folder / "long.jsonl", ({**row, "answer": row["contexts"][0]} for row in made))
    _scenario(folder, "long", "rouge-1, rouge-2, rouge-l")
    ratios, walls = [], []
    for _ in range(repeat):
        plain, sent = _wall(folder, "plain", "long"), _wall(folder, "dask", "long")
        ratios.append(sent / plain)
        walls.append((sent, plain))
    sent, plain = min(walls)
    name, ratio = f"rouge-1/2/l, {len(made):,} long texts, rouge-score", statistics.median(ratios)
    goal = wanted(f"{name}, Dask", ratio, 0.6)
    sys.stdout.write(
        f"{name:<44} median {ratio:.3f}  best {min(ratios):.3f}  {goal}  wall time "
        f"{sent:.1f} s with two workers against {plain:.1f} s in one process\n"
    )


def _light(folder: Path) -> None:
    for name, count in (("rows", _ROWS), ("few", _FEW)):
        write_rows(count, folder / f"{name}.jsonl")
        _scenario(folder, name, "em, acc, f1")
    more = _ROWS - _FEW
    for mode in ("plain", "dask"):
        many, few = _used(folder, mode, "rows"), _used(folder, mode, "few")
        name, a_row = f"{_ROWS:,} rows, em acc f1, {mode}", (many.cpu_s - few.cpu_s) / more * 1e6
        goal = f"  {wanted(name, a_row, 100, 'us/row')}" if mode == "dask" else ""
        sys.stdout.write(
            f"{name:<44} {a_row:.1f} microseconds of CPU a row over all "
            f"processes, start-up taken off{goal}; {many.cpu_s / _ROWS * 1e6:.1f} with it\n"
        )


def _packed(folder: Path) -> None:
    """Print the bytes that 1,000 rows are on their way, those of long texts if they are here."""
    name, source = ("long", _LONG) if _LONG.is_file() else ("few", folder / "few.jsonl")
    made = folder / f"{name}.jsonl"
    lines = made.read_text("utf-8").splitlines(keepends=True)[:1000]
    (folder / "packed.jsonl").write_text("".join(lines), encoding="utf-8")
    _scenario(folder, "packed", "em, acc, f1")
    _used(folder, "packed", "packed")
    sys.stdout.write(f"# of {source.name}: {(folder / 'output.txt').read_text('utf-8')}")


def _write(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _scenario(folder: Path, name: str, metrics: str) -> None:
    text = f"name: {name}\ndataset: {name}.jsonl\nmetrics: [{metrics}]\n"
    gates = "gates: {weighted_score: 0.01}\n"
    (folder / f"{name}.rageval.yaml").write_text(text + gates, encoding="utf-8")


def _wall(folder: Path, mode: str, name: str) -> float:
    _used(folder, mode, name)
    return float((folder / "output.txt").read_text("utf-8").split()[-1])


def _used(folder: Path, mode: str, name: str) -> Usage:
    script = str(_HERE / "engine_run.py")
    return run(Command([script, mode, f"{name}.rageval.yaml"], folder))
