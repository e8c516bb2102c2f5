"""What a row costs where pytest has no part in it: loading and binding, then scoring.

Each is compared with an item of plain pytest that does nothing, measured in turn.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from pathlib import Path

from tests.benchmarks.measure import PYTEST, Command, run, wanted
from tests.benchmarks.rows import write_rows

_HERE = Path(__file__).resolve().parent
_COUNT, _FEW = 10_000, 100
_SCENARIO = "name: parts\ndataset: rows.jsonl\nmetrics: [em, acc, f1]\n"
# The share of a no-op item that each part may take.
_GOALS = {"load and bind": 0.04, "scoring": 0.1}


def parts(folder: Path, repeat: int) -> None:
    """Microseconds of CPU a row, and by those of an item that does nothing."""
    write_rows(_COUNT, folder / "rows.jsonl")
    (folder / "parts.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
    shutil.copy(_HERE / "noop_conftest.py", folder / "conftest.py")
    for count in (_COUNT, _FEW):
        (folder / f"{count}.noop").write_text(str(count), encoding="utf-8")
    rounds = [_round(folder) for _ in range(repeat + 1)][1:]
    item = statistics.median(one["item"] for one in rounds)
    for name, limit in _GOALS.items():
        ratio = statistics.median(one[name] / one["item"] for one in rounds)
        took = statistics.median(one[name] for one in rounds)
        said = f"{name}, a row by a no-op item"
        sys.stdout.write(
            f"{said:<44} median {ratio:.3f}  {wanted(said, ratio, limit)}  "
            f"{took:.1f} microseconds of CPU a row against {item:.0f}\n"
        )
    sys.stdout.flush()


def _round(folder: Path) -> dict[str, float]:
    """Return the microseconds of each part, and of an item."""
    noop = [
        run(Command([*PYTEST, "-p", "no:rageval", f"{count}.noop"], folder)).cpu_s
        for count in (_COUNT, _FEW)
    ]
    run(Command([str(_HERE / "parts_run.py"), "parts.rageval.yaml"], folder))
    lines = (folder / "output.txt").read_text("utf-8").splitlines()
    found = {name: float(took) for name, _, took in (line.rpartition(" ") for line in lines)}
    return {**found, "item": (noop[0] - noop[1]) / (_COUNT - _FEW) * 1e6}
