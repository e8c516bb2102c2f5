"""Reading the judge's replies to ragas' prompts, and refusing those that would score wrongly.

ragas takes any integer for a verdict and divides by whatever number of verdicts came back: a 5
among zeros and ones, or one verdict for four claims, makes a score that looks like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_rageval.text.reply import find_objects

M = TypeVar("M", bound=BaseModel)

Check = Callable[[Any], None]
"""Looks at a reply and raises ValueError, with what is wrong, if it cannot be right."""

_BINARY = frozenset({"verdict", "attributed", "noncommittal"})


def read_reply(text: str, model: type[M]) -> M:
    """Return the JSON object in ``text`` as an instance of ``model``.

    Fences, thoughts, sentences around it and small mistakes of its JSON do no harm. Raises
    ValueError with what is wrong, in words that the judge can be told; also where several objects
    would do and say different things.
    """
    try:
        return model.model_validate_json(text)  # as most judges reply
    except ValidationError as error:
        return _found(text, model, error)


def _found(text: str, model: type[M], error: ValidationError) -> M:
    """Return the one object in ``text`` that is an instance; ``error`` is that of the whole."""
    problems = [error] if text.lstrip().startswith("{") else []
    found: list[M] = []
    for plain in find_objects(text):
        try:
            reply = model.model_validate(plain)
        except ValidationError as problem:
            problems.append(problem)
        else:
            found += [reply] if reply not in found else []
    if len(found) > 1:
        raise ValueError("there are several JSON objects in it, which differ")
    if not found:
        raise ValueError(_in_words(problems[0]) if problems else "there is no JSON object in it")
    return found[0]


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
