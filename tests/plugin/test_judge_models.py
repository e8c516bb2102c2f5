"""A16, E8: which model judges, by profiles and options; what is refused before it is asked."""

from __future__ import annotations

from typing import Any

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]


def _profiles(judged: JudgedProject) -> dict[str, dict[str, Any]]:
    """Return two profiles of the fake server; the second one has a path of its own."""
    return {
        "slow": {**judged.judge, "model": "slow-1"},
        "fast": {
            "model": "fast-1",
            "base_url": judged.server.base_url.replace("/v1", "/fast/v1"),
            "temperature": 0.25,
        },
    }


def _asked(judged: JudgedProject) -> list[tuple[str, str, float]]:
    """Return which path, model and temperature the requests named."""
    return [
        (seen.path.removesuffix("/chat/completions"), seen.body["model"], seen.body["temperature"])
        for seen in judged.server.chats
    ]


@pytest.mark.parametrize("written", ["slow", {"profile": "slow"}, {"model": "slow"}])
def test_the_option_replaces_a_profile_however_it_was_named(
    judged: JudgedProject, written: Any
) -> None:
    """[A16]"""
    judged.scenario(["0.5"], judge=[written], models=_profiles(judged))
    judged.pytest("--rag-judge-model=fast").assert_outcomes(passed=1)
    assert _asked(judged) == [("/fast/v1", "fast-1", 0.25)]


@pytest.mark.full
def test_profiles_are_not_in_the_snapshot_but_what_was_used_is(judged: JudgedProject) -> None:
    """[A16] Another profile changes nothing of this run, nor its hash."""
    hashes = set()
    for other in ("one", "two"):
        judged.scenario(["0.5"], judge="slow", models={**_profiles(judged), other: {"model": "x"}})
        judged.pytest()
        hashes.add(judged.project.results()["scenario"]["snapshot_sha256"])
    assert len(hashes) == 1
    snapshot = (judged.project.folders()[-1] / "scenario.snapshot.yaml").read_text("utf-8")
    assert "model: slow-1" in snapshot
    assert "fast-1" not in snapshot


@pytest.mark.full
@pytest.mark.parametrize("value", ["0", "many", "-3"])
def test_a_concurrency_that_cannot_be_is_refused(judged: JudgedProject, value: str) -> None:
    """[E8] On the command line, before anything is asked."""
    judged.scenario(["0.5"])
    result = judged.pytest(f"--rag-concurrency={value}")
    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED)
    assert f"--rag-concurrency {value}" in result.stdout.str() + result.stderr.str()
    assert judged.asked == []


def test_the_concurrency_of_scenarios_without_a_judge_is_no_mistake(
    judged: JudgedProject,
) -> None:
    """[E8] The option is for all scenarios of a run; some ask nobody."""
    judged.scenario([{"answer": "x", "references": ["x"]}], metrics=["em"], judge=False)
    judged.pytest("--rag-concurrency=4").assert_outcomes(passed=1)
    assert judged.project.results()["scenario"]["overridden"] == []


@pytest.mark.full
def test_the_option_may_name_the_judge_of_a_scenario_without_one(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A16] The model is OpenAI's, and so is the key that is missing here."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judged.scenario(["0.5"], judge=False)
    result = judged.pytest("--rag-judge-model=gpt-4o-mini")
    result.stdout.fnmatch_lines(["*judge.api_key_env: *OPENAI_API_KEY is not set"])
    assert "asks a model: name it" not in result.stdout.str()
