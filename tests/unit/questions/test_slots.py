"""Which passages questions are drawn from, and of which types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from pytest_rageval.questions.base import SHARES, Passage, QuestionType, Slot
from pytest_rageval.questions.nearest import Nearest
from pytest_rageval.questions.slots import Filled, Rules, draw_slots


def _passages(documents: int, each: int, sentences: int = 2) -> list[Passage]:
    return [
        Passage(
            f"d{name}.md",
            "",
            " ".join(f"Machine {name}-{at} has part {n} of its own." for n in range(sentences)),
            at + 1,
        )
        for name in range(documents)
        for at in range(each)
    ]


def _drawn(
    passages: Sequence[Passage],
    count: int,
    seed: int = 0,
    shares: dict[QuestionType, float] | None = None,
    filled: Sequence[Filled] = (),
) -> list[Slot]:
    rules = Rules(shares or dict(SHARES), seed, filled)
    return draw_slots(passages, Nearest(passages), count, rules)


def _filled(slots: Sequence[Slot]) -> list[Filled]:
    return [
        Filled(slot.id, slot.type, [passage.digest for passage in slot.passages]) for slot in slots
    ]


def test_types_have_their_shares() -> None:
    kinds = Counter(slot.type for slot in _drawn(_passages(7, 20), 100))
    assert kinds == {"single": 50, "comparison": 20, "paraphrase": 20, "unanswerable": 10}


def test_documents_come_in_turns_however_long_they_are() -> None:
    short, long = _passages(1, 3), [*_passages(2, 50)[50:]]
    slots = _drawn([*short, *long], 6)
    assert Counter(slot.passages[0].doc_name for slot in slots) == {"d0.md": 3, "d1.md": 3}


@pytest.mark.parametrize("documents", [5, 10])
def test_no_document_has_questions_of_one_type_only(documents: int) -> None:
    """Types come in turns of ten: with as many documents, each would always meet the same one."""
    slots = _drawn(_passages(documents, 20), 20 * documents // 2)
    of_each: dict[str, set[str]] = {}
    for slot in slots:
        of_each.setdefault(slot.passages[0].doc_name, set()).add(slot.type)
    assert min(map(len, of_each.values())) >= 2
    assert len({slot.passages[0].doc_name for slot in slots if slot.type == "comparison"}) > 2


def test_the_first_ones_do_not_depend_on_how_many_are_drawn() -> None:
    passages = _passages(3, 4)
    assert _drawn(passages, 10) == _drawn(passages, 30)[:10]


def test_a_seed_gives_its_own_draw() -> None:
    passages = _passages(3, 4)
    single: dict[QuestionType, float] = {"single": 1.0}
    one = _drawn(passages, 8, 1, single)
    assert one == _drawn(passages[::-1], 8, 1, single) != _drawn(passages, 8, 2, single)


def test_each_passage_comes_up_once_then_once_for_each_sentence() -> None:
    passages = _passages(2, 2, sentences=3)
    slots = _drawn(passages, 100, shares={"single": 1.0})
    assert len(slots) == 4 + 4 * 3
    assert [slot.part for slot in slots[:4]] == [""] * 4
    assert all(slot.part in slot.passages[0].text for slot in slots)
    assert len({slot.id for slot in slots}) == len(slots)


def test_a_sentence_goes_on_over_the_end_of_a_wrapped_line() -> None:
    text = (
        "The workshop is behind the lecture room, where it\nhas been for years. It is open today."
    )
    slots = _drawn([Passage("a.md", "", text, 1)], 9, shares={"single": 1.0})
    assert {slot.part for slot in slots} == {
        "",
        "The workshop is behind the lecture room, where it\nhas been for years.",
        "It is open today.",
    }


def test_a_comparison_is_of_two_passages_and_no_pair_comes_twice() -> None:
    slots = _drawn(_passages(2, 3), 50, shares={"comparison": 1.0})
    pairs = [frozenset(passage.digest for passage in slot.passages) for slot in slots]
    assert {len(pair) for pair in pairs} == {2}
    assert len(set(pairs)) == len(pairs)


def test_of_one_passage_nothing_is_compared() -> None:
    slots = _drawn(_passages(1, 1), 5)
    assert "comparison" not in {slot.type for slot in slots}
    assert _drawn(_passages(1, 1), 5, shares={"comparison": 1.0}) == []


@pytest.mark.parametrize("before", [1, 7, 12, 19])
def test_what_was_filled_before_counts_and_the_rest_is_as_if_drawn_at_once(before: int) -> None:
    passages = _passages(3, 4)
    whole = _drawn(passages, 30)
    assert len(whole) == 30
    assert _drawn(passages, 30, filled=_filled(whole[:before])) == whole[before:]
    assert _drawn(passages, before, filled=_filled(whole[:before])) == []


def test_an_id_that_is_there_is_not_drawn_whatever_its_row_lost() -> None:
    """Such rows were asked for, paid, and not written, on every run."""
    passages = _passages(3, 4)
    search, whole = Nearest(passages), _drawn(passages, 30)
    ids = {slot.id for slot in whole}
    assert any(slot.type == "comparison" for slot in whole)
    more = draw_slots(passages, search, 30, Rules(ids=ids))
    assert more
    assert ids.isdisjoint(slot.id for slot in more)


def test_a_new_document_moves_nothing_that_was_filled() -> None:
    old = _passages(5, 6)
    first = _drawn(old, 20)
    passages = _passages(6, 6)
    more = _drawn(passages, 40, filled=_filled(first))
    assert len(more) == 20
    assert {slot.id for slot in more}.isdisjoint(slot.id for slot in first)
    assert any(slot.passages[0].doc_name == "d5.md" for slot in more)
    kinds = Counter(slot.type for slot in (*first, *more))
    assert kinds == {"single": 20, "comparison": 8, "paraphrase": 8, "unanswerable": 4}
    used = [slot.passages[0].digest for slot in (*first, *more) if not slot.part]
    assert len(set(used)) == len(used)


def test_a_slot_whose_passage_changed_does_not_count() -> None:
    passages = _passages(2, 3)
    slots = _drawn(passages, 4)
    gone = slots[0].passages[0]
    left = [passage for passage in passages if passage != gone]
    lost = [slot for slot in slots if gone in slot.passages]
    assert len(_drawn(left, 4, filled=_filled(slots))) == len(lost)
