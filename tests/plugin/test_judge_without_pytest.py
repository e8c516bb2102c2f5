"""E8, E9: ``evaluate`` asks the same judges as a run of pytest, and leaves nothing open either."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from judged_project import JudgedProject

from pytest_rageval import ScenarioResult, evaluate
from pytest_rageval.clients.settings import RunSettings

pytest_plugins = ["judged_project"]


@pytest.fixture(autouse=True)
def _metrics(judged: JudgedProject) -> Iterator[None]:
    """Add the judged metrics to this process; fail a test that leaves a thread behind."""
    judged.load_conftest()
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def test_many_samples_are_judged_at_once(judged: JudgedProject) -> None:
    """[E8] Mean of 0.9, 0.2 and 0.4; the second misses its threshold."""
    judged.server.options.latency_s = 0.05
    path = judged.scenario(["0.9", "0.2", "0.4"], thresholds={"graded": 0.3})
    result = evaluate(path)
    assert result.metrics["graded"].mean == pytest.approx(0.5)
    assert [sample.outcome for sample in result.samples] == ["passed", "failed", "passed"]
    assert judged.server.most_in_flight == 3


@pytest.mark.parametrize("stop", ["decided", 0.05])
def test_it_stops_when_the_verdict_is_certain(judged: JudgedProject, stop: object) -> None:
    """[F6] 22 of 40 are enough, or fewer; those that are not asked are skipped, in their place."""
    judged.server.options.latency_s = 0.01
    answers = [f"0.9{at:02}" for at in range(40)]
    path = judged.scenario(answers, gates={"graded": 0.5}, judge={"concurrency": 2}, stop=stop)
    done: list[int] = []
    result = evaluate(path, progress=lambda count, total: done.append(count))
    asked = len(judged.asked)
    assert asked < 40
    assert asked >= 22 or stop != "decided"
    assert (result.complete, result.counts.ran, result.counts.not_asked) == (
        False,
        asked,
        40 - asked,
    )
    assert [sample.index for sample in result.samples] == list(range(40))
    assert [gate.outcome for gate in result.gates] == ["passed", "passed"]
    assert done[-1] == 40


def test_a_running_event_loop_is_no_obstacle(judged: JudgedProject) -> None:
    """[E8] As in a notebook: the judges have a loop of their own; its tasks go on afterwards."""
    path = judged.scenario(["0.9", "0.2"], metrics=["graded", "fourfold"])

    async def notebook() -> tuple[ScenarioResult, str]:
        meanwhile = asyncio.create_task(asyncio.sleep(0.0, "goes on"))
        result = evaluate(path)
        return result, await meanwhile

    result, meanwhile = asyncio.run(notebook())
    assert meanwhile == "goes on"
    assert [dict(one.scores) for one in result.samples] == [
        {"graded": 0.9, "fourfold": 0.9},
        {"graded": 0.2, "fourfold": 0.2},
    ]
    assert len(judged.asked) == 10


def test_replies_are_kept_where_the_caller_says(judged: JudgedProject) -> None:
    """[E9] Nowhere, or in a folder, from which the second time is served."""
    path = judged.scenario(["0.9", "0.2"])
    evaluate(path)
    assert not (judged.path / ".rageval").exists()
    run = RunSettings(cache_dir=judged.path / "kept")
    first, second = evaluate(path, run=run), evaluate(path, run=run)
    assert len(judged.asked) == 4
    assert [one.scores for one in first.samples] == [one.scores for one in second.samples]
