"""E20: the gate ``best``, which nothing passes by being undecidable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ranked_variants import contest_of, run_of

from pytest_rageval.engine.verdict.best import best_verdict
from pytest_rageval.model import GateResult, MetricColumn, Ranking, ScenarioResult
from pytest_rageval.stats.variant_ranking import rank_variants

ONES, ZEROS = [1.0] * 8, [0.0] * 8
SEVEN = [1.0] * 7 + [0.0]


def ranked(*results: ScenarioResult, at_least: str, **options: Any) -> tuple[Ranking, GateResult]:
    names = [one.info.variant for one in results]
    contest = contest_of(*names, at_least=at_least, **options)
    ranking = rank_variants(results, contest)
    return ranking, best_verdict(ranking, contest)


def verdict(*results: ScenarioResult, at_least: str, **options: Any) -> GateResult:
    return ranked(*results, at_least=at_least, **options)[1]


def test_a_pass_says_what_it_rests_on() -> None:
    """One of eight differs: ahead by 1/8, and that can be chance.

    The standard error is 1/8 (differences 1 and seven 0: variance 1/8, over 8 samples), and a power
    of 80 % needs t(0.975; 7) + t(0.8; 7) = 2.3646 + 0.8960 of them.
    """
    found = verdict(run_of("bm25", ONES), run_of("dense", SEVEN), at_least="dense")
    assert found == GateResult(
        "best",
        "passed",
        -0.125,
        0.0,
        "nothing is significantly better than dense (f1 0.8750, 8 common samples, 1 pair, alpha "
        "0.05); bm25 is ahead by 0.1250 (p 1.0000); a difference below 0.4076 may go unseen "
        "(power 80 %)",
        -0.125,
    )


def test_the_best_itself_passes() -> None:
    """All against seven and none: 2/256 for both of the latter (see test_ranking)."""
    runs = [run_of("dense", ONES), run_of("bm25", ZEROS), run_of("gpt", [0.0] * 7 + [1.0])]
    found = verdict(*runs, at_least="dense")
    assert (found.outcome, found.observed) == ("passed", 0.875)
    assert found.message == (
        "nothing is significantly better than dense (f1 1.0000, 8 common samples, max-T over 3 "
        "pairs, alpha 0.05); gpt is behind by 0.8750 (p 0.0156, adjusted 0.0156)"
    )


def test_equal_variants_pass() -> None:
    found = verdict(run_of("dense", SEVEN), run_of("gpt", SEVEN), at_least="dense")
    assert found.outcome == "passed"
    assert "; gpt is equal (p 1.0000)" in found.message


def test_it_fails_where_something_is_significantly_better() -> None:
    runs = [run_of("dense", ZEROS), run_of("bm25", SEVEN), run_of("gpt", ONES)]
    found = verdict(*runs, at_least="dense")
    assert (found.outcome, found.observed, found.bound, found.margin) == ("failed", -1.0, 0.0, -1.0)
    # The t interval of seven 1 and a 0: 0.875 -+ 2.3646 · 0.125.
    assert found.message == (
        "gpt is significantly better than dense: f1 1.0000 against 0.0000, difference +1.0000 "
        "(+1.0000..+1.0000), p 0.0078, adjusted 0.0078 (max-T over 3 pairs), 8 common samples; "
        "bm25 is significantly better than dense: f1 0.8750 against 0.0000, difference +0.8750 "
        "(+0.5794..+1.1706), p 0.0156, adjusted 0.0156 (max-T over 3 pairs), 8 common samples"
    )


def test_where_lower_is_better_a_smaller_figure_fails_it() -> None:
    column = MetricColumn("ms", higher_is_better=False)
    runs = [run_of("dense", [0.9] * 8, column), run_of("gpt", [0.2] * 8, column)]
    found = verdict(*runs, at_least="dense", of="ms")
    assert (found.outcome, found.observed) == ("failed", pytest.approx(-0.7, abs=1e-15))
    assert "ms 0.2000 against 0.9000, difference -0.7000 (-0.7000..-0.7000)" in found.message
    assert verdict(*runs, at_least="gpt", of="ms").outcome == "passed"


def test_what_is_undecidable_fails_and_says_what_it_could_have_shown() -> None:
    """Seven of ten samples are common, six equal and one not: 2.4469 + 0.9057 errors of 1/7."""
    runs = [run_of("dense", [1.0] * 10), run_of("gpt", [*[1.0] * 6, 0.0, None, None, None])]
    found = verdict(*runs, at_least="dense")
    assert (found.outcome, found.observed) == ("failed", pytest.approx(1 / 7))
    assert found.message == (
        "it cannot be said that nothing is better than dense: only 7 of 10 samples have f1 in all "
        "of dense, gpt, and min_pairs: 0.9 asks for 9: gpt lacks 3; mend these, or, if what is "
        "left is enough: 'best: {min_pairs: 0}'; a difference below 0.4789 may go unseen "
        "(power 80 %)"
    )


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (run_of("gpt", [1.0] * 5), "only 5 of 8 samples"),
        (run_of("gpt", [None] * 8), "only 0 of 8 samples"),
        (run_of("gpt", ONES, group_by="doc_name"), "group_by: nothing in dense, but doc_name"),
    ],
)
def test_no_reason_to_be_undecided_passes(second: ScenarioResult, why: str) -> None:
    found = verdict(run_of("dense", ONES), second, at_least="dense")
    assert found.outcome == "failed"
    assert found.message.startswith(f"it cannot be said that nothing is better than dense: {why}")


def test_too_few_samples_for_any_difference() -> None:
    runs = [run_of("dense", ONES[:5]), run_of("gpt", SEVEN[3:])]
    found = verdict(*runs, at_least="dense")
    assert found.outcome == "failed"
    assert found.message.endswith(
        "5 common samples cannot reach p < 0.05, whatever the scores; 6 can"
    )


def test_what_did_not_run_fails_it() -> None:
    """Also the variant itself; the session turns it to skipped where that was on purpose."""
    contest = contest_of("dense", "gpt", "bm25", at_least="dense")
    two = rank_variants([run_of("dense", ONES), run_of("gpt", ZEROS)], contest)
    assert two.undecided == ""
    found = best_verdict(two, contest)
    assert (found.outcome, found.observed) == ("failed", 1.0)
    assert found.message.endswith("better than dense: bm25 did not run")
    others = rank_variants([run_of("bm25", ONES), run_of("gpt", ZEROS)], contest)
    found = best_verdict(others, contest)
    assert (found.outcome, found.observed, found.margin) == ("failed", None, None)
    assert "dense did not run; not compared with bm25, gpt" in found.message
    partly = rank_variants([run_of(name, ONES) for name in contest.names], contest, complete=False)
    found = best_verdict(partly, contest)
    assert found.outcome == "failed"
    assert found.message.endswith("not every sample of every variant ran")


def test_a_pair_without_a_test_is_no_evidence() -> None:
    contest = contest_of("dense", "gpt", at_least="dense")
    ranking = rank_variants([run_of("dense", ONES), run_of("gpt", ZEROS)], contest)
    assert best_verdict(replace(ranking, pairs=()), contest).outcome == "failed"
