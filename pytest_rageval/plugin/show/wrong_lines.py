"""What is wrong with a run, in lines for the terminal: errors, failed gates, the worst answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import SampleResult
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.what_is_wrong import MOST, WhatIsWrong, WrongAnswer
from pytest_rageval.text.printable import cells, cut, short_line, wrapped

_REASON_WIDTH: Final = 300
_LONGEST_ID: Final = 40
_MOST_WHYS: Final = 3
_WHY: Final = "why: "
_INDENT: Final = "    "


def wrong_lines(view: RunView, width: int) -> Iterator[tuple[str, str]]:
    """Yield what is wrong in lines of at most ``width`` cells, with their colours, "" for none.

    A blank line follows the answers.
    """
    found = WhatIsWrong(view)
    for text, colour in _said(found):
        lines = wrapped(shorten(short_line(text, _REASON_WIDTH), _REASON_WIDTH), width - 4)
        yield from ((f"  {'' if at == 0 else '  '}{line}", colour) for at, line in enumerate(lines))
    for answer in found.answers[:MOST]:
        yield from ((line.rstrip(), "") for line in _answer(answer, width))
    if (more := len(found.answers) - MOST) > 0:
        yield f"  and {more} more", ""
    if found.answers:
        yield "", ""


def _said(found: WhatIsWrong) -> Iterator[tuple[str, str]]:
    """Yield the sentences with their colours; what failed is red."""
    yield from ((text, "red") for text in found.said)
    if found.undecided:
        names = ", ".join(gate.name for gate in found.open)
        yield f"undecided: {names}", "yellow"
    yield from ((line, "") for line in found.changes)


def _answer(answer: WrongAnswer, width: int) -> Iterator[str]:
    """Yield id and question; answer and reference in one or two lines; each why in one or two."""
    sample = answer.sample
    name = cut(short_line(sample.sample_id, _LONGEST_ID), _LONGEST_ID)
    alike = f" and {answer.alike} more alike" if answer.alike else ""
    yield cut(f"  {name}{alike}  {short_line(sample.question or '', width)}", width)
    room = width - len(_INDENT)
    yield from (f"{_INDENT}{line}" for line in _texts(sample, answer.reference, room))
    for at, why in enumerate(_whys(answer)[:_MOST_WHYS]):
        begin, *rest = wrapped(short_line(why, 2 * room), room - len(_WHY))
        yield f"{_INDENT}{' ' * len(_WHY) if at else _WHY}{begin}"
        if rest:
            yield _INDENT + cut(f"{' ' * len(_WHY)}{' '.join(rest)}", room)


def _whys(answer: WrongAnswer) -> list[str]:
    """Return each score that is missed, with its reason; then what else is said of the answer."""
    parts = (reason.partition(": ") for reason in answer.reasons)
    reasons = {name: reason for name, _, reason in parts}
    found = []
    for missed in answer.missed:
        reason = reasons.pop(missed.partition(" ")[0], "")
        found.append(f"{missed}: {reason}" if reason else missed)
    found += [f"{name}: {reason}" for name, reason in reasons.items()]
    return [*found, answer.cause] if answer.cause else found


def _texts(sample: SampleResult, reference: str, room: int) -> list[str]:
    """Return the answer and what was expected, in one line where both fit."""
    texts = [("answer", sample.answer), ("expected", reference)]
    parts = [f"{name}: {short_line(text, room)}" for name, text in texts if text]
    line = "  ".join(parts)
    fits = bool(line) and cells(line) <= room
    return [line] if fits else [cut(part, room) for part in parts]
