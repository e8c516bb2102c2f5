"""UltraRAG's result file at ``save_path``, in the layout of UltraRAG's three tools."""

from __future__ import annotations

import json
from typing import Any

from pytest_rageval.model import MetricComparison, RunInfo, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder, write_atomically
from pytest_rageval.run_paths import of_variant


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the file that ``save_path`` names, relative to the rootdir; none without it.

    Each variant has its own: ``results.json`` becomes ``results-dense.json``.
    """
    if result.info.save_path is None:
        return
    text = json.dumps(_plain(result), ensure_ascii=False, indent=4)
    path = of_variant(folder.root / result.info.save_path, result.info.variant)
    write_atomically(path, [text, "\n"])


def _plain(result: ScenarioResult) -> dict[str, Any]:
    if not result.info.judgements_sha256:
        lists = {
            name: [sample.scores.get(name) for sample in result.samples] for name in result.metrics
        }
        return lists | {f"avg_{name}": found.mean for name, found in result.metrics.items()}
    if result.comparison is None:
        return {_trec_name(name): found.mean for name, found in result.metrics.items()}
    compared, alpha = result.comparison.metrics, result.comparison.alpha
    return {
        _trec_name(name): _two_runs(compared[name], alpha)
        for name in result.metrics
        if name in compared
    }


def _two_runs(found: MetricComparison, alpha: float) -> dict[str, Any]:
    """Return UltraRAG's keys for a metric in two runs; the p-value is not adjusted."""
    return {
        "A_mean": found.a_mean,
        "B_mean": found.b_mean,
        "diff": found.diff,
        "p_value": found.p_value,
        "significant": found.p_value is not None and found.p_value < alpha,
    }


def _trec_name(name: str) -> str:
    """Return UltraRAG's name of a metric.

    >>> _trec_name("precision@10"), _trec_name("ndcg@10")
    ('P@10', 'ndcg@10')
    """
    return f"P@{name.removeprefix('precision@')}" if name.startswith("precision@") else name


REPORTS = (Report("ultrarag.json", _write),)
