"""What the documentation says of intervals and gates, on few draws from real scores, seeded.

``python -m tests.simulations`` prints the whole tables. A share p of D draws has the standard error
√(p(1 - p)/D): bounds here leave three of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import agreeing
import labelled
import numpy as np
import people_and_judges
import populations
import pytest
from labelled import ByVerdict, Uniform, compared
from needed import named
from others_data import others_data
from simulated import (
    WEIGHTS,
    Pairs,
    equal,
    failures,
    found_shares,
    grouped_alarms,
    grouped_coverage,
    interval_coverage,
    loss_failures,
    stopped,
)

from pytest_rageval.stats.labels.agreement import agreement

others_data("data/openqa-eval")


def full(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.full)


@pytest.fixture(scope="module")
def large() -> Pairs:
    """DPR against FiD-KD: a fall of F1 by 0.096."""
    return Pairs(
        {"f1": populations.openqa("f1", "DPR")}, {"f1": populations.openqa("f1", "FiD-KD")}
    )


@pytest.mark.full
@pytest.mark.parametrize("weights", [full((1.0,)), WEIGHTS])
@pytest.mark.parametrize("n", [20, full(100)])
def test_intervals_hold_the_true_mean(n: int, weights: tuple[float, ...]) -> None:
    """S1, S2: also of a good system, whose scores are nearly all the same."""
    for scores in (
        populations.openqa("f1", "FiD-KD"),
        0.9 + populations.openqa("f1", "FiD-KD") / 10,
    ):
        found = interval_coverage(scores, n, 400, weights=weights)
        assert found.held >= 0.92
        assert found.above <= 0.05


@pytest.mark.full
@pytest.mark.parametrize("n_groups", [10, 20, 50])
def test_intervals_by_group_hold_the_true_mean(n_groups: int) -> None:
    """S2: ten systems' answers to a question are right and wrong together."""
    found = populations.openqa_by_question().by_group
    assert 0.94 <= grouped_coverage(found, n_groups, 1000, by_group=True).held <= 0.99
    assert grouped_coverage(found, n_groups, 200, by_group=False).held < 0.75


@pytest.mark.full
def test_flips_by_group_give_no_more_alarms_than_promised() -> None:
    """S2: 5 % where whole groups have their signs by chance; by sample many more."""
    best = populations.openqa("f1", "FiD-KD")
    others = [populations.openqa("f1", name) - best for name in ("DPR", "FiD", "R2D2", "EviGen")]
    groups = [list(one) for one in zip(*(other.tolist() for other in others), strict=True)]
    assert grouped_alarms(groups, 30, 400, by_group=True) <= 0.085
    assert grouped_alarms(groups, 30, 200, by_group=False) >= 0.12


@pytest.mark.full
@pytest.mark.parametrize("n", [20, full(50), full(100), full(300)])
def test_a_fall_of_the_margin_is_hardly_ever_excluded(n: int) -> None:
    """G3: non_inferior at a true fall of exactly max_drop, nothing but losses: at most 8 %."""
    right = populations.openqa("em", "FiD-KD")
    draws = 300 if n < 300 else 150
    options = {"mode": "non_inferior", "max_drop": 0.02}
    assert 1 - loss_failures(right, 0.02, n, draws, options) <= 0.08


@pytest.mark.full
def test_a_fall_of_just_what_is_allowed_exceeds_nothing(large: Pairs) -> None:
    """S3: alpha 0.05 is two-sided, so 2.5 % of false alarms; ``significant`` fails in half of them.

    0.025 + 3 · √(0.025 · 0.975/400) = 0.048.
    """
    options = {"max_drop": large.fall("f1")}
    assert failures(large, 100, 400, {"mode": "exceeds", **options}) <= 0.048
    assert failures(large, 100, 100, {"mode": "significant", **options}) >= 0.3


@pytest.mark.full
def test_equal_systems_fail_as_rarely_as_alpha_promises(large: Pairs) -> None:
    """S4: a fall is one side of a two-sided alpha of 5 %."""
    for mode in ("significant", "exceeds"):
        assert failures(equal(large), 50, 400, {"mode": mode}) <= 0.048


@pytest.mark.full
def test_max_t_finds_more_than_holm_and_is_wrong_as_rarely() -> None:
    """S4: four metrics that say nearly the same."""
    names = ("f1", "em", "acc", "stringem")
    pairs = Pairs(
        {name: populations.openqa(name, "DPR") for name in names},
        {name: populations.openqa(name, "FiD-KD") for name in names},
    )
    (ours, _), (holms, _) = (found_shares(pairs, 100, 150, how) for how in ("max-t", "holm"))
    assert ours >= holms + 0.03
    # Of any metric, in either direction: 0.05 + 3 · √(0.05 · 0.95/300).
    assert found_shares(equal(pairs), 100, 300, "max-t")[1] <= 0.088


@pytest.mark.parametrize("system", ["newbing", "chatgpt", "fid"])
def test_what_is_decided_is_never_wrong(system: str) -> None:
    """F6: means of .80, .73 and .69 against .75; also what is asked besides changes nothing."""
    found = stopped(populations.accepted(system), 100, 300, 0.0)
    assert found.wrong == 0.0
    assert found.saved > 0.05


@pytest.mark.full
def test_an_error_bound_is_kept() -> None:
    """F6: at the bound itself, where it is hardest: 0.05 + 3 · √(0.05 · 0.95/500) = 0.079."""
    scores = populations.accepted("chatgpt")
    bound = float(scores.mean())
    found = stopped(scores, 100, 500, 0.05, bound=bound)
    assert 0.0 < found.wrong <= 0.079
    assert found.saved >= 0.1


@pytest.mark.full
def test_corrected_means_hold_the_truth_where_the_judges_own_do_not() -> None:
    """300 answers, 30 of them labelled: narrower than the labels alone.

    94.2 and 94.3 % in 3,000 draws; 3 · √(0.942 · 0.058/200) = 0.05.
    """
    others_data("data/evouna-nq")
    for both in (people_and_judges.openqa("gpt-4"), people_and_judges.evouna("fid")):
        found = compared(Uniform(both), 30, 200)
        assert 0.89 <= found.corrected.held <= 0.99
        assert found.corrected.width <= found.labels_only.width
        assert found.judge_only.held < 0.9


@pytest.mark.full
@pytest.mark.parametrize("n", [20, 50, 100])
def test_agreement_by_question_holds_the_truth(n: int) -> None:
    """N3: where whole questions are drawn; as if by sample it is 83 to 91 %."""
    people = agreeing.together(labelled.openqa_groups("gpt-4"))
    names = ("kappa", "ac1", "sensitivity", "specificity", "bias", "auc")
    found = agreeing.coverage(people, names, n, 150)
    apart = agreeing.coverage(people, names, n, 150, by_group=False)
    for name in names:
        # 0.95 - 3 · √(0.95 · 0.05/150) = 0.897
        assert found[name].held >= 0.9, name
        assert found[name].above <= 0.06, name
        assert found[name].none == 0.0
    assert np.mean([one.held for one in apart.values()]) <= 0.92


@pytest.mark.full
@pytest.mark.parametrize(("samples", "n", "apart"), [(40, 100, 0.93), (10, 100, 0.76)])
def test_agreement_of_cells_by_sample_holds_the_truth(samples: int, n: int, apart: float) -> None:
    """In 1,000 draws 94.9 and 93.2 %; as if cells were independent 88.5 and 67.6 %."""
    found = agreeing.coverage_of_cells(samples, n, 150)
    assert found.held >= 0.87  # 0.932 - 3 · √(0.932 · 0.068/150)
    assert found.above <= 0.05
    assert agreeing.coverage_of_cells(samples, n, 150, by_sample=False).held <= apart


def test_an_interval_by_question_is_as_wide_as_a_bootstrap_of_questions() -> None:
    """N3: 399 answers to 82 questions; other code's bootstrap by question gives .621 to .806."""
    groups, rated = labelled.openqa_groups("gpt-4"), agreeing.together
    answers = replace(rated(groups), groups=rated(groups).groups[:82]).samples
    numbers = [at for at, group in enumerate(groups[:82]) for _ in group]
    apart = agreement(answers[:399], (0.0, 1.0))
    together = agreement(
        [replace(one, group=at) for one, at in zip(answers, numbers, strict=True)][:399], (0.0, 1.0)
    )
    assert together.kappa == apart.kappa
    assert (apart.kappa_low, apart.kappa_high) == pytest.approx((0.647, 0.783), abs=5e-4)
    assert together.kappa_low is not None
    assert together.kappa_high is not None
    # Two more groups draw the interval a little towards 0: it is on the safe side.
    assert 0.59 <= together.kappa_low <= 0.622
    assert 0.79 <= together.kappa_high <= 0.807


@pytest.mark.full
@pytest.mark.parametrize("n", [30, 100])
def test_every_coefficient_has_an_interval_that_holds_the_truth(n: int) -> None:
    """N11: of scores, of five levels, and of people among themselves."""
    f1 = agreeing.ungrouped(agreeing.together(agreeing.f1_groups(), cut=0.5))
    among = agreeing.ungrouped(agreeing.annotators())
    for people, names in (
        (f1, ("spearman", "kendall", "auc")),
        (agreeing.five_levels(), ("weighted_kappa", "ac1", "ac2")),
        (among, ("alpha", "ceiling")),
    ):
        for name, found in agreeing.coverage(people, names, n, 400).items():
            assert found.held >= 0.9, name
            assert found.above <= 0.085, name


@pytest.mark.full
@pytest.mark.parametrize(
    ("draw", "n", "held", "width"),
    [
        (lambda: ByVerdict(people_and_judges.openqa("gpt-4")), 20, 0.942, 0.305),
        full(lambda: ByVerdict(labelled.good(people_and_judges.openqa("gpt-4"))), 20, 0.953, 0.217),
        full(lambda: ByVerdict(labelled.good(people_and_judges.evouna("fid"))), 50, 0.948, 0.134),
        full(lambda: Uniform(labelled.good(people_and_judges.openqa("gpt-4"))), 20, 0.954, 0.220),
        full(lambda: Uniform(people_and_judges.openqa("gpt-4")), 20, 0.945, 0.311),
    ],
)
def test_yes_and_no_have_intervals_that_others_found(
    draw: Callable[[], Any], n: int, held: float, width: float
) -> None:
    """N8: figures of code that was written separately, on 3,000 draws; here on 300.

    3 · √(0.95 · 0.05/300) = 0.038; the mean of widths varies by less than a hundredth.
    """
    others_data("data/evouna-nq")
    found = compared(draw(), n, 300).corrected
    assert found.held == pytest.approx(held, abs=0.038)
    assert found.width == pytest.approx(width, rel=0.05)


@pytest.mark.parametrize(
    ("error", "saved", "in_flight"),
    [(0.0, 0.167, None), (0.05, 0.849, 0.796), (0.001, 0.723, 0.670)],
)
def test_as_much_is_saved_as_others_found(
    error: float, saved: float, in_flight: float | None
) -> None:
    """F6: 300 samples of 0 and 1 with the mean 0.9 at a bound of 0.75.

    The figures are those of code that was written separately, on 2,000 draws (simulations,
    sequential_gate_mean_0.75, of the reference file calibration.json).
    """
    found = stopped(np.repeat([0.0, 1.0], [1, 9]), 300, 150, error)
    assert found.saved == pytest.approx(saved, abs=0.03)
    assert in_flight is None or found.in_flight == pytest.approx(in_flight, abs=0.03)


@pytest.mark.full
@pytest.mark.parametrize(
    ("system", "fall", "draws"),
    [("FiD", 0.05, 100), full("DPR", 0.05, 300), full("FiD", 0.02, 100)],
)
def test_the_rows_that_are_named_find_the_fall(system: str, fall: float, draws: int) -> None:
    """F10: in 80 % of runs; 77 to 81 in 500 draws; 3 · √(0.8 · 0.2/100) = 0.12."""
    pairs = Pairs(
        {"f1": populations.openqa("f1", system)}, {"f1": populations.openqa("f1", "FiD-KD")}
    )
    assert abs(named(pairs, fall, draws).found - 0.79) <= 3 * (0.16 / draws) ** 0.5


@pytest.mark.full
def test_a_gate_that_allows_the_fall_finds_one_that_is_larger(large: Pairs) -> None:
    """F10: at a fall of max_drop itself it is red in half of the runs, at 1.3 of it in 80 %.

    Where only the baseline is known, more rows are named than are needed.
    """
    options = {"max_drop": 0.05}
    assert abs(named(large, 0.05, 200, options=options).found - 0.5) <= 0.11
    assert abs(named(large, 0.05, 200, options=options, true=0.065).found - 0.79) <= 0.09
    assert named(large, 0.05, 100, one_run=True).found >= 0.9
