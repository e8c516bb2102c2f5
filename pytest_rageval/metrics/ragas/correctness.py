"""What ragas' metrics that take both the answer and the reference apart ask.

Where either has no claim, ragas scores as if all were well (answer_correctness) or fails in numpy
(noise_sensitivity); here that is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_rageval.metrics.ragas.inquiry import Claim, Finding, Inquiry, counted, quoted
from pytest_rageval.metrics.ragas.judge import together
from pytest_rageval.metrics.ragas.replies import Check

_STATEMENTS = "statement_generator_prompt"


async def answer_correctness(case: Inquiry) -> Finding:
    """Take both apart, sort the claims into right, wrong and missing; embed both for similarity."""
    (answer, reference), similarity = await together(_both(case), _similarity(case))
    reply = await case.judge.ask(
        "correctness_classifier_prompt",
        {"question": case.question, "answer": answer, "ground_truth": reference},
        _all_classified(len(answer)),
    )
    details: dict[str, Any] = {
        kind: [{"claim": one.statement, "reason": one.reason} for one in getattr(reply, kind)]
        for kind in ("TP", "FP", "FN")
    }
    numbers = ", ".join(
        f"{len(details[kind])} {word}"
        for kind, word in (("TP", "right"), ("FP", "wrong"), ("FN", "missing"))
    )
    if similarity is not None:
        details["similarity"] = similarity
        numbers += f"; similarity {similarity:.2f}"
    remark = quoted("wrong", details["FP"]) + quoted("missing", details["FN"])
    return Finding(f"claims: {numbers}{remark}", details)


async def _both(case: Inquiry) -> tuple[list[str], list[str]]:
    answer, reference = await together(
        case.claims(_STATEMENTS, {"question": case.question, "answer": case.answer}, "answer"),
        case.claims(
            _STATEMENTS, {"question": case.question, "answer": case.reference}, "reference"
        ),
    )
    return answer, reference


async def _similarity(case: Inquiry) -> float | None:
    if case.options.weights[1] == 0:
        return None
    await case.embeddings.fetch([case.answer, case.reference])
    return case.embeddings.similarity(case.answer, case.reference)


def _all_classified(claims: int) -> Check:
    """Return a check that no claim of the answer was left out: ragas would score the others."""

    def check(reply: Any) -> None:
        sorted_in = len(reply.TP) + len(reply.FP)
        if sorted_in < claims:
            raise ValueError(
                f"{claims} statements of the answer were given and {sorted_in} are in TP and FP; "
                "put each of them into one of the two"
            )

    return check


async def factual_correctness(case: Inquiry) -> Finding:
    """Judge the answer's claims by the reference and, but for precision, the other way round."""
    pairs = [("answer", case.answer, "reference", case.reference)]
    if case.options.mode != "precision":
        pairs.append(("reference", case.reference, "answer", case.answer))
    sides = await together(*(_verified(case, text, by, name) for name, text, _, by in pairs))
    sentences, details = [], {}
    for (name, _, other, _), found in zip(pairs, sides, strict=True):
        lacking = quoted(f"not in the {other}", [one for one in found if not one["verdict"]])
        sentences.append(f"{counted(found, f'claims of the {name}')} in the {other}{lacking}")
        details[f"claims_of_{name}"] = found
    return Finding("; ".join(sentences), details)


async def _verified(case: Inquiry, text: str, by: str, name: str) -> list[Claim]:
    options = case.options
    inputs = {"response": text, "atomicity": options.atomicity, "coverage": options.coverage}
    claims = await case.claims("prompt", inputs, name)
    return await case.verdicts("nli_prompt", by, claims)


async def noise_sensitivity(case: Inquiry) -> Finding:
    """Judge the claims of both by each context, and the answer's by the reference."""
    wanted, claims = await together(
        case.claims(
            "statement_prompt", {"question": case.question, "text": case.reference}, "reference"
        ),
        case.claims("statement_prompt", {"question": case.question, "text": case.answer}, "answer"),
    )
    count = len(case.contexts)
    verdicts = await together(
        *(_by(case, context, wanted) for context in case.contexts),
        *(_by(case, context, claims) for context in case.contexts),
        _by(case, case.reference, claims),
    )
    relevant = [any(one["verdict"] for one in found) for found in verdicts[:count]]
    by_contexts, by_reference = verdicts[count:-1], verdicts[-1]
    found = [
        {
            **one,
            "contexts": [
                rank for rank, judged in enumerate(by_contexts, 1) if judged[number]["verdict"]
            ],
        }
        for number, one in enumerate(by_reference)
    ]
    ranks = [rank for rank, is_relevant in enumerate(relevant, 1) if is_relevant]
    return Finding(
        _noise(found, ranks, case.options.mode), {"claims": found, "relevant_contexts": ranks}
    )


async def _by(case: Inquiry, text: str, claims: Sequence[str]) -> list[Claim]:
    return await case.verdicts("faithfulness_prompt", text, claims)


def _noise(claims: Sequence[Claim], relevant: Sequence[int], mode: str) -> str:
    """Return which wrong claims the contexts of a kind led to: the score is their share."""
    led = []
    for claim in claims:
        from_relevant = any(rank in relevant for rank in claim["contexts"])
        hit = from_relevant if mode == "relevant" else claim["contexts"] and not from_relevant
        led.append({**claim, "verdict": int(bool(hit) and not claim["verdict"])})
    wrong = quoted("wrong", [one for one in led if one["verdict"]])
    return f"{counted(led, 'claims')} wrong and supported by {mode} contexts{wrong}"
