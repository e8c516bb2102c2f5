"""[B12] DB-GPT's own client against the endpoint of ``pytest --rag-serve``, each in its process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from web_client import served

if find_spec("dbgpt_client") is None or find_spec("bs4") is None:
    pytest.skip("dbgpt-client and beautifulsoup4 are not installed", allow_module_level=True)

KEY = "endpoint-key-0123456789"
WAIT_S = 120.0
ANSWERS = {"query": "Capital?", "prediction": "Paris is the capital.", "factual": ["Paris."]}
HANDBOOK = "{name: handbook, dataset: rows.jsonl, metrics: [f1]}"
BOT = """
name: bot
dataset: rows.jsonl
metrics: [f1]
judge: {model: gpt-4o, base_url: "http://127.0.0.1:PORT/v1"}
"""
# What DB-GPT's documentation does, and what became of it.
CLIENT = """
import asyncio, json, sys
from dbgpt_client import Client
from dbgpt_client.client import ClientException
from dbgpt_client.evaluation import EvaluateServeRequest, run_evaluation

async def main(base, key, request):
    client = Client(api_base=base, api_key=key)
    try:
        found = await run_evaluation(client, EvaluateServeRequest(**request))
        return {"data": found}
    except ClientException as error:
        return {"error": str(error)}
    finally:
        await client.aclose()

base, key, request = sys.argv[1:]
print(json.dumps(asyncio.run(main(base, key, json.loads(request)))))
"""
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of the API of a running server."""
    folder = tmp_path_factory.mktemp("project")
    with FakeOpenAI() as judge:
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "handbook.rageval.yaml").write_text(HANDBOOK)
        (folder / "bot.rageval.yaml").write_text(BOT.replace("PORT", str(judge.port)))
        with served(folder, no_proxy="127.0.0.1", RAGEVAL_API_KEY=KEY) as client:
            yield f"{client.origin}/api/v2"


@pytest.fixture
def ask(base: str) -> Ask:
    """Return a function that lets the client send a request."""

    def once(key: str = KEY, **request: Any) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, base, key, json.dumps(request)],
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=True,
        )
        # Where CI is set, DB-GPT says before that it sets a seed.
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    return once


def test_recall(ask: Ask) -> None:
    """[B12] The expected context is at rank 2."""
    found = ask(
        scene_key="recall",
        scene_value="handbook",
        context={"top_k": 5},
        evaluate_metrics=["RetrieverHitRateMetric", "RetrieverMRRMetric"],
        datasets=[{"query": "保修?", "contexts": ["两年"], "prediction": ["其他", "两年"]}],
    )
    ((first, second),) = found["data"]
    assert (first["metric_name"], first["score"]) == ("RetrieverHitRateMetric", 1.0)
    assert (second["metric_name"], second["score"]) == ("RetrieverMRRMetric", 0.5)
    assert (first["query"], first["prediction"]) == ("保修?", ["其他", "两年"])


def test_app(ask: Ask) -> None:
    """[B12] A judge reads the answer."""
    found = ask(
        scene_key="app",
        scene_value="bot",
        evaluate_metrics=["AnswerRelevancyMetric"],
        datasets=[ANSWERS],
    )
    ((row,),) = found["data"]
    assert row["metric_name"] == "AnswerRelevancyMetric"
    assert 0.0 <= row["score"] <= 5.0
    assert row["prediction"] == ANSWERS["prediction"]


def test_an_error(ask: Ask) -> None:
    """[B12] The client raises, with what is wrong."""
    found = ask(scene_key="app", scene_value="bott", evaluate_metrics=["f1"], datasets=[ANSWERS])
    assert "unknown scenario 'bott'. Did you mean 'bot'?" in found["error"]


def test_a_wrong_key(ask: Ask) -> None:
    """[B12]"""
    found = ask("wrong", scene_key="app", scene_value="bot", datasets=[ANSWERS])
    assert "the key is missing or wrong" in found["error"]
