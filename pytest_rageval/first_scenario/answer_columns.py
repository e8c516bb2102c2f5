"""What a file's columns say of citations, refusals and conversations, as lines of a scenario.

What is not certain becomes a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.datasets.answer_fields import CONVERSATION, read_answer_fields
from pytest_rageval.datasets.cells import BadValueError, parse_contexts
from pytest_rageval.datasets.proposer.columns import Column, Table
from pytest_rageval.datasets.proposer.propose import Mapped
from pytest_rageval.model import ANSWERABLE, WEIGHTED_SCORE
from pytest_rageval.scenario.column_names import snake_case
from pytest_rageval.scenario.fields import OF_ANSWERS
from pytest_rageval.scenario.yaml.tree import inline_text, pair_text
from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import find_style
from pytest_rageval.text.printable import one_line
from pytest_rageval.text.refusals import fits

_STYLES: Final = ("brackets", "lenticular", "footnote", "citation", "doc")
_LANGUAGES: Final = ("en", "zh")
_FEWER_IS_BETTER: Final = re.compile(r"(?:^|_)(?:latency|cost|duration|elapsed)(?:_|$)")


@dataclass(frozen=True)
class OfAnswers:
    """Metrics, the lines that they need, and comments; all empty where no column calls for any.

    ``columns`` are those that the lines make a run read, ``groups`` what gates may be divided by,
    ``refused`` the rows, from 0, that a refusal is right for: they need nothing to compare with.
    """

    metrics: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    comments: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()

    def __add__(self, other: OfAnswers) -> OfAnswers:
        """Return both, in this order."""
        return OfAnswers(
            self.metrics + other.metrics,
            self.lines + other.lines,
            self.comments + other.comments,
            self.columns + other.columns,
            self.groups + other.groups,
            self.refused + other.refused,
        )


NOTHING: Final = OfAnswers()


def of_answers(
    table: Table, mapped: Mapped, *, is_answered: bool, is_asked: bool = False
) -> OfAnswers:
    """Return what to write into the scenario.

    ``is_answered``: the data, or a target, give answers; ``is_asked``: a target does.
    """
    found = NOTHING
    if is_answered:
        found += _refusals(table, mapped) + _citations(table, mapped)
    found += _conversation(table, mapped, is_asked=is_asked)
    return found + OfAnswers(comments=tuple(_numbers(table, mapped)))


def _refusals(table: Table, mapped: Mapped) -> OfAnswers:
    columns = _named(table, mapped, "answerable")
    if not columns:
        return NOTHING
    if len(columns) > 1:
        return _asked("which one says whether a question can be answered?", columns, "answerable")
    values = _values(columns[0], "answerable")
    if values is None:
        return _asked("not all cells are yes or no", columns, "answerable")
    if not {True, False} & {*values}:
        return NOTHING
    line = pair_text("refusals", "phrases")
    if _is_foreign(table, mapped):
        comment = "# Most texts are neither English nor Chinese: write in 'also' what refuses."
        also = pair_text("refusals", {"also": ["..."]})
        return OfAnswers(comments=(comment, f"# {also}"))
    metrics = ["refusal"]
    metrics += ["over_refusal"] if True in values else []
    metrics += ["missed_refusal"] if False in values else []
    comment = f"# {one_line(columns[0].name)!r} says which questions can be answered."
    both = {True, False} <= {*values}
    filled = [at for at, cell in enumerate(columns[0].cells) if cell is not None]
    return OfAnswers(
        tuple(metrics),
        (comment, line),
        columns=(columns[0].name,),
        groups=(ANSWERABLE,) if both else (),
        refused=tuple(at for at, value in zip(filled, values, strict=True) if value is False),
    )


def _is_foreign(table: Table, mapped: Mapped) -> bool:
    """Return whether most texts are in languages for whose refusals there are no phrases."""
    served = mapped.fields.get("answer") or mapped.fields.get("question")
    texts = table[served.column].texts if served is not None else ()
    return sum(not fits(text, _LANGUAGES) for text in texts) * 2 > len(texts)


def _citations(table: Table, mapped: Mapped) -> OfAnswers:
    answer, contexts = mapped.fields.get("answer"), mapped.fields.get("contexts")
    if answer is None or mapped.systems:
        return NOTHING
    texts = [cell if isinstance(cell, str) else "" for cell in table[answer.column].cells]
    if contexts is None:
        counts: list[int | None] = [None] * len(texts)
    else:
        counts = [_count(cell) for cell in table[contexts.column].cells]
    found = find_style(texts, counts)
    if found.rule.superscripts:  # they are read only where they are the one style in use
        styles = ["superscript"]
    else:
        styles = [style for style in _STYLES if find_style(texts, counts, CitationRule(style)).hold]
    if not styles or found.hold * 10 < len(texts):
        return NOTHING
    # Where one style alone is in use, ``auto`` could take other marks for citations.
    style = styles[0] if len(styles) == 1 else "auto"
    named = f"style{'s' * (len(styles) > 1)} {', '.join(styles)}"
    said = f"# {found.hold} of {len(texts)} answers cite sources in the {named}"
    line = pair_text("citations", {"style": style, "base": 1})
    offer = f"# {line}"
    if contexts is None:
        return OfAnswers(comments=(f"{said}; there are no contexts to look them up in.", offer))
    if found.problem:
        return OfAnswers(comments=(f"{said}.", f"# {found.problem}", offer))
    return OfAnswers(("citation_validity", "citation_coverage"), (f"{said}.", line))


def _count(cell: Any) -> int | None:
    try:
        return None if cell is None else len(parse_contexts(cell))
    except BadValueError:  # an invalid row, as the reader will say
        return None


def _conversation(table: Table, mapped: Mapped, *, is_asked: bool) -> OfAnswers:
    columns = [column for column in _named(table, mapped, "history") if column.is_list]
    if not columns:
        return NOTHING
    if len(columns) > 1:
        return _asked("which one holds what came before the question?", columns, "history")
    if _values(columns[0], "history") is None:
        return _asked("not all cells are lists of messages", columns, "history")
    lines = [f"# {one_line(columns[0].name)!r} holds what came before the question."]
    if is_asked:  # what the user's system takes is not known
        lines.append("# Give the target a parameter 'history', and write:  conversation: true")
        return OfAnswers(comments=tuple(lines))
    lines.append("conversation: true")
    columns, comments = columns[:1], []
    ids = table[CONVERSATION]
    if len(ids.filled) == table.rows and len(ids.distinct) > 1:
        lines.append(pair_text("group_by", CONVERSATION))
        columns.append(ids)
    else:
        comments.append(f"# If rows are turns of one conversation:  group_by: {CONVERSATION}")
    return OfAnswers((), tuple(lines), tuple(comments), tuple(one.name for one in columns))


def _named(table: Table, mapped: Mapped, field: str) -> list[Column]:
    """Return the filled columns of a field's names that serve no other field."""
    return [
        column
        for column in table.columns
        if column.name in OF_ANSWERS[field] and column.filled and column.name not in mapped.served
    ]


def _values(column: Column, field: str) -> list[Any] | None:
    """Return the values of the filled cells as they will be read, None if any cannot be."""
    try:
        rows = [
            read_answer_fields({field: cell}, frozenset(), {field: column.name})
            for cell in column.filled
        ]
    except BadValueError:
        return None
    return [row.get(field) for row in rows]


def _asked(question: str, columns: list[Column], field: str) -> OfAnswers:
    """Return a question, and the line for the first of its columns that can be read."""
    names = ", ".join(repr(one_line(column.name)) for column in columns)
    sound = [column.name for column in columns if _values(column, field) is not None]
    lines = [f"# In 'dataset':  {pair_text('key_map', {field: name})}" for name in sound[:1]]
    return OfAnswers(comments=(f"# {names}: {question}", *lines))


def _numbers(table: Table, mapped: Mapped) -> Iterator[str]:
    """Yield comments that offer the rows' own figures: latencies, costs, confidences."""
    for column in _named(table, mapped, "confidence"):
        if column.is_number and _values(column, "confidence") is not None:
            name = one_line(column.name)
            yield f"# {name!r} may be how sure the answers are. A gate on the surest four fifths:"
            gate = {"selective": {"coverage": 0.8, "min": 0.9}}
            yield f"# {pair_text('gates', {WEIGHTED_SCORE: gate})}"
    for column in table.columns:
        is_named = _FEWER_IS_BETTER.search(snake_case(column.name)) is not None
        if is_named and column.name not in mapped.served and _is_amount(column):
            metric = {"column": column.name, "range": [0, None], "lower_is_better": True}
            yield f"# Also, among the metrics:  {inline_text(metric)}"


def _is_amount(column: Column) -> bool:
    numbers = [cell for cell in column.filled if type(cell) in (int, float)]
    return bool(numbers) and len(numbers) == len(column.filled) and min(numbers) >= 0
