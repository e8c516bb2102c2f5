"""The text of a failed or unjudged case in pytest's FAILURES and ERRORS sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_rageval.errors import shorten
from pytest_rageval.model import RETRIEVAL, TARGET, WEIGHTED_SCORE, SampleResult, ScenarioInfo
from pytest_rageval.stats.verdict import Refusal, Shortfall, does_not_apply, passing_of
from pytest_rageval.text.printable import cells, one_line, pad, printable

_TEXT_WIDTH = 300
_LISTED = 3


def failure_text(
    info: ScenarioInfo, result: SampleResult, missed: Sequence[Shortfall | Refusal]
) -> str:
    """Return the verdict in the first line, then the table of scores and the texts.

    pytest's short summary quotes the first line.
    """
    verdict = "; ".join(str(shortfall) for shortfall in missed)
    below = {shortfall.name for shortfall in missed if isinstance(shortfall, Shortfall)}
    return _join([verdict, *_body(info, result, below)])


def unjudged_text(info: ScenarioInfo, result: SampleResult, reasons: Sequence[str]) -> str:
    """Return why the case cannot be judged, then its scores and texts."""
    if result.invalid is not None:
        place = f"line {result.line}" if result.line else f"row {result.row}"
        raw = [f"found     {result.raw}"] if result.raw else []
        return _join([f"invalid row ({place}): {result.invalid}", *raw])
    first = "; ".join(reasons)
    body = (line for line in _body(info, result, set()) if not _is_said(line, first))
    return _join([first, *body])


def _is_said(line: str, first: str) -> bool:
    """Return whether the first line already contains a line of the form ``metric: reason``."""
    name, _, reason = line.partition(": ")
    return bool(reason) and f"{name} unscored: {reason.removesuffix('…')}" in first


def _body(info: ScenarioInfo, result: SampleResult, below: set[str]) -> Iterator[str]:
    yield ""
    yield from _field("question", result.question)
    yield from _score_table(info, result, below)
    for kind in (result.reasons, result.errors):
        for name, text in kind.items():
            is_left_out = does_not_apply(info.of_rows, result, name)
            if name != TARGET and not is_left_out:  # the former is in the first line
                yield f"{name}: {shorten(text, _TEXT_WIDTH)}"
    if result.cause is not None:
        yield f"cause: {result.cause}, {shorten(result.cause_reason, _TEXT_WIDTH)}"
    yield from _field("answer", result.answer)
    yield from _listing("references", result.references)
    yield from _listing("contexts", result.contexts)
    yield from _search_result(result)


def _score_table(info: ScenarioInfo, result: SampleResult, below: set[str]) -> Iterator[str]:
    names = [column.name for column in info.metrics]
    width = max(cells(one_line(name)) for name in (*names, WEIGHTED_SCORE))
    yield f"{'metric':<{width}}  score   weight  threshold"
    rows = [(column.name, result.scores.get(column.name), column.weight) for column in info.metrics]
    for name, value, weight in (*rows, (WEIGHTED_SCORE, result.weighted_score, None)):
        score = "-" if value is None else f"{value:.4f}"
        shown_weight = "" if weight is None else f"{weight:g}"
        is_left_out = does_not_apply(info.of_rows, result, name)
        bound = None if is_left_out else info.thresholds.get(name)
        threshold = "" if bound is None else str(bound)
        remark = ""
        if name in below and bound is not None:
            remark = "below" if bound.min is not None and (value or 0) < bound.min else "above"
        if passing_of(result, name) is False:
            remark += f"{remark and ', '}does not pass"
        shown = pad(one_line(name), width)
        yield f"{shown}  {score:<6}  {shown_weight:<6}  {threshold:<9}  {remark}".rstrip()
    yield ""


def _field(name: str, text: str | None) -> Iterator[str]:
    if text is not None:
        yield f"{name:<10} {shorten(' '.join(text.split()), _TEXT_WIDTH)}"


def _listing(name: str, texts: Sequence[str] | None, total: int | None = None) -> Iterator[str]:
    for number, text in enumerate((texts or ())[:_LISTED], start=1):
        flat = shorten(" ".join(text.split()), _TEXT_WIDTH)
        yield f'{name if number == 1 else "":<10} [{number}] "{flat}"'
    count = total if total is not None else len(texts or ())
    if count > _LISTED:
        yield f"{'':<10} and {count - _LISTED} more"


def _search_result(result: SampleResult) -> Iterator[str]:
    found = result.details.get(RETRIEVAL)
    if found is None:
        return
    if "expected" in found:
        yield from _listing("expected", found["first_expected"], found["expected"])
        return
    count, relevant, hits = found["retrieved"], found["relevant"], found["found"]
    yield f"{'retrieved':<10} {count} documents, {hits} of {relevant} relevant ones among them"
    for rank, (name, grade) in enumerate(found["first"][:_LISTED], start=1):
        judged = "not judged" if grade is None else f"grade {grade}"
        yield f"{'':<10} [{rank}] {shorten(name, _TEXT_WIDTH)} ({judged})"


def _join(lines: Sequence[str]) -> str:
    return printable("\n".join(lines))
