"""[F6, E10] What one process of a run has scored, the others know; also without a folder."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.verdict.certainty import Certainty, SharedCertainty
from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo

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
