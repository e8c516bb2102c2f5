"""Evaluates a scenario in one process, or with two workers of Dask; prints the wall time.

A few samples are scored before the clock starts: whoever scores has loaded all metrics then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_rageval import evaluate


def without_fast() -> None:
    """Hide rouge-score-rs, and load what a worker needs."""
    sys.modules["rouge_score_rs"] = None  # type: ignore[assignment]
    __import__("pytest_rageval.engine.remote.worker")


@contextmanager
def executor(mode: str) -> Iterator[Any]:
    """Provide the executor of a mode."""
    if mode != "dask":
        yield None
        return
    from distributed import Client, LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        client.run(without_fast)
        yield client.get_executor()


def packed(path: str) -> str:
    """Return how large the samples of a scenario are on their way, in chunks of 100."""
    from pytest_rageval.engine.planning.plan_scenario import make_plan
    from pytest_rageval.engine.remote.packing import Recipe, pack_samples

    plan = make_plan(Path(path))
    samples = plan.asked_samples
    assert plan.source is not None
    recipe = Recipe.of(plan.source, plan.runs_elsewhere, plan.empty_answer).pack()
    chunks = [pack_samples(samples[at : at + 100]) for at in range(0, len(samples), 100)]
    return (
        f"{len(samples):,} rows pack to {sum(map(len, chunks)) / 1e6:.3f} MB (at most 2), "
        f"and {len(recipe) / 1e3:.1f} KB of scenario with each chunk"
    )


def main(mode: str, path: str, write: Callable[[str], object]) -> None:
    """Do what the command line says."""
    if mode == "packed":
        write(f"{packed(path)}\n")
        return
    without_fast()
    with executor(mode) as workers:
        evaluate(path, ["dataset.limit=32"], executor=workers)
        started = time.perf_counter()
        result = evaluate(path, executor=workers)
        took = time.perf_counter() - started
    assert result.complete
    assert {gate.outcome for gate in result.gates} == {"passed"}, result.gates
    write(f"{took:.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.stdout.write)
