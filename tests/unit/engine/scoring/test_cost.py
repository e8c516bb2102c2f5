"""E25: what a run will cost, about, before any model is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.cost import cost_of

pytest.importorskip("aiohttp", reason="judges are asked with aiohttp")

# 12 + 8 + 4 + 4 characters are 7 tokens.
TEXTS = {"question": "four letters", "answer": "an answe"}
LISTS = {"references": ["abcd"], "contexts": ["ab c"]}
JUDGE = "judge: {{model: m, base_url: 'http://127.0.0.1:9/v1', max_tokens: 100{more}}}\n"


ONE_AND_TWO = ("[claim_recall]", "[claim_recall, claim_precision]")


def cost(
    folder: Path, more: str, metrics: str = "[llm_answer_relevancy]", keys: str = "", **row: object
) -> dict[str, object]:
    file = folder / "s.yaml"
    rows = json.dumps([{"id": f"r{at}", **TEXTS, **LISTS, **row} for at in range(3)])
    text = f"name: s\nmetrics: {metrics}\n{JUDGE.format(more=more)}{keys}dataset: {rows}\n"
    file.write_text(text, "utf-8")
    plan = make_plan(file)
    return cost_of(plan, plan.cases)


def test_each_sample_costs_its_texts_and_a_reply(tmp_path: Path) -> None:
    """[E25] 3 samples of 7 tokens at 1 USD a million, and replies of 100 tokens at 2 USD."""
    found = cost(tmp_path, ", price: {input: 1, output: 2}")
    assert found == {"usd": pytest.approx(3 * (7 + 200) / 1e6), "unpriced": []}


def test_repeats_and_metrics_multiply(tmp_path: Path) -> None:
    """[E25] Two metrics, each asked three times."""
    rubric = "{rubric: {prompt: '{query} {context} {answer}'}}"
    once = cost(tmp_path, ", price: {input: 1, output: 2}")["usd"]
    two = cost(
        tmp_path,
        ", repeats: 3, price: {input: 1, output: 2}",
        f"[llm_answer_relevancy, {rubric}, em]",
    )
    assert isinstance(once, float)
    assert two["usd"] == pytest.approx(6 * once)


def test_metrics_of_one_table_are_asked_together(tmp_path: Path) -> None:
    """They share what is asked; another metric is asked apart."""
    price = ", price: {input: 1, output: 2}"
    one, two = (cost(tmp_path, price, metrics)["usd"] for metrics in ONE_AND_TWO)
    other = cost(tmp_path, price, "[claim_recall, llm_answer_relevancy]")["usd"]
    assert isinstance(one, float)
    assert (two, other) == (one, pytest.approx(2 * one))


def test_a_model_without_a_price_is_named(tmp_path: Path) -> None:
    """[E25] It is not free."""
    assert cost(tmp_path, "") == {"usd": 0.0, "unpriced": ["judge 'm'"]}


def test_a_scenario_that_asks_nobody_costs_nothing(tmp_path: Path) -> None:
    assert cost(tmp_path, "", "[em]") == {"usd": 0.0, "unpriced": []}


@pytest.mark.parametrize(
    ("metrics", "refusals", "row", "asked"),
    [
        ("[em, refusal]", "phrases", {"answerable": True}, 0),
        ("[em]", "{also: [Weiß ich nicht.]}", {}, 0),
        ("[claim_recall, refusal]", "phrases", {"answerable": True}, 1),
        ("[claim_recall, claim_precision]", "phrases", {}, 1),
        # A row that says whether it can be answered asks nothing for it.
        ("[em, refusal]", "{answerable: judge}", {"answerable": True}, 0),
        ("[em, refusal]", "{answerable: judge}", {"answerable": False}, 0),
        ("[claim_recall]", "{answerable: judge}", {"answerable": True}, 1),
        ("[em]", "judge", {}, 1),
        ("[em, refusal]", "judge", {"answerable": True}, 1),
        ("[em, refusal]", "{answerable: judge}", {}, 1),
        ("[em, refusal]", "{detect: judge, answerable: judge}", {}, 2),
        ("[claim_recall, claim_precision]", "{detect: judge, answerable: judge}", {}, 3),
    ],
)
def test_what_a_judge_is_asked_about_refusals_costs_too(
    tmp_path: Path, metrics: str, refusals: str, row: dict[str, object], asked: int
) -> None:
    price, keys = ", repeats: 2, price: {input: 1, output: 2}", f"refusals: {refusals}\n"
    found = cost(tmp_path, price, metrics, keys, **row)
    assert found == {"usd": pytest.approx(3 * 2 * asked * (7 + 200) / 1e6), "unpriced": []}


@pytest.mark.parametrize(
    ("metrics", "keys", "row"),
    [
        ("[must_satisfy]", "", {"must_satisfy": ["it is so", "it is on"]}),
        ("[nugget_recall]", "", {"nuggets": [{"text": "eight le"}, {"text": "tters it"}]}),
        (
            "[llm_answer_relevancy]",
            "conversation: true\n",
            {"history": [{"role": "user", "content": "sixteen letters."}]},
        ),
    ],
)
def test_texts_that_are_sent_cost_too(
    tmp_path: Path, metrics: str, keys: str, row: dict[str, object]
) -> None:
    """16 characters are four tokens more than the seven, for each of three samples."""
    found = cost(tmp_path, ", price: {input: 1}", metrics, keys, **row)
    assert found["usd"] == pytest.approx(3 * (7 + 4) / 1e6)


def test_a_text_that_nobody_reads_costs_nothing(tmp_path: Path) -> None:
    found = cost(tmp_path, ", price: {input: 1}", reference_contexts=["sixteen letters."])
    assert found["usd"] == pytest.approx(3 * 7 / 1e6)


def test_an_embedding_model_writes_nothing(tmp_path: Path) -> None:
    """It was charged for 256 tokens a sample."""
    model = "{model: e, base_url: 'http://127.0.0.1:9/v1', price: {input: 1, output: 2}}"
    found = cost(tmp_path, "", "[semantic_similarity]", f"embedding: {model}\n")
    assert found["usd"] == pytest.approx(3 * 7 / 1e6)
