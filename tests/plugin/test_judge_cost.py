"""E10, E11: what a run asked and what it cost, the budget that stops it, and word of its progress.

The fake server counts 4 characters as a token: "graded: 0.10" has 12, which are 3, and the reply
"0.10" has 1.
"""

from __future__ import annotations

import json
import os

import fake_openai
import pytest
from judged_project import JudgedProject

from pytest_rageval.engine.scoring import window as ahead
from pytest_rageval.plugin.run import look_ahead
from tests.plugin.conftest import red

pytest_plugins = ["judged_project"]

ANSWERS = [f"0.{at}" for at in range(10, 20)]
DOLLAR_A_TOKEN = {"input": 1_000_000, "output": 0}


def test_what_two_scenarios_share_is_a_call_of_the_first(judged: JudgedProject) -> None:
    """[E10] The second one waits for the same call, and has its answer for nothing."""
    judged.server.options.latency_s = 0.2
    for name in ("one", "two"):
        judged.scenario(["0.10"], file=name)
    judged.pytest().assert_outcomes(passed=2)
    assert len(judged.asked) == 1
    used = [judged.project.results(name)["run"]["usage"] for name in ("one", "two")]
    assert [(usage["calls"], usage["cached"]) for usage in used] == [(1, 0), (0, 1)]


@pytest.mark.full
def test_the_budget_stops_the_asking(judged: JudgedProject) -> None:
    """[E10] 3 USD a call and 10 to spend: three calls; the other samples are ERROR "budget"."""
    judged.scenario(
        ANSWERS,
        gates={"graded": 0.05, "unscored": 0.9},
        judge={"price": DOLLAR_A_TOKEN, "concurrency": 1},
    )
    result = red(judged.pytest("--rag-budget", "10"))
    assert len(judged.asked) == 3
    assert judged.usage["cost_usd"] == 9.0
    assert list(judged.project.outcomes().values()) == ["passed"] * 3 + ["error"] * 7
    assert all("budget of 10 USD" in error for error in judged.errors.values())
    # A mean of three samples of ten decides nothing, whatever the gates allow.
    assert "passed" not in judged.project.gates().values()
    result.stdout.fnmatch_lines(
        [
            "graded unscored: *budget*",
            "graded *0.1100*3/10 *(7 unscored)",
            "models: 3 calls*9.0000 USD",
            "ERROR qa.rageval.yaml::s9*graded unscored: *budget*",
        ]
    )


@pytest.mark.full
def test_the_budget_is_one_for_all_scenarios_of_a_run(judged: JudgedProject) -> None:
    """[E10] Two scenarios of ten samples, 3 USD a call, 40 to spend."""
    for name in ("one", "two"):
        judged.scenario(
            [f"0.{at}" for at in range(10, 20)],
            file=name,
            judge={"model": name, "price": DOLLAR_A_TOKEN, "concurrency": 1},
        )
    judged.pytest("--rag-budget", "40")
    assert len(judged.asked) == 13
    assert judged.project.results("one")["counts"]["error"] == 0
    assert judged.project.results("two")["counts"]["error"] == 7


AT_A_TERMINAL = """
def pytest_collection_finish(session):
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    terminal.isatty = type(terminal.isatty)(True)
"""


@pytest.fixture
def beating(judged: JudgedProject, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    """Return a project whose runs at a terminal tell their progress all the time."""
    monkeypatch.setattr(look_ahead, "_BEAT_S", 0.0)
    monkeypatch.setattr(ahead, "_POLL_S", 0.02)
    judged.server.options.latency_s = 0.1
    judged.with_conftest(AT_A_TERMINAL)
    judged.scenario(ANSWERS[:3], judge={"price": DOLLAR_A_TOKEN, "concurrency": 1})
    return judged


@pytest.mark.full
def test_a_long_run_tells_its_progress(beating: JudgedProject) -> None:
    """[E11] Samples judged of all, calls, cost: after the first call of 3 USD, for instance."""
    result = beating.pytest()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["rageval: 1 of 3 samples judged, 1 calls, 3.0000 USD, 1 in flight, the oldest for 0 s"]
    )


@pytest.mark.full
def test_a_long_run_counts_what_is_selected(beating: JudgedProject) -> None:
    """[E11]"""
    output = beating.pytest("-k", "s1 or s2").stdout.str()
    assert " of 2 samples judged" in output


@pytest.mark.full
@pytest.mark.parametrize("args", [("-q",), ("-qq",), ("--co",)])
def test_a_quiet_run_tells_nothing(beating: JudgedProject, args: tuple[str, ...]) -> None:
    """[E11]"""
    assert "samples judged" not in beating.pytest(*args).stdout.str()


@pytest.mark.full
@pytest.mark.parametrize("is_minute_over", [False, True])
@pytest.mark.parametrize("where", ["CI", "a pipe"])
def test_a_log_is_told_once_a_minute(
    beating: JudgedProject, monkeypatch: pytest.MonkeyPatch, where: str, is_minute_over: bool
) -> None:
    """[R16] A job that says nothing for minutes looks as if it hangs."""
    if where == "CI":
        monkeypatch.setenv("CI", "true")
    else:
        beating.with_conftest("")
    assert look_ahead._LOG_BEAT_S == 60
    monkeypatch.setattr(look_ahead, "_LOG_BEAT_S", 0.0 if is_minute_over else 60.0)
    assert ("samples judged" in beating.pytest().stdout.str()) is is_minute_over


@pytest.mark.full
def test_what_is_sent_again_is_told(beating: JudgedProject) -> None:
    """[R16] The first request to the first sample fails once."""
    beating.scenario(ANSWERS[:3], judge={"retries": 1, "concurrency": 1})
    beating.server.then("500")
    beating.pytest().stdout.fnmatch_lines(
        ["rageval: * in flight, the oldest for * s, 1 sent again"]
    )


def test_progress_needs_no_terminal_plugin(beating: JudgedProject) -> None:
    """[E11] ``-p no:terminal``."""
    beating.with_conftest("")
    beating.pytest("-p", "no:terminal")
    assert beating.project.outcomes() == {"s0": "passed", "s1": "passed", "s2": "passed"}


def test_usage_is_plain_json(judged: JudgedProject) -> None:
    """[E10] For whoever adds up the runs of a month; no path of this machine is in it."""
    judged.scenario(ANSWERS[:1], judge={"price": DOLLAR_A_TOKEN})
    judged.pytest()
    text = json.dumps(judged.project.results()["run"])
    assert str(judged.temporary) not in text
    assert os.fspath(judged.path) not in text


def test_usage_that_no_call_can_have_is_unknown_and_said(judged: JudgedProject) -> None:
    """[X10] A number of 400 digits loses no sample; an estimate stands for it, and is named so."""
    made = fake_openai._completion
    odd = {"usage": {"prompt_tokens": 10**399, "completion_tokens": 1}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_openai, "_completion", lambda *given: {**made(*given), **odd})
        judged.scenario(ANSWERS[:2])
        result = judged.loop_back()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["models: usage is unknown where a server states*: estimated"])
    assert 0 < judged.usage["prompt_tokens"] < 100
