"""Reads citations, answerability, confidence, history and nuggets; numbers conversations' turns.

They are read only where a scenario asks for that: their columns are metadata otherwise.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.datasets.cells import (
    BadValueError,
    is_missing,
    list_in_text,
    value_in_text,
    value_or_text,
)
from pytest_rageval.datasets.turns import answers_of, before_question, place_of_question
from pytest_rageval.errors import shorten
from pytest_rageval.model import ANSWERABLE, Case, Sample, value_text
from pytest_rageval.scenario.column_names import says_opposite
from pytest_rageval.scenario.fields import WITH_ANSWERS
from pytest_rageval.text.citations import structured_answer, structured_citations
from pytest_rageval.text.json_value import digest

_YES: Final = frozenset({"true", "yes", "1", "answerable", "partial", "是"})
_NO: Final = frozenset({"false", "no", "0", "unanswerable", "否"})
_NEITHER: Final = frozenset({"", "conversational", "underspecified", "none", "null", "n/a"})
_ROLES: Final = {"human": "user", "ai": "assistant", "agent": "assistant", "bot": "assistant"}
"""Other names of the two roles."""
_ROLE_KEYS: Final = ("role", "speaker", "from", "author")
_TEXT_KEYS: Final = ("content", "text", "value", "message")
_TASK: Final = "input"
"""In some data a column of messages, in others a plain text, which is no history."""

CONVERSATION: Final = "conversation_id"
TURN: Final = "turn"
LAST_TURN: Final = "last_turn"


def read_answer_fields(
    values: Mapping[str, Any],
    names: frozenset[str],
    columns: Mapping[str, str],
    doubts: Counter[str] | None = None,
) -> dict[str, Any]:
    """Return a row's ``values``, by field, with the fields in ``columns`` (field to column) read.

    ``names`` are the fields that the scenario asks for: with ``history``, its turns may give the
    question and the answer. ``doubts`` counts the rows by what their turns leave open.
    Raises BadValueError for a value that is none of the field.
    """
    found = dict(values)
    for name, read in _READ.items():
        if name in columns and name in found:
            value = read(found.pop(name), columns[name])
            if value is not None:
                found[name] = value
    if not names.isdisjoint({"citations", "nuggets"}):
        _read_structured(found)
    if "history" in names:
        doubt = _divide_messages(found, columns.get("history", ""))
        if "answer" in found and "answer" not in values:  # it is one of the turns
            own = "question" if isinstance(values.get("question"), list | tuple) else "history"
            doubt = doubt or _before_a_call(values[own], columns.get(own, own))
        if doubt and doubts is not None:
            doubts[doubt] += 1
    return found


def _answerable(value: Any, column: str) -> bool | None:
    if isinstance(value, list | tuple) and len(value) == 1:
        (value,) = value  # as mtRAG writes it
    text = (value if isinstance(value, str) else value_text(value)).strip().lower()
    if text in _NEITHER:
        return None
    if text not in _YES | _NO:
        raise BadValueError(
            f"{column} must be true or false (or yes, no, 1, 0), found {shorten(repr(value))}"
        )
    # A column such as ``is_impossible`` says the opposite, unless its value is a whole word.
    turns = not text.endswith("answerable") and says_opposite("answerable", column)
    return (text in _YES) is not turns


def _citations(value: Any, column: str) -> tuple[int | str, ...] | None:
    if isinstance(value, str):
        spelled = list_in_text(value)
        value = spelled if spelled is not None else value.split(",") if value.strip() else []
    try:
        found = structured_citations(value)
    except ValueError as error:
        raise BadValueError(f"{column}: {error}") from None
    named = (part.strip() if isinstance(part, str) else part for part in found)
    return tuple(part for part in named if part != "")


def _confidence(value: Any, column: str) -> float | None:
    if isinstance(value, str) and not value.strip():
        return None
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0.0 <= number <= 1.0:
        raise BadValueError(f"{column} must be a number from 0 to 1, found {shorten(repr(value))}")
    # SQuAD's ``na_prob`` is the probability that there is no answer.
    return 1.0 - number if says_opposite("confidence", column) else number


def _history(value: Any, column: str) -> tuple[Mapping[str, str], ...] | None:
    if isinstance(value, str):
        spelled = value_in_text(value, column)
        if not value.strip() or (spelled is None and column == _TASK):
            return None
        value = value if spelled is None else spelled
    return read_messages(value, column)


def read_messages(value: Any, name: str) -> tuple[Mapping[str, str], ...]:
    """Return messages, each with ``role`` and ``content``; raises BadValueError for other values.

    A list of texts alternates: user, assistant, user ... Calls of tools without text are left out.
    """
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list | tuple):
        raise BadValueError(
            f"{name} must be a list of messages, {{role: user, content: ...}}, "
            f"found {shorten(repr(value))}"
        )
    said = [item for item in value if not _is_call(item)]
    return tuple(_message(item, at, name) for at, item in enumerate(said))


def _is_call(item: Any) -> bool:
    """Return whether a message calls a tool and says nothing."""
    is_silent = isinstance(item, Mapping) and item.get("content") is None
    return is_silent and bool(item.get("tool_calls") or item.get("function_call"))


def _before_a_call(turns: Any, column: str) -> str:
    """Return the doubt about turns that end with a call of a tool; "" about others."""
    if isinstance(turns, str) and "_call" not in turns:
        return ""  # a long text need not be read a second time
    spelled = value_or_text(turns)
    said = spelled.get("messages") if isinstance(spelled, Mapping) else spelled
    if not (isinstance(said, list | tuple) and said and _is_call(said[-1])):
        return ""
    return (
        f"{column!r} ends with a call of a tool, and nothing follows: what the assistant said "
        "before it is read as the answer. If it is none, leave the row out"
    )


def _message(item: Any, at: int, name: str) -> Mapping[str, str]:
    if isinstance(item, str):
        return {"role": "assistant" if at % 2 else "user", "content": item}
    if isinstance(item, Mapping):
        role = next((item[key] for key in _ROLE_KEYS if isinstance(item.get(key), str)), None)
        text = next((item[key] for key in _TEXT_KEYS if item.get(key) is not None), None)
        if role is not None and text is not None:
            plain = role.strip().lower()
            return {"role": _ROLES.get(plain, plain), "content": _content(text)}
    raise BadValueError(f"{name}[{at}] must have a role and a content, found {shorten(repr(item))}")


def _content(value: Any) -> str:
    """Return the text of a message; of one in parts, the texts of its parts."""
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        return "\n".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) else str(value)


_IMPORTANCE: Final = ("vital", "okay")


def _nuggets(value: Any, column: str) -> tuple[Mapping[str, str], ...] | None:
    if isinstance(value, str):
        spelled = list_in_text(value) if value.strip() else []
        value = value if spelled is None else spelled
    if not isinstance(value, list | tuple):
        raise BadValueError(
            f"{column} must be a list of texts, or of {{text: ..., importance: vital or okay}}, "
            f'found {shorten(repr(value))}; write ["first", "second"]'
        )
    nuggets = [_nugget(item, f"{column}[{at}]") for at, item in enumerate(value)]
    first: dict[str, int] = {}
    for at, nugget in enumerate(nuggets):
        same = first.setdefault(fold_nugget(nugget["text"]), at)
        if same != at:
            text = shorten(repr(nugget["text"]))
            raise BadValueError(
                f"{column}[{at}] says the same as {column}[{same}], {text}: "
                "it would count twice; leave one of them out"
            )
    return tuple(nuggets) or None


NUGGETS_MADE_OF: Final = "nuggets_of"
"""The column that says of which question and references a list was made (``nuggets_digest``)."""


def nuggets_digest(question: str | None, references: Sequence[str] | None) -> str:
    """Return twelve hexadecimal digits for what a list of nuggets is made of."""
    return digest([question or "", list(references or ())])[:12]


def has_stale_nuggets(sample: Sample) -> bool:
    """Return whether the list of a row was made of another question, or other references."""
    made_of = sample.metadata.get(NUGGETS_MADE_OF)
    return made_of is not None and made_of != nuggets_digest(sample.question, sample.references)


def row_nuggets(sample: Sample) -> Sequence[Mapping[str, str]]:
    """Return the nuggets of a row, whether or not its scenario reads them; () without good ones."""
    try:
        return sample.nuggets or _nuggets(sample.metadata.get("nuggets") or [], "nuggets") or ()
    except BadValueError:
        return ()


def fold_nugget(text: str) -> str:
    """Return a text without case, width, extra blanks and outer marks; ``C++`` is not ``C``."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(".。!?;,、\"'“”‘’「」 ") or text


def _nugget(item: Any, place: str) -> Mapping[str, str]:
    """Return the text and the importance of a nugget; what else is said of it is not read."""
    given = item if isinstance(item, Mapping) else {"text": item}
    text = given.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BadValueError(
            f"{place} must be a text that is not blank, found {shorten(repr(item))}"
        )
    importance = given.get("importance")
    importance = "vital" if importance is None else importance
    if importance not in _IMPORTANCE:
        raise BadValueError(
            f"{place}: importance must be vital or okay, found {shorten(repr(importance))}"
        )
    return {"text": text.strip(), "importance": importance}


_READ: Final = {
    "answerable": _answerable,
    "citations": _citations,
    "reference_citations": _citations,
    "confidence": _confidence,
    "history": _history,
    "nuggets": _nuggets,
}


def read_returned(found: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the citations and the confidence that a system returned with its answer.

    None for a field that it did not return. Only the fields of ``columns`` are read, from the first
    of their columns that is there. Raises BadValueError for a value that is none of the field.
    """
    said: dict[str, Any] = dict.fromkeys(WITH_ANSWERS)
    for name, known in columns.items():
        given = [column for column in known if found.get(column) is not None]
        if given:
            said[name] = _READ[name](found[given[0]], given[0])
    return said


def _read_structured(values: dict[str, Any]) -> None:
    """Read an answer that TREC writes as sentences with their citations."""
    try:
        parts = structured_answer(values.get("answer"))
    except ValueError as error:
        raise BadValueError(f"answer: {error}") from None
    if parts is not None:
        values["answer"] = " ".join(text for text, _ in parts)
        values["cited_sentences"] = parts


def _divide_messages(values: dict[str, Any], column: str) -> str:
    """Divide messages into what came before, the question, and perhaps the answer.

    Beside a question that is a text, only cut ``history`` there. Returns the doubt left, or "".
    """
    question = values.get("question")
    if isinstance(question, list | tuple):
        messages, column = read_messages(question, "question"), "question"
        del values["question"]
    elif question is None or is_missing(question):
        messages = values.pop("history", ())
    else:
        return _cut_history(values, column)
    at, doubt = place_of_question(messages, answers_of(values), column)
    if at is None:
        return ""
    values["question"] = messages[at]["content"]
    values["history"] = (*values.get("history", ()), *messages[:at])
    replies = [m["content"] for m in messages[at + 1 :] if m["role"] == "assistant"]
    if replies and "answer" not in values:
        values["answer"] = replies[-1]
    return doubt


def _cut_history(values: dict[str, Any], column: str) -> str:
    """Keep the messages before the question; return the doubt that they leave."""
    history = values.get("history")
    if not history:
        return ""
    turns = before_question(history, str(values["question"]), answers_of(values), column)
    values["history"] = tuple(turns.history)
    return turns.doubt


def with_made_columns(
    cases: Sequence[Case], names: frozenset[str], left_out: Sequence[Case] = ()
) -> tuple[list[Case], tuple[str, ...]]:
    """Return the cases with columns to divide tables and gates by, and the names of these.

    ``answerable``, if it is in ``names`` and some row has it; with ``history`` in ``names`` and a
    ``conversation_id``, ``turn`` (from 1, counted where it is absent) and ``last_turn``. Turns are
    counted in the order of the file, with the rows that a limit has ``left_out``.
    """
    made: list[str] = []
    found = list(cases)
    if "answerable" in names and any(_answerable_of(case) is not None for case in found):
        found = [_with(case, ANSWERABLE, _answerable_of(case)) for case in found]
        made.append(ANSWERABLE)
    if "history" in names and any(CONVERSATION in case.metadata for case in found):
        in_file = sorted([*found, *left_out], key=lambda case: case.row)
        by_row = {case.row: case for case in _with_last_turns(_numbered(in_file))}
        found = [by_row[case.row] for case in found]
        made += [TURN, LAST_TURN]
    return found, tuple(made)


def _answerable_of(case: Case) -> bool | None:
    return case.answerable if isinstance(case, Sample) else None


def _with(case: Case, name: str, value: Any) -> Case:
    if value is None:
        return case
    return replace(case, metadata={**case.metadata, name: value})


def _numbered(cases: Sequence[Case]) -> list[tuple[Case, str | None]]:
    """Return the cases with their ``turn``, counted where it is absent, and their conversations."""
    counts: Counter[str] = Counter()
    numbered: list[tuple[Case, str | None]] = []
    for case in cases:
        conversation = case.metadata.get(CONVERSATION)
        if conversation is None:
            numbered.append((case, None))
            continue
        key = value_text(conversation)
        counts[key] += 1
        is_numbered = TURN in case.metadata
        numbered.append((case if is_numbered else _with(case, TURN, counts[key]), key))
    return numbered


def _with_last_turns(numbered: Sequence[tuple[Case, str | None]]) -> list[Case]:
    turns: dict[str, list[float]] = {}
    for case, key in numbered:
        if key is not None:
            turns.setdefault(key, []).append(_turn(case))
    # A ``turn`` that is no number (a name) gives no order: then the last row of the conversation
    # is its last turn.
    last = {key: None if math.inf in known else max(known) for key, known in turns.items()}
    left = {key: len(known) for key, known in turns.items()}
    made: list[Case] = []
    for case, key in numbered:
        if key is None:
            made.append(case)
            continue
        left[key] -= 1
        is_last = left[key] == 0 if last[key] is None else _turn(case) == last[key]
        made.append(_with(case, LAST_TURN, is_last))
    return made


def _turn(case: Case) -> float:
    """Return the number of a turn, infinity where it is none."""
    try:
        return float(case.metadata.get(TURN, 0))
    except (TypeError, ValueError):
        return math.inf
