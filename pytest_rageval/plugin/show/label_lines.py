"""What ``--rag-label`` prints: what was drawn, where it is, and what to do next.

Nothing here tells what the judge said: who reads it is about to label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path

from pytest_rageval.datasets.reviews import PATTERN
from pytest_rageval.reports.labels.draw_labels import HALF_WIDTH, DrawnLabels
from pytest_rageval.reports.labels.review_sheet import DrawnReviews
from pytest_rageval.stats.labels.strata import CHANGED
from pytest_rageval.stats.wording import counted, label_range
from pytest_rageval.text.printable import one_line


def label_lines(
    drawn: DrawnLabels,
    files: tuple[Path, Path] | None,
    shown: Callable[[Path], str],
    *,
    is_part: bool = False,
) -> Iterator[str]:
    """Yield the lines about one sheet; ``files`` are its table and its page, None if it is empty.

    ``shown`` returns a path as it can be opened. ``is_part``: some samples were not selected.
    """
    info, human = drawn.wanted.info, drawn.wanted.human
    picked = len(drawn.drawing.ids)
    labelled = sum(answer.is_labelled for answer in drawn.population)
    thing = "cell" if drawn.sheet.has_cells else "answer"
    what = f"{picked} of {counted(len(drawn.population), thing)} drawn for {human.metric}"
    yield one_line(f"{info.title}: {what}; {labelled} have a label")
    yield f"run   {shown(drawn.run)}"
    if drawn.left_out and drawn.sheet.has_cells:
        yield f"      {counted(drawn.left_out, 'cell')} left out: the judge failed at them"
    elif drawn.left_out:
        what = "without an answer or a score, or not in the data any more"
        yield f"      {counted(drawn.left_out, 'sample')} left out: {what}"
    if drawn.needed is not None:
        count = label_range(*drawn.needed, len(drawn.population))
        answers = f"{count} labelled answers in all" if count else "more answers than there are"
        yield f"      a corrected mean within ±{HALF_WIDTH:g} takes {answers}"
    if files is None:
        return
    table, page = files
    yield f"drawn {_how(drawn)}"
    if is_part:
        yield "      from all samples, also those that were not selected: labels are to tell of all"
    yield f"table {shown(table)}"
    yield f"page  {shown(page)}"
    yield "label the table in a spreadsheet, or the page in a browser and press Download; then:"
    yield f"  {drawn.command} --rag-labels={_LABELLED}"
    if human.files:
        yield f"to keep the labels, add that file to human.file of {info.path}"
        yield f"and copy {shown(drawn.draws)} beside it"
        return
    levels = ", ".join(drawn.sheet.names)
    line = f"human: {{file: {_LABELLED}, of: {human.metric}, levels: [{levels}]}}"
    yield f"to keep the labels, put that file and {shown(drawn.draws)} beside the scenario"
    yield f"and write in {info.path}:  {line}"


def review_lines(
    drawn: DrawnReviews, files: tuple[Path, Path] | None, shown: Callable[[Path], str]
) -> Iterator[str]:
    """Yield the lines about questions to review; ``files`` as for ``label_lines``."""
    asked = drawn.to_review
    info, named, reviewed = asked.info, asked.files, asked.reviewed
    title, path = info.name, info.path
    questions = counted(asked.made, "made question")
    if files is None:
        is_done = reviewed == asked.made
        none = "and people reviewed all that are in the data" if is_done else "none is selected"
        yield one_line(f"{title}: {questions}, {none}")
        return
    picked = len(drawn.sheet.rows)
    yield one_line(f"{title}: {picked} of {questions} drawn to review; {reviewed} reviewed before")
    table, page = files
    yield f"table {shown(table)}"
    yield f"page  {shown(page)}"
    yield "review on the page in a browser and press Download, or fill in 'verdict' (accept,"
    yield "reject or edit) and 'reviewer' of the table in a spreadsheet; then put that file beside"
    if any(fnmatch(table.name, pattern) for pattern in named):
        yield f"{path}: runs read it from there ({PATTERN})"
    elif named:
        yield f"{path}, and add it to dataset.reviews there"
    else:
        yield f"{path}, and write there:  dataset: {{..., reviews: [{PATTERN}]}}"


def _how(drawn: DrawnLabels) -> str:
    """Return how they were drawn. Only of changed answers it says how many there are.

    The other strata are of one verdict of the judge: their sizes would tell what it said.
    """
    strata = drawn.drawing.strata.values()
    how = "where labels help most" if strata else "uniformly"
    changed = [stratum for stratum in strata if stratum.kind == CHANGED]
    if changed:
        count = sum(stratum.drawn for stratum in changed)
        how += f": {count} of {counted(sum(stratum.size for stratum in changed), 'changed answer')}"
        rest = len(drawn.drawing.ids) - count
        how += f" and {counted(rest, 'other')}" * bool(rest)
    more = len(drawn.sheet.rows) - len(drawn.drawing.ids)
    return how + f", and {counted(more, 'answer')} of the saved run to the same questions" * bool(
        more
    )


_LABELLED = "THE-FILE.csv"
"""Stands for the file that people hand in: the table, or what the page downloads."""
