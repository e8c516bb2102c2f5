"""The support tables of a run's samples for its page: those of the worst answers first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from heapq import nsmallest
from itertools import chain
from typing import Any, Final

from pytest_rageval.model import (
    SUPPORT,
    WEIGHTED_SCORE,
    MetricColumn,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.reports.page.assemble import cut, embedded_json
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored

TABLE_BYTES: Final = 2_500_000
"""How many bytes the tables of a page may take."""

SOURCE_BYTES: Final = 1_000_000
"""How many bytes the texts of their sources may take besides."""

# How many characters a page has of each text.
_STATEMENT: Final = 1_000
_REASON: Final = 400
_SOURCE: Final = 4_000
_NAME: Final = 200
# The tables of so many samples, the worst by each column, come before those of all others.
_FIRST: Final = 200
# After so many that did not fit, no smaller one is looked for.
_MISSES: Final = 100
_OUTCOMES: Final = ("error", "failed", "xfailed")


def has_table(sample: SampleResult) -> bool:
    """Return whether the details of a sample have a support table; see ``SupportTable``."""
    found = sample.details.get(SUPPORT)
    keys = ("statements", "sources", "cells")
    return isinstance(found, Mapping) and all(isinstance(found.get(key), list) for key in keys)


def support_data(result: ScenarioResult, share: int = 1) -> dict[str, Any]:
    """Return the tables by index of their sample, and the indexes of those that are left out.

    What the tables and the texts of contexts may take is divided by ``share``; a table has the
    texts while there is room for them.
    """
    table_room, text_room = TABLE_BYTES // share, SOURCE_BYTES // share
    tables: dict[int, dict[str, Any]] = {}
    misses = 0
    for at in _worst_first(result.samples, result.info.metrics):
        table = table_of(result.samples[at])
        if table is None:
            continue
        size = _size(table)
        if size > table_room:
            misses += 1
            if misses == _MISSES:
                break
            continue
        table_room -= size
        texts = _context_texts(result.samples[at], table)
        tables[at] = table
        if (size := _size(texts)) <= text_room:
            text_room -= size
            tables[at] = {**table, "contexts": texts}
    left = [at for at, one in enumerate(result.samples) if has_table(one) and at not in tables]
    return {"tables": sorted(tables.items()), "left": left}


def _size(value: Any) -> int:
    return len(embedded_json(value).encode())


def _worst_first(samples: Sequence[SampleResult], columns: Sequence[MetricColumn]) -> Iterator[int]:
    """Yield the indexes of samples with a table: the worst by each score, then the others."""
    having = [at for at, sample in enumerate(samples) if has_table(sample)]
    by_score = [
        nsmallest(_FIRST, having, key=partial(_badness, samples, column))
        for column in (None, *columns)
    ]
    worst = chain.from_iterable(zip(*by_score, strict=True))
    return iter(dict.fromkeys(chain(worst, having)))


def _badness(
    samples: Sequence[SampleResult], column: MetricColumn | None, at: int
) -> tuple[int, float]:
    """Return the sort key of a sample by a column (without one, by the weighted score).

    By outcome first: errors, failed, expected to fail, others. Then by score, failed metrics first,
    those that do not apply last.
    """
    sample = samples[at]
    name = WEIGHTED_SCORE if column is None else column.name
    score = score_of(sample, name)
    known = _OUTCOMES.index(sample.outcome) if sample.outcome in _OUTCOMES else len(_OUTCOMES)
    if not is_scored(score):
        return known, -1.0 if name in sample.errors else float("inf")
    return known, score if column is None else column.to_unit(score)


def table_of(sample: SampleResult) -> dict[str, Any] | None:
    """Return the table with its texts cut; None where the details hold nothing of its shape."""
    if not has_table(sample):
        return None
    found = sample.details[SUPPORT]
    try:
        return {
            "statements": [_statement(one) for one in found["statements"]],
            "sources": [_source(one) for one in found["sources"]],
            "cells": [
                [
                    None if cell is None else [str(cell[0]), cut(str(cell[1]), _REASON)]
                    for cell in row
                ]
                for row in found["cells"]
            ],
            **({"cited_by_place": False} if found.get("cited_by_place") is False else {}),
        }
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return None


def _statement(found: Mapping[str, Any]) -> dict[str, Any]:
    texts = {key: cut(str(found[key]), _NAME) for key in ("importance",) if key in found}
    return {
        "text": cut(str(found["text"]), _STATEMENT),
        "of": str(found["of"]),
        "number": int(found["number"]),
        "cites": [int(place) for place in found["cites"]],
        "lost": [cut(str(one), _NAME) for one in found.get("lost", ())],
        **texts,
    }


def _source(found: Mapping[str, Any]) -> dict[str, Any]:
    docs = [None if name is None else cut(str(name), _NAME) for name in found.get("docs", ())]
    return {
        "kind": str(found["kind"]),
        "index": [int(place) for place in found["index"]],
        **({"docs": docs} if docs else {}),
    }


def _context_texts(sample: SampleResult, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contexts that are sources, by place from 1; a cut one as [beginning, length]."""
    contexts = sample.contexts or ()
    places = sorted({place for source in table["sources"] for place in source["index"]})
    shown = ((place, contexts[place - 1]) for place in places if 1 <= place <= len(contexts))
    return {
        str(place): text if len(text) <= _SOURCE else [text[:_SOURCE], len(text)]
        for place, text in shown
    }
