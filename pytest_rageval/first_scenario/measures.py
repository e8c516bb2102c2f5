"""What can be measured by the fields that were found, and what cannot, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.datasets.columns.passages import parse_contexts
from pytest_rageval.first_scenario.mapping import CHECK_FIELDS, Mapped
from pytest_rageval.first_scenario.table import Column, Table
from pytest_rageval.text.normalize import normalize_unicode
from pytest_rageval.text.tokenize import has_cjk

_ANSWERS: Final = ("em", "f1", "rouge-l")
_SEARCH: Final = ("recall@5", "mrr")
_SENTENCE: Final = 60
_FEW_LETTERS: Final = 0.01
_MOST_GROUPS: Final = 20
_SHOWN_GROUPS: Final = 3
_LOOKED_AT: Final = 200


@dataclass(frozen=True)
class Measures:
    """The metrics, what else the scenario needs for them, and those that lack something.

    ``weights`` are () where all count the same. ``later`` are pairs of metrics and what they need.
    ``asks`` are the fields that a target has to give, () if the data hold them.
    """

    metrics: tuple[str, ...]
    later: tuple[tuple[tuple[str, ...], str], ...]
    asks: tuple[str, ...]
    weights: tuple[tuple[str, float], ...] = ()
    match: str = ""
    script: str = ""
    """The script of the texts where Latin letters are not enough: ``cjk`` or ``letters``."""
    groups: tuple[str, ...] = ()
    """The columns whose values may be judged apart from each other."""
    bare_rows: int = 0
    """How many rows have nothing in any of the columns that the metrics compare with."""


def measures_for(table: Table, mapped: Mapped) -> Measures:
    """Return what to measure: what the data suffice for, else what a target suffices for."""
    has = mapped.fields.keys()
    of_answers = _of_answers(mapped)
    of_search = _SEARCH if has & {"reference_ids", "reference_contexts"} else ()
    found = _searched(mapped)
    answers_now = of_answers if "answer" in has else ()
    search_now = of_search if found else ()
    metrics = (*answers_now, *search_now)
    later = (
        [] if answers_now or not metrics else [(of_answers, "answers: in each row, or a target")]
    )
    asks: tuple[str, ...] = ()
    if not metrics:
        metrics, asks = _asked(mapped, of_answers, of_search)
    if of_search and not search_now and metrics != of_search:
        later.append((of_search, f"{_needed(mapped)}: in each row, or from a target"))
    later.append((_judged(mapped), "a model that judges (key 'judge')"))
    references = _column(table, mapped, "references")
    is_long = references is not None and references.typical_length > _SENTENCE
    return Measures(
        tuple(metrics),
        tuple((names, why) for names, why in later if names),
        asks,
        weights=tuple((name, float(name != "em")) for name in metrics) if is_long else (),
        match="contains" if search_now and _lies_inside(table, mapped) else "",
        script=_script(table, mapped),
        groups=tuple(_groups(table, mapped))[:_SHOWN_GROUPS],
        bare_rows=_bare_rows(table, mapped, metrics),
    )


def _bare_rows(table: Table, mapped: Mapped, metrics: tuple[str, ...]) -> int:
    compared = {"references", *CHECK_FIELDS} if set(metrics) - set(_SEARCH) else set()
    compared |= {"reference_ids", "reference_contexts"} if "mrr" in metrics else set()
    used = [table[found.column].cells for name, found in mapped.fields.items() if name in compared]
    return sum(all(cell is None for cell in row) for row in zip(*used, strict=True))


def _of_answers(mapped: Mapped) -> tuple[str, ...]:
    checks = [name for name in CHECK_FIELDS if name in mapped.fields]
    return (*(_ANSWERS if "references" in mapped.fields else ()), *checks)


def _searched(mapped: Mapped) -> bool:
    """Return whether the data hold what was found and, of the same kind, what should be."""
    has = mapped.fields.keys()
    return {"reference_ids", "retrieved_ids"} <= has or {"reference_contexts", "contexts"} <= has


def _asked(
    mapped: Mapped, of_answers: tuple[str, ...], of_search: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metrics where a target has to be asked, and the fields that it has to give."""
    if of_answers and "answer" not in mapped.fields:
        return of_answers, ("answer",)
    return of_search, (_needed(mapped),)


def _needed(mapped: Mapped) -> str:
    return "retrieved_ids" if "reference_ids" in mapped.fields else "contexts"


def _judged(mapped: Mapped) -> tuple[str, ...]:
    has = mapped.fields.keys()
    names = ["faithfulness"] if "contexts" in has or "answer" not in has else []
    names += ["context_recall"] if {"contexts", "references"} <= has else []
    return (*names, "answer_correctness") if "references" in has else tuple(names)


def _column(table: Table, mapped: Mapped, field: str) -> Column | None:
    found = mapped.fields.get(field)
    return table[found.column] if found is not None else None


def _lies_inside(table: Table, mapped: Mapped) -> bool:
    """Return whether expected passages lie inside found ones, or the reverse, being no equals."""
    found, gold = _column(table, mapped, "contexts"), _column(table, mapped, "reference_contexts")
    if found is None or gold is None or "reference_ids" in mapped.fields:
        return False
    pairs = list(zip(found.cells, gold.cells, strict=True))[:_LOOKED_AT]
    inside = equal = 0
    for one, other in pairs:
        texts, expected = _normal(one), _normal(other)
        equal += bool(texts & expected)
        inside += any(text in part or part in text for text in texts for part in expected)
    return inside > equal


def _normal(cell: Any) -> set[str]:
    return {normal for text in parse_contexts(cell or []) if (normal := normalize_unicode(text))}


def _script(table: Table, mapped: Mapped) -> str:
    columns = (_column(table, mapped, name) for name in ("references", "answer", "must_include"))
    text = "".join(_sampled(column for column in columns if column is not None))
    letters = [character for character in text if character.isalpha()]
    if sum(not letter.isascii() for letter in letters) <= _FEW_LETTERS * len(letters):
        return ""
    return "cjk" if has_cjk(text) else "letters"


def _sampled(columns: Iterable[Column]) -> Iterable[str]:
    return (text for column in columns for text in column.texts[:_LOOKED_AT])


def _groups(table: Table, mapped: Mapped) -> Iterable[str]:
    """Yield the document's field, and columns with few values that repeat."""
    taken = {found.column: name for name, found in mapped.fields.items()}
    for column in table.columns:
        few = 2 <= len(column.distinct) <= min(_MOST_GROUPS, len(column.filled) / 2)
        is_name = not column.is_list and column.typical_length < _SENTENCE
        fraction = any("." in text for text in column.texts) and column.is_number
        if few and is_name and not fraction and taken.get(column.name, "doc_name") == "doc_name":
            yield taken.get(column.name, column.name)
