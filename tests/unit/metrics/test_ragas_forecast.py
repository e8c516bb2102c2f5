"""R15: what a dry run says of ragas' metrics, against real tokenizers and what they really ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval.clients.base import Message
from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.reply_form import in_words, shown_example
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.clients.tokens import Habits
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.forecast import forecast
from pytest_rageval.metrics.base import JudgedMetric, Models

pytest.importorskip("ragas")

ROW = {
    "question": "How long does a refund take?",
    "answer": "A refund takes five working days after we have the goods. You will get an e-mail "
    "when it is done, and the money goes back to the card that you paid with.",
    "contexts": [
        "Refunds. Once the goods have arrived at our warehouse (12 Harbour Road, Leeds), we check "
        "them within 48 hours. Refunds take five working days.",
        "Shipping within the UK costs £4.99, or nothing for orders above £50. We ship from Monday "
        "to Friday; orders placed before 2 p.m. leave the same day.",
        "Gift cards cannot be exchanged for money and are valid for 24 months from 2023-01-01.",
    ],
    "references": ["Refunds take five working days from the arrival of the goods."],
    "reference_contexts": ["Refunds take five working days."],
    "rubrics": {"score1_description": "wrong", "score2_description": "right"},
}
# Tokens of each metric's first prompt about ROW (ragas 0.4.3), counted with tiktoken (cl100k_base,
# o200k_base, the files that the package litellm brings) and by llama.cpp's server with
# SmolLM2-135M-Instruct (POST /tokenize). A conversation adds 7 at OpenAI; llama.cpp counted 30 more
# for SmolLM2, whose template has a system message of its own.
COUNTED = [
    ("faithfulness", 379, 386, 403),
    ("answer_relevancy", 456, 463, 490),
    ("context_precision", 934, 929, 993),
    ("context_utilization", 957, 952, 1016),
    ("context_recall", 1352, 1342, 1437),
    ("context_entity_recall", 569, 557, 614),
    ("answer_correctness", 379, 386, 403),
    ("factual_correctness", 384, 386, 411),
    ("noise_sensitivity", 349, 356, 372),
    ("noise_sensitivity_irrelevant", 349, 356, 372),
    ("domain_specific_rubrics", 773, 761, 824),
    ("rubrics_score_with_reference", 773, 759, 821),
    ("instance_specific_rubrics", 892, 881, 955),
    ("answer_accuracy", 563, 561, 610),
    ("context_relevance", 557, 558, 613),
    ("response_groundedness", 608, 606, 661),
    ("summary_score", 271, 270, 299),
    ("sql_semantic_equivalence", 634, 633, 704),
]
# Calls about one sample with three contexts, by ragas' own code.
CALLS = {
    "faithfulness": 2,
    "answer_relevancy": 3,
    "context_precision": 3,
    "context_utilization": 3,
    "context_recall": 1,
    "context_entity_recall": 2,
    "answer_correctness": 3,
    "factual_correctness": 4,
    "noise_sensitivity": 9,
    "domain_specific_rubrics": 1,
    "answer_accuracy": 2,
    "summary_score": 3,
}
MODEL = {"model": "m", "base_url": "http://127.0.0.1:9/v1"}


class First:
    """A judge, or an embedder, that notes what it is asked first and says nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[Sequence[Message], Any]] = []

    async def complete(self, messages: Sequence[Message], *, schema: Any, **_: Any) -> Any:
        self.asked.append((messages, schema))
        raise NotAskedError("m")

    async def embed(self, texts: Sequence[str]) -> Any:
        raise NotAskedError("e")


def plan_of(folder: Path, metric: Any) -> Any:
    file = folder / "s.yaml"
    scenario = {
        "name": "s",
        "metrics": [metric],
        "judge": {**MODEL, "controls": "off"},
        "dataset": [ROW],
    }
    file.write_text(json.dumps({**scenario, "embedding": MODEL}), "utf-8")
    return make_plan(file)


def first_request(folder: Path, metric: str) -> tuple[str, Any]:
    plan, first = plan_of(folder, metric), First()
    asked = cast("JudgedMetric", plan.judged[0].metric)
    with pytest.raises(NotAskedError):
        asyncio.run(asked.ascore(plan.asked_samples[0], Models(first, first)))
    (message,), schema = first.asked[0]
    return message.content, schema


@pytest.mark.parametrize(("metric", "cl100k", "o200k", "smol"), COUNTED)
def test_the_first_prompt_is_within_15_percent_of_three_tokenizers(
    metric: str, cl100k: int, o200k: int, smol: int, tmp_path: Path
) -> None:
    """[R15] In English, before any reply. The schema in it gives way to an example (R14)."""
    prompt, schema = first_request(tmp_path, metric)
    guess = Habits().prompt([prompt])
    for counted in (cl100k + 7, o200k + 7, smol + 30):
        assert guess == pytest.approx(counted, rel=0.15)
    assert "JSON Schema" in prompt
    (shown,) = in_words([Message("user", prompt)], schema, "text")
    assert "JSON Schema" not in shown.content
    assert shown.content.endswith(shown_example(schema))


@pytest.mark.parametrize("metric", CALLS)
def test_all_calls_are_counted_and_nobody_is_asked(metric: str, tmp_path: Path) -> None:
    """[R15] Those that depend on a reply, too: a made-up one stands in for it."""
    plan = plan_of(tmp_path, metric)
    found = asyncio.run(forecast(plan, plan.asked_samples, RunSettings()))
    judge = next(use for use in found.models if use.settings.role == "judge")
    assert (judge.calls, judge.cached, judge.is_least) == (CALLS[metric], 0, False)


def test_translating_the_prompts_is_counted_once(tmp_path: Path) -> None:
    """[R15] Two prompts, of each the instruction and the examples, then the two calls."""
    plan = plan_of(tmp_path, {"faithfulness": {"language": "zh"}})
    found = asyncio.run(forecast(plan, plan.asked_samples * 2, RunSettings(cache_dir=tmp_path)))
    assert (found.models[0].calls, found.models[0].is_least) == (6, False)
