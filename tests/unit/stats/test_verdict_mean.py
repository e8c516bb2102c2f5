"""N8: Beta by verdict; its figures from draws of numpy, its direction for any labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_rageval.model import Corrected
from pytest_rageval.stats.labels.corrected import Judged
from pytest_rageval.stats.labels.corrected_means import (
    MOST_STRATA,
    Cell,
    share_interval,
    verdict_mean,
)


def answers(verdict: bool, said: Sequence[float], others: int) -> list[Judged]:
    """Return labelled answers of one verdict, and so many others."""
    human = [*said, *[None] * others]
    return [Judged(float(verdict), one, verdict=verdict) for one in human]


# The judge rejects 60 of 300 answers and accepts 240; people accept 2 of 4 and 15 of 16.
REJECTED = answers(False, [1, 1, 0, 0], 56)
RUN = REJECTED + answers(True, [1] * 15 + [0], 224)


def found(strata: Sequence[Sequence[Judged]]) -> Corrected:
    one = verdict_mean(strata)
    assert one is not None
    return one


def ends(one: Corrected) -> tuple[float, float]:
    assert one.ci_low is not None
    assert one.ci_high is not None
    return one.ci_low, one.ci_high


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # scipy's quantiles of Beta(15.5, 5.5)
        (((200, 20, 15),), 0.53577, 0.89762),
        # numpy: quantiles of 20 million draws of dirichlet(sizes) times beta(k + 1/2, n - k + 1/2)
        (((60, 4, 2), (240, 16, 16)), 0.76063, 0.96569),
        (((1, 0, 0), (299, 19, 17)), 0.70234, 0.97602),
        (((40, 10, 3), (260, 10, 10)), 0.71715, 0.94039),
        (((100, 34, 10), (200, 66, 60)), 0.62392, 0.77539),
        (((40, 5, 0), (60, 10, 8), (200, 20, 19)), 0.67487, 0.86699),
        (((3000, 1000, 200), (27000, 4000, 3700)), 0.84415, 0.86043),
        # 8 million of them; the judge is always right, so that hardly anything but W varies
        (((50, 25, 0), (50, 25, 25)), 0.39942, 0.60060),
        (((20, 5, 0), (40, 10, 10)), 0.50746, 0.80372),
        (((200, 40, 0), (400, 80, 80)), 0.62573, 0.70633),
        (((15, 15, 0), (15, 15, 15)), 0.32601, 0.67407),
        (((5000, 5000, 0), (5000, 5000, 5000)), 0.49018, 0.50981),
        (((100, 50, 0), (100, 50, 50), (100, 50, 0), (100, 50, 50)), 0.45025, 0.54979),
    ],
)
def test_ends_are_those_of_many_draws(
    cells: Sequence[tuple[int, int, float]], low: float, high: float
) -> None:
    given_cells = tuple(Cell(*one) for one in cells)
    assert share_interval(given_cells, 0.95) == pytest.approx((low, high), abs=1e-3)


@pytest.mark.parametrize("size", [20, 30, 50, 100, 300])
def test_half_of_the_labels_know_no_more_than_all(size: int) -> None:
    """Of a judge that is always right; where all is labelled, it divides nothing."""
    n = size // 2
    half = found([answers(False, [0] * n, size - n) + answers(True, [1] * n, size - n)])
    whole = found([answers(False, [0] * size, 0) + answers(True, [1] * size, 0)])
    assert ends(half)[0] < ends(whole)[0]
    assert ends(half)[1] > ends(whole)[1]


def test_the_mean_is_that_of_each_verdict_by_its_share() -> None:
    """.2 · 2/4 + .8 · 15/16; lambda is the difference of the two."""
    one = found([RUN])
    assert one.mean == pytest.approx(0.2 * 0.5 + 0.8 * 15 / 16)
    assert one.share == pytest.approx(15 / 16 - 2 / 4)
    assert one.labels == 20
    assert ends(one) == share_interval((Cell(60, 4, 2.0), Cell(240, 16, 15.0)), 0.95)
    assert one.worth is not None
    assert one.worth > 20


def test_strata_of_a_draw_are_classes_too() -> None:
    """By verdict of then; lambda is none where the strata tell good from bad."""
    strata = [REJECTED, answers(True, [1] * 15 + [0], 224)]
    one, other = found(strata), found([RUN])
    assert (one.mean, *ends(one)) == (other.mean, *ends(other))
    assert one.share is None
    without = [[replace(row, verdict=None, judge=0.3) for row in part] for part in strata]
    assert found(without) == one


def test_one_or_two_strata_are_divided_by_verdict_and_no_more() -> None:
    """Changed answers are one class more beside the verdicts of the draw."""
    cells = (Cell(60, 4, 2.0), Cell(240, 16, 15.0))
    assert ends(found([RUN, RUN])) == share_interval(cells * 2, 0.95)
    whole = (Cell(300, 20, 17.0),)
    assert ends(found([RUN] * 3)) == share_interval(whole * 3, 0.95)
    assert found([RUN] * 3).mean == pytest.approx(17 / 20)


def test_a_judge_that_is_worse_than_chance_is_not_believed() -> None:
    """Nor is one of whose verdicts none is labelled: the mean of the labels alone."""
    run = answers(False, [1] * 5, 100) + answers(True, [1, 0] * 5, 100)
    assert (found([run]).mean, found([run]).share) == (10 / 15, 0.0)
    run = answers(False, [], 30) + answers(True, [1] * 9 + [0], 100)
    assert (found([run]).mean, found([run]).share) == (0.9, 0.0)
    low, high = ends(found([answers(True, [1] * 9 + [0], 100)]))
    assert low > ends(found([run]))[0]  # of 30 answers nothing is known
    assert high - low < ends(found([run]))[1] - ends(found([run]))[0]


def test_what_was_seen_lies_in_the_interval() -> None:
    run = answers(False, [], 10) + answers(True, [1] * 20, 270)
    assert (found([run]).mean, ends(found([run]))[1]) == (1.0, 1.0)
    run = [replace(one, human=None if one.human is None else 0.0) for one in run]
    assert (found([run]).mean, ends(found([run]))[0]) == (0.0, 0.0)


def test_what_is_labelled_throughout_is_known() -> None:
    """10 of 40 answers are known to be wrong: 3/4 of the interval of the others."""
    others = answers(True, [1] * 9 + [0], 20)
    one = found([answers(False, [0] * 10, 0), others])
    low, high = ends(found([others]))
    assert one.mean == pytest.approx(0.75 * 0.9)
    assert ends(one) == pytest.approx((0.75 * low, 0.75 * high))
    assert one.labels == 20


def test_a_run_that_is_labelled_throughout_stands_for_more_like_it() -> None:
    run = answers(False, [0] * 5, 0) + answers(True, [1] * 10, 0)
    assert ends(found([run])) == share_interval((Cell(15, 15, 10.0),), 0.95)


def test_other_cases_have_the_other_form() -> None:
    one = RUN[0]
    assert verdict_mean([[replace(one, weight=2.0), *RUN[1:]]]) is None
    grouped = [replace(row, group=at // 2) for at, row in enumerate(RUN)]
    assert verdict_mean([grouped]) is None
    assert verdict_mean([[replace(row, group=at) for at, row in enumerate(RUN)]]) == found([RUN])
    assert verdict_mean([[replace(one, verdict=None), *RUN[1:]]]) is None
    assert verdict_mean([RUN] * (MOST_STRATA + 1)) is None
    assert verdict_mean([answers(True, [1] * 9, 50)]) is None
    assert verdict_mean([RUN, answers(True, [1], 50)]) is None
    assert verdict_mean([answers(True, [1] * 9, 0), answers(False, [1] * 9, 0)]) is None
    assert verdict_mean([]) is None
    assert found([[*RUN, replace(one, weight=0.0, human=1.0)]]) == found([RUN])


classes = st.lists(
    st.tuples(st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), max_size=12), st.integers(0, 80)),
    min_size=2,
    max_size=2,
)


@pytest.mark.full
@settings(max_examples=150, deadline=None)
@given(st.lists(classes, min_size=1, max_size=2), st.data())
def test_a_lower_label_never_raises_anything(
    drawn: list[list[tuple[list[float], int]]], data: st.DataObject
) -> None:
    """N8: neither the mean nor an end, nor does it lead to the other form.

    The ends to within what the grid rounds.
    """
    strata = [
        [row for at, one in enumerate(stratum) for row in answers(at == 1, *one)]
        for stratum in drawn
    ]
    before = verdict_mean(strata)
    labelled = [
        (at, where)
        for at, part in enumerate(strata)
        for where, row in enumerate(part)
        if row.human is not None
    ]
    if not labelled:
        return
    at, where = data.draw(st.sampled_from(labelled))
    lower = data.draw(st.sampled_from([0.0, 1 / 3, 0.5]))
    row = strata[at][where]
    strata[at][where] = replace(row, human=min(lower, row.human or 0.0))
    after = verdict_mean(strata)
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert after.mean is not None
        assert before.mean is not None
        assert after.mean <= before.mean + 1e-12
        assert ends(after)[0] <= ends(before)[0] + 1e-6
        assert ends(after)[1] <= ends(before)[1] + 1e-6


@pytest.mark.full
@settings(max_examples=100, deadline=None)
@given(classes, st.integers(1, 5))
def test_a_judge_that_rejects_more_raises_no_mean(
    drawn: list[tuple[list[float], int]], count: int
) -> None:
    run = answers(False, *drawn[0]) + answers(True, *drawn[1])
    before = verdict_mean([run])
    accepted = [at for at, row in enumerate(run) if row.verdict and row.human is None][:count]
    for at in accepted:
        run[at] = replace(run[at], judge=0.0, verdict=False)
    after = verdict_mean([run])
    assert (before is None) == (after is None)
    if before is not None and after is not None:
        assert (after.mean or 0.0) <= (before.mean or 0.0) + 1e-12
