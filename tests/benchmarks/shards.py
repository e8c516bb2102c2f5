"""The merge of shards: time and memory a row, of 100,000 and 1,000,000 rows in four files."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

_SCENARIO = """\
name: benchmark
dataset: rows.jsonl
metrics: [em, acc, f1]
gates: {weighted_score: 0.01}
"""
_SHARDS = 4
_REAL = 10_000


def shards(folder: Path, repeat: int) -> None:
    """One process that reads four shards, decides a gate and writes everything that a run writes.

    The rows are those of a real shard of 10,000 cases, as often as needed, under other ids.
    """
    write_rows(_REAL, folder / "rows.jsonl")
    (folder / "benchmark.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
    run(Command([*PYTEST, "--rag-shard=1/1", "--rag-output=real"], folder))
    (real,) = (folder / "real").rglob("shard.jsonl")
    for count, times in ((100_000, min(repeat, 3)), (1_000_000, 1)):
        places = [_write(real, folder / str(count) / str(at), at, count) for at in range(_SHARDS)]
        merge = Command([*PYTEST, *places, f"--rag-output=merged-{count}"], folder)
        began = time.monotonic()
        used = [run(merge) for _ in range(times)]
        wall_s = (time.monotonic() - began) / times
        cpu_s = statistics.median(one.cpu_s for one in used)
        peak_gb = max(one.peak_kib for one in used) * 1024 / 1e9
        name = f"merge of {count:,} rows, {_SHARDS} shards"
        a_row = cpu_s / count * 1e6
        goal = wanted(name, a_row, 150, "us/row")
        sys.stdout.write(
            f"{name:<44} {a_row:.0f} microseconds of CPU a row {goal}, "
            f"{wall_s:.0f} s, {peak_gb:.2f} GB at the peak\n"
        )


def _write(real: Path, folder: Path, at: int, count: int) -> str:
    """Write shard ``at`` of ``count`` cases, and return the option that names it."""
    head, *rows, end = real.read_text("ascii").splitlines()
    about, ended = json.loads(head), json.loads(end)
    about["part"] = f"{at + 1}/{_SHARDS}"
    about["info"] |= {"total": count, "selected": count}
    parsed = [json.loads(row) for row in rows]
    own = count // _SHARDS
    folder.mkdir(parents=True)
    with (folder / "shard.jsonl").open("w", encoding="ascii") as stream:
        stream.write(json.dumps(about) + "\n")
        for index in range(at, count, _SHARDS):
            below, result = parsed[index % len(parsed)]
            stream.write(json.dumps([f"{below}-{index}", [f"q{index}", index, *result[2:]]]) + "\n")
        ended["end"] |= {"rows": own, "selected": own}
        stream.write(json.dumps(ended) + "\n")
    return f"--rag-merge={folder}"
