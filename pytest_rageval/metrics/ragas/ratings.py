"""The requests of ragas' metrics in which the judge gives marks: rubrics, ratings, summaries."""

from __future__ import annotations

from typing import Any

from pytest_rageval.metrics.ragas.judge import Unscorable, together
from pytest_rageval.metrics.ragas.replies import Check
from pytest_rageval.metrics.ragas.request import Finding, Request, brief, whole_number


async def domain_rubrics(request: Request) -> Finding:
    """Ask for a mark by the scenario's rubrics, with feedback."""
    return await _marked(request, _known(request))


async def instance_rubrics(request: Request) -> Finding:
    """Ask for a mark by the row's own rubrics, with feedback."""
    return await _marked(request, {**_known(request), "rubrics": dict(request.rubrics)})


async def _marked(request: Request, inputs: dict[str, object]) -> Finding:
    low, high = request.options.scale
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
    said = "; ".join(f"the {name}: {brief(text)}" for name, text in explained.items())
    return Finding(f"{verdict}; {said}", {"equivalent": reply.equivalent, **explained})


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
        _one_for_each(len(questions)),
    )
    found = [
        {"question": question, "answered": int(answer == "1")}
        for question, answer in zip(questions, reply.answers, strict=True)
    ]
    open_ones = [brief(str(one["question"])) for one in found if not one["answered"]]
    missing = f"; not: {', '.join(open_ones[:3])}" if open_ones else ""
    reason = f"the summary answers {len(found) - len(open_ones)} of {len(found)} questions{missing}"
    return Finding(reason, {"questions": found, "keyphrases": phrases})


def _one_for_each(questions: int) -> Check:
    def check(reply: Any) -> None:
        if len(reply.answers) != questions or not {"0", "1"}.issuperset(reply.answers):
            raise ValueError(
                f"{questions} questions were given: answer each of them, in the same order, "
                f"with '0' or '1'; found {reply.answers}"
            )

    return check
