"""[A21] No key, header, body or URL with credentials of a target gets into anything written."""

from __future__ import annotations

from typing import Any

import pytest
from fake_app import FakeApp
from served_app import Scenario

from tests.plugin.conftest import Project, Run, interrupted

pytest_plugins = ["served_app"]

TOKEN = "token-from-the-environment"
LITERAL = "literal-header-value"
PASSWORD = "password-in-the-url"
QUERY = "key-in-the-query"
BODY = "value-of-the-body"
DIGITS, PIN = 4829173401, 7331133702
SECRETS = (TOKEN, LITERAL, PASSWORD, QUERY, BODY, str(DIGITS), str(PIN))
FAULTS = [
    "500",
    "401",
    "404",
    "503",
    "other",
    "broken",
    "html",
    "reset",
    "cut",
    "to http://h.test/",
]


@pytest.fixture
def target(app: FakeApp, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return a target that is given secrets in all the ways there are."""
    monkeypatch.setenv("APP_TOKEN", TOKEN)
    return {
        "url": f"http://user:{PASSWORD}@127.0.0.1:{app.port}/ask?api_key={QUERY}",
        "headers": {
            "X-Env": "${APP_TOKEN}",
            "X-Literal": LITERAL,
            "X-Mixed": "a ${APP_TOKEN}",
            "X-Pin": PIN,
        },
        "query": {"token": QUERY, "lang": "{metadata.lang}"},
        "body": {
            "question": "{question}",
            "secret": BODY,
            "env": "${APP_TOKEN}",
            "k": 3,
            "login": {"password": DIGITS},
        },
        "retries": 0,
        "cache_answers": True,
    }


def leaks(project: Project, result: pytest.RunResult, secrets: tuple[str, ...] = SECRETS) -> Any:
    """Return where a secret got: files, or the lines that were printed."""
    written = [path for path in sorted(project.path.rglob("*")) if path.is_file()]
    files = [
        path.relative_to(project.path)
        for path in written
        if path.name != "qa.rageval.yaml"
        and any(secret.encode() in path.read_bytes() for secret in secrets)
    ]
    lines = [*result.outlines, *result.errlines]
    return [*files, *(line for line in lines if any(secret in line for secret in secrets))]


def test_no_secret_gets_anywhere(
    project: Project, scenario: Scenario, run: Run, app: FakeApp, target: dict[str, Any]
) -> None:
    """After answers and every fault; the service repeats the headers that it was sent.

    Run folder, cache, saved answers, JUnit XML, terminal with full tracebacks and locals.
    """
    scenario(["say Paris", *(f"{fault}|x" for fault in FAULTS)], target)
    result = run(
        "-vv", "--junitxml=junit.xml", "--showlocals", "--tb=long", "-rA",
        "--rag-save-answers=answers.jsonl",
    )  # fmt: skip
    assert result.parseoutcomes()["errors"] == len(FAULTS)
    seen = app.seen[0]
    assert seen.headers["x-env"] == TOKEN
    assert seen.headers["x-literal"] == LITERAL
    assert seen.headers["authorization"].startswith("Basic ")
    assert seen.query == {"api_key": [QUERY], "token": [QUERY], "lang": ["en"]}
    assert seen.body["secret"] == BODY
    assert seen.body["env"] == TOKEN
    written = {path.name for path in project.path.rglob("*") if path.is_file()}
    assert {"results.json", "scores.csv", "junit.xml", "answers.jsonl"} <= written
    assert any(name.endswith("answer-keys.jsonl") for name in written)
    basic = seen.headers["authorization"].partition(" ")[2]
    assert leaks(project, result, (*SECRETS, basic)) == []


def test_the_snapshot_shows_places_only(
    project: Project, scenario: Scenario, app: FakeApp, target: dict[str, Any]
) -> None:
    """Which fields and variables are sent, under which names; of the URL, where it leads."""
    scenario(["say Paris"], target)
    result = project.pytest()
    snapshot = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    for shown in (
        "X-Env: ${APP_TOKEN}",
        "X-Literal: '***'",
        "X-Mixed: '***'",
        "secret: '***'",
        "question: '{question}'",
        "lang: '{metadata.lang}'",
        "k: 3",
        f"url: http://127.0.0.1:{app.port}/ask\n",
    ):
        assert shown in snapshot
    assert leaks(project, result) == []


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"url": f"ftp://user:{PASSWORD}@h.test"}, "target.url: "),
        ({"url": f"http://user:{PASSWORD}@h.test:99999/"}, "target: url: expected one like"),
        ({"headers": [LITERAL]}, "target.headers: "),
        ({"headers": {"X-Literal": [LITERAL]}}, "target.headers.X-Literal: "),
        ({"body": 7, "hedders": {"X": LITERAL}}, "target: unknown key 'hedders'"),
        ({"query": QUERY}, "target.query: "),
        ({"method": BODY}, "target.method: "),
        ({"concurrency": {"x": TOKEN}}, "target.concurrency: "),
        (f"htp://user:{PASSWORD}@h.test/ask", "target.url: expected a URL that begins with http"),
    ],
)
def test_a_mistake_in_a_scenario_shows_no_secret(
    project: Project,
    scenario: Scenario,
    target: dict[str, Any],
    change: dict[str, Any] | str,
    message: str,
) -> None:
    """[E12] It says where it is; also of a URL alone."""
    scenario(["say Paris"], change if isinstance(change, str) else {**target, **change})
    result = interrupted(project.pytest("-vv", "--junitxml=junit.xml", "--showlocals"))
    result.stdout.fnmatch_lines([f"qa.rageval.yaml:*: {message}*"])
    assert leaks(project, result) == []


@pytest.mark.full
@pytest.mark.parametrize(
    "option",
    [
        f"target.url=ftp://user:{PASSWORD}@h/v1",
        f"target.headers.X-Literal=[{LITERAL}]",
        f"target.key={TOKEN}",
        f"target.body=[{{{BODY}",
    ],
)
def test_an_option_that_is_refused_is_not_repeated(
    project: Project, scenario: Scenario, target: dict[str, Any], option: str
) -> None:
    """[E12] ``--rag-set``; shells and CI show what was typed, we do not."""
    scenario(["say Paris"], target)
    result = project.pytest("--rag-set", option)
    assert result.ret != pytest.ExitCode.OK
    output = result.stdout.str() + result.stderr.str()
    assert f"--rag-set {option.partition('=')[0]}" in output
    assert not any(secret in output for secret in SECRETS)


@pytest.mark.full
def test_a_miss_in_replay_shows_no_secret(
    project: Project, scenario: Scenario, target: dict[str, Any]
) -> None:
    """[E9] It says what differs, by names and digests."""
    scenario(["say Paris"], target)
    project.pytest()
    body = {**target["body"], "secret": f"{BODY}-2"}
    scenario(["say Paris"], {**target, "body": body, "headers": {"X-Literal": f"{LITERAL}-2"}})
    result = project.pytest("--rag-cache=replay")
    result.assert_outcomes(errors=1, failed=1)
    assert "the nearest entry differs: " in result.stdout.str()
    assert leaks(project, result) == []


def test_options_of_a_function_whose_names_sound_secret_are_masked(
    project: Project, scenario: Scenario
) -> None:
    project.file("app.py", "def answer(question, **options):\n    return 'Paris'\n")
    options = {"api_key": TOKEN, "top_k": 5, "index": {"password": PASSWORD, "name": "main"}}
    scenario(["say Paris"], {"use": "app:answer", "options": options, "cache_answers": True})
    result = project.pytest("--showlocals")
    result.assert_outcomes(passed=1)
    snapshot = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    assert "top_k: 5" in snapshot
    assert "name: main" in snapshot
    assert "api_key: '***'" in snapshot
    assert leaks(project, result) == []
