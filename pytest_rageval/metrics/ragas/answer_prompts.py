"""The requests of ragas' metrics about answers and contexts; independent ones run concurrently.

Prompts, schemas and formulas are ragas'. These functions send the requests and word the reason of
the score. They raise Unscorable where the replies leave nothing to score (NaN in ragas), and
ClientError where the judge gives no usable reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.metrics.ragas.judge import Unscorable, together
from pytest_rageval.metrics.ragas.request import Claim, Finding, Request, brief, counted, quoted

_LISTED = 3


async def faithfulness(request: Request) -> Finding:
    """Split the answer into claims, then judge each by the contexts."""
    inputs = {"question": request.question, "answer": request.answer}
    claims = await request.claims("statement_generator_prompt", inputs, "answer")
    found = await request.verdicts("nli_statement_prompt", request.joined_contexts, claims)
    lacking = quoted("not supported", _without(found))
    return Finding(f"{counted(found, 'claims')} supported{lacking}", {"claims": found})


async def answer_relevancy(request: Request) -> Finding:
    """Have the judge guess the question ``strictness`` times, and embed the guesses."""
    replies = await together(
        *(
            request.judge.ask("prompt", {"response": request.answer}, draw=number)
            for number in range(request.options.strictness)
        )
    )
    guesses = [reply.question for reply in replies if reply.question]
    if guesses:
        await request.embeddings.fetch([request.question, *guesses])
    found = [
        {
            "question": reply.question,
            "noncommittal": reply.noncommittal,
            "similarity": request.embeddings.similarity(request.question, reply.question)
            if reply.question
            else None,
        }
        for reply in replies
    ]
    return Finding(_relevancy(found), {"questions": found})


def _relevancy(found: Sequence[Mapping[str, Any]]) -> str:
    asked = [one for one in found if one["question"]]
    if not asked:
        return "the judge found no question that the answer would fit; that scores 0"
    evasive = sum(one["noncommittal"] for one in asked)
    if evasive == len(asked):
        return f"the answer is noncommittal in {evasive} of {len(asked)} replies; that scores 0"
    similarities = {one["question"]: one["similarity"] for one in asked}
    guesses = list(similarities.items())[:_LISTED]
    listed = ", ".join(f'"{brief(text)}" (similarity {found:.2f})' for text, found in guesses)
    remark = f"; noncommittal in {evasive} of {len(asked)} replies" if evasive else ""
    return f"it would answer {listed}{remark}"


async def context_precision(request: Request) -> Finding:
    """Judge whether each context helps to arrive at the reference."""
    return await _usefulness(request, request.reference, "reference")


async def context_utilization(request: Request) -> Finding:
    """Judge whether each context helps to arrive at the answer."""
    return await _usefulness(request, request.answer, "answer")


async def _usefulness(request: Request, text: str, name: str) -> Finding:
    replies = await together(
        *(
            request.agreed("prompt", {"question": request.question, "context": one, "answer": text})
            for one in request.contexts
        )
    )
    found = [
        {"rank": rank, "verdict": reply.verdict, "reason": reply.reason}
        for rank, reply in enumerate(replies, start=1)
    ]
    useless = ", ".join(f"[{one['rank']}]" for one in _without(found))
    remark = f"; not useful: {useless}" if useless else ""
    return Finding(
        f"{counted(found, 'contexts')} useful for the {name}{remark}", {"contexts": found}
    )


async def context_recall(request: Request) -> Finding:
    """Judge whether the contexts contain each statement of the reference."""
    reply = await request.agreed(
        "prompt",
        {
            "question": request.question,
            "context": request.joined_contexts,
            "answer": request.reference,
        },
    )
    if not reply.classifications:
        raise Unscorable("the judge found no claim in the reference")
    found = [
        {"claim": one.statement, "verdict": one.attributed, "reason": one.reason}
        for one in reply.classifications
    ]
    missing = quoted("missing", _without(found))
    reason = f"{counted(found, 'claims of the reference')} in the contexts{missing}"
    return Finding(reason, {"claims": found})


async def context_entity_recall(request: Request) -> Finding:
    """Extract the entities of the reference and of the contexts.

    The value is the exact share. ragas adds 1e-8 to the divisor, so that its perfect score misses a
    threshold of 1.
    """
    wanted, given = await together(
        request.judge.ask("prompt", {"text": request.reference}),
        request.judge.ask("prompt", {"text": request.joined_contexts}),
    )
    present = set(given.entities)
    found: list[Claim] = [
        {"entity": name, "verdict": int(name in present)} for name in dict.fromkeys(wanted.entities)
    ]
    if not found:
        raise Unscorable("the judge found no entity in the reference")
    missing = ", ".join(brief(one["entity"]) for one in _without(found))
    reason = f"{counted(found, 'entities')} in the contexts"
    share = sum(one["verdict"] for one in found) / len(found)
    return Finding(
        reason + (f"; missing: {missing}" if missing else ""),
        {"entities": found, "entities_of_contexts": list(given.entities)},
        share,
    )


def _without(found: Sequence[Claim]) -> list[Claim]:
    return [one for one in found if not one["verdict"]]
