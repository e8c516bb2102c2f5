"""[F6, E10] What one process of a run has scored, the others know; also without a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.verdict.certainty import Certainty, SharedCertainty
from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import Bound, MetricColumn, SampleResult, ScenarioInfo

INFO = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),), gates={"f1": 0.5}, stop=0.0)


def scored(at: int, **fields: object) -> SampleResult:
    scores = {"f1": 1.0}
    return SampleResult(f"s{at}", at, weighted_score=1.0, scores=scores, **fields)  # type: ignore[arg-type]


def shared(folder: Path, processes: int = 2) -> SharedCertainty:
    """Return what one process knows of four samples, of which two ones are enough."""
    run = RunSettings(shared_dir=folder, processes=processes)
    made = Certainty(INFO, make_gates(INFO.gates, INFO), [scored(at) for at in range(4)])
    return SharedCertainty(made, "s.yaml", run)


def test_processes_know_what_the_others_scored(tmp_path: Path) -> None:
    """Half a line, of a process that is writing, waits for its other half."""
    one, other = shared(tmp_path / "run"), shared(tmp_path / "run")
    one.add(scored(0, contexts=["very long"], errors={"em": "\ud800"}))
    assert (one.is_reached, other.is_reached) == (False, False)
    (file,) = (tmp_path / "run").iterdir()
    assert "very long" not in file.read_text("ascii")
    other.add(scored(1))
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    assert (one.is_reached, other.is_reached) == (False, True)
    file.write_bytes(whole)
    assert one.is_reached


def test_a_sample_that_its_metric_lets_pass_is_passed_on(tmp_path: Path) -> None:
    """All samples are needed then."""
    one, other = shared(tmp_path), shared(tmp_path)
    one.add(scored(0, details={"f1": {"passing": True}}))
    other.add(scored(1))
    assert not other.is_reached


def test_a_run_of_one_process_writes_nothing(tmp_path: Path) -> None:
    alone = shared(tmp_path / "run", processes=1)
    for at in range(2):
        alone.add(scored(at))
    assert alone.is_reached
    assert not (tmp_path / "run").exists()


def test_without_a_folder_each_process_knows_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    alone = shared(tmp_path / "file")
    for at in range(2):
        alone.add(scored(at))
    assert alone.is_reached


SOME = {"em": 1.0, "must_include": None}
ROW, ANSWER = {"must_include": "row"}, {"must_include": "answer"}
MET = {"scores": SOME, "left_out": ROW}
MISSED = {"scores": {"em": 0.0, "must_include": None}, "left_out": ROW}
BOTH = {"scores": {"em": 1.0, "must_include": 1.0}}
NEITHER = {"scores": {"em": 0.0, "must_include": 0.0}}
WORST = {"scores": {"em": 1.0, "must_include": 0.0}, "left_out": ANSWER}
UNKNOWN = {"scores": SOME, "left_out": ANSWER}
FAILED = {"scores": SOME, "errors": {"must_include": "HTTP 503"}}
HALF, FEW = {"pass_rate": 0.5}, {"pass_rate": 0.2, "unscored": {"must_include": 0.05}}


@pytest.mark.parametrize(
    ("gates", "others", "is_reached"),
    [
        (HALF, [BOTH, BOTH, BOTH], True),  # 3 of 5 at least
        (HALF, [NEITHER, NEITHER, NEITHER], True),  # 2 of 5 at most
        (HALF, [BOTH, NEITHER, NEITHER], False),
        (HALF, [WORST, WORST, WORST], True),  # a threshold missed because of the answer
        (HALF, [WORST, BOTH, WORST], False),
        (HALF, [UNKNOWN, BOTH, BOTH], True),  # 2 of 4 at least: the first counts nowhere
        (HALF, [FAILED, BOTH, BOTH], False),  # run again, it may have a score: 2 of 5
        (FEW, [BOTH, BOTH], True),
        (FEW, [BOTH, BOTH, UNKNOWN], False),  # missing in 1 of 3
        (FEW, [BOTH, BOTH, FAILED], False),
        (HALF, [MET, MET, MET], True),
        (HALF, [MET, MISSED, MISSED], False),  # 1 to 3 of 5
        (HALF, [MET, MET, MISSED, MISSED], False),  # 2 or 3 of 5
        (FEW, [BOTH, MET, MET], True),  # no score that was to be had is missing
    ],
)
def test_of_a_row_that_rules_a_metric_out_the_others_know_as_much(
    tmp_path: Path, gates: dict[str, object], others: list[dict[str, Any]], is_reached: bool
) -> None:
    """Of five samples the others have scored some; a process alone would know the same."""
    columns = (MetricColumn("em"), MetricColumn("must_include"))
    least = {"em": Bound(min=0.5), "must_include": Bound(min=1.0)}
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, gates=gates, thresholds=least, stop=0.0)
    info = replace(info, tolerates_shortfalls=True)
    samples = [SampleResult(f"s{at}", at, weighted_score=1.0) for at in range(5)]
    known = []
    for processes in (1, 2):
        run = RunSettings(shared_dir=tmp_path, processes=processes)
        made = [Certainty(info, make_gates(gates, info), samples) for _ in range(2)]
        one, other = (SharedCertainty(certainty, "s.yaml", run) for certainty in made)
        for sample, fields in zip(samples, others, strict=False):
            one.add(replace(sample, **fields))
        known.append((one if processes == 1 else other).is_reached)
    assert known == [is_reached, is_reached]
