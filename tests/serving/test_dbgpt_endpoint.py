"""[B12] DB-GPT's evaluation endpoint: what its clients send and get, from a real server."""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from web_client import Reply, WebClient, served

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

from pytest_rageval.run_paths import RunPaths
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.serving.web import dbgpt
from pytest_rageval.serving.web.dbgpt_request import read_request
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.serving.web.routes import DBGPT_ROUTES

KEY = "endpoint-key-0123456789"
SCENES, EVALUATION = f"{dbgpt.PREFIX}scenes", f"{dbgpt.PREFIX}evaluation"
WAIT_S = 60.0
# The second question finds an expected context at rank 2; top_k cuts the third's only hit off.
RECALL: dict[str, Any] = {
    "evaluate_code": None,
    "scene_key": "recall",
    "scene_value": "handbook",
    "context": {"top_k": 2},
    "parallel_num": None,
    "evaluate_metrics": ["RetrieverMRRMetric", "hit_rate"],
    "datasets": [
        {"query": "时间分辨率?", "contexts": ["75 毫秒"], "prediction": ["75 毫秒", "其他"]},
        {"query": "保修?", "contexts": ["两年", "三年"], "prediction": ["其他", "三年"]},
        {"query": "退货?", "contexts": ["三十天"], "prediction": ["其他", "一年", "三十天"]},
    ],
}
HANDBOOK = """
name: handbook
dataset: rows.jsonl
answers: second.jsonl
metrics: [f1, mrr]
metric_weights: {f1: 2, mrr: 1}
thresholds: {f1: 0.5, mrr: 0.6}
gates: {f1: 0.9}
"""
BOT = """
name: bot
target: {use: "app:answer", timeout_s: 600}
dataset: no_such_file.jsonl
metrics: [acc]
judge: {model: gpt-4o, base_url: "http://127.0.0.1:PORT/v1"}
"""
SHOPS = """
name: shops
dataset: rows.jsonl
metrics: [f1]
best: short
variants:
  long: {target: {use: "app:answer"}}
  short: {target: {use: "app:short"}}
"""
APP = """
import time

def short(question):
    return "Paris"

def answer(question):
    print("noise on stdout")
    if question == "wait?":
        open("begun", "w").close()
        time.sleep(600)
    if question == "fail?":
        raise ValueError("no index")
    return {"answer": f"{question} Paris.", "contexts": ["Paris is a city."]}
"""
ASKS = {**RECALL, "scene_key": "app", "evaluate_metrics": ["em"]}
SLOW = {
    **RECALL,
    "scene_key": "app",
    "scene_value": "bot",
    "evaluate_metrics": ["acc"],
    "datasets": [{"query": "wait?", "reference": "a"}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a project with two scenarios; pytest is to stop at the first failure there."""
    path = tmp_path_factory.mktemp("served")
    with FakeOpenAI() as judge:
        (path / "pytest.ini").write_text("[pytest]\naddopts = -x\n")
        (path / "handbook.rageval.yaml").write_text(HANDBOOK)
        (path / "bot.rageval.yaml").write_text(BOT.replace("PORT", str(judge.port)))
        (path / "shops.rageval.yaml").write_text(SHOPS)
        (path / "app.py").write_text(APP)
        (path / "rows.jsonl").write_text('{"question": "q", "answer": "a", "reference": "a"}\n')
        (path / "second.jsonl").write_text('{"id": "1", "answer": "a"}\n')
        yield path


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[WebClient]:
    with served(folder, no_proxy="127.0.0.1", RAGEVAL_API_KEY=KEY) as client:
        yield client


PROGRAM = {"Cookie": None, "Origin": None, "Authorization": f"Bearer {KEY}"}


def send(
    app: WebClient, body: object, method: str = "POST", path: str = EVALUATION, **change: str | None
) -> Reply:
    headers = {name.replace("_", "-"): value for name, value in change.items()}
    return app.send(method, path, body, {**PROGRAM, **headers})


@pytest.mark.full
def test_a_variant_is_named_with_its_scenario(app: WebClient) -> None:
    """[E20] Each has a target of its own; without a choice the request is refused."""
    rows = {**ASKS, "datasets": [{"query": "capital?", "reference": "Paris"}]}
    for variant, score in (("short", 1.0), ("long", 0.0)):
        reply = send(app, {**rows, "scene_value": f"shops::{variant}"})
        assert [[row["score"] for row in found] for found in reply.body["data"]] == [[score]]
    reply = send(app, {**rows, "scene_value": "shops"})
    assert reply.status == 400
    expected = "'shops' has variants; name one of them: shops::long, shops::short"
    assert reply.body["err_msg"] == f"scene_value: {expected}"


def test_a_request_gets_a_row_for_each_sample_and_metric(app: WebClient, folder: Path) -> None:
    """[B9, B12] Under the names that it asked for; the project gets no run."""
    before = sorted(path.name for path in folder.iterdir())
    reply = send(app, RECALL)
    envelope = reply.body
    assert (reply.status, envelope["success"], envelope["err_code"]) == (200, True, None)
    found = [
        (row["metric_name"], row["score"], row["passing"])
        for rows in envelope["data"]
        for row in rows
    ]
    assert found == [
        ("RetrieverMRRMetric", 1.0, True),
        ("hit_rate", 1.0, None),
        ("RetrieverMRRMetric", 0.5, False),
        ("hit_rate", 1.0, None),
        ("RetrieverMRRMetric", 0.0, False),
        ("hit_rate", 0.0, None),
    ]
    first = envelope["data"][1][0]
    assert (first["prediction"], first["contexts"]) == (["其他", "三年"], ["两年", "三年"])
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_target_and_judge_of_the_scenario_are_asked(app: WebClient) -> None:
    """[B12] What it prints does no harm; a question that fails is a row without a score.

    The scenario's own data are not opened.
    """
    questions = {"datasets": [{"query": "Capital?"}, {"query": "fail?"}], "parallel_num": 1}
    metrics = {"evaluate_metrics": ["AnswerRelevancyMetric"]}
    envelope = send(app, {**SLOW, **metrics, **questions}).body
    assert envelope["success"], envelope["err_msg"]
    (first,), (second,) = envelope["data"]
    assert first["prediction"] == "Capital? Paris."
    assert 0.0 <= first["score"] <= 5.0
    assert second["score"] is None
    assert "no index" in second["feedback"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scene_value": "handbok"}, "unknown scenario 'handbok'. Did you mean 'handbook'?"),
        ({"evaluate_metrics": ["hitrate"]}, "unknown metric 'hitrate'. Did you mean 'hit_rate'?"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    app: WebClient, changed: dict[str, Any], message: str
) -> None:
    """[B12] As an envelope, which DB-GPT's client raises."""
    reply = send(app, {**RECALL, **changed})
    envelope = reply.body
    assert (reply.status, envelope["success"], envelope["err_code"]) == (400, False, "E0001")
    assert message in envelope["err_msg"]
    assert envelope["data"] is None
    assert "rageval-request-" not in envelope["err_msg"]


@pytest.mark.parametrize(
    ("status", "change"),
    [
        (403, {"Host": "rag.example"}),
        (401, {"Authorization": None}),
        (401, {"Authorization": "Bearer wrong"}),
        (401, {"Authorization": f"Basic {KEY}"}),
        (401, {"Authorization": None, "Cookie": "page"}),
        (403, {"Origin": "http://rag.example"}),
        (403, {"Sec_Fetch_Site": "cross-site"}),
        (415, {"Content_Type": "text/plain"}),
        (413, {"Content_Length": str(2**24 + 1)}),
    ],
    ids=str,
)
def test_who_may_ask(app: WebClient, status: int, change: dict[str, str | None]) -> None:
    """[B12] The key alone counts, never the page's cookie; every refusal is an envelope."""
    if "Cookie" in change:
        change = {**change, "Cookie": app.headers()["Cookie"]}
    for method, path in (("POST", EVALUATION), ("GET", SCENES)):
        reply = send(app, RECALL if method == "POST" else None, method, path, **change)
        is_about_bodies = status in (413, 415)
        assert reply.status == (200 if is_about_bodies and method == "GET" else status)
        assert reply.body["success"] is (reply.status == 200)


def test_the_routes_are_those_that_are_tested_here() -> None:
    """[B12]"""
    found = {(route.method, route.path) for route in DBGPT_ROUTES}
    assert found == {("GET", SCENES), ("POST", EVALUATION)}


def test_the_scenes_are_those_of_dbgpt(app: WebClient) -> None:
    """[B12]"""
    data = send(app, None, "GET", SCENES).body["data"]
    assert [list(scene) for scene in data] == [["recall"], ["app"]]


def test_other_paths_and_bodies_are_envelopes_too(app: WebClient) -> None:
    """[B12]"""
    assert send(app, None, "GET", f"{dbgpt.PREFIX}other").status == 404
    assert send(app, None, "GET", EVALUATION).status == 405
    for body in ([RECALL], b'{"datasets": NaN}', b"{"):
        reply = send(app, body)
        assert (reply.status, reply.body["err_code"]) == (400, "E0001")


def test_one_run_at_a_time_which_ends_with_its_client(app: WebClient, folder: Path) -> None:
    """[B12] The page shows it; when the client has gone, the next request is run."""
    client = http.client.HTTPConnection("127.0.0.1", app.port)
    headers = {name: value for name, value in PROGRAM.items() if value is not None}
    try:
        client.request(
            "POST", EVALUATION, json.dumps(SLOW), {**headers, "Content-Type": "application/json"}
        )
        end = time.monotonic() + WAIT_S
        while not (folder / "begun").exists():
            assert time.monotonic() < end, "the run has not begun"
            time.sleep(0.05)
        assert send(app, RECALL).status == 409
        assert app.get("/api/scenarios")["running"]["scenario"] == "bot"
    finally:
        client.close()
    end = time.monotonic() + WAIT_S
    while app.get("/api/scenarios")["running"] is not None:
        assert time.monotonic() < end, "the run has not ended"
        time.sleep(0.05)


@pytest.mark.full
def test_a_scenario_that_was_renamed_is_found(app: WebClient, folder: Path) -> None:
    """[B12] Files may change while the server runs."""
    path = folder / "handbook.rageval.yaml"
    path.write_text(HANDBOOK.replace("name: handbook", "name: manual"))
    try:
        assert "Known: bot, manual" in send(app, RECALL).body["err_msg"]
    finally:
        path.write_text(HANDBOOK)


@pytest.mark.full
def test_a_run_that_takes_too_long_is_ended(folder: Path) -> None:
    """[B12]"""
    project = Project(sys.executable, folder, (), RunPaths(folder))
    entry = ScenarioEntry(folder / "bot.rageval.yaml", "bot.rageval.yaml", "bot")
    wanted = read_request(SLOW)
    changes = dbgpt.changes_of(wanted, entry)
    with pytest.raises(Refused, match="the run was ended after 0 s") as caught:
        asyncio.run(dbgpt.evaluated(project, entry, wanted, changes, most_s=0.0))
    assert caught.value.status == 504
