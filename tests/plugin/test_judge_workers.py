"""E8, E10: workers judge what they run, share limits, cache and budget, and change no score."""

from __future__ import annotations

from collections import Counter

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]

WATCHED = """
import tempfile

import pytest_rageval.plugin.run.look_ahead

pytest_rageval.plugin.run.look_ahead._BEAT_S = 0.0

def pytest_runtest_teardown(item):
    folder = pathlib.Path(tempfile.gettempdir())
    found = sorted(path.name for path in folder.glob("rageval-*"))
    with open(HERE / "folders.txt", "a") as log:
        log.write(",".join(found) + "\\n")
"""


@pytest.mark.full
def test_two_workers_give_the_same_and_ask_no_more(judged: JudgedProject) -> None:
    """[E2, E8, C6] 24 samples of five kinds, six calls in flight over both workers.

    Samples with equal questions ask once; repeats ask as often as they say. The rate of the replies
    differs, the scores do not.
    """
    judged.with_conftest(WATCHED)
    judged.server.options.latency_s = 0.02
    rows = [{"answer": "0.3", "skip": "not yet"}, {"question": "invalid"}]
    rows += [
        {"answer": f"0.{at % 7}", "question": f"q{at}", "doc_name": f"d{at % 3}"}
        for at in range(20)
    ]
    # Of the four calls at once of a metric that fails three go on: they end before the run does.
    rows += [{"answer": "400|0.5", "question": "refused"}, {"answer": "prose|0.5"}]
    judged.scenario(
        rows,
        metrics=["graded", "fourfold", "silent"],
        metric_weights={"graded": 1, "fourfold": 0.3, "silent": 0},
        thresholds={"graded": 0.2},
        gates={"graded": 0.1, "by": {"doc_name": {"fourfold": 0.2}}},
        judge={"concurrency": 6, "repeats": 2, "reasks": 0, "price": {"input": 1, "output": 1}},
    )
    plain = judged.pytest("--rag-cache-dir=one")
    asked = Counter(judged.asked)
    assert judged.server.most_in_flight == 6
    judged.server.forget()
    distributed = judged.distributed("--rag-cache-dir=two")
    assert Counter(judged.asked) == asked
    assert 2 <= judged.server.most_in_flight <= 6
    first, second = judged.project.folders()
    assert judged.without_run(first) == judged.without_run(second)
    for name in ("scores.csv", "invalid.csv", "scenario.snapshot.yaml"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert plain.parseoutcomes() == distributed.parseoutcomes()
    assert plain.ret == distributed.ret == pytest.ExitCode.TESTS_FAILED
    assert judged.project.results()["run"]["workers"] == 2
    # "graded: 0.1" is asked for three samples and two repeats, sent twice.
    assert asked["graded: 0.1"] == 2
    # Both workers and the controller know one folder, and it is gone.
    assert set((judged.path / "folders.txt").read_text().split()) != set()
    assert all("," not in line for line in (judged.path / "folders.txt").read_text().split())
    assert list(judged.temporary.iterdir()) == []
    # The account is that of all processes.
    assert judged.usage["calls"] == len([1 for text in judged.asked if "400" not in text])
    assert judged.usage["cost_usd"] > 0.0
    assert "samples judged" not in distributed.stdout.str()


@pytest.mark.full
def test_rate_limits_for_ever_cost_as_much_with_workers(judged: JudgedProject) -> None:
    """[X11] 12 of 40 prompts meet them; xdist gives a worker the next ones when it is through.

    A call that waits in vain ends after 3.5 s at most. Six of them in turn would take 15 s and
    more, where one process takes 3.5 s. What was answered is in the cache: a second run asks for
    the 12 alone.
    """
    answers = [f"{'429|' if at % 10 in (0, 3, 7) else ''}0.{at}" for at in range(10, 50)]
    judged.scenario(answers, judge={"max_wait_s": 4, "concurrency": 32})
    took = []
    for run, cache in ((judged.pytest, "one"), (judged.distributed, "two")):
        judged.server.forget()
        result = run(f"--rag-cache-dir={cache}")
        assert result.parseoutcomes()["errors"] == 12
        assert judged.project.results()["counts"]["scored"] == 28
        times = [seen.at for seen in judged.server.chats]
        took.append(max(times) - min(times))
    assert took[1] <= took[0] + 6 * 0.5 + 3.0, took
    assert all("lower judge.concurrency" in error for error in judged.errors.values() if error)
    judged.server.forget()
    judged.pytest("--rag-cache-dir=two")
    assert {text.partition(": ")[2] for text in judged.asked} == {
        answer for answer in answers if answer.startswith("429")
    }
