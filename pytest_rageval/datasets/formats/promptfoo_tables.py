"""Rows of a table that promptfoo writes: one for each output, which it has side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, pairwise
from typing import Any, Final, NamedTuple

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.datasets.formats.tool_results import beside_variables

_FIRST_BESIDE: Final = ("Status", "Score", "Named Scores")
_BESIDE: Final = frozenset({*_FIRST_BESIDE, "Grader Reason", "Comment"})
_METRIC: Final = "Metric: "
_LABEL: Final = re.compile(r"\[([^\]]+)\] (.+)", re.DOTALL)
_VERDICT: Final = re.compile(r"\[(PASS|FAIL|ERROR)\] \((-?\d+\.\d\d)\)\s*")
_REASON_ENDS: Final = re.compile(r"\n---\r?\n")


def with_own_names(header: list[str]) -> list[str]:
    """Return a header in which what stands beside an output has the output's name before its own.

    promptfoo repeats these names for each output. A header of other tables stays as it is.

    >>> with_own_names(["q", "[a] p", "Status", "Score", "Named Scores", "Messages"])
    ['q', '[a] p', '[a] p Status', '[a] p Score', '[a] p Named Scores', 'Messages']
    """
    names = [*header]
    starts = [at for at in range(len(names)) if tuple(names[at + 1 : at + 4]) == _FIRST_BESIDE]
    for start, end in pairwise([*starts, len(names)]):
        for at in range(start + 1, end):
            if header[at] in _BESIDE or header[at].startswith(_METRIC):
                names[at] = f"{header[start]} {header[at]}"
    return names


def one_output_a_row(rows: Iterable[Row | BrokenRow], file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each output of promptfoo's table; the rows of other tables as they are.

    In older tables a cell begins with the verdict, as ``[FAIL] (0.00)``, and the reason may stand
    before the output. Raises ScenarioError where it cannot be told which of the two a text is.
    """
    rest = iter(rows)
    begin: list[Row | BrokenRow] = []
    for row in rest:
        begin.append(row)
        if isinstance(row, Row):
            break
    first = begin[-1] if begin else None
    if isinstance(first, Row) and any(_outputs(first.fields)):
        yield from _split([*begin, *rest], file)
    else:
        yield from chain(begin, rest)


def _outputs(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns that hold outputs; a status alone may be one of a table's own."""
    for name, cell in fields.items():
        has_beside = all(f"{name} {beside}" in fields for beside in _FIRST_BESIDE)
        if has_beside or (isinstance(cell, str) and _verdict(cell)):
            yield name


def _verdict(cell: str) -> re.Match[str] | None:
    return _VERDICT.match(cell) if cell.startswith("[") else None


class _Result(NamedTuple):
    """What promptfoo says of one output."""

    status: str
    score: str | None
    text: str | None
    reason: str | None = None


def _split(rows: Sequence[Row | BrokenRow], file: DataFile) -> Iterator[Row | BrokenRow]:
    every = [row.fields for row in rows if isinstance(row, Row)]
    outputs = dict.fromkeys(name for fields in every for name in _outputs(fields))
    has_reasons = _has_reasons((fields.get(name) for fields in every for name in outputs), file)
    numbers = count(1)
    for row in rows:
        if isinstance(row, BrokenRow):
            yield replace(row, number=next(numbers))
            continue
        variables = _variables(row.fields, outputs)
        filled = _filled(row.fields, outputs)
        for name in filled:
            yield _row(row, next(numbers), name, variables, has_reasons=has_reasons)
        if not filled:  # it still counts: a lost row would pass in silence
            yield replace(row, number=next(numbers), fields=variables)


def _filled(fields: Mapping[str, Any], outputs: Iterable[str]) -> list[str]:
    """Return the columns of the outputs that a row has; not each prompt is for each test."""
    return [
        name
        for name in outputs
        if any(fields.get(column) for column in (name, f"{name} {_FIRST_BESIDE[0]}"))
    ]


def _has_reasons(cells: Iterable[Any], file: DataFile) -> bool:
    """Return whether the reason stands before the output in cells that failed."""
    failed = [cell for cell in cells if isinstance(cell, str) and cell.startswith("[FAIL]")]
    ends = {len(_REASON_ENDS.findall(cell)) for cell in failed if _verdict(cell)}
    if ends <= {0} or ends == {1}:
        return ends == {1}
    raise file.refuse(
        "results of promptfoo whose cells hold verdict, reason and output, and after [FAIL] it "
        "cannot be told where the reason ends. Write them as JSON, which is read: "
        "promptfoo export eval latest -o results.json"
    )


def _variables(fields: Mapping[str, Any], outputs: Iterable[str]) -> dict[str, Any]:
    names = {*outputs}
    return {
        column: cell
        for column, cell in fields.items()
        if column not in names and not any(_is_beside(column, name) for name in names)
    }


def _row(
    row: Row, number: int, name: str, variables: dict[str, Any], *, has_reasons: bool
) -> Row | BrokenRow:
    result = _result(row.fields, name, has_reasons=has_reasons)
    if result is None:
        reason = f"{name!r} holds outputs of promptfoo, and this one begins with no verdict"
        return BrokenRow(number, row.line, f"{reason}, such as [PASS] (1.00)")
    fields = beside_variables(variables, dict(_columns(row, name, result)))
    return replace(row, number=number, fields=fields)


def _result(fields: Mapping[str, Any], name: str, *, has_reasons: bool) -> _Result | None:
    """Return what the columns beside an output say, else its cell; None without a verdict."""
    status, score, reason = (
        fields.get(f"{name} {beside}") for beside in ("Status", "Score", "Grader Reason")
    )
    text = fields.get(name)
    if status is not None:
        return _Result(status, score, text, reason)
    found = _verdict(text) if isinstance(text, str) else None
    if found is None:
        return None
    rest = text[found.end() :] if isinstance(text, str) else ""
    if found[1] == "FAIL" and has_reasons:
        reason, rest = _REASON_ENDS.split(rest, maxsplit=1)
    return _Result(found[1], found[2], rest, reason)


def _number(cell: str) -> float | str:
    """Return a score; what a spreadsheet has made of it (``0,50``) stays a text."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _columns(row: Row, name: str, result: _Result) -> Iterator[tuple[str, Any]]:
    """Yield the columns of one output, with the names that they have in promptfoo's JSON."""
    label = _LABEL.fullmatch(name)
    has_failed = result.status == "ERROR"
    yield "output", None if has_failed else result.text
    yield "provider", label[1] if label else None
    yield "prompt_label", label[2] if label else name
    yield "success", result.status == "PASS"
    yield "score", _number(result.score) if result.score else None
    yield "reason", result.reason
    yield "error", (result.text or result.reason) if has_failed else None
    for column, cell in row.fields.items():
        if column.startswith(f"{name} {_METRIC}"):
            yield column.removeprefix(f"{name} {_METRIC}"), cell
    yield "test", row.number - 1


def _is_beside(column: str, output: str) -> bool:
    beside = column.removeprefix(f"{output} ") if column.startswith(f"{output} ") else ""
    return beside in _BESIDE or beside.startswith(_METRIC)
