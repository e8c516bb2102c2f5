"""A column as a metric, and gates on confidence: whole runs, plain, in workers, against a baseline.

Latencies are 0.1, 0.2, ... 2.0 s; em is 1 but for the two least confident answers of twenty.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

pytestmark = pytest.mark.full

SCENARIO = """
    name: qa
    dataset: qa.jsonl
    metrics:
      - em
      - {column: latency_s, range: [0, null], lower_is_better: true}
    gates:
      latency_s: {mean: 1.06, quantile: {0.95: BOUND}}
      by: {lang: {latency_s: 1.2}}
"""
CONFIDENT = """
from dataclasses import replace

def pytest_rageval_samples(config, scenario, samples):
    return [replace(one, confidence=one.metadata["sure"]) for one in samples]
"""


def rows(slower_s: float = 0.0) -> list[dict[str, Any]]:
    return [
        {
            "id": f"r{at}",
            "answer": "no" if at < 2 else "yes",
            "references": ["yes"],
            "latency_s": round(0.1 + at / 10, 1) + slower_s,
            "lang": "de" if at % 2 else "en",
            "sure": at / 20,
        }
        for at in range(20)
    ]


@pytest.mark.parametrize(("bound", "verdict"), [("1.9", "passed"), ("1.8", "failed")])
def test_latency_is_gated_as_any_metric(
    project: Project, run: Run, bound: str, verdict: str
) -> None:
    """Mean 1.05; 19 of 20 take 1.9 s at most; German ones take 1.1 on average, English ones 1.0."""
    project.rows(rows())
    project.scenario(SCENARIO.replace("BOUND", bound))
    result = run()
    assert result.ret == (0 if verdict == "passed" else 1)
    assert project.gates() == {
        "latency_s.mean": "passed",
        "latency_s.quantile.0.95": verdict,
        "by.lang.latency_s.mean": "passed",
        "unscored": "passed",
    }
    found = project.results()
    assert found["metrics"]["latency_s"]["mean"] == pytest.approx(1.05)
    assert found["metrics"]["latency_s"]["weight"] == 0.0
    assert found["weighted_score"]["mean"] == 0.9  # em alone
    assert found["scenario"]["scales"]["latency_s"]["range"] == [0.0, None]


@pytest.mark.parametrize(("least", "verdict"), [("1", "passed"), (None, "failed")])
def test_the_surest_answers_have_to_be_right(
    project: Project, run: Run, least: str | None, verdict: str
) -> None:
    """18 of 20 are right; the surest 90 % all are. The risk is (1/19 + 2/20) / 20."""
    project.conftest(CONFIDENT)
    project.rows(rows())
    selective = "{coverage: 0.9, min: 1}" if least else "{coverage: 1, min: 0.95}"
    project.scenario(
        "name: qa\ndataset: qa.jsonl\nmetrics: [em]\n"
        f"gates: {{em: {{selective: {selective}, aurc: {{max: 0.01}}}}}}\n"
    )
    run()
    assert project.gates() == {"em.selective": verdict, "em.aurc": "passed", "unscored": "passed"}
    found = project.results()
    assert found["gates"][1]["observed"] == pytest.approx((1 / 19 + 2 / 20) / 20)
    assert found["samples"][3]["confidence"] == 0.15


def test_what_a_target_took_is_gated_and_a_kept_answer_took_nothing(
    project: Project, run: Run
) -> None:
    """The second run is answered by the cache: its gates have no figure, and so fail."""
    project.file("app.py", 'def answer(question):\n    return {"answer": "x", "cost_usd": 0.5}\n')
    project.scenario("""
        name: qa
        target: {type: python, use: "app:answer", cache_answers: true}
        metrics:
          - em
          - {column: target.latency_s, range: [0, null], lower_is_better: true}
          - {column: target.cost_usd, name: cost, lower_is_better: true}
        gates: {target.latency_s: {quantile: {0.95: 30}}, cost: 0.5}
        dataset: [{question: a, references: [x]}, {question: b, references: [x]}]
    """)
    assert run().ret == 0
    assert project.results()["metrics"]["cost"]["mean"] == 0.5
    assert run().ret == 1
    assert project.gates()["cost.mean"] == "failed"
    assert project.results()["samples"][0]["reasons"]["cost"] == (
        "the answer was not asked for now (cached)"
    )
