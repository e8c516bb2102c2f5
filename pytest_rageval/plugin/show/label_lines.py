"""What ``--rag-label`` prints: what was drawn, where it is, and what to do next.

Nothing here tells what the judge said: who reads it is about to label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_rageval.reports.draw_labels import HALF_WIDTH, DrawnLabels
from pytest_rageval.stats.drawing import Stratum
from pytest_rageval.stats.people import CHANGED
from pytest_rageval.stats.wording import counted, label_range
from pytest_rageval.text.printable import one_line


def label_lines(
    drawn: DrawnLabels, files: tuple[Path, Path] | None, shown: Callable[[Path], str]
) -> Iterator[str]:
    """Yield the lines about one sheet; ``files`` are its table and its page, None if it is empty.

    ``shown`` returns a path as messages show it.
    """
    info, human = drawn.wanted.info, drawn.wanted.human
    picked = len(drawn.drawing.ids)
    labelled = sum(one.human is not None for one in drawn.population)
    what = f"{picked} of {counted(len(drawn.population), 'answer')} drawn for {human.metric}"
    yield one_line(f"{info.name}: {what}; {labelled} have a label")
    yield f"run   {shown(drawn.run)}"
    if drawn.left_out:
        what = "without an answer or a score, or not in the data any more"
        yield f"      {counted(drawn.left_out, 'sample')} left out: {what}"
    if drawn.needed is not None:
        count = label_range(*drawn.needed, len(drawn.population))
        takes = f"takes {count} labels in all" if count else "takes more answers than there are"
        yield f"      a corrected mean within ±{HALF_WIDTH:g} {takes}"
    if files is None:
        return
    table, page = files
    yield f"drawn {_how(drawn)}"
    yield f"table {shown(table)}"
    yield f"page  {shown(page)}"
    yield f"label in either, then:  pytest {info.nodeid} --rag-labels={shown(table)}"
    if human.files:
        yield f"to keep the labels, add the table to human.file of {info.path}"
        yield f"and copy {shown(drawn.draws)} beside it"
        return
    levels = ", ".join(f"{level:g}" for level in human.levels)
    line = f"human: {{file: {table.name}, of: {human.metric}, levels: [{levels}]}}"
    yield f"to keep the labels, put them and {shown(drawn.draws)} beside the scenario"
    yield f"and write in {info.path}:  {line}"


def _how(drawn: DrawnLabels) -> str:
    parts = list(map(_part, drawn.drawing.strata.values())) or ["uniformly"]
    more = len(drawn.sheet.rows) - len(drawn.drawing.ids)
    parts += [f"and {counted(more, 'answer')} of the saved run to the same questions"] * bool(more)
    return ", ".join(parts)


def _part(stratum: Stratum) -> str:
    changed = " changed answers" if stratum.kind == CHANGED else ""
    return f"{stratum.drawn} of {stratum.size}{changed}"
