"""What several people say of the same samples."""

from __future__ import annotations

import pytest

from pytest_rageval.stats.labels.coefficients import human_ceiling, krippendorff_alpha, majority

LIKERT = (1.0, 2.0, 3.0, 4.0, 5.0)
# Krippendorff 2011, Computing Krippendorff's alpha-reliability, part C: four observers, 12 units.
PUBLISHED = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


@pytest.mark.parametrize(
    ("votes", "levels", "view"),
    [
        ([1], (0, 1), 1),
        ([0, 1, 0], (0, 1), 0),
        ([0, 1], (0, 1), None),
        ([1, 1, 5], LIKERT, 1),  # A majority, though the median is the same.
        ([5, 5, 1, 2], LIKERT, 5),  # The median would be 3.5.
        ([1, 3], LIKERT, 2),
        ([1, 2, 5], LIKERT, 2),
        ([1, 2], LIKERT, None),  # 1.5 is no level.
        ([1, 1, 2, 2], LIKERT, None),
        ([0, 2], (0, 2, 4), None),
    ],
)
def test_people_see_what_most_say(
    votes: list[float], levels: tuple[float, ...], view: float | None
) -> None:
    assert majority(votes, levels) == view


def test_alpha_leaves_out_samples_with_one_vote() -> None:
    """0 0, 1 1, 0 1: three votes of each level. 2 of 6 differ, by chance 18/5: 1 - 5 · 2/18."""
    samples = [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 1}, {"a": 1}, {}]
    assert krippendorff_alpha(samples, (0, 1)) == pytest.approx(1 - 10 / 18, rel=1e-14)


def test_alpha_of_more_levels_is_the_published_one() -> None:
    """Ordinal data with missing votes: 0.815."""
    rows = [row.split() for row in PUBLISHED]
    samples = [
        {str(at): float(vote) for at, vote in enumerate(unit) if vote != "."}
        for unit in zip(*rows, strict=True)
    ]
    assert krippendorff_alpha(samples, LIKERT) == pytest.approx(0.815, abs=5e-4)


def test_alpha_is_undefined_where_all_say_the_same() -> None:
    assert krippendorff_alpha([{"a": 1, "b": 1}] * 3, (0, 1)) is None
    assert krippendorff_alpha([{"a": 0}, {"a": 1}], (0, 1)) is None
    assert krippendorff_alpha([], (0, 1)) is None


def test_the_ceiling_is_that_of_pairs_who_share_at_least_half_as_many() -> None:
    """a and b share 4 samples: 3 agree, kappa (3/4 - 1/2)/(1/2) = 1/2. b and c share 2: kappa 1.

    (4 · 1/2 + 2 · 1)/6. a and c share one only, on which they differ: kappa 0.
    """
    samples = [
        {"a": 0, "b": 0},
        {"a": 1, "b": 1},
        {"a": 0, "b": 0},
        {"b": 1, "a": 0, "c": 1},
        {"c": 0, "b": 0},
    ]
    assert human_ceiling(samples, (0, 1)) == pytest.approx(4 / 6, rel=1e-14)


def test_the_ceiling_of_more_levels_weighs_distances() -> None:
    """1 1, 3 3, 1 2: distance 1/4; by chance (2·1·1/4 + 2·1·1 + 1·1·1 + 1·1·1/4)/3 = 1.25."""
    samples = [{"a": 1, "b": 1}, {"a": 3, "b": 3}, {"a": 1, "b": 2}]
    assert human_ceiling(samples, (1, 2, 3)) == pytest.approx(1 - 0.25 / 1.25, rel=1e-14)


def test_pairs_without_a_kappa_say_nothing_of_the_ceiling() -> None:
    assert human_ceiling([{"a": 1, "b": 1}] * 3, (0, 1)) is None
    assert human_ceiling([{"a": 1}, {"b": 1}], (0, 1)) is None
    assert human_ceiling([], (0, 1)) is None
