"""E26: each planted fault of a made question is found with its reason, and nothing sound is.

``python -m tests.simulations questions`` prints the whole table.
"""

from __future__ import annotations

import json

import made_questions
import pytest
from planted_questions import KINDS, LANGUAGES, Language, PlantedModel, planted_rows

ELSEWHERE = "unanswerable, answered in another"
REWORDED = "reworded earlier question"
PRONOUN = "pronoun in place of the name"

BY_RULES = [kind for kind, reason in KINDS.items() if reason in ("", "no_quote", "unreadable")]
BY_RULES += ["names the passage"]
BY_JUDGE = [kind for kind, reason in KINDS.items() if reason in ("not_supported", "answerable")]


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_few_rows_of_each_kind_meet_their_reason(language: Language, kind: str) -> None:
    """Ten rows; the search may pass over the passage that answers, and two people may differ."""
    found = made_questions.found(language, kind, 10)
    assert found.count == 10
    assert found.right >= (8 if kind in (ELSEWHERE, REWORDED) else 10)
    assert found.known == (10 if kind == "sound, common knowledge" else 0)


@pytest.mark.parametrize("kind", [*BY_RULES, *BY_JUDGE])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_judge_that_finds_no_fault_leaves_the_rules(language: Language, kind: str) -> None:
    """Rules find quotes, replies and words for the passage; never whether an answer is right."""
    found = made_questions.found(language, kind, 10, lenient=True)
    assert found.right == (0 if kind in BY_JUDGE else 10)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_hundred_rows_of_each_kind_meet_their_reason(language: Language, kind: str) -> None:
    """But for what no search finds.

    196 of 200 English passages that answer a question are among the twenty nearest to it.
    """
    found = made_questions.found(language, kind)
    missed = {("en", ELSEWHERE): 4}.get((language, kind), 0)
    assert found.count == {("en", PRONOUN): 113, ("zh", "sound, unanswerable"): 173}.get(
        (language, kind), 200
    )
    assert (found.reasons[""] if KINDS[kind] else found.count - found.right) == missed
    assert found.right == found.count - missed


@pytest.mark.full
@pytest.mark.parametrize(
    ("language", "kind", "right"), [("en", PRONOUN, 3), ("zh", PRONOUN, 158), ("zh", REWORDED, 200)]
)
def test_so_many_are_found_by_rules_alone(language: Language, kind: str, right: int) -> None:
    """Queries without capitals and with the pronoun behind a noun are left to the judge."""
    assert made_questions.found(language, kind, lenient=True).right == right


def test_the_planted_faults_are_faults() -> None:
    """The quote stands in the passage of sound rows alone, and the model knows only its rows."""
    for language in LANGUAGES:
        for row in planted_rows(language, "sound", 20):
            assert row.row.quote in row.slot.passages[0].text
        for row in planted_rows(language, "quote of another passage", 20):
            assert json.loads(row.reply)["quote"] not in row.slot.passages[0].text
        for row in planted_rows(language, ELSEWHERE, 20):
            assert row.gold not in row.slot.passages[0].text
        for row in planted_rows(language, REWORDED, 20)[20:]:
            assert row.question != row.row.question
    with pytest.raises(KeyError):
        PlantedModel(planted_rows("en", "sound", 1))._about("<question>\nwho?\n</question>")
