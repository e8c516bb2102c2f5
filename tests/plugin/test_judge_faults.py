"""A20, E8, E9, E10: whatever goes wrong; on two workers where there are signals and crashes.

No run hangs (each test has two minutes), nothing that was not scored is green, no score that is
there is lost, and, as the fixture ``judged`` sees to, no key is written or printed. What servers do
to the metric ``graded`` is in test_judge_errors.py, what stops a run in test_judge_stops.py.
"""

from __future__ import annotations

import _thread
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import red

pytest_plugins = ["judged_project"]

LONGEST_S = 120.0


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """End a run that takes too long as Ctrl-C does; no test expects that outcome."""
    watch = threading.Timer(LONGEST_S, _thread.interrupt_main)
    watch.start()
    yield
    watch.cancel()
    watch.join()


RATED = {"rubric": {"prompt": "By {context}, to {query}, rate: {answer}"}}


WAYS = ("429", "429:0.1", "500", "503:0.1", "reset", "close", "cut", "not_json", "empty_choices")


def _but_replies(judged: JudgedProject, folder: Path) -> list[bytes]:
    """Return results.json without how many replies were prose, which is counted."""
    counts = re.compile(rb', "replies": \{(?:[^{}]|\{[^{}]*\})*\}')
    return [counts.sub(b"", line) for line in judged.without_run(folder)]


@pytest.mark.full
def test_with_faults_that_clear_the_scores_are_those_of_a_run_without(
    judged: JudgedProject,
) -> None:
    """[E10] Of 360 questions and some batches of texts each tenth fails at first, in ten ways."""
    rows = [
        {"answer": f"{at / 100}", "question": f"question {at}", "contexts": [f"c{at}"]}
        for at in range(60)
    ]
    judged.scenario(
        rows,
        metrics=["graded", "fourfold", "embedded", RATED],
        judge={"retries": 4, "concurrency": 16},
        embedding={"model": "e", "base_url": judged.server.base_url, "batch_size": 8},
        thresholds={"graded": 0.5},
        gates={"fourfold": 0.1},
    )
    clean = judged.pytest("--rag-cache=off")
    assert len(judged.asked) == 60 * (1 + 4 + 1)
    judged.server.forget()
    judged.server.options.fault_rates = dict.fromkeys((*WAYS, "prose"), 0.01)
    faulty = judged.loop_back()
    assert 360 * 1.05 < len(judged.asked) < 360 * 1.2
    first, second = judged.project.folders()
    assert judged.without_run(first) != judged.without_run(second)
    assert _but_replies(judged, first) == _but_replies(judged, second)
    assert (first / "scores.csv").read_bytes() == (second / "scores.csv").read_bytes()
    # 50 of the 60 answers are below 0.5.
    assert clean.parseoutcomes() == {"failed": 50, "passed": 10 + 2}
    assert faulty.parseoutcomes() == clean.parseoutcomes()
    assert faulty.ret == clean.ret


@pytest.mark.full
@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_a_failure_ends_a_run_whose_other_calls_hang(judged: JudgedProject, fault: str) -> None:
    """[E8] ``-x``: nobody waits for the time that the others have left."""
    judged.server.hang_s = LONGEST_S
    answers = ["0.9", "400|0.5", *(f"{fault}|0.{at}" for at in range(10, 40))]
    judged.scenario(answers, judge={"timeout_s": 2 * LONGEST_S})
    result = judged.pytest("-x", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, errors=1)
    assert judged.project.outcomes() == {"s0": "passed", "s1": "error"}


@pytest.mark.full
def test_a_failure_lets_workers_finish_what_they_have_begun(judged: JudgedProject) -> None:
    """[E8] ``-x`` as xdist does it for any test; a judge that hangs, no longer than its time.

    Beside what ran at most a window of eight samples for each of the two was asked; no gate passes.
    """
    judged.server.hang_s = LONGEST_S
    answers = ["0.9", "400|0.5", *(f"hang|0.{at}" for at in range(10, 40))]
    judge = {"timeout_s": 5.0, "concurrency": 4}
    judged.scenario(answers, judge=judge, gates={"graded": 0.0})
    result = judged.distributed("-x", "--junitxml=junit.xml")
    assert result.ret != pytest.ExitCode.OK
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    outcomes = judged.project.outcomes()
    assert (outcomes["s0"], outcomes["s1"]) == ("passed", "error")
    assert len(outcomes) < 10
    assert len(judged.asked) <= len(outcomes) + 2 * 8
    assert set(judged.project.gates().values()) == {"skipped"}


class Process:
    """A run of pytest in a session of its own, with its workers, that signals can be sent to."""

    def __init__(self, judged: JudgedProject, *args: str) -> None:
        self._judged = judged
        self._output = judged.path / "output.txt"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "--junitxml=junit.xml", *args],
                cwd=judged.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_until(self, happened: Callable[[], object]) -> None:
        """Wait for something in the run, which must not end before."""
        while not happened():
            assert self._process.poll() is None, self.output
            time.sleep(0.02)

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches all processes in a terminal; return the exit status."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(LONGEST_S)

    def kill(self) -> None:
        """Kill all of its processes, as the system does that has no memory left."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(LONGEST_S)

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text("utf-8")

    def leaves_nobody(self) -> bool:
        """Return whether no process of it is left, soon after it has ended."""
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            try:
                os.killpg(self._process.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.02)
        return False


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.full
def test_ctrl_c_ends_a_run_whose_workers_wait_for_hanging_judges(judged: JudgedProject) -> None:
    """[E8] The scores that were there are in the files, no gate is green, nobody stays behind."""
    judged.server.hang_s = LONGEST_S
    answers = [f"0.{at}" for at in range(10, 16)] + [f"hang|0.{at}" for at in range(10, 40)]
    judged.scenario(answers, judge={"timeout_s": 2 * LONGEST_S}, gates={"graded": 0.0})
    process = Process(judged, "-v", "-n", "2")
    process.wait_until(lambda: process.output.count("PASSED") == 6 and len(judged.asked) >= 8)
    assert process.interrupt() == pytest.ExitCode.INTERRUPTED
    assert process.leaves_nobody()
    scores = {one["id"]: one["scores"]["graded"] for one in judged.project.results()["samples"]}
    assert scores == {f"s{at}": float(f"0.{at + 10}") for at in range(6)}
    assert set(judged.project.gates().values()) == {"skipped"}


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_run_that_is_killed_has_kept_every_reply(judged: JudgedProject) -> None:
    """[E9] In the middle of calls; started again it asks for the rest."""
    judged.server.hang_s = LONGEST_S
    answers = [f"0.{at}" for at in range(10, 16)] + ["once hang|0.5", "once hang|0.6"]
    judged.scenario(answers, judge={"timeout_s": 2 * LONGEST_S, "concurrency": 4})
    process = Process(judged, "-v")
    process.wait_until(lambda: process.output.count("PASSED") == 6 and len(judged.asked) == 8)
    process.kill()
    judged.server.forget()
    judged.server.remember("graded: once hang|0.5", "graded: once hang|0.6")
    judged.pytest().assert_outcomes(passed=8)
    assert sorted(judged.asked) == ["graded: once hang|0.5", "graded: once hang|0.6"]


DIES = """
class Fatal(Graded):
    async def ascore(self, sample, models):
        if sample.answer == "0.15" and not (HERE / "died").exists():
            (HERE / "died").touch()
            await asyncio.sleep(0.3)  # the calls of other samples are on their way meanwhile
            os.kill(os.getpid(), 9)
        return await super().ascore(sample, models)

info = MetricInfo("fatal", frozenset({"answer"}), asks=frozenset({"judge"}))
if METRIC_REGISTRY.canonical("fatal") is None:
    METRIC_REGISTRY.add(MetricDefinition(info, Fatal))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.full
def test_a_worker_that_is_killed_while_it_judges_loses_one_sample(judged: JudgedProject) -> None:
    """[E8, E9] The one that it had come to; a new worker takes its place for the others."""
    judged.server.options.latency_s = 0.05
    judged.with_conftest(DIES)
    answers = [f"0.{at}" for at in range(10, 30)]
    judged.scenario(answers, metrics=["fatal"], judge={"concurrency": 4}, gates={"fatal": 0.0})
    result = red(judged.distributed("--junitxml=junit.xml"))
    assert list(judged.project.outcomes().values()) == ["passed"] * 19
    (lost,) = {f"s{at}" for at in range(20)} - set(judged.project.outcomes())
    result.stdout.fnmatch_lines([f"gate fatal.mean *FAILED *1 lost (a worker crashed?): {lost}"])
    judged.server.forget()
    judged.pytest().assert_outcomes(passed=20 + 2)
    assert len(judged.asked) <= 1
    assert judged.usage["cached"] + judged.usage["calls"] == 20


FULL = """
import os
import resource

# What is written beyond so many bytes of a file fails as on a full disk: in part, then at once.
SOFT, HARD = resource.getrlimit(resource.RLIMIT_FSIZE)
MOST = 2500 if "DISK_IS_FULL" in os.environ else SOFT

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol():
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, HARD))
    try:
        return (yield)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SOFT, HARD))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
def test_a_disk_that_fills_up_costs_no_score_and_leaves_no_half_entry(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] A part of the replies is kept, and the summary says it; the rest is asked for again."""
    # Python itself leaves a compiled module behind that is cut off.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # Not by another conftest.py: it has the metric, and its code is on record.
    monkeypatch.setenv("DISK_IS_FULL", "1")
    judged.with_conftest(FULL)
    answers = [f"0.{at}" for at in range(10, 50)]
    judged.scenario(answers)
    result = judged.loop_back("--junitxml=junit.xml", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=40)
    result.stdout.fnmatch_lines(["models: *not kept: *No space left*"])
    entries = [json.loads(line) for path in judged.cache.glob("*.jsonl") for line in _lines(path)]
    kept = {entry["sha256"] for entry in entries if "value" in entry}
    assert 1 <= len(kept) < 40
    monkeypatch.delenv("DISK_IS_FULL")
    judged.server.forget()
    judged.pytest().assert_outcomes(passed=40)
    assert len(judged.asked) == 40 - len(kept)
    first, second = judged.project.folders()
    assert judged.without_run(first) == judged.without_run(second)


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_a_server_that_is_starting_is_waited_for_with_a_line(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R9] Refused for over a second, then loading its model; the line is there in CI, too."""
    from judged_project import JudgeServer, echo

    monkeypatch.setenv("CI", "true")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    late = JudgeServer(port, answer=echo)
    late.then("503 Loading model")
    there = {"base_url": late.base_url, "retries": 1, "concurrency": 1}
    judged.scenario(["0.2", "0.4"], judge=there)
    begin = threading.Timer(1.2, late.__enter__)
    begin.start()
    try:
        result = judged.pytest()
    finally:
        begin.join()
        late.__exit__()
    result.assert_outcomes(passed=2)
    (line,) = [line for line in result.outlines if "waiting" in line]
    assert line.startswith(
        f"rageval: waiting up to 120 s for judge 'm' at http://127.0.0.1:{port}/v1: "
    )
    # A slow machine asks for the first time when it is loading.
    assert "the connection failed (Connection refused)" in line or "Loading model" in line
    assert line.endswith("; Ctrl-C ends it")
