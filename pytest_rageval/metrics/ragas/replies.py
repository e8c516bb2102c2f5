"""Reading the judge's replies to ragas' prompts, and refusing those that would score wrongly.

ragas takes any integer for a verdict and divides by whatever number of verdicts came back: a 5
among zeros and ones, or one verdict for four claims, makes a score that looks like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)

Check = Callable[[Any], None]
"""Looks at a reply and raises ValueError, with what is wrong, if it cannot be right."""

_THOUGHTS = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_BINARY = frozenset({"verdict", "attributed", "noncommittal"})


def read_reply(text: str, model: type[M]) -> M:
    """Return the JSON object in ``text`` as an instance of ``model``.

    A fence, a think block or a sentence around it does no harm. Raises ValueError with what is
    wrong, in words that the judge can be told.
    """
    body = _THOUGHTS.sub("", text)
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        raise ValueError("there is no JSON object in it")
    try:
        return model.model_validate_json(body[start : end + 1])
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None


def check_reply(reply: BaseModel, inputs: Mapping[str, Any]) -> None:
    """Raise ValueError unless every verdict is 0 or 1 and there is one for each statement given."""
    for path, value in _verdicts(reply.model_dump(), ""):
        if value not in (0, 1):
            raise ValueError(f"{path} is {value}, it must be 0 or 1")
    given, judged = inputs.get("statements"), getattr(reply, "statements", None)
    if given is not None and judged is not None and len(given) != len(judged):
        raise ValueError(
            f"{len(given)} statements were given and {len(judged)} are judged; "
            "judge each of them once, in the same order"
        )


def _verdicts(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(part, Mapping):
        for name, value in part.items():
            inner = f"{path}.{name}" if path else str(name)
            if name in _BINARY:
                yield inner, value
            else:
                yield from _verdicts(value, inner)
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from _verdicts(value, f"{path}.{number}")


def _in_words(error: ValidationError) -> str:
    first, *others = error.errors(include_url=False, include_input=False, include_context=False)
    where = ".".join(str(part) for part in first["loc"])
    more = f", and {len(others)} more" if others else ""
    return f"{where}: {first['msg']}{more}" if where else f"{first['msg']}{more}"
