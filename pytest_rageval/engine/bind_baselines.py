"""The runs that a scenario is compared with: found, read, and checked to be comparable at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_rageval.datasets.baseline import SavedRun, load_baseline
from pytest_rageval.datasets.trec import load_trec
from pytest_rageval.engine.binding import Binding, resolve_metric
from pytest_rageval.engine.scorer import score_case, weigh_scores
from pytest_rageval.errors import BaselineError, Problem, ScenarioError, shorten, unknown_name
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Case,
    Comparing,
    MetricColumn,
    Sample,
    TestPlan,
)
from pytest_rageval.places import is_path

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan


def bind_comparison(binding: Binding, names: Sequence[str]) -> Comparing | None:
    """Return what ``compare`` asks for; unknown metrics in it are problems."""
    spec = binding.scenario.compare
    if spec is None:
        return None
    known = [*names, WEIGHTED_SCORE]
    metrics = []
    for at, written in enumerate(spec.metrics):
        name = resolve_metric(written, known)
        if name is None:
            message = f"compare.metrics[{at}]: {unknown_name('metric', written, known)}"
            binding.problem(message, "compare", "metrics", at)
        else:
            metrics.append(name)
    plan = TestPlan(spec.test, spec.alpha, spec.n_resamples, spec.seed)
    baseline = spec.baseline or spec.run_old_path
    assert baseline is not None  # the schema demands one of them
    return Comparing(baseline, tuple(metrics), plan)


def bind_baselines(binding: Binding, plan: Plan) -> dict[str, Baseline]:
    """Return every run that ``compare`` or a gate names, by the name that it is given there."""
    found: dict[str, Baseline] = {}
    spec = binding.scenario.compare
    if spec is not None and spec.run_old_path is not None:
        older = _older_run(binding, plan, spec.run_old_path)
        if older is not None:
            found[spec.run_old_path] = older
    for name, anyway, path in _named(binding):
        if name not in found:
            refused = len(binding.refusals)
            saved = _saved(binding, name, path)
            if saved is not None:
                _check(binding, saved, plan, anyway, path)
            if len(binding.refusals) > refused and binding.places.saves(name):
                _forgive(binding, refused)
            elif saved is not None:
                found[name] = _baseline(saved, plan)
    return found


def _forgive(binding: Binding, refused: int) -> None:
    """Make warnings of refusals: the run saves what they are about, and so mends it."""
    binding.remarks += [
        f"not compared: {problem.message.partition('; save a new baseline')[0]}"
        for problem in binding.refusals[refused:]
    ]
    del binding.refusals[refused:]


def _named(binding: Binding) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Yield name, ``anyway`` and place of each saved run that the scenario names."""
    spec = binding.scenario.compare
    if spec is not None and spec.baseline is not None:
        yield spec.baseline, spec.anyway, ("compare", "baseline")
    yield from _named_in_gates(binding.scenario.gates, ("gates",))


def _named_in_gates(
    gates: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    for key, value in gates.items():
        if key == "no_regression":
            yield from _named_in_options(value, (*path, key))
        elif key == "compare_fail":
            for metric, options in _entries(value):
                yield from _named_in_options(options, (*path, key, metric))
        elif key == "by":
            for field, inner in _entries(value):
                yield from _named_in_gates(inner, (*path, key, field))


def _entries(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of a mapping that are mappings; what else there is, gates refuse."""
    if isinstance(value, Mapping):
        yield from ((key, inner) for key, inner in value.items() if isinstance(inner, Mapping))


def _named_in_options(
    options: Any, path: tuple[str, ...]
) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    if isinstance(options, Mapping) and isinstance(options.get("baseline"), str):
        yield options["baseline"], bool(options.get("anyway")), (*path, "baseline")


def _saved(binding: Binding, name: str, path: tuple[str, ...]) -> SavedRun | None:
    scenario, places = binding.scenario, binding.places
    file = places.baseline_file(name, scenario.name, scenario.output_dir)
    beside = binding.loaded.path.parent / name
    if is_path(name) and not file.exists() and beside.exists():
        file = beside
    known = _stems(places.baseline_folder(scenario.name, scenario.output_dir))
    try:
        shown = places.shown(file)
        return load_baseline(name, file, binding.loaded.where(*path), known, shown)
    except BaselineError as error:
        binding.refusals += error.problems
        return None


def _stems(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.json")) if folder.is_dir() else []


def _check(
    binding: Binding, saved: SavedRun, plan: Plan, anyway: bool, path: tuple[str, ...]
) -> None:
    """Refuse a baseline whose scores mean something else, unless told to compare ``anyway``."""
    differences = [*_metric_differences(saved, plan), *_data_differences(saved, plan.cases)]
    judged_by = {plan.info.judgements_sha256, saved.judgements_sha256}
    if len(judged_by) > 1 and "" not in judged_by:
        differences.append("it was judged by other qrels")
    where = binding.loaded.where(*path)
    for difference in differences:
        message = f"baseline {saved.name!r} ({saved.shown}): {difference}"
        if anyway:
            binding.warnings.append(f"{message}; compared anyway")
        else:
            option = ".".join((*path[:-1], "anyway"))
            hint = f"save a new baseline, or compare anyway ({option}: true)"
            binding.refusals.append(Problem(where, f"{message}; {hint}"))


def _metric_differences(saved: SavedRun, plan: Plan) -> Iterator[str]:
    for column in plan.info.metrics:
        before = saved.definitions.get(column.name)
        if before is not None and before != column.definition:
            yield f"{column.name} was {before}, and is {column.definition} now"


def _data_differences(saved: SavedRun, cases: Sequence[Case]) -> Iterator[str]:
    shared = [case for case in cases if isinstance(case, Sample) and case.id in saved.samples]
    if cases and saved.samples and not shared:
        yield "it has no sample in common with this data set"
    for what, field, ours in (
        ("another question", "question", _question),
        ("other references", "references", _references),
    ):
        changed = [
            case for case in shared if _differs(saved.samples[case.id].get(field), ours(case))
        ]
        if changed:
            first = changed[0]
            was, now = saved.samples[first.id].get(field), ours(first)
            yield (
                f"{len(changed)} of {len(shared)} shared samples have {what} (first: "
                f"{shorten(first.id)!r}, was {shorten(repr(was), 60)}, is {shorten(repr(now), 60)})"
            )


def _differs(saved: Any, ours: Any) -> bool:
    return saved is not None and ours is not None and saved != ours


def _question(sample: Sample) -> str | None:
    return sample.question


def _references(sample: Sample) -> list[str] | None:
    return None if sample.references is None else list(sample.references)


def _baseline(saved: SavedRun, plan: Plan) -> Baseline:
    """Return the scores of a saved run, weighed with the weights of this scenario."""
    names = [column.name for column in plan.info.metrics]
    present = [
        name
        for name in names
        if any(name in (sample.get("scores") or {}) for sample in saved.samples.values())
    ]
    scores = {
        name: {
            sample_id: (sample.get("scores") or {}).get(name)
            for sample_id, sample in saved.samples.items()
        }
        for name in present
    }
    if present == names:
        scores[WEIGHTED_SCORE] = {
            sample_id: weigh_scores(plan, {name: scores[name][sample_id] for name in names})
            for sample_id in saved.samples
        }
    return Baseline(saved.name, tuple(saved.samples), scores)


def _older_run(binding: Binding, plan: Plan, run_path: str) -> Baseline | None:
    """Return the scores of another TREC run over the same queries."""
    spec = binding.scenario.dataset.model_copy(update={"run_path": run_path})
    place = binding.loaded.where("compare", "run_old_path")
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
    # What missing_queries leaves out of the older run is not in it, as far as a comparison goes.
    there = [case for case in cases if isinstance(case, Sample) and case.skip is None]
    results = [score_case(older, case) for case in there]
    columns: list[MetricColumn] = list(plan.info.metrics)
    scores = {
        column.name: {result.sample_id: result.scores.get(column.name) for result in results}
        for column in columns
    }
    scores[WEIGHTED_SCORE] = {result.sample_id: result.weighted_score for result in results}
    return Baseline(run_path, tuple(result.sample_id for result in results), scores)
