"""E19: however the samples are cut into chunks, and whichever comes back first: equal files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_workers import ScriptedWorkers

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.evaluate import evaluate_plan
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.remote import sending
from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.write_run import write_run

RUN = RunInfo("run", "a", "b", "v")
MOODS = ("", "raise", "none", "details", "high", "the river", "北京")
TEXT = """
name: s
metrics: [em, f1, rouge-l, {use: "worker_metrics:moody"}]
metric_weights: {em: 0.1, f1: 0.7, moody: 0}
doc_weights: {d1: 2.5}
thresholds: {f1: 0.3}
gates: {f1: 0.2, by: {doc_name: {f1: 0.1}}, unscored: {moody: 0.9}}
xfail: [{where: {doc_name: d3}, reason: known}]
dataset:
"""
ROWS = 23


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Return a plan of 23 rows: two skipped, two invalid, some with errors."""
    lines = []
    for at in range(ROWS):
        answer = "[a, list]" if at % 9 == 7 else repr(f"{MOODS[at % 7]} word{at % 4}")
        skip = ", skip: later" if at % 10 == 4 else ""
        row = f"id: q{at}, answer: {answer}, references: [the river, word1], doc_name: d{at % 4}"
        lines.append(f"  - {{{row}{skip}}}\n")
    path = tmp_path_factory.mktemp("engine") / "s.yaml"
    path.write_text(TEXT + "".join(lines), encoding="utf-8")
    return make_plan(path, shown="s.yaml")


@pytest.fixture(scope="module")
def expected(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return the files of a run in this process."""
    result = evaluate_plan(plan, RunSettings()).result
    counts = result.counts
    assert (counts.skipped, counts.invalid, counts.samples) == (2, 2, ROWS)
    assert {gate.outcome for gate in result.gates} == {"passed", "failed"}
    return files_of(result, tmp_path_factory.mktemp("plain"))


def files_of(result: ScenarioResult, folder: Path) -> dict[str, bytes]:
    written = write_run(result, RUN, folder, folder, ())
    return {path.name: path.read_bytes() for path in written.iterdir() if path.is_file()}


class Sizes:
    """Takes the place of what learns how large chunks are."""

    drawn: Sequence[int] = ()

    def __init__(self) -> None:
        self._left = list(Sizes.drawn)

    def next(self, left: int, _: int) -> int:
        return min(left, self._left.pop() if self._left else 3)

    def learn(self, *_: object) -> None:
        pass


@pytest.mark.full
@given(
    sizes=st.lists(st.integers(1, ROWS), max_size=ROWS),
    order=st.lists(st.integers(0, 99), max_size=ROWS),
    failing=st.frozensets(st.integers(0, ROWS)),
)
def test_files_are_equal_to_the_byte(
    plan: Plan,
    expected: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    order: list[int],
    failing: frozenset[int],
) -> None:
    """Also where any of the chunks fails at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "ChunkSize", Sizes)
        patch.setattr(Sizes, "drawn", sizes)
        workers = ScriptedWorkers(len(plan.asked_samples), order, failing)
        result = evaluate_plan(plan, RunSettings(), workers=workers).result
    assert files_of(result, tmp_path_factory.mktemp("sent")) == expected


@pytest.mark.full
@given(lost=st.frozensets(st.integers(0, ROWS), min_size=1))
def test_whatever_is_lost_no_gate_passes(plan: Plan, lost: frozenset[int]) -> None:
    """A sample is in the figures, or named among the lost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "ChunkSize", Sizes)
        patch.setattr(Sizes, "drawn", [1] * ROWS)
        workers = ScriptedWorkers(len(plan.asked_samples), lost=lost)
        result = evaluate_plan(plan, RunSettings(), workers=workers).result
    gone = sum(at < len(plan.asked_samples) for at in lost)
    assert len(result.samples) == ROWS - gone
    assert {gate.outcome for gate in result.gates} == {"failed"} or not gone
