"""The texts of failed gates and cases in pytest's sections, and their lines in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import (
    RETRIEVAL,
    TARGET,
    WEIGHTED_SCORE,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.verdict import Missed, Shortfall, is_ruled_out, passing_of
from pytest_rageval.text.printable import cells, cut, one_line, pad, printable, wrapped

YamlPath = tuple[str | int, ...]

_PACKAGE = Path(__file__).parents[1]


class ScenarioLines:
    """The lines of the values in the scenario file ``path``; 1 if it is no longer readable.

    What ``variant`` says comes before what all variants share.
    """

    def __init__(self, path: Path, variant: str = "") -> None:
        self._lines = _lines(path)
        self._own: YamlPath = ("variants", variant) if variant else ()

    def of_gate(self, name: str) -> int:
        """Return the line of a gate, as ``by.doc_name.f1.mean``, or of the nearest key above it."""
        places = [self._nearest((*start, "gates"), name) for start in (self._own, ())]
        known = [path for path in places if path in self._lines]
        nearest = max(known, key=lambda path: len(path) - path.index("gates"), default=())
        return self._lines.get(nearest, 1)

    def _nearest(self, path: YamlPath, name: str) -> YamlPath:
        rest = name
        while rest:
            steps = [key for key in self._keys(path) if rest == key or rest.startswith(f"{key}.")]
            if not steps:
                break
            step = max(steps, key=len)  # names of metrics may have dots
            path, rest = (*path, step), rest[len(step) + 1 :]
        return path

    def of_row(self, row: int) -> int:
        """Return the line of a row written in the scenario, else the line of its data set."""
        return self._first(
            ("dataset", row - 1), ("dataset", "rows", row - 1), ("dataset",), ("run_path",)
        )

    def of_target(self) -> int:
        """Return the line that names the target's fixture."""
        return self._first(("target", "fixture"), ("target",))

    def of_best(self) -> int:
        """Return the line that says which variant none may beat."""
        return self._first(("best", "at_least"), ("best",))

    def _first(self, *paths: YamlPath) -> int:
        own = [(*self._own, *path) for path in paths] if self._own else []
        return next((self._lines[path] for path in (*own, *paths) if path in self._lines), 1)

    def _keys(self, parent: YamlPath) -> Iterator[str]:
        for path in self._lines:
            if path[:-1] == parent and isinstance(path[-1], str):
                yield path[-1]


def failure_at(text: str, path: Path, line: int, message: str = "") -> Any:
    """Return pytest's representation of a failure with this text, without a traceback.

    Not a plain text, because older versions of pytest do not quote one in their short summary.
    """
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
    return placed(shown, path, line, message)


def placed(failure: Any, path: Path, line: int, message: str = "") -> Any:
    """Return pytest's representation of a failure moved from this package to ``path`` and ``line``.

    A failure raised in the user's code keeps its place. ``message`` replaces the text in the short
    summary.
    """
    chain = getattr(failure, "chain", None)
    if not chain or chain[-1][1] is None or not Path(chain[-1][1].path).is_relative_to(_PACKAGE):
        return failure
    traceback, crash, description = chain[-1]
    text = f"Failed: {message}" if message else crash.message
    own = replace(crash, path=str(path), lineno=line, message=text)
    return type(failure)([*chain[:-1], (traceback, own, description)])


def _lines(path: Path) -> Mapping[YamlPath, int]:
    """Return the line of each value of a scenario file, {} if it is no longer readable."""
    try:
        return _lines_of(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, ScenarioError):
        return {}


@lru_cache(maxsize=4)
def _lines_of(path: Path, _: int) -> Mapping[YamlPath, int]:
    """Return the lines of a file at a modification time: parsed once for all failures."""
    # Not at the top: an xdist controller reads no YAML unless something failed.
    from pytest_rageval.scenario.yaml.tree import parse_yaml

    return parse_yaml(path.read_text("utf-8-sig"), path.name).lines


_LONGEST_ID = 24
_FEW = 3
_LEAST_ROOM = 50
"""Cells in which an answer and a reference can be told apart."""


def gate_text(result: ScenarioResult, verdict: GateResult, width: int) -> str:
    """Return the message of a failed gate and its worst samples, in lines of ``width`` cells."""
    return "\n".join([message_text(verdict, width), *_worst(result, verdict, width)])


def message_text(verdict: GateResult, width: int) -> str:
    """Return the message of a gate in lines of ``width`` cells."""
    lines = printable(verdict.message).splitlines()
    return "\n".join(part for line in lines for part in wrapped(line, width) or [""])


def low_line(result: ScenarioResult) -> str:
    """Return a line on the samples below the bound of a mean that passed, "" if there are none.

    A mean hides them, and a green run shows no sample. With thresholds, or in a red run, always "":
    these show which are low.
    """
    if result.info.thresholds or result.is_red:
        return ""
    passed = {gate.name: gate for gate in result.gates if gate.outcome == "passed"}
    means = [gate for gate in gates_of(result.info) if isinstance(gate, MeanGate)]
    means.sort(key=lambda gate: gate.target != WEIGHTED_SCORE)
    for gate in means:
        if gate.name in passed and (found := gate.worst_samples(result, passed[gate.name])):
            (listed,) = found
            names = ", ".join(_id(sample) for _, sample in listed.rows[:_FEW])
            return printable(f"low  {listed.heading} {names}")
    return ""


def _worst(result: ScenarioResult, verdict: GateResult, width: int) -> Iterator[str]:
    gate = next((gate for gate in gates_of(result.info) if gate.name == verdict.name), None)
    if gate is None:  # added by a hook
        return
    for listed in gate.worst_samples(result, verdict):
        yield ""
        yield from wrapped(printable(listed.heading), width)
        ids = max(cells(_id(sample)) for _, sample in listed.rows)
        figures = max(cells(figure) for figure, _ in listed.rows)
        for figure, sample in listed.rows:
            question = one_line(sample.question or "")
            line = f"  {figure:>{figures}}  {pad(_id(sample), ids)}  {question}"
            yield cut(line, width).rstrip()
            if texts := _texts(sample, width - figures - 4):
                yield f"  {'':>{figures}}  {texts}"
            if reason := _reason(sample, gate.leaf.targets):
                for line in wrapped(printable(reason), width - figures - 4):
                    yield f"  {'':>{figures}}  {line}"


def _reason(sample: SampleResult, targets: Iterable[str]) -> str:
    """Return why the one metric of a gate has this score, "" where it does not say."""
    names = list(targets)
    reason = sample.reasons.get(names[0], "") if len(names) == 1 else ""
    if reason and sample.left_out.get(names[0]) == "answer":
        reason = f"{reason}: counts as the worst"
    return shorten(one_line(reason), _TEXT_WIDTH)


def _texts(sample: SampleResult, room: int) -> str:
    """Return the beginning of the answer and of what was expected; "" if there is no room."""
    if not sample.answer or room < _LEAST_ROOM:
        return ""
    answer, expected = one_line(sample.answer), one_line((sample.references or ("",))[0])
    if not expected:
        return cut(f"answer: {answer}", room)
    expected = cut(f"  expected: {expected}", max(room // 2, room - cells(f"answer: {answer}")))
    return cut(f"answer: {answer}", room - cells(expected)) + expected


def _id(sample: SampleResult) -> str:
    return cut(one_line(sample.sample_id), _LONGEST_ID)


_TEXT_WIDTH = 300
_LISTED = 3


def failure_text(info: ScenarioInfo, result: SampleResult, missed: Sequence[Missed]) -> str:
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
    return bool(reason) and name in first and f" unscored: {reason.removesuffix('…')}" in first


def _body(info: ScenarioInfo, result: SampleResult, below: set[str]) -> Iterator[str]:
    yield ""
    yield from _field("question", result.question)
    yield from _score_table(info, result, below)
    for kind in (result.reasons, result.errors):
        for name, text in kind.items():
            is_left_out = is_ruled_out(result, name)
            if name != TARGET and not is_left_out:  # TARGET's is in the first line
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
        is_left_out = is_ruled_out(result, name)
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
