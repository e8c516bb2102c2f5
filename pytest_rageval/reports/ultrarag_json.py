"""UltraRAG's result file, written where ``save_path`` says: lists and ``avg_<metric>``."""

from __future__ import annotations

import json
from typing import Any

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import RunFolder, write_atomically


class UltraragJson:
    """Writes the file that a scenario's ``save_path`` names, relative to the rootdir."""

    name = "ultrarag.json"
    aliases = ()
    on_request = False

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write nothing without ``save_path``; an unscored sample is null in the lists."""
        if result.info.save_path is None:
            return
        plain: dict[str, Any] = {}
        for name, summary in result.metrics.items():
            plain[name] = [sample.scores.get(name) for sample in result.samples]
            plain[f"avg_{name}"] = summary.mean
        text = json.dumps(plain, ensure_ascii=False, indent=4)
        write_atomically(folder.root / result.info.save_path, [text, "\n"])


REPORTS = (UltraragJson(),)
