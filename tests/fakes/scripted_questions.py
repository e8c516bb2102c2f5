"""A model for made questions that asks about the sentences of the passages that it is shown.

In place of a real one, for tests of what surrounds the making: it never errs, unless it is told to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pytest_rageval.controls import built_in_rows
from pytest_rageval.text.sentences import split_sentences

Reply = dict[str, Any]

RETURNS = """\
# Returns

Opened items can be returned within 30 days if the box is kept. The customer pays the postage of \
a return, unless the item was broken.

## Broken items

Broken items are replaced free of charge within two years of the purchase. A photo of the damage \
has to be sent to the workshop first.
"""
"""A document to ask about."""


def prompt_in(body: Mapping[str, Any]) -> str:
    """Return the first turn of a conversation, which stays the same when it is asked again."""
    return str(body["messages"][0]["content"])


def passages_in(prompt: str) -> list[str]:
    """Return the passages of a prompt that asks for a question."""
    return re.findall(r"<passage>\n(.*?)\n</passage>", prompt, re.DOTALL)


def is_writing(prompt: str) -> bool:
    """Return whether a prompt asks for a question."""
    return "<passage>" in prompt


def is_alone(prompt: str) -> bool:
    """Return whether a prompt shows a question without any passage."""
    return '"clear"' in prompt


def is_of_controls(prompt: str, expect: str) -> bool:
    """Return whether a prompt is about a control row of which so much is expected."""
    return any(
        row.expect == expect
        and (row.sample.answer or "") in prompt
        and (row.sample.question or "") in prompt
        and all(text in prompt for text in row.sample.contexts or ())
        for metric in ("support", "context_relevance")
        for language in ("en", "zh")
        for row in built_in_rows(metric, language).rows
    )


def written(prompt: str) -> Reply:
    """Return a question about the first sentence of each passage, or about the part asked for."""
    passages = passages_in(prompt)
    sentences = [next(iter(split_sentences(text)), text) for text in passages]
    part = re.search(r"<sentence>\n(.*?)\n</sentence>", prompt, re.DOTALL)
    if part is not None:
        sentences[0] = part[1]
    if '"answer"' not in prompt:
        return {"question": f"Who painted what '{sentences[0]}' is about?"}
    if len(passages) == 1:
        question = f"What does Acme say of '{sentences[0]}'?"
        return {"question": question, "answer": sentences[0], "quote": sentences[0]}
    question = f"How do '{sentences[0]}' and '{sentences[1]}' differ?"
    return {"question": question, "answer": " ".join(sentences), "quotes": sentences}


def checked(prompt: str) -> Reply:
    """Return what a judge says that finds nothing wrong, and knows control rows."""
    if is_alone(prompt):
        return {"clear": True, "answer": ""}
    is_good = not is_of_controls(prompt, "low")
    if '"verdicts"' in prompt:
        support = "full" if is_good else "none"
        return {"verdicts": [{"n": 1, "support": support, "reason": ""}]}
    return {"reason": "so it is", "score": int(is_of_controls(prompt, "high"))}


def reply(body: Mapping[str, Any]) -> str:
    """Return the reply of a model that does all as it should."""
    prompt = prompt_in(body)
    return json.dumps(written(prompt) if is_writing(prompt) else checked(prompt))


def replying(change: Callable[[str, Reply], Reply | str]) -> Callable[[Mapping[str, Any]], str]:
    """Return a model whose replies ``change`` takes and gives back, by the prompt."""

    def answer(body: Mapping[str, Any]) -> str:
        prompt = prompt_in(body)
        said = change(prompt, json.loads(reply(body)))
        return said if isinstance(said, str) else json.dumps(said)

    return answer
