"""Tables of comparisons in the terminal: with a baseline, and among variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_rageval.engine.verdict.decide import VariantComparison
from pytest_rageval.errors import shorten
from pytest_rageval.model import Comparison, Ranking
from pytest_rageval.plugin.show.terminal import (
    Line,
    display_path,
    name_column,
    named,
    plain,
    prose,
    verdict_lines,
)
from pytest_rageval.reports.run_view import (
    HEADS,
    ComparedMetric,
    ComparedRun,
    RunView,
    ranking_head,
    ranking_lines,
    ranking_rows,
)
from pytest_rageval.stats.wording import (
    change_interval,
    correction_name,
    counted,
    interval_name,
)
from pytest_rageval.text.printable import cells, one_line, pad

_ERROR_WIDTH = 300
_GAP = "  "
_NARROWEST = 8
"""The least width of the column of variants' names."""


def comparison_lines(view: RunView, column: int, width: int) -> Iterator[Line]:
    """Yield a table for each baseline, in ``width`` cells.

    ``column`` is the width of the names in the table above.
    """
    for compared in view.compared:
        yield from _against(compared, column, width)


def variants_heading(found: VariantComparison) -> str:
    """Return the heading of the table of variants: the scenario, and how many of them ran."""
    ran = len(found.contest.names) - len(found.missing)
    of = "" if not found.missing else f"{ran} of "
    return f"rageval: {one_line(found.info.name)}, {of}" + counted(
        len(found.contest.names), "variant"
    )


def variant_lines(
    found: VariantComparison, page: Path | str | None, root: Path, width: int
) -> Iterator[Line]:
    """Yield the ranked table, the verdict and the page; a text as ``page`` is why there is none."""
    # Not at the top: most comparisons have no variants.
    from pytest_rageval.reports.what_is_wrong import variant_errors

    column = name_column(["gate best"], width)
    for error in variant_errors(found.results):
        yield from prose(shorten(one_line(error), _ERROR_WIDTH), width, "red")
    if found.ranking is not None:
        yield from prose(ranking_head(found.ranking), width)
        yield from _table(found.ranking, width)
        for at, line in enumerate(ranking_lines(found.ranking)):
            is_warning = at == 0 and found.ranking.undecided  # the first line says why
            yield from prose(line, width, "yellow" if is_warning else "")
    if found.gate is not None:
        yield from verdict_lines([found.gate], column, width)
    if isinstance(page, Path):
        yield ((f"page {one_line(display_path(page, root))}", ""),)
    elif page is not None:
        yield ((f"variants  {one_line(page)}", "red"),)


def _against(compared: ComparedRun, column: int, width: int) -> Iterator[Line]:
    """Yield the table for one baseline.

    If its lines are longer than ``width``, each metric has two: its figures, then interval and
    p-values.
    """
    comparison, rows = compared.figures, compared.metrics
    yield (("", ""),)
    yield from prose(f"A this run, B {one_line(compared.baseline)}, {compared.test}", width)
    wide = list(_wide(comparison, rows, column))
    fits = all(cells(plain(line)) <= width for line in wide)
    yield from wide if fits else _narrow(comparison, rows, width)
    for remark in compared.remarks:
        yield from prose(one_line(remark), width)
    for line in compared.unpaired:
        yield from prose(one_line(line), width, "yellow")


def _verdict(row: ComparedMetric) -> tuple[str, str]:
    """Return the verdict with its colour: yellow where a note says why nothing could be shown."""
    if row.word == "no difference shown" and row.figures.note and not row.reach:
        return row.word, "yellow"
    return row.word, {"better": "green", "worse": "red"}.get(row.word, "")


def _wide(comparison: Comparison, rows: Sequence[ComparedMetric], column: int) -> Iterator[Line]:
    column = max([column, *(cells(one_line(row.name)) for row in rows)])
    adjusted = f"p ({correction_name(comparison.correction)})"
    heads = (
        "A_mean  B_mean  Diff(A-B)  "
        f"{interval_name(comparison.alpha):<16}  p        {adjusted:<9} n     verdict"
    )
    yield from named("metric", column, ((heads, ""),))
    for row in rows:
        a, b, diff, p, p_adjusted = row.texts
        ends = change_interval(row.figures.ci_low, row.figures.ci_high)
        means = f"{a:<6}  {b:<6}  {diff:<9}  {ends:<16}  "
        chance = f"{p:<8} {p_adjusted:<9} {row.figures.n:<4}  "
        yield from named(row.name, column, ((means + chance, ""), _verdict(row)))


def _narrow(comparison: Comparison, rows: Sequence[ComparedMetric], width: int) -> Iterator[Line]:
    heads = "A_mean B_mean Diff    "
    room = width - len(heads) - len(" no difference shown")
    column = name_column((row.name for row in rows), room)
    correction = correction_name(comparison.correction)
    yield from named("metric", column, ((f"{heads}verdict", ""),))
    yield ((f"  {interval_name(comparison.alpha):<17} p        p ({correction})", ""),)
    for row in rows:
        a, b, diff, p, p_adjusted = row.texts
        yield from named(row.name, column, ((f"{a:<6} {b:<6} {diff:<7} ", ""), _verdict(row)))
        ends = change_interval(row.figures.ci_low, row.figures.ci_high)
        yield ((f"  {ends:<17} {p:<8} {p_adjusted:<9} n {row.figures.n}", ""),)


def _table(ranking: Ranking, width: int) -> Iterator[Line]:
    rows = ranking_rows(ranking)
    shown = [HEADS, *(figures for _, figures in rows)]
    widths = [max(cells(row[at]) for row in shown) for at in range(len(HEADS))]
    room = width - sum(widths) - len(_GAP) * len(HEADS)
    column = name_column((name for name, _ in rows), max(room, _NARROWEST))
    for name, figures in (("variant", HEADS), *rows):
        line = _GAP.join(pad(text, size) for text, size in zip(figures, widths, strict=True))
        yield from named(name, column, ((line, ""),))
