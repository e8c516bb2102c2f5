"""E8, E9: a run that is stopped or killed asks no more, leaves nothing open, and is not paid twice.

Whatever ends a run, its files are written and no thread, socket or folder is left.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import interrupted

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full


@pytest.fixture(autouse=True)
def _nothing_stays(judged: JudgedProject) -> Iterator[None]:
    """Fail a test whose runs leave a thread, a connection or a folder behind."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    assert {thread.name for thread in set(threading.enumerate()) - before} == set()
    assert list(judged.temporary.glob("rageval-*")) == []
    # The server learns a moment later that its connections were closed.
    deadline = time.monotonic() + 60.0
    while judged.server._tasks and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not judged.server._tasks


def test_a_run_leaves_nothing_behind(judged: JudgedProject) -> None:
    """[E8] Also by a host name, for which a resolver's thread is needed; no warning is raised."""
    there = judged.server.base_url.replace("127.0.0.1", "localhost")
    judged.scenario(["0.5"] * 4, metrics=["fourfold"], judge={"base_url": there})
    judged.pytest("-W", "error").assert_outcomes(passed=4)
    assert judged.server.connections > 0


def test_stopping_at_the_first_failure_asks_no_more(judged: JudgedProject) -> None:
    """[E8] Two calls in flight, a window of eight samples, 60 samples; the first one fails."""
    judged.server.options.latency_s = 0.01
    judged.scenario(
        ["0.1"] + [f"0.{at}" for at in range(50, 109)],
        thresholds={"graded": 0.5},
        gates={"graded": 0.1},
        judge={"concurrency": 2},
    )
    result = judged.pytest("-x")
    result.assert_outcomes(failed=1, skipped=2)
    assert judged.project.outcomes() == {"s0": "failed"}
    assert judged.project.results()["complete"] is False
    assert len(judged.asked) <= 8


INTERRUPT = """
def pytest_runtest_call(item):
    if item.name == "s2":
        raise KeyboardInterrupt
"""


@pytest.mark.parametrize("way", ["raise KeyboardInterrupt", "pytest.exit('enough')"])
def test_ctrl_c_in_a_case_writes_the_files_and_asks_no_more(
    judged: JudgedProject, way: str
) -> None:
    """[E8] In the third of 60 samples: the two before are on record, with what they cost."""
    judged.server.options.latency_s = 0.01
    judged.with_conftest(INTERRUPT.replace("raise KeyboardInterrupt", way))
    answers = [f"0.{at}" for at in range(40, 100)]
    judged.scenario(answers, gates={"graded": 0.1}, judge={"concurrency": 2})
    result = interrupted(judged.pytest())
    assert judged.project.outcomes() == {"s0": "passed", "s1": "passed"}
    assert set(judged.project.gates().values()) == {"skipped"}
    assert judged.usage["calls"] >= 3
    assert len(judged.asked) <= 3 + 8
    result.stdout.fnmatch_lines(["==* rageval: qa *==", "models: * calls*"])


def test_the_processes_of_a_run_share_a_folder_of_its_own(judged: JudgedProject) -> None:
    """[E10] In the system's folder for temporary files, for the time of the run."""
    judged.with_conftest(
        """
def pytest_runtest_teardown(item):
    import tempfile
    found = [path.name for path in pathlib.Path(tempfile.gettempdir()).glob("rageval-*")]
    (HERE / "seen.txt").write_text(",".join(found))
"""
    )
    judged.scenario(["0.5"])
    judged.pytest().assert_outcomes(passed=1)
    assert (judged.path / "seen.txt").read_text().count("rageval-run-") == 1
    assert not list(Path(judged.temporary).iterdir())


def test_a_judge_of_which_no_reply_can_be_used_is_given_up(judged: JudgedProject) -> None:
    """[R10] Over two workers: the rest are ERRORs, whatever judges them, and say why."""
    judged.server.options.answer = lambda body: "I cannot say."
    judged.scenario(
        [f"0.{at}" for at in range(10, 70)],
        gates={"unscored": 1.0},
        judge={"reasks": 2, "max_failures": 5, "concurrency": 2},
    )
    result = judged.distributed()
    result.assert_outcomes(errors=60, failed=1)
    assert len(judged.asked) <= 5 + 2
    unasked = [error for error in judged.errors.values() if error.startswith("not asked: ")]
    assert len(unasked) >= 60 - 7
    assert "(judge.max_failures is 5; null: never stop)" in unasked[0]
    assert "; one was 'I cannot say.'" in "".join(unasked)
