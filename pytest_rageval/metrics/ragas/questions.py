"""What ragas' metrics about answers and contexts ask, independent questions at once.

Prompts, schemas and formulas are ragas'. These functions give the order of the questions and the
sentence that a developer reads. They raise Unscorable where the replies leave nothing to score,
which ragas calls NaN, and ClientError where the judge gives no usable reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.metrics.ragas.inquiry import Claim, Finding, Inquiry, brief, counted, quoted
from pytest_rageval.metrics.ragas.judge import Unscorable, together

_LISTED = 3


async def faithfulness(case: Inquiry) -> Finding:
    """Take the answer apart, then judge each claim by the contexts."""
    inputs = {"question": case.question, "answer": case.answer}
    claims = await case.claims("statement_generator_prompt", inputs, "answer")
    found = await case.verdicts("nli_statement_prompt", case.joined_contexts, claims)
    lacking = quoted("not supported", _without(found))
    return Finding(f"{counted(found, 'claims')} supported{lacking}", {"claims": found})


async def answer_relevancy(case: Inquiry) -> Finding:
    """Guess ``strictness`` times which question the answer answers, and embed the guesses."""
    replies = await together(
        *(
            case.judge.ask("prompt", {"response": case.answer}, draw=number)
            for number in range(case.options.strictness)
        )
    )
    guesses = [reply.question for reply in replies if reply.question]
    if guesses:
        await case.embeddings.fetch([case.question, *guesses])
    found = [
        {
            "question": reply.question,
            "noncommittal": reply.noncommittal,
            "similarity": case.embeddings.similarity(case.question, reply.question)
            if reply.question
            else None,
        }
        for reply in replies
    ]
    return Finding(_relevancy(found), {"questions": found})


def _relevancy(found: Sequence[Mapping[str, Any]]) -> str:
    asked = [one for one in found if one["question"]]
    if not asked:
        return "the judge wrote no question that the answer would answer; that scores 0"
    evasive = sum(one["noncommittal"] for one in asked)
    if evasive == len(asked):
        return f"the answer is noncommittal in {evasive} of {len(asked)} replies; that scores 0"
    similarities = {one["question"]: one["similarity"] for one in asked}
    guesses = list(similarities.items())[:_LISTED]
    listed = ", ".join(f'"{brief(text)}" (similarity {found:.2f})' for text, found in guesses)
    remark = f"; noncommittal in {evasive} of {len(asked)} replies" if evasive else ""
    return f"it would answer {listed}{remark}"


async def context_precision(case: Inquiry) -> Finding:
    """Judge of each context whether it helps to arrive at the reference."""
    return await _usefulness(case, case.reference, "reference")


async def context_utilization(case: Inquiry) -> Finding:
    """Judge of each context whether it helps to arrive at the answer."""
    return await _usefulness(case, case.answer, "answer")


async def _usefulness(case: Inquiry, text: str, name: str) -> Finding:
    replies = await together(
        *(
            case.judge.ask("prompt", {"question": case.question, "context": one, "answer": text})
            for one in case.contexts
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


async def context_recall(case: Inquiry) -> Finding:
    """Judge of each statement of the reference whether the contexts hold it."""
    reply = await case.judge.ask(
        "prompt",
        {"question": case.question, "context": case.joined_contexts, "answer": case.reference},
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


async def context_entity_recall(case: Inquiry) -> Finding:
    """Extract the names and dates of the reference and of the contexts.

    The value is the share itself; ragas adds 1e-8 to the divisor, so that a perfect score misses a
    threshold of 1.
    """
    wanted, given = await together(
        case.judge.ask("prompt", {"text": case.reference}),
        case.judge.ask("prompt", {"text": case.joined_contexts}),
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
