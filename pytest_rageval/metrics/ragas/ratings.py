"""What ragas' metrics ask that have the judge give marks: rubrics, ratings, summaries."""

from __future__ import annotations

from typing import Any

from pytest_rageval.metrics.ragas.inquiry import Finding, Inquiry, brief, whole_number
from pytest_rageval.metrics.ragas.judge import Unscorable, together
from pytest_rageval.metrics.ragas.replies import Check


async def domain_rubrics(case: Inquiry) -> Finding:
    """Ask for a mark by the scenario's rubrics, with feedback."""
    return await _marked(case, _known(case))


async def instance_rubrics(case: Inquiry) -> Finding:
    """Ask for a mark by the row's own rubrics, with feedback."""
    return await _marked(case, {**_known(case), "rubrics": dict(case.rubrics)})


async def _marked(case: Inquiry, inputs: dict[str, object]) -> Finding:
    low, high = case.options.scale
    reply = await case.judge.ask("scoring_prompt", inputs, whole_number(low, high, "score"))
    return Finding(
        brief(reply.feedback) or "the judge gave no feedback",
        {"score": reply.score, "feedback": reply.feedback},
    )


def _known(case: Inquiry) -> dict[str, object]:
    """Return what the sample has, under ragas' names."""
    known = {
        "user_input": case.question,
        "response": case.answer,
        "retrieved_contexts": list(case.contexts),
        "reference": case.reference,
        "reference_contexts": list(case.reference_contexts),
    }
    return {name: value for name, value in known.items() if value}


async def answer_accuracy(case: Inquiry) -> Finding:
    """Have two prompts compare the answer with the reference; the second swaps the two."""
    return await _rated(
        case,
        {"query": case.question, "user_answer": case.answer, "reference_answer": case.reference},
        {"query": case.question, "user_answer": case.reference, "reference_answer": case.answer},
        (4, 2),
    )


async def context_relevance(case: Inquiry) -> Finding:
    """Have two prompts rate how well the contexts, taken together, fit the question."""
    question, contexts = case.question.strip(), case.joined_contexts.strip()
    if contexts in question:
        return Finding("the contexts say no more than the question does; that scores 0")
    inputs = {"user_input": case.question, "context": case.joined_contexts}
    return await _rated(case, inputs, inputs, (2, 1))


async def response_groundedness(case: Inquiry) -> Finding:
    """Have two prompts rate how far the contexts, taken together, support the answer."""
    inputs = {"response": case.answer, "context": case.joined_contexts}
    return await _rated(case, inputs, inputs, (2, 1))


async def _rated(
    case: Inquiry, first: dict[str, str], second: dict[str, str], scale: tuple[int, int]
) -> Finding:
    highest, step = scale
    check = whole_number(0, highest, "rating", step)
    one, two = await together(
        case.judge.ask("judge1_prompt", first, check),
        case.judge.ask("judge2_prompt", second, check),
    )
    return Finding(
        f"rated {one.rating} and {two.rating} of {highest}", {"ratings": [one.rating, two.rating]}
    )


async def summary_score(case: Inquiry) -> Finding:
    """Ask questions about the source, then whether the answer, a summary of it, answers them."""
    text = "\n".join(case.reference_contexts)
    phrases = (await case.judge.ask("extract_keyphrases_prompt", {"text": text})).keyphrases
    questions = (
        await case.judge.ask("generate_questions_prompt", {"text": text, "keyphrases": phrases})
    ).questions
    if not questions:
        raise Unscorable("the judge found no question to ask about the reference_contexts")
    reply = await case.judge.ask(
        "generate_answers_prompt",
        {"summary": case.answer, "questions": questions},
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
