"""F7: examples/over_a_year falls slowly; only the pinned baseline shows it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from pytest_rageval import evaluate
from pytest_rageval.stats.paired import compare_paired

EXAMPLE = Path(__file__).parents[2] / "examples" / "over_a_year"
README = (EXAMPLE / "README.md").read_text("utf-8")
TABLE = re.findall(r"^(\w+) +(0\.\d{4}) +(\w+) +(\w+) +(\w+)$", README, re.MULTILINE)


@pytest.fixture(scope="module")
def scores() -> dict[str, list[float]]:
    """Return F1 of the sixty answers of each month."""
    with (EXAMPLE / "pool.csv").open(encoding="utf-8", newline="") as file:
        months = next(csv.reader(file))[3:]
    found = {}
    for month in months:
        changes = {"dataset.key_map.answer": month, "compare": None, "gates": None}
        result = evaluate(EXAMPLE / "moving.rageval.yaml", changes)
        found[month] = [sample.scores["f1"] or 0.0 for sample in result.samples]
    return found


def p_value(now: list[float], before: list[float]) -> float:
    found = compare_paired({"f1": (now, before)}, [1.0] * len(now))["f1"].p_value
    assert found is not None
    return found


@pytest.mark.full
def test_no_month_differs_from_the_one_before_by_more_than_chance(
    scores: dict[str, list[float]],
) -> None:
    for before, now in pairwise(scores.values()):
        assert sum(a != b for a, b in zip(before, now, strict=True)) <= 6
        assert p_value(now, before) >= 0.25


def test_the_table_has_the_mean_of_each_month_and_the_verdict_on_the_whole_fall(
    scores: dict[str, list[float]],
) -> None:
    """Twelve looks share 0.05: July is the first below 0.05/12, April below 0.05."""
    first, *others = scores
    assert [row[0] for row in TABLE] == others
    for month, mean, alone, moved, pinned in TABLE:
        p = p_value(scores[month], scores[first])
        assert mean == f"{sum(scores[month]) / 60:.4f}"
        assert (alone, moved) == ("passed", "passed")
        assert pinned == ("FAILED" if p < 0.05 / 12 else "passed")
    without_looks = [month for month in others if p_value(scores[month], scores[first]) < 0.05]
    assert without_looks == others[others.index("april") :]


@pytest.mark.full
def test_a_year_of_runs_prints_the_table(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "over_a_year")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", "utf-8")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "RAGEVAL_", "COV_"))
    }
    done = subprocess.run(
        [sys.executable, "examples/over_a_year/year.py"],
        cwd=tmp_path,
        env={**kept, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert f"```text\n{done.stdout}```\n" in README
    runs = (tmp_path / ".rageval" / "over-a-year").glob("*/results.json")
    gates = [gate for run in runs for gate in json.loads(run.read_text("utf-8"))["gates"]]
    [message] = re.findall(r"^gate no_regression.release-1.0.f1 FAILED  (.+)$", README, re.M)
    assert message in [gate["message"] for gate in gates if gate["outcome"] == "failed"]
