"""F8: how likely a second run on the same answers gives another verdict on a mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import Bound, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.stability import SecondRun, second_run

Info = Callable[..., ScenarioInfo]
A = MetricColumn("a")


def judged(*values: float | None, weight: float = 1.0) -> SampleResult:
    """Return a sample with the mean of the repeats that have a score."""
    return repeated(a=list(values), weight=weight)


def repeated(weight: float = 1.0, **repeats: list[float | None]) -> SampleResult:
    means = {}
    for name, values in repeats.items():
        found = [value for value in values if value is not None]
        means[name] = math.fsum(found) / len(found)
    details = {name: {"repeats": {"values": of, "spread": 0.1}} for name, of in repeats.items()}
    return SampleResult(
        "s", 0, scores=means, details=details, sample_weight=weight, weighted_score=0.5
    )


def once(score: float, **fields: Any) -> SampleResult:
    """Return a sample whose score asked no judge."""
    return SampleResult("s", 0, scores={"a": score}, weighted_score=score, **fields)


@pytest.fixture
def found(info: Info) -> Callable[..., SecondRun | None]:
    """Return a function from samples to what is known of a second run of the metric ``a``."""

    def find(
        samples: Sequence[SampleResult], *metrics: MetricColumn, target: str = "a", **fields: Any
    ) -> SecondRun | None:
        return second_run(
            info(*(metrics or (A,)), **{"repeated": ("a",), **fields}), samples, target
        )

    return find


Found = Callable[..., SecondRun]


def test_each_sample_adds_the_variance_of_the_mean_of_its_repeats(found: Found) -> None:
    """{0, 1}: variance .5, over 2 repeats .25; {0, 1, 1}: 1/3, over 3 repeats 1/9; {1, 1}: 0.

    √(.25 + 1/9)/3 = .20031.
    """
    again = found([judged(0.0, 1.0), judged(0.0, 1.0, 1.0), judged(1.0, 1.0)])
    assert (again.repeats, again.judged, again.known) == (3, 3, 3)
    assert again.sd == pytest.approx(math.sqrt(0.25 + 1 / 9) / 3)


def test_samples_weigh_as_in_the_mean(found: Found) -> None:
    """Weight 3 with variance .25, weight 1 with none: 3 · .5/4."""
    again = found([judged(0.0, 1.0, weight=3.0), judged(1.0, 1.0)])
    assert again.sd == pytest.approx(3 * 0.5 / 4)


def test_what_asks_no_judge_is_steady(found: Found) -> None:
    """An empty answer has the worst score each time: .5/2."""
    again = found([judged(0.0, 1.0), once(0.0)])
    assert again.sd == pytest.approx(0.25)
    assert again.judged == 1


def test_what_lacks_a_second_score_is_not_steady(found: Found) -> None:
    """It adds the mean variance of the others, (.5 + 0)/2, as of one repeat: √(.25 + .25)/3."""
    again = found([judged(0.0, 1.0), judged(1.0, 1.0), judged(1.0, None)])
    assert (again.judged, again.known) == (3, 2)
    assert again.sd == pytest.approx(math.sqrt(0.25 + 0.25) / 3)


def test_an_answer_that_left_the_metric_is_not_steady(found: Found) -> None:
    """A judge that found no claim may find one the next time; its repeats are not on record."""
    left = once(0.0, left_out={"a": "answer"})
    again = found([judged(0.0, 1.0), left])
    assert (again.judged, again.known) == (2, 1)
    assert again.sd == pytest.approx(math.sqrt(0.25 + 0.5) / 2)


@pytest.mark.parametrize(
    "samples",
    [
        [judged(0.0, 1.0), judged(1.0, None), judged(None, 1.0)],
        [judged(1.0, None)],
        [once(0.0)],
        [],
    ],
)
def test_where_most_lack_a_second_score_nothing_is_known(
    found: Found, samples: list[SampleResult]
) -> None:
    again = found(samples)
    assert again.sd is None
    assert again.chance(0.5, Bound(min=0.4)) is None
    assert again.said(0.5, Bound(min=0.4)).startswith("how sure this is, is not known: ")


def test_samples_that_are_in_no_mean_add_nothing(found: Found) -> None:
    skipped = replace(judged(0.0, 1.0), outcome="skipped")
    unscored = replace(judged(0.0, 1.0), scores={"a": None})
    again = found([judged(0.0, 1.0), judged(1.0, 1.0), skipped, unscored])
    assert again.sd == pytest.approx(0.25)


def test_without_repeats_there_is_nothing_to_say(found: Found) -> None:
    assert found([judged(0.0, 1.0)], repeated=()) is None
    assert found([judged(0.0, 1.0)], repeated=("b",)) is None


def test_equal_repeats_are_no_flip_and_no_chance(found: Found) -> None:
    """The float mean of three times 0.1 is not 0.1: its variance must be none all the same."""
    again = found([judged(0.1, 0.1, 0.1), judged(0.7, 0.7, 0.7)])
    assert again.sd == 0.0
    assert again.chance(0.4, Bound(min=0.4)) is None
    assert again.said(0.4, Bound(min=0.4)) == "no flip seen in 3 repeats of 2 samples"


def test_few_that_lack_a_second_score_are_told_beside_no_flip(found: Found) -> None:
    again = found([judged(1.0, 1.0), judged(1.0, None)])
    said = "no flip seen in 2 repeats of 1 sample, 1 of 2 judged samples lack a second score"
    assert again.said(1.0, Bound(min=0.4)) == said


def test_repeats_of_the_weighted_score_are_weighed_together(found: Found) -> None:
    """(3a + b)/4 of the repeats (0, 1) and (1, 0): .25 and .75, variance .125, over 2 repeats."""
    columns = (MetricColumn("a", weight=3.0), MetricColumn("b"))
    sample = repeated(a=[0.0, 1.0], b=[1.0, 0.0])
    again = found([sample], *columns, target="weighted_score", repeated=("a", "b"))
    assert again.sd == pytest.approx(math.sqrt(0.125 / 2))


def test_a_metric_beside_it_that_asks_nobody_is_constant(found: Found) -> None:
    """(a + f1)/2: half of the spread of a."""
    sample = repeated(a=[0.0, 1.0])
    sample = replace(sample, scores={**sample.scores, "f1": 0.3})
    again = found([sample], A, MetricColumn("f1"), target="weighted_score")
    assert again.sd == pytest.approx(math.sqrt(0.125 / 2))


def test_a_metric_that_weighs_nothing_moves_no_weighted_score(found: Found) -> None:
    columns = (MetricColumn("a", weight=0.0), MetricColumn("f1"))
    assert found([repeated(a=[0.0, 1.0])], *columns, target="weighted_score") is None


def test_a_repeat_that_lacks_a_metric_is_no_weighted_score(found: Found) -> None:
    """Of b alone it would be another figure: two of three repeats are left, .5 and .5."""
    sample = repeated(a=[0.0, None, 1.0], b=[1.0, 1.0, 0.0])
    columns = (A, MetricColumn("b"))
    again = found([sample], *columns, target="weighted_score", repeated=("a", "b"))
    assert (again.repeats, again.sd) == (2, 0.0)


# Φ(-z) by table: Φ(-1) = .15866, Φ(-2) = .02275. Two runs have √2 times the spread of one.
ONE = SecondRun(3, 10, 10, 0.1 / math.sqrt(2.0))


@pytest.mark.parametrize(
    ("mean", "bound", "chance"),
    [
        (0.9, Bound(min=0.8), 0.15866),
        (0.7, Bound(min=0.8), 0.15866),
        (0.8, Bound(min=0.8), 0.5),
        (0.7, Bound(max=0.8), 0.15866),
        (1.0, Bound(max=0.8), 0.02275),
        # Within a band it may leave at both ends; below it, it may fall inside only.
        (0.9, Bound(0.8, 1.0), 2 * 0.15866),
        (0.7, Bound(0.8, 0.9), 0.15866 - 0.02275),
        (1.0, Bound(0.8, 0.9), 0.15866 - 0.02275),
        (9.0, Bound(min=0.8), 0.001),
    ],
)
def test_the_next_mean_is_normal_around_this_one(mean: float, bound: Bound, chance: float) -> None:
    assert ONE.chance(mean, bound) == pytest.approx(chance, abs=1e-5)


def test_a_chance_is_never_said_to_be_none() -> None:
    assert ONE.said(0.9, Bound(min=0.8)) == "a second run would differ in 16 %"
    assert ONE.said(9.0, Bound(min=0.8)) == "a second run would differ in less than 1 %"
