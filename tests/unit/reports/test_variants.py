"""[E20] What the terminal and the summary say of variants, from a ranking made by hand."""

from __future__ import annotations

from dataclasses import replace

from pytest_rageval.model import CauseChange, RankedVariant, Ranking, VariantPair
from pytest_rageval.reports.run_view import (
    cause_change_lines,
    ranking_head,
    ranking_lines,
    ranking_rows,
)


def pair(a: str, b: str, diff: float, adjusted: float) -> VariantPair:
    significant = adjusted < 0.05
    return VariantPair(
        a, b, diff, None, None, adjusted, adjusted, significant, 20, 9, 4, "exact", None
    )


RANKING = Ranking(
    "bot",
    "f1",
    0.05,
    (
        RankedVariant("rerank", 0.75, 0.5, 1.0, 20, "a"),
        RankedVariant("dense", 0.5, 0.25, 0.75, 20, "ab"),
        RankedVariant("bm25", 0.25, None, None, 20, "b"),
    ),
    (
        pair("rerank", "dense", 0.25, 0.4),
        pair("rerank", "bm25", 0.5, 0.00001),
        pair("dense", "bm25", 0.25, 0.4),
    ),
    common=20,
    total=20,
)


def test_equal_letters_are_below_each_other() -> None:
    """Each variant is told by its distance to the first one."""
    assert ranking_rows(RANKING) == [
        ("rerank", ("0.7500", "0.5000..1.0000", "a ", "-", "-")),
        ("dense", ("0.5000", "0.2500..0.7500", "ab", "-0.2500", "0.4000")),
        ("bm25", ("0.2500", "-", " b", "-0.5000", "<0.0001")),
    ]


def test_a_lower_mean_that_is_better_leads() -> None:
    """Of the distance of a worse variant the sign is then a plus."""
    lower = replace(RANKING, higher_is_better=False)
    assert [figures[3] for _, figures in ranking_rows(lower)] == ["-", "+0.2500", "+0.5000"]
    assert ranking_head(lower) == "by f1, lowest first, over 20 common samples"


def test_samples_that_are_left_out_are_counted() -> None:
    """Next to what the means are over, and whether the run was a whole one."""
    some = replace(RANKING, common=19, complete=False)
    assert ranking_head(some) == (
        "by f1, over 19 common samples, 1 of 20 lack a score somewhere; a partial run, which "
        "decides nothing"
    )


def test_letters_are_explained_or_their_absence_is() -> None:
    """One sentence, then causes and remarks."""
    assert list(ranking_lines(replace(RANKING, remarks=("odd",)))) == [
        "variants that share a letter cannot be told apart (max-T over 3 pairs, alpha 0.05)",
        "odd",
    ]
    assert next(ranking_lines(replace(RANKING, undecided="too few"))) == "no letters: too few"


def test_changes_of_causes_are_told_where_there_are_some() -> None:
    """[E21] In words for each cause; a cause without a change is left out."""
    causes = (
        CauseChange("dense", "bm25", "retrieval", 14, 3),
        CauseChange("dense", "bm25", "generation", 1, 0),
        CauseChange("dense", "bm25", "unfaithful", 0, 1),
        CauseChange("dense", "bm25", "unknown", 0, 0),
    )
    assert list(cause_change_lines(replace(RANKING, causes=causes))) == [
        "dense mends 14 retrieval failures of bm25 and brings 3 new ones",
        "dense mends 1 generation failure of bm25 and brings no new one",
        "dense mends no unfaithful answer of bm25 and brings 1 new one",
    ]
