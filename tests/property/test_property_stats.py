"""A6, A8: laws of means and intervals, and values that survive their journeys."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rageval import compute_weighted_score, weighted_metric_means
from pytest_rageval.model import Bound, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.plugin.run.transport import Message
from pytest_rageval.results.layout import sample_dict
from pytest_rageval.stats.intervals import t_cdf, t_quantile
from pytest_rageval.stats.summary import summarize, summarize_scenario, weighted_interval
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.stats.weights import weighted_mean
from pytest_rageval.text.codec import from_json, to_json

UNIT = (0.0, 1.0)
unit = st.floats(0.0, 1.0)
maybe = st.one_of(st.none(), st.just(math.nan), unit)
weights = st.floats(0.0, allow_nan=False, allow_infinity=False)
ordinary = st.floats(1e-6, 1e6)
names = st.sampled_from("abcdef")

pairs = st.lists(st.tuples(maybe, weights), max_size=8)


@given(pairs=pairs)
def test_a_weighted_mean_lies_between_the_least_and_the_greatest(pairs: Any) -> None:
    """A6: to within the rounding of one division."""
    found = weighted_mean(pairs)
    scored = [(x, w) for x, w in pairs if x is not None and not math.isnan(x) and w > 0]
    if not scored:
        assert found is None
        return
    values = [x for x, _ in scored]
    assert found is not None
    assert min(values) * (1 - 1e-12) - 1e-12 <= found <= max(values) * (1 + 1e-12) + 1e-12


@given(scores=st.dictionaries(names, maybe), weights=st.dictionaries(names, weights))
def test_an_unscored_metric_might_as_well_not_be_there(scores: Any, weights: Any) -> None:
    """A6."""
    scored = {k: v for k, v in scores.items() if v is not None and not math.isnan(v)}
    assert compute_weighted_score(scores, weights) == compute_weighted_score(scored, weights)


@given(scores=st.dictionaries(names, unit, min_size=1), weights=st.dictionaries(names, ordinary))
def test_the_unit_of_the_weights_does_not_matter(scores: Any, weights: Any) -> None:
    """A6: powers of two scale without rounding."""
    all_weights = {name: weights.get(name, 1.0) for name in scores}
    doubled = {name: 8.0 * weight for name, weight in all_weights.items()}
    first = compute_weighted_score(scores, all_weights)
    second = compute_weighted_score(scores, doubled)
    assert first == pytest.approx(second, rel=1e-12, abs=1e-300)


@given(scores=st.dictionaries(names, unit, min_size=1))
def test_without_weights_the_score_is_the_plain_mean(scores: dict[str, float]) -> None:
    """A5."""
    expected = math.fsum(scores.values()) / len(scores)
    assert compute_weighted_score(scores) == pytest.approx(expected, abs=1e-15)
    assert compute_weighted_score(scores, {}) == compute_weighted_score(scores)


@given(
    rows=st.lists(st.fixed_dictionaries({"f1": maybe}, optional={"doc_name": names}), max_size=8),
    docs=st.dictionaries(names, ordinary),
    seed=st.integers(),
)
def test_the_order_of_rows_does_not_change_a_mean(rows: Any, docs: Any, seed: int) -> None:
    """A8: exact sums."""
    mixed = list(rows)
    random.Random(seed).shuffle(mixed)
    assert weighted_metric_means(rows, ["f1"], docs) == weighted_metric_means(mixed, ["f1"], docs)


interval_input = st.lists(st.tuples(unit, ordinary), min_size=2, max_size=12)


@given(data=interval_input)
def test_an_interval_of_unit_scores_is_in_range_and_contains_the_mean(data: Any) -> None:
    values, sizes = [x for x, _ in data], [w for _, w in data]
    found = weighted_interval(values, sizes, UNIT)
    mean = weighted_mean(data)
    assert found is not None
    assert mean is not None
    low, high = found
    assert 0.0 <= low <= high <= 1.0
    assert low <= mean + 1e-12
    assert mean - 1e-12 <= high
    assert low < high


@given(data=st.lists(st.tuples(unit, weights), min_size=2, max_size=8))
def test_an_interval_with_any_weights_is_in_range(data: Any) -> None:
    """A4: documents may weigh anything finite and not negative."""
    found = weighted_interval([x for x, _ in data], [w for _, w in data], UNIT)
    # A weight beside which another one vanishes is as good as none.
    if found is None:
        assert sorted(w for _, w in data)[-2] <= 1e-100 * max(w for _, w in data)
    else:
        assert 0.0 <= found[0] <= found[1] <= 1.0


@pytest.mark.full
@given(data=interval_input, low=st.floats(-100, 100), span=st.floats(0.1, 100))
def test_an_interval_moves_with_its_range(data: Any, low: float, span: float) -> None:
    values, sizes = [x for x, _ in data], [w for _, w in data]
    plain = weighted_interval(values, sizes, UNIT)
    moved = weighted_interval([low + span * x for x in values], sizes, (low, low + span))
    assert plain is not None
    # Equal scores may differ in the last bit once they are moved, which is another case.
    assume(len(set(values)) > 1 and max(values) - min(values) > 1e-3)
    assert moved == pytest.approx([low + span * end for end in plain], rel=1e-6, abs=1e-6 * span)


@given(data=st.lists(st.tuples(st.floats(-1e6, 1e6), ordinary), min_size=2, max_size=8))
def test_an_unbounded_interval_is_symmetric_around_the_mean(data: Any) -> None:
    found = weighted_interval([x for x, _ in data], [w for _, w in data], (-math.inf, math.inf))
    mean = weighted_mean(data)
    sizes = [weight for _, weight in data]
    assert (found is None) == (sum(sizes) ** 2 < (2 - 1e-9) * sum(one * one for one in sizes))
    assume(found is not None)
    assert (found[0] + found[1]) / 2 == pytest.approx(mean, rel=1e-6, abs=1e-6)


@given(values=st.lists(maybe, max_size=8), sizes=st.lists(ordinary, min_size=8, max_size=8))
def test_scored_and_unscored_add_up(values: Any, sizes: Any) -> None:
    """A8."""
    found = summarize(values, sizes[: len(values)], UNIT)
    assert found.n + found.unscored == len(values)
    assert (found.mean is None) == (found.weighted_mean is None) == (found.n == 0)
    assert (found.std is None) == (found.ci_low is None) == (found.n < 2)


@given(probability=st.floats(0.001, 0.999), degrees=st.integers(1, 10_000))
def test_quantile_and_distribution_are_inverse(probability: float, degrees: int) -> None:
    assert t_cdf(t_quantile(probability, degrees), degrees) == pytest.approx(probability, abs=1e-9)


# Whole scenarios

texts = st.text(max_size=6)
outcomes = st.sampled_from(["passed", "failed", "error", "skipped", "xfailed"])
json_plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), unit, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=5,
)
results = st.builds(
    SampleResult,
    sample_id=texts,
    index=st.integers(0, 100),
    outcome=outcomes,
    sample_weight=ordinary,
    weighted_score=st.one_of(st.none(), unit),
    doc_name=st.one_of(st.none(), texts),
    question=st.one_of(st.none(), texts),
    answer=st.one_of(st.none(), texts),
    contexts=st.one_of(st.none(), st.lists(texts, max_size=2)),
    references=st.one_of(st.none(), st.lists(texts, max_size=2)),
    metadata=st.dictionaries(texts, json_plain, max_size=2),
    scores=st.dictionaries(names, st.one_of(st.none(), unit), max_size=3),
    reasons=st.dictionaries(names, texts, max_size=2),
    details=st.dictionaries(names, json_plain, max_size=2),
    errors=st.dictionaries(names, texts, max_size=2),
    invalid=st.one_of(st.none(), texts),
    row=st.integers(0, 100),
    line=st.one_of(st.none(), st.integers(1, 100)),
    raw=texts,
    latency_s=unit,
)
columns = st.builds(
    MetricColumn,
    name=names,
    weight=ordinary,
    ends=st.sampled_from([(0.0, 1.0), (0.0, 5.0), (None, None), (0.0, None)]),
    higher_is_better=st.booleans(),
    version=st.integers(1, 5),
)
bounds = st.builds(Bound, min=st.one_of(st.none(), unit), max=st.one_of(st.none(), unit))
infos = st.builds(
    ScenarioInfo,
    name=texts,
    path=texts,
    nodeid=texts,
    metrics=st.lists(columns, max_size=3).map(tuple),
    thresholds=st.dictionaries(names, bounds, max_size=3),
    gates=st.dictionaries(names, json_plain, max_size=3),
    bands=st.tuples(unit, unit),
    output_dir=st.one_of(st.none(), texts),
    overridden=st.lists(texts, max_size=3).map(tuple),
    warnings=st.lists(texts, max_size=3).map(tuple),
    metadata_columns=st.lists(texts, max_size=3).map(tuple),
    total=st.integers(0, 10),
    selected=st.integers(0, 10),
)


@given(result=results)
def test_a_result_survives_the_way_from_a_worker(result: SampleResult) -> None:
    """E2: by way of JSON types."""
    received = from_json(to_json(Message("s.rageval.yaml", result)), Message).result
    assert sample_dict(received) == json.loads(json.dumps(sample_dict(result), default=dict))


@given(info=infos)
def test_an_info_survives_the_way_from_a_worker(info: ScenarioInfo) -> None:
    """E2."""
    assert from_json(to_json(info), ScenarioInfo) == info


scored_samples = st.lists(
    st.tuples(st.one_of(st.none(), unit), ordinary, outcomes), max_size=8
).map(
    lambda found: [
        SampleResult(
            f"s{at}",
            at,
            outcome,
            sample_weight=weight,
            weighted_score=score,
            scores={"f1": score},
        )
        for at, (score, weight, outcome) in enumerate(found)
    ]
)


@pytest.mark.full
@given(samples=scored_samples, seed=st.integers())
def test_permuting_samples_changes_no_figure(samples: list[SampleResult], seed: int) -> None:
    """A8, E2: to the last bit."""
    info = ScenarioInfo("s", "s", "s", (MetricColumn("f1"),), total=len(samples))
    mixed = list(samples)
    random.Random(seed).shuffle(mixed)
    assert summarize_scenario(info, samples, True) == summarize_scenario(info, mixed, True)
    # With the order of the data set itself permuted, exact sums still give the same means.
    renumbered = [replace(sample, index=at) for at, sample in enumerate(mixed)]
    first = summarize_scenario(info, samples, True).metrics["f1"]
    second = summarize_scenario(info, renumbered, True).metrics["f1"]
    assert (first.mean, first.weighted_mean, first.n) == (
        second.mean,
        second.weighted_mean,
        second.n,
    )


@given(samples=scored_samples)
def test_counts_add_up(samples: list[SampleResult]) -> None:
    info = ScenarioInfo("s", "s", "s", (MetricColumn("f1"),), total=len(samples))
    found = summarize_scenario(info, samples, True)
    counts = found.counts
    ended = (counts.passed, counts.failed, counts.error, counts.skipped, counts.xfailed)
    assert sum(ended) == counts.ran == len(samples)
    assert found.metrics["f1"].n + found.metrics["f1"].unscored == len(samples) - counts.skipped


@given(score=unit, least=unit, most=unit)
def test_a_shortfall_is_what_does_not_hold(score: float, least: float, most: float) -> None:
    """A10: the words agree with the verdict."""
    bound = Bound(least, most)
    missed = shortfalls(SampleResult("s", 0, scores={"f1": score}), {"f1": bound})
    assert bool(missed) is not bound.holds(score)
    assert (bound.margin(score) < -1e-9) is bool(missed) or abs(bound.margin(score)) < 2e-9
    words = bound.compare(score)
    assert any(sign in words for sign in (" < ", " > ")) is bool(missed)
