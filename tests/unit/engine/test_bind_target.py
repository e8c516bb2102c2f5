"""A target as it stands in the file: its type, its options, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan

pytest.importorskip("aiohttp")

HEAD = "name: s\nmetrics: [em]\ndataset: [{question: q, references: [r], lang: en}]\n"
Make = Callable[..., Plan]
Problems = Callable[..., list[str]]


def target(plan: Make, text: str) -> Any:
    found = plan(HEAD + text).target
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "shown", "retries", "is_remote"),
    [
        ("target: 'os.path:basename'", "os.path:basename", 0, False),
        ("target: {use: 'os.path:basename', retries: 3}", "os.path:basename", 3, False),
        ("target: http://127.0.0.1:9/ask", "POST http://127.0.0.1:9/ask", 2, True),
        ("target: {url: 'http://h.test/a', method: get}", "GET http://h.test/a", 2, True),
        ("target: {url: 'http://h.test', retries: 0}", "POST http://h.test", 0, True),
        ("target: {model: m, base_url: 'http://h.test/v1'}", "chat 'm'", 4, True),
        ("target: {fixture: my_bot}", "fixture 'my_bot'", 0, False),
    ],
)
def test_the_type_follows_from_the_keys(
    plan: Make, text: str, shown: str, retries: int, is_remote: bool
) -> None:
    """[A21] And how often is asked again, when the scenario does not say."""
    found = target(plan, text)
    assert (found.shown, found.settings.retries, found.is_remote) == (shown, retries, is_remote)


def test_limits_are_those_of_every_target(plan: Make) -> None:
    """[A22]"""
    found = target(plan, "target: {url: 'http://h', concurrency: 3, rpm: 60, timeout_s: 5}")
    assert (found.settings.concurrency, found.settings.rpm, found.settings.timeout_s) == (3, 60, 5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("target: fixture", "rag_target"),
        ("target: {type: http, fixture: app_url, url: /ask}", "app_url"),
    ],
)
def test_a_fixture_is_waited_for(plan: Make, text: str, name: str) -> None:
    """[E6] Nothing can be asked before its value is there."""
    found = target(plan, text)
    assert (found.fixture, found.make) == (name, None)


@pytest.mark.parametrize(
    "text",
    [
        "models: {local: {model: m, base_url: 'http://h.test/v1', repeats: 3, form: text}}\n"
        "target: {profile: local, temperature: 1, concurrency: 2}",
        "models: {local: {model: m, base_url: 'http://h.test/v1'}}\ntarget: {model: local}",
        "models: {local: {model: m, base_url: 'http://h.test/v1'}}\ntarget: local",
    ],
)
def test_a_profile_is_a_target(plan: Make, text: str) -> None:
    """[A16] What only judges have is left out."""
    found = target(plan, text)
    assert (found.shown, found.provides) == ("chat 'm'", {"answer"})
    assert found.identity["options"]["endpoint"] == "http://h.test/v1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target: {type: htp}", "target: unknown target type 'htp'. Did you mean 'http'?"),
        (
            "target: {url: 'http://h', hedders: {}}",
            "unknown key 'hedders'. Did you mean 'headers'?",
        ),
        ("target: {type: python}", "target: a target of type 'python' needs 'use'"),
        ("target: {url: 'ftp://u:pw@h'}", "target.url: expected a URL that begins with http://"),
        ("target: {type: http}", "target: a target of type 'http' needs 'url', or a 'fixture'"),
        ("target: {url: 'http://h', method: PUSH}", "target.method: "),
        ("target: {url: 'http://h', body: {q: '{qestion}'}}", "Did you mean 'question'?"),
        (
            "target: {url: 'http://h', body: {q: '{question}', l: '{metadata.lng}'}}",
            "target: {metadata.lng}: unknown column 'lng'. Did you mean 'lang'? Known: lang",
        ),
        (
            "target: {url: 'http://h', headers: {X: '${NOT_SET_1}'}}",
            "variable NOT_SET_1 is not set",
        ),
        ("target: {url: 'http://h', contexts: 'a..b'}", "target.contexts: 'a..b' is no path"),
        ("target: {profile: nobody}", "unknown profile 'nobody'"),
        ("models: {a: {}}\ntarget: {profile: b}", "unknown profile 'b'"),
        ("target: {model: m, prompt: '{contexs}'}", "Did you mean 'contexts'?"),
        ("target: {url: 'http://h', timeout_s: 0}", "target.timeout_s: expected a number > 0"),
        ("target: [1]", "target: write a target as 'my_app.rag:answer'"),
        ("target: {x: 1}", "target: give its 'type': python, http, "),
        ("target: 'no_such_module_1:f'", "target: no module named 'no_such_module_1'"),
    ],
)
def test_a_mistake_is_one_problem_at_its_line(problems: Problems, text: str, message: str) -> None:
    """[E12]"""
    (problem,) = problems(HEAD + text)
    assert problem.startswith(f"s.yaml:{4 + text.count(chr(10))}: ")
    assert message in problem


def test_a_column_inside_of_a_metadata_column_is_known(plan: Make) -> None:
    body = "target: {url: 'http://h', body: {l: '{metadata.lang.code}', q: '{question}'}}"
    assert target(plan, body).fields == {"question", "metadata.lang.code"}


def test_an_answer_of_another_version_is_another_answer(
    plan: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] As the environment says it."""
    monkeypatch.setenv("GIT_SHA_1", "abc")
    text = "target: {use: 'os.path:basename', version: 'v${GIT_SHA_1}', cache_answers: true}"
    found = target(plan, text)
    assert (found.identity["version"], found.cache_answers) == ("vabc", True)
