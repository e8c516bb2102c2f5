"""Whether the verdict of every gate is certain before all samples were asked about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_rageval.clients.jsonl_log import read_bytes
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan, in_random_order
from pytest_rageval.engine.scoring.score_sample import invalid_result
from pytest_rageval.gates.base import AnySample, Gate, Watch, metrics_behind
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import (
    PASSING,
    InvalidRow,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.verdict import passing_of
from pytest_rageval.text.codec import from_json, to_json


class Certainty:
    """Follows the samples of a scenario while they are scored.

    ``asked`` are all samples that are to be asked about. At an error bound they count in their
    random order only, however soon each of them is scored: fast ones may be better ones.
    """

    def __init__(
        self, info: ScenarioInfo, gates: Iterable[Gate], asked: Sequence[AnySample]
    ) -> None:
        self._info = info
        self._watches: dict[str, Watch | None] = {}
        for gate in gates:
            # Dots in names of runs and metrics can give two gates one name: then nothing is early.
            is_alike = gate.name in self._watches
            self._watches[gate.name] = None if is_alike else watch_of(gate, info, asked)
        self._order = [one.index for one in in_random_order(info, asked)] if info.stop else None
        self._scored: dict[int, SampleResult] = {}
        self._counted = 0
        self._may_fail = False

    @property
    def is_reached(self) -> bool:
        """Whether every gate is certain, and no sample can fail by itself."""
        watches = self._watches.values()
        return not self._may_fail and all(
            watch is not None and watch.is_certain for watch in watches
        )

    @property
    def verdicts(self) -> dict[str, bool]:
        """Whether each gate that waits for scores passes, by its name, where that is certain."""
        return {
            name: watch.verdict
            for name, watch in self._watches.items()
            if watch is not None and watch.verdict is not None
        }

    def add(self, sample: SampleResult) -> None:
        """Note a sample that was scored, or an invalid row; each counts once."""
        if sample.index in self._scored:
            return
        self._scored[sample.index] = sample
        if self._order is None or sample.invalid is not None:
            self._count(sample)
            return
        while self._counted < len(self._order) and self._order[self._counted] in self._scored:
            self._count(self._scored[self._order[self._counted]])
            self._counted += 1

    def _count(self, sample: SampleResult) -> None:
        for watch in self._watches.values():
            if watch is not None:
                watch.add(sample)
        # A metric that passes or fails samples itself may fail one that is not asked about.
        decides = any(passing_of(sample, name) is not None for name in sample.scores)
        self._may_fail |= decides and not self._info.tolerates_shortfalls


def certainty_of(plan: Plan) -> Certainty | None:
    """Return what follows the samples of a plan; None if it is not to stop, or lacks some rows.

    Invalid rows are known before anything is asked.
    """
    if plan.info.stop is None or plan.info.total != len(plan.cases):
        return None
    found = Certainty(plan.info, gates_of(plan.info), plan.asked_samples)
    for case in plan.cases:
        if isinstance(case, InvalidRow) and case.skip is None and plan.on_invalid == "fail":
            found.add(invalid_result(plan, case))
    return found


def watch_of(gate: Gate, info: ScenarioInfo, asked: Sequence[AnySample]) -> Watch | None:
    """Return what knows when a gate is certain; None for one that needs every sample."""
    if any(column.filled for column in info.metrics):
        # Not at the top: most scenarios have no holes filled.
        from pytest_rageval.stats.filled import reached_by_fill

        if not reached_by_fill(info).isdisjoint(metrics_behind(gate, info)):
            return None  # how the judge agrees with people is known at the end
    return gate.watch(info, asked, info.stop or 0.0)


def certain_verdicts(result: ScenarioResult, gates: Iterable[Gate]) -> dict[str, bool]:
    """Return the verdicts for which a run stopped at an error bound, by gate; {} for other runs.

    What was asked besides, by other processes or because it was on its way, does not change them.
    """
    if not result.info.stop or not result.counts.not_asked:
        return {}
    ran = [one for one in result.samples if one.invalid is None and one.outcome != "skipped"]
    left_out = [one for one in result.samples if one.is_left_out]
    found = Certainty(result.info, gates, [*ran, *left_out])
    for sample in ran:
        found.add(sample)
    return found.verdicts


_ERROR_WIDTH = 40


class SharedCertainty:
    """Follows a scenario's samples; each process adds its own to a file, and reads the others'.

    If the file cannot be written, this process and the others see no more samples of each other.
    """

    def __init__(self, certainty: Certainty, nodeid: str, run: RunSettings) -> None:
        self._certainty = certainty
        self._file: Path | None = None
        self._read = 0
        if run.processes > 1 and run.shared_dir is not None:
            name = hashlib.sha256(nodeid.encode()).hexdigest()[:16]
            self._file = run.shared_dir / f"scored-{name}"

    @property
    def is_reached(self) -> bool:
        """Whether nothing more needs to be asked."""
        if self._file is not None:
            raw = read_bytes(self._file, self._read)
            whole = raw[: raw.rfind(b"\n") + 1]
            self._read += len(whole)
            for line in whole.splitlines():
                self._certainty.add(from_json(line, SampleResult))
        return self._certainty.is_reached

    def add(self, sample: SampleResult) -> None:
        """Note a sample that this process has scored."""
        self._certainty.add(sample)
        if self._file is None:
            return
        line = to_json(_figures(sample))
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab", buffering=0) as file:
                file.write(f"{line}\n".encode())  # in one piece, between those of others
        except OSError:
            self._file = None


def _figures(sample: SampleResult) -> SampleResult:
    """Return what gates look at that are certain early."""
    said = {name: passing_of(sample, name) for name in sample.details}
    return SampleResult(
        sample.sample_id,
        sample.index,
        sample_weight=sample.sample_weight,
        weighted_score=sample.weighted_score,
        scores=sample.scores,
        details={name: {PASSING: one} for name, one in said.items() if one is not None},
        errors={name: error[:_ERROR_WIDTH] for name, error in sample.errors.items()},
        left_out=sample.left_out,
    )
