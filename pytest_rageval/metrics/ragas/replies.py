"""Reads the judge's replies to ragas' prompts, and refuses those that would score wrongly.

ragas accepts any integer as a verdict, and any number of verdicts: a 5 among zeros and ones, or one
verdict for four claims, would give a score that looks like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_rageval.text.reply import find_objects

M = TypeVar("M", bound=BaseModel)

Check = Callable[[Any], None]
"""Raises ValueError, which says what is wrong, for a reply that cannot be right."""


class ImpossibleVerdictError(ValueError):
    """A reply of the right shape with verdicts that cannot be; the text is for the judge."""

    kind: Final = "verdicts"


_BINARY = frozenset({"verdict", "attributed", "noncommittal"})


def read_reply(text: str, model: type[M]) -> M:
    """Return the JSON object in ``text`` as an instance of ``model``.

    Fences, thoughts, surrounding sentences and small mistakes in the JSON are tolerated. Raises
    ValueError, worded for the judge, when no object fits or several different ones do.
    """
    try:
        return model.model_validate_json(text)  # as most judges reply
    except ValidationError as error:
        return _found(text, model, error)


def _found(text: str, model: type[M], error: ValidationError) -> M:
    """Return the one object in ``text`` that fits; ``error`` is that of the whole text."""
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
    """Raise ValueError unless each given statement has one verdict, which is 0 or 1."""
    for path, value in _verdicts(reply.model_dump(), ""):
        if value not in (0, 1):
            raise ValueError(f"{path} is {value}, it must be 0 or 1")
    given, judged = inputs.get("statements"), getattr(reply, "statements", None)
    if given is not None and judged is not None and len(given) != len(judged):
        raise ValueError(
            f"{len(given)} statements were given and {len(judged)} are judged; "
            "judge each of them once, in the same order"
        )


def same_verdicts(first: BaseModel) -> Check:
    """Return a check that a reply judges as many statements as ``first`` does."""
    wanted = len(list(_verdicts(first.model_dump(), "")))

    def check(reply: BaseModel) -> None:
        found = len(list(_verdicts(reply.model_dump(), "")))
        if found != wanted:
            raise ValueError(
                f"{found} statements are judged, and {wanted} in the first reply to this question; "
                f"judge {wanted}"
            )

    return check


def majority(replies: Sequence[M]) -> M:
    """Return the first reply with the verdicts, and their reasons, of the majority of replies.

    The replies judge the same number of statements, which are matched by position.
    """
    first = replies[0]
    judged = [
        name
        for name, part in first
        if isinstance(part, list) and part and isinstance(part[0], BaseModel)
    ]
    if not judged:
        return _as_most_say(replies)
    merged = {
        name: [
            _as_most_say(parts)
            for parts in zip(*(getattr(one, name) for one in replies), strict=True)
        ]
        for name in judged
    }
    return first.model_copy(update=merged)


def _as_most_say(parts: Sequence[M]) -> M:
    """Return the first of these judgements of one statement that has the most frequent verdict.

    Replies without a statement have no verdict; the first of them is returned.
    """
    said = [next(_verdicts(part.model_dump(), ""), ("", None))[1] for part in parts]
    return parts[said.index(Counter(said).most_common(1)[0][0])]


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
