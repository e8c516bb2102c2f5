"""Measures the plugin against its yardsticks and prints ratios taken in one run.

    python -m tests.benchmarks [--repeat N] [NAME ...]

Names: startup, rows, xdist, others, parts, way, page, many-rows, rouge, shards, variants, engine,
trec, permutation, judge, target, ragas, million; all when none is given, which takes an hour. Every
figure that is not called otherwise is CPU time of a whole process (user + system, children
included) as the operating system counts it. The commands of a comparison run in turn, and
``median`` is the median of the pairwise ratios, ``best`` the ratio of the two smallest times. The
table at the end has all figures with a target. Nothing here is part of the test suite: machines are
noisy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks.engine import engine
from tests.benchmarks.judge import judge
from tests.benchmarks.measure import PYTEST, Command, Comparison, compare, run, table, wanted
from tests.benchmarks.million import million
from tests.benchmarks.others import others
from tests.benchmarks.page import page
from tests.benchmarks.parts import parts
from tests.benchmarks.permutation import permutation
from tests.benchmarks.ragas_calls import ragas
from tests.benchmarks.rows import write_rows
from tests.benchmarks.shards import shards
from tests.benchmarks.target import target
from tests.benchmarks.trec_scale import trec
from tests.benchmarks.way import way

_HERE = Path(__file__).resolve().parent
_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
_SCENARIO = """\
name: benchmark
dataset: rows.jsonl
metrics: [{metrics}]
gates: {{weighted_score: 0.01}}
"""


def startup(folder: Path, repeat: int) -> None:
    """An empty folder, with the plugin and without; one case against one test that does nothing."""
    repeat = max(repeat, 10)
    empty, case, test = (folder / name for name in ("empty", "case", "test"))
    for place in (empty, case, test):
        place.mkdir()
    with_it = Command([*PYTEST, "--collect-only"], empty, (5,))
    alone = Command([*PYTEST, "--collect-only", "-p", "no:rageval"], empty, (5,))
    _print("start-up, empty folder", compare(with_it, alone, repeat), 1.12)
    write_rows(1, case / "rows.jsonl")
    text = _SCENARIO.format(metrics="em, acc, f1").replace("0.01", "0")
    (case / "benchmark.rageval.yaml").write_text(text, encoding="utf-8")
    (test / "test_nothing.py").write_text("def test_nothing(): pass\n", encoding="utf-8")
    for name, variables, limit in (
        ("one case, one plain test", {}, 1.8),
        ("one case, one plain test, no bytecode written", _NO_BYTECODE, 2.2),
    ):
        if variables:
            _forget_rewritten()
        one = Command(PYTEST, case, variables=variables)
        plain = Command([*PYTEST, "-p", "no:rageval"], test, variables=variables)
        _print(name, compare(one, plain, repeat), limit)


def _forget_rewritten() -> None:
    """Leave the bytecode files that an installation writes, as in an image of a container."""
    for place in {Path(entry) for entry in sys.path if entry.endswith("-packages")}:
        for file in place.rglob("*-pytest-*.pyc"):
            file.unlink()


def rows(folder: Path, repeat: int) -> None:
    """10,000 rows, em acc f1, against as many items that do nothing."""
    _rows(folder, repeat, 10_000)


def many_rows(folder: Path, repeat: int) -> None:
    """100,000 rows, em acc f1, and the memory of it."""
    count = 100_000
    comparison = _rows(folder, min(repeat, 3), count)
    per_row = comparison.extra_kib / count
    goal = wanted(f"{count:,} rows, memory over that of no-op items", per_row, 10, "KiB/row")
    sys.stdout.write(f"{'':<44} peak memory over no-op {per_row:.2f} KiB a row {goal}\n")


def rouge(folder: Path, repeat: int) -> None:
    """ROUGE on 2,000 rows, against a bare loop over the same metrics plus items that do nothing."""
    count = 2_000
    _scenario(folder, count, "rouge-1, rouge-2, rouge-l")
    yardstick = _noop(folder, count)
    shutil.copy(folder / "scenario" / "rows.jsonl", yardstick)
    for name in ("rouge_loop.py", "without_fast.py"):
        shutil.copy(_HERE / name, yardstick)
        shutil.copy(_HERE / name, folder / "scenario")
    hide = ("-p", "without_fast")
    loop = ("-p", "rouge_loop")
    slow = compare(_run(folder / "scenario", *hide), _run(yardstick, *hide, *loop), repeat)
    _print("rouge-1/2/l, 2,000 rows, rouge-score", slow, 1.15)
    fast = compare(_run(folder / "scenario"), _run(yardstick, *loop), repeat)
    _print("rouge-1/2/l, 2,000 rows, rouge-score-rs", fast, None)
    nothing = run(_run(yardstick)).cpu_s
    slow_s, fast_s = (min(usage.cpu_s for usage in found.b) - nothing for found in (slow, fast))
    sys.stdout.write(
        f"{'':<44} the loops alone, with imports: rouge-score {slow_s:.2f} s, "
        f"rouge-score-rs {fast_s:.2f} s, ratio {slow_s / fast_s:.1f}\n"
    )


def xdist(folder: Path, repeat: int) -> None:
    """10,000 rows with ``-n 2``, against items that do nothing with ``-n 2``."""
    count = 10_000
    _scenario(folder, count, "em, acc, f1")
    scenario = _run(folder / "scenario", "-n", "2")
    comparison = compare(scenario, _run(_noop(folder, count), "-n", "2"), repeat)
    _print("10,000 rows, em acc f1, -n 2", comparison, 0.8)


def variants(folder: Path, repeat: int) -> None:
    """Ten variants of 1,000 rows, against the ten as scenarios of their own, each a single run."""
    write_rows(1000, folder / "rows.jsonl")
    lines = (folder / "rows.jsonl").read_text("utf-8").splitlines()
    rows = [{**json.loads(line), "id": f"q{at}"} for at, line in enumerate(lines)]
    scenario, listed = _SCENARIO.format(metrics="em, acc, f1"), "variants:\n"
    for at in range(10):
        # A tenth of the answers are those of other questions: another tenth in each variant.
        answers = [rows[place - (place % 10 == at)]["answer"] for place in range(len(rows))]
        changed = [{**row, "answer": answers[place]} for place, row in enumerate(rows)]
        single = folder / "single" / f"v{at}"
        single.mkdir(parents=True)
        text = "".join(json.dumps(row) + "\n" for row in changed)
        (single / "rows.jsonl").write_text(text, encoding="utf-8")
        (single / "benchmark.rageval.yaml").write_text(scenario, encoding="utf-8")
        listed += f"  v{at}: {{dataset: ../single/v{at}/rows.jsonl}}\n"
    whole = folder / "whole"
    whole.mkdir()
    text = f"{scenario}{listed}best: v0\n"
    (whole / "benchmark.rageval.yaml").write_text(text, encoding="utf-8")
    command = f"subprocess.run([sys.executable, *{PYTEST!r}], cwd=f'v{{at}}')"
    ten = Command(["-c", f"import subprocess, sys; [{command} for at in range(10)]"], single.parent)
    _print("ten variants of 1,000 rows, ten single runs", compare(_run(whole), ten, repeat), 1.1)


def _rows(folder: Path, repeat: int, count: int) -> Comparison:
    _scenario(folder, count, "em, acc, f1")
    comparison = compare(_run(folder / "scenario"), _run(_noop(folder, count)), repeat)
    _print(f"{count:,} rows, em acc f1", comparison, 0.65)
    return comparison


def _scenario(folder: Path, count: int, metrics: str) -> None:
    place = folder / "scenario"
    place.mkdir()
    what = write_rows(count, place / "rows.jsonl")
    text = _SCENARIO.format(metrics=metrics)
    (place / "benchmark.rageval.yaml").write_text(text, encoding="utf-8")
    sys.stdout.write(f"# {count:,} rows: {what}\n")


def _noop(folder: Path, count: int) -> Path:
    place = folder / "noop"
    place.mkdir()
    shutil.copy(_HERE / "noop_conftest.py", place / "conftest.py")
    (place / "cases.noop").write_text(str(count), encoding="utf-8")
    return place


def _run(folder: Path, *options: str) -> Command:
    plugins = ("-p", "no:rageval") if (folder / "cases.noop").exists() else ()
    return Command([*PYTEST, *plugins, *options], folder)


def _print(name: str, found: Comparison, limit: float | None) -> None:
    goal = "" if limit is None else f"  {wanted(name, found.ratio, limit)}"
    a, b = (min(usage.cpu_s for usage in side) for side in (found.a, found.b))
    sys.stdout.write(
        f"{name:<44} median {found.ratio:.3f}  best {found.best_ratio:.3f}{goal}  "
        f"CPU {a:.2f} s against {b:.2f} s\n"
    )
    sys.stdout.flush()


_ALL: dict[str, Callable[[Path, int], None]] = {
    "startup": startup,
    "rows": rows,
    "xdist": xdist,
    "others": others,
    "parts": parts,
    "way": way,
    "page": page,
    "many-rows": many_rows,
    "rouge": rouge,
    "shards": shards,
    "variants": variants,
    "engine": engine,
    "trec": trec,
    "permutation": permutation,
    "judge": judge,
    "target": target,
    "ragas": ragas,
    "million": million,
}


def main(arguments: Sequence[str]) -> None:
    """Run the benchmarks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(_ALL))
    parser.add_argument("--repeat", type=int, default=5, help="pairs of runs (default 5)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in _ALL]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; known: {', '.join(_ALL)}")
    for name in options.names or _ALL:
        with tempfile.TemporaryDirectory(prefix="rageval-benchmark-") as folder:
            _ALL[name](Path(folder), options.repeat)
    sys.stdout.write(table())


main(sys.argv[1:])
