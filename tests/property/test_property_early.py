"""``stop: decided`` never gives ``no_regression`` another verdict than all samples do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    NOT_ASKED,
    WEIGHTED_SCORE,
    Baseline,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.weights import weighted_mean

pytestmark = pytest.mark.full

Row = dict[str, float | None]
GRIDS = ((0.0, 1.0), (0.0, 0.5, 1.0), (0.2, 0.3, 1.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0))
WEIGHTS = {"light": 0.5, "heavy": 3.0, "none": 0.0}


@dataclass
class Case:
    """A random run, the run that it is held against, and the options of the gate."""

    draw: random.Random

    def made(self) -> tuple[dict[str, Any], ScenarioInfo, list[SampleResult]]:
        draw = self.draw
        columns = tuple(self.column(name) for name in "ab"[: draw.randint(1, 2)])
        count, grid, missing = (
            draw.randint(1, 14),
            draw.choice(GRIDS),
            draw.choice((0, 0, 0.1, 0.3)),
        )
        ids = [f"s{at}" for at in range(count)]
        before = [self.row(columns, grid, missing) for _ in ids]
        keeps = draw.random() < 0.5
        now = [
            {name: old[name] if keeps and draw.random() < 0.7 else new[name] for name in old}
            for old, new in ((row, self.row(columns, grid, missing)) for row in before)
        ]
        known = [name for name in ids if draw.random() < 0.97] + ["gone"] * (draw.random() < 0.1)
        scores = {column.name: [row[column.name] for row in before] for column in columns}
        scores[WEIGHTED_SCORE] = [weighted(columns, row) for row in before]
        named = {name: dict(zip(ids, values, strict=True)) for name, values in scores.items()}
        main = Baseline("main", tuple(known), named)
        info = ScenarioInfo(
            "s", "s.yaml", "s.yaml", columns, baselines={"main": main}, doc_weights=WEIGHTS
        )
        samples = [self.sample(columns, at, row) for at, row in enumerate(now)]
        weighs = any(column.weight for column in columns)
        names = [name for name in scores if weighs or name != WEIGHTED_SCORE]
        return self.options(names), info, samples

    def column(self, name: str) -> MetricColumn:
        ends, weight = self.draw.choice(((0.0, 1.0), (1.0, 5.0))), self.draw.choice((0.0, 1.0, 2.0))
        return MetricColumn(name, weight, ends, higher_is_better=self.draw.random() < 0.6)

    def row(self, columns: Sequence[MetricColumn], grid: Sequence[float], missing: float) -> Row:
        return {
            column.name: None
            if self.draw.random() < missing
            else column.range[0] + self.draw.choice(grid) * (column.range[1] - column.range[0])
            for column in columns
        }

    def sample(self, columns: Sequence[MetricColumn], at: int, row: Row) -> SampleResult:
        lost = [name for name, one in row.items() if one is None and self.draw.random() < 0.4]
        doc_name = self.draw.choice((None, None, *WEIGHTS))
        return SampleResult(
            f"s{at}",
            at,
            "error" if lost else "passed",
            doc_name=doc_name,
            sample_weight=1.0 if doc_name is None else WEIGHTS[doc_name],
            scores=row,
            weighted_score=None if lost else weighted(columns, row),
            errors=dict.fromkeys(lost, "down"),
        )

    def options(self, names: Sequence[str]) -> dict[str, Any]:
        draw = self.draw
        return {
            "baseline": "main",
            "metrics": draw.sample(names, draw.randint(1, len(names))),
            "mode": draw.choice(("any", "any", "exceeds")),
            "max_drop": draw.choice((0, 0.05, 0.2, "10%", "0%")),
            "min_pairs": draw.choice((0, 0.5, 0.9, 1)),
            "undecided": draw.choice(("fail", "pass")),
            "alpha": draw.choice((0.05, 0.3)),
        }


def weighted(columns: Sequence[MetricColumn], row: Row) -> float | None:
    known = [(column, row[column.name]) for column in columns if column.weight > 0.0]
    return weighted_mean(
        (None if score is None else column.to_unit(score), column.weight) for column, score in known
    )


def whole(info: ScenarioInfo, samples: Sequence[SampleResult]) -> ScenarioResult:
    return summarize_scenario(info, samples, complete=True)


@pytest.mark.parametrize("count", [400, 3000])
def test_what_is_decided_is_the_verdict_of_all_samples(count: int) -> None:
    """Weights, missing scores, errors, several metrics, lower is better, per cent, any order."""
    draw, early = random.Random(count), {True: 0, False: 0}
    for number in range(count):
        options, info, samples = Case(draw).made()
        (gate,) = make_gates({"no_regression": options}, info)
        watch = gate.watch(info, samples, 0.0)
        passes = gate.check(whole(info, samples)).outcome == "passed"
        if watch is None:
            continue
        for at, sample in enumerate(draw.sample(samples, len(samples)), 1):
            watch.add(sample)
            if watch.verdict is not None:
                assert watch.verdict is passes, (number, at, options)
                early[watch.verdict] += at < len(samples)
                break
        else:
            still_open = any(sample.errors for sample in samples) or not passes
            assert still_open or options["mode"] == "exceeds", (number, options)
    assert min(early.values()) >= count / 20


def test_the_samples_asked_have_the_verdict_of_all() -> None:
    """A run that stopped is judged by them; the others are there as not asked about."""
    draw, stopped = random.Random(3), 0
    for _ in range(400):
        options, info, samples = Case(draw).made()
        (gate,) = make_gates({"no_regression": options}, info)
        watch = gate.watch(info, samples, 0.0)
        if watch is None:
            continue
        for at, sample in enumerate(samples, 1):
            watch.add(sample)
            if watch.verdict is not None:
                asked = [*samples[:at], *map(not_asked, samples[at:])]
                found = gate.check(whole(info, asked))
                assert (found.outcome == "passed") is watch.verdict, (at, options, found.message)
                stopped += at < len(samples)
                break
    assert stopped > 20


def not_asked(sample: SampleResult) -> SampleResult:
    row: Row = dict.fromkeys(sample.scores)
    reasons = dict.fromkeys(sample.scores, f"{NOT_ASKED}: decided")
    return SampleResult(
        sample.sample_id,
        sample.index,
        "skipped",
        doc_name=sample.doc_name,
        sample_weight=sample.sample_weight,
        scores=row,
        reasons=reasons,
    )


def test_a_worse_rest_is_what_the_verdict_is_certain_against() -> None:
    """Where a pass was certain, it is one also if every later answer is the worst possible."""
    draw, turned = random.Random(7), 0
    for _ in range(300):
        options, info, samples = Case(draw).made()
        (gate,) = make_gates({"no_regression": options}, info)
        watch = gate.watch(info, samples, 0.0)
        if watch is None:
            continue
        for at, sample in enumerate(samples, 1):
            watch.add(sample)
            if watch.verdict is True:
                worst = [worst_of(info, one) for one in samples[at:]]
                found = gate.check(whole(info, [*samples[:at], *worst]))
                assert found.outcome == "passed", (at, options)
                turned += bool(worst)
                break
    assert turned > 20


def worst_of(info: ScenarioInfo, sample: SampleResult) -> SampleResult:
    row: Row = {one.name: one.range[not one.higher_is_better] for one in info.metrics}
    score = weighted(info.metrics, row)
    return replace(sample, scores=row, weighted_score=score, errors={}, outcome="passed")
