"""E19: ``--rag-engine dask://``: a cluster scores, loses workers, is not there, or ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_rageval import evaluate
from tests.plugin.conftest import Project, wrong_use

distributed = pytest.importorskip("distributed", reason='needs "pytest-rageval[dask]"')
pytestmark = [
    pytest.mark.full,
    # Of Dask's own: a worker that is killed, a loop that is closed.
    pytest.mark.filterwarnings("ignore"),
]

SCENARIO = """
    name: qa
    metrics: [em, f1, {use: "mine:scored"}]
    thresholds: {f1: 0.2}
    gates: {f1: 0.3, scored: 0.5}
    dataset: qa.jsonl
"""
METRICS = """
import os
import pathlib
import signal
import time

KILLED = pathlib.Path(__file__).with_name("killed")

def scored(sample):
    if sample.answer == "kill once" and not KILLED.exists():
        KILLED.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if sample.answer == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return 1.0
"""


@pytest.fixture
def qa(project: Project) -> Project:
    project.file("mine.py", METRICS)
    project.scenario(SCENARIO)
    return project


def _rows(**answers: str) -> list[dict[str, object]]:
    rows = {f"q{at}": "a b c"[: 1 + at % 5] for at in range(60)}
    return [
        {"id": name, "answer": answer, "references": ["a b"]}
        for name, answer in {**rows, **answers}.items()
    ]


def _pytest(project: Project, *args: str) -> pytest.RunResult:
    """Run pytest in a process of its own: Dask leaves threads behind."""
    folder = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
    project.pytester._env_run_update = {"PYTHONPATH": path}  # type: ignore[attr-defined]
    return project.pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)


@contextmanager
def _cluster(folder: Path, workers: int, *options: str) -> Iterator[tuple[str, list[int]]]:
    """Run a scheduler and workers without nannies; provide the address and the workers' ids."""
    scheduler = folder / "scheduler.json"
    common = ["--scheduler-file", str(scheduler)]
    started = [_start("dask_scheduler", *common, "--port", "0", "--no-dashboard", "--no-show")]
    try:
        own = ("--no-nanny", "--nthreads", "1", "--no-dashboard")
        started += [_start("dask_worker", *common, *own) for _ in range(workers)]
        with distributed.Client(scheduler_file=str(scheduler), timeout=60) as client:
            client.wait_for_workers(workers, timeout=60)
            address = client.scheduler.address
            pids = list(client.run(os.getpid).values())
        yield address.removeprefix("tcp://"), pids
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def _start(what: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{what}", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_local_cluster_gives_the_same_to_the_last_byte(qa: Project) -> None:
    """[E19] All lines of results.json but the one that says what the run was."""
    qa.rows(_rows())
    plain = qa.pytest()
    sent = _pytest(qa, "--rag-engine=dask://local")
    assert plain.parseoutcomes() == sent.parseoutcomes()
    assert qa.without_run(0) == qa.without_run(1)


def test_a_worker_that_is_killed_loses_nothing(qa: Project) -> None:
    """[E19] SIGKILL in the middle of a chunk: Dask asks another worker."""
    qa.rows(_rows(q30="kill once"))
    _pytest(qa, "--rag-engine=dask://local")
    assert (qa.path / "killed").exists()
    results = qa.results()
    assert results["complete"]
    assert results["counts"]["ran"] == 60
    assert results["metrics"]["scored"]["mean"] == 1.0


def test_a_cluster_that_loses_all_workers_makes_the_run_red(qa: Project, tmp_path: Path) -> None:
    """[E19] The sample that ends each of them is named, with all that nobody scored."""
    qa.rows(_rows(q30="die"))
    with _cluster(tmp_path, 2) as (address, _):
        result = _pytest(qa, f"--rag-engine=dask://{address}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            f"lost by dask://{address}: *",
            # On a busy machine, all may be lost before one result has come.
            "FAILED *::gate:f1.mean*of 60 samples ran*",
            "ERROR *::q30 - Failed: lost by *",
        ]
    )
    assert "PASSED" not in [line.split()[0] for line in result.outlines if "::gate:" in line]


def test_a_cluster_that_is_not_there_is_a_wrong_use(qa: Project) -> None:
    """[E19] Within some seconds, in one message."""
    qa.rows(_rows())
    result = wrong_use(_pytest(qa, "--rag-engine=dask://127.0.0.1:9"))
    assert result.stderr.str().count("ERROR:") == 1
    result.stderr.fnmatch_lines(["ERROR: --rag-engine dask://127.0.0.1:9: no scheduler *"])
    assert qa.wrote_nothing


def test_the_clients_executor_serves_evaluate(qa: Project) -> None:
    """[E19] As Dask hands it out; one worker is ended while the others score."""
    qa.rows(_rows())
    path = qa.path / "qa.rageval.yaml"
    plain = evaluate(path)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        ended = []

        def end_one(done: int, _: int) -> None:
            if done and not ended:
                ended.append(os.kill(victim, signal.SIGKILL))

        found = evaluate(path, executor=client.get_executor(), progress=end_one)
    assert ended
    assert found.complete
    assert found.gates == plain.gates
    assert [one.scores for one in found.samples] == [one.scores for one in plain.samples]
