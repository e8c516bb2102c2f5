"""A saved run as a result again: its samples with their texts, its figures summed up anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from pytest_rageval.errors import BaselineError, Problem
from pytest_rageval.model import (
    Bound,
    ControlVerdict,
    Diagnosis,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.results.layout import read_columns, read_head
from pytest_rageval.results.saved_run import load_baseline, out_of_range, reading
from pytest_rageval.results.typed import checked
from pytest_rageval.stats.aggregate import summarize_scenario

_FIELDS: Final = frozenset(field.name for field in fields(SampleResult))


def stored_result(run: Path, name: str = "") -> ScenarioResult:
    """Return the run in a run folder or in the file of a saved run, as its variant ``name``.

    Its gates are not decided again, and there are none. Raises BaselineError if the file is
    missing, or if this version cannot read it.
    """
    file = run / "results.json" if run.is_dir() else run
    shown = str(run)
    if not file.exists():
        message = f"no saved run {name or run.stem!r}: {shown} is no run folder, and no file"
        raise BaselineError([Problem("", message)])
    saved = load_baseline(name or run.stem, file, "", (), shown)
    with reading(shown):
        head = read_head(file)
        info, complete = checked(_info(head, name)), head["complete"] is True
        samples = [checked(_sample(one, at)) for at, one in enumerate(saved.samples.values())]
        controls = _controls(head)
    odd = out_of_range(saved, info.metrics)
    if odd:
        raise BaselineError([Problem("", f"run {shown}: {odd}")])
    return replace(summarize_scenario(info, samples, complete), controls=controls)


def _info(head: Mapping[str, Any], name: str) -> ScenarioInfo:
    scenario, total = head["scenario"], int(head["counts"]["samples"])
    return ScenarioInfo(
        name=str(scenario["name"]),
        path=str(scenario["path"]),
        nodeid=str(scenario["path"]),
        metrics=read_columns(head),
        thresholds={
            metric: Bound(**ends) for metric, ends in scenario.get("thresholds", {}).items()
        },
        dataset_sha256=str(scenario.get("dataset_sha256", "")),
        measured=json_plain(scenario.get("measured", {})),
        judgements_sha256=str(scenario.get("judgements_sha256") or ""),
        group_by=head.get("groups", {}).get("field"),
        total=total,
        selected=total,
        diagnose=Diagnosis() if "causes" in head else None,
        variant=name or str(head.get("variant", "")),
    )


def _controls(head: Mapping[str, Any]) -> dict[str, ControlVerdict]:
    plain = head.get("controls") or {}  # a run of an earlier version has none
    return {name: checked(ControlVerdict.from_dict(found)) for name, found in plain.items()}


def _sample(plain: Mapping[str, Any], at: int) -> SampleResult:
    known = {key: value for key, value in plain.items() if key in _FIELDS and value is not None}
    known |= {name: json_plain(known[name]) for name in ("metadata", "details") if name in known}
    return SampleResult(**{"index": at, **known, "sample_id": plain["id"]})
