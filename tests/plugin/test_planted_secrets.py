"""[R5] Sixteen secrets that are hard to find again, repeated by servers in many spellings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fake_app import Asked, FakeApp
from fake_openai import FakeOpenAI, Seen
from judged_project import JudgedProject
from planted import ALL, HEADERS, TEXTS, WORDS, spellings

import pytest_rageval.engine.scoring.ask_target  # noqa: F401
from pytest_rageval.targets.base import TARGET_REGISTRY

pytest_plugins = ["judged_project"]
TARGET_REGISTRY.names()

KINDS = ("as it is", "JSON in JSON", "URL", "Python", "JSON in HTML")
SAID = [spellings(secret)[kind] for secret in ALL.values() for kind in KINDS]
ANSWER, ERROR, TYPE, REDIRECT = range(4)
OPTIONS = ("-vv", "-rA", "--showlocals", "--tb=long", "--junitxml=junit.xml")
REPORTS = ("--rag-report=html,dbgpt", "--rag-save-answers=saved.jsonl")


def said(number: int) -> tuple[int, list[str], bytes]:
    """Return status, headers and body of the reply that repeats a secret in one of four ways."""
    text, way = SAID[number], number % 4
    line = " ".join(text.split()).encode("ascii", "backslashreplace").decode()
    if way == ERROR:
        return 500, ["Content-Type: application/json"], _dumped({"error": {"message": text}})
    if way == TYPE:
        return 200, [f"Content-Type: text/{line}"], f"<p>{text}".encode()
    if way == REDIRECT:
        return 307, [f"Location: http://elsewhere.test/{line}?{line}"], text.encode()
    return 200, ["Content-Type: application/json"], _dumped({"answer": f"It is {text}."})


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def number_in(text: str) -> int:
    found = re.search(r"number (\d+)", text)
    assert found is not None
    return int(found[1])


class RepeatingJudge(FakeOpenAI):
    """A judge that repeats secrets."""

    def _reply(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        status, headers, body = said(number_in(json.dumps(seen.body["messages"])))
        if body.startswith(b'{"answer"'):
            content = json.loads(body)["answer"]
            return 200, [], {"choices": [{"message": {"content": content}}]}
        return status, headers, body


class RepeatingApp(FakeApp):
    """A service that repeats secrets."""

    def _made(self, asked: Asked, fault: str) -> Any:
        status, headers, body = said(number_in(asked.question))
        kind = next((one[14:] for one in headers if one.startswith("Content-Type")), "text/plain")
        return status, kind, body, [one for one in headers if one.startswith("Location")]


@pytest.fixture
def judge_server() -> Iterator[RepeatingJudge]:
    with RepeatingJudge() as running:
        yield running


@pytest.fixture
def planted(judged: JudgedProject, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    """Return a project whose environment holds the secrets, as SECRET_<NAME>."""
    monkeypatch.setenv("JUDGE_KEY", HEADERS["key"])
    for name, secret in ALL.items():
        monkeypatch.setenv(f"SECRET_{name.upper()}", secret)
    return judged


def leaks(project: JudgedProject) -> list[str]:
    """Return where a part of a secret got to, as it is or as the codes of its characters."""
    codes = ["".join(f"%{byte:02x}" for byte in word.encode()) for word in WORDS]
    return project.leaks(*WORDS, *codes)


def literal_or_variable(names: Any) -> dict[str, str]:
    """Return headers: every other secret stands there as it is, without a `$`."""
    return {
        f"X-{name}": HEADERS[name] if at % 2 else f"${{SECRET_{name.upper()}}}"
        for at, name in enumerate(names)
    }


@pytest.mark.full
def test_what_a_judge_repeats_gets_nowhere(planted: JudgedProject) -> None:
    """[R5] Key, headers, query and body; replies, errors, content types and redirects."""
    planted.with_conftest(
        """
class Quoted(Graded):
    async def ascore(self, sample, models):
        reply = await models.judge.complete([Message("user", sample.answer)])
        return Score(self.name, 0.5, reason=reply.text, details={"said": reply.text})

METRIC_REGISTRY.add(
    MetricDefinition(MetricInfo("quoted", frozenset({"answer"}), asks=frozenset({"judge"})), Quoted)
)
"""
    )
    query = "&".join(f"{name}={quote(TEXTS[name])}" for name in list(TEXTS)[:5])
    planted.scenario(
        [f"number {number}" for number in range(len(SAID))],
        metrics=["quoted"],
        judge={
            "base_url": f"{planted.server.base_url}?{query}",
            "headers": literal_or_variable(list(HEADERS)[1:]),
            "extra_body": {
                "api_key": TEXTS["plus"],
                "deep": [{"token": TEXTS["blanks"], "n": 1}],
                "password": TEXTS["control"],
            },
        },
    )
    planted.pytest(*OPTIONS, *REPORTS[:1])
    samples = planted.project.results()["samples"]
    answered = [one for one in samples if "***" in str(one["reasons"])]
    assert len(answered) == len(SAID) / 4
    assert "***" in planted.errors["s1"]
    assert {"report.html", "results.json"} <= {path.name for path in planted.path.rglob("*")}
    assert any(planted.cache.iterdir())
    assert leaks(planted) == []


@pytest.mark.full
def test_what_a_service_repeats_gets_nowhere(planted: JudgedProject) -> None:
    """[R5] User, password, headers, query and body of an HTTP target."""
    with RepeatingApp() as app:
        user, password = quote(TEXTS["lines"], safe=""), quote(TEXTS["escapes"], safe="")
        target = {
            "url": f"http://{user}:{password}@127.0.0.1:{app.port}/ask?k={quote(TEXTS['plus'])}",
            "headers": literal_or_variable(HEADERS),
            "query": {"token": TEXTS["accents"], "env": "${SECRET_CHINESE}"},
            "body": {
                "question": "{question}",
                "env": "a ${SECRET_EMOJI} b",
                "deep": [{"secret": TEXTS["blanks"]}],
                "env2": "${SECRET_CONTROL}",
            },
            "retries": 0,
            "cache_answers": True,
        }
        planted.scenario(
            [
                {"question": f"number {number}", "references": ["x"], "answer": None}
                for number in range(len(SAID))
            ],
            metrics=["f1"],
            judge=False,
            target=target,
        )
        planted.pytest(*OPTIONS, *REPORTS)
    samples = planted.project.results()["samples"]
    held = sum("holds a secret that it was" in str(one) for one in samples)
    hidden = sum("***" in str(one["answer"]) for one in samples)
    assert (held > 0, hidden > 0, held + hidden) == (True, True, len(SAID) / 2)
    assert leaks(planted) == []


def test_a_refused_scenario_shows_no_secret_among_the_locals(planted: JudgedProject) -> None:
    """[R5] Nor does one that ``evaluate`` or ``patch_scenario`` refuses: no frames of ours."""
    judge = {**planted.judge, "headers": dict(HEADERS), "hedders": 1, "base_url": "ftp://u:p@h"}
    planted.scenario(["1"], judge=judge, file="refused")
    scenario = Path(planted.path / "refused.rageval.yaml")
    scenario.rename(planted.path / "refused.yaml")
    tests = """
import json
import pathlib

import pytest
from pytest_rageval import evaluate, patch_scenario

def test_file():
    evaluate("refused.yaml")

def test_mapping():
    evaluate(json.loads(pathlib.Path("refused.yaml").read_text()))

def test_patch():
    patch_scenario("refused.yaml", {"judge": {"oops": 2}})
"""
    (planted.path / "test_refused.py").write_text(tests, encoding="utf-8")
    result = planted.pytest("--showlocals", "--tb=long", "--junitxml=junit.xml", "test_refused.py")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(["E * unknown key 'hedders' under judge*"])
    (planted.path / "refused.yaml").unlink()
    assert leaks(planted) == []
