"""C6: on how many samples the verdict would be another one if the judge had been asked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import Bound, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.stability import Stability, stability

Info = Callable[..., ScenarioInfo]


def sample(name: str = "s", *, weighted: float | None = None, **values: Any) -> SampleResult:
    """Return a sample whose metrics have a score (a number) or one for each repeat (a list)."""
    scores = {metric: one if isinstance(one, float) else 0.0 for metric, one in values.items()}
    repeats = {
        metric: {"repeats": {"values": one, "spread": 0.1}}
        for metric, one in values.items()
        if isinstance(one, list)
    }
    return SampleResult(name, 0, weighted_score=weighted, scores=scores, details=repeats)


@pytest.fixture
def found(info: Info) -> Callable[..., Stability | None]:
    """Return a function from samples and thresholds to how stable the verdicts are."""

    def find(
        samples: Sequence[SampleResult], *metrics: MetricColumn, **thresholds: Bound
    ) -> Stability | None:
        columns = metrics or (MetricColumn("a"), MetricColumn("b"))
        return stability(info(*columns, thresholds=thresholds), samples)

    return find


Found = Callable[..., Stability | None]
HALF = Bound(min=0.5)


def test_without_repeats_there_is_nothing_to_say(found: Found) -> None:
    assert found([sample(a=0.2, b=0.9)], a=HALF) is None
    assert found([], a=HALF) is None


def test_details_of_other_kinds_are_no_repeats(found: Found) -> None:
    other = SampleResult("s", 0, scores={"a": 0.2}, details={"a": {"claims": []}, "b": ["text"]})
    assert found([other], a=HALF) is None


@pytest.mark.parametrize(
    "repeats",
    [
        2,
        None,
        [0.2, 0.8],
        {},
        {"values": 3, "spread": 0.1},
        {"values": [0.2, 0.8]},
        {"values": [0.2], "spread": 0.0},
        {"values": [], "spread": 0.0},
        {"values": ["a", "b"], "spread": 0.1},
        {"values": [True, False], "spread": 0.1},
        {"values": [0.2, 0.8], "spread": "wide"},
        {"values": [0.2, 0.8], "spread": 0.1, "of": "chunks"},
    ],
)
def test_details_of_the_users_that_are_called_repeats_are_none(found: Found, repeats: Any) -> None:
    """They have the name, and not the shape of what a judge said several times."""
    other = SampleResult("s", 0, scores={"a": 0.5}, details={"a": {"repeats": repeats}})
    assert found([other], a=HALF) is None


def test_what_the_target_returns_is_never_a_repeat(found: Found) -> None:
    """Whatever its shape: only metrics are judged."""
    said = {"repeats": {"values": [0.2, 0.8], "spread": 0.1}}
    other = SampleResult("s", 0, scores={"a": 0.5}, details={"target": said})
    assert found([other], a=HALF) is None


@pytest.mark.parametrize(
    ("values", "flips"),
    [
        ([0.2, 0.4, 0.3], 0),
        ([0.6, 0.5, 0.9], 0),
        ([0.4, 0.6, 0.9], 1),
        ([0.5 - 1e-10, 0.5], 0),
    ],
)
def test_a_verdict_flips_when_repeats_are_on_both_sides(
    found: Found, values: list[float], flips: int
) -> None:
    """At least 0.5; a billionth less still counts as 0.5."""
    assert found([sample(a=values)], a=HALF) == Stability(len(values), 1, flips)


def test_each_sample_counts_once(found: Found) -> None:
    """s flips in both metrics, t in one, u in none, v was not asked more than once."""
    samples = [
        sample("s", a=[0.2, 0.8], b=[0.2, 0.8]),
        sample("t", a=[0.2, 0.8], b=[0.9, 0.9]),
        sample("u", a=[0.9, 0.8], b=[0.9, 0.9]),
        sample("v", a=0.1, b=0.1),
    ]
    assert found(samples, a=HALF, b=HALF) == Stability(repeats=2, samples=3, flips=2)


def test_a_sample_that_fails_in_every_repeat_does_not_flip(found: Found) -> None:
    """Now for want of a, now for want of b: it fails either way."""
    assert found([sample(a=[0.2, 0.8], b=[0.8, 0.2])], a=HALF, b=HALF) == Stability(2, 1, 0)


def test_a_metric_without_threshold_decides_nothing(found: Found) -> None:
    assert found([sample(a=[0.2, 0.8], b=[0.9, 0.9])], b=HALF) == Stability(2, 1, 0)


def test_a_metric_that_was_asked_once_counts_in_every_repeat(found: Found) -> None:
    """b fails always, so a changes nothing."""
    assert found([sample(a=[0.2, 0.8], b=0.1)], a=HALF, b=HALF) == Stability(2, 1, 0)
    assert found([sample(a=[0.2, 0.8], b=0.9)], a=HALF, b=HALF) == Stability(2, 1, 1)


def test_the_weighted_score_of_each_repeat_is_weighed_anew(found: Found) -> None:
    """Weights 3 and 1: (3 x .4 + .9)/4 = .525 and (3 x .3 + .9)/4 = .45 around 0.5."""
    columns = (MetricColumn("a", weight=3.0), MetricColumn("b", weight=1.0))
    flipping = sample(a=[0.4, 0.3], b=0.9, weighted=0.5)
    assert found([flipping], *columns, weighted_score=HALF) == Stability(2, 1, 1)
    # (3 x .5 + .9)/4 = .6 and .525 are both above.
    steady = sample(a=[0.5, 0.4], b=0.9, weighted=0.5)
    assert found([steady], *columns, weighted_score=HALF) == Stability(2, 1, 0)


def test_where_lower_is_better_the_weighted_score_is_turned_round(found: Found) -> None:
    """1 - 0.3 = 0.7 and 1 - 0.5 = 0.5, around 0.6."""
    noise = MetricColumn("a", higher_is_better=False)
    bound = Bound(min=0.6)
    assert found([sample(a=[0.3, 0.5])], noise, weighted_score=bound) == Stability(2, 1, 1)


def test_a_metric_without_a_score_has_no_part_in_the_weighted_score(found: Found) -> None:
    """a is 0.4 and 0.6 around 0.5, and noise has nothing."""
    columns = (MetricColumn("a"), MetricColumn("noise", higher_is_better=False))
    asked = sample(a=[0.4, 0.6])
    samples = [replace(asked, scores={**asked.scores, "noise": None})]
    assert found(samples, *columns, weighted_score=HALF) == Stability(2, 1, 1)


def test_a_maximum_flips_as_well(found: Found) -> None:
    assert found([sample(a=[0.2, 0.7])], a=Bound(max=0.5)) == Stability(2, 1, 1)
    assert found([sample(a=[0.2, 0.4])], a=Bound(max=0.5)) == Stability(2, 1, 0)


def test_a_repeat_without_a_score_is_no_verdict(found: Found) -> None:
    """Missing is not passed: below, above and nothing."""
    assert found([sample(a=[0.2, None, 0.3])], a=HALF) == Stability(3, 1, 0)
    assert found([sample(a=[None, 0.9, 0.8])], a=HALF) == Stability(3, 1, 0)
    assert found([sample(a=[None, 0.9, 0.2])], a=HALF) == Stability(3, 1, 1)


def test_the_most_repeats_are_told(found: Found) -> None:
    """A run of parts: one metric asked twice, one three times."""
    assert found([sample(a=[0.2, 0.3], b=[0.9, 0.8, 0.7])], a=HALF, b=HALF) == Stability(3, 1, 0)
