"""E9: what was answered is not asked again; replay asks nobody and says what it lacks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from judged_project import JudgedProject, JudgeServer

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full


ANSWERS = ["0.1", "0.2", "0.3"]


@pytest.fixture
def recorded(judged: JudgedProject) -> JudgedProject:
    """Return a project that has run once, with the server's memory wiped."""
    judged.scenario(ANSWERS, metrics=["graded", "fourfold"])
    judged.pytest().assert_outcomes(passed=3)
    assert len(judged.asked) == 15
    judged.server.forget()
    return judged


@pytest.fixture
def no_sockets(judge_server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every attempt to make a network socket fail; the loop's own pair may be made.

    A test names it last, after what needs the network.
    """
    tried: list[Any] = []
    real = socket.socket

    class Blocked(real):  # type: ignore[misc,valid-type]
        def __init__(self, family: int = -1, *args: Any, **kwargs: Any) -> None:
            if family in (socket.AF_INET, socket.AF_INET6, -1) and not kwargs.get("fileno"):
                tried.append(family)
                raise AssertionError("a socket was opened")
            super().__init__(family, *args, **kwargs)

    monkeypatch.setattr(socket, "socket", Blocked)
    yield
    assert tried == []


def test_a_second_run_asks_nobody(recorded: JudgedProject) -> None:
    """[E9] The same to the last byte, but for the run itself; what it used says so."""
    result = recorded.pytest()
    assert recorded.asked == []
    first, second = recorded.project.folders()
    assert recorded.without_run(first) == recorded.without_run(second)
    assert (recorded.usage["calls"], recorded.usage["cached"]) == (0, 15)
    assert recorded.usage["prompt_tokens"] == recorded.usage["completion_tokens"] == 0
    result.stdout.fnmatch_lines(["models: 0 calls, 15 answers from the cache, 0 tokens*"])


SOCKETS = """
import socket

class Noted(socket.socket):
    def __init__(self, family=-1, *args, **kwargs):
        if family in (socket.AF_INET, socket.AF_INET6, -1) and not kwargs.get("fileno"):
            (HERE / "opened.txt").write_text(str(family))
        super().__init__(family, *args, **kwargs)

if "PYTEST_XDIST_WORKER" in os.environ:
    socket.socket = Noted
"""


def test_replay_opens_no_socket_in_workers_either(recorded: JudgedProject) -> None:
    """[E9] That they are noted is seen when there is something to ask."""
    recorded.with_conftest(SOCKETS)
    recorded.pytest("--rag-cache=replay", "-n", "1").assert_outcomes(passed=3)
    assert not (recorded.path / "opened.txt").exists()
    recorded.pytest("--rag-cache=refresh", "-n", "1").assert_outcomes(passed=3)
    assert (recorded.path / "opened.txt").exists()


def test_a_miss_in_replay_is_an_error_that_says_what_and_why(
    recorded: JudgedProject, no_sockets: None
) -> None:
    """[E9] Sample, metric and what the nearest answer on record has else; the others pass."""
    recorded.scenario(["0.1", "0.25", "0.3"])
    result = recorded.loop_back("--rag-cache=replay")
    result.assert_outcomes(passed=2, errors=1, failed=1)
    assert list(recorded.errors) == ["s1"]
    error = recorded.errors["s1"]
    assert "'s1'" in error
    assert "graded" in error
    assert "'graded: 0.25' here, 'graded: 0.2' in the cache" in error
    result.stdout.fnmatch_lines(
        ["ERROR qa.rageval.yaml::s1*graded unscored*no reply in the cache*"]
    )
    assert recorded.project.outcomes() == {"s0": "passed", "s1": "error", "s2": "passed"}


def test_the_folder_and_the_mode_have_their_options(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] On the command line, in the environment, in the ini file, and where by default."""
    judged.scenario(["0.1"])
    judged.pytest()
    assert judged.cache.is_dir()
    judged.project.pytester.makeini("[pytest]\nrageval_cache_dir = by_ini")
    judged.pytest()
    assert (judged.path / "by_ini").is_dir()
    monkeypatch.setenv("RAGEVAL_CACHE_DIR", "by_environment")
    judged.pytest()
    assert (judged.path / "by_environment").is_dir()
    judged.pytest("--rag-cache-dir=by_option")
    assert (judged.path / "by_option").is_dir()
    assert len(judged.asked) == 4
    monkeypatch.setenv("RAGEVAL_CACHE", "replay")
    judged.pytest("--rag-cache-dir=by_option").assert_outcomes(passed=1)
    assert len(judged.asked) == 4


def test_a_cache_of_other_samples_is_no_obstacle(recorded: JudgedProject) -> None:
    """[E9] Two scenarios share one folder, and their answers where they ask the same."""
    recorded.scenario(["0.1", "0.7"], file="other")
    recorded.pytest("other.rageval.yaml").assert_outcomes(passed=2)
    assert recorded.asked == ["graded: 0.7"]
