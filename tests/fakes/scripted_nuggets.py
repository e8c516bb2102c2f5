"""A model for lists of nuggets: each answer that it is shown is one, and a fact of its own.

It never errs, unless it is told to; all but lists it leaves to the model for made questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scripted_questions import is_of_controls, prompt_in, reply

Nuggets = list[dict[str, str]]


def is_listing(prompt: str) -> bool:
    """Return whether a prompt asks for nuggets."""
    return '"nuggets"' in prompt


def texts_in(prompt: str, tag: str) -> list[str]:
    """Return the texts between tags of a prompt, without tags around several of them."""
    return re.findall(rf"<{tag}(?: n=\"\d+\")?>\n(.*?)\n</{tag}>", prompt, re.DOTALL)


def nugget(text: str, importance: str = "vital") -> dict[str, str]:
    """Return a nugget as a reply has it."""
    return {"text": text, "importance": importance}


def of_answers(prompt: str) -> Nuggets:
    """Return a nugget for each answer."""
    return [nugget(text) for text in texts_in(prompt, "answer")]


def listing(
    nuggets: Callable[[str], Nuggets | str] = of_answers, unsupported: Sequence[str] = ()
) -> Callable[[Mapping[str, Any]], str]:
    """Return a model that lists these nuggets, by the prompt, and finds some not supported."""

    def answer(body: Mapping[str, Any]) -> str:
        prompt = prompt_in(body)
        if is_listing(prompt):
            said = nuggets(prompt)
            return said if isinstance(said, str) else json.dumps({"nuggets": said})
        statements = texts_in(prompt, "statement")
        if not statements or is_of_controls(prompt, "low"):
            return reply(body)
        levels = ["partial" if text in unsupported else "full" for text in statements]
        verdicts = [
            {"n": number, "support": level, "reason": ""}
            for number, level in enumerate(levels, start=1)
        ]
        return json.dumps({"verdicts": verdicts})

    return answer
