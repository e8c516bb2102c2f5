"""What each metric of ragas asks its judge, and how its replies are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_rageval.metrics.ragas.checks import (
    all_classified,
    brief,
    one_for_each,
    plain,
    refuse_repeats,
    whole_number,
)
from pytest_rageval.metrics.ragas.judge import (
    Claim,
    Finding,
    Request,
    Unscorable,
    counted,
    quoted,
    together,
)
from pytest_rageval.metrics.ragas.metric import Ask
from pytest_rageval.metrics.ragas.options import scale_of

_LISTED = 3


async def faithfulness(request: Request) -> Finding:
    """Split the answer into claims, then judge each by the contexts."""
    inputs = {"question": request.question, "answer": request.answer}
    claims = await request.claims("statement_generator_prompt", inputs, "answer")
    found = await request.verdicts("nli_statement_prompt", request.joined_contexts, claims)
    missing = quoted("not supported", _rejected(found))
    return Finding(f"{counted(found, 'claims')} supported{missing}", {"claims": found})


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
    evasive = sum(question["noncommittal"] for question in asked)
    if evasive == len(asked):
        return f"the answer is noncommittal in {evasive} of {len(asked)} replies; that scores 0"
    similarities = {question["question"]: question["similarity"] for question in asked}
    guesses = list(similarities.items())[:_LISTED]
    listed = ", ".join(f'"{brief(text)}" (similarity {cosine:.2f})' for text, cosine in guesses)
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
            request.agreed(
                "prompt", {"question": request.question, "context": context, "answer": text}
            )
            for context in request.contexts
        )
    )
    found = [
        {"rank": rank, "verdict": reply.verdict, "reason": reply.reason}
        for rank, reply in enumerate(replies, start=1)
    ]
    useless = ", ".join(f"[{one['rank']}]" for one in _rejected(found))
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
        lambda reply: refuse_repeats(
            (one.statement for one in reply.classifications), plain(request.reference)
        ),
    )
    if not reply.classifications:
        raise Unscorable("the judge found no claim in the reference")
    found = [
        {"claim": claim.statement, "verdict": claim.attributed, "reason": claim.reason}
        for claim in reply.classifications
    ]
    missing = quoted("missing", _rejected(found))
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
    missing = ", ".join(brief(one["entity"]) for one in _rejected(found))
    reason = f"{counted(found, 'entities')} in the contexts"
    share = sum(one["verdict"] for one in found) / len(found)
    return Finding(
        reason + (f"; missing: {missing}" if missing else ""),
        {"entities": found, "entities_of_contexts": list(given.entities)},
        share,
    )


def _rejected(found: Sequence[Claim]) -> list[Claim]:
    """Return those whose verdict is 0."""
    return [one for one in found if not one["verdict"]]


_STATEMENTS = "statement_generator_prompt"


async def answer_correctness(request: Request) -> Finding:
    """Split answer and reference into claims, which are then right, wrong or missing.

    Both texts are embedded, unless similarity has no weight.
    """
    (answer, reference), similarity = await together(_both_claims(request), _similarity(request))
    reply = await request.judge.ask(
        "correctness_classifier_prompt",
        {"question": request.question, "answer": answer, "ground_truth": reference},
        all_classified(answer, reference),
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


async def _both_claims(request: Request) -> tuple[list[str], list[str]]:
    """Return the claims of the answer, and those of the reference."""
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


async def factual_correctness(request: Request) -> Finding:
    """Judge the answer's claims by the reference and, except for precision, vice versa."""
    pairs = [("answer", request.answer, "reference", request.reference)]
    if request.options.mode != "precision":
        pairs.append(("reference", request.reference, "answer", request.answer))
    sides = await together(*(_verified(request, text, by, name) for name, text, _, by in pairs))
    sentences, details = [], {}
    for (name, _, other, _), found in zip(pairs, sides, strict=True):
        missing = quoted(f"not in the {other}", _rejected(found))
        sentences.append(f"{counted(found, f'claims of the {name}')} in the {other}{missing}")
        details[f"claims_of_{name}"] = found
    return Finding("; ".join(sentences), details)


async def _verified(request: Request, text: str, by: str, name: str) -> list[Claim]:
    options = request.options
    inputs = {"response": text, "atomicity": options.atomicity, "coverage": options.coverage}
    claims = await request.claims("prompt", inputs, name)
    return await request.verdicts("nli_prompt", by, claims)


async def noise_sensitivity(request: Request) -> Finding:
    """Judge the claims of both texts by each context, and the answer's by the reference, too."""
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
        *(_judged_by(request, context, wanted) for context in request.contexts),
        *(_judged_by(request, context, claims) for context in request.contexts),
        _judged_by(request, request.reference, claims),
    )
    relevant = [any(claim["verdict"] for claim in judged) for judged in verdicts[:count]]
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


async def _judged_by(request: Request, text: str, claims: Sequence[str]) -> list[Claim]:
    return await request.verdicts("faithfulness_prompt", text, claims)


def _noise(claims: Sequence[Claim], relevant: Sequence[int], mode: str) -> str:
    """Return the reason: how many claims are wrong and supported by contexts of this ``mode``.

    The score is their share. ``irrelevant``: by such contexts alone.
    """
    misled = []
    for claim in claims:
        from_relevant = any(rank in relevant for rank in claim["contexts"])
        hit = from_relevant if mode == "relevant" else claim["contexts"] and not from_relevant
        misled.append({**claim, "verdict": int(bool(hit) and not claim["verdict"])})
    wrong = quoted("wrong", [one for one in misled if one["verdict"]])
    return f"{counted(misled, 'claims')} wrong and supported by {mode} contexts{wrong}"


async def domain_rubrics(request: Request) -> Finding:
    """Ask for a mark by the scenario's rubrics, with feedback."""
    return await _marked(request, _known(request))


async def instance_rubrics(request: Request) -> Finding:
    """Ask for a mark by the row's own rubrics, with feedback."""
    return await _marked(request, {**_known(request), "rubrics": dict(request.rubrics)})


async def _marked(request: Request, inputs: dict[str, object]) -> Finding:
    low, high = request.options.scale
    if (own := scale_of(request.rubrics)) is not None:
        if own[0] < low or own[1] > high:
            raise ValueError(
                f"the row's levels {own[0]}..{own[1]} are not within scale [{low}, {high}]: write "
                f"scale: [{own[0]}, {own[1]}], or wider where other rows have other levels"
            )
        low, high = own
    reply = await request.judge.ask("scoring_prompt", inputs, whole_number(low, high, "score"))
    return Finding(
        brief(reply.feedback) or "the judge gave no feedback",
        {"score": reply.score, "feedback": reply.feedback},
    )


def _known(request: Request) -> dict[str, object]:
    """Return the fields of the sample under ragas' names."""
    known = {
        "user_input": request.question,
        "response": request.answer,
        "retrieved_contexts": list(request.contexts),
        "reference": request.reference,
        "reference_contexts": list(request.reference_contexts),
    }
    return {name: value for name, value in known.items() if value}


async def answer_accuracy(request: Request) -> Finding:
    """Compare answer and reference with two prompts; the second swaps the two."""
    return await _rated(
        request,
        {
            "query": request.question,
            "user_answer": request.answer,
            "reference_answer": request.reference,
        },
        {
            "query": request.question,
            "user_answer": request.reference,
            "reference_answer": request.answer,
        },
        (4, 2),
    )


async def context_relevance(request: Request) -> Finding:
    """Rate with two prompts how well the contexts, taken together, fit the question."""
    question, contexts = request.question.strip(), request.joined_contexts.strip()
    # ragas then scores 0 without a request.
    if contexts in question:
        return Finding("the contexts say no more than the question does; that scores 0")
    inputs = {"user_input": request.question, "context": request.joined_contexts}
    return await _rated(request, inputs, inputs, (2, 1))


async def response_groundedness(request: Request) -> Finding:
    """Rate with two prompts how far the contexts, taken together, support the answer."""
    inputs = {"response": request.answer, "context": request.joined_contexts}
    return await _rated(request, inputs, inputs, (2, 1))


async def _rated(
    request: Request, first: dict[str, str], second: dict[str, str], scale: tuple[int, int]
) -> Finding:
    highest, step = scale
    check = whole_number(0, highest, "rating", step)
    one, two = await together(
        request.judge.ask("judge1_prompt", first, check),
        request.judge.ask("judge2_prompt", second, check),
    )
    return Finding(
        f"rated {one.rating} and {two.rating} of {highest}", {"ratings": [one.rating, two.rating]}
    )


async def sql_equivalence(request: Request) -> Finding:
    """Have two SQL queries explained and compared; the reference_contexts are the schema."""
    inputs = {
        "reference": request.reference,
        "response": request.answer,
        "database_schema": "\n".join(request.reference_contexts),
    }
    reply = await request.judge.ask("equivalence_prompt", inputs)
    explained = {"answer": reply.response_explanation, "reference": reply.reference_explanation}
    verdict = "equivalent" if reply.equivalent else "not equivalent"
    explanations = "; ".join(f"the {name}: {brief(text)}" for name, text in explained.items())
    return Finding(f"{verdict}; {explanations}", {"equivalent": reply.equivalent, **explained})


async def summary_score(request: Request) -> Finding:
    """Ask questions about the source, then whether the answer, a summary of it, answers them."""
    text = "\n".join(request.reference_contexts)
    phrases = (await request.judge.ask("extract_keyphrases_prompt", {"text": text})).keyphrases
    questions = (
        await request.judge.ask("generate_questions_prompt", {"text": text, "keyphrases": phrases})
    ).questions
    if not questions:
        raise Unscorable("the judge found no question to ask about the reference_contexts")
    reply = await request.judge.ask(
        "generate_answers_prompt",
        {"summary": request.answer, "questions": questions},
        one_for_each(len(questions)),
    )
    found = [
        {"question": question, "answered": int(answer == "1")}
        for question, answer in zip(questions, reply.answers, strict=True)
    ]
    open_ones = [brief(str(one["question"])) for one in found if not one["answered"]]
    missing = f"; not: {', '.join(open_ones[:3])}" if open_ones else ""
    reason = f"the summary answers {len(found) - len(open_ones)} of {len(found)} questions{missing}"
    return Finding(reason, {"questions": found, "keyphrases": phrases})


METRIC_TABLE: Final[Mapping[str, tuple[str, Ask]]] = {
    "faithfulness": ("Faithfulness", faithfulness),
    "answer_relevancy": ("AnswerRelevancy", answer_relevancy),
    "context_precision": ("ContextPrecision", context_precision),
    "context_utilization": ("ContextUtilization", context_utilization),
    "context_recall": ("ContextRecall", context_recall),
    "context_entity_recall": ("ContextEntityRecall", context_entity_recall),
    "answer_correctness": ("AnswerCorrectness", answer_correctness),
    "factual_correctness": ("FactualCorrectness", factual_correctness),
    "noise_sensitivity": ("NoiseSensitivity", noise_sensitivity),
    "noise_sensitivity_irrelevant": ("NoiseSensitivity", noise_sensitivity),
    "domain_specific_rubrics": ("DomainSpecificRubrics", domain_rubrics),
    "rubrics_score_with_reference": ("DomainSpecificRubrics", domain_rubrics),
    "instance_specific_rubrics": ("InstanceSpecificRubrics", instance_rubrics),
    "answer_accuracy": ("AnswerAccuracy", answer_accuracy),
    "context_relevance": ("ContextRelevance", context_relevance),
    "response_groundedness": ("ResponseGroundedness", response_groundedness),
    "summary_score": ("SummaryScore", summary_score),
    "sql_semantic_equivalence": ("SQLSemanticEquivalence", sql_equivalence),
}
"""By the names of the metrics: the class in ragas, and the function that asks."""
