"""F9: means over all rows where a sample of them was asked, and which rows are drawn."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.planning.bind_asked import drawn_rows
from pytest_rageval.model import (
    NOT_DRAWN,
    Baseline,
    MetricColumn,
    SampleResult,
    Sampling,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.estimates import (
    Row,
    estimate,
    estimates_of,
)
from pytest_rageval.stats.intervals import mean_bounds
from pytest_rageval.stats.summary import summarize_scenario

ROWS = tomllib.loads(Path(__file__).with_name("estimates.toml").read_text("utf-8"))

UNIT = (0.0, 1.0)


def rows_of(
    old: float, scores: Sequence[float], size: int, changed: bool | None = None, **more: Any
) -> list[Row]:
    """Return ``size`` rows with one older score, the first of them asked."""
    asked = [Row(score, old, changed=changed, **more) for score in scores]
    return asked + [Row(None, old, changed=changed, **more)] * (size - len(scores))


def test_rows_that_scored_alike_before_stand_for_each_other() -> None:
    """Of 20 rows with 0 before 1 of 5 is right, of 20 with 1 before 12 of 15: (0.2 + 0.8)/2.

    The asked rows alone are right in 13 of 20.
    """
    rows = [*rows_of(0.0, [1, 0, 0, 0, 0], 20), *rows_of(1.0, [1] * 12 + [0] * 3, 20)]
    found = estimate(rows, UNIT)
    assert found.mean == pytest.approx(0.5)
    assert (found.asked, found.rows, found.changed, found.why) == (20, 40, None, "")


def test_of_changed_answers_half_of_the_older_score_counts() -> None:
    """Older scores 0.4 (asked) and 0.8, in one class: 0.5 · 0.6 + mean(0.5 - 0.5 · 0.4)."""
    rows = [*rows_of(0.4, [0.5] * 10, 10), Row(None, 0.8), *[Row(None, 0.8)] * 9]
    assert estimate(rows, UNIT).mean == pytest.approx(0.6)


def test_of_unchanged_answers_all_of_it_counts() -> None:
    """0.6, and as much more as the asked ones rose: 0.5 - 0.4."""
    rows = [*rows_of(0.4, [0.5] * 10, 10, False), *rows_of(0.8, [], 10, False)]
    found = estimate(rows, UNIT)
    assert found.mean == pytest.approx(0.7)
    assert found.changed == 0


def test_ten_right_answers_of_forty() -> None:
    """By the rule of three 0.025^(1/10) beyond these rows; of these 3/4 of the square is left."""
    found = estimate(rows_of(0.5, [1.0] * 10, 40), UNIT)
    lowest = 0.025**0.1
    assert found.mean == 1.0
    assert found.beyond_low == pytest.approx(lowest)
    assert found.ci_low == pytest.approx(1.0 - math.sqrt(0.75) * (1.0 - lowest))
    assert (found.ci_high, found.beyond_high) == (1.0, 1.0)


def test_unchanged_answers_have_three_quarters_of_an_extra_one_and_their_own_range() -> None:
    """Y - f is 0 in -0.8..0.6, as far as older scores of 0.4 and 0.8 let it go; half are asked."""
    rows = [*rows_of(0.4, [0.4] * 10, 10, False), *rows_of(0.8, [], 10, False)]
    found = estimate(rows, UNIT)
    low, _ = mean_bounds([0.8 / 1.4] * 10, [1.0] * 10, 0.025, 0.75)
    assert found.mean == pytest.approx(0.6)
    assert found.ci_low == pytest.approx(0.6 - math.sqrt(0.5) * (0.8 - 1.4 * low))


def test_weights_count_in_mean_and_classes() -> None:
    """Before 0: a weight of 3 · 10, all wrong; before 1: a weight of 10, all right."""
    rows = [*rows_of(0.0, [0.0] * 5, 10, weight=3.0), *rows_of(1.0, [1.0] * 5, 10)]
    assert estimate(rows, UNIT).mean == pytest.approx(0.25)


def test_a_class_that_is_asked_throughout_is_known() -> None:
    """New rows have no older score; all are asked: they widen only what lies beyond these rows."""
    others = rows_of(0.5, [1.0, 0.0] * 5, 40)
    new = [Row(1.0, None), Row(0.0, None)] * 5
    found = estimate([*others, *new], UNIT)
    alone = estimate(others, UNIT)
    assert found.mean == pytest.approx(0.5)
    assert found.ci_high is not None
    assert alone.ci_high is not None
    # Their share of the one extra answer falls as well, so that it is a little less than 4/5.
    assert 0.75 * (alone.ci_high - 0.5) < found.ci_high - 0.5 <= 0.8 * (alone.ci_high - 0.5)


def test_a_full_run_of_a_rubric_has_its_own_interval() -> None:
    scores = [1.0, 4.0, 5.0, 5.0, 3.0, 5.0, 2.0, 5.0, 4.0, 4.0, 5.0, 1.0]
    low, high = mean_bounds([score / 5.0 for score in scores], [1.0] * 12, 0.025)
    found = estimate([Row(score, 5.0 - score) for score in scores], (0.0, 5.0))
    assert found.mean == found.ci_low == found.ci_high == pytest.approx(44.0 / 12.0)
    assert (found.beyond_low, found.beyond_high) == pytest.approx((5.0 * low, 5.0 * high))


def test_so_has_a_large_one_with_weights() -> None:
    """Above 200 scores are put on a grid, which equal weights must keep fine."""
    rows = [Row(at % 7 / 6, at % 5 / 4, 0.1 + 0.2 * (at % 2)) for at in range(400)]
    expected = mean_bounds([row.new or 0.0 for row in rows], [row.weight for row in rows], 0.025)
    found = estimate(rows, UNIT)
    assert (found.beyond_low, found.beyond_high) == pytest.approx(expected, abs=1e-9)


def test_an_unbounded_metric_has_students_interval() -> None:
    """One class of 10 in 40: the deviation of Y is √(10/9), t of 9 degrees 2.262157."""
    found = estimate(rows_of(7.0, [11.0, 13.0] * 5, 40), (-math.inf, math.inf))
    half = 2.262157 * math.sqrt(10.0 / 9.0 / 10.0)
    assert found.mean == pytest.approx(12.0)
    assert found.beyond_high == pytest.approx(12.0 + half)
    assert found.ci_low == pytest.approx(12.0 - math.sqrt(0.75) * half)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (rows_of(0.5, [1.0] * 9, 40), "9 rows with a score, fewer than 10"),
        ([], "0 rows with a score, fewer than 10"),
        (
            [*rows_of(0.5, [1.0] * 20, 40, False), *rows_of(0.5, [1.0], 3, True)],
            "fewer than 2 rows with another answer were asked",
        ),
        (
            [*rows_of(0.5, [1.0] * 20, 40), Row(None, None)],
            "fewer than 2 rows without an older score were asked",
        ),
        (
            [*rows_of(0.5, [1.0] * 12, 12, group=1), *rows_of(0.5, [], 12, group=2)],
            "fewer than 2 groups of rows were asked",
        ),
    ],
)
def test_what_cannot_be_estimated_says_why(rows: list[Row], why: str) -> None:
    found = estimate(rows, UNIT)
    figures = (found.mean, found.ci_low, found.ci_high, found.beyond_low, found.beyond_high)
    assert figures == (None,) * 5
    assert found.why == why
    assert found.rows == len(rows)


def test_groups_count_as_one_row_each() -> None:
    """Ten of forty groups, of three equal answers each: as sure as ten rows, not as thirty."""
    groups = [Row(1.0 if at < 10 else None, 0.5, group=at) for at in range(40) for _ in range(3)]
    found, single = estimate(groups, UNIT), estimate(rows_of(0.5, [1.0] * 10, 40), UNIT)
    assert (found.asked, found.rows) == (30, 120)
    assert (found.ci_low, found.beyond_low) == pytest.approx((single.ci_low, single.beyond_low))


@pytest.mark.parametrize("extra", [0.1, 0.5, 1.0])
def test_one_answer_and_a_part_of_an_extra_one(extra: float) -> None:
    """P(M <= x) = 1 - (1 - x)^extra."""
    low, high = mean_bounds([1.0], [1.0], 0.025, extra)
    assert low == pytest.approx(1.0 - 0.975 ** (1.0 / extra), abs=1e-9)
    assert high == 1.0


NAMES = [f"row {at}" for at in range(30)]


def run_of(
    scores: Mapping[str, float | None],
    *,
    failed: Sequence[str] = (),
    unscored_before: Sequence[str] = (),
    changed: Sequence[str] | None = None,
) -> ScenarioResult:
    """Return a run of 30 rows in which those that are named were drawn."""
    samples = [
        SampleResult(
            name,
            at,
            outcome="error" if name in failed else "passed" if name in scores else "skipped",
            weighted_score=scores.get(name),
            scores={"f1": scores.get(name)},
            errors={"f1": "no reply"} if name in failed else {},
            reasons={} if name in scores else {"f1": NOT_DRAWN},
        )
        for at, name in enumerate(NAMES)
    ]
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),), total=30)
    others = None if changed is None else frozenset(changed)
    sampling = Sampling(
        len(scores), 7, "main", 30, frozenset(scores), frozenset(unscored_before), others
    )
    return summarize_scenario(replace(info, sample=sampling), samples, complete=True)


def saved(scores: Mapping[str, float | None], **more: Any) -> Baseline:
    return Baseline("main", NAMES, {"f1": scores, "weighted_score": scores}, **more)


def test_a_run_has_an_estimate_of_each_metric_and_of_the_weighted_score() -> None:
    """All had 0.5 before, 15 of them are asked and have 0.75: 0.25 + (0.75 - 0.25)."""
    run = run_of(dict.fromkeys(NAMES[:15], 0.75))
    found = estimates_of(run, saved(dict.fromkeys(NAMES, 0.5)))
    assert sorted(found) == ["f1", "weighted_score"]
    for one in found.values():
        assert one.mean == pytest.approx(0.75)
        assert (one.asked, one.rows, one.changed) == (15, 30, None)


def test_an_asked_row_that_failed_is_none_of_the_rows() -> None:
    """As in a run that asks all."""
    scores: dict[str, float | None] = dict.fromkeys(NAMES[:15], 0.75)
    run = run_of(scores | {NAMES[0]: None}, failed=NAMES[:1])
    found = estimates_of(run, saved(dict.fromkeys(NAMES, 0.5)))["f1"]
    assert (found.asked, found.rows) == (14, 29)


def test_rows_to_which_the_metric_never_applied_are_none() -> None:
    before: dict[str, float | None] = dict.fromkeys(NAMES, 0.5)
    before |= {NAMES[0]: None, NAMES[28]: None, NAMES[29]: None}
    scores: dict[str, float | None] = dict.fromkeys(NAMES[:15], 0.75)
    found = estimates_of(run_of(scores | {NAMES[0]: None}), saved(before))["f1"]
    assert (found.asked, found.rows) == (14, 27)
    assert found.mean == pytest.approx(0.75)


@pytest.mark.parametrize(("now", "before"), [(None, 0.5), (0.75, None)])
def test_no_estimate_where_a_metric_applies_to_other_rows(
    now: float | None, before: float | None
) -> None:
    """To how many of the rows that were not asked is not known, nor how these score."""
    run = run_of(dict.fromkeys(NAMES[:15], 0.75) | {NAMES[0]: now})
    found = estimates_of(run, saved(dict.fromkeys(NAMES, 0.5) | {NAMES[0]: before}))["f1"]
    assert found.mean is None
    assert (
        found.why == "of 1 of 15 asked rows only one of this run and main has a score; ask all rows"
    )
    run = run_of(dict.fromkeys(NAMES[:15], 0.75) | {NAMES[0]: now}, unscored_before=NAMES[:1])
    assert estimates_of(run, saved(dict.fromkeys(NAMES, 0.5)))["f1"].mean == pytest.approx(0.75)


def test_rows_that_every_draw_has_stand_for_no_others() -> None:
    """Another metric failed on ten, which score 1; the others 0.4: (10 + 20 · 0.4)/30.

    All had 0.5 before. Five of the others were drawn.
    """
    scores = dict.fromkeys(NAMES[:10], 1.0) | dict.fromkeys(NAMES[10:15], 0.4)
    run = run_of(scores, unscored_before=NAMES[:10])
    found = estimates_of(run, saved(dict.fromkeys(NAMES, 0.5)))["f1"]
    assert found.mean == pytest.approx(0.6)


def test_a_metric_that_the_older_run_lacks_is_estimated_from_the_asked_rows_alone() -> None:
    run = run_of(dict.fromkeys(NAMES[:15], 0.75))
    found = estimates_of(run, Baseline("main", NAMES, {}))["f1"]
    assert found.mean == pytest.approx(0.75)
    assert (found.asked, found.rows) == (15, 30)


def test_answers_that_are_all_known_say_which_of_them_changed() -> None:
    """24 unchanged ones keep their 0.5, 6 changed ones have 0.9: 0.58."""
    scores = dict.fromkeys(NAMES[:3], 0.9) | dict.fromkeys(NAMES[6:18], 0.5)
    baseline = saved(dict.fromkeys(NAMES, 0.5))
    found = estimates_of(run_of(scores, changed=NAMES[:6]), baseline)["f1"]
    assert found.mean == pytest.approx(0.58)
    assert found.changed == 6
    assert estimates_of(run_of(scores), baseline)["f1"].changed is None


def test_a_draw_has_the_size_that_is_asked_for_and_depends_on_seed_and_ids_alone() -> None:
    drawn = drawn_rows(NAMES, 12, 7)
    assert len(drawn) == 12
    assert drawn_rows(NAMES[::-1], 12, 7) == drawn
    assert drawn_rows(NAMES, 12, 8) != drawn
    assert drawn_rows(NAMES, 30, 7) == drawn_rows(NAMES, 99, 7) == frozenset(NAMES)


@pytest.mark.full
def test_each_row_is_drawn_as_often() -> None:
    """12 of 30 in 1,000 draws: 400 times, with a standard deviation of 15.5."""
    counts = Counter(name for seed in range(1000) for name in drawn_rows(NAMES, 12, seed))
    assert len(counts) == 30
    assert all(400 - 62 <= count <= 400 + 62 for count in counts.values())


def test_changed_answers_have_their_share_and_five_at_least() -> None:
    ids = [str(at) for at in range(1000)]
    drawn = drawn_rows(ids, 100, 7, changed=ids[:300])
    assert (len(drawn), len(drawn.intersection(ids[:300]))) == (100, 30)
    drawn = drawn_rows(ids, 100, 7, changed=ids[:6])
    assert (len(drawn), len(drawn.intersection(ids[:6]))) == (100, 5)


def test_rows_without_an_older_score_are_all_asked_and_are_among_the_n() -> None:
    drawn = drawn_rows(NAMES, 16, 7, unscored_before=NAMES[:9])
    assert len(drawn) == 16
    assert drawn >= set(NAMES[:9])


def test_groups_are_drawn_whole() -> None:
    """Ten groups of three: 15 rows are five groups."""
    groups = {name: str(at // 3) for at, name in enumerate(NAMES)}
    drawn = drawn_rows(NAMES, 15, 7, groups=groups)
    assert sorted(Counter(groups[name] for name in drawn).values()) == [3] * 5


@pytest.mark.parametrize(
    ("n", "unscored", "message"),
    ROWS["a_sample_that_is_too_small_says_what_it_takes"],
)
def test_a_sample_that_is_too_small_says_what_it_takes(n: int, unscored: int, message: str) -> None:
    with pytest.raises(ValueError, match="too small") as raised:
        drawn_rows(NAMES, n, 7, unscored_before=NAMES[:unscored])
    assert str(raised.value) == message


def test_a_sample_that_is_too_small_for_groups_says_how_many_rows_it_takes() -> None:
    """Five of ten groups of three are 15 rows; 12 are four groups."""
    groups = {name: str(at // 3) for at, name in enumerate(NAMES)}
    with pytest.raises(ValueError, match="12 rows is too small: it takes about 15 others$"):
        drawn_rows(NAMES, 12, 7, groups=groups)
    assert len(drawn_rows(NAMES, 15, 7, groups=groups)) == 15


def test_a_row_without_an_older_score_in_each_group_takes_all_rows() -> None:
    """Ten groups of three are 30 rows, and 15 were to be asked."""
    groups = {name: str(at // 3) for at, name in enumerate(NAMES)}
    message = "it takes 30 without an older score of each metric, with their groups$"
    with pytest.raises(ValueError, match=message):
        drawn_rows(NAMES, 15, 7, groups=groups, unscored_before=NAMES[::3])
