"""The runs that a scenario is compared with: found, read, and checked to be comparable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from pytest_rageval.engine.planning import fields_read
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.planning.snapshot import hashes_in
from pytest_rageval.engine.scoring.row_digests import (
    fields_judged_by,
    in_place_of_ids,
    judges_otherwise,
    reference_digests,
)
from pytest_rageval.engine.scoring.score_sample import score_case, weigh_scores
from pytest_rageval.errors import BaselineError, Problem, ScenarioError, shorten
from pytest_rageval.gates.base import GateOptionError, UndecidedGate, each_gate
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Case,
    Sample,
    ScenarioInfo,
    answer_digest,
)
from pytest_rageval.run_paths import is_path
from pytest_rageval.scenario.schema import CompareSpec
from pytest_rageval.scenario.yaml.tree import YamlPath
from pytest_rageval.stats.weights import resolve_weight

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.results.saved_run import SavedRun


def compared_runs(binding: Binding) -> Iterator[tuple[YamlPath, CompareSpec]]:
    """Yield each entry of ``compare`` with the path at which it stands."""
    several = isinstance(binding.loaded.tree.data.get("compare"), list)
    for at, spec in enumerate(binding.scenario.compare or ()):
        yield ("compare", at) if several else ("compare",), spec


def bind_baselines(binding: Binding, plan: Plan) -> dict[str, Baseline]:
    """Return every run that ``compare`` or a gate names, by that name; refused ones are noted."""
    found: dict[str, Baseline] = {}
    has_run = binding.scenario.dataset.run_path is not None  # else that is reported already
    for path, spec in compared_runs(binding):
        if spec.run_old_path is not None and has_run:
            older = _older_run(binding, plan, spec.run_old_path, path)
            if older is not None:
                found[spec.run_old_path] = older
    refused: list[tuple[_Use, BaselineError]] = []
    uses = _uses(binding, plan.info)
    _refuse_second_names(binding, uses)
    for use in uses:
        if use.name not in found:
            try:
                found[use.name] = _bound(binding, plan, use)
            except BaselineError as error:
                refused.append((use, error))
    if refused:
        # Not at the top: most runs that are compared with are there.
        from pytest_rageval.engine.planning.refused_baselines import Refused, refuse

        refuse(binding, [Refused(use.name, use.is_pinned, error) for use, error in refused])
    return found


def _refuse_second_names(binding: Binding, uses: Collection[_Use]) -> None:
    """Refuse the file of a pinned run under another name: there its looks would not count."""
    pinned = {_file(binding, use.name).resolve(): use.name for use in uses if use.is_pinned}
    for use in uses if pinned else ():
        name = pinned.get(_file(binding, use.name).resolve(), use.name)
        if name != use.name:
            message = f"{shorten(use.name)!r} is the file of {shorten(name)!r}, whose looks share "
            message += f"alpha: write {shorten(name)!r} here, too"
            binding.refusals.append(Problem(binding.loaded.where(*use.path), message))


def _bound(binding: Binding, plan: Plan, use: _Use) -> Baseline:
    """Return a saved run as a baseline; raises BaselineError with all that is wrong with it."""
    saved = saved_run(binding, use.name, use.path)
    refusals = _refusals(binding, saved, plan, use)
    baseline = baseline_of(saved, plan)
    lacking = sorted(use.gated.difference(baseline.scores))
    if lacking and not refusals and binding.run_paths.saves(use.name):
        # This session saves a run under the name: refused, it goes on uncompared, and --rag-save
        # keeps the run that is there. In other sessions the gate itself says what is lacking.
        message = f"{_shown(saved)}: it has no {', '.join(lacking)}, which a gate compares"
        refusals.append(Problem(binding.loaded.where(*use.path), message))
    if refusals:
        raise BaselineError(refusals)
    return baseline


class _Use(Struct):
    """A saved run that something compares with: where it is named, and for which metrics.

    Differences that concern none of ``metrics`` do not matter.
    """

    name: str
    path: YamlPath
    anyway: bool = False
    is_pinned: bool = False
    metrics: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    """The metrics that ``compare`` asks for by name."""
    gated: set[str] = field(default_factory=set)
    """The metrics that gates ask for."""


def _uses(binding: Binding, info: ScenarioInfo) -> Collection[_Use]:
    """Return every saved run that the scenario compares with."""
    uses: dict[str, _Use] = {}
    older: set[str | None] = set()
    for (path, spec), compare in zip(compared_runs(binding), info.compare, strict=True):
        older.add(spec.run_old_path)
        if spec.baseline is not None:
            asked = set(compare.metrics)
            metrics = {WEIGHTED_SCORE, *(column.name for column in info.metrics)}
            if asked and binding.scenario.sample is None:  # a sample estimates all
                metrics = asked
            place = (*path, "baseline")
            uses[spec.baseline] = _Use(
                spec.baseline, place, spec.anyway, spec.looks > 1, set(metrics), asked
            )
    for gate in comparing_gates(info):
        if gate.run not in older:
            path = ("gates", *gate.path, "baseline")
            use = uses.setdefault(gate.run, _Use(gate.run, path))
            use.anyway = use.anyway or gate.anyway
            use.metrics.update(gate.targets)
            use.gated.update(gate.targets)
    for use in uses.values():
        if WEIGHTED_SCORE in use.metrics:
            use.metrics.update(_counted(info))
    return uses.values()


def _counted(info: ScenarioInfo) -> list[str]:
    """Return the metrics that the weighted score follows from."""
    return [column.name for column in info.metrics if column.weight > 0.0]


def comparing_gates(info: ScenarioInfo) -> Iterator[UndecidedGate]:
    """Yield each gate that compares with a run, as if no run were there to compare with."""
    for made in each_gate(info.gates, replace(info, baselines={})):
        for gate in () if isinstance(made, GateOptionError) else made:
            if isinstance(gate.leaf, UndecidedGate):
                yield gate.leaf


def saved_run(binding: Binding, name: str, path: YamlPath) -> SavedRun:
    """Return the saved run; raises BaselineError, or NoBaselineError if there is none."""
    # Here and below, not at the top: most scenarios are compared with nothing.
    from pytest_rageval.results.saved_run import load_baseline

    run_paths, file = binding.run_paths, _file(binding, name)
    known = _stems(run_paths.baseline_folder(binding.title, binding.scenario.output_dir))
    where = binding.loaded.where(*path)
    return load_baseline(name, file, where, known, run_paths.shown(file))


def _file(binding: Binding, name: str) -> Path:
    folder, output = binding.loaded.path.parent, binding.scenario.output_dir
    return binding.run_paths.compared_file(name, binding.title, output, folder)


def _stems(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.json")) if folder.is_dir() else []


def _shown(saved: SavedRun) -> str:
    return f"baseline {saved.name!r} ({saved.shown})"


def _refusals(binding: Binding, saved: SavedRun, plan: Plan, use: _Use) -> list[Problem]:
    """Return why a baseline cannot be compared; what ``anyway`` excuses is only a warning.

    Differences that refuse nothing are noted in ``binding``, as such warnings are.
    """
    from pytest_rageval.results.saved_run import cut_short, of_a_part, out_of_range

    where, name, refusals = binding.loaded.where(*use.path), _shown(saved), list[Problem]()
    metrics = fields_read.with_those_read(plan.metrics, use.metrics)
    if odd := out_of_range(saved, plan.info.metrics):
        refusals.append(Problem(where, f"{name}: {odd}; mend the file, or save a new baseline"))
    refusals += [Problem(where, f"{name}: {text}") for text in of_a_part(saved.head)]
    lacking = _lacking(saved, plan, use)
    if lacking:
        refusals.append(Problem(where, f"{name}: {lacking}"))
    elif absent := [metric for metric in _absent(saved, plan) if metric in use.metrics]:
        counted = _counted(plan.info)
        unweighed = [WEIGHTED_SCORE] if any(metric in counted for metric in absent) else []
        listed = ", ".join([*absent, *unweighed])
        binding.remarks.append(f"{name}: it has no {listed}; only what it has is compared")
    from pytest_rageval.model.measured import setting_differences, unrecorded

    settings = list(setting_differences(saved.measured, plan.info.measured))
    said = [text for setting, text in settings if not setting.refuses]
    said += _more_differences(saved, plan, metrics)
    said += [*_of_another(binding, saved, plan), *(() if use.gated else cut_short(saved.head))]
    binding.unlike += [f"{name}: {text}; compared all the same" for text in said]
    if unknown := unrecorded(saved.measured, plan.info.measured, plan.models.judge):
        listed = ", ".join(unknown)
        binding.remarks.append(
            f"{name}: an earlier version saved it, without {listed}: whether they differ is unknown"
        )
    differences = [
        *(cut_short(saved.head) if use.gated else ()),
        *(text for setting, text in settings if setting.refuses),
        *_metric_differences(saved, plan, metrics),
        *_data_differences(saved, plan.cases),
        *_judged_differences(saved, plan, metrics),
    ]
    for difference in differences:
        message = f"{name}: {difference}"
        if use.anyway:
            binding.warnings.append(f"{message}; compared anyway")
        else:
            from pytest_rageval.engine.planning.refused_baselines import ways_out

            hint = ways_out(binding, use.name, use.path, is_pinned=use.is_pinned)
            refusals.append(Problem(where, f"{message}; {hint}"))
    return refusals


def _of_another(binding: Binding, saved: SavedRun, plan: Plan) -> Iterator[str]:
    """Yield that a run found by its name is one of another scenario file that is still there."""
    path = saved.head.scenario.path
    is_other = path and path != plan.info.path
    if not is_path(saved.name) and is_other and (binding.run_paths.root / path).is_file():
        yield f"it is a run of {path}, whose name is {binding.title!r}, too"


def _lacking(saved: SavedRun, plan: Plan, use: _Use) -> str:
    """Return which metrics are absent, "" unless all are or some were asked for by name."""
    absent = _absent(saved, plan)
    has = ", ".join(sorted(_present(saved))) or "none at all"
    if len(absent) == len(plan.info.metrics):
        return f"it has none of this scenario's metrics, but: {has}"
    counted = _counted(plan.info) if WEIGHTED_SCORE in use.asked else ()
    asked = [name for name in absent if name in use.asked or name in counted]
    return f"it has no {', '.join(asked)}, but: {has}" if asked else ""


def _present(saved: SavedRun) -> set[str]:
    return {name for sample in saved.samples.values() for name in sample.scores}


def _absent(saved: SavedRun, plan: Plan) -> list[str]:
    present = _present(saved)
    return [column.name for column in plan.info.metrics if column.name not in present]


def _metric_differences(saved: SavedRun, plan: Plan, metrics: Collection[str]) -> Iterator[str]:
    from pytest_rageval.model.measured import recorded_as

    for column in plan.info.metrics:
        before = saved.head.scenario.definitions.get(column.name)
        now = recorded_as(column.definition, saved.measured)
        if column.name in metrics and before is not None and before != now:
            # Hidden options have a hash; a text saved without may hold a password: not shown.
            is_bare = hashes_in(before) < hashes_in(now)
            was = "saved with an option that is hidden now" if is_bare else before
            yield f"{column.name} was {was}, and is {now} now"


def _more_differences(saved: SavedRun, plan: Plan, metrics: Collection[str]) -> Iterator[str]:
    """Yield what differs and refuses nothing: code, and weights that are 0 in one run only."""
    from pytest_rageval.model.measured import CODE, code_differences

    was, now = saved.measured.get(CODE, {}), plan.info.measured.get(CODE, {})
    shown = {name: now[name] for name in now if name in metrics}
    for changed in code_differences(was, shown):
        yield f"the code of {changed} has changed"
    for column in plan.info.metrics:
        metric = saved.head.metrics.get(column.name)
        before = column.weight if metric is None else metric.weight
        if (before == 0.0) != (column.weight == 0.0):
            change = f"was {before:g}, and is {column.weight:g} now"
            yield f"the weight of {column.name} {change} (both runs are weighed as it is now)"
    shared, weights = _shared(saved, plan.cases), plan.info.doc_weights
    zero = [
        one.id
        for one in shared
        if (saved.samples[one.id].sample_weight == 0.0)
        != (resolve_weight(weights, one.doc_name) == 0.0)
    ]
    if zero:
        yield (
            f"{len(zero)} of {len(shared)} shared samples weighed 0 then or weigh 0 now (first: "
            f"{shorten(zero[0])!r}; both runs are weighed as it is now)"
        )


def _shared(saved: SavedRun, cases: Sequence[Case]) -> list[Sample]:
    return [case for case in cases if isinstance(case, Sample) and case.id in saved.samples]


def _data_differences(saved: SavedRun, cases: Sequence[Case]) -> Iterator[str]:
    shared = _shared(saved, cases)
    if cases and saved.samples and not shared:
        yield "it has no sample in common with this data set"
    for what, name in (("another question", "question"), ("other references", "references")):
        pairs = [
            (one.id, getattr(saved.samples[one.id], name), _plain(one, name)) for one in shared
        ]
        changed = [pair for pair in pairs if _differs(*pair[1:])]
        if changed:
            first, was, now = changed[0]
            yield (
                f"{len(changed)} of {len(shared)} shared samples have {what} (first: "
                f"{shorten(first)!r}, was {shorten(repr(was), 60)}, is {shorten(repr(now), 60)})"
            )


def _plain(sample: Sample, name: str) -> Any:
    """Return a field as JSON has it."""
    value = getattr(sample, name)
    return list(value) if isinstance(value, tuple) else value


def _judged_differences(saved: SavedRun, plan: Plan, metrics: Collection[str]) -> Iterator[str]:
    """Yield in how many samples a field that metrics judge by has another digest than saved."""
    fields, shared = fields_judged_by(plan, metrics), _shared(saved, plan.cases)
    if qrels := saved.head.scenario.judgements_sha256:  # compared as a whole
        if plan.info.judgements_sha256 not in ("", qrels):
            yield "it was judged by other qrels"
        if not plan.info.judgements_sha256 and "reference_ids" in fields:
            yield from fields_read.in_place_of_qrels(plan, metrics, shared)
        return
    digests = {one.id: reference_digests(one, plan) for one in shared}
    by_ids = shared if "reference_ids" in fields else ()
    instead = {one.id: in_place_of_ids(plan, metrics, one) for one in by_ids}
    was = {name: saved.samples[name].judged_by for name in digests}
    other = fields_read.lost_or_got(plan, metrics, shared, saved)
    for field_name in fields:
        other[field_name] = other.get(field_name) or [
            name
            for name, ours in digests.items()
            if judges_otherwise(was[name], ours, field_name, instead.get(name, ()))
        ]
    for field_name, changed in other.items():
        if changed:
            share = f"{len(changed)} of {len(digests)} shared samples"
            yield f"{share} have other {field_name} (first: {shorten(changed[0])!r})"


def _differs(saved: Any, ours: Any) -> bool:
    return saved is not None and ours is not None and saved != ours


def baseline_of(saved: SavedRun, plan: Plan) -> Baseline:
    """Return the scores of a saved run, weighed with the weights of this scenario.

    Of the plan only ``info`` is used.
    """
    from pytest_rageval.stats.holes import judged_shares

    names = [column.name for column in plan.info.metrics]
    present = _present(saved)
    samples = saved.samples.items()
    scores = {
        name: {sample_id: sample.scores.get(name) for sample_id, sample in samples}
        for name in names
        if name in present
    }
    if present.issuperset(_counted(plan.info)):
        scores[WEIGHTED_SCORE] = {
            sample_id: weigh_scores(
                plan, {name: sample.scores.get(name) for name in names}, sample.errors
            )
            for sample_id, sample in samples
        }
    return Baseline(
        saved.name,
        tuple(saved.samples),
        scores,
        _failed(saved, names),
        _digests(saved, plan),
        judged_shares(saved.samples.values(), plan.info.metrics),
    )


def _digests(saved: SavedRun, plan: Plan) -> dict[str, str]:
    """Return the digests of a saved run's answers, where labels are compared."""
    if not plan.info.human:
        return {}
    samples = saved.samples.items()
    return {name: answer_digest(one.answer, one.contexts) for name, one in samples}


def _failed(saved: SavedRun, names: Collection[str]) -> dict[str, list[str]]:
    """Return by metric the samples on which it failed when the run was saved."""
    failed: dict[str, list[str]] = {}
    for sample_id, sample in saved.samples.items():
        for name in sample.errors:
            if name in names and sample.scores.get(name) is None:
                failed.setdefault(name, []).append(sample_id)
    return failed


def _older_run(binding: Binding, plan: Plan, run_path: str, path: YamlPath) -> Baseline | None:
    """Return the scores of another TREC run over the same queries; None if it is unreadable."""
    from pytest_rageval.datasets.trec import load_trec
    from pytest_rageval.stats.holes import judged_shares

    spec = binding.scenario.dataset.model_copy(update={"run_path": run_path})
    place = binding.loaded.where(*path, "run_old_path")
    try:
        folder = binding.loaded.path.parent
        dataset = load_trec(spec, folder, lambda _key: place, "compare.run_old_path")
    except ScenarioError as error:
        binding.problems += error.problems
        return None
    binding.warnings += dataset.warnings
    k = binding.scenario.top_k
    cases = [
        replace(case, retrieved_ids=(case.retrieved_ids or ())[:k])
        if isinstance(case, Sample)
        else case
        for case in dataset.cases
    ]
    older = replace(plan, cases=cases)
    # Queries that missing_queries leaves out of the older run have no part in the comparison.
    scored = [case for case in cases if isinstance(case, Sample) and case.skip is None]
    results = [score_case(older, case) for case in scored]
    columns = plan.info.metrics
    if filled := ", ".join(column.name for column in columns if column.filled):
        hint = "save a run of it (--rag-save), and name that as the baseline"
        binding.remarks.append(f"{run_path}: no judge fills its holes: no {filled}; {hint}")
    scores = {
        column.name: {result.sample_id: result.scores.get(column.name) for result in results}
        for column in columns
    }
    scores[WEIGHTED_SCORE] = {result.sample_id: result.weighted_score for result in results}
    return Baseline(
        run_path,
        tuple(result.sample_id for result in results),
        scores,
        judged=judged_shares(results, plan.info.metrics),
    )
