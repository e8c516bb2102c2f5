"""A result as columns, one row a sample: what a data frame is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_rageval.model import CAUSE, ScenarioResult
from pytest_rageval.stats.verdict import shown_errors

_LARGEST_WHOLE: Final = 2**63
_LARGEST_EXACT: Final = 2**53
"""Not every larger whole number is a float."""

Kind = Literal["number", "whole", "flag", "text", "texts", "any"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``kind`` is what its cells hold besides None."""

    name: str
    kind: Kind
    cells: Sequence[Any]

    @classmethod
    def of_field(cls, name: str, cells: Sequence[Any]) -> Column:
        """Return the column of a field, of whose cells nothing is known."""
        return cls(name, _kind(cells), cells)

    def of_one_type(self) -> Column:
        """Return it for a library whose columns have one type: mixed cells become JSON."""
        if self.kind != "any":
            return self
        texts = [
            cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
            for cell in self.cells
        ]
        return Column(self.name, "text", texts).in_unicode()

    def in_unicode(self) -> Column:
        """Return it with lone surrogates spelled out: libraries keep texts in UTF-8."""
        if self.kind not in ("text", "texts"):
            return Column(_in_unicode(self.name), self.kind, self.cells)
        return Column(_in_unicode(self.name), self.kind, list(map(_in_unicode, self.cells)))


def _kind(cells: Sequence[Any]) -> Kind:
    """Return what cells hold: numbers only if none of them becomes another one as such."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds in ({str}, {bool}):
        return "text" if kinds == {str} else "flag"
    whole = [abs(cell) for cell in cells if type(cell) is int]
    if kinds == {int} and max(whole) < _LARGEST_WHOLE:
        return "whole"
    is_exact = float in kinds and max(whole, default=0) <= _LARGEST_EXACT
    return "number" if kinds <= {int, float} and is_exact else "any"


def _in_unicode(cell: Any) -> Any:
    if isinstance(cell, list):
        return list(map(_in_unicode, cell))
    if not isinstance(cell, str):
        return cell
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")


def columns_of(results: Sequence[ScenarioResult]) -> list[Column]:
    """Return the samples of results as columns; ``variant`` comes first where there are several.

    The names are those of ``scores.csv``; ``contexts``, ``references`` and ``reasons`` are added. A
    field of the rows that is called like another column is ``metadata.NAME``.
    """
    samples = [sample for result in results for sample in result.samples]
    metrics = list(dict.fromkeys(name for result in results for name in result.metrics))
    leading = list(_leading(results))
    trailing = [
        Column("weighted_score", "number", [sample.weighted_score for sample in samples]),
        Column("sample_weight", "number", [sample.sample_weight for sample in samples]),
        Column("outcome", "text", [sample.outcome for sample in samples]),
        Column("error", "text", [_listed(shown_errors(sample)) for sample in samples]),
        Column("reasons", "text", [_listed(sample.reasons) for sample in samples]),
    ]
    if any(result.info.diagnose is not None for result in results):
        trailing.append(Column(CAUSE, "text", [sample.cause for sample in samples]))
    taken = {one.name for one in (*leading, *trailing)}
    scores = [
        Column(
            _free("score", name, taken), "number", [sample.scores.get(name) for sample in samples]
        )
        for name in metrics
    ]
    metadata = [
        Column.of_field(
            _free("metadata", name, taken),
            [(sample.metadata or {}).get(name) for sample in samples],
        )
        for name in _fields(results)
    ]
    return [*leading, *metadata, *scores, *trailing]


def _leading(results: Sequence[ScenarioResult]) -> Iterator[Column]:
    if len(results) > 1:
        cells = [result.info.variant for result in results for _ in result.samples]
        yield Column("variant", "text", cells)
    samples = [sample for result in results for sample in result.samples]
    yield Column("sample_id", "text", [sample.sample_id for sample in samples])
    yield Column("question", "text", [sample.question for sample in samples])
    yield Column("answer", "text", [sample.answer for sample in samples])
    yield Column("contexts", "texts", [_list(sample.contexts) for sample in samples])
    yield Column("references", "texts", [_list(sample.references) for sample in samples])
    yield Column("doc_name", "text", [sample.doc_name for sample in samples])


def _fields(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the fields that rows have besides those of a sample, in their order."""
    found = [name for result in results for name in result.info.metadata_columns]
    of_samples = (name for one in results for sample in one.samples for name in sample.metadata)
    return list(dict.fromkeys([*found, *of_samples]))


def _free(section: str, name: str, taken: set[str]) -> str:
    """Return a name that no other column has, and take it."""
    while name in taken:
        name = f"{section}.{name}"
    taken.add(name)
    return name


def _list(texts: Sequence[str] | None) -> list[str] | None:
    return None if texts is None else list(texts)


def _listed(texts: Any) -> str | None:
    return "; ".join(f"{name}: {text}" for name, text in texts.items()) or None
