"""The view of a run: what is missing, causes, people, variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Agreement,
    Baseline,
    Bound,
    CauseChange,
    Comparison,
    Corrected,
    GateResult,
    HumanLabels,
    MetricColumn,
    RankedVariant,
    Ranking,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    VariantPair,
)
from pytest_rageval.reports.run_view import (
    ComparedRun,
    RunView,
    ranking_head,
    ranking_lines,
    ranking_rows,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.wording import cause_change_lines, corrected_figures


def of_empty(*answers_empty: bool, **measured: Any) -> list[str]:
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("rated"),), measured=measured)
    samples = [
        SampleResult(
            f"s{at}",
            at,
            weighted_score=0.0,
            scores={"rated": 0.0},
            reasons={"rated": "empty answer"} if empty else {},
        )
        for at, empty in enumerate(answers_empty)
    ]
    result = summarize_scenario(info, samples, complete=True)
    return list(map(str, RunView(result).missing))


def test_the_worst_score_of_empty_answers_names_the_key_that_takes_it_away() -> None:
    """[U6] A run that it turns red says so, and how many there are."""
    assert of_empty(True, False, True) == [
        "2 of 3 answers are empty and have the worst score of metrics that ask a model "
        "('empty_answer: null' leaves that to each metric)"
    ]
    assert of_empty(True, False)[0].startswith("1 of 2 answers is empty and has the worst score")
    assert of_empty(False) == []
    assert of_empty(True, refusals=None, citations={})[0].endswith("leaves that to each metric)")


def test_where_refusals_rule_an_empty_answer_no_key_takes_its_worst_score_away() -> None:
    """Of all metrics of the answer, also of those that ask no model; of none of what was found."""
    found = of_empty(True, True, False, refusals={"detect": "phrases"})
    assert found[0] == "2 of 3 answers are empty and have the worst score of metrics of the answer"


def of_errors(*errors: str) -> list[str]:
    columns = (MetricColumn("f1"), MetricColumn("em"))
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, target="app:f")
    samples = [
        SampleResult(f"s{at}", at, scores={"f1": None, "em": None}, errors={"target": error})
        for at, error in enumerate(errors)
    ]
    return list(map(str, RunView(summarize_scenario(info, samples, complete=True)).missing))


def test_a_function_that_is_to_be_written_is_told_once() -> None:
    """[E22] Not for each metric, nor with a traceback; where others failed, the metrics say it."""
    unwritten = "app:f: NotImplementedError: write it\n  app.py:2 in f: raise"
    assert of_errors(unwritten, unwritten) == [
        "2 of 2 samples are not answered, for instance: app:f: NotImplementedError: write it"
    ]
    assert of_errors(unwritten) == [
        "1 of 1 samples is not answered, for instance: app:f: NotImplementedError: write it"
    ]
    assert of_errors("app:f: OSError: down", unwritten) == [
        "f1, em failed on 2 of 2 samples, for instance: app:f: OSError: down"
    ]


def test_what_several_metrics_failed_at_is_told_once(result: Made) -> None:
    """One call for a support table is that of several metrics."""
    errors = {"f1": "no reply", "em": "no reply", "acc": "broken"}
    row = SampleResult("a", 0, scores=dict.fromkeys(errors), errors=errors, outcome="error")
    view = RunView(result([row], *map(MetricColumn, errors)))
    assert list(map(str, view.missing)) == [
        "f1, em failed on 1 of 1 samples, for instance: no reply",
        "acc failed on 1 of 1 samples, for instance: broken",
    ]
    assert view.why(row) == ["f1, em: no reply", "acc: broken"]
    left = replace(row, errors={}, reasons=dict.fromkeys(errors, "no gold"))
    (line,) = map(str, RunView(result([left], *map(MetricColumn, errors))).missing)
    assert line == "f1, em, acc do not apply to 1 of 1 samples, for instance: no gold"


def test_contexts_that_are_compared_in_place_of_ids_are_told(result: Made) -> None:
    """A target that no longer returns ids is measured by its texts."""
    scores = {"mrr": 1.0, "recall": 1.0}
    lost = dict.fromkeys(scores, "ids are expected, and none were retrieved")
    rows = [SampleResult("a", 0, scores=scores, reasons=lost), SampleResult("b", 1, scores=scores)]
    (line,) = map(str, RunView(result(rows, *map(MetricColumn, scores))).missing)
    assert line.startswith("mrr, recall compared contexts on 1 of 2 samples, for instance: ids are")


Made = Callable[..., ScenarioResult]


def low(at: int, cause: Any, reason: str = "") -> SampleResult:
    return SampleResult(f"q{at}", at, cause=cause, cause_reason=reason)


def test_causes_are_counted_and_the_first_of_each_is_shown(result: Made) -> None:
    """E21: in the order of the causes, not of the samples."""
    found = result(
        [
            low(0, "unknown", "no\nreferences"),
            low(1, None),
            low(2, "retrieval", "no context holds the reference"),
            low(3, "retrieval", "there are no contexts"),
        ]
    )
    assert RunView(found).causes == [
        "of 3 low answers 2 retrieval, 1 unknown",
        "retrieval: no context holds the reference (q2)",
        "unknown: no references (q0)",
    ]


def test_one_low_answer_is_one(result: Made) -> None:
    """E21."""
    assert RunView(result([low(0, "generation", "x")])).causes[0] == "of 1 low answer 1 generation"


def test_nothing_is_said_where_no_answer_is_low(result: Made) -> None:
    """E21."""
    assert RunView(result([low(0, None)])).causes == []


WHY = "9 labelled answers, fewer than 10"


def test_a_gates_reason_is_not_said_again(result: Callable[..., ScenarioResult]) -> None:
    """F4: it stands beside the gate; without one, a line says why there is no mean."""
    none = Corrected(None, None, None, None, 9, None, WHY)
    ran = replace(result((), human=(HumanLabels("f1", (0.0, 1.0)),)), corrected={"f1": none})
    assert RunView(ran).people == [f"f1 by people: {WHY}"]
    gate = GateResult("f1.mean", "failed", None, 0.5, WHY)
    assert RunView(replace(ran, gates=(gate,))).people == []
    assert RunView(replace(ran, gates=(replace(gate, metric="f1"),))).people == []
    of_another = replace(gate, metric="em")
    assert RunView(replace(ran, gates=(of_another,))).people == [f"f1 by people: {WHY}"]


def test_answers_are_counted_not_labels(result: Callable[..., ScenarioResult]) -> None:
    """F3: two people may have labelled each."""
    found = Agreement((0.0, 1.0), 23, (), stale=29, split=1)
    ran = replace(result(()), agreement={"f1": found})
    assert RunView(ran).people == [
        "f1 and people: 23 labelled answers; not counted: 29 with labels of earlier answers only, "
        "1 on which people are split"
    ]
    assert corrected_figures(Corrected(0.5, 0.4, 0.6, 0.2, 40, 43.2)) == "40 labelled, worth 43"


def test_coefficients_are_shown_with_their_intervals(result: Callable[..., ScenarioResult]) -> None:
    """N11: one without an interval stands alone."""
    found = Agreement(
        (0.0, 1.0),
        20,
        ((9, 1), (1, 9)),
        kappa=0.8,
        kappa_low=0.5,
        kappa_high=0.95,
        ac1=0.8,
        ac1_low=0.6,
        ac1_high=0.9,
        ceiling=0.75,
        why={"ceiling_low": "one group"},
    )
    assert RunView(replace(result(()), agreement={"f1": found})).people == [
        "f1 and people: 20 labelled answers, 18 agree, kappa 0.8000 (0.5000..0.9500), AC1 0.8000 "
        "(0.6000..0.9000), people among themselves 0.7500"
    ]


def pair(a: str, b: str, diff: float, adjusted: float) -> VariantPair:
    significant = adjusted < 0.05
    return VariantPair(
        a, b, diff, None, None, adjusted, adjusted, significant, 20, 9, 4, "exact", None
    )


RANKING = Ranking(
    "bot",
    "f1",
    0.05,
    (
        RankedVariant("rerank", 0.75, 0.5, 1.0, 20, "a"),
        RankedVariant("dense", 0.5, 0.25, 0.75, 20, "ab"),
        RankedVariant("bm25", 0.25, None, None, 20, "b"),
    ),
    (
        pair("rerank", "dense", 0.25, 0.4),
        pair("rerank", "bm25", 0.5, 0.00001),
        pair("dense", "bm25", 0.25, 0.4),
    ),
    common=20,
    total=20,
)


def test_equal_letters_are_below_each_other() -> None:
    """Each variant is told by its distance to the first one."""
    assert ranking_rows(RANKING) == [
        ("rerank", ("0.7500", "0.5000..1.0000", "a ", "-", "-")),
        ("dense", ("0.5000", "0.2500..0.7500", "ab", "-0.2500", "0.4000")),
        ("bm25", ("0.2500", "-", " b", "-0.5000", "<0.0001")),
    ]


def test_a_lower_mean_that_is_better_leads() -> None:
    """Of the distance of a worse variant the sign is then a plus."""
    lower = replace(RANKING, higher_is_better=False)
    assert [figures[3] for _, figures in ranking_rows(lower)] == ["-", "+0.2500", "+0.5000"]
    assert ranking_head(lower) == "by f1, lowest first, over 20 common samples"


def test_samples_that_are_left_out_are_counted() -> None:
    """Next to what the means are over, and whether the run was a whole one."""
    some = replace(RANKING, common=19, complete=False)
    assert ranking_head(some) == (
        "by f1, over 19 common samples, 1 of 20 lack a score somewhere; a partial run, which "
        "decides nothing"
    )


def test_letters_are_explained_or_their_absence_is() -> None:
    """One sentence, then causes and remarks."""
    assert list(ranking_lines(replace(RANKING, remarks=("odd",)))) == [
        "variants that share a letter cannot be told apart (max-T over 3 pairs, alpha 0.05)",
        "odd",
    ]
    assert next(ranking_lines(replace(RANKING, undecided="too few"))) == "no letters: too few"


def test_changes_of_causes_are_told_where_there_are_some() -> None:
    """[E21] In words for each cause; a cause without a change is left out."""
    causes = (
        CauseChange("dense", "bm25", "retrieval", 14, 3),
        CauseChange("dense", "bm25", "generation", 1, 0),
        CauseChange("dense", "bm25", "unfaithful", 0, 1),
        CauseChange("dense", "bm25", "unknown", 0, 0),
    )
    assert list(cause_change_lines(replace(RANKING, causes=causes))) == [
        "dense mends 14 retrieval failures of bm25 and brings 3 new ones",
        "dense mends 1 generation failure of bm25 and brings no new one",
        "dense mends no unfaithful answer of bm25 and brings 1 new one",
    ]


# What the outputs have in common


def test_what_a_sample_ended_for_is_said_first(result: Made) -> None:
    """An error for what is missing, a failure for the threshold; what passed may lack a score."""
    names = {"f1": 0.2, "em": None}
    error, failed, passed = (
        SampleResult("s", 0, outcome, scores=names, errors={"em": "timeout"})
        for outcome in ("error", "failed", "passed")
    )
    info = {"thresholds": {"f1": Bound(min=0.5)}}
    made = result([error])
    view = RunView(replace(made, info=replace(made.info, **info)))
    missed = "f1 0.2000 < 0.5000"
    assert view.why(error) == ["em: timeout", missed]
    assert view.why(failed) == [missed, "em: timeout"]
    assert "em: timeout" in view.why(passed)


def test_the_mean_by_people_follows_that_of_the_judge(result: Made) -> None:
    """The weighted score comes last, also where no label corrects anything."""
    made = result([SampleResult("s", 0, scores={"f1": 0.2, "em": 1.0}, weighted_score=0.6)])
    assert [row.name for row in RunView(made).means] == [*made.metrics, "weighted_score"]
    first = next(iter(made.metrics))
    corrected = {first: Corrected(0.5, 0.4, 0.6, 0.2, 40, 43.2)}
    judge, people, *_ = RunView(replace(made, corrected=corrected)).means
    assert (judge.name, judge.is_by_people, people.name, people.is_by_people) == (
        *(first, False),
        *(first, True),
    )
    assert people.texts == ("0.5000", "0.4000..0.6000", "", "40 labelled, worth 43")


@pytest.mark.parametrize(("outcome", "verdict"), [("passed", "passed"), ("skipped", "undecided")])
def test_a_run_with_a_gate_that_has_no_earlier_run_is_undecided(
    result: Made, outcome: Any, verdict: str
) -> None:
    gates = (GateResult("no_regression", outcome, None, None, "no saved run"),)
    view = RunView(replace(result([SampleResult("s", 0, scores={"f1": 1.0})]), gates=gates))
    assert view.verdict == verdict


@pytest.mark.parametrize(
    ("then", "now", "changed"),
    [
        # f1, em with the weights 1 and 3; those of the baseline, those of this run.
        ((0.5, 1.0), (0.5, 0.0), (0.875, 0.125)),
        ((0.5, 1.0), (0.5, 1.0), (0.875, 0.875)),
        ((0.5, None), (0.75, None), (0.5, 0.75)),  # the row rules em out
        ((None, 0.0), (None, 1.0), (0.0, 1.0)),
        ((0.5, 1.0), (None, None), None),
        ((None, None), (0.5, 1.0), None),
        ((0.5, 1.0), None, None),
        (None, (0.5, 1.0), None),
        ((0.8, None), (0.8, 0.0), (0.8, 0.8)),  # em says no more than that it came
        ((0.8, 1.0), (0.8, None), (0.8, 0.8)),
        ((0.8, None), (0.2, 1.0), (0.8, 0.2)),  # and hides no fall
        ((0.8, None), (None, 1.0), None),
    ],
)
def test_changes_are_those_over_the_metrics_of_both_runs(
    result: Made, then: Any, now: Any, changed: Any
) -> None:
    """As the comparison has them."""
    columns = (MetricColumn("f1"), MetricColumn("em", weight=3.0))
    rows = [_weighed(*now)] if now else []
    before = _weighed(*then) if then else SampleResult("other", 0)
    known = {**before.scores, WEIGHTED_SCORE: before.weighted_score}
    scores = {name: {before.sample_id: score} for name, score in known.items()}
    main = Baseline("main", (before.sample_id,), scores)
    made = result(rows, *columns, baselines={"main": main})
    compared = ComparedRun(made, Comparison("main", "permutation", 0.05, {}))
    found = [(one.then, one.now) for one in compared.changes]
    assert found == ([] if changed is None else [pytest.approx(changed)])


def _weighed(f1: float | None, em: float | None) -> SampleResult:
    pairs = [(score, weight) for score, weight in ((f1, 1.0), (em, 3.0)) if score is not None]
    whole = sum(score * weight for score, weight in pairs)
    weighted = whole / sum(weight for _, weight in pairs) if pairs else None
    return SampleResult("s", 0, weighted_score=weighted, scores={"f1": f1, "em": em})


def test_a_baseline_without_a_weighted_score_has_no_changes(result: Made) -> None:
    main = Baseline("main", ("s",), {"f1": {"s": 0.5}})
    made = result([_weighed(0.5, 1.0)], MetricColumn("f1"), baselines={"main": main})
    assert ComparedRun(made, Comparison("main", "permutation", 0.05, {})).changes == []
