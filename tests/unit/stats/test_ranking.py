"""E20: variants ranked over common samples, every pair tested; figures by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ranked_variants import contest_of, run_of

from pytest_rageval.model import (
    NOT_ASKED,
    TARGET,
    WEIGHTED_SCORE,
    CauseChange,
    Diagnosis,
    MetricColumn,
    RankedVariant,
    Ranking,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.variant_ranking import rank_variants

ONES, ZEROS = [1.0] * 8, [0.0] * 8
SEVEN = [1.0] * 7 + [0.0]


def rank(*results: ScenarioResult, **options: Any) -> Ranking:
    return rank_variants(results, contest_of(*(one.info.variant for one in results), **options))


def names(ranking: Ranking) -> list[str]:
    return [one.name for one in ranking.variants]


def letters(ranking: Ranking) -> dict[str, str]:
    return {one.name: one.letters for one in ranking.variants}


# Figures


def test_means_pairs_and_letters_by_hand() -> None:
    """Eight samples: all right, seven right, none right.

    best against worst: all 8 differ, p = 2/2^8. Seven against none: 2/2^7. Best against seven: one
    differs, p 1. Each is standardised by its own root of the sum of squares, so with max-T the
    first is as extreme in 2 of 2^8 patterns, the second in 4 (the eighth sign is free), and the
    third is always 1: the adjusted are the raw ones.
    """
    found = rank(run_of("none", ZEROS), run_of("most", SEVEN), run_of("all", ONES))
    assert names(found) == ["all", "most", "none"]
    assert [one.mean for one in found.variants] == [1.0, 0.875, 0.0]
    assert [one.n for one in found.variants] == [8, 8, 8]
    assert [(one.a, one.b) for one in found.pairs] == [
        ("all", "most"),
        ("all", "none"),
        ("most", "none"),
    ]
    assert [one.diff for one in found.pairs] == [0.125, 1.0, 0.875]
    assert [one.p_value for one in found.pairs] == [1.0, 2 / 256, 2 / 128]
    assert [one.p_adjusted for one in found.pairs] == [1.0, 2 / 256, 4 / 256]
    assert [one.significant for one in found.pairs] == [False, True, True]
    assert [(one.a_wins, one.b_wins) for one in found.pairs] == [(1, 0), (8, 0), (7, 0)]
    assert letters(found) == {"all": "a", "most": "a", "none": "b"}
    assert (found.common, found.total, found.undecided) == (8, 8, "")
    assert (found.scenario, found.metric, found.best) == ("qa", "f1", "all")


def test_one_flip_serves_all_pairs() -> None:
    """x is better than y on the first four samples, y better than z on the last four.

    T of x-z is 8/sqrt(8), which it has in 2 of 2^8 patterns and the others, at most 2, in none. T
    of x-y is 2 where the first four signs agree, of y-z where the last four do: one of them in
    32 + 32 - 4 = 60 patterns.
    """
    x, y, z = [1.0] * 8, [0.0] * 4 + [1.0] * 4, [0.0] * 8
    found = rank(run_of("x", x), run_of("y", y), run_of("z", z))
    assert found.pair("x", "z").p_adjusted == 2 / 256  # type: ignore[union-attr]
    assert found.pair("y", "x").p_value == 2 / 16  # type: ignore[union-attr]
    assert found.pair("x", "y").p_adjusted == 60 / 256  # type: ignore[union-attr]
    assert found.pair("y", "z").p_adjusted == 60 / 256  # type: ignore[union-attr]
    assert letters(found) == {"x": "a", "y": "ab", "z": "b"}


@pytest.mark.parametrize("column", [MetricColumn("f1"), MetricColumn("ms", ends=(0.0, None))])
@pytest.mark.parametrize("group_by", [None, "doc_name"])
def test_where_all_samples_are_common_the_figures_are_those_of_the_run(
    column: MetricColumn, group_by: str | None
) -> None:
    """Weights, groups, and samples that weigh nothing: to the last bit."""
    scores = [0.1, 0.7, 0.3, 0.9, 0.2, 1.0, 0.6]
    marks = {
        f"s{at}": {"sample_weight": [1.0, 1.5, 0.0][at % 3], "doc_name": "ab"[at % 2]}
        for at in range(7)
    }
    runs = [
        run_of(name, [x * share for x in scores], column, marks, group_by=group_by)
        for name, share in (("a", 0.9), ("b", 0.7))
    ]
    found = rank(*runs, of=column.name)
    for run, one in zip(runs, found.variants, strict=True):
        own = run.metrics[column.name]
        assert (one.mean, one.ci_low, one.ci_high) == (own.weighted_mean, own.ci_low, own.ci_high)
        assert one.n == found.total == 5


def test_weighted_scores_have_the_runs_own_interval() -> None:
    column = MetricColumn("cosine", ends=(-1.0, 1.0), as_is=True)
    runs = [run_of(name, [0.1, 0.5, -0.2], column) for name in "ab"]
    found = rank(*runs, of=WEIGHTED_SCORE)
    own = runs[0].weighted_score
    assert (own.mean, own.ci_low, own.ci_high) == tuple(
        getattr(found.variants[0], name) for name in ("mean", "ci_low", "ci_high")
    )


def test_lower_is_better() -> None:
    """The faster one ranks first, is ahead by a negative difference, and wins where it is lower."""
    column = MetricColumn("ms", higher_is_better=False)
    found = rank(run_of("slow", [0.9] * 8, column), run_of("fast", [0.2] * 8, column), of="ms")
    assert names(found) == ["fast", "slow"]
    [pair] = found.pairs
    assert pair.diff == pytest.approx(-0.7, abs=1e-15)
    assert (pair.a_wins, pair.b_wins, pair.p_adjusted) == (8, 0, 2 / 256)
    assert letters(found) == {"fast": "a", "slow": "b"}
    assert not found.higher_is_better


def test_groups_are_flipped_together() -> None:
    """Twelve samples of two documents: 2 of 4 patterns, and two groups can decide nothing."""
    marks = {f"s{at}": {"doc_name": "ab"[at % 2]} for at in range(12)}
    runs = [
        run_of(name, [x] * 12, marks=marks, group_by="doc_name")
        for name, x in (("u", 1.0), ("v", 0.0))
    ]
    found = rank(*runs)
    assert found.undecided == "2 groups cannot reach p < 0.05, whatever the scores; 6 can"
    assert found.pairs[0].smallest_detectable is None
    assert letters(found) == {"u": "", "v": ""}
    alone = rank(*(replace(one, info=replace(one.info, group_by=None)) for one in runs))
    assert alone.pairs[0].p_value == 2 / 4096


def test_the_smallest_difference_counts_all_pairs() -> None:
    """Bonferroni's bound over three pairs, which max-T keeps: t(1 - 0.05/6; 5), not t(0.975; 5).

    These are 3.5341 and 2.5706; t(0.8; 5) is 0.9195.
    """
    scores = [
        [0.1, 0.9, 0.4, 0.6, 0.3, 0.8],
        [0.2, 0.4, 0.9, 0.1, 0.5, 0.7],
        [0.6, 0.5, 0.1, 0.2, 0.9, 0.3],
    ]
    three = rank(*(run_of(name, row) for name, row in zip("abc", scores, strict=True)))
    two = rank(*(run_of(name, row) for name, row in zip("ab", scores, strict=False)))
    alone = two.pair("a", "b").smallest_detectable  # type: ignore[union-attr]
    among = three.pair("a", "b").smallest_detectable  # type: ignore[union-attr]
    assert among / alone == pytest.approx(4.4536 / 3.4901, abs=1e-4)  # type: ignore[operator]


def test_equal_variants_rank_as_the_file_has_them_and_are_evidence() -> None:
    found = rank(run_of("v", SEVEN), run_of("u", SEVEN))
    assert names(found) == ["v", "u"]
    assert found.undecided == ""
    assert (found.pairs[0].p_value, found.pairs[0].significant) == (1.0, False)
    assert letters(found) == {"v": "a", "u": "a"}


def test_results_come_in_any_order_and_some_may_not_have_run() -> None:
    contest = contest_of("w", "v", "u")
    found = rank_variants([run_of("u", SEVEN), run_of("w", SEVEN)], contest, complete=False)
    assert names(found) == ["w", "u"]
    assert not found.complete
    with pytest.raises(ValueError, match="not in tuple"):
        rank_variants([run_of("other", ONES)], contest)


# Common samples


def test_samples_are_joined_by_id_and_counted_over_all_data() -> None:
    """Nine ids in all; s0 to s6 in both: 7 of 9 are enough for min_pairs 0.7."""
    one = run_of("v", {f"s{at}": 1.0 for at in (7, 6, 5, 4, 3, 2, 1, 0)})
    other = run_of("u", {f"s{at}": 0.0 for at in (0, 1, 2, 3, 4, 5, 6, 8)})
    found = rank(one, other, min_pairs=0.7)
    assert (found.common, found.total) == (7, 9)
    assert found.pairs[0].p_value == 2 / 128
    assert found.undecided == ""
    assert found.remarks == ("2 samples of 9 left out: v lacks 1, u lacks 1",)


def test_too_few_common_samples_decide_nothing_and_name_who_lacks_them() -> None:
    """Of ten samples u lacks three, w one: six are left, and 0.9 asks for nine."""
    scores = [1.0] * 10
    u = run_of("u", [None, None, None, *[0.0] * 7])
    w = run_of("w", [*scores[:9], None])
    found = rank(run_of("v", scores), w, u)
    assert found.undecided == (
        "only 6 of 10 samples have f1 in all of v, w, u, and min_pairs: 0.9 asks for 9: "
        "u lacks 3, w lacks 1; mend these, or, if what is left is enough: 'best: {min_pairs: 0}'"
    )
    assert (found.common, found.total) == (6, 10)
    assert [(one.name, one.mean, one.n) for one in found.variants] == [
        ("v", 1.0, 6),
        ("w", 1.0, 6),
        ("u", 0.0, 6),
    ]
    assert set(letters(found).values()) == {""}
    assert {(one.p_value, one.p_adjusted, one.significant) for one in found.pairs} == {
        (None, None, False)
    }
    assert rank(run_of("v", scores), w, u, min_pairs=0.6).undecided == ""


def test_exactly_min_pairs_is_enough() -> None:
    """0.55 of 20 is 11.000000000000002 in floating point."""
    half = [*[0.0] * 11, *[None] * 9]
    found = rank(run_of("v", [1.0] * 20), run_of("u", half), min_pairs=0.55)
    assert (found.undecided, found.common) == ("", 11)


@pytest.mark.parametrize(
    ("mark", "total"),
    [
        ({"outcome": "skipped"}, 8),  # in no data set that was to be scored
        ({"outcome": "skipped", "reasons": {"f1": f"{NOT_ASKED}the verdict is certain"}}, 9),
        ({"sample_weight": 0.0}, 8),
        ({"outcome": "error", "invalid": "no answer"}, 9),
        ({"outcome": "xfailed", "invalid": "no answer"}, 8),
    ],
)
def test_what_was_to_be_scored_counts_even_if_no_variant_did(
    mark: dict[str, Any], total: int
) -> None:
    marks = {"s8": {"scores": {"f1": None}, "weighted_score": None, **mark}}
    found = rank(*(run_of(name, [*ONES, None], marks=marks) for name in "vu"), min_pairs=0.0)
    assert (found.common, found.total) == (8, total)


RULED_OUT = {"left_out": {"f1": "row"}, "errors": {}}


@pytest.mark.parametrize(
    ("of", "mark", "there"),
    [
        ("f1", {"left_out": {"f1": "answer"}, "errors": {}}, 0),
        ("f1", {"left_out": {"em": "row"}}, 0),
        ("f1", {"errors": {TARGET: "down"}}, 0),
        (WEIGHTED_SCORE, {"left_out": {"f1": "answer"}, "errors": {}}, 0),
        (WEIGHTED_SCORE, {"scores": {"f1": None, "em": None}, "left_out": {"f1": "row"}}, 0),
        ("f1", {"left_out": {"f1": "run"}, "errors": {}}, 0),
        (WEIGHTED_SCORE, {"left_out": {"f1": "run"}, "errors": {}}, 0),
        ("f1", RULED_OUT, 1),  # in the other variant it has a score
        (WEIGHTED_SCORE, RULED_OUT, 1),
    ],
)
def test_a_score_that_is_missing_is_lacking_though_the_metric_may_not_apply(
    of: str, mark: dict[str, Any], there: int
) -> None:
    """Of nine samples eight are left: less than 0.9 of them."""
    marks = {"s8": {"scores": {"f1": None}, "weighted_score": None, **mark}}
    other = run_of("u", [*ONES, 1.0 if there else None], marks={} if there else marks)
    found = rank(run_of("v", [*ZEROS, None], marks=marks), other, of=of)
    assert (found.common, found.total) == (8, 9)
    assert "only 8 of 9 samples have" in found.undecided
    assert "v lacks 1" in found.undecided


def test_where_rows_rule_the_metric_out_of_every_sample_nothing_is_ranked() -> None:
    marks = {f"s{at}": RULED_OUT for at in range(8)}
    found = rank(*(run_of(name, [None] * 8, marks=marks) for name in "vu"), min_pairs=0.0)
    assert found.common == 0
    assert found.undecided == "f1 applies to no sample"


@pytest.mark.parametrize("of", ["f1", WEIGHTED_SCORE])
@pytest.mark.parametrize("why", ["row", "label"])
def test_rows_that_rule_the_metric_out_in_every_variant_are_no_samples_to_rank_by(
    of: str, why: str
) -> None:
    """Eight of eight; p = 2/2^8. Rows without answer_checks lack no score of them."""
    marks = {name: {"left_out": {"f1": why}, "errors": {}} for name in ("s8", "s9")}
    runs = [
        run_of(name, [*own, None, None], marks=marks) for name, own in (("v", ONES), ("u", ZEROS))
    ]
    found = rank(*runs, of=of)
    assert (found.common, found.total, found.undecided) == (8, 8, "")
    assert found.pairs[0].p_value == 2 / 256
    assert found.remarks == (f"{of} does not apply to 2 rows",)


@pytest.mark.parametrize("of", ["f1", WEIGHTED_SCORE])
@pytest.mark.parametrize(
    "lost", [{}, {"s8": {"outcome": "skipped", "invalid": "no answer", "scores": {}}}]
)
def test_a_row_that_one_variant_has_lost_is_lacking(of: str, lost: dict[str, Any]) -> None:
    """It may have had a score there."""
    ours = run_of("v", [*ONES, None], marks={"s8": RULED_OUT})
    theirs = run_of("u", [*ZEROS, *([None] if lost else [])], marks=lost)
    found = rank(ours, theirs, of=of)
    assert (found.common, found.total) == (8, 9)
    assert "u lacks 1" in found.undecided


def test_a_row_that_only_one_variant_skips_counts() -> None:
    skipped = {"s0": {"outcome": "skipped", "scores": {}, "weighted_score": None}}
    found = rank(run_of("v", ONES), run_of("u", ONES, marks=skipped))
    assert (found.common, found.total) == (7, 8)
    assert "u lacks 1" in found.undecided


def test_a_variant_without_any_score_ranks_last_and_decides_nothing() -> None:
    """The others are still ranked, over what they have in common."""
    found = rank(run_of("dead", [None] * 8), run_of("v", ZEROS), run_of("u", SEVEN))
    assert names(found) == ["u", "v", "dead"]
    assert found.variants[2] == RankedVariant("dead", None, None, None, 0)
    assert [one.mean for one in found.variants[:2]] == [0.875, 0.0]
    assert (found.common, found.total) == (0, 8)
    assert "only 0 of 8 samples have f1 in all of dead, v, u" in found.undecided
    assert found.undecided.endswith("dead lacks 8; mend these")
    assert [(one.a, one.b, one.p_value) for one in found.pairs] == [("u", "v", None)]


def test_min_pairs_of_0_still_needs_samples() -> None:
    found = rank(run_of("v", ONES), run_of("u", [None] * 8), min_pairs=0.0)
    assert found.undecided.startswith("only 0 of 8 samples have f1 in all of v, u: u lacks 8;")
    few = rank(run_of("v", ONES), run_of("u", [0.0] * 5 + [None] * 3), min_pairs=0.0)
    assert few.undecided == "5 common samples cannot reach p < 0.05, whatever the scores; 6 can"


def test_too_few_flips_decide_nothing() -> None:
    found = rank(*(run_of(name, [1.0] * 20) for name in "vuw"), n_resamples=10)
    assert found.undecided == "10 resamples cannot reach p < 0.05; 20 can"


def test_no_ids_in_common() -> None:
    found = rank(run_of("v", {"a": 1.0, "b": 0.5}), run_of("u", {"x": 1.0, "y": 0.2}))
    assert found.undecided == (
        "no sample is in the data of all of v, u; rows are joined by their id (key_map: {id: ...})"
    )
    assert (found.common, found.total) == (0, 4)
    assert [one.mean for one in found.variants] == [None, None]


def test_one_variant_alone() -> None:
    found = rank(run_of("v", ONES))
    assert found.undecided == (
        "only v ran, and there is nothing to compare it with; run the other variants too"
    )
    assert (found.variants[0].mean, found.pairs) == (1.0, ())


# Weighted scores

F1, EM = MetricColumn("f1", definition="f1 1"), MetricColumn("em", definition="em 1")


def of_both(
    variant: str, rows: list[tuple[float | None, float | None, float | None]], **info: Any
) -> ScenarioResult:
    """Return a run with f1, em and the weighted score of each sample."""
    samples = [
        SampleResult(f"s{at}", at, weighted_score=weighted, scores={"f1": f1, "em": em})
        for at, (f1, em, weighted) in enumerate(rows)
    ]
    known = {"metrics": (F1, EM), "total": len(samples), "variant": variant, **info}
    return summarize_scenario(ScenarioInfo("qa", "qa.yaml", "qa.yaml", **known), samples, True)


def test_a_metric_that_applies_in_some_variants_only_is_left_out_of_all() -> None:
    """em applies to s0 in v and w, not in u: only f1 counts there, 0.4, 0.8 and 0.6.

    With their own weighted scores v would have 0.7 on it, and lead.
    """
    rest = [(0.5, 0.5, 0.5)] * 3
    found = rank(
        of_both("v", [(0.4, 1.0, 0.7), *rest]),
        of_both("u", [(0.6, None, 0.6), *rest]),
        of_both("w", [(0.8, 0.0, 0.4), *rest]),
        of=WEIGHTED_SCORE,
    )
    assert {one.name: one.mean for one in found.variants} == pytest.approx(
        {"w": 0.575, "u": 0.525, "v": 0.475}, abs=1e-15
    )
    assert names(found) == ["w", "u", "v"]
    assert found.remarks == (
        "of 1 sample a metric applies in some variants only, and is left out of all",
    )


def test_too_many_samples_that_are_not_measured_alike_decide_nothing() -> None:
    """em applies in v only, on 1 of 8 samples: 7 are left, and 0.9 of 8 are 7.2, 0.875 are 7."""
    rest = [(0.5, 0.5, 0.5)] * 7
    runs = of_both("v", [(0.4, 1.0, 0.7), *rest]), of_both("u", [(0.6, None, 0.6), *rest])
    asked = "min_pairs: 0.9 asks for 8 that all metrics measure alike"
    found = rank(*runs, of=WEIGHTED_SCORE)
    assert found.undecided.startswith("on 1 sample of 8 a metric applies in some variants only")
    assert asked in found.undecided
    assert letters(found) == {"u": "", "v": ""}
    assert not rank(*runs, of=WEIGHTED_SCORE, min_pairs=0.875).undecided


def test_where_a_metric_failed_there_is_no_weighted_score() -> None:
    """em failed on s0 of u: its f1 alone might be better than it is."""
    rest = [(0.5, 0.5, 0.5)] * 3
    found = rank(
        of_both("v", [(0.4, 1.0, 0.7), *rest]),
        of_both("u", [(0.6, None, None), *rest]),
        of=WEIGHTED_SCORE,
    )
    assert (found.common, found.total) == (3, 4)


def test_samples_to_which_no_metric_applies_in_all_variants_are_not_common() -> None:
    """Both have weighted scores of s0, of f1 one and of em the other."""
    rest = [(0.5, 0.5, 0.5)] * 3
    first = of_both("v", [(0.4, None, 0.4), *rest])
    second = of_both("u", [(None, 1.0, 1.0), *rest])
    found = rank(first, second, of=WEIGHTED_SCORE)
    assert (found.common, found.total) == (3, 4)
    assert "asks for 4: no metric applies to them in every variant; mend" in found.undecided


# What does not compare


def other(variant: str, **changes: Any) -> ScenarioResult:
    return run_of(variant, SEVEN, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"column": MetricColumn("f1", definition="f1 1, normalizer squad")},
            "f1: f1 1 in v, but f1 1, normalizer squad in u; "
            "to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"column": MetricColumn("f1", definition=f"f1 1{', longer' * 20} than others")},
            f"f1: f1 1 in v, but f1 1{', longer' * 20} than others in u; "
            "to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"judgements_sha256": "def"},
            "qrels: abc in v, but def in u; to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"judgements_sha256": "", "marks": {"s1": {"judged_by": {"reference_ids": "aa"}}}},
            "qrels: abc in v, but reference_ids in u; to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"group_by": "doc_name"},
            "group_by: nothing in v, but doc_name in u; to rank them anyway: "
            "'best: {anyway: true}'",
        ),
        (
            {"marks": {"s1": {"question": "who"}, "s2": {"question": "when"}}},
            "2 samples have another question (first: 's1', 'where' in v, 'who' in u); "
            "to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"marks": {"s1": {"references": ("Bonn",)}}},
            "1 sample has other references (first: 's1', ['Paris'] in v, ['Bonn'] in u); "
            "to rank them anyway: 'best: {anyway: true}'",
        ),
        (
            {"marks": {"s1": {"sample_weight": 2.0}}},
            "1 sample has another weight (first: 's1', 1.0 in v, 2.0 in u); "
            "to rank them anyway: 'best: {anyway: true}'",
        ),
    ],
)
def test_what_does_not_compare_is_not_ranked_with_letters(
    changes: dict[str, Any], message: str
) -> None:
    marks = {name: {"question": "where", "references": ["Paris"]} for name in ("s1", "s2")}
    first = run_of("v", ONES, marks=marks, judgements_sha256="abc")
    found = rank(first, other("u", **changes))
    assert found.undecided == message
    assert (names(found), found.pairs) == (["v", "u"], ())
    assert letters(found) == {"v": "", "u": ""}
    anyway = rank(first, other("u", **changes), anyway=True)
    assert anyway.undecided == ""
    assert anyway.remarks == (f"{message.rpartition('; ')[0]}; compared anyway",)
    assert len(anyway.pairs) == 1
    assert letters(anyway) == {"v": "a", "u": "a"}


def test_other_digests_of_what_samples_are_judged_by_do_not_compare() -> None:
    digests = [{"s3": {"judged_by": {"reference_ids": digest}}} for digest in ("aa", "bb")]
    found = rank(run_of("v", ONES, marks=digests[0]), run_of("u", ONES, marks=digests[1]))
    assert found.undecided.startswith(
        "1 sample has other reference_ids (first: 's3', 'aa' in v, 'bb' in u)"
    )
    # With qrels these are compared as a whole.
    qrels = {"judgements_sha256": "abc"}
    found = rank(
        run_of("v", ONES, marks=digests[0], **qrels), run_of("u", ONES, marks=digests[1], **qrels)
    )
    assert found.undecided == ""


def test_what_an_invalid_row_seems_to_say_is_no_difference() -> None:
    """Its weight is not known; but it counts, and u lacks it."""
    heavy = {"s0": {"sample_weight": 2.0}}
    broken = {
        "s0": {"invalid": "no answer", "outcome": "error", "weighted_score": None, "scores": {}}
    }
    found = rank(run_of("v", ONES, marks=heavy), run_of("u", ONES, marks=broken))
    assert found.undecided.startswith("only 7 of 8 samples have f1")


def test_another_group_does_not_compare() -> None:
    runs = [
        run_of(name, ONES, marks={"s0": {"doc_name": doc}}, group_by="doc_name")
        for name, doc in (("v", "a.pdf"), ("u", "b.pdf"))
    ]
    assert rank(*runs).undecided.startswith("1 sample has another doc_name (first: 's0', 'a.pdf'")


def test_a_sample_without_a_group_is_not_in_that_of_another_variant() -> None:
    """The first has no doc_name: with it, the sample would be flipped alone or with others."""
    with_it = run_of("u", ONES, marks={"s0": {"doc_name": "a.pdf"}}, group_by="doc_name")
    found = rank(run_of("v", ONES, group_by="doc_name"), with_it)
    assert found.undecided.startswith("1 sample has another doc_name (first: 's0', '' in v")


def test_a_difference_between_later_variants_is_found() -> None:
    """The first says nothing of questions: the second and third are held against each other."""
    asked = [{"s0": {"question": text}} for text in ("who", "when")]
    found = rank(run_of("v", ONES), other("u", marks=asked[0]), other("w", marks=asked[1]))
    assert "(first: 's0', 'who' in u, 'when' in w)" in found.undecided


def test_what_a_run_does_not_say_is_no_difference() -> None:
    """As an older saved one may not."""
    asked = {"s0": {"question": "who", "references": ("x",), "judged_by": {"reference_ids": "aa"}}}
    plain = other("u", column=MetricColumn("f1"))
    assert rank(run_of("v", ONES, marks=asked, judgements_sha256="abc"), plain).undecided == ""


REFUSALS = {"refusals": {"detect": "phrases", "also": ["nope"]}}
SEARCH = MetricColumn("f1", definition="f1 1", retrieves=True)
FOLLOWS_ON = {"s1": {"judged_by": {"history": "aa"}}}
NO_ANSWER = {"s1": {"scores": {"f1": None}, "weighted_score": None, "left_out": {"f1": "row"}}}


@pytest.mark.parametrize(
    ("first", "second", "more"),
    [
        (REFUSALS, REFUSALS, {}),
        (REFUSALS, {**REFUSALS, "conversation": {"turns": 6}}, {}),  # no metric sees the history
        ({"citations": {"style": "auto"}}, {}, {"column": SEARCH}),
        (REFUSALS, {}, {"column": SEARCH}),  # no row has no answer in the documents
        ({"refusals": None}, {}, {}),
        ({"top_k": 5}, {"top_k": None}, {}),
        ({"top_k": 5}, {}, {}),
        ({"empty_answer": "worst"}, {}, {}),  # of an older run
        ({"on_invalid": "error"}, {"on_invalid": "skip"}, {}),
        ({}, {"empty_answer": "worst", "on_invalid": "error", "tolerate": None}, {}),
        ({"conversation": {"turns": 6}}, {"conversation": {"turns": 6}}, {"marks": FOLLOWS_ON}),
    ],
)
def test_settings_that_are_alike_or_make_no_difference_compare(
    first: dict[str, Any], second: dict[str, Any], more: dict[str, Any]
) -> None:
    found = rank(other("v", measured=first, **more), other("u", measured=second, **more))
    assert found.undecided == ""
    assert letters(found) == {"v": "a", "u": "a"}


@pytest.mark.parametrize(
    ("changes", "message", "more"),
    [
        (REFUSALS, "refusals: null in v, but {'detect': 'phrases', 'also': ['nope']} in u", {}),
        (
            {"refusals": {"detect": "judge"}},
            "refusals: null in v, but {'detect': 'judge'} in u",
            {"column": SEARCH, "marks": NO_ANSWER},
        ),
        ({"citations": {"base": 0}}, "citations: null in v, but {'base': 0} in u", {}),
        ({"conversation": {"turns": 6}}, "conversation: null in v, but {'turns': 6} in u", {}),
    ],
)
def test_a_setting_that_only_some_variants_have_does_not_compare(
    changes: dict[str, Any], message: str, more: dict[str, Any]
) -> None:
    known = {"empty_answer": "worst"}
    second = other("u", measured=known | changes, **{"marks": FOLLOWS_ON, **more})
    for lacking in (known, {}):  # nothing of it was on record before there was one
        first = other("v", measured=lacking, column=more.get("column"))
        found = rank(first, second, min_pairs=0.0)
        assert found.undecided == f"{message}; to rank them anyway: 'best: {{anyway: true}}'"
        assert letters(found) == {"v": "", "u": ""}


def test_other_weights_of_metrics_ask_for_one_metric() -> None:
    rows: list[Any] = [(0.5, 1.0, 0.75)] * 8
    heavy = replace(EM, weight=3.0)
    first, second = of_both("v", rows), of_both("u", rows, metrics=(F1, heavy))
    found = rank(first, second, of=WEIGHTED_SCORE)
    assert found.undecided == (
        "weights: em 1, f1 1 in v, but em 3, f1 1 in u; rank by one metric: 'best: {of: f1}'"
    )
    assert rank(first, second, of="f1").undecided == ""


def test_the_metric_to_rank_by_instead_is_measured_alike_in_all() -> None:
    """f1 is not; an older run does not say how it measured em."""
    rows: list[Any] = [(0.5, 1.0, 0.75)] * 8
    metrics = (replace(F1, definition="f1 2"), replace(EM, definition=""))
    found = rank(of_both("v", rows), of_both("u", rows, metrics=metrics), of=WEIGHTED_SCORE)
    assert found.undecided == "f1: f1 1 in v, but f1 2 in u; rank by one metric: 'best: {of: em}'"


def test_other_weights_anyway_weigh_all_as_the_reference_does() -> None:
    """em weighs 1 in v, 3 in u, which says (0.5 + 3)/4 = 0.875 itself: all have 0.75."""
    first = of_both("v", [(0.5, 1.0, 0.75)] * 8)
    second = of_both("u", [(0.5, 1.0, 0.875)] * 8, metrics=(F1, replace(EM, weight=3.0)))
    found = rank(first, second, of=WEIGHTED_SCORE, anyway=True)
    assert [one.mean for one in found.variants] == [0.75, 0.75]
    found = rank(first, second, of=WEIGHTED_SCORE, anyway=True, at_least="u")
    assert [one.mean for one in found.variants] == [0.875, 0.875]


def test_a_metric_that_a_variant_lacks() -> None:
    """And ``anyway`` cannot mend that."""
    lacking = run_of("u", ONES, EM)
    both = of_both("v", [(0.5, 1.0, 0.75)] * 8)
    found = rank(both, lacking, of="f1", anyway=True)
    assert found.undecided == (
        "u has no f1; rank by what all have: weighted_score, em ('best: {of: em}')"
    )
    assert names(found) == ["v", "u"]


# Causes


def test_causes_mended_and_new_against_the_reference() -> None:
    """Of v's low answers u mends one of retrieval, and adds two of generation.

    s1 stays low for another cause, s2 has no score in u, s5 none in v, s7 could not be judged in v:
    these are neither.
    """

    def low(**causes: Any) -> dict[str, dict[str, Any]]:
        return {name: {"cause": cause, "outcome": "failed"} for name, cause in causes.items()}

    scores = [0.5] * 8
    before = low(s0="retrieval", s1="retrieval", s2="retrieval", s3="unknown")
    after = low(s1="generation", s3="unknown", s4="generation", s5="generation", s6="generation")
    unscored = {"scores": {"f1": None}, "weighted_score": None, "outcome": "error"}
    error = {"cause": "retrieval", "outcome": "error"}
    diagnose = Diagnosis()
    v = run_of("v", scores, marks={**before, "s5": unscored, "s7": error}, diagnose=diagnose)
    u = run_of("u", scores, marks={**after, "s2": unscored}, diagnose=diagnose)
    found = rank(u, v, at_least="v").causes
    assert [one for one in found if one.mended or one.new] == [
        CauseChange("u", "v", "retrieval", 1, 0),
        CauseChange("u", "v", "generation", 0, 2),
    ]
    assert rank(run_of("u", scores, marks=after), v, at_least="v").causes == ()
