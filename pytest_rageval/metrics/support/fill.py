"""Fills the support table of a row: finds its statements, and asks each wanted cell once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.citations import Sources
from pytest_rageval.metrics.support.prompts import (
    MOST_CLAIMS,
    MOST_STATEMENTS,
    CellsReply,
    ClaimsReply,
    cells_prompt,
    cells_schema,
    claims_prompt,
    claims_schema,
)
from pytest_rageval.metrics.support.table import (
    Cell,
    Citation,
    Key,
    Measure,
    Origin,
    Source,
    Statement,
    SupportRow,
    SupportTable,
)
from pytest_rageval.model import Sample
from pytest_rageval.text.prompts import Language, prompt_language

if TYPE_CHECKING:
    from pytest_rageval.text.citations import CitedSentence

_BLANK: Final = Cell("none", "it is blank")
"""The cell of a blank source, for which nobody is asked."""


async def fill_table(row: SupportRow, measures: Sequence[Measure], models: Models) -> SupportTable:
    """Return the table of a row with every cell that one of ``measures`` wants.

    What a model failed at is in ``failed``, and the rest is asked all the same; but a measure whose
    statements could not be found has none of its cells asked.
    """
    table = SupportTable(row)
    origins = sorted(frozenset[Origin]().union(*(measure.origins for measure in measures)))
    await asyncio.gather(*(_find_statements(table, origin, models) for origin in origins))
    while wanted := _missing(table, measures):  # what is wanted may depend on cells just filled
        await asyncio.gather(*(_ask(table, keys, models) for keys in _calls(wanted)))
    return table


def _missing(table: SupportTable, measures: Iterable[Measure]) -> list[Key]:
    keys = dict.fromkeys(
        key
        for measure in measures
        if measure.origins.isdisjoint(table.failed)
        for key in measure.wants(table)
    )
    return [key for key in keys if key not in table.cells and key not in table.failed]


def _calls(keys: Iterable[Key]) -> list[list[Key]]:
    """Return the cells of each call: one source, and at most MOST_STATEMENTS of one origin."""

    def order(key: Key) -> tuple[str, tuple[int, ...], str, int]:
        statement, source = key
        return source.kind, source.at, statement.of, statement.number

    grouped = groupby(sorted(keys, key=order), key=lambda key: (key[1], key[0].of))
    lists = [list(group) for _, group in grouped]
    return [
        cells[start : start + MOST_STATEMENTS]
        for cells in lists
        for start in range(0, len(cells), MOST_STATEMENTS)
    ]


async def _ask(table: SupportTable, keys: Sequence[Key], models: Models) -> None:
    source, statements = keys[0][1], [statement for statement, _ in keys]
    texts = source_texts(table.row, source)
    if not any(map(str.strip, texts)):
        table.cells.update(dict.fromkeys(keys, _BLANK))
        return
    sees_answer = source.kind == "answer" or statements[0].of in ("claim", "sentence")
    language = _language(table.row, models, sees_answer=sees_answer)
    question = table.row.sample.question or ""
    asked = [statement.text for statement in statements]
    prompt = cells_prompt(language, question, texts, asked)
    read = CellsReply(len(keys), "\n".join([question, *texts, *asked]))
    try:
        cells = read(await models.ask(prompt, read, cells_schema()))
    except Exception as error:  # noqa: BLE001  (a client of the user's own raises anything)
        table.failed.update(dict.fromkeys(keys, error))
    else:
        table.cells.update(zip(keys, cells, strict=True))


def source_texts(row: SupportRow, source: Source) -> list[str]:
    """Return the texts of a source: one for each of its contexts or references, else one."""
    sample = row.sample
    if source.kind == "contexts":
        contexts = sample.contexts or ()
        return [contexts[place - 1] for place in source.at]
    if source.kind == "reference":
        return list(sample.references or ())
    return [row.answer if source.kind == "answer" else row.history]


async def _find_statements(table: SupportTable, origin: Origin, models: Models) -> None:
    if origin == "sentence":
        table.statements[origin] = _sentences(table.row)
    elif origin == "nugget":
        table.statements[origin] = _nuggets(table.row)
    else:
        await _find_claims(table, origin, models)


def _sentences(row: SupportRow) -> tuple[Statement, ...]:
    """Return the sentences of an answer that count, with the contexts that each cites."""
    reading = row.reading
    if reading is None or reading.cited is None or reading.kind in ("refused", "empty"):
        return ()
    sources = Sources(row.sample, reading.base, reading.of)
    counted = [sentence for sentence in reading.cited.sentences if sentence.is_counted]
    return tuple(
        Statement("sentence", number, sentence.text, _cited(sentence, sources))
        for number, sentence in enumerate(counted, 1)
    )


def _cited(sentence: CitedSentence, sources: Sources) -> tuple[Citation, ...]:
    """Return what a sentence cites: each set of contexts once, and each text that leads to none."""
    found: dict[str | tuple[int, ...], Citation] = {}
    shown = len(sources.sample.contexts or ())
    for mark in sentence.citations:
        # A search may have returned more ids than contexts were shown.
        places = tuple(at for at in sources.places(mark) if at <= shown)
        text = sources.as_written(mark)
        found.setdefault(places or text, Citation(text, places))
    return tuple(found.values())


def _nuggets(row: SupportRow) -> tuple[Statement, ...]:
    return tuple(
        Statement("nugget", number, nugget["text"], importance=nugget["importance"])
        for number, nugget in enumerate(row.sample.nuggets or (), 1)
    )


def _first_reference(sample: Sample) -> str:
    """Return the first reference that is not blank, "" without one: a blank one claims nothing."""
    return next(filter(str.strip, sample.references or ()), "")


async def _find_claims(table: SupportTable, origin: Origin, models: Models) -> None:
    """Ask for the claims of the answer, or of the first reference; a blank text has none."""
    row, of_answer = table.row, origin == "claim"
    text = row.answer if of_answer else _first_reference(row.sample)
    if not text.strip():
        table.statements[origin] = ()
        return
    language = _language(row, models, sees_answer=of_answer)
    question = row.sample.question or ""
    prompt = claims_prompt(language, question, text)
    try:
        read = ClaimsReply(text, of_answer, question)
        claims = read(await models.ask(prompt, read, claims_schema()))
        if len(claims) > MOST_CLAIMS:
            raise ClientError(
                f"{len(claims)} claims were found in the {'answer' if of_answer else 'reference'}, "
                f"and at most {MOST_CLAIMS} are checked: cut it, or leave out the metrics of claims"
            )
    except Exception as error:  # noqa: BLE001  (as above)
        table.failed[origin] = error
    else:
        table.statements[origin] = tuple(
            Statement(origin, number, claim) for number, claim in enumerate(claims, 1)
        )


def _language(row: SupportRow, models: Models, *, sees_answer: bool) -> Language:
    """Return the language of a prompt: ``auto`` is that of the question and a text of its row.

    That is the answer if the prompt shows it (``sees_answer``), else the first reference: another
    answer must not change the scores of what was retrieved.
    """
    sample = row.sample
    seen = (sample.answer or "") if sees_answer else _first_reference(sample)
    return prompt_language(models.language, sample.question or "", seen)
