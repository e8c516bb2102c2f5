"""What programs read of a run: ``results.json``, ``metadata.json``, ``scenario.snapshot.yaml``."""

from __future__ import annotations

import json

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.results.layout import results_chunks


def _write_results(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the whole result, for programs and for later comparisons."""
    folder.put("results.json", results_chunks(result, run))


def _write_metadata(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the run in a few keys, for tools that list runs."""
    counts = result.counts
    plain = {
        "run_id": run.id,
        "scenario_name": result.info.name,
        **({"variant": result.info.variant} if result.info.variant else {}),
        "description": result.info.description,
        "scenario_path": result.info.path,
        "mode": "online" if result.info.target else "offline",
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "version": run.version,
        "commit": run.commit,
        "dataset_sha256": result.info.dataset_sha256,
        "complete": result.complete,
        "valid_samples": counts.ran - counts.invalid,
        "invalid_samples": counts.invalid,
        "overridden": list(result.info.overridden),
        "warnings": list(result.info.warnings),
    }
    folder.put("metadata.json", [json.dumps(plain, ensure_ascii=False, indent=2), "\n"])


def _write_snapshot(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the scenario as it ran, after overrides."""
    overridden = [f"# overridden: {path}\n" for path in result.info.overridden]
    folder.put("scenario.snapshot.yaml", [*overridden, result.info.snapshot])


REPORTS = (
    Report("results.json", _write_results, aliases=("json",)),
    Report("metadata.json", _write_metadata),
    Report("scenario.snapshot.yaml", _write_snapshot),
)
