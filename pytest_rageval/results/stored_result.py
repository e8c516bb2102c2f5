"""A saved run as a result again: its samples with their texts, its figures summed up anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pytest_rageval.errors import BaselineError, Problem
from pytest_rageval.model import NOTHING, Diagnosis, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.model.scenario import title_of
from pytest_rageval.results.layout import SavedHead
from pytest_rageval.results.saved_run import SavedRun, load_baseline, out_of_range
from pytest_rageval.stats.summary import summarize_scenario


def stored_result(run: Path, name: str = "") -> ScenarioResult:
    """Return the run in a run folder or in the file of a saved run, as its variant ``name``.

    Without ``name`` it is the variant as which it ran. Its gates are those of the file, which are
    not decided again. Raises BaselineError if the file is missing, if this version cannot read it,
    or for a score outside its metric's range.
    """
    file = run / "results.json" if run.is_dir() else run
    called, shown = name or run.name.removesuffix(".json"), str(run)
    if not file.exists():
        message = f"no saved run {called!r}: {shown} is no run folder, and no file"
        raise BaselineError([Problem("", message)])
    saved = load_baseline(called, file, where="", known=(), shown=shown)
    info = stored_info(saved.head, name)
    if odd := out_of_range(saved, info.metrics):
        raise BaselineError([Problem("", f"run {shown}: {odd}")])
    result = summarize_scenario(info, stored_samples(saved), saved.head.complete)
    head = saved.head
    return replace(result, gates=head.gates, controls=head.controls, estimates=head.estimates)


def stored_samples(saved: SavedRun) -> list[SampleResult]:
    """Return the samples of a saved run.

    All that the file says of an invalid row is its error ``row``; a metric of that name would have
    a score besides.
    """
    return [
        replace(one, invalid=one.errors["row"])
        if "row" in one.errors and "row" not in one.scores
        else one
        for one in saved.samples.values()
    ]


def stored_info(head: SavedHead, variant: str = "") -> ScenarioInfo:
    """Return what a saved run says of its scenario, as ``variant`` if that is given."""
    scenario, total = head.scenario, head.counts.samples
    return ScenarioInfo(
        name=scenario.name,
        path=scenario.path,
        nodeid=scenario.test or title_of(scenario.path, variant or head.variant),
        metrics=head.columns,
        thresholds=scenario.thresholds,
        dataset_sha256=scenario.dataset_sha256,
        measured=scenario.measured,
        judgements_sha256=scenario.judgements_sha256,
        group_by=None if head.groups is None else head.groups.field,
        total=total,
        selected=total,
        diagnose=None if head.causes is None else Diagnosis(),
        variant=variant or head.variant,
        sample=head.sample,
        made=head.made,
        doc_weights=scenario.doc_weights or NOTHING,
        bands=scenario.bands,
    )
