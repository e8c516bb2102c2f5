"""E5, D6: the gate no_regression against a saved run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Comparing,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    SignificanceTest,
)
from pytest_rageval.stats.aggregate import summarize_scenario

Scores = Sequence[float | None]

F1, NOISE = MetricColumn("f1"), MetricColumn("noise", higher_is_better=False)


def run_of(scores: Mapping[str, Scores], **fields: Any) -> list[SampleResult]:
    """Return samples s0, s1, ...; the first metric is the weighted score, too."""
    first = next(iter(scores.values()))
    return [
        SampleResult(
            f"s{at}",
            at,
            weighted_score=first[at],
            scores={name: values[at] for name, values in scores.items()},
            **{name: values[at] for name, values in fields.items()},
        )
        for at in range(len(first))
    ]


def saved(name: str, scores: Mapping[str, Scores]) -> Baseline:
    """Return a baseline of the samples s0, s1, ..."""
    first = next(iter(scores.values()))
    ids = tuple(f"s{at}" for at in range(len(first)))
    by_id = {metric: dict(zip(ids, values, strict=True)) for metric, values in scores.items()}
    return Baseline(name, ids, {WEIGHTED_SCORE: by_id[next(iter(by_id))], **by_id})


def check(
    options: Mapping[str, Any],
    now: Mapping[str, Scores],
    before: Mapping[str, Scores],
    *,
    columns: Sequence[MetricColumn] = (F1,),
    compare: Comparing | None = None,
    samples: Sequence[SampleResult] | None = None,
) -> GateResult:
    """Return the verdict of ``no_regression`` with ``options`` against the run ``main``."""
    made = samples or run_of(now)
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        tuple(columns),
        compare=compare,
        baselines={"main": saved("main", before)},
        total=len(made),
    )
    (gate,) = make_gates({"no_regression": {"baseline": "main", **options}}, info)
    return gate.check(summarize_scenario(info, made, complete=True))


# Six samples that all fell by the same: p = 2/2^6 = 0.03125. Five: 2/2^5 = 0.0625.
BEFORE = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
FELL = tuple(score - 0.1 for score in BEFORE)


# significant


def test_a_significant_fall_fails_and_is_told_with_all_figures() -> None:
    """E5: A, B, difference, p, n and what this n could have shown."""
    found = check({"metrics": ["f1"]}, {"f1": FELL}, {"f1": BEFORE})
    assert (found.name, found.outcome) == ("no_regression", "failed")
    assert found.observed == pytest.approx(-0.1, abs=1e-12)
    assert found.bound == 0.0
    assert found.margin == pytest.approx(-0.1, abs=1e-12)
    assert found.message.startswith(
        "f1: A 0.5500, B 0.6500 (main), difference -0.1000, p 0.0312, n 6"
    )


def test_a_fall_that_chance_explains_passes() -> None:
    """E5: five samples cannot reach 0.05, and the message says so."""
    found = check({"metrics": ["f1"]}, {"f1": FELL[:5]}, {"f1": BEFORE[:5]})
    assert found.outcome == "passed"
    assert "p 0.0625, n 5" in found.message
    assert "5 samples differ: p cannot fall below 0.0625; 6 would be needed" in found.message


def test_alpha_may_be_a_number_that_yaml_takes_for_text() -> None:
    """YAML 1.1 reads 1e-2 as text, and so it is read as the number that was meant. p = 0.03125."""
    for alpha, outcome in (("4e-2", "failed"), ("1e-2", "passed")):
        found = check({"alpha": alpha}, {"f1": FELL}, {"f1": BEFORE})
        assert found.outcome == outcome


def test_alpha_decides_what_chance_explains() -> None:
    options = {"metrics": ["f1"], "alpha": 0.1}
    assert check(options, {"f1": FELL[:5]}, {"f1": BEFORE[:5]}).outcome == "failed"


@pytest.mark.parametrize(
    ("max_drop", "outcome"),
    [
        (0.0, "failed"),
        (0.0999, "failed"),
        # 0.1 within the tolerance of 1e-9.
        (0.1, "passed"),
        (0.2, "passed"),
        # Of the baseline's mean 0.65: 0.1 is 15.4 %.
        ("15%", "failed"),
        ("15.4 %", "passed"),
        ("0.05", "failed"),
        ("0.15", "passed"),
    ],
)
def test_a_fall_up_to_max_drop_is_allowed(max_drop: Any, outcome: str) -> None:
    """E5: a number is a difference of scores, per cent are of the baseline's mean."""
    found = check({"metrics": ["f1"], "max_drop": max_drop}, {"f1": FELL}, {"f1": BEFORE})
    assert found.outcome == outcome


def test_the_bound_is_the_allowed_fall() -> None:
    found = check({"metrics": ["f1"], "max_drop": "10%"}, {"f1": FELL}, {"f1": BEFORE})
    assert found.bound == pytest.approx(-0.065, abs=1e-12)
    assert found.margin == pytest.approx(-0.035, abs=1e-12)


def test_no_allowed_fall_is_a_plain_zero() -> None:
    """A bound of -0.0 would stand as such in results.json."""
    found = check({"metrics": ["f1"]}, {"f1": BEFORE}, {"f1": BEFORE})
    assert json.dumps(found.bound) == "0.0"


def test_a_rise_passes_however_significant() -> None:
    found = check({"metrics": ["f1"]}, {"f1": BEFORE}, {"f1": FELL})
    assert (found.outcome, found.observed) == ("passed", pytest.approx(0.1, abs=1e-12))


def test_no_difference_at_all_passes_and_says_so() -> None:
    """D6: all ties."""
    found = check({"metrics": ["f1"]}, {"f1": BEFORE}, {"f1": BEFORE})
    assert (found.outcome, found.observed) == ("passed", 0.0)
    assert "no difference in any sample" in found.message


def test_the_weighted_score_is_what_is_compared_by_default() -> None:
    found = check({}, {"f1": FELL}, {"f1": BEFORE})
    assert found.message.startswith("weighted_score: A 0.5500, B 0.6500 (main)")
    assert found.outcome == "failed"


# any


def test_any_fall_fails_whatever_chance_may_have_done() -> None:
    """E5: one sample, for which there is no test."""
    options = {"metrics": ["f1"], "mode": "any"}
    found = check(options, {"f1": (0.4,)}, {"f1": (0.5,)})
    assert found.outcome == "failed"
    assert "no p value, n 1" in found.message
    assert check({**options, "max_drop": 0.1}, {"f1": (0.4,)}, {"f1": (0.5,)}).outcome == "passed"
    assert check(options, {"f1": (0.5,)}, {"f1": (0.5,)}).outcome == "passed"


# non_inferior

NOW = (0.5, 0.6, 0.4, 0.5)
ONCE = (0.5, 0.5, 0.5, 0.5)
# Differences 0, 0.1, -0.1, 0: mean 0, s = √(0.02/3), half width t(0.975; 3)·s/2.
HALF = 3.182446305284263 * math.sqrt(0.02 / 3) / 2


@pytest.mark.parametrize(
    ("max_drop", "outcome"), [(0.0, "failed"), (HALF - 1e-6, "failed"), (HALF + 1e-6, "passed")]
)
def test_a_larger_fall_must_be_excluded(max_drop: float, outcome: str) -> None:
    """E5: the means are equal; the interval reaches down to -0.13."""
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": max_drop}
    found = check(options, {"f1": NOW}, {"f1": ONCE})
    assert found.outcome == outcome
    assert f"interval -{HALF:.4f}..+{HALF:.4f}" in found.message


def test_one_sample_excludes_nothing() -> None:
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": 0.5}
    assert check(options, {"f1": (0.9,)}, {"f1": (0.5,)}).outcome == "failed"


def test_equal_runs_are_not_inferior() -> None:
    options = {"metrics": ["f1"], "mode": "non_inferior"}
    assert check(options, {"f1": BEFORE}, {"f1": BEFORE}).outcome == "passed"


# Lower is better


@pytest.mark.parametrize("mode", ["significant", "any", "non_inferior"])
def test_a_rise_is_a_regression_where_lower_is_better(mode: str) -> None:
    """E5: FELL is the better run of noise."""
    options = {"metrics": ["noise"], "mode": mode}
    worse = check(options, {"noise": BEFORE}, {"noise": FELL}, columns=[NOISE])
    better = check(options, {"noise": FELL}, {"noise": BEFORE}, columns=[NOISE])
    assert (worse.outcome, better.outcome) == ("failed", "passed")
    assert worse.observed == pytest.approx(-0.1, abs=1e-12)
    assert better.observed == pytest.approx(0.1, abs=1e-12)
    assert "difference +0.1000" in worse.message


# Several metrics

SAME = (0.5,) * 6


@pytest.mark.parametrize(("column", "word"), [(F1, "falls"), (NOISE, "rises")])
def test_what_this_many_samples_show_is_what_would_be_worse(
    column: MetricColumn, word: str
) -> None:
    """Of noise, less is better: a fall would be an improvement."""
    now, before = {column.name: (0.5, 0.6, 0.4)}, {column.name: (0.4, 0.6, 0.5)}
    found = check({"metrics": [column.name]}, now, before, columns=[column])
    assert f"; this n shows {word} from 0." in found.message


def test_keys_of_the_users_own_are_no_options() -> None:
    found = check({"x-why": "agreed in May"}, {"f1": BEFORE}, {"f1": BEFORE})
    assert found.outcome == "passed"


def test_several_metrics_are_adjusted_together() -> None:
    """D6: Holm: 2 · 0.03125 = 0.0625, no longer significant beside a metric of the same kind."""
    columns = [F1, MetricColumn("em")]
    now, before = {"f1": FELL, "em": FELL}, {"f1": BEFORE, "em": BEFORE}
    found = check({"metrics": ["f1", "em"]}, now, before, columns=columns)
    assert found.outcome == "passed"
    assert found.message.startswith("none of 2 metrics, worst f1: ")
    assert "p 0.0312 (adjusted 0.0625)" in found.message
    assert "; 7 would be needed for 0.05" in found.message


def test_all_metrics_that_fell_are_named() -> None:
    columns = [F1, MetricColumn("em"), MetricColumn("acc")]
    now = {"f1": FELL, "em": SAME, "acc": FELL}
    before = {"f1": BEFORE, "em": SAME, "acc": BEFORE}
    options = {"metrics": ["f1", "em", "acc"], "alpha": 0.2}
    found = check(options, now, before, columns=columns)
    assert found.outcome == "failed"
    first, second = found.message.split("; acc: ")
    assert first.startswith("f1: A ")
    assert second.startswith("A 0.5500")
    assert "em" not in found.message


def test_the_observed_figure_is_that_of_the_metric_that_fell_most() -> None:
    columns = [F1, MetricColumn("em")]
    now, before = {"f1": FELL, "em": (0.1,) * 6}, {"f1": BEFORE, "em": SAME}
    found = check({"metrics": ["f1", "em"], "mode": "any"}, now, before, columns=columns)
    assert found.observed == pytest.approx(-0.4, abs=1e-12)


# What cannot be compared


def test_a_metric_without_a_common_score_fails() -> None:
    """A20: f1 was scored in one run or in the other, in no sample in both."""
    found = check({"metrics": ["f1"]}, {"f1": (0.5, None)}, {"f1": (None, 0.5)})
    assert (found.outcome, found.observed, found.margin) == ("failed", None, None)
    assert found.message == "f1: no sample was scored in both runs"


def test_samples_of_another_data_set_fail() -> None:
    samples = [SampleResult("else", 0, weighted_score=0.5, scores={"f1": 0.5})]
    found = check({"metrics": ["f1"]}, {}, {"f1": BEFORE}, samples=samples)
    assert (found.outcome, found.message) == ("failed", "f1: no sample was scored in both runs")


def test_only_samples_of_both_runs_are_compared() -> None:
    """E5: s6 is new; it would lift the mean of A."""
    now = {"f1": (*FELL, 1.0)}
    samples = run_of(now)
    found = check({"metrics": ["f1"]}, now, {"f1": BEFORE}, samples=samples)
    assert "A 0.5500, B 0.6500 (main), difference -0.1000, p 0.0312, n 6" in found.message


def test_samples_are_weighed_as_in_this_run() -> None:
    """A7: differences -0.2 and 0.1 with weights 1 and 3: (-0.2 + 0.3)/4 = 0.025."""
    samples = run_of({"f1": (0.3, 0.6)}, sample_weight=(1.0, 3.0))
    found = check({"metrics": ["f1"], "mode": "any"}, {}, {"f1": (0.5, 0.5)}, samples=samples)
    assert (found.outcome, found.observed) == ("passed", pytest.approx(0.025, abs=1e-12))


# The test


def test_options_come_from_compare_unless_the_gate_has_its_own() -> None:
    """E5: a gate without a baseline takes the run that is compared with."""
    compare = Comparing("main", (), SignificanceTest("permutation", alpha=0.01))
    now, before = {"f1": FELL}, {"f1": BEFORE}
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        (F1,),
        compare=compare,
        baselines={"main": saved("main", before)},
    )
    (gate,) = make_gates({"no_regression": {"metrics": ["f1"]}}, info)
    result = summarize_scenario(info, run_of(now), complete=True)
    assert gate.check(result).outcome == "passed"
    assert check({"metrics": ["f1"], "alpha": 0.05}, now, before, compare=compare).outcome == (
        "failed"
    )


def test_the_test_can_be_chosen() -> None:
    """D6: the differences -0.1, -0.3: t = 2, p = 2·(1/2 - atan(2)/π) with one degree of freedom."""
    pytest.importorskip("scipy")
    options = {"metrics": ["f1"], "test": "t"}
    found = check(options, {"f1": (0.4, 0.2)}, {"f1": (0.5, 0.5)})
    p = 2 * (0.5 - math.atan(2) / math.pi)
    assert f"p {p:.3g}, n 2" in found.message


def test_a_t_test_of_equal_falls_says_that_it_says_nothing() -> None:
    """D6: no variance, no nonsense; the mode ``any`` is the one for certainty."""
    pytest.importorskip("scipy")
    found = check({"metrics": ["f1"], "test": "t"}, {"f1": (0.4, 0.4)}, {"f1": (0.5, 0.5)})
    assert found.outcome == "passed"
    assert "no p value" in found.message
    assert "the differences do not vary" in found.message


# Of slices


def test_a_slice_must_not_fall_either() -> None:
    """E5: document a fell, b rose; over all the mean is the same."""
    samples = run_of({"f1": (*FELL, *BEFORE)}, doc_name=("a",) * 6 + ("b",) * 6)
    before = {"f1": (*BEFORE, *FELL)}
    info = ScenarioInfo(
        "s", "s.yaml", "s.yaml", (F1,), baselines={"main": saved("main", before)}, total=12
    )
    options = {"no_regression": {"baseline": "main"}}
    gates = make_gates({**options, "by": {"doc_name": options}}, info)
    found = {gate.name: gate.check(summarize_scenario(info, samples, True)) for gate in gates}
    assert found["no_regression"].outcome == "passed"
    sliced = found["by.doc_name.no_regression"]
    assert sliced.outcome == "failed"
    assert sliced.message.startswith("1 of 2 values of doc_name: a: weighted_score: A 0.5500")
    assert sliced.observed == pytest.approx(-0.1, abs=1e-12)


def sliced(docs: Sequence[str], ids: Sequence[str], **options: Any) -> GateResult:
    """Return the verdict for each document; only the samples ``ids`` are in the run ``main``."""
    samples = run_of({"f1": [0.5] * len(docs)}, doc_name=docs)
    half = dict.fromkeys(ids, 0.5)
    baseline = Baseline("main", ids, {"f1": half, WEIGHTED_SCORE: half})
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (F1,), baselines={"main": baseline})
    options = {"by": {"doc_name": {"no_regression": {"baseline": "main", **options}}}}
    (gate,) = make_gates(options, info)
    return gate.check(summarize_scenario(info, samples, True))


def test_a_slice_that_is_new_since_the_baseline_is_left_out_and_named() -> None:
    """Rows may be added: there is nothing that they could have fallen from."""
    found = sliced(("a", "a", "b", "c"), ("s0", "s1"))
    assert found.outcome == "passed"
    assert found.message.startswith("all 1 values of doc_name, worst weighted_score: A 0.5000")
    assert found.message.endswith("; not in main, left out: b, c")


def test_many_new_slices_are_counted() -> None:
    found = sliced(("a", *"bcdefgh"), ("s0",))
    assert found.message.endswith("; not in main, left out: b, c, d, e, f, and 2 more")


def test_a_slice_that_is_not_new_and_has_no_pair_fails() -> None:
    """Missing is not equal: s1 is in both runs, and main has no score of it."""
    samples = run_of({"f1": (0.5, 0.5, 0.5)}, doc_name=("a", "b", "c"))
    scores: dict[str, float | None] = {"s0": 0.5, "s1": None}
    baseline = Baseline("main", ("s0", "s1"), {"f1": scores, WEIGHTED_SCORE: scores})
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (F1,), baselines={"main": baseline})
    (gate,) = make_gates({"by": {"doc_name": {"no_regression": {"baseline": "main"}}}}, info)
    found = gate.check(summarize_scenario(info, samples, True))
    assert (found.outcome, found.message) == (
        "failed",
        "1 of 2 values of doc_name: b: weighted_score: no sample was scored in both runs"
        "; not in main, left out: c",
    )


def test_where_all_slices_are_new_the_gate_fails() -> None:
    found = sliced(("a", "b"), ("gone",))
    assert (found.outcome, found.message) == (
        "failed",
        "there are no slices to look at; not in main, left out: a, b",
    )


# compare_fail


def test_the_short_form_is_one_gate_for_each_metric() -> None:
    """E5: what --rag-compare-fail writes; each is tested alone."""
    columns = (F1, MetricColumn("em"))
    before = {"f1": BEFORE, "em": BEFORE}
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        columns,
        compare=Comparing("main"),
        baselines={"main": saved("main", before)},
    )
    options = {"f1": 0.02, "em": {"max_drop": "20%"}, "weighted_score": {"mode": "any"}}
    result = summarize_scenario(info, run_of({"f1": FELL, "em": FELL}), complete=True)
    found = {gate.name: gate.check(result) for gate in make_gates({"compare_fail": options}, info)}
    assert {name: gate.outcome for name, gate in found.items()} == {
        "compare_fail.f1": "failed",
        "compare_fail.em": "passed",
        "compare_fail.weighted_score": "failed",
    }
    assert "adjusted" not in found["compare_fail.f1"].message


# What cannot be asked


@pytest.fixture
def info() -> ScenarioInfo:
    return ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        (F1, MetricColumn("em")),
        baselines={"main": Baseline("main", ("s0",), {"f1": {"s0": 0.5}})},
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("main", "expected a mapping, for instance {baseline: main}"),
        (None, "expected a mapping, for instance {baseline: main}"),
        ({}, "needs a run to compare with: give 'baseline', or compare the run"),
        ({"metrics": ["f1"]}, "needs a run to compare with"),
        ({"max_drp": 1}, "unknown option 'max_drp'. Did you mean 'max_drop'? Known: alpha, "),
        ({"baseline": 5}, "baseline: expected the name of a saved run, found 5"),
        ({"baseline": ""}, "baseline: expected the name of a saved run, found ''"),
        ({"metrics": "f1"}, "metrics: expected a list of metrics, found 'f1'"),
        ({"metrics": []}, "metrics: expected a list of metrics, found []"),
        ({"metrics": [1]}, "metrics: expected a list of metrics, found [1]"),
        ({"metrics": ["ff1"]}, "unknown metric 'ff1'. Did you mean 'f1'? Known: em, f1, weighted_"),
        ({"max_drop": -0.1}, "max_drop: expected a number >= 0, or per cent like 5%, found -0.1"),
        ({"max_drop": "much"}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": True}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": math.nan}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": math.inf}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": "-5%"}, "max_drop: expected a number >= 0, or per cent"),
        ({"alpha": 0}, "alpha: expected a number between 0 and 1, found 0"),
        ({"alpha": 1.0}, "alpha: expected a number between 0 and 1, found 1.0"),
        ({"alpha": "low"}, "alpha: expected a number between 0 and 1, found 'low'"),
        ({"alpha": "nan"}, "alpha: expected a number between 0 and 1, found 'nan'"),
        ({"alpha": True}, "alpha: expected a number between 0 and 1, found True"),
        (
            {"test": "chi2"},
            "test: expected permutation or t or wilcoxon or bootstrap, found 'chi2'",
        ),
        ({"test": ["t"]}, "test: expected permutation or t or wilcoxon or bootstrap, found ['t']"),
        ({"n_resamples": 99}, "n_resamples: expected a whole number >= 100, found 99"),
        ({"n_resamples": 1e4}, "n_resamples: expected a whole number >= 100, found 10000.0"),
        ({"seed": -1}, "seed: expected a whole number >= 0, found -1"),
        ({"mode": "worse"}, "mode: expected significant or non_inferior or any, found 'worse'"),
        ({"anyway": "yes"}, "anyway: expected true or false, found 'yes'"),
        (
            {"baseline": "main", "metrics": ["em", "f1"]},
            "the baseline 'main' has no em; it has: f1",
        ),
        (
            {"baseline": "main"},
            "the baseline 'main' has no weighted_score, because it has no em; it has: f1",
        ),
    ],
)
def test_what_is_no_regression_gate_is_refused_where_it_stands(
    info: ScenarioInfo, options: Any, message: str
) -> None:
    """E12: an option that is wrong is named by the path, so that its own line is told."""
    with pytest.raises(GateOptionError) as caught:
        make_gates({"no_regression": options}, info)
    option, colon, said = message.partition(": expected")
    if colon:
        assert caught.value.path == ("no_regression", option)
        assert str(caught.value).startswith(f"expected{said}")
    else:
        assert caught.value.path[0] == "no_regression"
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        (0.02, ("compare_fail",), "expected a mapping, for instance {f1: 0.02}"),
        ({}, ("compare_fail",), "expected a mapping, for instance {f1: 0.02}"),
        ({"f1": 0.02}, ("compare_fail", "f1"), "needs a run to compare with"),
        ({"f1": -1}, ("compare_fail", "f1", "max_drop"), "expected a number >= 0"),
        ({"f1": {"mode": "x"}}, ("compare_fail", "f1", "mode"), "expected significant or"),
    ],
)
def test_what_is_no_short_form_is_refused_where_it_stands(
    info: ScenarioInfo, options: Any, path: tuple[str, ...], message: str
) -> None:
    with pytest.raises(GateOptionError) as caught:
        make_gates({"compare_fail": options}, info)
    assert caught.value.path == path
    assert message in str(caught.value)
