"""G8: whether a judge that filled holes is believed follows from the results alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import FILLED, Bound, MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.stats.filled import check_of, doubts_of, grades_of_judge

NAME = "ndcg@10+filled"
Make = Callable[..., ScenarioResult]


def sample(at: int, pairs: Sequence[tuple[int, int | None]], **details: Any) -> SampleResult:
    checked = [[f"d{number}", *pair] for number, pair in enumerate(pairs)]
    return SampleResult(
        f"q {at}",
        at,
        scores={NAME: 0.5, "em": 1.0},
        weighted_score=0.75,
        details={
            NAME: {"judgements": 10, "by_judge": 4},
            FILLED: {"grades": {}, "unread": [], "no_text": [], "checked": checked, **details},
        },
    )


def columns(weight: float = 1.0) -> tuple[MetricColumn, ...]:
    return MetricColumn(NAME, weight=weight, retrieves=True, filled=True), MetricColumn("em")


def verdicts(result: ScenarioResult) -> dict[str, str]:
    number = len(result.samples)
    decided = decide_gates(result, Extent(number, number, number))
    return {gate.name: gate.outcome for gate in decided.gates}


GOOD = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 0)] * 5
CARELESS = [(people, 3) for people, _ in GOOD]


def test_kappa_by_hand() -> None:
    """Of 4 pairs on 0..2 one is off by 2: mean distance 1/4. By chance: people 2, 1, 1 against
    judge 1, 1, 2: (2·1·0 + 2·1·1/4 + 2·2·1 + 1·1/4 + 0 + 2/4 + 1·1 + 1·1/4 + 0) / 16 = 6.5/16.
    1 - 0.25 / 0.40625 = 0.3846.
    """
    found = check_of([sample(0, [(0, 0), (0, 2), (1, 1)]), sample(1, [(2, 2), (1, None)])])
    assert (found.pairs, found.unread) == (4, 1)
    assert found.kappa == pytest.approx(1 - 0.25 / 0.40625)


def test_spam_counts_as_not_relevant() -> None:
    assert check_of([sample(0, [(-2, 0), (1, 1)])]).kappa == 1.0


@pytest.mark.parametrize(
    ("pairs", "doubt"),
    [
        (GOOD, ""),
        (CARELESS, "kappa with people is 0.00 on 25 documents, and 0.40 is the least"),
        (GOOD[:19], "graded 19 documents that people judged, and 20 are the least"),
        ([(1, 1)] * 30, "of the 30 documents that it graded, too, people found all relevant"),
        ([(1, 0), (1, 1)] * 15, "people found all relevant, or none"),
        # It tells good from better, and may take every hole for good.
        ([(1, 1), (2, 2)] * 15, "people found all relevant, or none"),
        ([(0, 0), (-2, 0)] * 15, "people found all relevant, or none"),
        ([], "graded 0 documents"),
    ],
)
def test_figures_are_believed_only_where_the_judge_agrees_with_people(
    pairs: Sequence[tuple[int, int]], doubt: str, result: Make
) -> None:
    found = doubts_of(result([sample(0, pairs)], *columns()))
    assert set(found) == ({NAME, "weighted_score"} if doubt else set())
    assert all(doubt in text for text in found.values())


GATES = {
    NAME: {"mean": 0.1},
    "em": {"mean": 0.1},
    "weighted_score": {"mean": 0.1},
    "fail_under": 0.1,
    "pass_rate": 0.5,
    "by": {"doc_name": {NAME: {"mean": 0.1}}},
}


def test_no_gate_on_such_a_figure_passes(result: Make) -> None:
    made = result(
        [sample(0, CARELESS)],
        *columns(),
        gates=GATES,
        thresholds={NAME: Bound(min=0.1)},
        metadata_columns=("doc_name",),
    )
    found = verdicts(made)
    passing = {name for name, outcome in found.items() if outcome == "passed"}
    assert passing == {"em.mean", "unscored"}
    assert found["check:filled"] == "failed"  # of the thresholds


def test_a_metric_that_weighs_nothing_holds_up_nothing_else(result: Make) -> None:
    gates = {"em": {"mean": 0.1}, "weighted_score": {"mean": 0.1}}
    found = verdicts(result([sample(0, CARELESS)], *columns(0.0), gates=gates))
    assert set(found.values()) == {"passed"}


def test_a_judge_that_agrees_lets_gates_pass(result: Make) -> None:
    gates = {NAME: {"mean": 0.1}, "weighted_score": {"mean": 0.1}}
    found = verdicts(result([sample(0, GOOD)], *columns(), gates=gates))
    assert set(found.values()) == {"passed"}


def test_the_grades_of_the_judge_are_listed_in_order() -> None:
    found = sample(0, [], grades={"a b": [2, "why"], "c": [0, ""]})
    assert list(grades_of_judge([found])) == [("q 0", "a b", 2), ("q 0", "c", 0)]
