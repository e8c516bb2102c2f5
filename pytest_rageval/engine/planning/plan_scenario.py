"""From a scenario to its plan: all its names bound to objects, its data read.

Every mistake of a name or a number is found here, before anything is scored, and all of them are
reported together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import GivenRows
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.engine.plan import AnswerRules, BoundMetric, MetricSource, Plan, TargetPlan
from pytest_rageval.engine.planning.answer_columns import read_beside_answers
from pytest_rageval.engine.planning.bind_baselines import bind_baselines
from pytest_rageval.engine.planning.bind_cases import (
    bind_cases,
    bind_dataset,
    has_history,
    lines_of_data,
    made_questions,
    own_names,
)
from pytest_rageval.engine.planning.bind_columns import hints_of_answers
from pytest_rageval.engine.planning.bind_keys import (
    bind_gates,
    bind_groups,
    bind_keys,
    check_diagnosed,
    warn_of_utilization_alone,
    with_snapshot,
)
from pytest_rageval.engine.planning.bind_metrics import bind_models
from pytest_rageval.engine.planning.binding import Binding, ChangeSamples, metric_name
from pytest_rageval.engine.planning.fields_read import fields_read
from pytest_rageval.errors import (
    BaselineError,
    DuplicateNameError,
    Problem,
    ScenarioError,
    UserError,
)
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition
from pytest_rageval.model import WEIGHTED_SCORE, Case, ScenarioInfo, ScenarioView
from pytest_rageval.registry import Registry
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.answer_specs import SECTIONS
from pytest_rageval.scenario.fields import ANSWERED_FIELDS
from pytest_rageval.scenario.loader import (
    LoadedScenario,
    inspect_scenario,
    inspect_tree,
    problems_by_line,
)
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.variants import VARIANTS, unknown_variant
from pytest_rageval.scenario.yaml.tree import YamlTree

SEEN_BY_PEOPLE: Final = frozenset({"answer", "contexts"})
"""The fields that a label is about."""

GiveTarget = Callable[[ScenarioView], object | None]
"""Returns the function that answers in a scenario; None leaves it to the scenario."""


def _no_target(_: ScenarioView) -> None:
    return None


def make_plan(  # noqa: PLR0913  (all but the path are options)
    path: Path,
    overrides: Sequence[Override] = (),
    *,
    shown: str = "",
    nodeid: str = "",
    run_paths: RunPaths | None = None,
    run: RunSettings | None = None,
    answers_given: bool = False,
    known_metrics: Registry[MetricDefinition] = METRIC_REGISTRY,
    give_target: GiveTarget = _no_target,
    change_samples: ChangeSamples | None = None,
    tree: YamlTree | None = None,
    variant: str = "",
    rows: GivenRows | None = None,
) -> Plan:
    """Return the plan of the scenario in ``path``, or in ``tree`` if it has no file.

    ``variant`` is the one to plan, of a scenario that has some; ``shown`` is the file's name in
    messages and results; ``known_metrics`` are those that have a name; ``give_target`` may return a
    function that takes the place of the scenario's target, and ``change_samples`` other samples
    than the data have; ``rows`` are those of a tree that names them as its data. Without
    ``run_paths`` no file that the run would write is checked. With ``answers_given`` a test of the
    user's asks the system under test, and the target is left alone; its runs have no names yet, so
    the plan is compared with saved runs once it is ``named``. An override that limits the data
    makes a plan of a part of them: no gate can pass if rows are left out.
    Raises ScenarioError with everything that is wrong with the scenario and its data;
    BaselineError when that is all right, and a run that it is to be compared with is not.
    """
    name_of = partial(metric_name, known=known_metrics)
    if tree is None:
        loaded, problems = inspect_scenario(path, overrides, shown, name_of, variant)
    else:
        loaded, problems = inspect_tree(tree, path, overrides, name_of, variant)
    _refuse_variant(loaded, variant, problems)
    binding = Binding(
        loaded,
        run_paths=run_paths or RunPaths(Path.cwd()),
        run=run or RunSettings(),
        known_metrics=known_metrics,
        warnings=list(loaded.warnings),
        given=rows,
    )
    if change_samples is not None:
        binding.change_samples = change_samples
    # Without paths nothing is written, and most runs write to their own folder alone.
    if run_paths is not None and (run_paths.answers or loaded.scenario.save_path):
        from pytest_rageval.engine.planning.check_answer_file import check_written_files

        check_written_files(binding)
    if loaded.scenario.sample is not None and any(override.limits for override in overrides):
        message = "sample: asks some of all rows, and a limit leaves rows out (--rag-limit, "
        binding.problem(f"{message}RAGEVAL_LIMIT); give one of the two", "sample")
    view = ScenarioView(loaded.scenario.name, shown or str(path), loaded.metadata, variant)
    given = None if answers_given else give_target(view)
    plan = _bind(binding, view, nodeid or view.path, given=given, answers_given=answers_given)
    if plan is not None and answers_given:
        binding.refusals.clear()  # of saved runs: said when the plan is named
        plan = replace(plan, rename=partial(_named, binding))
    problems = problems_by_line(problems, binding.problems, loaded.tree)
    if problems or plan is None:
        raise ScenarioError(dict.fromkeys(problems))
    if binding.refusals:
        raise BaselineError(dict.fromkeys(binding.refusals))
    # A limit in the file makes the data set smaller; one from outside runs a part of it.
    return plan.as_part() if any(override.limits for override in overrides) else plan


def _refuse_variant(loaded: LoadedScenario, variant: str, problems: list[Problem]) -> None:
    """Raise ScenarioError unless the file has the variant, or has none and none is named."""
    known = loaded.variants
    if variant in known or (not variant and not known):
        return
    where = loaded.tree.where((VARIANTS,))
    if problems and not known:  # what is wrong with them is among these
        raise ScenarioError(dict.fromkeys(problems))
    if not known:
        message = f"no variants, so no {variant!r}"
    elif variant:
        message = unknown_variant(variant, known)
    else:
        message = f"name one of its variants: {', '.join(known)} (variant={known[0]!r})"
    raise ScenarioError([Problem(where, f"variants: {message}")])


def _bind(
    binding: Binding, view: ScenarioView, nodeid: str, *, given: object, answers_given: bool
) -> Plan | None:
    """Return the plan; None when nothing can be made of the data, see the binding's problems."""
    scenario = binding.scenario
    metrics, info = bind_keys(binding, view.path, nodeid)
    # A target that cannot be bound is one problem, not one more for each field it would give.
    asks = answers_given or given is not None or binding.loaded.has("target")
    dataset = bind_dataset(binding, view, is_asked=asks)
    columns = dataset.metadata_columns if dataset is not None else None
    target = None if answers_given else _target(binding, columns, given)
    provided = ANSWERED_FIELDS if asks else frozenset()
    beside = read_beside_answers(binding, () if dataset is None else dataset.columns)
    if target is not None:
        provided = target.provides
        hints = hints_of_answers(binding, metrics, target.fields, beside)
        target = replace(target, hints=hints, beside=beside)
        info = replace(info, target=target.shown)
    is_answered = bool(provided & SEEN_BY_PEOPLE)
    cases: Sequence[Case] = ()
    if dataset is not None:
        cases = bind_cases(binding, dataset, metrics, provided)
        info = _with_data(binding, info, dataset, cases)
        if info.diagnose is not None:
            check_diagnosed(binding, info.diagnose, dataset, provided)
        if scenario.human is not None:
            # Not at the top: most scenarios have no labels.
            from pytest_rageval.engine.planning.bind_labels import bind_labels

            human = bind_labels(binding, metrics, dataset, cases, is_answered=is_answered)
            info = replace(info, human=human)
    metrics = _filled(binding, metrics, cases, provided)
    answers = _answers(binding, metrics, cases, is_answered="answer" in provided)
    if target is not None and has_history(cases):
        from pytest_rageval.engine.planning.bind_target import target_of_turns

        target = target_of_turns(binding, target)
    asking = (*metrics, *(() if answers is None else answers.asked))
    models = bind_models(binding, asking)
    judge = scenario.judge
    if models.judge is not None and judge is not None and judge.controls.mode != "off":
        # Not at the top: most scenarios have no judge.
        from pytest_rageval.engine.planning.bind_controls import bind_controls

        models = replace(models, controls=bind_controls(binding, metrics, models, cases))
        rows = {
            metric.column.name: models.controls.get(metric.column.name)
            for metric in metrics
            if metric.info.asks and not metric.info.fills
        }
        info = replace(
            info,
            controls={name: "" if found is None else found.digest for name, found in rows.items()},
            requires_controls=judge.controls.mode == "require",
        )
    source = _source(binding)
    info = replace(info, measured=_measured(binding, source, metrics))
    left_out, paths = dataset.left_out if dataset is not None else 0, binding.run_paths
    plan = Plan(
        info=info,
        metrics=metrics,
        cases=cases,
        required=frozenset(info.thresholds),
        on_invalid=scenario.dataset.on_invalid,
        models=models,
        top_k=scenario.top_k,
        beside=beside,
        empty_answer=scenario.empty_answer,
        answers=answers,
        reads=fields_read(answers, metrics),
        left_out=1 if left_out is None else left_out,  # None: some, and nobody knows how many
        reviews=scenario.dataset.reviews,
        reviewed=dataset.reviewed if dataset is not None else frozenset(),
        target=target,
        saved_columns=_saved_columns(binding),
        keeps_expected=paths.keeps_expected,
        own_names=own_names(dataset, scenario.dataset.key_map) if dataset is not None else {},
        source=source,
        lines=lines_of_data(binding),
    )
    plan = _with_gates(binding, plan, compares=dataset is not None and not answers_given)
    if plan.info.human and not is_answered:  # else it shows when the target has answered
        from pytest_rageval.engine.planning.bind_labels import refuse_stale

        refuse_stale(binding, plan)
    return plan if dataset is not None else None


def _target(binding: Binding, columns: Sequence[str] | None, given: object) -> TargetPlan | None:
    if given is None and binding.scenario.target is None:
        return None
    # Not at the top: in most scenarios the data hold the answers.
    from pytest_rageval.engine.planning.bind_target import bind_target

    return bind_target(binding, columns, given)


def _filled(
    binding: Binding,
    metrics: tuple[BoundMetric, ...],
    cases: Sequence[Case],
    provided: frozenset[str],
) -> tuple[BoundMetric, ...]:
    if binding.scenario.fill is None and not any(metric.info.fills for metric in metrics):
        return metrics
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.engine.planning.bind_fill import bind_fill

    return bind_fill(binding, metrics, cases, provided)


def _answers(
    binding: Binding,
    metrics: Sequence[BoundMetric],
    cases: Sequence[Case],
    *,
    is_answered: bool,
) -> AnswerRules | None:
    scenario = binding.scenario
    is_asked = any(metric.info.section or metric.info.of_table for metric in metrics)
    is_read = scenario.citations is not None or scenario.refusals is not None or is_asked
    if not is_read and not has_history(cases):
        return None
    # Not at the top: most scenarios do not say how answers cite or refuse, and follow nothing.
    from pytest_rageval.engine.planning.bind_answers import bind_answers

    return bind_answers(binding, metrics, cases, is_answered=is_answered)


def _saved_columns(binding: Binding) -> Mapping[str, str] | None:
    if not binding.run_paths.keeps_rows:
        return None
    # Not at the top: most runs save no rows.
    from pytest_rageval.datasets.save import columns_of

    return columns_of(binding.scenario.dataset.key_map)


def _source(binding: Binding) -> MetricSource:
    scenario, paths = binding.scenario, binding.run_paths
    return MetricSource(
        tuple(scenario.metrics),
        scenario.metric_options,
        scenario.match,
        binding.loaded.path.absolute(),
        paths.root.absolute(),
        paths.import_mode,
    )


def _measured(
    binding: Binding, source: MetricSource, metrics: Sequence[BoundMetric]
) -> dict[str, Any]:
    """Return what the scores depend on, and neither metrics, weights nor samples say."""
    scenario = binding.scenario
    found: dict[str, Any] = {
        "top_k": scenario.top_k,
        "empty_answer": scenario.empty_answer,
        "on_invalid": scenario.dataset.on_invalid,
        "tolerate": scenario.tolerate,
    }
    named = {metric.info.section for metric in metrics}
    for section, kind in SECTIONS.items():
        # A metric of its own switches a section on for all: scores depend on it as if written.
        spec = getattr(scenario, section) or (kind() if section in named else None)
        if spec is not None:
            found[section] = spec.model_dump(mode="json")
    if scenario.refusals is not None:
        # Not at the top: most scenarios look for no refusals.
        from pytest_rageval.engine.planning.bind_answers import asked_in

        found["refusals"] |= asked_in(scenario.refusals, scenario)
    own = [metric for metric in metrics if not metric.is_built_in]
    # Where a metric is invalid, nothing runs, and the places of the others have moved.
    if own and "metrics" not in binding.loaded.positions:
        # Not at the top: most scenarios have no metric of the user's own.
        from pytest_rageval.engine.module_digests import digests_of

        found["code"] = {one.column.name: digests_of(source, [one]) for one in own}
    return found


def _with_data(
    binding: Binding, info: ScenarioInfo, dataset: Dataset, cases: Sequence[Case]
) -> ScenarioInfo:
    """Return what the scenario says of itself with what its data add; note what they lack."""
    if dataset.left_out != 0:
        more = "more" if dataset.left_out is None else len(cases) + dataset.left_out
        binding.remarks.append(f"dataset.limit: the first {len(cases)} of {more} rows")
    info = replace(
        info,
        total=len(cases),
        selected=len(cases),
        dataset_sha256=dataset.sha256,
        judgements_sha256=dataset.judgements_sha256,
        metadata_columns=dataset.metadata_columns,
        made=made_questions(dataset, cases),
    )
    bind_groups(binding, info, cases)
    return info


def _named(binding: Binding, plan: Plan, name: str, nodeid: str) -> Plan:
    """Return a plan that was compared with nothing as that of a run called ``name``."""
    scenario = binding.scenario.model_copy(update={"name": name})
    loaded = replace(binding.loaded, scenario=scenario)
    noticed = ("problems", "remarks", "refusals", "kept_baselines", "unlike", "warnings")
    own = structs.replace(binding, loaded=loaded, **{kind: [] for kind in noticed})
    known = plan.info
    info = with_snapshot(replace(known, name=name, nodeid=nodeid), scenario)
    found = _with_gates(own, replace(plan, info=info), compares=True)
    if own.problems:
        raise ScenarioError(dict.fromkeys(own.problems))
    if own.refusals:
        raise BaselineError(dict.fromkeys(own.refusals))
    warnings = tuple(dict.fromkeys([*known.warnings, *found.info.warnings]))
    remarks = (*known.remarks, *found.info.remarks)
    return replace(found, info=replace(found.info, warnings=warnings, remarks=remarks), rename=None)


def _with_gates(binding: Binding, plan: Plan, *, compares: bool) -> Plan:
    """Return the plan with the runs it is compared with, its gates, and what was noticed."""
    info = plan.info
    if compares and not binding.problems:
        info = replace(info, baselines=bind_baselines(binding, plan))
        refused = "; ".join(binding.kept_baselines)
        info = replace(info, refused_baseline=refused, unlike=tuple(binding.unlike))
    plan = replace(plan, info=info)
    if binding.scenario.sample is not None:
        # Not at the top: most scenarios ask all rows.
        from pytest_rageval.engine.planning.bind_asked import bind_row_draw, refuse_row_draw

        plan = bind_row_draw(binding, plan) if compares else refuse_row_draw(binding, plan)
    info = plan.info
    gated = bind_gates(binding, info)
    warn_of_utilization_alone(binding, plan.metrics, gated)
    if plan.rename is None and binding.scenario.stop is not None:
        # Not at the top: most scenarios do not stop early.
        from pytest_rageval.engine.planning.bind_asked import bind_stop

        stop = bind_stop(binding, replace(plan, info=info), is_tested=not compares)
        info = replace(info, stop=stop)
    warnings = tuple(dict.fromkeys(f"{info.path}: {warning}" for warning in binding.warnings))
    info = replace(info, warnings=warnings, remarks=tuple(binding.remarks))
    contest = info.contest
    if contest is not None and contest.at_least is not None:
        gated |= {contest.of}
    required = plan.required | gated
    if not required or (info.thresholds and not binding.scenario.thresholds):
        # No written threshold or gate judges a sample: it still has to have its weighted score.
        required |= {WEIGHTED_SCORE, *info.thresholds}
    return replace(plan, info=info, required=required)


MakePlan = Callable[[str], Plan]
"""Returns the plan of the variant of a name; raises UserError."""


def plans_of(names: Sequence[str], make: MakePlan) -> list[Plan]:
    """Return the plans of variants.

    Raises ScenarioError with everything that is wrong with them; BaselineError where all that is
    wrong is a run to compare with, or a name.
    """
    plans: list[Plan] = []
    found: dict[Problem, list[str]] = {}
    is_refused = True
    for name in names:
        try:
            plans.append(make(name))
        except UserError as error:
            for problem in error.problems:
                found.setdefault(problem, []).append(name)
            is_refused = is_refused and isinstance(error, BaselineError | DuplicateNameError)
    if found:
        made = BaselineError if is_refused else ScenarioError
        raise made(_with_variants(found, len(names)))
    return plans


def _with_variants(found: Mapping[Problem, Sequence[str]], total: int) -> Iterator[Problem]:
    """Yield each problem; name the variants that have it, unless all do or its path says which."""
    for problem, names in found.items():
        of = ", ".join(dict.fromkeys(names))
        is_shared = len(set(names)) == total or problem.message.startswith("variants.")
        yield problem if is_shared else replace(problem, message=f"variant {of}: {problem.message}")
