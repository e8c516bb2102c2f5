"""Reading replies to ragas' prompts; ragas itself is not needed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from pytest_rageval.metrics.ragas.checks import check_reply, plain, refuse_repeats, whole_number
from pytest_rageval.metrics.ragas.judge import counted, quoted, read_reply

ROWS = tomllib.loads(Path(__file__).with_name("ragas_replies.toml").read_text("utf-8"))


class Judged(BaseModel):
    statement: str
    verdict: int


class Verdicts(BaseModel):
    statements: list[Judged]


class Attributed(BaseModel):
    attributed: int
    noncommittal: int = 0


def verdicts(*values: int) -> Verdicts:
    return Verdicts(statements=[Judged(statement="s", verdict=value) for value in values])


@pytest.mark.parametrize(
    "text",
    [
        '{"attributed": 1}',
        '  {"attributed": "1"}\n',
        '```json\n{"attributed": 1}\n```',
        'Sure! Here it is:\n{"attributed": 1}\nAnything else?',
        '<think>{"attributed": 0}? No.</think>\n{"attributed": 1}',
        '{"attributed": true, "remark": "not asked for"}',
        # Thoughts that a server has cut the beginning of, and those of other models' tags.
        '{"attributed": 0} or so? No.</think>{"attributed": 1}',
        '◁think▷{"attributed": 0}?◁/think▷{"attributed": 1}',
        '<thinking>{"attributed": 0}?</thinking>\n{"attributed": 1}',
        'As {asked}: {"attributed": 1}\n\nExplanation: it is of the form {"attributed": ...}.',
        'It is {"attributed": 1}, so:\n```json\n{"attributed": 1}\n```',
        "{'attributed': 1, 'reason': 'it\\'s there',}",
        '[{"attributed": 1}]',
        '{"attributed": 1, "attributed": 1}',
        '{"example": {"attributed": 0}} {"attributed": 1}',
    ],
)
def test_the_object_is_found_whatever_stands_around_it(text: str) -> None:
    assert read_reply(text, Attributed).attributed == 1


@pytest.mark.parametrize(
    ("text", "message"),
    ROWS["what_is_wrong_is_said_in_words"],
)
def test_what_is_wrong_is_said_in_words(text: str, message: str) -> None:
    """The client tells it to the judge when it asks again."""
    with pytest.raises(ValueError, match=message) as caught:
        read_reply(text, Attributed)
    assert type(caught.value) is ValueError
    assert "http" not in str(caught.value)


@pytest.mark.parametrize("value", [2, 5, -1])
def test_a_verdict_that_is_neither_0_nor_1_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match=f"statements.1.verdict is {value}, it must be 0 or 1"):
        check_reply(verdicts(1, value), {})
    with pytest.raises(ValueError, match=f"attributed is {value}"):
        check_reply(Attributed(attributed=value), {})
    with pytest.raises(ValueError, match=f"noncommittal is {value}"):
        check_reply(Attributed(attributed=1, noncommittal=value), {})


@pytest.mark.parametrize("count", [0, 1, 3])
def test_each_statement_has_one_verdict(count: int) -> None:
    """One verdict for two claims would be all of the score."""
    check_reply(verdicts(1, 0), {"statements": ["a", "b"]})
    with pytest.raises(ValueError, match=f"2 statements were given and {count} are judged"):
        check_reply(verdicts(*[1] * count), {"statements": ["a", "b"]})


def named(*statements: str) -> Verdicts:
    judged = [Judged(statement=one, verdict=number % 2) for number, one in enumerate(statements)]
    return Verdicts(statements=judged)


def test_a_statement_that_is_judged_again_is_no_verdict_on_another() -> None:
    """The reason was "2 of 2 supported", where one claim had two verdicts, and the other none."""
    given = {"statements": ["It is big.", "It is old."]}
    for said in (("It is big.", "it is big"), ("It is old", "It is old.")):
        with pytest.raises(ValueError, match="is judged 2 times; judge each statement once"):
            check_reply(named(*said), given)
    for said in (("It's big", "It's old"), ("...", "..."), ("s", "s"), ("It is big", "old")):
        check_reply(named(*said), given)
    check_reply(named("a", "a"), {"statements": ["a", "A."]})


@pytest.mark.parametrize(
    "two", [("C", "C++"), ("1.5 %", "15 %"), ("<5", ">5"), ("-5", "5"), ("कि", "की")]
)
def test_statements_that_differ_in_a_sign_are_two(two: tuple[str, str]) -> None:
    """Only their letters and digits were compared: a right reply was refused three times."""
    check_reply(named(*two), {"statements": ["x", *two][1:]})
    refuse_repeats(two, plain("nothing of these"))


def test_verdicts_in_another_order_are_put_in_that_of_the_statements() -> None:
    reply = named("It is old", "It is big")
    check_reply(reply, {"statements": ["It is big.", "It is old."]})
    assert [one.statement for one in reply.statements] == ["It is big", "It is old"]
    assert [one.verdict for one in reply.statements] == [1, 0]


def test_replies_without_statements_are_not_counted() -> None:
    check_reply(Attributed(attributed=1), {"statements": ["a", "b"]})
    check_reply(verdicts(1), {"question": "q"})


def test_marks_are_whole_steps_of_the_scale() -> None:
    class Rated(BaseModel):
        rating: int

    check = whole_number(0, 4, "rating", 2)
    for good in (0, 2, 4):
        check(Rated(rating=good))
    for bad in (-2, 1, 3, 6):
        with pytest.raises(ValueError, match=f"rating is {bad}, it must be one of 0, 2, 4"):
            check(Rated(rating=bad))


def test_counts_and_quotations_read_as_sentences() -> None:
    claims = [
        {"claim": f"claim {number}", "verdict": 0, "reason": "x" * 200} for number in range(5)
    ]
    assert counted(claims, "claims") == "0 of 5 claims are"
    assert counted([{"verdict": 1}], "contexts") == "1 of 1 contexts is"
    text = quoted("missing", claims)
    assert text.startswith('; missing: "claim 0" (xxx')
    assert text.endswith(" and 2 more")
    assert len(text) < 3 * 150
    assert quoted("missing", []) == ""
    assert quoted("wrong", [{"claim": "a\nb", "reason": ""}]) == '; wrong: "a b"'
