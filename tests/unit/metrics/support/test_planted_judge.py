"""Tests of the judge with a planted truth, on which other tests rely: what it says and counts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from fake_judge import judge
from scripted_models import ScriptedJudge
from support_judge import PlantedTruth, SupportJudge

from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.metrics.support.prompts import (
    CellsReply,
    Language,
    cells_prompt,
    claims_prompt,
    read_claims,
)
from pytest_rageval.model import Sample

ANSWER = "Paris is big. It is old."
TRUTH = PlantedTruth(
    claims={
        ANSWER: ["Paris is big.", "Paris is old."],
        "It has two million people.": ["It has two million people."],
    },
    levels={
        ("Paris is big.", "It has two million people."): "full",
        ("Paris is old.", "It has two million people."): "partial",
        ("Paris is old.", "Both."): "full",
    },
)


@pytest.fixture
def server() -> Iterator[SupportJudge]:
    with SupportJudge(TRUTH) as running:
        yield running


def said(server: SupportJudge, prompt: str) -> str:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]})
    request = Request(f"{server.base_url}/chat/completions", body.encode(), method="POST")
    with urlopen(request) as reply:
        content: Any = json.loads(reply.read())["choices"][0]["message"]["content"]
    return str(content)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_planted_truth_is_what_it_says(server: SupportJudge, language: Language) -> None:
    claims = read_claims(said(server, claims_prompt(language, "Where?", ANSWER)))
    prompt = cells_prompt(language, "Where?", ["It has two million people."], claims)
    together = cells_prompt(language, "", ["<source>", "It has two million people."], claims[:1])
    assert claims == ("Paris is big.", "Paris is old.")
    assert [cell.level for cell in CellsReply(2)(said(server, prompt))] == ["full", "partial"]
    assert [cell.level for cell in CellsReply(1)(said(server, together))] == ["full"]
    assert server.counts == {"claims": 1, "cells": 2}
    assert server.texts == {ANSWER: 1}
    assert server.cells == {
        ("Paris is big.", "It has two million people."): 1,
        ("Paris is old.", "It has two million people."): 1,
        ("Paris is big.", "<source>\nIt has two million people."): 1,
    }


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("lacking", "it must have one verdict on each statement from 1 to 2"),
        ("twice", "it has two verdicts on statement 1"),
        ("odd_level", "found 'mostly'"),
        ("prose", "it has no list"),
        ("length", "it has no list"),
    ],
)
def test_a_spoiled_reply_is_refused(server: SupportJudge, fault: str, why: str) -> None:
    server.faults[("Paris is big.", "Both.")] = fault
    prompt = cells_prompt("en", "", ["Both."], ["Paris is old.", "Paris is big."])
    with pytest.raises(ValueError, match=why):
        CellsReply(2)(said(server, prompt))


def test_a_fault_meets_the_planted_call_alone(server: SupportJudge) -> None:
    server.faults = {("Paris is big.", "Both."): "once 500", ANSWER: "lacking"}
    prompt = cells_prompt("en", "", ["Both."], ["Paris is big."])
    with pytest.raises(HTTPError) as raised:
        said(server, prompt)
    raised.value.close()
    assert [cell.level for cell in CellsReply(1)(said(server, prompt))] == ["none"]
    with pytest.raises(ValueError, match="claims"):
        read_claims(said(server, claims_prompt("en", "", ANSWER)))


def test_a_scripted_judge_says_the_same() -> None:
    scripted = ScriptedJudge({"claims": TRUTH.reply, "support": TRUTH.reply})
    definition = METRIC_REGISTRY.get("claim_precision")
    metric: Any = definition.make("claim_precision", definition.options())
    sample = Sample("s", answer=ANSWER, references=("It has two million people.",))
    assert asyncio.run(metric.ascore(sample, Models(scripted))).value == 0.5


def test_the_stand_in_judges_by_overlap() -> None:
    claims = judge({"messages": [{"content": claims_prompt("zh", "", "甲。乙。")}]})
    statements = ["Paris is old", "Berlin is young", "Paris is hot now"]
    prompt = cells_prompt("en", "", ["Paris is old and big."], statements)
    cells = CellsReply(3)(judge({"messages": [{"content": prompt}]}))
    assert read_claims(claims) == ("甲。", "乙。")
    assert [cell.level for cell in cells] == ["full", "none", "full"]
