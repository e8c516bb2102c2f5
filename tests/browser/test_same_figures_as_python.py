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
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
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
# The same name in two Unicode forms; characters whose order differs in UTF-16.
DOCS = (None, "a.pdf", "caf\u00e9.pdf", "cafe\u0301.pdf", "手册.pdf", "\U0001f600.md", "\uff21.md")
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
        # Half of what is missing failed, the other half does not apply.
        errors = {name: "boom" for name, value in scores.items() if value is None and at_odds(rng)}
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
        return rng.choice([rng.gauss(100.0, 50.0), 1e-300, 1e15, 12.5])
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
        comparison: state.comparison,
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
        for key in ("mean", "weighted_mean", "std", "ci_low", "ci_high"):
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
            for case in [(False, None), (False, "level"), (True, None)]
        ),
        (200, True, "level"),
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
    """G1: the gate unscored by metric, for weights under which they matter or not."""
    rng = random.Random(7)
    samples = made_samples(rng, 60, COLUMNS)
    info = made_info(60, COLUMNS, gates={"f1": 0.1, "unscored": {"f1": share, "noise": 0.2}})
    weights = {column.name: column.weight for column in COLUMNS}
    page = open_report(weigh(info, samples, weights, {}))
    sets = [made_weights(rng, COLUMNS) for _ in range(15)]
    for (metrics, docs), found in zip(sets, page.evaluate(ASK, sets), strict=True):
        wanted = weigh(info, samples, metrics, dict(docs))
        assert_same(found, wanted)
        assert [gate["message"] for gate in found["gates"]] == [
            gate.message for gate in wanted.gates
        ]


def compared_info(n: int, rng: random.Random, **options: Any) -> ScenarioInfo:
    ids = [f"s{index}" for index in range(n + 5) if index % 7]
    scores = {column.name: {name: made_score(rng, column) for name in ids} for column in COLUMNS}
    baseline = Baseline("main", ids, {**scores, WEIGHTED_SCORE: dict.fromkeys(ids, 0.0)})
    gate = {"baseline": "main", "metrics": [WEIGHTED_SCORE, "noise"], **options}
    return made_info(
        n,
        COLUMNS,
        gates={"no_regression": gate},
        baselines={"main": baseline},
        compare=Comparing("main"),
    )


EXACT: list[dict[str, Any]] = [
    {"mode": "any", "max_drop": 0.03, "min_pairs": 0.5},
    {"mode": "any", "max_drop": 0.03},
    {"mode": "non_inferior", "max_drop": 0.4, "min_pairs": 0, "group_by": "level"},
    {"mode": "any", "max_drop": 0.1, "min_pairs": 0.2, "group_by": "doc_name"},
    {"mode": "non_inferior", "max_drop": 0.9, "undecided": "pass", "group_by": "level"},
    {"mode": "any", "max_drop": "5%"},
    {"mode": "non_inferior", "max_drop": 0.1},
    {"mode": "non_inferior", "max_drop": "20%", "alpha": 0.2},
]


@pytest.mark.parametrize("options", EXACT, ids=str)
def test_regressions_that_need_no_test_are_decided(
    open_report: Any, weigh: Callable[..., ScenarioResult], options: Mapping[str, Any]
) -> None:
    rng = random.Random(str(options))
    samples = made_samples(rng, 40, COLUMNS)
    group_by = options.get("group_by")
    asked = {name: value for name, value in options.items() if name != "group_by"}
    info = replace(compared_info(40, rng, **asked), group_by=group_by)
    as_run = weigh(info, samples, {column.name: column.weight for column in COLUMNS}, {})
    page = open_report(as_run)
    sets = [made_weights(rng, COLUMNS) for _ in range(8)]
    verdicts = set()
    for (metrics, docs), found in zip(sets, page.evaluate(ASK, sets), strict=True):
        wanted = weigh(info, samples, metrics, dict(docs))
        assert_same(found, wanted)
        assert not found["verdict"]["isAsRun"]
        verdicts.add(wanted.gates[0].outcome)
        assert wanted.comparison is not None
        # The weighted score is not among them where one metric alone weighs anything.
        assert [ours["name"] for ours in found["comparison"]] == [*wanted.comparison.metrics]
        for ours in found["comparison"]:
            theirs = wanted.comparison.metrics[ours["name"]]
            for key in ("a_mean", "b_mean", "diff", "ci_low", "ci_high", "smallest_detectable"):
                assert close(ours[key], getattr(theirs, key)), (key, ours, theirs)
            assert (ours["n"], ours["n_nonzero"]) == (theirs.n, theirs.n_nonzero)
    assert verdicts  # of random weights; which ones they are is the seed's


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


def test_slices_that_are_new_since_the_baseline_are_left_out_in_the_page(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """a is in both runs; b too, and unscored in the older one; c to i came later."""
    docs = "abcdefghi"
    samples = [
        SampleResult(name, at, scores={"f1": 0.5}, doc_name=name) for at, name in enumerate(docs)
    ]
    scores: dict[str, float | None] = {"a": 0.9, "b": None}
    gate = {"baseline": "main", "mode": "any", "metrics": ["f1"]}
    verdicts = []
    gate["min_pairs"] = 0
    for dropped in ("a", "b", "ab"):
        kept = {name: score for name, score in scores.items() if name not in dropped} or {"z": 0.5}
        info = made_info(
            len(docs),
            (MetricColumn("f1"),),
            gates={"by": {"doc_name": {"no_regression": {**gate, "max_drop": 0.5}}}},
            thresholds={},
            baselines={"main": Baseline("main", list(kept), {"f1": kept})},
            compare=Comparing("main"),
        )
        page = open_report(weigh(info, samples, {"f1": 1.0}, {}))
        (found,) = page.evaluate(ASK, [[{"f1": 1}, [["a", 2], ["b", 2]]]])
        wanted = weigh(info, samples, {"f1": 1.0}, {"a": 2.0, "b": 2.0})
        assert_same(found, wanted)
        ours, theirs = found["gates"][0]["message"], wanted.gates[0].message
        assert ours.rpartition("; not in")[2] == theirs.rpartition("; not in")[2] != theirs
        verdicts.append((found["gates"][0]["outcome"], ours.rpartition("left out: ")[2]))
    assert verdicts == [
        ("failed", "a, c, d, e, f, and 3 more"),
        ("passed", "b, c, d, e, f, and 3 more"),
        ("failed", "a, b, c, d, e, and 4 more"),
    ]


def test_a_significance_that_only_a_test_can_tell_stays_as_run(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """A is 0.6 and 0.2 against 0.5 and 0.5 of B: f1 alone is a gain, em alone a drop of 0.3."""
    columns = (MetricColumn("f1", 1.0), MetricColumn("em", 0.0))
    ids = [f"s{index}" for index in range(12)]
    samples = [
        SampleResult(name, index, scores={"f1": 0.6, "em": 0.2}) for index, name in enumerate(ids)
    ]
    half = dict.fromkeys(ids, 0.5)
    info = made_info(
        12,
        columns,
        gates={"no_regression": {"baseline": "main", "max_drop": 0.05}},
        thresholds={},
        baselines={"main": Baseline("main", ids, {"f1": half, "em": half, WEIGHTED_SCORE: half})},
    )
    page = open_report(weigh(info, samples, {"f1": 1.0, "em": 0.0}, {}))
    assert page.locator(".gates tr", has_text="no_regression").locator(".as-run").count() == 0

    gain, drop = page.evaluate(ASK, [[{"f1": 3, "em": 1}, []], [{"f1": 0, "em": 1}, []]])

    # (3 * 0.6 + 0.2) / 4 = 0.5, against 0.5: no drop, and so no need of a test.
    assert close(gain["gates"][0]["observed"], 0.0)
    assert (gain["gates"][0]["outcome"], gain["verdict"]["isAsRun"]) == ("passed", False)
    assert close(drop["gates"][0]["observed"], -0.3)
    assert (drop["gates"][0]["outcome"], drop["verdict"]["isAsRun"]) == ("passed", True)
    row = page.locator(".gates tr", has_text="no_regression")
    row.locator(".as-run").wait_for()
    assert "needs a new run" in row.inner_text()


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
        gates={"weighted_score": 0.0},
        thresholds={},
        baselines={"main": Baseline("main", ids, {**then, WEIGHTED_SCORE: {}})},
        compare=Comparing("main"),
    )
    return info, samples


def compared_row(page: Any, name: str) -> str:
    row = page.locator(".comparison tbody tr").filter(has_text=name)
    return " ".join(row.inner_text().split()) if row.count() else ""


def test_a_difference_that_turns_takes_a_new_run(
    open_report: Any, weigh: Callable[..., ScenarioResult], fallen: Any
) -> None:
    """The run was significantly worse: (-0.4 + 0.01) / 1.01. With em at 50 it is not known."""
    page = open_report(weigh(*fallen, {"f1": 1.0, "em": 0.01}, {}))
    assert "-0.3861" in compared_row(page, "Weighted score")
    assert "▼ worse" in compared_row(page, "Weighted score")

    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("2")
    page.locator(".comparison .as-run").first.wait_for()
    turned = compared_row(page, "Weighted score")
    assert "+0.5333" in turned  # (-0.4 + 2) / 3
    assert "needs a new run" in turned
    assert "better" not in turned
    assert "worse as run" in compared_row(page, "f1")

    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("0.1")
    page.get_by_text("-0.2727").first.wait_for()  # (-0.4 + 0.1) / 1.1
    assert "worse as run" in compared_row(page, "Weighted score")


def test_the_weighted_score_is_compared_where_it_is_more_than_one_metric(
    open_report: Any, weigh: Callable[..., ScenarioResult], fallen: Any
) -> None:
    """As in a run: it comes and goes with the second weight, and has no p of this run then."""
    page = open_report(weigh(*fallen, {"f1": 1.0, "em": 0.0}, {}))
    assert compared_row(page, "Weighted score") == ""
    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("0.1")
    page.get_by_text("-0.2727").first.wait_for()
    assert "needs a new run" in compared_row(page, "Weighted score")
    page.get_by_role("spinbutton", name="Weight of em", exact=True).fill("0")
    page.locator(".comparison tr", has_text="Weighted score").wait_for(state="detached")


@pytest.mark.parametrize(
    ("gates", "extent", "verdict"),
    [
        # A first run has nothing to compare with: that gate is skipped, and the run is complete.
        ({"f1": 0.1, "no_regression": {"baseline": "base"}}, Extent(2, 2, 2), "Passed"),
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
    assert f"**{verdict}**".lower() in verdict_text(ran).lower()


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
    assert "2 of 5 samples ran" in page.locator("header").inner_text()


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
