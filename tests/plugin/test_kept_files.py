"""Files of earlier versions (``tests/kept/``): the present one reads them, with the same scores."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp  # noqa: F401  (an inner run may not be the first to import a C extension)
import pytest

from pytest_rageval import compare_saved_runs
from tests.plugin.conftest import Project, green, wrong_use

KEPT = Path(__file__).parents[1] / "kept" / "0.1.0"
REPLAY = ("--rag-cache=replay", "--rag-cache-dir=cache")
# What 0.2 changed on purpose (docs/how-to/upgrade-to-0.2.md): intervals, what follows from them,
# and means that labels correct. The others differ in each run, or are words.
MOVED = re.compile(
    r".*_(low|high)|smallest_detectable|corrected|run|message|snapshot_sha256|overridden"
)


@pytest.fixture
def kept(project: Project) -> Project:
    """A project as 0.1.0 left it, with everything it wrote."""
    shutil.copytree(KEPT, project.path, dirs_exist_ok=True)
    return project


def run_of(kept: Project, name: str, *more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a scenario, which passes, and return the results of 0.1.0 and those of today."""
    [folder] = kept.folders(name, "runs")
    before = json.loads((folder / "results.json").read_text("utf-8"))
    result = kept.pytest(f"{name}.yaml", "--rag-output=runs", *more)
    assert result.ret == 0, result.stdout.str()
    return before, kept.results(name, "runs")


def differences(before: Any, now: Any, place: str = "$") -> Iterator[str]:
    """Yield where a value of 0.1.0 is gone or another one, but for what is known to move."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key, value in before.items():
            if key not in now:
                yield f"{place}.{key} is gone"
            elif not MOVED.fullmatch(key):
                yield from differences(value, now[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(*pair, f"{place}[{index}]")
    elif before != now:
        yield f"{place}: {before!r} became {now!r}"


def test_a_scenario_is_compared_with_the_baseline_that_0_1_0_saved(kept: Project) -> None:
    """Scores, means, p-values and verdicts to the last digit, with weights and all its gates."""
    before, now = run_of(kept, "lexical")
    # The gate lower_bound: each interval counts one worst answer more than in 0.1.0.
    assert list(differences(before, now)) == [
        "$.gates[3].observed: 0.6903430620796585 became 0.6296578642495746"
    ]
    assert now["comparison"]["metrics"]["f1"]["n"] == 16


@pytest.mark.full
def test_trec_files_give_the_figures_that_0_1_0_gave(kept: Project) -> None:
    before, now = run_of(kept, "trec")
    assert list(differences(before, now)) == []


@pytest.mark.full
def test_answers_verdicts_and_vectors_come_from_the_cache_of_0_1_0(kept: Project) -> None:
    """Nobody listens where the scenario's models are; labels and their agreement are the same."""
    before, now = run_of(kept, "judged", *REPLAY)
    assert list(differences(before, now)) == []
    usage = now["run"]["usage"]
    assert (usage["calls"], usage["cached"]) == (0, 48)
    assert now["agreement"]["right"]["confusion"] == [[3, 0], [1, 8]]


@pytest.mark.skipif(find_spec("ragas") is None, reason="ragas is not installed")
def test_replies_to_prompts_of_ragas_come_from_the_cache_of_0_1_0(kept: Project) -> None:
    """The means are those that 0.1.0 printed; the scores are computed from its replies."""
    kept.pytest("ragas.yaml", *REPLAY)
    metrics = kept.results("ragas")["metrics"]
    assert {name: metric["mean"] for name, metric in metrics.items()} == {
        "faithfulness": 0.25,
        "context_recall": 0.0,
    }


@pytest.mark.full
def test_labels_are_drawn_from_a_run_of_0_1_0_beside_its_draws(kept: Project) -> None:
    """12 of 16 answers have labels, and ``draws.json`` their draw: the other four are drawn."""
    labelled = {line.split(",")[3] for line in (KEPT / "labels/jun.csv").read_text().splitlines()}
    green(kept.pytest("judged.yaml", "--rag-output=runs", "--rag-label=4"))
    [sheet] = (kept.path / "runs" / "judged" / "labels").glob("*.csv")
    rows = csv.DictReader(sheet.read_text("utf-8-sig").splitlines())
    drawn = {row["id"] for row in rows}
    assert len(drawn) == 4
    assert drawn & labelled == set()


def test_saved_runs_of_0_1_0_are_compared_without_pytest(kept: Project) -> None:
    """By hand: f1 of the rows that differ rose by 0.2176 on the weighted mean, as 0.1.0 printed."""
    [folder] = kept.folders("lexical", "runs")
    saved = folder.parent / "baselines" / "main.json"
    found = compare_saved_runs({"now": folder / "results.json", "main": saved}, of="f1")
    assert found.ranking.pair("now", "main").diff == pytest.approx(
        0.8386904761904761 - 0.6210461760461761
    )


@pytest.mark.full
def test_the_history_of_0_1_0_goes_on(kept: Project) -> None:
    """Its database had six runs of three scenarios; the run of today is the seventh."""
    run_of(kept, "trec")
    with (kept.path / "runs" / "history.csv").open(encoding="utf-8", newline="") as stream:
        runs = {row["folder"] for row in csv.DictReader(stream)}
    assert len(runs) == 7
    kept.pytest("trec.yaml", "--rag-output=runs", "--rag-history").stdout.fnmatch_lines(
        ["*2026-11-28 22:30*0.8180*"]
    )


def test_a_shard_of_0_1_0_is_refused_with_what_to_do(kept: Project) -> None:
    result = wrong_use(kept.pytest("--rag-merge=shards"))
    result.stderr.fnmatch_lines(
        ["*shard.jsonl: is of schema 1, written by version 0.1.0; expected*Use one version of*"]
    )
