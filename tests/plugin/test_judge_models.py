"""A16, E8: which model judges, by profiles and options; what is refused before it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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


@pytest.mark.full
def test_a_profile_judges_and_an_option_names_another(judged: JudgedProject) -> None:
    """[A16] ``judge: NAME`` and ``--rag-judge-model NAME``."""
    judged.scenario(["0.5"], judge="slow", models=_profiles(judged))
    judged.pytest().assert_outcomes(passed=1)
    judged.pytest("--rag-judge-model=fast").assert_outcomes(passed=1)
    assert _asked(judged) == [("/v1", "slow-1", 0), ("/fast/v1", "fast-1", 0.25)]
    assert judged.project.results()["scenario"]["overridden"] == ["judge.model"]


@pytest.mark.parametrize("written", ["slow", {"profile": "slow"}, {"model": "slow"}])
def test_the_option_replaces_a_profile_however_it_was_named(
    judged: JudgedProject, written: Any
) -> None:
    """[A16]"""
    judged.scenario(["0.5"], judge=[written], models=_profiles(judged))
    judged.pytest("--rag-judge-model=fast").assert_outcomes(passed=1)
    assert _asked(judged) == [("/fast/v1", "fast-1", 0.25)]


def test_a_profile_named_by_the_option_brings_its_server(judged: JudgedProject) -> None:
    """[A16] A model is not asked for at the server of another, with the key of another."""
    judged.scenario(["0.5"], models=_profiles(judged))
    judged.pytest("--rag-judge-model=fast").assert_outcomes(passed=1)
    ((path, model, _),) = _asked(judged)
    assert (path, model) == ("/fast/v1", "fast-1")
    assert "authorization" not in judged.server.chats[0].headers


def test_the_option_may_name_a_model(judged: JudgedProject) -> None:
    """[A16] At the server that the scenario names; files say who judged."""
    judged.scenario(["0.5"])
    judged.pytest("--rag-judge-model=m-large").assert_outcomes(passed=1)
    assert _asked(judged) == [("/v1", "m-large", 0)]
    snapshot = (judged.project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    assert "model: m-large" in snapshot
    assert "# overridden: judge.model" in snapshot


@pytest.mark.full
def test_the_environment_names_the_model_too(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A16] ``RAGEVAL_JUDGE_MODEL``, below the command line."""
    judged.scenario(["0.5"])
    monkeypatch.setenv("RAGEVAL_JUDGE_MODEL", "by-environment")
    judged.pytest()
    judged.pytest("--rag-judge-model=by-option")
    assert [model for _, model, _ in _asked(judged)] == ["by-environment", "by-option"]


@pytest.mark.full
def test_any_setting_of_the_judge_can_be_set(judged: JudgedProject) -> None:
    """[A16] ``--rag-set judge.temperature=0.5``."""
    judged.scenario(["0.5"])
    judged.pytest("--rag-set", "judge.temperature=0.5").assert_outcomes(passed=1)
    assert _asked(judged) == [("/v1", "m", 0.5)]


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


NO_JUDGE = """\
name: qa
metrics:
  - graded
  - embedded
dataset: [{id: s0, answer: "0.5", question: q}]
"""


@pytest.mark.full
def test_a_judged_metric_without_a_judge_is_refused_with_its_line(judged: JudgedProject) -> None:
    """[E12] Both metrics, in one go, without a traceback."""
    (judged.path / "qa.rageval.yaml").write_text(NO_JUDGE)
    result = judged.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "qa.rageval.yaml:3: metric 'graded' asks a model: name it under 'judge'*",
            "qa.rageval.yaml:4: metric 'embedded' asks a model: name it under 'embedding'*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert judged.project.wrote_nothing


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


TYPOS = """\
name: qa
metrics: [graded]
judge:
  model: m
  concurency: 4
  tempurature: 0
dataset: [{id: s0, answer: "0.5"}]
"""


@pytest.mark.full
def test_unknown_keys_of_a_judge_are_refused_with_the_nearest(judged: JudgedProject) -> None:
    """[E12] Each with its line; keys that begin with x- are the user's own."""
    (judged.path / "qa.rageval.yaml").write_text(TYPOS)
    result = judged.pytest()
    result.stdout.fnmatch_lines(
        [
            "qa.rageval.yaml:5: unknown key 'concurency' under judge. Did you mean 'concurrency'?*",
            "qa.rageval.yaml:6: unknown key 'tempurature' under judge. *'temperature'?*",
        ]
    )
    judged.scenario(["0.5"], judge={"x-owner": "team a"})
    judged.pytest().assert_outcomes(passed=1)


def test_a_missing_package_is_a_collection_error_with_the_pip_command(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E12] aiohttp is an extra; scenarios that ask nobody do without it."""
    from pytest_rageval import extras

    installed = extras.installed
    monkeypatch.setattr(
        extras, "installed", lambda module: module != "aiohttp" and installed(module)
    )
    judged.scenario(["0.5"])
    judged.scenario([{"answer": "x", "references": ["x"]}], file="em", metrics=["em"], judge=False)
    result = judged.pytest("--continue-on-collection-errors")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(['*aiohttp*pip install "pytest-rageval?judge?"*'])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.full
def test_a_missing_key_is_a_collection_error(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E12] Not one error for each sample."""
    monkeypatch.delenv("JUDGE_KEY")
    judged.scenario(["0.5"] * 3)
    result = judged.pytest()
    assert result.parseoutcomes() == {"error": 1} or result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["qa.rageval.yaml:*the environment variable JUDGE_KEY is not set"])


def test_a_judge_that_nobody_asks_is_a_warning(judged: JudgedProject) -> None:
    """[E12] Probably a metric is missing."""
    judged.scenario([{"answer": "x", "references": ["x"]}], metrics=["em"])
    result = judged.pytest("-W", "default::pytest_rageval.plugin.collect.RagevalWarning")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*judge is not used: no metric of this scenario asks it*"])
