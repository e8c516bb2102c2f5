"""A year of a swimming pool's answers, month by month: python examples/over_a_year/year.py

Each month is a run of pytest, as on the main branch: if it is green, it is saved as main.
"""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MONTHS = (HERE / "pool.csv").read_text("utf-8").splitlines()[0].split(",")[3:]
RUNS = Path(".rageval")
BOTH, MOVING = "over-a-year", "over-a-year-moving"
FILES = {BOTH: "over_a_year.rageval.yaml", MOVING: "moving.rageval.yaml"}


def run(name: str, month: str, *args: str) -> tuple[float, list[str]]:
    """Return the mean of f1, and the verdict of each gate that compares."""
    options = [f"--rag-scenario={HERE / FILES[name]}", f"--rag-set=dataset.key_map.answer={month}"]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--rootdir=.", *options, *args])
    results = json.loads((RUNS / name / "latest" / "results.json").read_text("utf-8"))
    gates = [one for one in results["gates"] if one["name"].startswith("no_regression")]
    words = {"passed": "passed", "failed": "FAILED", "skipped": "saved"}
    return results["metrics"]["f1"]["weighted_mean"], [words[one["outcome"]] for one in gates]


def main() -> None:
    for name in FILES:
        shutil.rmtree(RUNS / name, ignore_errors=True)
    # The first run has nothing to be compared with. What is shipped is pinned under its own name.
    run(MOVING, MONTHS[0], "--rag-save=main")
    run(BOTH, MONTHS[0], "--rag-set=compare=main", "--rag-save=main")
    run(BOTH, MONTHS[0], "--rag-save=release-1.0")
    sys.stdout.write("month      mean f1  main alone  main and  release-1.0\n")
    for month in MONTHS[1:]:
        mean, (alone,) = run(MOVING, month, "--rag-save=main")
        _, (moved, pinned) = run(BOTH, month, "--rag-save=main")
        sys.stdout.write(f"{month:<10} {mean:.4f}   {alone:<11} {moved:<9} {pinned}\n")


if __name__ == "__main__":
    main()
