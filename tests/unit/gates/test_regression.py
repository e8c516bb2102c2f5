"""E5, D6: the gate no_regression against a saved run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import GateOptionError, UndecidedGate, make_gates
from pytest_rageval.gates.regression import RegressionGate
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
from pytest_rageval.stats.paired import over_looks
from pytest_rageval.stats.summary import summarize_scenario

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


def info_of(columns: Sequence[MetricColumn], **fields: Any) -> ScenarioInfo:
    return ScenarioInfo("s", "s.yaml", "s.yaml", tuple(columns), **fields)


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
    info = info_of(
        columns,
        compare=() if compare is None else (compare,),
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
        "f1: worse, A 0.5500, B 0.6500 (main), difference -0.1000, p 0.0312, n 6"
    )


def test_a_fall_that_chance_explains_passes() -> None:
    """E5: 5 of 6 samples differ, which cannot reach 0.05: among enough pairs no sign of a fall."""
    now = (*FELL[:5], BEFORE[5])
    found = check({"metrics": ["f1"]}, {"f1": now}, {"f1": BEFORE})
    assert found.outcome == "passed"
    assert "f1: no difference shown, " in found.message
    assert "p 0.0625, n 6" in found.message
    assert "5 samples differ: p cannot fall below 0.0625; 6 would be needed" in found.message


def test_alpha_may_be_a_number_that_yaml_takes_for_text() -> None:
    """YAML 1.1 reads 1e-2 as text, and so it is read as the number that was meant. p = 0.03125."""
    for alpha, outcome in (("4e-2", "failed"), ("1e-2", "passed")):
        options = {"alpha": alpha, "undecided": "pass"}
        found = check(options, {"f1": FELL}, {"f1": BEFORE})
        assert found.outcome == outcome


@pytest.mark.parametrize(
    ("options", "now", "before", "outcome", "ending"),
    [
        ({}, (*FELL, *[None] * 4), (*BEFORE, *[0.5] * 4), "failed", "by the pairs there are: "),
        ({}, FELL, BEFORE, "failed", "mode significant, max_drop 0.0000"),
        ({}, (*BEFORE, *[None] * 4), (*BEFORE, *[0.5] * 4), "passed", "cannot be decided: "),
        ({"mode": "any"}, (0.4, None), (0.5, 0.5), "failed", "by the pairs there are: "),
        ({"mode": "any"}, (0.5, None), (0.5, 0.5), "passed", "cannot be decided: "),
        ({"undecided": "fail"}, (0.5, None), (0.5, 0.5), "failed", "cannot be decided: "),
        ({}, FELL[:5], BEFORE[:5], "passed", "cannot be decided: "),
    ],
)
def test_a_fall_that_is_shown_fails_with_any_number_of_pairs(
    options: Mapping[str, Any], now: Scores, before: Scores, outcome: str, ending: str
) -> None:
    """``undecided: pass`` lets pass what cannot be decided; a significant fall is."""
    given = {"metrics": ["f1"], "undecided": "pass", **options}
    found = check(given, {"f1": now}, {"f1": before})
    assert found.outcome == outcome
    assert ending in found.message
    assert ("cannot be decided" in found.message) == (ending == "cannot be decided: ")


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
    assert found.message.startswith("weighted_score: worse, A 0.5500, B 0.6500 (main)")
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


def test_a_fall_among_few_pairs_is_a_fall() -> None:
    """'undecided: pass' would not let it pass, and is not proposed."""
    options = {"metrics": ["f1"], "mode": "any"}
    found = check(options, {"f1": (0.4, None)}, {"f1": (0.5, 0.5)})
    assert found.outcome == "failed"
    assert found.message.endswith(
        "it fails by the pairs there are: only 1 of the 2 samples of main have a score in both runs"
        ", and min_pairs: 0.9 asks for 2"
    )
    assert check({**options, "undecided": "pass"}, {"f1": (0.4, None)}, {"f1": (0.5, 0.5)}) != (
        "passed"
    )


def test_per_cent_of_nothing_is_nothing() -> None:
    """The baseline's mean is 0: no rise is allowed."""
    options = {"metrics": ["noise"], "mode": "any", "max_drop": "50%"}
    found = check(options, {"noise": (0.1,)}, {"noise": (0.0,)}, columns=[NOISE])
    assert (found.outcome, found.bound) == ("failed", 0.0)
    assert found.message.startswith("noise: rose by 0.1000, more than max_drop 0.0000 (mode any)")


# non_inferior

NOW = (0.5, 0.6, 0.4, 0.5, 0.6, 0.4)
ONCE = (0.5,) * 6
# Differences 0, 0.1, -0.1, 0, 0.1, -0.1 are 0.5, 0.55, 0.45 ... of the range -1..1; below all of
# them P = t⁶/Π x, which is 0.025 at t = (0.025 · (0.5 · 0.55 · 0.45)²)^(1/6) = 0.2694.
HALF = 1 - 2 * (0.025 * (0.5 * 0.55 * 0.45) ** 2) ** (1 / 6)


@pytest.mark.parametrize(
    ("max_drop", "outcome"),
    [(0.0, "failed"), (HALF - 1e-6, "failed"), (HALF, "passed"), (HALF + 1e-6, "passed")],
)
def test_a_larger_fall_must_be_excluded(max_drop: float, outcome: str) -> None:
    """E5: the means are equal; the interval reaches down to -0.46."""
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": max_drop}
    found = check(options, {"f1": NOW}, {"f1": ONCE})
    assert found.outcome == outcome
    assert f"interval -{HALF:.4f}..+{HALF:.4f}, counting one worst pair more" in found.message


@pytest.mark.parametrize("undecided", ["fail", "pass"])
def test_one_sample_excludes_nothing(undecided: str) -> None:
    """Nor may it pass undecided: two pairs that exclude nothing may not, either."""
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": 0.5, "undecided": undecided}
    found = check(options, {"f1": (0.9,)}, {"f1": (0.5,)})
    assert found.outcome == "failed"
    assert found.message.endswith("too few pairs, or groups, for an interval: no fall is excluded")


@pytest.mark.parametrize(("n", "outcome"), [(20, "failed"), (300, "passed")])
def test_equal_pairs_show_as_much_as_their_number_does(n: int, outcome: str) -> None:
    """G3: 20 equal pairs exclude no fall of 0.0125, for all they say.

    1 - 0.025^(1/20) = 0.1684, 1 - 0.025^(1/300) = 0.0122.
    """
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": 0.0125}
    found = check(options, {"f1": (0.5,) * n}, {"f1": (0.5,) * n})
    assert found.outcome == outcome
    half = 0.1684 if n == 20 else 0.0122
    assert f"interval -{half}..+{half}" in found.message


def test_the_one_pair_more_falls_by_the_whole_range() -> None:
    """G3: marks of 1..5 differ by 4 at most: 4 · 0.1684 for 20 equal pairs."""
    marks = MetricColumn("marks", ends=(1.0, 5.0))
    options = {"metrics": ["marks"], "mode": "non_inferior", "max_drop": 1}
    found = check(options, {"marks": (3.0,) * 20}, {"marks": (3.0,) * 20}, columns=[marks])
    assert (found.outcome, "-0.6737..+0.6737" in found.message) == ("passed", True)


def test_where_lower_is_better_the_upper_end_must_not_be_too_high() -> None:
    """G3: 20 falls of 0.3 are 0.35 of the range -1..1; q = 0.025^(1/20) = 0.83157.

    The ends are 2 · 0.35 q - 1 = -0.4179 and 1 - 2 · 0.65 q = -0.0810: no rise at all.
    """
    options = {"metrics": ["noise"], "mode": "non_inferior", "max_drop": 0.0}
    now, before = {"noise": (0.2,) * 20}, {"noise": (0.5,) * 20}
    found = check(options, now, before, columns=[NOISE])
    assert (found.outcome, "-0.4179..-0.0810" in found.message) == ("passed", True)
    found = check(options, before, now, columns=[NOISE])
    assert (found.outcome, "+0.0810..+0.4179" in found.message) == ("failed", True)
    found = check({**options, "metrics": ["f1"]}, {"f1": (0.5,) * 20}, {"f1": (0.2,) * 20})
    assert (found.outcome, "+0.0810..+0.4179" in found.message) == ("passed", True)


def test_what_the_test_would_say_of_chance_is_not_said() -> None:
    """The interval decides, and no p; that 3 differing samples reach none is no matter."""
    options = {"metrics": ["f1"], "mode": "non_inferior", "max_drop": 0.9}
    now = (0.6, 0.4, 0.6, *ONCE)
    found = check(options, {"f1": now}, {"f1": (0.5,) * 9})
    assert found.outcome == "passed"
    assert "samples differ" not in found.message


def test_an_unbounded_metric_has_no_worst_pair() -> None:
    """G3: refused where the scenario is read; so is a weighted score that it enters."""
    length = MetricColumn("length", ends=(0.0, None))
    for metric in ("length", "weighted_score"):
        options = {"metrics": [metric], "mode": "non_inferior"}
        with pytest.raises(GateOptionError, match=f"{metric} is unbounded; declare its") as caught:
            check(options, {"length": ONCE}, {"length": ONCE}, columns=[length])
        assert caught.value.path == ("no_regression", "mode")


# exceeds


@pytest.mark.parametrize(
    ("max_drop", "outcome"),
    [
        # Six falls of 0.1: beyond 0.05 each, one-sided 1/2^6 = 0.0156 < 0.025.
        (0.05, "failed"),
        # At the fall itself all differences are 0: nothing exceeds it.
        (0.1, "passed"),
        (0.2, "passed"),
    ],
)
def test_a_fall_must_be_shown_to_exceed_what_is_allowed(max_drop: float, outcome: str) -> None:
    """S3: the mode asks whether the fall is larger than max_drop, not whether there is one."""
    options = {"metrics": ["f1"], "mode": "exceeds", "max_drop": max_drop}
    found = check(options, {"f1": FELL}, {"f1": BEFORE})
    assert found.outcome == outcome
    if outcome == "failed":
        assert "p 0.0312, beyond a fall of 0.0500 one-sided p 0.0156, n 6" in found.message


def test_where_lower_is_better_a_rise_must_exceed_what_is_allowed() -> None:
    """S3: six rises of 0.1, beyond 0.05 each; at the rise itself all differences are 0."""
    for max_drop, outcome in ((0.05, "failed"), (0.1, "passed")):
        options = {"metrics": ["noise"], "mode": "exceeds", "max_drop": max_drop}
        found = check(options, {"noise": BEFORE}, {"noise": FELL}, columns=[NOISE])
        assert found.outcome == outcome
        if outcome == "failed":
            assert "p 0.0312, beyond a rise of 0.0500 one-sided p 0.0156, n 6" in found.message


def test_whether_a_fall_beyond_can_be_shown_is_asked_of_what_is_tested() -> None:
    """S3: three of 60 differ, which needs no draws; less 0.05 all do, and 100 draws are few."""
    now = (*(0.5 - math.sqrt(at) / 10 for at in (2, 3, 5)), *(0.5,) * 57)
    options = {"metrics": ["f1"], "alpha": 0.005, "n_resamples": 100, "max_drop": 0.05}
    for mode, outcome in (("significant", "passed"), ("exceeds", "failed")):
        found = check({**options, "mode": mode}, {"f1": now}, {"f1": (0.5,) * 60})
        assert found.outcome == outcome
    assert "cannot be decided: 100 resamples cannot reach p < 0.005; 200 can" in found.message


def test_a_significant_fall_may_well_not_exceed() -> None:
    """S3: falls of 0.1 and 0.12 in turn: significant, and beyond 0.1 with 3 of 6 by 0.02 only."""
    now = tuple(one - (0.1 if at % 2 else 0.12) for at, one in enumerate(BEFORE))
    for mode, outcome in (("significant", "failed"), ("exceeds", "passed")):
        options = {"metrics": ["f1"], "mode": mode, "max_drop": 0.1}
        assert check(options, {"f1": now}, {"f1": BEFORE}).outcome == outcome
        # The same as a rise, where lower is better.
        options = {"metrics": ["noise"], "mode": mode, "max_drop": 0.1}
        risen = check(options, {"noise": BEFORE}, {"noise": now}, columns=[NOISE])
        assert risen.outcome == outcome


def test_per_cent_of_the_baseline_may_be_exceeded() -> None:
    """S3: 10 % of B's mean 0.65 is 0.065; 15 % is 0.0975; 16 % is 0.104."""
    outcomes = []
    for share in ("10%", "15%", "16%"):
        options = {"metrics": ["f1"], "mode": "exceeds", "max_drop": share}
        outcomes.append(check(options, {"f1": FELL}, {"f1": BEFORE}).outcome)
    assert outcomes == ["failed", "failed", "passed"]


# Undecidable


def test_five_pairs_can_show_nothing() -> None:
    """G2: all of them fall from 1 to 0, and p = 2/2^5 is not below 0.05."""
    now, before = {"f1": (0.0,) * 5}, {"f1": (1.0,) * 5}
    for test in ("permutation", "wilcoxon"):
        if test == "wilcoxon":
            pytest.importorskip("scipy")
        found = check({"test": test}, now, before)
        assert (found.outcome, found.observed) == ("failed", -1.0)
        assert found.message.endswith(
            "n 5; cannot be decided: 5 pairs cannot reach p < 0.05, whatever the scores; 6 can"
            "; to let it pass: 'undecided: pass'"
        )
        assert check({"test": test, "undecided": "pass"}, now, before).outcome == "passed"
    assert check({"mode": "any"}, now, before).outcome == "failed"
    equal = check({"mode": "any"}, before, before)
    assert equal.outcome == "passed", "this mode knows min_pairs only"


@pytest.mark.parametrize("mode", ["significant", "exceeds", "non_inferior"])
def test_few_pairs_show_no_more_when_they_are_equal(mode: str) -> None:
    """G2: missing evidence is not evidence of no fall; six pairs could have shown one."""
    options = {"mode": mode, "max_drop": 0.9}
    assert check(options, {"f1": BEFORE[:5]}, {"f1": BEFORE[:5]}).outcome == "failed"
    assert check(options, {"f1": BEFORE}, {"f1": BEFORE}).outcome == "passed"
    one = {"f1": BEFORE[:1]}
    assert check(options, one, one).outcome == "failed"
    outcome = "failed" if mode == "non_inferior" else "passed"  # no interval excludes a fall
    assert check({**options, "undecided": "pass"}, one, one).outcome == outcome


def test_holm_needs_more_pairs_for_more_metrics() -> None:
    """G2: six pairs reach 0.03125, times 2 metrics 0.0625; by max-T 0.03125."""
    columns = [F1, MetricColumn("em")]
    same = {"f1": BEFORE, "em": BEFORE}
    options = {"metrics": ["f1", "em"], "correction": "holm"}
    found = check(options, same, same, columns=columns)
    assert found.outcome == "failed"
    assert (
        "6 pairs cannot reach p < 0.05 over 2 metrics, whatever the scores; 7 can" in found.message
    )
    options = {"metrics": ["f1", "em"]}
    assert check(options, same, same, columns=columns).outcome == "passed"


def test_a_metric_that_the_run_lost_leaves_the_weighted_score_undecided() -> None:
    """Contexts were lost on 3 of 20 rows: what is left of the weighted score says "equal"."""
    columns = (F1, MetricColumn("recall"))
    before = {"f1": (0.5,) * 20, "recall": (0.25,) * 20}
    for n_lost, outcome in ((2, "passed"), (3, "failed")):
        now = {"f1": (0.5,) * 20, "recall": (*(None,) * n_lost, *(0.25,) * (20 - n_lost))}
        found = check({"metrics": [WEIGHTED_SCORE]}, now, before, columns=columns)
        assert found.outcome == outcome
    assert (
        "only 17 of the 20 samples of main still have every score (recall missing on 3), and "
        "min_pairs: 0.9 asks for 18" in found.message
    )
    # What the baseline lacked was not lost; another metric is judged by its own scores.
    assert check({"metrics": [WEIGHTED_SCORE]}, before, now, columns=columns).outcome == "passed"
    for options in ({"metrics": ["f1"]}, {"metrics": [WEIGHTED_SCORE], "min_pairs": 0}):
        assert check(options, now, before, columns=columns).outcome == "passed"


def test_a_baseline_without_scores_decides_nothing() -> None:
    """G2: 19 of 20 scores of the baseline are null; or all but two samples are gone."""
    now, nulls = (0.5,) * 20, (0.5, *(None,) * 19)
    found = check({}, {"f1": now}, {"f1": nulls})
    assert found.outcome == "failed"
    assert (
        "only 1 of the 20 samples of main have a score in both runs, and min_pairs: 0.9 asks for 18"
        in found.message
    )
    assert found.message.endswith(
        "; to let it pass: 'undecided: pass' (or 'min_pairs: 0', if what is left is enough)"
    )
    found = check({}, {}, {"f1": (0.5,) * 40}, samples=run_of({"f1": (0.5, 0.5)}))
    assert "only 2 of the 40 samples of main" in found.message
    assert found.outcome == "failed"


@pytest.mark.parametrize(
    ("there", "options", "outcome"),
    [
        (18, {}, "passed"),
        (17, {}, "failed"),
        (17, {"min_pairs": 0.85}, "passed"),
        (6, {"min_pairs": 0}, "passed"),
        (5, {"min_pairs": 0}, "failed"),
        (5, {"undecided": "pass"}, "passed"),
        (17, {"mode": "any"}, "failed"),
        (17, {"mode": "any", "min_pairs": "1e-1"}, "passed"),
    ],
)
def test_a_share_of_the_baseline_must_be_compared(
    there: int, options: Mapping[str, Any], outcome: str
) -> None:
    """G2: of 20 samples, 18 are nine tenths. Few differences among enough pairs pass."""
    now = (0.5,) * there + (None,) * (20 - there)
    assert check(options, {"f1": now}, {"f1": (0.5,) * 20}).outcome == outcome


def test_samples_that_weigh_nothing_or_that_no_run_was_to_score_are_not_asked_for() -> None:
    """G2: 6 of 10 are left: two documents weigh 0, and two rows are skipped in both runs."""
    scores = (0.5,) * 8 + (None, None)
    samples = run_of({"f1": scores}, sample_weight=(1.0,) * 6 + (0.0,) * 2 + (1.0,) * 2)
    samples = [replace(one, outcome="skipped") if at > 7 else one for at, one in enumerate(samples)]
    assert check({}, {}, {"f1": scores}, samples=samples).outcome == "passed"


def test_rows_that_are_gone_are_missed_by_slices_too() -> None:
    """G2: each document that is left is whole, and only 6 of the 20 samples of main are there."""
    found = sliced(["a"] * 6, [f"s{at}" for at in range(20)])
    assert (found.outcome, found.message) == (
        "failed",
        "only 6 of the 20 samples of main are in this run, and min_pairs: 0.9 asks for 18; "
        "to let it pass: 'undecided: pass' (or 'min_pairs: 0', if what is left is enough)",
    )


# Groups


def grouped(options: Mapping[str, Any], groups: Sequence[Any]) -> GateResult:
    """Return the verdict on twelve samples that all fell by 0.1, with these values of ``q``."""
    before = {"f1": (*BEFORE, *BEFORE)}
    samples = run_of(
        {"f1": (*FELL, *FELL)}, metadata=[{} if q is None else {"q": q} for q in groups]
    )
    info = ScenarioInfo(
        "s", "s.yaml", "s.yaml", (F1,), baselines={"main": saved("main", before)}, group_by="q"
    )
    (gate,) = make_gates({"no_regression": {"baseline": "main", **options}}, info)
    return gate.check(summarize_scenario(info, samples, complete=True))


def test_samples_of_a_group_fall_together() -> None:
    """S2: six groups of two: p = 2/2^6, where twelve samples would have 2/2^12."""
    found = grouped({}, [at // 2 for at in range(12)])
    assert (found.outcome, "p 0.0312, n 12 in 6 groups" in found.message) == ("failed", True)


def test_few_groups_decide_nothing_however_many_samples_they_have() -> None:
    """S2, G2: one group has no interval, five cannot reach 0.05."""
    one, five = grouped({}, ["a"] * 12), grouped({}, [at % 5 for at in range(12)])
    assert "1 group cannot reach p < 0.05, whatever the scores; 6 can" in one.message
    assert "5 groups cannot reach p < 0.05, whatever the scores; 6 can" in five.message
    assert (one.outcome, five.outcome) == ("failed", "failed")
    # Rows without the field are groups of their own.
    assert grouped({}, ["a"] * 7 + [None] * 5).outcome == "failed"
    assert "in 6 groups" in grouped({}, ["a"] * 7 + [None] * 5).message


# Lower is better


@pytest.mark.parametrize("mode", ["significant", "exceeds", "any", "non_inferior"])
def test_a_rise_is_a_regression_where_lower_is_better(mode: str) -> None:
    """E5, S3, G3: FELL is the better run of noise.

    Six falls of 0.1 are 0.45 of the range: 1 - 2 · 0.55 · 0.025^(1/6) = 0.4052 at the upper end,
    six rises 1 - 2 · 0.45 · 0.025^(1/6) = 0.5134.
    """
    options = {"metrics": ["noise"], "mode": mode, "max_drop": 0.0}
    if mode == "non_inferior":
        options["max_drop"] = 0.41
    worse = check(options, {"noise": BEFORE}, {"noise": FELL}, columns=[NOISE])
    better = check(options, {"noise": FELL}, {"noise": BEFORE}, columns=[NOISE])
    assert (worse.outcome, better.outcome) == ("failed", "passed")
    assert worse.observed == pytest.approx(-0.1, abs=1e-12)
    assert better.observed == pytest.approx(0.1, abs=1e-12)
    assert "difference +0.1000" in worse.message
    word = "rose by 0.1000, more than max_drop 0.0000 (mode any)" if mode == "any" else "worse"
    assert worse.message.startswith(f"noise: {word}, ")
    assert better.message.startswith("noise: better, ")


# Several metrics

SAME = (0.5,) * 6


@pytest.mark.parametrize(("column", "word"), [(F1, "fall"), (NOISE, "rise")])
def test_what_this_many_samples_show_is_what_would_be_worse(
    column: MetricColumn, word: str
) -> None:
    """Of noise, less is better: a fall would be an improvement."""
    now, before = {column.name: (0.5, 0.6, 0.4) * 2}, {column.name: (0.4, 0.6, 0.5) * 2}
    found = check({"metrics": [column.name]}, now, before, columns=[column])
    assert f"; with this n, a {word} below 0." in found.message


def test_keys_of_the_users_own_are_no_options() -> None:
    found = check({"x-why": "agreed in May"}, {"f1": BEFORE}, {"f1": BEFORE})
    assert found.outcome == "passed"


def test_several_metrics_are_adjusted_together() -> None:
    """D6, S4: two equal metrics: max-T asks no price; Holm takes 2 · 0.03125."""
    columns = [F1, MetricColumn("em")]
    now, before = {"f1": FELL, "em": FELL}, {"f1": BEFORE, "em": BEFORE}
    found = check({"metrics": ["f1", "em"]}, now, before, columns=columns)
    assert found.outcome == "failed"
    assert found.message.startswith("f1: worse, A 0.5500, B 0.6500 (main), difference -0.1000, ")
    assert "p 0.0312 (max-T over 2 metrics 0.0312), n 6" in found.message
    options = {"metrics": ["f1", "em"], "correction": "holm", "undecided": "pass"}
    found = check(options, now, before, columns=columns)
    assert found.outcome == "passed"
    assert found.message.startswith("none of 2 metrics, worst f1: undecided, A ")
    assert "p 0.0312 (Holm over 2 metrics 0.0625)" in found.message
    options = {"metrics": ["f1", "em"], "correction": "none"}
    found = check(options, now, before, columns=columns)
    assert (found.outcome, "p 0.0312, n 6" in found.message) == ("failed", True)


def test_all_metrics_that_fell_are_named() -> None:
    columns = [F1, MetricColumn("em"), MetricColumn("acc")]
    now = {"f1": FELL, "em": SAME, "acc": FELL}
    before = {"f1": BEFORE, "em": SAME, "acc": BEFORE}
    options = {"metrics": ["f1", "em", "acc"], "alpha": 0.2}
    found = check(options, now, before, columns=columns)
    assert found.outcome == "failed"
    first, second = found.message.split("; acc: ")
    assert first.startswith("f1: worse, A ")
    assert second.startswith("worse, A 0.5500")
    assert "em" not in found.message


def test_the_observed_figure_is_that_of_the_metric_that_fell_most() -> None:
    columns = [F1, MetricColumn("em")]
    now, before = {"f1": FELL, "em": (0.1,) * 6}, {"f1": BEFORE, "em": SAME}
    found = check({"metrics": ["f1", "em"], "mode": "any"}, now, before, columns=columns)
    assert found.observed == pytest.approx(-0.4, abs=1e-12)


def test_of_what_passed_the_metric_that_gained_least_is_shown() -> None:
    """em is as it was, f1 rose by 0.1; then em fell by 0.01 and is the worst."""
    columns = [F1, MetricColumn("em")]
    for em, observed in ((SAME, 0.0), ((SAME[0] - 0.01, *SAME[1:]), -0.01 / 6)):
        now, before = {"f1": BEFORE, "em": em}, {"f1": FELL, "em": SAME}
        found = check({"metrics": ["f1", "em"]}, now, before, columns=columns)
        assert found.outcome == "passed"
        assert found.message.startswith("none of 2 metrics, worst em: ")
        assert found.observed == pytest.approx(observed, abs=1e-12)


def test_a_metric_without_a_pair_is_worse_than_any_fall() -> None:
    columns = [F1, MetricColumn("em")]
    now, before = {"f1": FELL, "em": (None,) * 6}, {"f1": BEFORE, "em": SAME}
    options = {"metrics": ["f1", "em"], "mode": "any"}
    found = check(options, now, before, columns=columns)
    assert (found.outcome, found.observed, found.margin) == ("failed", None, None)
    assert found.message.startswith("f1: fell by 0.1000, more than max_drop 0.0000 (mode any), A ")
    assert found.message.endswith("; em: no sample was scored in both runs")


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
    info = info_of((F1,), compare=(compare,), baselines={"main": saved("main", before)})
    (gate,) = make_gates({"no_regression": {"metrics": ["f1"], "undecided": "pass"}}, info)
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
    assert f"p {p:.4f}, n 2" in found.message


def test_a_t_test_of_equal_falls_says_that_it_says_nothing() -> None:
    """D6, G2: no variance, no nonsense, and no pass; ``any`` is the mode for certainty."""
    pytest.importorskip("scipy")
    found = check({"metrics": ["f1"], "test": "t"}, {"f1": (0.4, 0.4)}, {"f1": (0.5, 0.5)})
    assert found.outcome == "failed"
    assert "no p value" in found.message
    assert "the differences do not vary" in found.message


@pytest.mark.parametrize(
    ("own", "used"),
    [
        ({}, SignificanceTest("t", 0.01, 500, 7, "none")),
        ({"seed": 0}, SignificanceTest("t", 0.01, 500, 0, "none")),
        (
            {"test": "bootstrap", "alpha": 0.1, "correction": "holm"},
            SignificanceTest("bootstrap", 0.1, 500, 7, "holm"),
        ),
        ({"n_resamples": 100}, SignificanceTest("t", 0.01, 100, 7, "none")),
    ],
)
def test_each_option_comes_from_compare_unless_the_gate_has_it(
    own: dict[str, Any], used: SignificanceTest
) -> None:
    """E5: a seed of 0 is a seed."""
    compare = Comparing("main", (), SignificanceTest("t", 0.01, 500, 7, "none"))
    baselines = {"main": saved("main", {"f1": BEFORE})}
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (F1,), compare=(compare,), baselines=baselines)
    (gate,) = make_gates({"no_regression": own}, info)
    assert isinstance(gate, RegressionGate)
    assert gate.test == used


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
    assert sliced.message.startswith("1 of 2 values of doc_name: a: weighted_score: worse, A 0.55")
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
    found = sliced(("a", "a", "b", "c"), ("s0", "s1"), undecided="pass")
    assert found.outcome == "passed"
    assert found.message.startswith("the only value of doc_name: weighted_score: undecided, A ")
    assert found.message.endswith("; not in main, left out: b, c")


def test_many_new_slices_are_counted() -> None:
    found = sliced(("a", *"bcdefgh"), ("s0",))
    assert found.message.endswith("; not in main, left out: b, c, d, e, f and 2 more")


def test_a_slice_that_is_not_new_and_has_no_pair_fails() -> None:
    """Missing is not equal: s1 is in both runs, and main has no score of it."""
    samples = run_of({"f1": (0.5, 0.5, 0.5)}, doc_name=("a", "b", "c"))
    scores: dict[str, float | None] = {"s0": 0.5, "s1": None}
    baseline = Baseline("main", ("s0", "s1"), {"f1": scores, WEIGHTED_SCORE: scores})
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (F1,), baselines={"main": baseline})
    options = {"baseline": "main", "undecided": "pass"}
    (gate,) = make_gates({"by": {"doc_name": {"no_regression": options}}}, info)
    found = gate.check(summarize_scenario(info, samples, True))
    assert (found.outcome, found.message) == (
        "failed",
        "1 of 2 values of doc_name: b: weighted_score: no sample was scored in both runs"
        "; not in main, left out: c",
    )


def test_up_to_five_new_slices_are_named() -> None:
    found = sliced(("a", *"bcdef"), ("s0",))
    assert found.message.endswith("; not in main, left out: b, c, d, e, f")


@pytest.mark.parametrize(("gone", "outcome"), [(False, "passed"), (True, "failed")])
def test_samples_that_are_gone_are_missed_though_their_slice_is(gone: bool, outcome: str) -> None:
    """Of s0..s3 the run has the first three, s0 at no weight: 2 of 3, and 0.9 asks for 3."""
    samples = run_of({"f1": [0.5] * 3}, doc_name=("a", "a", "b"), sample_weight=(0.0, 1.0, 1.0))
    ids = ("s0", "s1", "s2", "s3") if gone else ("s0", "s1", "s2")
    half = dict.fromkeys(ids, 0.5)
    info = info_of(
        (F1,), baselines={"main": Baseline("main", ids, {"f1": half, WEIGHTED_SCORE: half})}
    )
    options = {"by": {"doc_name": {"no_regression": {"baseline": "main", "mode": "any"}}}}
    (gate,) = make_gates(options, info)
    found = gate.check(summarize_scenario(info, samples, True))
    assert found.outcome == outcome
    if gone:
        assert found.message == (
            "only 2 of the 3 samples of main are in this run, and min_pairs: 0.9 asks for 3"
            "; to let it pass: 'undecided: pass' (or 'min_pairs: 0', if what is left is enough)"
        )


def test_slices_of_slices_compare_what_each_has() -> None:
    """Two documents of two levels each; of c, nothing was saved. em of s0 fell alone."""
    docs = ("a", "a", "b", "b", "c")
    levels: list[dict[str, Any]] = [{"level": at % 2} for at in range(5)]
    ids = ("s0", "s1", "s2", "s3")
    half = dict.fromkeys(ids, 0.5)
    info = info_of(
        (F1,), metadata_columns=("level",), baselines={"main": Baseline("main", ids, {"f1": half})}
    )
    asked = {"no_regression": {"baseline": "main", "metrics": ["f1"], "mode": "any"}}
    (gate,) = make_gates({"by": {"doc_name": {"by": {"level": asked}}}}, info)
    for first, outcome in ((0.5, "passed"), (0.4, "failed")):
        samples = run_of({"f1": [first, *[0.5] * 4]}, doc_name=docs, metadata=levels)
        found = gate.check(summarize_scenario(info, samples, True))
        assert (found.name, found.outcome) == ("by.doc_name.by.level.no_regression", outcome)
        assert found.message.endswith("; not in main, left out: c")
    assert found.message.startswith("1 of 2 values of doc_name: a: 1 of 2 values of level: 0: f1: ")


def test_a_sample_that_the_saved_run_scored_and_this_one_skips_is_missed() -> None:
    """One that neither run scored is not asked for: 3 of 3 then, and 3 of 4 else."""
    samples = run_of({"f1": [0.5] * 4})
    samples[3] = replace(samples[3], outcome="skipped", weighted_score=None, scores={"f1": None})
    options = {"metrics": ["f1"], "mode": "any"}
    found = check(options, {}, {"f1": (0.5, 0.5, 0.5, None)}, samples=samples)
    assert found.outcome == "passed"
    found = check(options, {}, {"f1": (0.5,) * 4}, samples=samples)
    assert found.outcome == "failed"
    assert "only 3 of the 4 samples of main have a score in both runs" in found.message


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
    info = info_of(columns, compare=(Comparing("main"),), baselines={"main": saved("main", before)})
    options = {"f1": 0.02, "em": {"max_drop": "20%"}, "weighted_score": {"mode": "any"}}
    result = summarize_scenario(info, run_of({"f1": FELL, "em": FELL}), complete=True)
    found = {gate.name: gate.check(result) for gate in make_gates({"compare_fail": options}, info)}
    assert {name: gate.outcome for name, gate in found.items()} == {
        "compare_fail.f1": "failed",
        "compare_fail.em": "passed",
        "compare_fail.weighted_score": "failed",
    }
    assert "max-T" not in found["compare_fail.f1"].message
    make_gates({"compare_fail": {"f1": {"metrics": ["F1"]}}}, info)
    with pytest.raises(GateOptionError, match="of this metric alone: name each"):
        make_gates({"compare_fail": {"f1": {"metrics": ["f1", "em"]}}}, info)


def test_a_run_that_is_not_there_yet_decides_nothing() -> None:
    """It is about to be saved for the first time."""
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (F1,))
    options = {"no_regression": {"baseline": "main", "metrics": ["f1"]}}
    result = summarize_scenario(info, run_of({"f1": FELL}), complete=True)
    (whole,) = make_gates(options, info)
    assert whole == UndecidedGate("no_regression", "main", ("f1",))
    assert whole.check(result) == GateResult(
        "no_regression", "skipped", None, None, "not compared with 'main'"
    )
    (sliced,) = make_gates({"by": {"doc_name": options}}, info)
    assert sliced.check(result) == GateResult(
        "by.doc_name.no_regression", "skipped", None, None, "not compared with 'main'"
    )


# What cannot be asked


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (["em"], "the baseline 'main' has no em; it has: f1"),
        (["weighted_score", "em"], "has no weighted_score, em, because it has no acc; it has: f1"),
        (
            ["weighted_score", "em", "acc"],
            "the baseline 'main' has no weighted_score, em, acc; it has: f1",
        ),
    ],
)
def test_what_a_saved_run_lacks_is_named_with_the_reason(metrics: list[str], said: str) -> None:
    """shown weighs nothing, and no weighted score is missing for its sake."""
    columns = (F1, MetricColumn("em"), MetricColumn("acc"), MetricColumn("shown", weight=0.0))
    baselines = {"main": Baseline("main", ("s0",), {"f1": {"s0": 0.5}})}
    made = ScenarioInfo("s", "s.yaml", "s.yaml", columns, baselines=baselines)
    with pytest.raises(GateOptionError) as caught:
        make_gates({"no_regression": {"baseline": "main", "metrics": metrics}}, made)
    assert said in str(caught.value)


@pytest.fixture
def info() -> ScenarioInfo:
    return info_of(
        (F1, MetricColumn("em")), baselines={"main": Baseline("main", ("s0",), {"f1": {"s0": 0.5}})}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("main", "expected a mapping, for instance {baseline: main}"),
        (None, "expected a mapping, for instance {baseline: main}"),
        ({}, "needs a run to compare with: give 'baseline', or compare the run"),
        ({"metrics": ["f1"]}, "needs a run to compare with"),
        ({"max_drp": 1}, "unknown option 'max_drp'. Did you mean 'max_drop'? Known: alpha, "),
        ({"baseline": ""}, "must not be empty"),
        ({"metrics": "f1"}, "metrics: expected a list, found 'f1'"),
        ({"metrics": []}, "must not be empty"),
        ({"metrics": [1]}, "unknown metric '1'. Did you mean 'f1'?"),
        ({"metrics": ["ff1"]}, "unknown metric 'ff1'. Did you mean 'f1'? Known: em, f1, weighted_"),
        ({"max_drop": -0.1}, "max_drop: expected a number >= 0, or per cent like 5%, found -0.1"),
        ({"max_drop": True}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": math.nan}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": math.inf}, "max_drop: expected a number >= 0, or per cent"),
        ({"max_drop": "-5%"}, "max_drop: expected a number >= 0, or per cent"),
        ({"alpha": 1.0}, "alpha: expected a number between 0 and 1, found 1.0"),
        (
            {"test": "chi2"},
            "test: expected 'permutation', 't', 'wilcoxon' or 'bootstrap', found 'chi2'",
        ),
        ({"n_resamples": 99}, "n_resamples: expected a number >= 100, found 99"),
        ({"seed": -1}, "seed: expected a number >= 0, found -1"),
        (
            {"mode": "worse"},
            "mode: expected 'significant', 'exceeds', 'non_inferior' or 'any', found 'worse'",
        ),
        ({"correction": "b"}, "correction: expected 'max-t', 'holm' or 'none', found 'b'"),
        ({"undecided": "skip"}, "undecided: expected 'fail' or 'pass', found 'skip'"),
        ({"min_pairs": 1.1}, "min_pairs: expected a number from 0 to 1, found 1.1"),
        ({"anyway": "maybe"}, "anyway: expected true or false, found 'maybe'"),
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
        ({"f1": -1}, ("compare_fail", "f1"), "expected a number >= 0"),
        ({"f1": {"mode": "x"}}, ("compare_fail", "f1", "mode"), "expected 'significant',"),
    ],
)
def test_what_is_no_short_form_is_refused_where_it_stands(
    info: ScenarioInfo, options: Any, path: tuple[str, ...], message: str
) -> None:
    with pytest.raises(GateOptionError) as caught:
        make_gates({"compare_fail": options}, info)
    assert caught.value.path == path
    assert message in str(caught.value)


# What is new names the key of what was before


def test_what_max_t_alone_shows_names_the_old_method() -> None:
    """[U6] Two equal metrics, six falls of seven: p 2/2^6 is adjusted by Holm alone, doubled."""
    seven, fell = (*BEFORE, 0.3), (*FELL, 0.3)
    now, before = {"f1": fell, "noise": fell}, {"f1": seven, "noise": seven}
    columns = (F1, MetricColumn("noise"))
    hint = "by Holm's stricter method it would pass: 'correction: holm'"
    found = check({"metrics": ["f1", "noise"]}, now, before, columns=columns)
    assert (found.outcome, hint in found.message) == ("failed", True)
    found = check({"metrics": ["f1", "noise"], "correction": "holm"}, now, before, columns=columns)
    assert (found.outcome, hint in found.message) == ("passed", False)


def test_what_both_methods_show_names_no_other() -> None:
    """[U6] One metric; and two whose eight falls have p 2/2^8 = 0.0078, doubled 0.0156."""
    alone = check({"metrics": ["f1"]}, {"f1": FELL}, {"f1": BEFORE})
    before = (*BEFORE, 0.9, 0.8)
    fell = tuple(score - 0.1 for score in before)
    both = check(
        {"metrics": ["f1", "noise"]},
        {"f1": fell, "noise": fell},
        {"f1": before, "noise": before},
        columns=(F1, MetricColumn("noise")),
    )
    for found in (alone, both):
        assert found.outcome == "failed"
        assert "correction" not in found.message


@pytest.mark.parametrize(
    ("options", "outcome", "is_news"),
    [
        # Holm's figure is 2 · 2/2^6 = 0.0625: not below 0.05, nor below 0.0625.
        ({}, "failed", True),
        ({"alpha": 0.0625}, "failed", True),
        ({"alpha": 0.07}, "failed", False),
        # By the raw p, and by no p at all, max-T has no part in it.
        ({"correction": "none"}, "failed", False),
        ({"mode": "any"}, "failed", False),
        ({"mode": "non_inferior"}, "failed", False),
    ],
)
def test_the_old_method_is_named_where_it_would_have_passed(
    options: dict[str, Any], outcome: str, is_news: bool
) -> None:
    """[U6] Two metrics, six falls of seven each."""
    seven, fell = (*BEFORE, 0.3), (*FELL, 0.3)
    found = check(
        {"metrics": ["f1", "em"], **options},
        {"f1": fell, "em": fell},
        {"f1": seven, "em": seven},
        columns=(F1, MetricColumn("em")),
    )
    assert (found.outcome, "correction: holm" in found.message) == (outcome, is_news)


def test_what_a_fall_was_held_against_ends_the_sentence() -> None:
    """Eight falls of 0.11 to 0.18: all of one sign, p 2/2^8. No remark, and nothing in brackets."""
    now = tuple(0.5 - (11 + at) / 100 for at in range(8))
    options = {"metrics": ["f1"], "max_drop": 0.05}
    found = check(options, {"f1": now}, {"f1": (0.5,) * 8})
    assert found.message.endswith("p 0.0078, n 8; mode significant, max_drop 0.0500")
    found = check({**options, "mode": "any", "max_drop": 0.2}, {"f1": now}, {"f1": (0.5,) * 8})
    assert (found.outcome, "power" in found.message) == ("passed", False)
    now = (0.6, 0.4, *(0.5,) * 6)
    found = check({"metrics": ["f1"], "mode": "any"}, {"f1": now}, {"f1": (0.5,) * 8})
    assert (found.outcome, "power" in found.message) == ("passed", False)


COSINE = MetricColumn("cosine", ends=(-1.0, 1.0), as_is=True)
MS = MetricColumn("ms", ends=(0.0, None), higher_is_better=False)
LOG = MetricColumn("log", ends=(None, 0.0))


@pytest.mark.parametrize(
    ("column", "options"),
    [
        (NOISE, {"max_drop": "150%"}),  # lower is better: it may rise to more than twice
        (MS, {"max_drop": "300%"}),
        (COSINE, {"max_drop": "150%"}),  # from 0.4 to -0.2
        (LOG, {"max_drop": "150%"}),
        (F1, {"max_drop": "99.5 %"}),
        (F1, {"max_drop": "150%", "mode": "non_inferior", "undecided": "pass"}),  # an interval
    ],
)
def test_a_drop_in_per_cent_that_can_be_exceeded_is_taken(
    column: MetricColumn, options: Mapping[str, Any]
) -> None:
    scores = {column.name: (-0.5,) * 6 if column is LOG else BEFORE}
    given = {"metrics": [column.name], **options}
    assert check(given, scores, scores, columns=[column]).outcome in ("passed", "failed")


@pytest.mark.parametrize("mode", ["significant", "exceeds", "any"])
@pytest.mark.parametrize("metric", ["f1", WEIGHTED_SCORE])
@pytest.mark.parametrize("drop", ["100%", "150%"])
def test_a_drop_of_all_or_more_is_refused(metric: str, mode: str, drop: str) -> None:
    """From 0.65 to 0 is a fall by 100 %, and no more than that."""
    options = {"metrics": [metric], "max_drop": drop, "mode": mode}
    with pytest.raises(GateOptionError, match=f"max_drop {drop} .* {metric} .* by more than 100%"):
        check(options, {"f1": (0.0,) * 6}, {"f1": BEFORE})


@pytest.mark.parametrize("max_drop", [1, 1.0, 2, "5"])
@pytest.mark.parametrize("mode", ["significant", "exceeds", "non_inferior", "any"])
def test_a_drop_that_cannot_be_exceeded_is_refused(max_drop: Any, mode: str) -> None:
    """f1 is from 0 to 1: 2, written for 2 %, would pass whatever happens."""
    with pytest.raises(GateOptionError, match=r"the range of f1 is 1 wide.* write \d%"):
        check({"metrics": ["f1"], "max_drop": max_drop, "mode": mode}, {"f1": FELL}, {"f1": BEFORE})


# Several runs


LOOKS = 50


def held_against(
    kind: str, options: Mapping[str, Any], *, test: SignificanceTest | None = None
) -> list[RegressionGate]:
    """Return the gates of a scenario that compares with main, and with v1.4 in 50 looks."""
    pinned = over_looks(test or SignificanceTest(), LOOKS, 1)
    before = {"f1": BEFORE, "noise": BEFORE}
    info = info_of(
        (F1, NOISE),
        compare=(Comparing("main"), Comparing("v1.4", test=pinned)),
        baselines={name: saved(name, before) for name in ("main", "v1.4", "other")},
    )
    gates = make_gates({kind: options}, info)
    assert all(isinstance(gate, RegressionGate) for gate in gates)
    return [gate for gate in gates if isinstance(gate, RegressionGate)]


@pytest.mark.parametrize(
    ("kind", "options", "names"),
    [
        (
            "no_regression",
            {"metrics": ["f1"]},
            ["no_regression.main.f1", "no_regression.v1.4.f1"],
        ),
        (
            "no_regression",
            {"metrics": ["f1", "noise"]},
            ["no_regression.main", "no_regression.v1.4"],
        ),
        ("compare_fail", {"f1": 0.1}, ["compare_fail.main.f1", "compare_fail.v1.4.f1"]),
        ("no_regression", {"metrics": ["f1"], "baseline": "v1.4"}, ["no_regression"]),
        ("no_regression", {"metrics": ["f1"], "baseline": "other"}, ["no_regression"]),
    ],
)
def test_each_run_has_its_gate_unless_one_is_named(
    kind: str, options: Mapping[str, Any], names: list[str]
) -> None:
    """F7: names have dots, hence the fields: which run, and of a single metric which."""
    gates = held_against(kind, options)
    assert [gate.name for gate in gates] == names
    named = options.get("baseline")
    assert [gate.against for gate in gates] == ([named] if named else ["main", "v1.4"])


def test_a_look_has_its_part_of_alpha() -> None:
    """F7: 0.05 / 50 = 0.001, and 0.1 / 50 for a gate with an alpha of its own."""
    alphas = [gate.test.alpha for gate in held_against("no_regression", {"metrics": ["f1"]})]
    assert alphas == pytest.approx([0.05, 0.001])
    own = held_against("no_regression", {"metrics": ["f1"], "alpha": 0.1})
    assert [gate.test.alpha for gate in own] == pytest.approx([0.1, 0.002])
    (named,) = held_against("no_regression", {"metrics": ["f1"], "baseline": "v1.4"})
    assert named.test.alpha == pytest.approx(0.001)


def test_resamples_are_as_many_as_show_a_tenth_of_alpha() -> None:
    """F7: 1 / (n + 1) <= 0.001 / 10 from n = 9,999 on; by Holm over two metrics 19,999."""
    sampled = SignificanceTest(n_resamples=1_000)
    _, gate = held_against("no_regression", {"metrics": ["f1"]}, test=sampled)
    assert gate.test.n_resamples == 9_999
    options = {"metrics": ["f1", "noise"], "correction": "holm", "n_resamples": 500}
    _, gate = held_against("no_regression", options)
    assert gate.test.n_resamples == 19_999


def test_more_than_a_million_resamples_are_refused() -> None:
    """F7: 0.0001 / 50 = 2e-6, which asks for 10 / 2e-6 - 1 = 4,999,999."""
    with pytest.raises(GateOptionError, match="needs 4,999,999 resamples, more than 1,000,000"):
        held_against("no_regression", {"metrics": ["f1"], "alpha": 0.0001})


def test_what_tests_nothing_shares_no_alpha() -> None:
    """F7: mode any is refused for the pinned run, and held against the other where it is named."""
    with pytest.raises(GateOptionError, match="'v1.4' has 50 looks, which share alpha") as caught:
        held_against("no_regression", {"metrics": ["f1"], "mode": "any"})
    assert caught.value.path == ("no_regression", "mode")
    options = {"metrics": ["f1"], "mode": "any", "baseline": "main"}
    assert [gate.name for gate in held_against("no_regression", options)] == ["no_regression"]


@pytest.mark.parametrize("pairs", [10, 11, 12])
def test_what_cannot_be_decided_depends_on_the_run(pairs: int) -> None:
    """F7: 2^(1-n) < 0.001 from n = 11 on; for main, 2^(1-n) < 0.05 from n = 6 on."""
    now, before = {"f1": (0.4,) * pairs}, {"f1": (0.5,) * pairs}
    info = info_of(
        (F1,),
        compare=(Comparing("main"), Comparing("v1", test=over_looks(SignificanceTest(), LOOKS))),
        baselines={name: saved(name, before) for name in ("main", "v1")},
        total=pairs,
    )
    main, pinned = make_gates({"no_regression": {"metrics": ["f1"]}}, info)
    result = summarize_scenario(info, run_of(now), complete=True)
    assert "worse" in main.check(result).message
    found = pinned.check(result)
    assert found.outcome == "failed"
    assert ("10 pairs cannot reach p < 0.001" in found.message) == (pairs < 11)
    assert ("f1: worse" in found.message) == (pairs >= 11)
