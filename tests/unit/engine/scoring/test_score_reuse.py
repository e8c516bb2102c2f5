"""Scores that are not made again: which metrics', after what, and what is loaded for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.accounting import Ledger, count_answer, current_purpose
from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.errors import AuthError, BudgetError, ReplayMissError
from pytest_rageval.clients.score_cache import ScoreCache
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings
from pytest_rageval.engine.plan import BoundMetric, ModelPlan, Plan
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse, preload
from pytest_rageval.metrics.base import MetricInfo, Models
from pytest_rageval.model import REPEATS, MetricColumn, Sample, Score

SAMPLE = Sample("s", answer="60 days", question="How long?")


class Counting:
    """A metric that reads the answer, gets two answers from its judge, and counts its scores."""

    def __init__(self, says: Any = 0.25, language: str = "english", reads: bool = True) -> None:
        self.says = says
        self.language = language
        self.is_kept = reads
        self.made = 0

    def follows_from(self, language: str) -> Mapping[str, Any]:
        return {"language": f"{self.language} {language}"}

    def reads(self, sample: Sample) -> Mapping[str, Any] | None:
        return {"answer": sample.answer} if self.is_kept else None

    async def ascore(self, sample: Sample, models: Models) -> Score:
        self.made += 1
        count_answer()
        count_answer()
        if isinstance(self.says, Exception):
            raise self.says
        value = self.says + 0.1 * current_purpose().repeat
        return Score("counting", value, f"says {value}", {"said": [value]})


class Runs:
    """Scores a sample in one run after the other, all over one cache folder."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.folder = folder
        self.ledger = Ledger()

    def settings(self, mode: CacheMode = "readwrite") -> RunSettings:
        return RunSettings(cache_dir=self.folder, cache_mode=mode)

    def bound(self, metric: Counting, **info: Any) -> BoundMetric:
        known = {"keeps_scores": True, "asks": frozenset({"judge"}), **info}
        return BoundMetric(
            MetricColumn("counting"),
            MetricInfo("counting", frozenset({"answer"}), **known),
            metric,
        )

    def plan_of(self, bound: BoundMetric, **models: Any) -> Plan:
        judge = ClientSettings("m", base_url="http://host/v1")
        info = replace(self.plan.info, metrics=(bound.column,))
        return replace(
            self.plan,
            info=info,
            metrics=(bound,),
            models=ModelPlan(**{"judge": judge, **models}),
        )

    def score(
        self,
        bound: BoundMetric,
        sample: Sample = SAMPLE,
        mode: CacheMode = "readwrite",
        **models: Any,
    ) -> Score:
        """Return the score that a new run gives a sample."""
        plan = self.plan_of(bound, **models)
        cache = Cache(self.settings(mode))
        self.ledger = Ledger()
        kept = ScoreReuse(plan, ScoreCache(cache, self.ledger))
        found = asyncio.run(judge_sample(plan, sample, Models(), 0, kept))
        cache.close()
        return found["counting"]


@pytest.fixture
def runs(plan: Callable[..., Plan], tmp_path: Path) -> Runs:
    """Return what scores a sample over and over again."""
    made = plan("name: s\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    return Runs(made, tmp_path / "cache")


def test_the_second_run_makes_no_score_and_gets_the_same(runs: Runs) -> None:
    metric = Counting()
    first = runs.score(runs.bound(metric))
    assert runs.ledger.usage.cached == 0
    second = runs.score(runs.bound(metric))
    assert metric.made == 1
    assert second == first == Score("counting", 0.25, "says 0.25", {"said": [0.25]})
    assert runs.ledger.usage == Usage(cached=2)


def test_other_fields_of_the_sample_do_not_matter(runs: Runs) -> None:
    """Its id, and a field that the metric does not read."""
    metric = Counting()
    runs.score(runs.bound(metric))
    runs.score(runs.bound(metric), replace(SAMPLE, id="t", question="How many days?"))
    assert metric.made == 1
    runs.score(runs.bound(metric), replace(SAMPLE, answer="30 days"))
    assert metric.made == 2


@pytest.mark.parametrize(
    ("metric", "info", "models"),
    [
        (Counting(language="german"), {}, {}),
        (Counting(), {"version": 2}, {}),
        (Counting(), {}, {"language": "zh"}),
        (Counting(), {}, {"judge": ClientSettings("n", base_url="http://host/v1")}),
    ],
    ids=["options", "version", "language", "judge"],
)
def test_another_definition_is_scored_anew(
    runs: Runs, metric: Counting, info: dict[str, Any], models: dict[str, Any]
) -> None:
    runs.score(runs.bound(Counting()))
    metric.made = 0
    runs.score(runs.bound(metric, **info), **models)
    assert metric.made == 1


def test_an_embedding_model_counts_where_it_is_asked(runs: Runs) -> None:
    metric, both = Counting(), frozenset({"judge", "embedding"})
    for number, (asks, model) in enumerate(
        [({"judge"}, "e"), ({"judge"}, "f"), (both, "e"), (both, "f"), (both, "e")]
    ):
        embedding = ClientSettings(model, role="embedding", base_url="http://host/v1")
        runs.score(runs.bound(metric, asks=frozenset(asks)), embedding=embedding)
        assert metric.made == [1, 1, 2, 3, 3][number]


def test_a_metric_that_does_not_say_so_keeps_nothing(runs: Runs) -> None:
    """The code of a user's metric changes, and its version does not."""
    metric = Counting()
    for _ in range(2):
        runs.score(runs.bound(metric, keeps_scores=False))
    assert metric.made == 2
    assert list(runs.folder.glob("*.score.jsonl")) == []


def test_a_sample_of_which_nothing_is_read_is_not_kept(runs: Runs) -> None:
    metric = Counting(reads=False)
    for _ in range(2):
        runs.score(runs.bound(metric))
    assert metric.made == 2


@pytest.mark.parametrize(
    "error",
    [BudgetError("spent"), ReplayMissError("gone"), AuthError("no key"), ValueError("broken")],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_not_kept(runs: Runs, error: Exception) -> None:
    metric = Counting(error)
    assert runs.score(runs.bound(metric)).error
    metric.says = 0.5
    assert runs.score(runs.bound(metric)).value == 0.5


def test_a_score_out_of_range_is_an_error_and_not_kept(runs: Runs) -> None:
    metric = Counting(7.0)
    assert "outside the range" in (runs.score(runs.bound(metric)).error or "")
    metric.says = 0.5
    assert runs.score(runs.bound(metric)).value == 0.5


def test_each_repeat_is_kept(runs: Runs) -> None:
    """Values 0.25 and 0.35; the third repeat is asked alone."""
    metric = Counting()
    first = runs.score(runs.bound(metric), repeats=2)
    assert metric.made == 2
    assert runs.score(runs.bound(metric), repeats=2) == first
    assert (first.details or {})[REPEATS]["values"] == [0.25, 0.35]
    assert metric.made == 2
    assert runs.ledger.usage == Usage(cached=4)
    runs.score(runs.bound(metric), repeats=3)
    assert metric.made == 3


def test_modes(runs: Runs) -> None:
    """Made: the first time, with the cache off, refreshed; not in the other modes."""
    metric = Counting()
    modes: list[tuple[CacheMode, int]] = [
        ("readwrite", 1),
        ("read", 1),
        ("replay", 1),
        ("off", 2),
        ("refresh", 3),
        ("readwrite", 3),
    ]
    for mode, made in modes:
        runs.score(runs.bound(metric), mode=mode)
        assert metric.made == made, mode


def test_a_refresh_that_fails_leaves_nothing_of_before(runs: Runs) -> None:
    metric = Counting(0.25)
    runs.score(runs.bound(metric))
    metric.says = BudgetError("spent")
    runs.score(runs.bound(metric), mode="refresh")
    metric.says = 0.5
    assert runs.score(runs.bound(metric)).value == 0.5


def test_replay_without_a_kept_score_makes_it_of_replies(runs: Runs) -> None:
    metric = Counting()
    assert runs.score(runs.bound(metric), mode="replay").value == 0.25
    assert metric.made == 1
    assert not runs.folder.exists()


@pytest.mark.parametrize(
    ("kept_before", "mode", "info", "begins"),
    [
        (False, "readwrite", {}, True),
        (True, "readwrite", {}, False),
        (True, "replay", {}, False),
        (True, "refresh", {}, True),
        (True, "off", {}, True),
        (True, "readwrite", {"version": 2}, True),
        (True, "readwrite", {"keeps_scores": False}, True),
    ],
)
def test_what_a_metric_needs_is_loaded_early_where_none_of_its_scores_is_kept(
    runs: Runs, kept_before: bool, mode: CacheMode, info: dict[str, Any], begins: bool
) -> None:
    if kept_before:
        runs.score(runs.bound(Counting()))
    begun: list[str] = []
    bound = replace(runs.bound(Counting(), **info), preload=lambda: begun.append("begun"))
    preload(runs.plan_of(bound), runs.settings(mode))
    assert bool(begun) == begins
