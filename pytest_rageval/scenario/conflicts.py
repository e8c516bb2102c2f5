"""What two sections of a scenario cannot say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_rageval.errors import shorten

if TYPE_CHECKING:
    from pytest_rageval.scenario.schema import Scenario


def conflicts(scenario: Scenario) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield each conflict of two sections: the path of one, the name of the other, the message."""
    if scenario.tolerate == "pass_rate" and "pass_rate" not in scenario.gates:
        message = "tolerate: pass_rate needs the gate 'pass_rate', which then decides"
        yield ("tolerate",), "gates", message
    for other, message in _conflicts_of_stop(scenario):
        yield ("stop",), other, f"stop: {message}"
    if scenario.sample is not None:
        for other, message in _others_than_sample(scenario):
            yield ("sample",), other, f"sample: {message}"
    if scenario.answers is not None and scenario.dataset.qrels_path is not None:
        message = "answers: a second file is for rows; TREC files have 'run_path'"
        yield ("answers",), "dataset", message
    for message in _conflicts_of_runs(scenario):
        yield ("compare",), "dataset", message


def _conflicts_of_runs(scenario: Scenario) -> Iterator[str]:
    """Yield what is wrong with the runs to compare with, taken together."""
    runs = scenario.compare or []
    older = [run for run in runs if run.run_old_path]
    if older and not scenario.dataset.run_path:
        yield "compare.run_old_path needs 'qrels_path' and 'run_path'"
    if len(older) > 1:
        yield "compare: 'run_old_path' may stand once; save the other runs (--rag-save NAME)"
    named = Counter(run.name for run in runs)
    for name, times in named.items():
        if times > 1:
            yield f"compare: {shorten(name)!r} is named {times} times; keep one"


def _others_than_sample(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the section that ``sample`` cannot go with, and why."""
    if scenario.stop is not None:
        yield "stop", "asks so many rows, and 'stop' as few as decide; remove one of the two"
    if scenario.human is not None:
        message = "labels of people correct the mean of all answers, and some have none; remove"
        yield "human", f"{message} 'human' or 'sample'"


def _conflicts_of_stop(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the section that ``stop`` cannot go with, and why."""
    if scenario.stop is None:
        return
    if not scenario.gates:
        yield "gates", "needs 'gates': without any, nothing is ever decided"
    if scenario.thresholds and scenario.tolerate is None:
        message = "any sample may miss its threshold, so that each one must be asked about; "
        yield "thresholds", f"{message}write 'tolerate: pass_rate', or remove the thresholds"
    for section, what in (("doc_weights", "weigh alike"), ("group_by", "are independent")):
        if scenario.stop != "decided" and getattr(scenario, section):
            message = f"an error bound holds for samples that {what}, and there is {section!r}"
            yield section, f"{message}; write 'stop: decided'"
