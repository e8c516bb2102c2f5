"""The page computes what Python computes, to 1e-9, whatever the weights."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent
from pytest_rageval.model import (
    BUDGET,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparing,
    LeftOut,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.summary_md import verdict_text

COLUMNS = (
    MetricColumn("f1", 0.5),
    MetricColumn("rubric", 0.3, (0.0, 5.0)),
    MetricColumn("noise", 0.2, higher_is_better=False),
    MetricColumn("similarity", 0.2, (-1.0, 1.0), as_is=True),
)
LENGTH = MetricColumn("length", 0.1, (-math.inf, math.inf))
GATES: Mapping[str, Any] = {
    "weighted_score": 0.5,
    "f1": {"mean": 0.5, "lower_bound": 0.4, "quantile": {0.1: 0.1, 0.5: 0.6}},
    "rubric": {"quantile": {0.25: {"min": 0.1, "max": 4.0}, 0.5: {"min": 2.0, "max": 3.0}}},
    "noise": {"mean": 0.5, "quantile": {0.75: 0.9}, "lower_bound": {"max": 0.6, "confidence": 0.9}},
    "pass_rate": 0.5,
    "unscored": 0.1,
    "fail_under": 0.4,
    "by": {
        "doc_name": {"weighted_score": 0.4, "pass_rate": 0.3},
        "level": {"f1": {"lower_bound": 0.3}, "unscored": 0.2},
    },
}
# The same name in two Unicode forms, one with blanks; characters whose order differs in UTF-16.
DOCS = (None, "a.pdf", "caf\u00e9.pdf", "\u3000cafe\u0301.pdf ", "手册.pdf", "\U0001f600", "\uff21")
WEIGHTS = (0.0, 1.0, 0.1, 0.35, 3.0, 1e-120, 1e110, 1e-200, 1e150)


def made_samples(
    rng: random.Random, n: int, columns: tuple[MetricColumn, ...]
) -> list[SampleResult]:
    """Samples with gaps, ties, edges of the range, skipped and invalid ones."""
    samples = []
    for index in range(n):
        fate = rng.random()
        scores: dict[str, float | None] = {
            column.name: made_score(rng, column) for column in columns
        }
        if fate < 0.1:
            scores = dict.fromkeys(scores)
        # Half of what is missing failed, the other half does not apply; of that, half by the row.
        errors = {name: "boom" for name, value in scores.items() if value is None and at_odds(rng)}
        without = [name for name, value in scores.items() if value is None and name not in errors]
        left_out: dict[str, LeftOut] = {name: "row" for name in without if at_odds(rng)}
        if 0.1 <= fate < 0.13:
            scores, errors = dict.fromkeys(scores), {}
            left_out = dict.fromkeys(scores, "row")
        # Some metrics say themselves whether the sample passes, also without a score.
        details = {name: {"passing": at_odds(rng)} for name in scores if rng.random() < 0.05}
        samples.append(
            SampleResult(
                f"s{index}",
                index,
                outcome="skipped" if fate < 0.05 else "xfailed" if fate < 0.07 else "passed",
                doc_name=rng.choice(DOCS),
                scores=scores,
                errors=errors,
                left_out=left_out,
                details=details,
                metadata={"level": rng.choice([None, 1, "2", "x", [1, 2]])},
                invalid="no answer" if 0.05 <= fate < 0.1 else None,
            )
        )
    return samples


def at_odds(rng: random.Random) -> bool:
    return rng.random() < 0.5


def made_score(rng: random.Random, column: MetricColumn) -> float | None:
    if rng.random() < 0.07:
        return None
    low, high = column.range
    if math.isinf(low):
        return rng.choice([rng.gauss(100.0, 50.0), 1e-300, 1e9, 12.5])
    thirty_seconds = low + (high - low) * rng.randint(0, 32) / 32
    return rng.choice([low, high, thirty_seconds, low + (high - low) * rng.random()])


def made_info(n: int, columns: tuple[MetricColumn, ...], **fields: Any) -> ScenarioInfo:
    return ScenarioInfo(
        "random",
        "random.rageval.yaml",
        "random.rageval.yaml",
        columns,
        **{
            "gates": GATES,
            "thresholds": {"f1": Bound(min=0.2), WEIGHTED_SCORE: Bound(min=0.4, max=0.95)},
            "metadata_columns": ("level",),
            "total": n,
            "selected": n,
            **fields,
        },
    )


ASK = """sets => sets.map(([metrics, docs]) => {
    rageval.weigh({metrics, docs});
    const state = rageval.state();
    return {
        summaries: state.summaries,
        weighted: state.weighted,
        weights: state.sampleWeights,
        gates: state.gates.map((gate) => ({...gate, message: gate.message()})),
        counts: state.counts,
        verdict: state.verdict,
        outcomes: state.outcomes,
    };
})"""


def close(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9)


def assert_same(found: Mapping[str, Any], wanted: ScenarioResult) -> None:
    """Figures to 1e-9; verdicts and their sentences to the letter."""
    for name, metric in wanted.metrics.items():
        ours = found["summaries"][name]
        assert (ours["n"], ours["unscored"]) == (metric.n, metric.unscored)
        for key in ("mean", "weighted_mean", "ci_low", "ci_high"):
            assert close(ours[key], getattr(metric, key)), (name, key, ours[key], metric)
    whole, ours = wanted.weighted_score, found["summaries"][WEIGHTED_SCORE]
    assert (ours["n"], ours["unscored"]) == (whole.n, whole.unscored)
    assert close(ours["weighted_mean"], whole.mean)
    assert close(ours["ci_low"], whole.ci_low)
    assert close(ours["ci_high"], whole.ci_high)
    assert found["counts"]["scored"] == wanted.counts.scored
    for sample, score, weight in zip(
        wanted.samples, found["weighted"], found["weights"], strict=True
    ):
        assert close(score, sample.weighted_score)
        assert weight == sample.sample_weight
    assert [(gate["name"], gate["outcome"]) for gate in found["gates"]] == [
        (gate.name, gate.outcome) for gate in wanted.gates
    ]
    for ours, gate in zip(found["gates"], wanted.gates, strict=True):
        assert close(ours["observed"], gate.observed), (ours, gate)
        assert close(ours["bound"], gate.bound), (ours, gate)


def made_weights(
    rng: random.Random, columns: tuple[MetricColumn, ...]
) -> tuple[dict[str, float], list[tuple[str, float]]]:
    metrics = {column.name: rng.choice([*WEIGHTS, rng.random() * 10]) for column in columns}
    named = [name for name in DOCS if name is not None and rng.random() < 0.4]
    docs = [(name, rng.choice([*WEIGHTS, rng.random() * 3])) for name in [*named, "elsewhere.pdf"]]
    return metrics, docs


# One and two samples are too few for most; each pair of columns and groups has many samples.
@pytest.mark.parametrize(
    ("n", "unbounded", "group_by"),
    [
        (1, True, "level"),
        (2, False, None),
        (2, True, "level"),
        (12, False, "level"),
        (12, True, None),
        *(
            pytest.param(200, *case, marks=pytest.mark.full)
            for case in [(False, None), (False, "level"), (True, None), (True, "level")]
        ),
    ],
)
def test_random_weights_give_pythons_figures(
    open_report: Any,
    weigh: Callable[..., ScenarioResult],
    n: int,
    unbounded: bool,
    group_by: str | None,
) -> None:
    """S1, S2, G7: also of cosines, also where samples with the same level belong together."""
    columns = (*COLUMNS, LENGTH) if unbounded else COLUMNS
    rng = random.Random(f"{n} {len(columns)}")
    samples = made_samples(rng, n, columns)
    info = made_info(n, columns, group_by=group_by)
    as_run = weigh(info, samples, {column.name: column.weight for column in columns}, {"a.pdf": 2})
    page = open_report(as_run)
    sets = [made_weights(rng, columns) for _ in range(15)]
    for (metrics, docs), found in zip(sets, page.evaluate(ASK, sets), strict=True):
        wanted = weigh(info, samples, metrics, dict(docs))
        assert_same(found, wanted)
        assert [gate["message"] for gate in found["gates"]] == [
            gate.message for gate in wanted.gates
        ]


def test_what_a_metric_does_not_let_pass_fails_in_the_page_as_well(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """[F7] Without a threshold of its own, whatever the weights; one of three passes."""
    said = [False, True, None]
    samples = [
        SampleResult(
            f"s{at}",
            at,
            outcome="failed" if one is False or at == 2 else "passed",
            scores={"f1": 0.9, "em": 0.0 if at == 2 else 1.0},
            details={"f1": {"passing": one}},
        )
        for at, one in enumerate(said)
    ]
    columns = (MetricColumn("f1", 1.0), MetricColumn("em", 1.0))
    info = made_info(3, columns, gates={"pass_rate": 0.5}, thresholds={WEIGHTED_SCORE: Bound(0.5)})
    page = open_report(weigh(info, samples, {"f1": 1.0, "em": 1.0}, {}))
    even, heavy = page.evaluate(ASK, [[{"f1": 1, "em": 1}, []], [{"f1": 3, "em": 1}, []]])
    # The third has (0.9 + 0) / 2 = 0.45, and (2.7 + 0) / 4 = 0.675 with the other weights.
    assert even["outcomes"] == ["failed", "passed", "failed"]
    assert heavy["outcomes"] == ["failed", "passed", "passed"]
    found = [(gate["outcome"], gate["observed"]) for gate in (*even["gates"], *heavy["gates"])]
    rates = [one for one in found if one[1] is not None and 0 < one[1] < 1]
    assert rates == [("failed", pytest.approx(1 / 3)), ("passed", pytest.approx(2 / 3))]


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_metrics_that_may_be_missing_give_pythons_verdict(
    open_report: Any, weigh: Callable[..., ScenarioResult], share: float
) -> None:
    """G1: the gate unscored by metric, for weights under which they matter or not.

    Where rubric failed, it is missing with any weight: a gate names it.
    """
    rng = random.Random(7)
    samples = made_samples(rng, 60, COLUMNS)
    shares = {"f1": share, "noise": 0.2}
    info = made_info(60, COLUMNS, gates={"f1": 0.1, "rubric": 0.1, "unscored": shares})
    weights = {column.name: column.weight for column in COLUMNS}
    page = open_report(weigh(info, samples, weights, {}))
    sets = [made_weights(rng, COLUMNS) for _ in range(15)]
    for (metrics, docs), found in zip(sets, page.evaluate(ASK, sets), strict=True):
        wanted = weigh(info, samples, metrics, dict(docs))
        assert_same(found, wanted)
        assert [gate["message"] for gate in found["gates"]] == [
            gate.message for gate in wanted.gates
        ]


@pytest.mark.parametrize("n", [10, 20, 30])
def test_a_share_that_just_suffices_is_enough_in_the_page(
    open_report: Any, weigh: Callable[..., ScenarioResult], n: int
) -> None:
    """A tenth scores 0: nine of ten reach 0.3, and a tenth does not exceed 0."""
    samples = [
        SampleResult(f"s{at}", at, scores={"f1": float(at >= n // 10)}, doc_name=f"{at % 3}")
        for at in range(n)
    ]
    gates = {"f1": {"quantile": {0.1: {"min": 0.3}, 0.9: {"min": 0.3}, 0.11: {"max": 0.5}}}}
    info = made_info(n, (MetricColumn("f1"),), gates=gates, thresholds={})
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    for docs in ([], [("0", 0.1), ("1", 0.1), ("2", 0.1)]):
        (found,) = page.evaluate(ASK, [[{"f1": 1}, docs]])
        wanted = weigh(info, samples, {"f1": 1.0}, dict(docs))
        assert_same(found, wanted)
        assert [gate["outcome"] for gate in found["gates"]][:2] == ["passed", "passed"]


@pytest.fixture
def fallen() -> tuple[ScenarioInfo, list[SampleResult]]:
    """A run in which f1 fell by 0.4 and em rose by 1, in each of 12 samples."""
    ids = [f"s{index}" for index in range(12)]
    samples = [
        SampleResult(name, index, scores={"f1": 0.2, "em": 1.0}) for index, name in enumerate(ids)
    ]
    then = {"f1": dict.fromkeys(ids, 0.6), "em": dict.fromkeys(ids, 0.0)}
    info = made_info(
        12,
        (MetricColumn("f1", 1.0), MetricColumn("em", 0.01)),
        gates={
            "weighted_score": 0.0,
            "no_regression": {"baseline": "main"},
            "by": {"level": {"no_regression": {"baseline": "main", "metrics": ["f1"]}}},
        },
        thresholds={},
        baselines={"main": Baseline("main", ids, {**then, WEIGHTED_SCORE: {}})},
        compare=(Comparing("main"),),
    )
    return info, samples


def test_what_takes_a_test_stays_as_run_and_says_so(
    open_report: Any, weigh: Callable[..., ScenarioResult], fallen: Any
) -> None:
    """(-0.4 + 0.01) / 1.01 = -0.3861 in the run; with em at 2 a run would find +0.5333."""
    ran = weigh(*fallen, {"f1": 1.0, "em": 0.01}, {})
    page = open_report(ran)
    marked = page.locator(".gates tr", has=page.locator(".as-run")).locator("th")
    verdict = page.locator("#verdict .verdict")
    compared = " ".join(page.locator(".comparison tbody").inner_text().split())
    assert "-0.3861" in compared
    assert page.locator(".as-run, .stale").count() == 0

    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("2")
    page.locator("#comparison .as-run").wait_for()
    assert " ".join(page.locator(".comparison tbody").inner_text().split()) == compared
    assert marked.all_inner_texts() == ["no_regression"]  # f1, by level, has the scores of the run
    state = page.evaluate("rageval.state()")
    assert state["summaries"][WEIGHTED_SCORE]["weighted_mean"] == pytest.approx(2.2 / 3)
    assert (state["verdict"]["outcome"], state["verdict"]["isAsRun"]) == ("failed", True)
    assert "as run" in verdict.inner_text()
    assert "as run" in page.locator(".changed-bar").inner_text()
    assert [gate["outcome"] for gate in state["gates"]] == [gate.outcome for gate in ran.gates]

    page.evaluate("rageval.weigh({metrics: {f1: 1, em: 0.01}, docs: [['a.pdf', 2]]})")
    page.locator("#comparison .as-run").wait_for(state="detached")  # no sample is of this document


def test_weights_of_documents_change_what_every_test_looks_at(
    open_report: Any, weigh: Callable[..., ScenarioResult], fallen: Any
) -> None:
    info, samples = fallen
    samples[0] = replace(samples[0], doc_name="a.pdf")
    ran = weigh(info, samples, {"f1": 1.0, "em": 0.01}, {})
    page = open_report(ran)
    page.evaluate("rageval.weigh({metrics: {f1: 1, em: 0.01}, docs: [['a.pdf', 2]]})")
    page.locator("#comparison .as-run").wait_for()
    marked = page.locator(".gates tr", has=page.locator(".as-run")).locator("th")
    assert marked.all_inner_texts() == ["no_regression", "by.level.no_regression"]


@pytest.mark.parametrize(
    ("gates", "extent", "verdict"),
    [
        # A first run has nothing to compare with: that gate is not decided.
        ({"f1": 0.1, "no_regression": {"baseline": "base"}}, Extent(2, 2, 2), "Undecided"),
        ({"f1": 0.1}, Extent(2, 2, 2), "Passed"),
        ({"f1": 0.9, "no_regression": {"baseline": "base"}}, Extent(2, 2, 2), "Failed"),
        ({"f1": 0.1}, Extent(5, 2, 2), "Undecided"),
        ({}, Extent(5, 2, 2), "Undecided"),
        ({}, Extent(2, 2, 2), "Not judged"),
    ],
)
def test_the_verdict_is_that_of_the_summary(
    open_report: Any,
    weigh: Callable[..., ScenarioResult],
    gates: Any,
    extent: Extent,
    verdict: str,
) -> None:
    samples = [SampleResult("a", 0, scores={"f1": 0.5}), SampleResult("b", 1, scores={"f1": 0.8})]
    info = made_info(extent.total, (MetricColumn("f1"),), gates=gates, thresholds={})
    ran = weigh(info, samples, {"f1": 1.0}, {}, extent)
    page = open_report(ran)
    assert page.locator(".verdict strong").inner_text().endswith(verdict)
    assert f"**{verdict}**".lower() in verdict_text(RunView(ran)).lower()


def test_slices_without_a_score_to_be_had_are_left_out(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """A document of which all rows are invalid, and may be."""
    samples = [
        SampleResult("a", 0, scores={"f1": 0.5}, doc_name="a.pdf"),
        SampleResult("b", 1, "xfailed", scores={"f1": None}, doc_name="b.pdf", invalid="empty"),
        SampleResult("c", 2, scores={"f1": 0.7}, doc_name="c.pdf"),
    ]
    gates = {"by": {"doc_name": {"f1": 0.6}}}
    info = made_info(3, (MetricColumn("f1"),), gates=gates, thresholds={})
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    (found,) = page.evaluate(ASK, [[{"f1": 2}, []]])
    wanted = weigh(info, samples, {"f1": 2.0}, {})
    assert_same(found, wanted)
    assert found["gates"][0]["message"] == wanted.gates[0].message
    assert wanted.gates[0].message == "1 of 2 values of doc_name: a.pdf: 0.5000 < 0.6000"


def test_slices_to_which_a_metric_never_applies_are_left_out_and_said(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    samples = [
        SampleResult("a", 0, scores={"f1": 0.5}, doc_name="a.pdf"),
        SampleResult("b", 1, scores={"f1": None}, left_out={"f1": "row"}, doc_name="b.pdf"),
        SampleResult("c", 2, scores={"f1": None}, left_out={"f1": "answer"}, doc_name="c.pdf"),
    ]
    each = {"f1": 0.6, "weighted_score": 0.5, "pass_rate": 0.5, "unscored": 0}
    info = made_info(3, (MetricColumn("f1"),), gates={"by": {"doc_name": each}})
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    (found,) = page.evaluate(ASK, [[{"f1": 2}, []]])
    wanted = weigh(info, samples, {"f1": 2.0}, {})
    assert_same(found, wanted)
    for here, there in zip(found["gates"][:4], wanted.gates, strict=False):
        assert here["message"] == there.message
        assert there.message.endswith(
            "; left out, as all their rows rule the metric out or weigh 0: b.pdf"
        )
    assert wanted.gates[0].message == (
        "2 of 2 values of doc_name: c.pdf: no sample has a score of f1; a.pdf: 0.5000 < 0.6000; "
        "left out, as all their rows rule the metric out or weigh 0: b.pdf"
    )


def test_slices_left_out_have_a_name_all_the_same(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """Where a metric applies to rows without a document alone, theirs is not a mean of all."""
    samples = [
        SampleResult("a", 0, scores={"f1": 0.5}),
        SampleResult("b", 1, scores={"f1": None}, left_out={"f1": "row"}, doc_name="b.pdf"),
    ]
    info = made_info(
        2, (MetricColumn("f1"),), gates={"by": {"doc_name": {"f1": 0.4}}}, thresholds={}
    )
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    (found,) = page.evaluate(ASK, [[{"f1": 2}, []]])
    wanted = weigh(info, samples, {"f1": 2.0}, {})
    assert_same(found, wanted)
    assert wanted.gates[0].outcome == "passed"
    assert found["gates"][0]["message"] == wanted.gates[0].message


def test_documents_that_are_given_no_weight_are_left_out(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """And listed as Python lists them: five of seven."""
    docs = [f"{name}.pdf" for name in "abcdefgh"]
    samples = [
        SampleResult(doc, at, scores={"f1": 0.1 if at else 0.5}, doc_name=doc)
        for at, doc in enumerate(docs)
    ]
    gates = {"by": {"doc_name": {"f1": 0.4}}}
    info = made_info(8, (MetricColumn("f1"),), gates=gates, thresholds={})
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    (found,) = page.evaluate(ASK, [[{"f1": 1}, [[doc, 0] for doc in docs[1:]]]])
    wanted = weigh(info, samples, {"f1": 1.0}, dict.fromkeys(docs[1:], 0.0))
    assert_same(found, wanted)
    assert wanted.gates[0].outcome == "passed"
    assert wanted.gates[0].message.endswith("b.pdf, c.pdf, d.pdf, e.pdf, f.pdf and 2 more")
    assert found["gates"][0]["message"] == wanted.gates[0].message


def test_a_partial_run_stays_undecided(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    samples = [SampleResult("a", 0, scores={"f1": 0.2}), SampleResult("b", 1, scores={"f1": 0.8})]
    info = made_info(5, (MetricColumn("f1"),), gates={"weighted_score": 0.7}, thresholds={})
    extent = Extent(total=5, selected=2, ran=2)
    docs = replace(samples[0], doc_name="a.pdf"), samples[1]
    page = open_report(weigh(info, docs, {"f1": 1.0}, {}, extent))

    (found,) = page.evaluate(ASK, [[{"f1": 1}, [["a.pdf", 0]]]])

    wanted = weigh(info, docs, {"f1": 1.0}, {"a.pdf": 0.0}, extent)
    assert_same(found, wanted)
    assert found["verdict"]["outcome"] == "partial"
    # Without the first sample's weight the mean is 0.8, which would pass.
    assert found["gates"][0]["message"] == "2 of 5 samples ran, so far 0.8000"
    assert "2 of 5 samples ran" in page.locator("#verdict").inner_text()


def test_a_spent_budget_fails_whatever_the_weights(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    samples = [
        SampleResult("a", 0, scores={"f1": 0.9}),
        SampleResult("b", 1, "error", scores={"f1": None}, errors={"f1": f"{BUDGET}spent"}),
    ]
    info = made_info(2, (MetricColumn("f1"),), gates={"weighted_score": 0.7}, thresholds={})
    page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
    (found,) = page.evaluate(ASK, [[{"f1": 2}, []]])
    assert_same(found, weigh(info, samples, {"f1": 2.0}, {}))
    assert {gate["outcome"] for gate in found["gates"]} == {"failed"}


def test_without_gates_only_a_missing_score_fails(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    samples = [SampleResult("a", 0, scores={"f1": 0.9, "em": None})]
    columns = (MetricColumn("f1"), MetricColumn("em"))
    info = made_info(1, columns, gates={}, thresholds={})
    page = open_report(weigh(info, samples, {"f1": 1.0, "em": 1.0}, {}))
    assert "no gates" in page.locator("#gates").inner_text()
    sets = [[{"f1": 1, "em": 0}, []], [{"f1": 0, "em": 1}, []]]
    for (metrics, _), found in zip(sets, page.evaluate(ASK, sets), strict=True):
        assert_same(found, weigh(info, samples, metrics, {}))
    assert found["gates"][0]["message"] == "none of 1 samples was scored: em missing on 1"
    assert found["outcomes"] == ["error"]
