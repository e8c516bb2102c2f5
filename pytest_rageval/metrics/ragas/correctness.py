"""The requests of ragas' metrics that split both the answer and the reference into claims.

Where either has no claim, ragas gives a perfect score (answer_correctness) or fails in numpy
(noise_sensitivity); here the sample is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_rageval.metrics.ragas.judge import together
from pytest_rageval.metrics.ragas.replies import Check
from pytest_rageval.metrics.ragas.request import Claim, Finding, Request, counted, quoted

_STATEMENTS = "statement_generator_prompt"


async def answer_correctness(request: Request) -> Finding:
    """Split both into claims, sort them into right, wrong and missing; embed both texts."""
    (answer, reference), similarity = await together(_both(request), _similarity(request))
    reply = await request.judge.ask(
        "correctness_classifier_prompt",
        {"question": request.question, "answer": answer, "ground_truth": reference},
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


async def _both(request: Request) -> tuple[list[str], list[str]]:
    answer, reference = await together(
        request.claims(
            _STATEMENTS, {"question": request.question, "answer": request.answer}, "answer"
        ),
        request.claims(
            _STATEMENTS, {"question": request.question, "answer": request.reference}, "reference"
        ),
    )
    return answer, reference


async def _similarity(request: Request) -> float | None:
    if request.options.weights[1] == 0:
        return None
    await request.embeddings.fetch([request.answer, request.reference])
    return request.embeddings.similarity(request.answer, request.reference)


def _all_classified(claims: int) -> Check:
    """Return a check that no claim of the answer is left out: ragas would score only the others."""

    def check(reply: Any) -> None:
        found = len(reply.TP) + len(reply.FP)
        if found < claims:
            raise ValueError(
                f"{claims} statements of the answer were given and {found} are in TP and FP; "
                "put each of them into one of the two"
            )

    return check


async def factual_correctness(request: Request) -> Finding:
    """Judge the answer's claims by the reference and, except for precision, vice versa."""
    pairs = [("answer", request.answer, "reference", request.reference)]
    if request.options.mode != "precision":
        pairs.append(("reference", request.reference, "answer", request.answer))
    sides = await together(*(_verified(request, text, by, name) for name, text, _, by in pairs))
    sentences, details = [], {}
    for (name, _, other, _), found in zip(pairs, sides, strict=True):
        lacking = quoted(f"not in the {other}", [one for one in found if not one["verdict"]])
        sentences.append(f"{counted(found, f'claims of the {name}')} in the {other}{lacking}")
        details[f"claims_of_{name}"] = found
    return Finding("; ".join(sentences), details)


async def _verified(request: Request, text: str, by: str, name: str) -> list[Claim]:
    options = request.options
    inputs = {"response": text, "atomicity": options.atomicity, "coverage": options.coverage}
    claims = await request.claims("prompt", inputs, name)
    return await request.verdicts("nli_prompt", by, claims)


async def noise_sensitivity(request: Request) -> Finding:
    """Judge the claims of both by each context, and the answer's by the reference."""
    wanted, claims = await together(
        request.claims(
            "statement_prompt",
            {"question": request.question, "text": request.reference},
            "reference",
        ),
        request.claims(
            "statement_prompt", {"question": request.question, "text": request.answer}, "answer"
        ),
    )
    count = len(request.contexts)
    verdicts = await together(
        *(_by(request, context, wanted) for context in request.contexts),
        *(_by(request, context, claims) for context in request.contexts),
        _by(request, request.reference, claims),
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
        _noise(found, ranks, request.options.mode), {"claims": found, "relevant_contexts": ranks}
    )


async def _by(request: Request, text: str, claims: Sequence[str]) -> list[Claim]:
    return await request.verdicts("faithfulness_prompt", text, claims)


def _noise(claims: Sequence[Claim], relevant: Sequence[int], mode: str) -> str:
    """Return which wrong claims come from contexts of this ``mode``: the score is their share."""
    led = []
    for claim in claims:
        from_relevant = any(rank in relevant for rank in claim["contexts"])
        hit = from_relevant if mode == "relevant" else claim["contexts"] and not from_relevant
        led.append({**claim, "verdict": int(bool(hit) and not claim["verdict"])})
    wrong = quoted("wrong", [one for one in led if one["verdict"]])
    return f"{counted(led, 'claims')} wrong and supported by {mode} contexts{wrong}"
