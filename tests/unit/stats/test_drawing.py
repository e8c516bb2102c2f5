"""Which answers people label next: uniformly at first, then by strata, changed answers first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from itertools import combinations

import pytest

from pytest_rageval.model import Draw
from pytest_rageval.stats.labels.corrected import Judged
from pytest_rageval.stats.labels.drawing import Drawing, draw
from pytest_rageval.stats.labels.strata import Member


def answer(
    at: int, digest: str, is_high: bool, human: float | None = None, weight: float = 1.0
) -> Member:
    """Return the answer ``a<at>`` with the judge's verdict and, where there is one, its label."""
    return Member(f"a{at}", Judged(0.0, human, weight, verdict=is_high), digest, ())


def answers(count: int, *, labelled: int = 0, high: Collection[int] = ()) -> list[Member]:
    """Return answers ``a0`` to ``a<count - 1>``: the first have labels, 1 and 0 in turn."""
    return [
        answer(at, f"d{at}", at in high, float(at % 2) if at < labelled else None)
        for at in range(count)
    ]


def sizes(found: Drawing) -> dict[str, tuple[int, int, int]]:
    """Return size, earlier labels and drawn samples of each stratum by its kind."""
    return {one.kind: (one.size, one.labelled, one.drawn) for one in found.strata.values()}


# The first draws


def test_the_first_draws_are_uniform() -> None:
    """Of 4 free samples there are 6 pairs: 600 seeds, 100 of each, give or take 4 deviations.

    The deviation of a count is sqrt(600 * 1/6 * 5/6) = 9.1.
    """
    population = answers(5, labelled=1)
    pairs = Counter(tuple(sorted(draw(population, 2, seed).ids)) for seed in range(600))
    assert pairs.keys() == set(combinations(["a1", "a2", "a3", "a4"], 2))
    assert all(abs(count - 100) < 37 for count in pairs.values())


def test_a_uniform_draw_has_no_strata() -> None:
    """Up to 29 labels; there may be less to draw than was asked for."""
    found = draw(answers(40, labelled=29), 100, 1)
    assert (found.strata, found.of) == ({}, {})
    assert sorted(found.ids) == sorted(f"a{at}" for at in range(29, 40))
    assert draw(answers(3, labelled=3), 5, 1).ids == []


# By strata


def test_from_30_labels_on_the_verdict_makes_strata() -> None:
    """The judge finds 100 of 200 samples high, and 15 of either half have labels.

    The high ones have 15 ones: variance .25/16 = .0156, so the next label gains .0156/(15 * 16) =
    .0000651. The low ones have 7 ones: (15 * 8/15 * 7/15 + .25)/16 = .2490 over m(m + 1), which is
    more up to m = 61 (.0000658), not at 62 (.0000637): 47 labels, then one for the high ones.
    """
    population = [
        answer(at, "d", at % 2 == 0, None if at >= 30 else float(at % 4 != 1)) for at in range(200)
    ]
    for n, expected in ((47, 0), (48, 1)):
        found = draw(population, n, 7)
        assert sizes(found) == {"high": (100, 15, expected), "low": (100, 15, 47)}
    assert not {f"a{at}" for at in range(30)} & set(found.ids)
    drawn = Counter(found.strata[found.of[name]].kind for name in found.ids)
    assert drawn == {"high": 1, "low": 47}


def test_strata_have_the_share_of_weight() -> None:
    """Weights 3 and 1: the high half has 3/4 of all; without any weight there is no share."""
    for weight, share in ((1.0, 0.75), (0.0, 0.0)):
        population = [
            answer(at, "d", at < 20, 1.0, weight * (3.0 if at < 20 else 1.0)) for at in range(40)
        ]
        found = draw(population, 5, 1)
        shares = {one.kind: one.share for one in found.strata.values()}
        assert shares == pytest.approx({"high": share, "low": weight - share})


def test_codes_tell_nothing_and_are_new() -> None:
    """Each draw has its own, whatever it draws from."""
    population = answers(60, labelled=30, high=range(10))
    found = draw(population, 5, 3)
    assert all(re.fullmatch("s-[0-9a-f]{6}", code) for code in found.strata)
    again = draw(population, 5, 3, kinds=dict.fromkeys(found.strata, "high"))
    assert not again.strata.keys() & found.strata.keys()
    assert found.of.keys() == {one.sample_id for one in population}
    assert math.fsum(one.share for one in found.strata.values()) == pytest.approx(1.0)


# Changed answers


def test_changed_answers_come_first() -> None:
    """12 of 100 changed after a uniform draw: 10 of them are drawn, even before 30 labels."""
    population = answers(100, labelled=20, high=range(50))
    before = {one.sample_id: one.digest for one in population} | {
        f"a{at}": "old" for at in range(88, 100)
    }
    found = draw(population, 11, 1, [Draw(before)])
    assert sizes(found)["changed"] == (12, 0, 10)
    assert sizes(found)["low"] == (38, 0, 1)
    names = {name for name, code in found.of.items() if found.strata[code].kind == "changed"}
    assert names == {f"a{at}" for at in range(88, 100)}


def test_what_the_last_draw_did_not_have_is_drawn() -> None:
    """A new sample has changed; one that had no score then is a stratum, too."""
    population = answers(30, labelled=28)
    digests = {one.sample_id: one.digest for one in population[:29]}
    last = Draw(digests, {f"a{at}": "s-1" for at in range(28)})
    found = draw(population, 2, 1, [last], {"s-1": "low"})
    assert sizes(found) == {"changed": (1, 0, 1), "several": (1, 0, 1), "low": (28, 28, 0)}


def test_strata_stay_as_they_were_drawn() -> None:
    """The judge now finds every sample high; the classes are those of the last draw.

    So it is with fewer than 30 labels, and what the last draw calls them counts.
    """
    population = answers(40, labelled=20, high=range(40))
    digests = {one.sample_id: one.digest for one in population}
    first = Draw(digests, {f"a{at}": "s-1" if at < 15 else "s-2" for at in range(40)})
    last = Draw(digests, {f"a{at}": "s-3" if at < 15 else "s-4" for at in range(40)})
    kinds = {"s-1": "high", "s-2": "low", "s-3": "several", "s-4": "low"}
    for bearing, name in (([first], "high"), ([first, last], "several")):
        found = draw(population, 4, 1, bearing, kinds)
        assert sizes(found) == {name: (15, 15, 0), "low": (25, 5, 4)}


def test_there_are_three_strata_at_most() -> None:
    """Answers changed a second time: the smallest parts of the last draw are put together.

    Not so answers that changed before and have fewer than 10 labels: they are wanted still, after
    the new ones.
    """
    population = answers(100, labelled=0, high=range(50))
    digests = {one.sample_id: one.digest for one in population} | {"a99": "old"}
    parts = {"s-1": range(12), "s-2": range(12, 60), "s-3": range(60, 100)}
    last = Draw(digests, {f"a{at}": code for code, part in parts.items() for at in part})
    kinds = {"s-1": "changed", "s-2": "high", "s-3": "low"}
    found = draw(population, 13, 1, [last], kinds)
    changed = [one for one in found.strata.values() if one.kind == "changed"]
    assert [(one.size, one.drawn) for one in changed] == [(1, 1), (12, 10)]
    assert sizes(found)["several"] == (48 + 39, 0, 2)
    labelled = [
        answer(at, one.digest, bool(one.judged.verdict), 1.0 if at < 12 else None)
        for at, one in enumerate(population)
    ]
    assert sizes(draw(labelled, 13, 1, [last], kinds))["several"] == (12 + 39, 12, 0)
