"""[A21, A22] A scenario asks the system under test: by import path, over HTTP, as a model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fake_app import FakeApp
from fake_openai import FakeOpenAI
from served_app import Scenario

from tests.plugin.conftest import Project, Run

pytest_plugins = ["served_app"]

APP = """
import asyncio
import pathlib
import time

HERE = pathlib.Path(__file__).parent


def note(question):
    with open(HERE / "asked.txt", "a", encoding="utf-8") as log:
        log.write(question + chr(10))


def search(question):
    if question.startswith("raise"):
        raise KeyError("chunks")
    return [{"text": "It is " + question.split()[-1], "source": "a.md"}]


class Odd:
    def __repr__(self):
        return "<Odd>"


def answer(question):
    note(question)
    word = question.split()[0]
    if word == "hang":
        time.sleep(30)
    if word == "reset":
        raise ConnectionResetError(104, "Connection reset by peer")
    odd = {"none": None, "odd": Odd(), "empty": "  ", "huge": "x" * 10_000_000, "number": 3}
    if word in odd:
        return odd[word]
    if word == "exit":
        raise SystemExit(3)
    return {"answer": question.split()[-1], "contexts": search(question), "tokens": 3}


async def aanswer(question):
    if question.startswith("hang"):
        await asyncio.sleep(30)
    await asyncio.sleep(0.01)
    return answer(question)
"""
GOOD = ["say Paris", "say Paris", "say Rome"]


@pytest.fixture(autouse=True)
def _app_py(project: Project) -> None:
    project.file("app.py", APP)


def asked(project: Project) -> list[str]:
    """Return the questions that the application was asked, sorted."""
    log = project.path / "asked.txt"
    return sorted(log.read_text("utf-8").splitlines()) if log.exists() else []


def errors(project: Project) -> dict[str, str]:
    samples = project.results()["samples"]
    return {one["id"]: one["errors"]["target"] for one in samples if "target" in one["errors"]}


FAULTS = ["raise x", "hang x", "none x", "odd x", "huge x", "number x", "reset x"]
WORDS = [
    "app:answer: KeyError: 'chunks'\n  app.py:",
    "app:answer: did not answer within 3 s (timeout_s)",
    "app:answer: returned nothing (None); expected a text, a pair",
    "app:answer: returned <Odd> (Odd); expected",
    "app:answer: returned an answer of 10,000,000 characters, at most 1,000,000 are taken",
    "app:answer: returned 3 (int); expected",
    "app:answer: ConnectionResetError: [Errno 104] Connection reset by peer",
]


@pytest.mark.full
@pytest.mark.parametrize("function", ["answer", "aanswer"])
def test_a_fault_is_the_error_of_its_sample_alone(
    project: Project, scenario: Scenario, run: Run, function: str
) -> None:
    """[A21] With the target's own message; the others go on, gates say what is missing."""
    target = {"use": f"app:{function}", "timeout_s": 3}
    scenario([*FAULTS, *GOOD], target, thresholds={"em": 0.0}, gates={"em": 0.5})
    result = run("-v")
    # 3 answered; the gates em and unscored: 2 of 3 are right, 7 of 10 have no score.
    result.assert_outcomes(passed=4, errors=7, failed=1)
    found = errors(project)
    assert sorted(found) == [f"q{at}" for at in range(7)]
    for at, words in enumerate(WORDS):
        assert found[f"q{at}"].startswith(words.replace("app:answer", f"app:{function}"))
    assert project.gates() == {"em.mean": "passed", "unscored": "failed"} or project.gates() == {
        "em": "passed",
        "unscored": "failed",
    }
    result.stdout.fnmatch_lines(
        [
            f"not answered: app:{function}: KeyError: 'chunks'",
            '  app.py:* in search: raise KeyError("chunks")',
            "*gate unscored*FAILED*0.7000 > 0.0000 (7 of 10 samples: answer missing on 7*",
        ]
    )
    outcomes = {one["id"]: one["outcome"] for one in project.results()["samples"]}
    assert [outcomes[f"q{at}"] for at in (7, 8, 9)] == ["passed"] * 3


@pytest.mark.full
def test_answers_contexts_and_latencies_are_in_the_results(
    project: Project, scenario: Scenario, run: Run
) -> None:
    """[A21] And in one line of the terminal."""
    scenario([*GOOD, "none x"], gates={"unscored": 0.5})
    result = run()
    found = project.results()
    first = found["samples"][0]
    assert first["answer"] == "Paris"
    assert first["contexts"] == ["It is Paris"]
    assert first["details"]["target"] == {"tokens": 3}
    latencies = found["run"]["answer_latency_s"]
    assert sorted(latencies) == ["q0", "q1", "q2"]
    assert all(0.0 <= seconds < 60.0 for seconds in latencies.values())
    result.stdout.fnmatch_lines(
        ["target app:answer: 3 of 4 answered, median ?.?? s, p95 ?.?? s, longest ?.?? s"]
    )
    result.stdout.no_fnmatch_line("models: *")
    metadata = json.loads((project.folders()[-1] / "metadata.json").read_text("utf-8"))
    assert metadata["mode"] == "online"


@pytest.mark.full
def test_two_workers_ask_no_more_and_say_the_same(
    project: Project, scenario: Scenario, app: FakeApp, workers: Run
) -> None:
    """[E2] Byte for byte, but for ``run``."""
    questions = [*(f"say {at} Paris" for at in range(20)), "none|x"]
    scenario(questions, {"url": app.url(), "concurrency": 4}, gates={"unscored": 0.5})
    project.pytest()
    assert len(app.seen) == 21
    assert app.most_in_flight <= 4
    workers()
    assert len(app.seen) == 42
    assert project.without_run(0) == project.without_run(1)


@pytest.mark.full
def test_concurrency_of_target_and_judge_are_set_apart(
    project: Project, scenario: Scenario, app: FakeApp
) -> None:
    """[A22] ``--rag-target-concurrency`` is for the one, ``--rag-concurrency`` for the other."""
    app.latency_s = 0.03
    questions = [f"say {at} Paris" for at in range(12)]
    scenario(questions, {"url": app.url(), "concurrency": 8})
    project.pytest("--rag-target-concurrency=2", "--rag-concurrency=7")
    assert app.most_in_flight == 2
    assert project.results()["scenario"]["overridden"] == ["target.concurrency"]


# Answers that are kept.


KEPT: list[Mapping[str, Any]] = [
    {"use": "app:answer", "cache_answers": True},
    {"type": "http", "cache_answers": True},
]


@pytest.mark.full
@pytest.mark.parametrize("target", KEPT, ids=["python", "http"])
def test_answers_are_kept_when_that_is_asked_for(
    project: Project, scenario: Scenario, run: Run, app: FakeApp, target: Mapping[str, Any]
) -> None:
    """[E9] Errors never; the second run asks for the rest only, and says the same."""
    own = {**target, **({"url": app.url()} if "type" in target else {})}

    def count() -> int:
        return len(app.seen) if "type" in target else len(asked(project))

    scenario(["say Paris", "say Rome", "404|x" if "type" in target else "none x"], own)
    run()
    assert count() == 3
    result = run()
    assert count() == 4
    result.stdout.fnmatch_lines(["target *: 2 of 3 answered, 2 of them from the cache"])
    assert project.without_run(0) == project.without_run(1)
    assert project.results()["run"]["answer_latency_s"] == {}


@pytest.mark.full
def test_who_was_never_asked_did_not_answer(project: Project, scenario: Scenario, run: Run) -> None:
    """[E9] A mark of the conftest.py keeps q1 from being run: neither asked, nor from the cache."""
    project.conftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            items[1].add_marker(pytest.mark.xfail(run=False))
        """
    )
    scenario(["say Paris", "say Rome", "none x"], KEPT[0])
    for more in (", median *", ", 1 of them from the cache"):
        result = run()
        assert project.outcomes()["q1"] == "xfailed"
        result.stdout.fnmatch_lines([f"target *: 1 of 2 answered{more}"])
    assert asked(project) == ["none x", "none x", "say Paris"]


@pytest.mark.full
def test_what_a_conftest_skips_is_not_asked(project: Project, scenario: Scenario, run: Run) -> None:
    """Also by a condition; one that does not hold, and one in words that does not, skip nothing.

    q0 to q2 are skipped, q3 to q6 run.
    """
    project.conftest(
        """
        import pytest

        MARKS = [
            pytest.mark.skip(reason="r"),
            pytest.mark.skipif(True, reason="r"),
            pytest.mark.skipif("sys.maxsize > 0"),
            pytest.mark.skipif(False, reason="r"),
            pytest.mark.skipif("sys.maxsize < 0"),
            pytest.mark.xfail(False, run=False, reason="r"),
            pytest.mark.xfail("sys.maxsize < 0", run=False),
        ]

        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(MARKS[int(item.name.removeprefix("q"))])
        """
    )
    scenario([f"say {at}" for at in range(7)], KEPT[0])
    run()
    assert [project.outcomes()[f"q{at}"] for at in range(3)] == ["skipped"] * 3
    assert sorted(asked(project)) == ["say 3", "say 4", "say 5", "say 6"]


@pytest.mark.full
def test_the_cache_follows_its_mode(project: Project, scenario: Scenario) -> None:
    """[E9] off, read, refresh, replay: as for replies of models."""
    scenario(["say Paris"], KEPT[0])
    counts = []
    for mode in ("off", "read", "readwrite", "readwrite", "read", "replay", "refresh", "replay"):
        assert project.pytest(f"--rag-cache={mode}").ret == pytest.ExitCode.OK
        counts.append(len(asked(project)))
    assert counts == [1, 2, 3, 3, 3, 3, 4, 4]


# A server that a fixture starts.


SERVER = """
    import pytest
    from fake_app import FakeApp

    @pytest.fixture(scope="session")
    def app_url():
        with FakeApp() as app:
            yield app.url("")
            with open("seen.txt", "a") as log:
                log.write(f"{len(app.seen)}\\n")

    @pytest.fixture
    def odd_url():
        return 3
"""


@pytest.mark.full
def test_a_fixture_starts_the_server(project: Project, scenario: Scenario, run: Run) -> None:
    """[E6] Its value is the URL; each worker has its own."""
    project.conftest(SERVER)
    scenario(GOOD * 4, {"type": "http", "fixture": "app_url", "url": "/ask"})
    run().assert_outcomes(passed=12)
    counts = (project.path / "seen.txt").read_text().split()
    assert sum(map(int, counts)) == 12


# A model.


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    answer = lambda body: body["messages"][-1]["content"].split()[-1]  # noqa: E731
    with FakeOpenAI(answer=answer) as running:
        yield running


def test_a_model_is_the_system_under_test(
    project: Project, scenario: Scenario, run: Run, model: FakeOpenAI
) -> None:
    """[A16] A profile under ``models``; what it costs is in the run's usage."""
    profile = {"model": "m", "base_url": model.base_url, "price": 1.0, "repeats": 3}
    target = {"profile": "local", "prompt": "{question}", "system": "Be brief.", "retries": 0}
    scenario(GOOD, target, models={"local": profile})
    result = run()
    result.assert_outcomes(passed=3)
    found = project.results()
    assert [one["answer"] for one in found["samples"]] == ["Paris", "Paris", "Rome"]
    assert found["run"]["usage"]["calls"] == 3
    assert found["run"]["usage"]["cost_usd"] > 0
    assert len(model.chats) == 3
    result.stdout.fnmatch_lines(["target chat 'm': 3 of 3 answered, median*", "models: 3 calls,*"])


@pytest.mark.full
def test_answers_that_are_cut_off_are_counted(
    project: Project, scenario: Scenario, run: Run, model: FakeOpenAI
) -> None:
    """[R12] One of three; its details say so."""
    target = {"model": "m", "base_url": model.base_url, "max_tokens": 200, "concurrency": 1}
    scenario(GOOD, target)
    model.then("length")
    run().stdout.fnmatch_lines(
        ["target chat 'm': 3 of 3 answered*", "target chat 'm': 1 answer cut off at max_tokens 200"]
    )
    details = [one["details"]["target"] for one in project.results()["samples"]]
    assert details[0] == {"model": "m-fake", "finish_reason": "length", "max_tokens": 200}
    assert details[1:] == [{"model": "m-fake"}] * 2


@pytest.mark.parametrize(
    ("answer", "is_told"),
    [
        *[(answer, False) for answer in ("Paris", "I think", "<think> is a tag", "</thinking>")],
        *[(answer, True) for answer in ("<think>Rome?</think>Paris", "Rome?\n</think>\n\nParis")],
    ],
)
def test_answers_that_hold_thoughts_are_told(
    answer: str, is_told: bool, scenario: Scenario, run: Run, model: FakeOpenAI
) -> None:
    """[R12] They are judged as they are: nobody knows whether users see the thoughts, too."""
    model.options.answer = lambda body: answer
    scenario(GOOD, {"model": "m", "base_url": model.base_url})
    told = "target chat 'm': 3 answers judged with a model's thoughts (</think>); have the server"
    assert any(line.startswith(told) for line in run().outlines) == is_told


@pytest.mark.full
def test_a_budget_that_ends_at_the_model_under_test_turns_no_gate_green(
    project: Project, scenario: Scenario, model: FakeOpenAI
) -> None:
    """[E10] Whatever the gates allow; the message counts all samples that were not asked for."""
    target = {"type": "chat", "model": "m", "base_url": model.base_url, "price": 1e6}
    gates = {"em": 0, "unscored": 0.95}
    scenario([f"say {at}" for at in range(10)], {**target, "concurrency": 1}, gates=gates)
    result = project.pytest("--rag-budget=9")
    answered = len(model.chats)
    assert 0 < answered < 10
    assert set(project.gates().values()) == {"failed"}
    said = f"the budget is spent: {10 - answered} of 10 samples not asked for"
    assert all(said in gate["message"] for gate in project.results()["gates"])
    assert "not answered: budget: chat 'm': " in result.stdout.str()


def test_a_path_of_the_target_leads_to_citations_within_a_reply(
    project: Project, app: FakeApp, run: Run
) -> None:
    """[A21] They are read though the rows have no such column: the scenario says where they are."""
    app.answer = lambda asked: {"data": {"text": "Paris.", "cited": [1]}, "contexts": ["a", "b"]}
    target = {"url": app.url("/ask"), "answer": "data.text", "citations": "data.cited"}
    project.file(
        "qa.rageval.yaml",
        f"name: qa\ntarget: {json.dumps(target)}\nmetrics: [citation_validity]\n"
        "dataset: [{id: a, question: q}]\ncitations: {style: brackets, base: 0}\n",
    )
    run()
    assert project.results()["metrics"]["citation_validity"]["mean"] == 1.0


def test_a_helper_of_the_folder_next_door_answers_for_no_bot(project: Project, run: Run) -> None:
    """Also where a bot imports it only when it is asked: with the other's, all would be green."""
    for folder, said in (("one", "Rome"), ("two", "Paris")):
        project.file(f"{folder}/lazy_words.py", f"SAID = {said!r}\n")
        project.file(
            f"{folder}/bot_{folder}.py",
            "def answer(question):\n    from lazy_words import SAID\n    return SAID\n",
        )
        rows = [{"id": "q", "question": "Which city?", "references": ["Paris"]}]
        plain = {"name": folder, "dataset": rows, "metrics": ["em"], "thresholds": {"em": 1}}
        plain["target"] = f"bot_{folder}:answer"
        project.file(f"{folder}/qa.rageval.yaml", json.dumps(plain))
    result = run()
    result.assert_outcomes(passed=1, errors=1, failed=1)  # failed: the gate unscored
    result.stdout.fnmatch_lines(["*bot_one.py:2 imports 'lazy_words', which is already *"])
