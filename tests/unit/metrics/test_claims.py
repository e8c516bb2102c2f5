"""G6: claims of an answer and its reference: what is asked, the edges, and what is said of them.

The figures of whole tables are in ``test_golden_claims.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from claim_tables import ALL, ANSWER, HISTORY, REFERENCE, Table, context, metric
from scripted_models import ScriptedJudge

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.metrics.support.table import Source, SupportRow, SupportTable
from pytest_rageval.model import Score

OF_ANSWER = ("claim_precision", "noise_in_relevant", "noise_in_irrelevant", "hallucination")


def a_table(**letters: object) -> Table:
    """Three claims of the answer: right and found, wrong and found, wrong and nowhere."""
    known: dict[str, object] = {
        "contexts": 2,
        "answer_by_reference": "ENC",
        "reference_by_answer": "EC",
        "answer_by_context": ["EN", "NE", "NN"],
        "reference_by_context": ["EN", "EN"],
    }
    return Table(**(known | letters))  # type: ignore[arg-type]


def reason(table: Table, name: str) -> str | None:
    return table.scores([name])[name].reason


@pytest.mark.parametrize(
    ("names", "calls"),
    [
        (ALL, 2 + 2 + 2 * 2),
        (["claim_recall"], 2),
        (["claim_precision"], 3),
        (["claim_f1"], 4),
        (["context_claim_recall"], 1 + 2),
        (["context_claim_recall", "context_claim_precision"], 1 + 2),
        (["claim_utilization"], 1 + 1 + 2),
        (["claim_faithfulness"], 1 + 2),
        (["hallucination", "self_knowledge"], 3 + 2),
        (["noise_in_relevant", "noise_in_irrelevant"], 3 + 2 + 2),
    ],
)
def test_what_is_asked_follows_from_the_metrics(names: list[str], calls: int) -> None:
    """All of them: 4 + 2k; each cell once, whatever reads it."""
    table = a_table()
    table.fill(names)
    assert len(table.judge.prompts) == calls
    assert len(set(table.judge.prompts)) == calls


def test_ten_claims_are_asked_at_once() -> None:
    """11 claims of the answer, 10 of the reference: two calls a source for the answer's."""
    table = Table(3, "E" * 11, "E" * 10, ["EEE"] * 11, ["EEE"] * 10)
    table.fill()
    assert len(table.judge.prompts) == 2 + 2 + 1 + 3 * (2 + 1)


def test_what_was_retrieved_is_not_asked_anew_when_the_answer_changes() -> None:
    names = ["context_claim_recall", "claim_faithfulness"]
    before, after = a_table(), a_table(answer_by_reference="E", answer_by_context=["NE"])
    before.fill(names)
    after.fill(names)
    asked_of_reference = [text for text in before.judge.prompts if "of the reference\n" in text]
    assert len(asked_of_reference) == 2
    assert set(asked_of_reference) <= set(after.judge.prompts)


def test_an_answer_without_a_claim_is_left_out_and_finds_nothing() -> None:
    """A system that says nothing must not leave the mean of recall and F1."""
    found = a_table(answer_by_reference="", reference_by_answer="NN", answer_by_context=[]).scores()
    left_out = {name for name, score in found.items() if score.left_out == "answer"}
    assert left_out == {*OF_ANSWER, "self_knowledge", "claim_faithfulness"}
    assert {found[name].reason for name in left_out} == {"the answer makes no claim"}
    assert {found[name].value for name in left_out} == {None}
    assert found["claim_recall"].value == 0.0
    assert found["claim_f1"] == Score("claim_f1", 0.0, "the answer makes no claim")
    assert found["context_claim_recall"].value == 1.0


def test_a_reference_without_a_claim_leaves_faithfulness_alone() -> None:
    table = a_table(reference_by_answer="", reference_by_context=[])
    table.row = SupportRow(replace(table.sample, references=("Yes.",)), ANSWER)
    table.claims["Yes."] = []
    found = table.scores()
    assert found["claim_faithfulness"].value == pytest.approx(2 / 3)
    others = {name: score for name, score in found.items() if name != "claim_faithfulness"}
    assert {score.left_out for score in others.values()} == {"run"}
    assert {score.reason for score in others.values()} == {"the reference makes no claim"}
    assert not any(REFERENCE in text for text in table.judge.prompts[2:])


def test_a_blank_reference_is_not_the_first_one() -> None:
    """Else a blank cell before a reference takes the row out of every gate."""
    table, plain = a_table(), a_table()
    sample = replace(table.sample, references=("", " \n", REFERENCE))
    table.row = SupportRow(sample, ANSWER)
    table.judge = ScriptedJudge({"claims": table.say_claims, "support": _past_blank_parts(table)})
    assert table.values() == plain.values()


@pytest.mark.parametrize("schema", ["claims", "support"])
def test_whatever_a_client_raises_fails_the_metrics_alone(schema: str) -> None:
    """A client of the user's own; else the sample loses its scores by other metrics too."""

    def broken(_: str) -> Any:
        raise RuntimeError("no route")

    table = a_table()
    says = {"claims": table.say_claims, "support": table.say_cells, schema: broken}
    table.judge = ScriptedJudge(says)
    failure = metric("claim_recall").failure(table.fill(["claim_recall"]))
    assert repr(failure) == "RuntimeError('no route')"


def _past_blank_parts(table: Table) -> Callable[[str], Any]:
    blank = "<source>\n\n</source>\n<source>\n \n\n</source>\n"
    return lambda prompt: table.say_cells(prompt.replace(blank, ""))


def test_without_contexts_what_is_right_is_known_and_what_is_wrong_made_up() -> None:
    found = Table(0, "EN", "EN", ["", ""], ["", ""]).scores()
    assert found["hallucination"].value == 0.5
    assert found["self_knowledge"].value == 0.5
    assert found["claim_faithfulness"].value == 0.0
    assert found["context_claim_precision"] == Score(
        "context_claim_precision", 0.0, "there are no contexts"
    )
    unused = found["claim_utilization"]
    assert (unused.value, unused.left_out) == (None, "run")


def test_several_references_support_together_and_the_first_one_is_to_be_found() -> None:
    """Both stand in the one source that the answer's claims are held against."""
    table = a_table()
    table.row = replace(
        table.row, sample=replace(table.sample, references=(REFERENCE, "Said otherwise."))
    )
    prompts: list[str] = []
    judge = table.judge
    judge._replies = {
        "claims": lambda prompt: prompts.append(prompt) or {"claims": ["It is so"]},
        "support": lambda prompt: (
            prompts.append(prompt) or {"verdicts": [{"n": 1, "support": "full", "reason": ""}]}
        ),
    }
    table.fill(["claim_precision"])
    of_claims, of_cells = prompts[:2], prompts[2]
    assert not any("Said otherwise." in text for text in of_claims)
    assert f"<source>\n{REFERENCE}\n</source>\n<source>\nSaid otherwise.\n</source>" in of_cells


def test_a_part_is_no_support() -> None:
    table = Table(1, "P", "P", ["P"], ["P"])
    assert table.values() == {
        "claim_precision": 0.0,
        "claim_recall": 0.0,
        "claim_f1": 0.0,
        "context_claim_recall": 0.0,
        "context_claim_precision": 0.0,
        "claim_utilization": None,
        "noise_in_relevant": 0.0,
        "noise_in_irrelevant": 0.0,
        "hallucination": 1.0,
        "self_knowledge": 0.0,
        "claim_faithfulness": 0.0,
    }


def test_earlier_turns_support_an_answer_and_are_not_retrieved() -> None:
    """The third claim, which is wrong, stands in the history alone."""
    table = a_table(history="NNE")
    found = table.scores()
    assert found["claim_faithfulness"].value == 1.0
    assert found["claim_faithfulness"].reason == (
        'only the history supports it: "claim 3 of the answer"'
    )
    assert found["hallucination"].value == 0.0
    assert found["noise_in_irrelevant"].value == pytest.approx(2 / 3)
    assert "only the history supports it" in str(found["noise_in_irrelevant"].reason)
    assert "only the history supports it" in str(found["claim_precision"].reason)
    asked = [text for text in table.judge.prompts if HISTORY in text]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claim_precision",
         '2 of 3 answer claims not in the reference: "claim 2 of the answer", '
         '"claim 3 of the answer" (reference: it contradicts the source)'),
        ("claim_recall",
         '1 of 2 reference claims missing: "claim 2 of the reference" '
         "(answer: it contradicts the source)"),
        ("context_claim_recall", None),
        ("context_claim_precision",
         "1 of 2 contexts without a claim of the reference: contexts[2]"),
        ("claim_utilization",
         '1 of 2 retrieved claims missing in the answer: "claim 2 of the reference" '
         "(in contexts[1]; answer: it contradicts the source)"),
        ("noise_in_relevant", None),
        ("noise_in_irrelevant",
         '1 of 3 answer claims not in the reference, but in an irrelevant context: '
         '"claim 2 of the answer" (in contexts[2])'),
        ("hallucination",
         '"claim 3 of the answer" (reference: it contradicts the source) is in no context and '
         "not in the reference"),
        ("self_knowledge", None),
        ("claim_faithfulness",
         '1 of 3 answer claims in no context: "claim 3 of the answer"'),
    ],
)  # fmt: skip
def test_a_reason_names_the_claims(name: str, expected: str | None) -> None:
    assert reason(a_table(), name) == expected


def test_a_missing_claim_is_told_whose_fault_it_is_where_the_contexts_were_asked() -> None:
    """One is in a context, one in none."""
    table = a_table(reference_by_answer="NN", reference_by_context=["EN", "NN"])
    assert table.scores()["claim_recall"].reason == (
        '2 of 2 reference claims missing: "claim 1 of the reference" (in contexts[1]: '
        'generation), "claim 2 of the reference" (in no context: retrieval)'
    )


def test_a_context_that_contradicts_is_named() -> None:
    table = a_table(answer_by_context=["EN", "NE", "NC"])
    assert reason(table, "claim_faithfulness") == (
        '1 of 3 answer claims in no context: "claim 3 of the answer" '
        "(contexts[2]: it contradicts the source)"
    )


@pytest.mark.parametrize(
    ("said", "is_named"),
    [
        ("It contradicts the claim", True),
        ("the source CONTRADICTS it: 30 days, not 14", True),
        ("not supported, contradicted by the second sentence", True),
        ("does not mention Rome and contradicts the date", True),
        ("it not only contradicts the claim, it names another city", True),
        ("No: it contradicts the source", True),
        ("there is a contradiction in the year", True),
        ("It does not contradict the city, but contradicts the year", True),
        ("neither source agrees; both contradict it", True),
        ("a minor contradiction: 14 days", True),
        ("The donor contradicts it", True),
        ("资料与此矛盾", True),
        ("并非没有矛盾：日期不同", True),
        ("资料不支持，且相互矛盾", True),
        ("It neither supports nor contradicts the claim", False),
        ("it neither contradicts nor supports it", False),
        ("The source does not contradict it, but does not say it either", False),
        ("It doesn't contradict this", False),
        ("It doesn’t contradict this", False),
        ("It cannot contradict what it does not name", False),
        ("There is no contradiction", False),
        ("It does not support or contradict the claim", False),
        ("neither supported nor directly contradicted", False),
        ("资料没有提到，也不矛盾", False),
        ("两者不存在矛盾", False),
        ("The source says nothing of it", False),
    ],
)
def test_a_contradiction_is_named_and_its_denial_is_none(
    monkeypatch: pytest.MonkeyPatch, said: str, is_named: bool
) -> None:
    def says(_: SupportTable, __: object, source: Source) -> str:
        return said if source.name == "contexts[2]" else ""

    monkeypatch.setattr(SupportTable, "reason", says)
    told = str(reason(a_table(), "claim_faithfulness"))
    assert told.partition('answer"')[2] == (f" (contexts[2]: {said})" if is_named else "")


def test_three_claims_are_named_and_the_others_counted() -> None:
    table = a_table(reference_by_answer="NNNNN", reference_by_context=["NN"] * 5)
    assert str(reason(table, "claim_recall")).endswith('"claim 3 of the reference" and 2 more')


def test_a_cell_that_failed_fails_the_metrics_that_want_it() -> None:
    """Never a lower score: the second context could not be asked."""
    table = a_table()
    say = table.say_cells

    def fails(prompt: str) -> object:
        return ClientError("no reply") if context(2) in prompt else say(prompt)

    table.judge._replies = {"claims": table.say_claims, "support": fails}
    filled = table.fill()
    failed = {name for name in ALL if metric(name).failure(filled) is not None}
    assert failed == set(ALL) - {"claim_precision", "claim_recall", "claim_f1"}


def test_more_than_fifty_claims_are_an_error() -> None:
    filled = Table(0, "E" * 51, "E", [""] * 51, [""]).fill(["claim_precision", "claim_recall"])
    assert "51 claims were found in the answer" in str(metric("claim_precision").failure(filled))
    assert metric("claim_recall").failure(filled) is None
    assert Table(0, "E" * 50, "E", [""] * 50, [""]).values(["claim_precision"]) == {
        "claim_precision": 1.0
    }


def test_the_texts_of_both_sides_are_read_once() -> None:
    table = a_table()
    table.fill()
    of_claims = [text for text, name in zip(table.judge.prompts, table.judge.schemas, strict=True)
                 if name == "claims"]  # fmt: skip
    assert sorted(ANSWER in text for text in of_claims) == [False, True]
