"""C1: ragas' metrics through our judge against ragas 0.4.3 itself, on the same judge's replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from judged_scoring import score
from scripted_models import nli

from pytest_rageval.clients.errors import InvalidOutputError, LocalModelError
from pytest_rageval.model import Sample, Score

pytest.importorskip("ragas")

Reference = Callable[[str], Any]

SAMPLE = Sample("s", question="Q", answer="A", contexts=("C",), references=("R",))


@pytest.fixture(scope="module")
def figures(reference: Reference) -> Mapping[str, Any]:
    """Return what ragas gives."""
    return reference("ragas_formulas.json")


def is_binary(verdicts: Sequence[int]) -> bool:
    return set(verdicts) <= {0, 1}


def test_context_precision(figures: Mapping[str, Any]) -> None:
    """1e-10 in the divisor: a perfect one stays 0.9999999999, as in ragas."""
    checked = 0
    for case in figures["context_precision"]:
        if not is_binary(case["verdicts"]):
            continue
        contexts = tuple(f"context {number}" for number, _ in enumerate(case["verdicts"]))
        verdict_of = dict(zip(contexts, case["verdicts"], strict=True))

        def say(prompt: str, verdict_of: Mapping[str, int] = verdict_of) -> Any:
            tail = prompt[prompt.rindex("input: ") :]
            (verdict,) = (verdict_of[text] for text in verdict_of if f'"{text}"' in tail)
            return {"reason": "because", "verdict": verdict}

        sample = Sample("s", question="Q", contexts=contexts, references=("R",))
        found = score("context_precision", {"ContextPrecisionOutput": say}, sample=sample)
        assert found.value == pytest.approx(case["ragas"], abs=1e-12, rel=0)
        assert found.value == pytest.approx(case["exact_average_precision"], abs=1.1e-10, rel=0)
        checked += 1
    assert checked == len(figures["context_precision"]) - 2


def test_context_precision_takes_no_verdict_out_of_range(figures: Mapping[str, Any]) -> None:
    """A defect of ragas: verdicts [2, 0] score 1.9999999999 there."""
    odd = [case for case in figures["context_precision"] if not is_binary(case["verdicts"])]
    assert [case["ragas"] > 1 for case in odd] == [True, True]
    reply = {"reason": "", "verdict": 2}
    with pytest.raises(InvalidOutputError, match="verdict is 2, it must be 0 or 1"):
        score("context_precision", {"ContextPrecisionOutput": [reply]}, sample=SAMPLE)


@pytest.mark.parametrize("metric", ["context_precision", "faithfulness"])
def test_empty_inputs_that_ragas_refuses_are_unscored(
    figures: Mapping[str, Any], metric: str
) -> None:
    errors = figures[f"{metric}_errors"]
    assert {error["error"] for error in errors.values()} == {"ValueError"}
    samples = {
        "no_contexts": Sample("s", question="Q", answer="A", contexts=(), references=("R",)),
        "empty_reference": Sample("s", question="Q", contexts=("C",), references=("",)),
        "empty_response": Sample("s", question="Q", answer="", contexts=("C",)),
    }
    for name in errors:
        found = score(metric, {}, sample=samples[name])
        # A search that found nothing is no missing score.
        assert found.value == (0.0 if name == "no_contexts" else None)
        assert "empty" in (found.reason or ""), name


def faithfulness(case: Mapping[str, Any]) -> Score:
    claims = case["claims"]
    return score(
        "faithfulness",
        {
            "StatementGeneratorOutput": [{"statements": claims}],
            "NLIStatementOutput": [nli(claims, case["verdicts"])],
        },
        sample=SAMPLE,
    )


def test_faithfulness(figures: Mapping[str, Any]) -> None:
    checked = 0
    for case in figures["faithfulness"]:
        claims, verdicts = case["claims"], case["verdicts"]
        if claims and len(claims) == len(verdicts) and is_binary(verdicts):
            assert faithfulness(case).value == pytest.approx(case["ragas"], abs=1e-12, rel=0)
            checked += 1
    assert checked == 3


def test_faithfulness_without_claims_is_unscored_with_the_reason(
    figures: Mapping[str, Any],
) -> None:
    """C3: ragas returns NaN as a value."""
    (case,) = (case for case in figures["faithfulness"] if case["id"] == "no_claims")
    assert case["ragas"] == "nan"
    found = faithfulness(case)
    assert (found.value, found.reason) == (None, "the judge found no claim in the answer")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_verdicts", "1 statements were given and 0 are judged"),
        ("fewer_verdicts_than_claims", "3 statements were given and 2 are judged"),
        ("verdict_2", "statements.0.verdict is 2, it must be 0 or 1"),
    ],
)
def test_faithfulness_refuses_replies_that_ragas_scores(
    figures: Mapping[str, Any], name: str, message: str
) -> None:
    """Defects of ragas: missing verdicts are left out of the divisor, a 2 counts as support."""
    (case,) = (case for case in figures["faithfulness"] if case["id"] == name)
    with pytest.raises(InvalidOutputError, match=message):
        faithfulness(case)


def test_context_recall(figures: Mapping[str, Any]) -> None:
    for case in figures["context_recall"]:
        classified = [
            {"statement": f"s{number}", "reason": "r", "attributed": attributed}
            for number, attributed in enumerate(case["attributed"])
        ]
        reply = {"classifications": classified}
        found = score("context_recall", {"ContextRecallOutput": [reply]}, sample=SAMPLE)
        if case["ragas"] == "nan":
            assert (found.value, found.reason) == (
                None,
                "the judge found no claim in the reference",
            )
        else:
            assert found.value == pytest.approx(case["ragas"], abs=1e-12, rel=0)


def test_answer_relevancy(figures: Mapping[str, Any]) -> None:
    """The rule for noncommittal answers is that of ragas 0.4: all replies must say so."""
    vectors = figures["answer_relevancy_vectors"]
    for case in figures["answer_relevancy"]:
        replies = [
            {"question": question, "noncommittal": noncommittal}
            for question, noncommittal in zip(
                case["generated_questions"], case["noncommittal"], strict=True
            )
        ]
        what_ragas_cannot = (
            pytest.raises(LocalModelError, match="the embedding of 'zero' is all zeros")
            if case["ragas"] == "nan"
            else nullcontext()
        )
        with what_ragas_cannot:
            found = score(
                "answer_relevancy",
                {"AnswerRelevanceOutput": replies},
                vectors,
                sample=SAMPLE,
                strictness=case["strictness"],
            )
            assert found.value == pytest.approx(case["ragas"], abs=1e-12, rel=0), case["id"]


def answer_correctness(case: Mapping[str, Any]) -> Score:
    def claims(kind: str) -> list[str]:
        return [f"{kind}{number}" for number in range(case[kind])]

    def statements(prompt: str) -> Any:
        is_answer = '"answer": "A"' in prompt[prompt.rindex("input: ") :]
        return {"statements": [*claims("tp"), *claims("fp" if is_answer else "fn")]}

    classified = {
        kind.upper(): [{"statement": claim, "reason": "r"} for claim in claims(kind)]
        for kind in ("tp", "fp", "fn")
    }
    return score(
        "answer_correctness",
        {"StatementGeneratorOutput": statements, "ClassificationWithReason": [classified]},
        {"A": case["response_vec"], "R": case["reference_vec"]},
        sample=SAMPLE,
        weights=case["weights"],
    )


def test_answer_correctness(figures: Mapping[str, Any]) -> None:
    checked = 0
    for case in figures["answer_correctness"]:
        if "empty" not in case["id"]:
            found = answer_correctness(case).value
            assert found == pytest.approx(case["ragas"], abs=1e-12, rel=0), case["id"]
            checked += 1
    assert checked == len(figures["answer_correctness"]) - 2


def test_answer_correctness_without_claims_is_unscored(figures: Mapping[str, Any]) -> None:
    """A defect of ragas: no claim on a side counts as perfect, 0.75 where nothing is alike."""
    empty = {case["id"]: case for case in figures["answer_correctness"] if "empty" in case["id"]}
    assert {case["ragas"] for case in empty.values()} == {0.75}
    for case in empty.values():
        found = answer_correctness(case)
        assert (found.value, found.reason) == (None, "the judge found no claim in the answer")


def test_every_list_of_figures_has_a_test(figures: Mapping[str, Any]) -> None:
    assert {name for name, cases in figures.items() if isinstance(cases, list)} == {
        "context_precision",
        "faithfulness",
        "context_recall",
        "answer_relevancy",
        "answer_correctness",
    }
