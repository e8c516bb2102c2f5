"""A project whose metrics ask the fake server, for the tests of the plugin's judging.

A test module names it under ``pytest_plugins`` and gets the fixtures ``judge_server`` and
``judged``.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp  # noqa: F401  (an inner run may not be the first to import a C extension)
import pytest
from fake_openai import FakeOpenAI, Seen
from loop_back import LoopBack

import pytest_rageval.clients.clients
import pytest_rageval.plugin.run.look_ahead  # noqa: F401
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY
from tests.plugin.conftest import Project

for _registry in (CHAT_REGISTRY, EMBEDDING_REGISTRY):
    _registry.names()

KEY = "sk-live-0123456789abcdef"
VARIABLE = "JUDGE_KEY"

JUDGED_METRICS = """
import asyncio
import os
import pathlib

import pytest

from pytest_rageval.clients.base import Message
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.model import Score

HERE = pathlib.Path(__file__).parent


async def grade(model, prompt):
    reply = await model.complete([Message("user", prompt)], accept=float)
    return float(reply.text)


class Graded:
    def __init__(self, name, options):
        self.name = name

    async def ascore(self, sample, models):
        value = await grade(models.judge, f"{self.name}: {sample.answer}")
        return Score(self.name, value, reason=f"graded {value}", details={"graded": sample.answer})


class Fourfold(Graded):
    async def ascore(self, sample, models):
        prompts = [f"{self.name} {part} of {sample.id}: {sample.answer}" for part in range(4)]
        values = await asyncio.gather(*(grade(models.judge, prompt) for prompt in prompts))
        return Score(self.name, sum(values) / 4)


class Silent(Graded):
    async def ascore(self, sample, models):
        await grade(models.judge, f"{self.name}: {sample.answer}")
        return Score(self.name, None, reason="no claims in the answer")


class Broken(Graded):
    async def ascore(self, sample, models):
        await grade(models.judge, f"{self.name}: {sample.answer}")
        raise RuntimeError("the metric is broken")


class Embedded(Graded):
    async def ascore(self, sample, models):
        one, other = await models.embedding.embed([sample.answer, sample.question])
        product = sum(a * b for a, b in zip(one, other))
        return Score(self.name, min(max(float(product), 0.0), 1.0))


for name, make, role, fields in [
    ("graded", Graded, "judge", {"answer"}),
    ("again", Graded, "judge", {"answer"}),
    ("fourfold", Fourfold, "judge", {"answer"}),
    ("referred", Graded, "judge", {"answer", "references"}),
    ("silent", Silent, "judge", {"answer"}),
    ("broken", Broken, "judge", {"answer"}),
    ("embedded", Embedded, "embedding", {"answer", "question"}),
]:
    if METRIC_REGISTRY.canonical(name) is None:
        info = MetricInfo(name, frozenset(fields), asks=frozenset({role}))
        METRIC_REGISTRY.add(MetricDefinition(info, make))
"""
"""A conftest.py with metrics whose score is the reply of the judge, asked in different ways."""


def echo(body: Mapping[str, Any]) -> str:
    """Return what stands behind the last colon or bar of the prompt: the score it asks for."""
    return _answer_in(_first(body)).rpartition("|")[2]


def _answer_in(prompt: str) -> str:
    """Return what stands behind the last colon, without the marks that rubric puts around it."""
    return re.sub(r"</?\w+>", "", prompt.rpartition(": ")[2]).strip()


def _first(body: Mapping[str, Any]) -> str:
    """Return the first turn of a conversation, which stays the same when it is asked again."""
    return str((body.get("messages") or [{}])[0].get("content"))


class JudgeServer(FakeOpenAI):
    """A fake server that is told by the answers themselves what to reply.

    The answer "0.5" gets the score 0.5, "500|0.5" a status 500 whenever it is asked about, and
    "once 500|0.5" at the first time only, in whichever order they come. "hang", "late" (an answer
    after all) and "stall" (half an answer) take ``hang_s``: longer than the calls of these tests
    may take, not longer than a test. ``replies`` are faults of a test's own: what is replied.
    """

    hang_s = 1.5
    replies: Mapping[str, str] = {}

    @property
    def chats(self) -> list[Seen]:
        """The requests for chat completions, with whatever query."""
        return [seen for seen in self.seen if "/chat/completions" in seen.path]

    def remember(self, *prompts: str) -> None:
        """Take these prompts for asked before."""
        self._attempts.update(prompts)

    def _drawn(self, seen: Seen) -> str:
        prompt = _first(seen.body)
        fault, bar, _ = _answer_in(prompt).rpartition("|")
        if not bar:
            return super()._drawn(seen)
        self._attempts[prompt] += 1
        if fault.startswith("once ") and self._attempts[prompt] > 1:
            return "ok"
        return fault.removeprefix("once ")

    def _reply(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        return super()._reply(replace(seen, path=seen.path.partition("?")[0]), fault)

    def _chat(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        status, headers, answer = super()._chat(seen, fault)
        if fault in self.replies:
            answer["choices"][0]["message"]["content"] = self.replies[fault]
        return status, headers, answer

    async def _answer(self, seen: Seen, fault: str, writer: asyncio.StreamWriter) -> None:
        if fault == "stall":
            writer.write(b'HTTP/1.1 200 -\r\nContent-Length: 100\r\n\r\n{"choices": [')
        if fault in ("late", "stall"):
            await asyncio.sleep(self.hang_s)
        if fault == "stall":
            writer.close()
        else:
            await super()._answer(seen, fault, writer)

    async def _break(self, fault: str, writer: asyncio.StreamWriter) -> None:
        if fault == "hang":
            await asyncio.sleep(self.hang_s)
        await super()._break("close" if fault == "hang" else fault, writer)


class JudgedProject:
    """A project with scenarios for the fake server, and what runs of them ask and leave behind."""

    def __init__(self, project: Project, server: JudgeServer) -> None:
        self.project = project
        self.server = server
        self.path = project.path
        self.temporary = project.path / "tmp"
        self.temporary.mkdir()
        self.runs: list[pytest.RunResult] = []
        self.with_conftest("")

    def with_conftest(self, more: str) -> None:
        """Write ``conftest.py``: the judged metrics and ``more``, which starts at column 0."""
        (self.path / "conftest.py").write_text(JUDGED_METRICS + more, encoding="utf-8")

    def load_conftest(self) -> None:
        """Add the judged metrics to this process, as pytest does."""
        conftest = self.path / "conftest.py"
        exec(conftest.read_text("utf-8"), {"__name__": "conftest", "__file__": str(conftest)})

    @property
    def cache(self) -> Path:
        """Where replies are kept, unless the command line says otherwise."""
        return self.path / ".rageval" / ".cache"

    @property
    def judge(self) -> dict[str, Any]:
        """The judge of the scenarios, unless they say otherwise.

        Without control rows: most tests count what is asked about the samples.
        """
        return {
            "model": "m",
            "base_url": self.server.base_url,
            "api_key_env": VARIABLE,
            "retries": 0,
            "timeout_s": 5,
            "controls": "off",
        }

    def scenario(
        self, answers: Sequence[Any], *, file: str = "qa", judge: Any = None, **keys: Any
    ) -> Path:
        """Write a scenario: an answer is the score that its sample gets, a mapping is a whole row.

        ``judge`` changes what is said of the judge; a text, or the only item of a list, stands in
        its place, and False leaves it out. Samples are called s0, s1, ...
        """
        rows = [
            {"id": f"s{at}", **(row if isinstance(row, dict) else {"answer": str(row)})}
            for at, row in enumerate(answers)
        ]
        whole = {**self.judge, **(judge or {})} if isinstance(judge, dict | None) else judge
        if isinstance(judge, list):
            (whole,) = judge
        plain = {"name": file, "metrics": ["graded"], "judge": whole, **keys, "dataset": rows}
        path = self.path / f"{file}.rageval.yaml"
        kept = {key: value for key, value in plain.items() if value is not False}
        path.write_text(json.dumps(kept, indent=1), encoding="utf-8")  # JSON is YAML
        return path

    def pytest(self, *args: str, plugins: Sequence[object] = ()) -> pytest.RunResult:
        """Run pytest in this process."""
        self.runs.append(self.project.pytest(*args, plugins=plugins))
        return self.runs[-1]

    def loop_back(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process, with results on the way of those of xdist."""
        return self.pytest(*args, plugins=[LoopBack()])

    def distributed(self, *args: str) -> pytest.RunResult:
        """Run pytest with two workers, which takes ten times as long."""
        return self.pytest(*args, "-n", "2")

    @property
    def asked(self) -> list[str]:
        """What the server was asked so far, in the order in which it came."""
        return [str(seen.body["messages"][-1]["content"]) for seen in self.server.chats]

    @property
    def usage(self) -> dict[str, Any]:
        """What the newest run of ``qa`` says that it used."""
        usage: dict[str, Any] = self.project.results()["run"]["usage"]
        return usage

    @property
    def errors(self) -> dict[str, str]:
        """The error of each sample of the newest run of ``qa`` that has one, by its id."""
        samples = self.project.results()["samples"]
        return {one["id"]: " ".join(one["errors"].values()) for one in samples if one["errors"]}

    def without_run(self, folder: Path) -> list[bytes]:
        """Return the lines of results.json but the one that may differ between runs."""
        lines = (folder / "results.json").read_bytes().splitlines()
        kept = [line for line in lines if not line.startswith(b'"run": ')]
        assert len(kept) == len(lines) - 1
        return kept

    def leaks(self, *secrets: str) -> list[str]:
        """Return where a secret got to: files of the project, and lines that its runs printed."""
        lines = [line for run in self.runs for line in (*run.outlines, *run.errlines)]
        return self.files_with(*secrets) + [
            line for line in lines if any(secret in line for secret in secrets)
        ]

    def files_with(self, *secrets: str) -> list[str]:
        """Return the files of the project, but those that a test wrote, that hold a secret."""
        written = [path for path in sorted(self.path.rglob("*")) if path.is_file()]
        own = {*self.path.glob("*.rageval.yaml"), *self.path.glob("conftest.py")}
        return [
            str(path.relative_to(self.path))
            for path in written
            if path not in own and any(secret.encode() in path.read_bytes() for secret in secrets)
        ]


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    """Return a running server that replies with the scores that the samples ask for."""
    with JudgeServer(answer=echo) as running:
        yield running


@pytest.fixture
def judged(
    project: Project, judge_server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[JudgedProject]:
    """Return a project with judged metrics, whose runs keep to its folder.

    Whatever a test does there, the key is in no file and in no output afterwards.
    """
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.delenv("CI", raising=False)
    for name in ("CACHE", "CACHE_DIR", "CONCURRENCY", "JUDGE_MODEL", "BUDGET"):
        monkeypatch.delenv(f"RAGEVAL_{name}", raising=False)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    made = JudgedProject(project, judge_server)
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    monkeypatch.setenv("TMPDIR", str(made.temporary))
    yield made
    assert made.leaks(KEY) == []
