"""E8: many calls in flight while each sample stays a case; only what runs is asked about."""

from __future__ import annotations

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]


@pytest.mark.full
def test_every_sample_is_a_case_of_its_own_with_its_score(judged: JudgedProject) -> None:
    """[C2, E8] Of three, the second misses its threshold; what the judge said is on record."""
    judged.scenario(["0.9", "0.2", "0.7"], thresholds={"graded": 0.5})
    result = judged.pytest("-v")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "qa.rageval.yaml::s0 PASSED 0.90*",
            "qa.rageval.yaml::s1 FAILED 0.20*",
            "qa.rageval.yaml::s2 PASSED 0.70*",
            "*= FAILURES =*",
            "graded 0.2000 < 0.5000",
            "graded: graded 0.2",
        ]
    )
    _, second, _ = judged.project.results()["samples"]
    assert second["scores"] == {"graded": 0.2}
    assert second["reasons"] == {"graded": "graded 0.2"}
    assert second["details"] == {"graded": {"graded": "0.2"}}
    # The mean of 0.9, 0.2 and 0.7.
    assert judged.project.results()["metrics"]["graded"]["mean"] == pytest.approx(0.6)


@pytest.mark.full
@pytest.mark.parametrize(("limit", "most"), [("1", 1), ("3", 3)])
def test_the_option_sets_how_many_calls_are_in_flight(
    judged: JudgedProject, limit: str, most: int
) -> None:
    """[E8] ``--rag-concurrency``, above what the file says."""
    judged.server.options.latency_s = 0.02
    judged.scenario(["0.5"] * 3, metrics=["fourfold"], judge={"concurrency": 8})
    judged.pytest("--rag-concurrency", limit).assert_outcomes(passed=3)
    assert judged.server.most_in_flight == most
    assert judged.project.results()["scenario"]["overridden"] == ["judge.concurrency"]


@pytest.mark.full
def test_the_time_of_a_case_is_that_of_its_judge(judged: JudgedProject) -> None:
    """[E8] Six calls of 0.1 s in flight at once: each took it, though only the first waited."""
    judged.server.options.latency_s = 0.1
    # Six answers: equal ones would share one call, which the later of them join.
    judged.scenario([f"0.{n}" for n in range(1, 7)], judge={"concurrency": 6})
    result = judged.pytest("--durations=0", "--durations-min=0.1")
    shown = [line for line in result.outlines if " setup " in line and "qa.rageval.yaml::s" in line]
    assert len(shown) == 6
    latencies = judged.project.results()["run"]["latency_s"]
    assert min(latencies.values()) >= 0.1


@pytest.mark.full
@pytest.mark.parametrize(
    ("args", "asked"),
    [
        (("-k", "s1 or s3"), ["0.1", "0.3"]),
        (("qa.rageval.yaml::s2",), ["0.2"]),
        (("--rag-scenario=qa.rageval.yaml::s2",), ["0.2"]),
        (("--deselect", "qa.rageval.yaml::s0", "--rag-limit", "3"), ["0.1", "0.2"]),
        (("-m", "hard"), ["0.4"]),
        (("--collect-only",), []),
        (("--setup-plan",), []),
        (("--setup-only",), []),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_only_what_is_going_to_run_is_asked_about(
    judged: JudgedProject, args: tuple[str, ...], asked: list[str]
) -> None:
    """[E8] All the rest would be paid for in vain."""
    judged.scenario(["0.0", "0.1", "0.2", "0.3", {"answer": "0.4", "tags": ["hard"]}])
    judged.pytest(*args)
    assert sorted(judged.asked) == sorted(f"graded: {answer}" for answer in asked)


def test_rows_that_are_skipped_are_not_asked_about(judged: JudgedProject) -> None:
    """[E7, E8] By the row, by the scenario, or because they are invalid."""
    rows = [
        {"answer": "0.0"},
        {"answer": "0.1", "skip": "not yet"},
        {"answer": "0.2", "level": "hard"},
        {"question": "no answer"},
        {"answer": "0.4", "xfail": "known"},
    ]
    judged.scenario(rows, skip=[{"where": {"level": "hard"}}])
    judged.pytest().assert_outcomes(passed=1, skipped=2, xpassed=1, errors=1, failed=1)
    assert sorted(judged.asked) == ["graded: 0.0", "graded: 0.4"]


@pytest.mark.full
def test_a_case_that_is_run_again_is_judged_again(judged: JudgedProject) -> None:
    """[E8] Plugins do that to cases that failed; also to the last one, after which all closes."""
    judged.with_conftest(
        """
import _pytest.runner

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    _pytest.runner.runtestprotocol(item, nextitem=nextitem, log=False)
    _pytest.runner.runtestprotocol(item, nextitem=nextitem, log=True)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
    )
    judged.scenario(["0.1", "0.2"])
    judged.pytest().assert_outcomes(passed=2)
    assert sorted(judged.asked) == ["graded: 0.1", "graded: 0.2"]


def test_texts_are_embedded_by_the_scenarios_own_model(judged: JudgedProject) -> None:
    """[E8] Equal texts have equal vectors, the product is 1; a scenario may need no judge."""
    server = {"model": "e", "base_url": judged.server.base_url}
    row = {"answer": "the same", "question": "the same"}
    judged.scenario([row], metrics=["embedded"], judge=False, embedding=server)
    judged.pytest().assert_outcomes(passed=1)
    (sample,) = judged.project.results()["samples"]
    assert sample["scores"]["embedded"] == pytest.approx(1.0, abs=1e-6)
    assert judged.asked == []
    assert len(judged.server.embeddings) == 1


def test_two_scenarios_have_their_own_judges(judged: JudgedProject) -> None:
    """[A16, E8] Other models, other limits, one run; the cost of both is told."""
    judged.scenario(["0.1", "0.2"], file="one", judge={"model": "small", "concurrency": 1})
    judged.scenario(["0.3"], file="two", judge={"model": "large", "temperature": 1})
    judged.pytest().assert_outcomes(passed=3)
    asked = {
        (seen.body["model"], seen.body["temperature"], seen.body["messages"][0]["content"])
        for seen in judged.server.chats
    }
    assert asked == {
        ("small", 0, "graded: 0.1"),
        ("small", 0, "graded: 0.2"),
        ("large", 1, "graded: 0.3"),
    }
    for name, (mean, calls) in {"one": (0.15, 2), "two": (0.3, 1)}.items():
        results = judged.project.results(name)
        assert results["metrics"]["graded"]["mean"] == pytest.approx(mean)
        assert results["run"]["usage"]["calls"] == calls


def test_each_case_is_looked_at_once(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not again with each case before it: that took half the time of a run from the cache."""
    looked: list[str] = []
    monkeypatch.setattr(
        "pytest_rageval.plugin.run.look_ahead._may_be_skipped",
        lambda item: looked.append(item.name),
    )
    judged.scenario([f"0.{at}" for at in range(9)])
    judged.pytest().assert_outcomes(passed=9)
    assert sorted(looked) == [f"s{at}" for at in range(9)]
