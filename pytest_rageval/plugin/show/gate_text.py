"""The text of a failed gate in pytest's FAILURES section: its message and the worst samples."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_rageval.engine.verdict.decide import gates_of
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.model import WEIGHTED_SCORE, GateResult, SampleResult, ScenarioResult
from pytest_rageval.text.printable import cells, cut, one_line, pad, printable, wrapped

_LONGEST_ID = 24
_FEW = 3
_LEAST_ROOM = 50
"""Cells in which an answer and a reference can be told."""


def gate_text(result: ScenarioResult, verdict: GateResult, width: int) -> str:
    """Return the message of a failed gate and its worst samples, in lines of ``width`` cells."""
    lines = printable(verdict.message).splitlines()
    said = [part for line in lines for part in wrapped(line, width) or [""]]
    return "\n".join([*said, *_worst(result, verdict, width)])


def low_line(result: ScenarioResult) -> str:
    """Return a line on the samples below the bound of a mean that passed, "" if nobody asks.

    A mean hides them, and a green run shows no sample. A threshold, or a red run, tells them apart.
    """
    is_red = result.counts.failed or result.counts.error
    if result.info.thresholds or is_red or any(one.outcome == "failed" for one in result.gates):
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
    gate = next((one for one in gates_of(result.info) if one.name == verdict.name), None)
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
