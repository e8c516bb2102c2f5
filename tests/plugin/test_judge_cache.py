"""E9: what was answered is not asked again; replay asks nobody and says what it lacks."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from judged_project import JudgedProject, JudgeServer

pytest_plugins = ["judged_project"]


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


def _scores(judged: JudgedProject) -> list[dict[str, float | None]]:
    return [sample["scores"] for sample in judged.project.results()["samples"]]


@pytest.mark.full
def test_a_second_run_asks_nobody(recorded: JudgedProject) -> None:
    """[E9] The same to the last byte, but for the run itself; what it used says so."""
    result = recorded.pytest()
    assert recorded.asked == []
    first, second = recorded.project.folders()
    assert recorded.without_run(first) == recorded.without_run(second)
    assert (recorded.usage["calls"], recorded.usage["cached"]) == (0, 15)
    assert recorded.usage["prompt_tokens"] == recorded.usage["completion_tokens"] == 0
    result.stdout.fnmatch_lines(["models: 0 calls, 15 answers from the cache, 0 tokens*"])


@pytest.mark.full
def test_only_what_is_new_is_asked(recorded: JudgedProject) -> None:
    """[E9] Of four samples one, of two metrics both."""
    recorded.scenario([*ANSWERS, "0.4"], metrics=["graded", "fourfold"])
    recorded.pytest().assert_outcomes(passed=4)
    assert sorted(recorded.asked) == [
        *(f"fourfold {part} of s3: 0.4" for part in range(4)),
        "graded: 0.4",
    ]


@pytest.mark.full
def test_equal_questions_are_asked_once(judged: JudgedProject) -> None:
    """[E9] Also while the first of them is still in flight."""
    judged.server.options.latency_s = 0.02
    judged.scenario(["0.5"] * 6)
    judged.pytest().assert_outcomes(passed=6)
    assert judged.asked == ["graded: 0.5"]
    assert (judged.usage["calls"], judged.usage["cached"]) == (1, 5)


@pytest.mark.full
def test_another_way_to_ask_is_asked_anew(recorded: JudgedProject) -> None:
    """[E9] No model gets another's answer."""
    for number, change in enumerate(
        [
            {"model": "other"},
            {"temperature": 0.7},
            {"max_tokens": 99},
            {"seed": 3},
            {"extra_body": {"top_p": 0.5}},
        ],
        start=1,
    ):
        recorded.scenario(ANSWERS, judge=change)
        recorded.pytest().assert_outcomes(passed=3)
        assert len(recorded.asked) == 3 * number, change


@pytest.mark.full
def test_what_changes_no_answer_asks_nobody(recorded: JudgedProject) -> None:
    """[E9] How fast, how stubbornly and for how much money the same is asked."""
    recorded.scenario(
        ANSWERS,
        judge={
            "concurrency": 2,
            "timeout_s": 9,
            "retries": 3,
            "reasks": 0,
            "max_wait_s": 9,
            "price": 0.5,
            "rpm": 600,
            "tpm": 100_000,
        },
    )
    recorded.pytest().assert_outcomes(passed=3)
    assert recorded.asked == []


def test_another_metric_never_gets_this_ones_answer(judged: JudgedProject) -> None:
    """[E9] Under a name of its own even the same metric is another one."""
    metrics = ["graded", {"graded": {"name": "second"}}]
    judged.scenario(["0.5"], metrics=metrics)
    judged.pytest().assert_outcomes(passed=1)
    assert sorted(judged.asked) == ["graded: 0.5", "second: 0.5"]


@pytest.mark.full
def test_off_neither_reads_nor_writes(recorded: JudgedProject) -> None:
    """[E9] ``--rag-cache=off``: asked twice, and nothing is left."""
    for _ in range(2):
        recorded.pytest("--rag-cache=off", "--rag-cache-dir=none").assert_outcomes(passed=3)
    assert len(recorded.asked) == 30
    assert not (recorded.path / "none").exists()


@pytest.mark.full
def test_read_reads_and_does_not_write(recorded: JudgedProject) -> None:
    """[E9] ``--rag-cache=read``: the new sample is asked about each time."""
    recorded.scenario([*ANSWERS, "0.4"])
    for _ in range(2):
        recorded.pytest("--rag-cache=read").assert_outcomes(passed=4)
    assert recorded.asked == ["graded: 0.4"] * 2


@pytest.mark.full
def test_refresh_asks_everything_anew_and_keeps_it(recorded: JudgedProject) -> None:
    """[E9] ``--rag-cache=refresh``: the judge has changed its mind by then."""
    recorded.server.options.answer = lambda body: "0.9"
    recorded.pytest("--rag-cache=refresh").assert_outcomes(passed=3)
    assert len(recorded.asked) == 15
    assert _scores(recorded) == [{"graded": 0.9, "fourfold": 0.9}] * 3
    recorded.server.forget()
    recorded.pytest().assert_outcomes(passed=3)
    assert recorded.asked == []
    assert _scores(recorded) == [{"graded": 0.9, "fourfold": 0.9}] * 3


@pytest.mark.full
def test_refresh_asks_equal_questions_once(recorded: JudgedProject) -> None:
    """[E9] What this run has written is as fresh as can be."""
    recorded.scenario(["0.1"] * 5)
    recorded.pytest("--rag-cache=refresh", "--rag-concurrency=1").assert_outcomes(passed=5)
    assert recorded.asked == ["graded: 0.1"]


@pytest.mark.full
def test_replay_opens_no_socket(
    recorded: JudgedProject, monkeypatch: pytest.MonkeyPatch, no_sockets: None
) -> None:
    """[E9] And needs no key, no package and no server."""
    monkeypatch.delenv("JUDGE_KEY")
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: module != "aiohttp")
    recorded.pytest("--rag-cache=replay").assert_outcomes(passed=3)
    assert recorded.asked == []
    assert _scores(recorded)[1] == {"graded": 0.2, "fourfold": 0.2}


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


@pytest.mark.full
def test_replay_opens_no_socket_in_workers_either(recorded: JudgedProject) -> None:
    """[E9] That they are noted is seen when there is something to ask."""
    recorded.with_conftest(SOCKETS)
    recorded.pytest("--rag-cache=replay", "-n", "1").assert_outcomes(passed=3)
    assert not (recorded.path / "opened.txt").exists()
    recorded.pytest("--rag-cache=refresh", "-n", "1").assert_outcomes(passed=3)
    assert (recorded.path / "opened.txt").exists()


@pytest.mark.full
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


@pytest.mark.full
def test_a_miss_names_the_setting_that_differs(recorded: JudgedProject, no_sockets: None) -> None:
    """[E9] Of the judge that was recorded and the one that is asked for."""
    changes: list[tuple[dict[str, object], str]] = [
        ({"model": "other"}, "model: 'other' here, 'm' in the cache"),
        ({"temperature": 0.5}, "temperature: 0.5 here, 0.0 in the cache"),
        ({"seed": 7}, "seed: 7 here, not set in the cache"),
        ({"base_url": "http://elsewhere.test/v1"}, "endpoint: 'http://elsewhere.test/v1' here"),
        ({"repeats": 2}, "repeat: 1 here, 0 in the cache"),
    ]
    for change, why in changes:
        recorded.scenario(["0.1"], judge=change)
        recorded.pytest("--rag-cache=replay")
        (sample,) = recorded.project.results()["samples"]
        assert why in (sample["errors"] or sample["reasons"])["graded"]


@pytest.mark.full
def test_replay_from_an_empty_cache_says_so(judged: JudgedProject, no_sockets: None) -> None:
    """[E9] Every sample is an ERROR; nothing is green."""
    judged.scenario(["0.1", "0.2"])
    result = judged.pytest("--rag-cache=replay")
    result.assert_outcomes(errors=2, failed=1)
    assert "holds no replies" in judged.errors["s0"]


@pytest.mark.full
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


def test_the_cache_keeps_itself_out_of_version_control(recorded: JudgedProject) -> None:
    """[E9] With a tag for programs that make backups."""
    cache = recorded.cache
    assert (cache / ".gitignore").read_text().strip() == "*"
    assert (cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f068868")


def test_a_mode_that_does_not_exist_is_wrong_use(judged: JudgedProject) -> None:
    """[E9] Exit status 4, with the modes that there are."""
    judged.scenario(["0.1"])
    result = judged.pytest("--rag-cache=replays")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--rag-cache replays*off*refresh*replay*"])


def _damage(judged: JudgedProject) -> None:
    """Overwrite the middle of every file of the cache that holds answers."""
    kept = list(judged.cache.rglob("*.json*"))
    assert kept
    for path in kept:
        raw = path.read_bytes()
        path.write_bytes(raw.replace(b'"text": "', b'"text": \xff\x00{'))


@pytest.mark.full
def test_a_damaged_cache_is_asked_again_and_mended(recorded: JudgedProject) -> None:
    """[E9] Never a wrong score, never a traceback."""
    _damage(recorded)
    recorded.loop_back().assert_outcomes(passed=3)
    assert len(recorded.asked) == 15
    recorded.server.forget()
    recorded.pytest().assert_outcomes(passed=3)
    assert recorded.asked == []


@pytest.mark.full
def test_a_damaged_cache_in_replay_is_an_error(recorded: JudgedProject, no_sockets: None) -> None:
    """[E9] Not a score, and not a traceback."""
    _damage(recorded)
    result = recorded.loop_back("--rag-cache=replay")
    result.assert_outcomes(errors=3, failed=1)
    assert "Traceback" not in result.stdout.str()


def test_a_cache_that_cannot_be_written_costs_no_score(judged: JudgedProject) -> None:
    """[E9] A full disk, a read-only folder: the summary says that replies are not kept."""
    (judged.path / "taken").write_text("a file, no folder")
    judged.scenario(["0.1", "0.2"])
    result = judged.pytest("--rag-cache-dir=taken")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["models: *not kept*taken*"])


@pytest.mark.full
def test_what_failed_is_not_kept(judged: JudgedProject) -> None:
    """[E9] Neither an error nor a reply that could not be used."""
    judged.scenario(["once 400|0.1", "once prose|0.2"], judge={"reasks": 0})
    judged.pytest().assert_outcomes(errors=2, failed=1)
    judged.server.forget()
    judged.server.remember("graded: once 400|0.1", "graded: once prose|0.2")
    judged.pytest().assert_outcomes(passed=2)
    assert len(judged.asked) == 2


@pytest.mark.full
def test_a_cache_of_other_samples_is_no_obstacle(recorded: JudgedProject) -> None:
    """[E9] Two scenarios share one folder, and their answers where they ask the same."""
    recorded.scenario(["0.1", "0.7"], file="other")
    recorded.pytest("other.rageval.yaml").assert_outcomes(passed=2)
    assert recorded.asked == ["graded: 0.7"]


@pytest.mark.full
def test_vectors_are_kept_too(judged: JudgedProject) -> None:
    """[E9] The second run asks neither for texts nor for vectors."""
    rows = [{"answer": f"answer {at}", "question": f"question {at}"} for at in range(3)]
    server = {"model": "e", "base_url": judged.server.base_url}
    judged.scenario(rows, metrics=["embedded"], judge=False, embedding=server)
    judged.pytest().assert_outcomes(passed=3)
    assert judged.server.embeddings
    judged.server.forget()
    first = _scores(judged)
    judged.pytest("--rag-cache=replay").assert_outcomes(passed=3)
    assert judged.server.seen == []
    assert _scores(judged) == first
