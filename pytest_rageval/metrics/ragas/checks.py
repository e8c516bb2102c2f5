"""What a judge's reply to a prompt of ragas must be, and the majority of several replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from pytest_rageval.errors import shorten

M = TypeVar("M", bound=BaseModel)

Check = Callable[[Any], None]
"""Raises ValueError, which says what is wrong, for a reply that cannot be right."""

_BINARY: Final = frozenset({"verdict", "attributed", "noncommittal"})
"""The fields of ragas' replies that hold a verdict, 0 or 1."""

_ENDS: Final = " .,;:!?。，；：！？\"'“”‘’"
_WIDTH: Final = 120


def check_reply(reply: BaseModel, inputs: Mapping[str, Any]) -> None:
    """Raise ValueError unless all verdicts are 0 or 1, and one for each statement given.

    Verdicts on exactly these statements are put in their order. A statement in other words is the
    one in its place.
    """
    for path, value in _verdicts(reply.model_dump(), ""):
        if value not in (0, 1):
            raise ValueError(f"{path} is {value}, it must be 0 or 1")
    given, judged = inputs.get("statements"), getattr(reply, "statements", None)
    if given is not None and judged is not None and len(given) != len(judged):
        raise ValueError(
            f"{len(given)} statements were given and {len(judged)} are judged; "
            "judge each of them once, in the same order"
        )
    if given is not None and judged is not None:
        order = [plain(one) for one in given]
        names = [plain(one.statement) for one in judged]
        refuse_repeats((one.statement for one in judged if plain(one.statement) in order), order)
        if Counter(names) == Counter(order):
            judged.sort(key=lambda one: order.index(plain(one.statement)))


def refuse_repeats(said: Iterable[str], given: Sequence[str] | str) -> None:
    """Raise ValueError for a statement that is judged again, unless it was given as often.

    ``given`` are the statements, or the text that holds them, as ``plain`` returns them.
    """
    said = list(said)
    names = Counter(map(plain, said))
    for text in said:
        times = names[plain(text)]
        if plain(text) and times > max(given.count(plain(text)), 1):
            raise ValueError(
                f'"{brief(text)}" is judged {times} times; judge each statement once, and all'
            )


def plain(text: str) -> str:
    """Return a text in lower case, with single blanks, without marks and quotes at its ends."""
    return " ".join(text.casefold().split()).strip(_ENDS)


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
            for parts in zip(*(getattr(reply, name) for reply in replies), strict=True)
        ]
        for name in judged
    }
    return first.model_copy(update=merged)


def _as_most_say(parts: Sequence[M]) -> M:
    """Return the first of these judgements of one statement that has the most frequent verdict.

    Replies without a statement have no verdict; the first of them is returned.
    """
    verdicts = [next(_verdicts(part.model_dump(), ""), ("", None))[1] for part in parts]
    return parts[verdicts.index(Counter(verdicts).most_common(1)[0][0])]


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


def all_classified(answer: Sequence[str], reference: Sequence[str]) -> Check:
    """Return a check that each claim of the answer is classified once, and none of the reference.

    ragas scores those that are named. The judge may split a claim, or put it in other words.
    """
    given = [plain(one) for one in answer]
    foreign = {plain(one) for one in reference}.difference(given)

    def check(reply: Any) -> None:
        right, wrong = ([one.statement for one in part] for part in (reply.TP, reply.FP))
        # What the reference says cannot be wrong by it.
        count = len(right) + sum(plain(text) not in foreign for text in wrong)
        if count < len(given):
            raise ValueError(
                f"{len(given)} statements of the answer were given and {count} are in TP and "
                "FP; put each of them into one of the two"
            )
        refuse_repeats((*right, *wrong), given)
        names = Counter(map(plain, (*right, *wrong)))
        added = [text for text in (*right, *wrong) if plain(text) in foreign]
        # Where a claim is not named, these may be its parts, or its other words.
        if added and not Counter(given) - names:
            raise ValueError(
                f'"{brief(added[0])}" is of the reference; TP and FP are for the '
                f"{len(given)} statements of the answer"
            )

    return check


def one_for_each(questions: int) -> Check:
    """Return a check that each question has an answer, 0 or 1."""

    def check(reply: Any) -> None:
        if len(reply.answers) != questions or not {"0", "1"}.issuperset(reply.answers):
            raise ValueError(
                f"{questions} questions were given: answer each of them, in the same order, "
                f"with '0' or '1'; found {reply.answers}"
            )

    return check


def whole_number(low: int, high: int, name: str, step: int = 1) -> Check:
    """Return a check that a reply's field ``name`` is one of low, low + step, ... high."""
    allowed = range(low, high + 1, step)

    def check(reply: Any) -> None:
        value = getattr(reply, name)
        if value not in allowed:
            listed = ", ".join(map(str, allowed))
            raise ValueError(f"{name} is {value}, it must be one of {listed}")

    return check


def brief(text: str) -> str:
    """Return ``text`` in one line of at most 120 characters."""
    return shorten(" ".join(text.split()), _WIDTH)
