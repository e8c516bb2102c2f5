"""Which rows of a scenario are asked: ``sample``, drawn and checked against the older run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_rageval.engine.planning.bind_baselines import compared_runs, comparing_gates, saved_run
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import BaselineError, Problem, unknown_name
from pytest_rageval.gates.base import GateOptionError, each_gate
from pytest_rageval.model import (
    NOT_DRAWN,
    Baseline,
    Case,
    Sample,
    Sampling,
    answer_digest,
    value_text,
)
from pytest_rageval.stats.estimates import drawn_rows
from pytest_rageval.stats.weights import field_value

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.results.saved_run import SavedRun


def bind_sample(binding: Binding, plan: Plan) -> Plan:
    """Return the plan in which only the drawn rows are asked; the others are skipped.

    What is in the way is a problem, or a refusal where it is the older run.
    """
    spec = binding.scenario.sample
    assert spec is not None
    rows = [case for case in plan.cases if isinstance(case, Sample) and case.skip is None]
    if spec.n >= len(rows):
        binding.remarks.append(f"sample: all {len(rows)} rows are asked, there are no more")
        return plan
    _refuse_others(binding, plan)
    older = _older_run(binding, plan)
    if older is None or binding.problems or binding.refusals:
        return plan
    saved, baseline = older
    changed = None if plan.target else _changed(rows, saved)
    certain = frozenset(row.id for row in rows if _is_unknown(row.id, plan, baseline))
    try:
        drawn = drawn_rows(
            [row.id for row in rows],
            spec.n,
            spec.seed,
            groups=_groups(plan, rows),
            changed=changed or (),
            whole=certain,
        )
    except ValueError as error:
        binding.problem(f"sample.n: {error}", "sample", "n")
        return plan
    sampling = Sampling(spec.n, spec.seed, baseline.name, len(rows), drawn, certain, changed)
    info = replace(plan.info, sample=sampling)
    return replace(plan, info=info, cases=_with_skipped(plan.cases, drawn))


def refuse_sample(binding: Binding, plan: Plan) -> Plan:
    """Return the plan of a test function, which cannot have a sample, with that problem."""
    message = "sample: a test function asks every row; run the scenario file itself, or remove it"
    binding.problem(message, "sample")
    return plan


def _refuse_others(binding: Binding, plan: Plan) -> None:
    """Note what a sample cannot go with, and the sections of a scenario do not show."""
    if binding.loaded.variants:
        message = "sample: variants are compared over the rows that all of them scored; remove one"
        binding.problem(f"{message} of 'sample' and 'variants'", "sample")
    for made in each_gate(plan.info.gates, plan.info):
        for gate in () if isinstance(made, GateOptionError) else made:
            if why := gate.not_of_samples:
                binding.problem(f"gates: {gate.name} {why}", "sample")


def _older_run(binding: Binding, plan: Plan) -> tuple[SavedRun, Baseline] | None:
    """Return the run whose scores stand for the rows that are not asked."""
    spec = binding.scenario.sample
    assert spec is not None
    runs = {run.name: (path, run) for path, run in compared_runs(binding) if run.baseline}
    save = "pytest --rag-save main, without 'sample'"
    if not runs:
        message = "sample: needs a complete saved run, whose scores stand for the other rows: save "
        message += f"one ({save}), and compare with it (compare: main, or --rag-compare main)"
        binding.refusals.append(Problem(binding.loaded.where("sample"), message))
        return None
    name = spec.against or next(iter(runs))
    if name not in runs:
        message = f"sample.against: {unknown_name('run under compare', name, list(runs))}"
        binding.problem(message, "sample", "against")
        return None
    path, run = runs[name]
    baseline = plan.info.baselines.get(name)
    if baseline is None:  # why is said already, unless the run is about to be saved
        if not binding.refusals:
            _refuse(binding, f"there is no run {name!r} yet; save one: {save}")
        return None
    try:
        saved = saved_run(binding, name, (*path, "baseline"))
    except BaselineError as error:  # it was read before: somebody has just changed it
        binding.refusals += error.problems
        return None
    gates = [gate for gate in comparing_gates(plan.info) if gate.run == name]
    anyway = run.anyway or any(gate.anyway for gate in gates)
    if why := _unfit(saved, baseline, plan, anyway=anyway):
        _refuse(binding, f"{name!r} {why}")
        return None
    return saved, baseline


def _refuse(binding: Binding, message: str) -> None:
    place = binding.loaded.where("sample", "against")
    binding.refusals.append(Problem(place, f"sample: {message}"))


def _unfit(saved: SavedRun, baseline: Baseline, plan: Plan, *, anyway: bool) -> str:
    """Return why the scores of a saved run cannot stand for those of rows, "" if they can."""
    if anyway:
        return "is compared 'anyway': its scores may mean something else; remove 'anyway'"
    if not saved.head.complete:
        counts = saved.head.counts
        return f"is not complete: {counts.ran} of {counts.samples} samples ran; save it again"
    lacking = [column.name for column in plan.info.metrics if column.name not in baseline.scores]
    if lacking:
        return f"has no {', '.join(lacking)}; save it again"
    return ""


def _changed(rows: Sequence[Sample], saved: SavedRun) -> frozenset[str] | None:
    """Return the rows with another answer than in the older run; None if one has none to compare.

    A row that the older run does not know is not among them.
    """
    if any(row.answer is None and row.contexts is None for row in rows):
        return None
    known = {row.id: saved.samples[row.id] for row in rows if row.id in saved.samples}
    return frozenset(
        row.id
        for row in rows
        if row.id in known
        and answer_digest(row.answer, row.contexts)
        != answer_digest(known[row.id].answer, known[row.id].contexts)
    )


def _is_unknown(row: str, plan: Plan, baseline: Baseline) -> bool:
    """Return whether the older run has no score for a row, where it should have one."""
    failed = any(row in baseline.failed.get(column.name, ()) for column in plan.info.metrics)
    known = any(
        baseline.scores.get(column.name, {}).get(row) is not None for column in plan.info.metrics
    )
    return failed or not known


def _groups(plan: Plan, rows: Sequence[Sample]) -> Mapping[str, str]:
    name = plan.info.group_by
    if name is None:
        return {}
    values = {row.id: field_value(row, name) for row in rows}
    return {row: value_text(value) for row, value in values.items() if value is not None}


def _with_skipped(cases: Sequence[Case], drawn: frozenset[str]) -> list[Case]:
    return [
        replace(case, skip=NOT_DRAWN)
        if isinstance(case, Sample) and case.skip is None and case.id not in drawn
        else case
        for case in cases
    ]
