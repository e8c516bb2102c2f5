"""[G6] What a dry run says of metrics of a support table, and what the run then asks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from fake_judge import prompt_of, sentences, share
from judged_project import JudgedProject

import pytest_rageval.engine.scoring.forecast
import pytest_rageval.plugin.dry_run  # noqa: F401
from pytest_rageval.metrics.support.prompts import asked_in

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full

PRICE = {"price": {"input": 1, "output": 2}, "max_tokens": 400}
ROWS = [
    {
        "question": f"What of {at}?",
        "answer": " ".join(f"Sentence {n} of {at}." for n in range(1 + 3 * at)),
        "references": [f"The reference of {at} says this. And that."],
    }
    for at in range(8)
]


def support(body: Mapping[str, Any]) -> str:
    """Return two claims for each sentence of a text, and for each statement some level."""
    prompt = prompt_of(body)
    sources, count = asked_in(prompt)
    if not count:
        claims = [f"{one} {part}" for one in sentences(sources[0]) for part in "ab"]
        return json.dumps({"claims": claims})
    levels = ["none", "full"]
    verdicts = [
        {"n": n, "support": levels[share(f"{n} {prompt}") < 0.5], "reason": "so"}
        for n in range(1, count + 1)
    ]
    return json.dumps({"verdicts": verdicts})


def line_of(result: pytest.RunResult, start: str) -> str:
    return next(line for line in result.outlines if line.startswith(start))


def test_calls_are_said_between_two_ends_until_they_are_known(judged: JudgedProject) -> None:
    """The run asks a number between them. With its replies, less is left open."""
    judged.server.options.answer = support
    judged.scenario(ROWS, metrics=["claim_recall", "claim_precision"], judge=PRICE)
    first = judged.pytest("--rag-dry-run", "--rag-budget=0.008")
    # 16 texts to find claims in, and a claim or more of each reference to look for: 24 at least.
    # A claim a sentence is at most 10 of a reference, of answers 1, 4,
    # ... 22: in tens 1, 1, 1, 1, 2, 2, 2, 3. And at most five calls for each text.
    likely = 16 + 8 + 13
    first.stdout.fnmatch_lines(
        [
            f"judge     m: about {likely} calls (24 to {16 + 16 * 5} as replies turn out), "
            "about * tokens of prompts and 370 to 14,800 of replies, 0.0* to 0.0* USD (0.0* to *)",
            "--rag-budget 0.008 may stop this run: it costs * USD (0.0* to 0.*)",
            f"DRY RUN: *8 samples, about {likely} calls (24 to 96 as replies turn out) of models*",
        ]
    )
    assert judged.asked == []
    judged.pytest("--rag-limit=6")
    assert len(judged.asked) == 12 + 6 + (1 + 1 + 2 + 2 + 3 + 4)
    after = line_of(judged.pytest("--rag-dry-run"), "judge ")
    found = re.search(r"about (\d+) calls \((\d+) to (\d+)", after)
    assert found is not None
    before = len(judged.asked)
    judged.pytest()
    rest = len(judged.asked) - before
    assert rest == 4 + 2 + (4 + 5)
    assert [int(one) for one in found.groups()] == [rest, 4 + 2, 4 + 4 * 5]
    last = line_of(judged.pytest("--rag-dry-run"), "judge ")
    assert (
        last == f"judge     m: 0 calls, {len(judged.asked)} answers in the cache, 0 tokens, 0 USD"
    )


def test_a_run_that_may_stop_early_asks_at_most_that(judged: JudgedProject) -> None:
    """How many it leaves out is not known."""
    judged.scenario(
        ROWS, metrics=["claim_recall"], judge=PRICE, gates={"claim_recall": 0.5}, stop="decided"
    )
    line = line_of(judged.pytest("--rag-dry-run"), "judge ")
    assert line.startswith("judge     m: at most 48 calls, about 16 without an early stop, about ")


def test_with_a_metric_of_the_user_it_is_the_least(judged: JudgedProject) -> None:
    """What that asks is not known."""
    (judged.path / "own_metric.py").write_text(
        "async def graded(answer, judge):\n    raise SystemExit('it ran')\n", "utf-8"
    )
    metrics = ["claim_recall", {"use": "own_metric:graded"}]
    judged.scenario(ROWS, metrics=metrics, judge=PRICE)
    line = line_of(judged.pytest("--rag-dry-run"), "judge ")
    assert line.startswith("judge     m: at least 24 calls, at least ")
