"""``results.json``: the whole result, for programs and for later comparisons."""

from __future__ import annotations

from pytest_rageval.model import RunInfo, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.results.layout import results_chunks


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put("results.json", results_chunks(result, run))


REPORTS = (Report("results.json", _write, aliases=("json",)),)
