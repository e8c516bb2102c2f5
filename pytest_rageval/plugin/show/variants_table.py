"""Prints how the variants of a scenario rank against each other, below their own tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.model import Ranking
from pytest_rageval.plugin.show.figures_table import verdict_lines
from pytest_rageval.plugin.show.table_lines import Line, name_column, named, prose
from pytest_rageval.reports.variants import HEADS, ranking_head, ranking_lines, ranking_rows
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.cells import cells, pad
from pytest_rageval.text.printable import one_line


def variants_heading(found: VariantComparison) -> str:
    """Return the heading of the table."""
    ran = len(found.contest.names) - len(found.missing)
    of = "" if not found.missing else f"{ran} of "
    return f"rageval: {one_line(found.info.name)}, {of}" + counted(
        len(found.contest.names), "variant"
    )


def variant_lines(
    found: VariantComparison, page: Path | str | None, root: Path, width: int
) -> Iterator[Line]:
    """Yield the ranked table, the verdict and the page, or why that could not be written."""
    column = name_column(["gate best"], width)
    if found.ranking is not None:
        yield from prose(ranking_head(found.ranking), width)
        yield from _table(found.ranking, width)
        for line in ranking_lines(found.ranking):
            colour = "yellow" if line.startswith("no letters") else ""
            yield from prose(line, width, colour)
    if found.gate is not None:
        yield from verdict_lines([found.gate], column, width)
    if isinstance(page, Path):
        relative = os.path.relpath(page, root)
        shown = str(page) if relative.startswith("..") else relative
        yield ((f"page {one_line(shown)}", ""),)
    elif page is not None:
        yield ((f"variants  {one_line(page)}", "red"),)


def _table(ranking: Ranking, width: int) -> Iterator[Line]:
    rows = ranking_rows(ranking)
    shown = [HEADS, *(figures for _, figures in rows)]
    widths = [max(cells(row[at]) for row in shown) for at in range(len(HEADS))]
    column = name_column((name for name, _ in rows), max(width - sum(widths) - 10, 8))
    for name, figures in (("variant", HEADS), *rows):
        line = "  ".join(pad(text, size) for text, size in zip(figures, widths, strict=True))
        yield from named(name, column, ((line, ""),))
