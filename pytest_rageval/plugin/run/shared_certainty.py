"""Whether the verdict of a scenario is certain, from what all processes of a run have scored."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pytest_rageval.clients.jsonl_log import read_bytes
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.verdict.certainty import Certainty
from pytest_rageval.model import PASSING, SampleResult
from pytest_rageval.stats.verdict import passing_of
from pytest_rageval.text.codec import from_json, to_json

_ERROR_WIDTH = 40


class SharedCertainty:
    """Follows a scenario's samples; each process adds its own to a file, and reads the others'.

    If the file cannot be written, the others know nothing of these samples, and stop later.
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
    )
