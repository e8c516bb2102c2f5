"""E12: what nobody should write is answered in the user's words; a small part of ``tests.fuzz``."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import fuzz_feed
import pytest
from fuzz_cases import KINDS, Case, Reader, kind_of, make_case, of_depth
from fuzz_feed import HangError, Tally, feed, feed_all, grounds
from fuzz_forms import json_text
from fuzz_ground import Ground
from fuzz_readers import readers_of
from fuzz_values import MOST_DEEP, MOST_DIGITS, Odd, deep, digits, plain

COUNT = 177
DEPTHS = (1, 63, 64, 65, 100, 333, 990, 1000, 1500, MOST_DEEP)


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with grounds() as ground:
        yield ground


@pytest.mark.full
def test_cases_end_in_a_result_or_in_an_error_of_the_user(ground: Ground) -> None:
    """[E12] None else is raised, none hangs, and no run is green for nothing."""
    tally = feed_all(7, range(COUNT))
    assert [(defect, one.shown) for defect, one in tally.smallest.items()] == []
    assert sum(tally.ended.values()) == COUNT
    ended = {name.rpartition(": ")[2] for name in tally.ended}
    assert {"result", "ScenarioError"} <= ended
    assert {name.rpartition(": ")[0] for name in tally.ended} == {
        reader.name for reader in readers_of(ground)
    }


@pytest.mark.full
def test_no_depth_is_too_much_for_any_reader(ground: Ground) -> None:
    """[E12] The depths around the limits: ours of 64, Python's of 1,000."""
    tally = Tally()
    for reader in readers_of(ground):
        for depth in DEPTHS:
            case = of_depth(reader, reader.seeds[0], depth)
            try:
                feed(ground, case)
            except (Exception, HangError) as error:  # noqa: BLE001
                tally.note(depth, case, error)
    assert [(defect, one.shown) for defect, one in tally.smallest.items()] == []


@pytest.mark.full
def test_what_is_changed_is_right_before(ground: Ground) -> None:
    """Else each change would be one of what is refused anyway."""
    for reader in readers_of(ground):
        fine = set()
        for at in range(8):
            chance = random.Random(at)
            seed = reader.seeds[at % len(reader.seeds)]
            given = plain(seed) if reader.form is None else reader.form(chance, seed)
            ended = feed(ground, Case(reader, "as it is", given, chance))
            fine |= {ended} & {"result", "HTTP 200", "HTTP 201"}
        assert fine, reader.name


def test_every_depth_and_every_length_of_a_number_is_met() -> None:
    """[E12] Within 24,000 and 40,000 turns of a reader."""
    met = {kind_of(1, turn) for turn in range(len(KINDS) * MOST_DIGITS)}
    assert {size for kind, size in met if kind == "depth"} == set(range(1, MOST_DEEP + 1))
    assert {size for kind, size in met if kind == "number"} == set(range(1, MOST_DIGITS + 1))


def test_odd_values_are_what_they_say() -> None:
    chance = random.Random(1)
    for depth in (1, 2, 7):
        text, made = json_text({"a": deep(chance, depth)}), deep(chance, depth).made
        assert text.count("[") + text.count("{") == depth + 1
        for _ in range(depth):
            made = made[0] if isinstance(made, list) else made["a"]
        assert made == "x"
    for size in (1, 19, 4301):
        odd = digits(chance, size)
        assert len(odd.text.lstrip("-")) == size
        assert 10 ** (size - 1) <= abs(odd.made) < 10**size
    assert json_text([Odd("1e5000", float("inf")), {"b": 10**5000}]).startswith("[1e5000")


@pytest.mark.full
def test_a_case_is_known_by_its_seed_and_number(ground: Ground) -> None:
    readers = readers_of(ground)
    first, again, other = (
        [fuzz_feed._shown(make_case(readers, seed, at).given) for at in range(150)]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_a_defect_is_counted_with_its_place(ground: Ground) -> None:
    """The counting itself: an error that is no user's fault shows, its smallest case first."""

    def breaks(_: Ground, given: bytes, __: random.Random) -> None:
        raise TypeError(f"planted {given!r}")

    tally, reader = Tally(), Reader("r", [b"x"], breaks)
    for number, given in enumerate([b"long", b"s", b"longer"]):
        case = Case(reader, "tree", given, random.Random(1))
        with pytest.raises(TypeError, match="planted") as caught:
            feed(ground, case)
        tally.note(number, case, caught.value)
    ((defect, count),) = tally.defects.items()
    assert defect.startswith("r: TypeError at ")
    assert (count, tally.smallest[defect].given) == (3, "b's'")


@pytest.mark.skipif(not hasattr(fuzz_feed.signal, "SIGALRM"), reason="needs an alarm")
def test_a_case_that_hangs_is_stopped(ground: Ground) -> None:
    reader = Reader("r", [b"x"], lambda *_: time.sleep(10))
    with pytest.raises(HangError):
        feed(ground, Case(reader, "tree", b"x", random.Random(1)), limit_s=0.05)
