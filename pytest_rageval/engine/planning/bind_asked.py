"""Which rows are asked: ``sample`` draws them, ``stop`` asks no more once verdicts are certain."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_rageval.engine.planning.bind_baselines import compared_runs, comparing_gates, saved_run
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.verdict.certainty import watch_of
from pytest_rageval.errors import BaselineError, Problem, unknown_name
from pytest_rageval.gates.base import Gate, GateOptionError, UndecidedGate, each_gate
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import (
    BEST,
    NOT_DRAWN,
    NOTHING,
    Baseline,
    Case,
    Sample,
    Sampling,
    ScenarioInfo,
    answer_digest,
    value_text,
)
from pytest_rageval.stats.estimates import LEAST_ASKED, LEAST_IN_CLASS
from pytest_rageval.stats.weights import field_value

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.results.saved_run import SavedRun


def bind_row_draw(binding: Binding, plan: Plan) -> Plan:
    """Return the plan in which only the drawn rows are asked; the others are skipped.

    The same plan where all rows are asked, or something is in the way: that is noted, as a refusal
    if the older run is missing or unfit, else as a problem.
    """
    spec = binding.scenario.sample
    assert spec is not None
    rows = [case for case in plan.cases if isinstance(case, Sample) and case.skip is None]
    if spec.n >= len(rows):
        binding.remarks.append(f"sample: all {len(rows)} rows are asked, there are no more")
        return plan
    _note_conflicts(binding, plan)
    older = _older_run(binding, plan)
    if older is None or binding.problems or binding.refusals:
        return plan
    saved, baseline = older
    changed = None if plan.target else _changed(rows, saved)
    unscored_before = frozenset(row.id for row in rows if _lacks_a_score(row.id, plan, baseline))
    try:
        drawn = drawn_rows(
            [row.id for row in rows],
            spec.n,
            spec.seed,
            groups=_groups(plan, rows),
            changed=changed or (),
            unscored_before=unscored_before,
        )
    except ValueError as error:
        binding.problem(f"sample.n: {error}", "sample", "n")
        return plan
    sampling = Sampling(
        spec.n, spec.seed, baseline.name, len(rows), drawn, unscored_before, changed
    )
    info = replace(plan.info, sample=sampling)
    return replace(plan, info=info, cases=_with_skipped(plan.cases, drawn))


def refuse_row_draw(binding: Binding, plan: Plan) -> Plan:
    """Note that a test function cannot have the section ``sample``; return its plan unchanged."""
    message = "sample: a test function asks every row; run the scenario file itself, or remove "
    binding.problem(f"{message}'sample'", "sample")
    return plan


def _note_conflicts(binding: Binding, plan: Plan) -> None:
    """Note variants and gates that ``sample`` cannot go with."""
    if binding.loaded.variants:
        message = "sample: variants are compared over the rows that all of them scored; remove one"
        binding.problem(f"{message} of 'sample' and 'variants'", "sample")
    for made in each_gate(plan.info.gates, plan.info):
        for gate in () if isinstance(made, GateOptionError) else made:
            if why := gate.not_of_samples:
                binding.problem(f"gates: {gate.name} {why}", "sample")


def _older_run(binding: Binding, plan: Plan) -> tuple[SavedRun, Baseline] | None:
    """Return the run whose scores stand for the rows not asked; None, with a note, if none can."""
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
    if baseline is None:  # a refusal says why, unless this run is about to be saved by that name
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
    """Return the rows whose answer or contexts are not those of the older run.

    A row that the older run does not know is not among them. None if a row has neither yet.
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


def _lacks_a_score(row: str, plan: Plan, baseline: Baseline) -> bool:
    """Return whether a metric failed on the row in the older run, or none scored it."""
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


def drawn_rows(
    ids: Collection[str],
    n: int,
    seed: int,
    *,
    groups: Mapping[str, str] = NOTHING,
    changed: Collection[str] = (),
    unscored_before: Collection[str] = (),
) -> frozenset[str]:
    """Return the ids of the ``n`` rows to ask, drawn without replacement, whatever their order.

    Rows of one value in ``groups`` are drawn together: as many groups as have ``n`` rows on
    average. Rows that were ``unscored_before``, with their groups, are all drawn and are among the
    ``n``. Of the others, ``changed`` and unchanged ones have their share each, but LEAST_IN_CLASS
    at least. If there are no more than ``n`` rows, all are returned. Raises ValueError where ``n``
    is too small.

    >>> sorted(drawn_rows("abcdefghijkl", 10, seed=7))
    ['a', 'b', 'c', 'd', 'e', 'g', 'i', 'j', 'k', 'l']
    """
    if n >= len(ids):
        return frozenset(ids)
    units: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name in ids:
        units[("group", groups[name]) if name in groups else ("row", name)].append(name)
    unscored_before, changed_ids = frozenset(unscored_before), frozenset(changed)
    has_unscored = {key: not unscored_before.isdisjoint(names) for key, names in units.items()}
    by_changed: defaultdict[bool, list[tuple[str, str]]] = defaultdict(list)
    for key, names in units.items():
        if not has_unscored[key]:
            by_changed[not changed_ids.isdisjoint(names)].append(key)
    drawn = [key for key in units if has_unscored[key]]
    n_unscored = sum(len(units[key]) for key in drawn)
    count = round((n - n_unscored) * (len(units) - len(drawn)) / max(len(ids) - n_unscored, 1))
    least = sum(min(LEAST_IN_CLASS, len(keys)) for keys in by_changed.values())
    if n < n_unscored or count < least or n < LEAST_ASKED:
        rows = math.ceil(least * (len(ids) - n_unscored) / max(len(units) - len(drawn), 1))
        others = max(rows, LEAST_ASKED - n_unscored)
        raise ValueError(_too_small(n, n_unscored, others, in_groups=len(units) < len(ids)))
    sizes = {is_changed: len(by_changed[is_changed]) for is_changed in sorted(by_changed)}
    for is_changed, size in _allocated(sizes, count).items():
        drawn += sorted(by_changed[is_changed], key=lambda key: _draw_key(seed, *key))[:size]
    return frozenset(name for key in drawn for name in units[key])


def _too_small(n: int, n_unscored: int, others: int, *, in_groups: bool) -> str:
    whole = ", with their groups" if in_groups else ""
    unscored = f"{n_unscored} without an older score of each metric{whole}" if n_unscored else ""
    drawn = f"{'about ' if in_groups else ''}{others} others{'' if in_groups else ' at least'}"
    takes = ", and ".join(filter(None, (unscored, drawn if others > 0 else "")))
    return f"a sample of {n} rows is too small: it takes {takes}"


def _draw_key(seed: int, kind: str, name: str) -> bytes:
    """Return what a unit is sorted by: the first ones are drawn, whatever order the rows have."""
    return hashlib.sha256(f"{seed}\n{kind}\n{name}".encode()).digest()


def _allocated(sizes: Mapping[bool, int], count: int) -> dict[bool, int]:
    """Return how many of ``count`` units to draw in each part, in proportion to its size.

    LEAST_IN_CLASS at least, or all of a smaller part.
    """
    found = {part: min(LEAST_IN_CLASS, size) for part, size in sizes.items()}
    for _ in range(count - sum(found.values())):
        owed = {
            part: size * count - found[part] * sum(sizes.values()) for part, size in sizes.items()
        }
        found[max(sorted(owed), key=owed.__getitem__)] += 1
    return found


def bind_stop(binding: Binding, plan: Plan, *, is_tested: bool) -> float | None:
    """Return the probability of a wrong verdict to stop at, 0.0 for ``decided``; None for never.

    Notes a problem or a remark where a scenario with ``stop`` and gates never stops early.
    ``is_tested``: a test function asks.
    """
    stop = binding.scenario.stop
    if stop is None or not plan.info.gates or binding.problems or binding.refusals:
        return None
    error = 0.0 if stop == "decided" else float(stop)
    info = replace(plan.info, stop=error)
    gates = {gate.name: gate for gate in gates_of(info)}
    watches = {name: watch_of(gate, info, plan.asked_samples) for name, gate in gates.items()}
    any_waits = any(watch is not None and watch.follows_scores for watch in watches.values())
    need_all = [name for name, watch in watches.items() if watch is None] + _best_gate(plan.info)
    # A gate without a saved run to compare with is no mistake: only until one is saved does it
    # need every sample.
    never_early = [name for name in need_all if not _is_undecided(gates.get(name))]
    if never_early and error:
        binding.problem(f"stop: {_why_no_bound(never_early, gates)}", "stop")
    elif not need_all and not any_waits:
        binding.problem(f"stop: {_NOTHING_WAITS}", "stop")
    elif remark := _why_never(plan, need_all, is_tested=is_tested):
        binding.remarks.append(f"stop: {remark}")
    else:
        return error
    return None


_NOTHING_WAITS = (
    "needs a gate on a mean, pass_rate, or no_regression: the others do not wait for scores"
)


def _why_no_bound(names: Sequence[str], gates: Mapping[str, Gate]) -> str:
    reasons = " and ".join(_reasons(names, gates))
    return (
        "an error bound is for gates on means and pass_rate, and for no_regression in mode any or "
        f"exceeds, and {reasons}; write 'stop: decided', or remove it"
    )


def _why_never(plan: Plan, need_all: Sequence[str], *, is_tested: bool) -> str:
    """Return why ``stop`` has no effect: who needs every sample, or that nobody asks; else ""."""
    if need_all:
        return f"nothing stops early: gate {_listed(need_all)} needs every sample"
    if is_tested:
        return "nothing stops early: a test function does the asking"
    return "" if plan.is_asked else "has no effect: no model and no target is asked"


def _best_gate(info: ScenarioInfo) -> list[str]:
    """Return the gate that compares this variant with others, if there is one."""
    return [BEST] if info.contest is not None and info.contest.at_least is not None else []


def _is_undecided(gate: Gate | None) -> bool:
    return gate is not None and isinstance(gate.leaf, UndecidedGate)


def _reasons(names: Sequence[str], gates: Mapping[str, Gate]) -> Iterator[str]:
    """Yield which gates an error bound is not for, with the reason where the name does not tell."""
    by_people = [name for name in names if name in gates and gates[name].leaf.by_labels]
    others = [name for name in names if name not in by_people]
    if others:
        yield f"there is {_listed(others)}"
    if by_people:
        verb = "is" if len(by_people) == 1 else "are"
        yield f"{_listed(by_people)} {verb} judged by labels, which needs every sample"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
