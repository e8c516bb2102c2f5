"""``metadata.json`` and ``scenario.snapshot.yaml``: what ran, when, and as which scenario."""

from __future__ import annotations

import json

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import RunFolder


class MetadataJson:
    """Writes ``metadata.json``: the run in a few keys, for tools that list runs."""

    name = "metadata.json"
    aliases = ()
    on_request = False

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        counts = result.counts
        plain = {
            "run_id": run.id,
            "scenario_name": result.info.name,
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
        folder.put(self.name, [json.dumps(plain, ensure_ascii=False, indent=2), "\n"])


class Snapshot:
    """Writes ``scenario.snapshot.yaml``: the scenario as it ran, after overrides."""

    name = "scenario.snapshot.yaml"
    aliases = ()
    on_request = False

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        overridden = [f"# overridden: {path}\n" for path in result.info.overridden]
        folder.put(self.name, [*overridden, result.info.snapshot])


REPORTS = (MetadataJson(), Snapshot())
