"""Names of items: each has its own, however many ids look alike."""

from __future__ import annotations

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.plugin.names import Names, item_name


@pytest.mark.parametrize(
    ("sample_id", "name"),
    [
        ("a::b", "a:b"),
        ("x[1]", "x(1)"),
        ("two words", "two words"),
        ("双源CT成像技术", "双源CT成像技术"),
        ("line\nbreak", "line break"),
        ("n" * 1000, "n" * 200),
        ("lone \ud800 surrogate", r"lone \ud800 surrogate"),
        ("tab\tand\x1b[31mescape", r"tab and\x1b(31mescape"),
        ("a/b.py", "a/b.py"),
        ("::", "sample"),
        ("ends:", "ends"),
        ("'quoted\"%s{}", "'quoted\"%s{}"),
        ("gate:em.mean", "gate_em.mean"),
        ("save:main", "save_main"),
        ("gates:x", "gates:x"),
    ],
)
def test_what_node_ids_cannot_hold_has_a_look_alike(sample_id: str, name: str) -> None:
    """[A2] ``::`` parts node ids, ``[`` breaks ``--lf``, and a gate is called ``gate:f1.mean``."""
    assert item_name(sample_id) == name


def test_ids_that_look_alike_are_numbered_in_their_order() -> None:
    names = Names()
    given = [names.give(one) for one in ("a", "a\n", "b", " a", "b ")]
    assert given == ["a", "a~2", "b", "a~3", "b~2"]


def test_a_number_that_an_id_has_already_is_not_given_again() -> None:
    names = Names()
    given = [names.give(one) for one in ("a~2", "a", "a ", "a~2 ", " a")]
    assert given == ["a~2", "a", "a~3", "a~2~2", "a~4"]


@pytest.mark.full
def test_ids_that_share_their_beginning_take_no_longer_the_more_there_are() -> None:
    """A name is cut; a step for each one before it took 8 s for 8,000 of them, minutes here."""
    names, shared = Names(), "x" * 200
    with within_a_minute():
        given = {names.give(f"{shared}{number}") for number in range(50_000)}
    assert len(given) == 50_000
