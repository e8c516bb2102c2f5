"""D4: each of many ranking metrics in one scenario has the figure that it has alone, by formulas.

ir-measures may compute several measures in one call of trec_eval: a parameter of one must never
reach the other.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations, product
from typing import Any

import pytest

from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.metrics.ranking import RankingMetric, score_rankings
from pytest_rageval.model import Sample

CUTOFFS = (None, 1, 3, 5, 100)
EXPONENTIAL = {1: 1, 2: 3, 3: 7}
GAINS = (
    None,
    {},
    EXPONENTIAL,
    {3: 7, 2: 3, 1: 1},
    {1: 1},
    {3: 0},
    {0: 2},
    {1: 0, 2: 0, 3: 0},
    {2: -1},
    {1: -1, 2: -2, 3: -3},
)


# The formulas, each of (grades of the ranking's documents in order, all grades), None: not judged


def ranked(
    sample: Sample, judged_only: bool, gains: Mapping[int, int] | None = None
) -> list[int | None]:
    """Return the gain of each document; trec_eval takes a grade below 0 for no judgement."""
    judged = {name: (gains or {}).get(grade, grade) for name, grade in judgements(sample).items()}
    grades = [judged.get(name) for name in sample.retrieved_ids or ()]
    return [one for one in grades if one is not None and one >= 0] if judged_only else grades


def judgements(sample: Sample) -> Mapping[str, int]:
    return sample.reference_ids or {}


def hits(sample: Sample, rel: int, judged_only: bool) -> list[bool]:
    return [grade is not None and grade >= rel for grade in ranked(sample, judged_only)]


def relevant(sample: Sample, rel: int) -> int:
    return sum(grade >= rel for grade in judgements(sample).values())


def precision(sample: Sample, k: int | None, rel: int, judged_only: bool) -> float:
    found = hits(sample, rel, judged_only)
    return sum(found[:k]) / (k or len(found) or 1)


def recall(sample: Sample, k: int | None, rel: int, judged_only: bool) -> float:
    return sum(hits(sample, rel, judged_only)[:k]) / (relevant(sample, rel) or 1)


def mrr(sample: Sample, k: int | None, rel: int, judged_only: bool) -> float:
    found = hits(sample, rel, judged_only)[:k]
    return 1 / (found.index(True) + 1) if True in found else 0.0


def hit_rate(sample: Sample, k: int | None, rel: int, judged_only: bool) -> float:
    return float(True in hits(sample, rel, judged_only)[:k])


def average_precision(sample: Sample, k: int | None, rel: int, judged_only: bool) -> float:
    found = hits(sample, rel, judged_only)[:k]
    precisions = [sum(found[: at + 1]) / (at + 1) for at, hit in enumerate(found) if hit]
    return sum(precisions) / (relevant(sample, rel) or 1)


def rprec(sample: Sample, rel: int) -> float:
    count = relevant(sample, rel)
    return sum(hits(sample, rel, judged_only=False)[:count]) / (count or 1)


def bpref(sample: Sample, rel: int) -> float:
    """A relevant document counts less for each irrelevant one above it (grades from 0 upwards)."""
    count = relevant(sample, rel)
    irrelevant = sum(0 <= grade < rel for grade in judgements(sample).values())
    above, total = 0, 0.0
    for grade in ranked(sample, judged_only=True):
        if grade is not None and 0 <= grade < rel:
            above += 1
        elif grade is not None and grade >= rel:
            total += 1 - (min(above, count) / min(irrelevant, count) if above else 0)
    return total / (count or 1)


def ndcg(
    sample: Sample, k: int | None, judged_only: bool, gains: Mapping[int, int] | None
) -> float:
    def discounted(grades: Sequence[int]) -> float:
        return sum(max(grade, 0) / math.log2(at + 2) for at, grade in enumerate(grades[:k]))

    found = [gain or 0 for gain in ranked(sample, judged_only, gains)]
    all_gains = [(gains or {}).get(grade, grade) for grade in judgements(sample).values()]
    return discounted(found) / (discounted(sorted(all_gains, reverse=True)) or 1)


Case = tuple[RankingMetric, Callable[..., float], dict[str, Any]]

BY_RANK = {
    "precision": precision,
    "recall": recall,
    "mrr": mrr,
    "hit_rate": hit_rate,
    "map": average_precision,
}


def case(name: str, formula: Callable[..., float], **options: Any) -> Case:
    definition = METRIC_REGISTRY.get(name)
    chosen = definition.options.model_validate(options)
    metric: Any = definition.make(f"{name} {options}", chosen)
    return metric, formula, options


def cases(cutoffs: Sequence[int | None], grades: Sequence[int]) -> list[Case]:
    """Return every metric with every combination of its options, with the formula for it."""
    return [
        *(
            case(name, formula, k=k, rel=rel, judged_only=only)
            for (name, formula), k, rel, only in product(
                BY_RANK.items(), cutoffs, grades, (False, True)
            )
        ),
        *(
            case("ndcg", ndcg, k=k, judged_only=only, gains=gains)
            for k, only, gains in product(cutoffs, (False, True), GAINS)
        ),
        *(case("rprec", rprec, rel=rel) for rel in grades),
        *(case("bpref", bpref, rel=rel) for rel in grades),
    ]


def searches() -> list[Sample]:
    """Return rankings of up to 12 documents: some judged, some not, some judged and not found."""
    chance = random.Random(20)
    names = [f"d{number}" for number in range(16)]
    made = [
        Sample(
            f"q{at}",
            at,
            retrieved_ids=tuple(chance.sample(names, chance.randint(1, 12))),
            reference_ids={
                name: chance.choice((0, 0, 1, 1, 2, 3))
                for name in chance.sample(names, chance.randint(1, 10))
            },
        )
        for at in range(12)
    ]
    return [
        *made,
        Sample("spam", 12, retrieved_ids=("a", "b", "c"), reference_ids={"a": -2, "b": 2, "c": 1}),
        Sample("nothing found", 13, retrieved_ids=(), reference_ids={"a": 1}),
        Sample("nothing to find", 14, retrieved_ids=("a", "b"), reference_ids={"a": 0, "x": 0}),
        Sample("all irrelevant", 15, retrieved_ids=("a",), reference_ids={"a": -1}),
        Sample("only unjudged", 16, retrieved_ids=("u", "v"), reference_ids={"a": 3, "b": 1}),
    ]


SEARCHES = searches()


def assert_by_formula(chosen: Sequence[Case], samples: Sequence[Sample] = SEARCHES) -> None:
    found = score_rankings([metric for metric, _, _ in chosen], samples)
    for (metric, formula, options), scores in zip(chosen, found, strict=True):
        for sample, score in zip(samples, scores, strict=True):
            expected = formula(sample, **options)
            assert score.value == pytest.approx(expected, abs=1e-9), (metric.name, sample)


@pytest.mark.full
def test_all_metrics_with_all_their_options_in_one_scenario_and_in_any_order() -> None:
    """D4."""
    chosen, chance = cases(CUTOFFS, (1, 2, 3, 4)), random.Random(7)
    for _ in range(12):
        assert_by_formula(chosen)
        chance.shuffle(chosen)
    for one in chosen:
        assert_by_formula([one])


@pytest.mark.full
def test_metrics_in_every_order() -> None:
    """D4: one of each kind with each of its parameters, by twos; all orders of those of nDCG."""
    of_gain = [
        case("ndcg", ndcg, k=k, judged_only=only, gains=gains)
        for k, only, gains in [
            (5, False, None),
            (5, False, EXPONENTIAL),
            (5, True, None),
            (None, True, EXPONENTIAL),
        ]
    ]
    others = [
        case("precision", precision, k=3, rel=2, judged_only=True),
        case("mrr", mrr, k=None, rel=3, judged_only=False),
        case("bpref", bpref, rel=2),
    ]
    for chosen in [*permutations([*of_gain, *others], 2), *permutations(of_gain)]:
        assert_by_formula(chosen)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_gains_of_one_ndcg_leave_the_other_alone(seed: int) -> None:
    """D4: whatever the order in which Python happens to hold a set.

    a, b, c are found in this order, of grades 1, 2, 3. DCG 1 + 2 / log2(3) + 3 / 2 = 3.7618595,
    ideal 3 + 2 / log2(3) + 1 / 2 = 4.7618595: 0.7899980. With gains 1, 3, 7:
    (1 + 3 / log2(3) + 7 / 2) / (7 + 3 / log2(3) + 1 / 2) = 6.3927893 / 9.3927893 = 0.6806061.
    """
    code = """
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.metrics.ranking import score_rankings
from pytest_rageval.model import Sample
ndcg = METRIC_REGISTRY.get("ndcg")
sample = Sample("q", 0, retrieved_ids=("a", "b", "c"), reference_ids=dict(a=1, b=2, c=3))
for cutoff in (5, 10):
    options = [dict(k=cutoff), dict(k=5, gains={1: 1, 2: 3, 3: 7})]
    made = [ndcg.make("m", ndcg.options.model_validate(one)) for one in options]
    print(*(f"{row[0].value:.7f}" for row in score_rankings(made, [sample])))
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, 2 * "0.7899980 0.6806061\n", "")


def test_a_figure_that_trec_eval_does_not_give_is_missing_and_not_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A6: ir-measures fills in 0 for it."""
    import pytrec_eval

    original = pytrec_eval.RelevanceEvaluator.evaluate

    def forgetful(self: Any, run: Any) -> Any:
        return {query: found for query, found in original(self, run).items() if query != "1"}

    monkeypatch.setattr(pytrec_eval.RelevanceEvaluator, "evaluate", forgetful)
    samples = [
        Sample(str(at), at, retrieved_ids=ids, reference_ids={"a": 1})
        for at, ids in enumerate([("a",), ("a",), ()])
    ]
    ((found, forgotten, empty),) = score_rankings(
        [case("mrr", mrr, k=5, rel=1, judged_only=False)[0]], samples
    )
    assert (found.value, forgotten.value, empty.value) == (1.0, None, 0.0)
    assert forgotten.reason == "ir-measures gave no figure"
