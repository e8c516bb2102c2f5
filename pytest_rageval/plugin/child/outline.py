"""Describes the scenarios of a run once they are collected: what is measured, weighed, and asked.

Loaded with ``--collect-only``, so that no case is run and no model is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.cost import cost_of
from pytest_rageval.model import Bound, Case, InvalidRow
from pytest_rageval.plugin.child.output import end_with_parent, is_worker, write_line
from pytest_rageval.plugin.run.items import case_of

_MOST_DOCUMENTS = 1000


def pytest_configure(config: pytest.Config) -> None:
    """End with the process that asks."""
    end_with_parent(config)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write what is wrong with a scenario."""
    if report.failed:
        write_line({"event": "problem", "nodeid": report.nodeid, "text": str(report.longrepr)})


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write a line for each scenario, or for each variant of it."""
    if is_worker(session.config):
        return
    plans: dict[str, tuple[Plan, list[Case]]] = {}
    for item in session.items:
        run = case_of(item)
        if run is not None:
            plans.setdefault(run.plan.info.nodeid, (run.plan, []))[1].append(run.case)
    for plan, cases in plans.values():
        write_line({"event": "scenario", **outline(plan, cases)})


def outline(plan: Plan, cases: Iterable[Case]) -> dict[str, Any]:
    """Return what can be said of a scenario before it is run; ``docs`` counts cases by document."""
    info, cases = plan.info, list(cases)
    docs = Counter(
        case.doc_name for case in cases if not isinstance(case, InvalidRow) and case.doc_name
    )
    return {
        "name": info.name,
        "variant": info.variant,
        "description": info.description,
        "output_dir": info.output_dir,
        "samples": len(cases),
        "invalid": sum(isinstance(case, InvalidRow) for case in cases),
        "metrics": [
            {
                "name": column.name,
                "weight": column.weight,
                "higher_is_better": column.higher_is_better,
                "threshold": _ends(info.thresholds.get(column.name)),
            }
            for column in info.metrics
        ],
        "weighted_threshold": _ends(info.thresholds.get("weighted_score")),
        "gates": dict(info.gates),
        "doc_weights": dict(info.doc_weights),
        "docs": dict(docs.most_common(_MOST_DOCUMENTS)),
        "bands": list(info.bands),
        "asks": _asked(plan),
        "cost": cost_of(plan, cases),
        "warnings": list(info.warnings),
    }


def _ends(bound: Bound | None) -> dict[str, float | None] | None:
    return None if bound is None else {"min": bound.min, "max": bound.max}


def _asked(plan: Plan) -> list[str]:
    """Return what the run asks: the target, and the models by their names."""
    models = [model.model for model in (plan.models.judge, plan.models.embedding) if model]
    return [*([plan.target.shown] if plan.target is not None else []), *models]
