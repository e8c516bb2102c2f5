"""The facts of a run that vary between equal runs: its id, its times, its commit."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime

from pytest_rageval import __version__
from pytest_rageval.model import RunInfo, ScenarioResult

_COMMIT_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA")
_RUN_VARIABLES = ("GITHUB_RUN_ID", "CI_PIPELINE_ID")
_ATTEMPT_VARIABLE = "GITHUB_RUN_ATTEMPT"
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")


def run_info(
    result: ScenarioResult,
    started: datetime,
    finished: datetime,
    *,
    workers: int = 0,
    usage: Mapping[str, float | None] | None = None,
) -> RunInfo:
    """Return the facts of a run that began and ended at these times (UTC)."""
    return RunInfo(
        id=run_id(started),
        started_at=started.isoformat(),
        finished_at=finished.isoformat(),
        version=__version__,
        workers=workers,
        usage=usage,
        latency_s={sample.sample_id: round(sample.latency_s, 6) for sample in result.samples},
        commit=ci_commit(),
        answer_latency_s=_answer_latencies(result),
    )


def run_id(started: datetime) -> str:
    """Return the id of a run that started at ``started`` (UTC): ``20261121T093011-123456``."""
    return started.strftime("%Y%m%dT%H%M%S-%f")


def ci_commit(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the commit that GitHub or GitLab sets in the environment, else None."""
    for variable in _COMMIT_VARIABLES:
        commit = environ.get(variable, "")
        if _COMMIT.fullmatch(commit):
            return commit.lower()
    return None


def ci_run(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the run of all jobs that GitHub or GitLab names in the environment, else None."""
    found = (environ.get(variable, "") for variable in _RUN_VARIABLES)
    return next((one for one in found if one), None)


def ci_attempt(environ: Mapping[str, str] = os.environ) -> int:
    """Return which attempt of the run of all jobs this is, where GitHub counts them, else 0."""
    said = environ.get(_ATTEMPT_VARIABLE, "")
    return int(said) if said.isascii() and said.isdigit() else 0


def _answer_latencies(result: ScenarioResult) -> dict[str, float] | None:
    """Return how long the target took for each sample, None without a target."""
    if not result.info.target:
        return None
    return {
        sample.sample_id: round(sample.answer_latency_s, 6)
        for sample in result.samples
        if sample.answer_latency_s is not None
    }
