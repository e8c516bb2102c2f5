"""The metrics of a scenario, and the models that they ask: looked up, and checked to be usable."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.clients.settings import ClientSettings, client_settings
from pytest_rageval.engine.plan import BoundMetric, ModelPlan
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.planning.snapshot import hash_text, shown_option
from pytest_rageval.errors import MissingExtraError, RagevalError, shorten, unknown_name
from pytest_rageval.gates.base import scenario_gate
from pytest_rageval.import_path import (
    ImportPathError,
    code_digest,
    find_file,
    functions_in,
    import_object,
    module_in,
    split_path,
)
from pytest_rageval.metrics.base import (
    WITH_FILLED,
    MetricDefinition,
    MetricInfo,
    NoOptions,
    NotationError,
    parse_notation,
)
from pytest_rageval.model import (
    ANSWER_KIND,
    ASKED_IN,
    FILLED_AS,
    RETRIEVAL,
    SUPPORT,
    TARGET,
    WEIGHTED_SCORE,
    MetricColumn,
    finite_ends,
)
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.answer_specs import FillSpec
from pytest_rageval.scenario.model_specs import EmbeddingSpec, MetricSpec
from pytest_rageval.scenario.spec import reworded

if TYPE_CHECKING:
    from pytest_rageval.run_paths import ImportMode


def bind_models(binding: Binding, metrics: Sequence[BoundMetric]) -> ModelPlan:
    """Return the models that the metrics ask; what is missing or wrong with them is a problem."""
    scenario = binding.scenario
    asked = {role for metric in metrics for role in metric.info.asks}
    for metric in metrics:
        for role in sorted(metric.info.asks):
            # One that is there and invalid is a problem already.
            if getattr(scenario, role) is None and not binding.loaded.has(role):
                hint = "for instance 'judge: gpt-4o-mini'" if role == "judge" else _EMBEDDING_HINT
                message = f"metric {metric.column.name!r} asks a model: name it under '{role}'"
                more = binding.loaded.tree.hints.get(role, "")
                message = f"{message}, {hint}{more}"
                binding.problem(message, "metrics", metric.position)
    judge, embedding = scenario.judge, scenario.embedding
    plan = ModelPlan(
        judge=client_settings("judge", judge) if judge is not None and "judge" in asked else None,
        embedding=_embedding_settings(embedding, binding)
        if embedding is not None and "embedding" in asked
        else None,
        language=judge.language if judge is not None else "auto",
        repeats=judge.repeats if judge is not None and "judge" in asked else 1,
    )
    for role in ("judge", "embedding"):
        if getattr(scenario, role) is not None and role not in asked:
            binding.warnings.append(f"{role} is not used: no metric of this scenario asks it")
    return _checked(binding, plan)


_EMBEDDING_HINT = "for instance 'embedding: text-embedding-3-small'"


def _checked(binding: Binding, plan: ModelPlan) -> ModelPlan:
    """Return the plan without a model of an unknown provider; what is wrong is a problem."""
    if plan.judge is None and plan.embedding is None:
        return plan
    # Not at the top: a scenario without a judge need not load what asks one.
    from pytest_rageval.clients.clients import check_chat, check_embedding

    checks = (("judge", plan.judge, check_chat), ("embedding", plan.embedding, check_embedding))
    for role, settings, check in checks:
        if settings is None:
            continue
        try:
            problems = check(settings, binding.run)
        except UnknownNameError as error:
            problems = [f"provider: {error}"]
            is_judge = role == "judge"
            plan = replace(plan, judge=None) if is_judge else replace(plan, embedding=None)
        except MissingExtraError as error:
            problems = [str(error)]
        for problem in problems:
            field = problem.partition(":")[0]
            binding.problem(f"{role}.{problem}", role, field)
    return plan


def _embedding_settings(spec: EmbeddingSpec, binding: Binding) -> ClientSettings:
    made = client_settings("embedding", spec)
    if spec.provider.lower() not in _IMPORTED:
        return made  # one client for all folders, with its limits
    run_paths = binding.run_paths
    folders = (binding.loaded.path.parent, run_paths.root)
    source = source_digest(made.model, folders, run_paths.import_mode)
    return replace(made, folders=folders, import_mode=run_paths.import_mode, source_sha256=source)


_IMPORTED = ("python", "callable")
"""The provider whose models are functions of the user's, by its names."""


_SEEN: dict[Path, str] = {}


def source_digest(path: str, folders: Sequence[Path], mode: ImportMode) -> str:
    """Return the SHA-256 of the file that ``pkg.mod:attr`` names, "" where there is none.

    Nothing is imported, and what that file imports is not part of the digest. For a loaded module
    it is that of the file as first seen: a notebook goes on with that code when the file changes.
    """
    name = path.partition(":")[0]
    file = find_file(name, folders, mode)
    if file is None:
        return ""
    if name not in sys.modules or file not in _SEEN:
        _SEEN[file] = code_digest(file)
    return _SEEN[file]


_OF_RESULTS: Final = (TARGET, RETRIEVAL, ANSWER_KIND, "row")
"""What the details and errors of a sample are about, apart from metrics."""


def bind_metrics(binding: Binding) -> tuple[BoundMetric, ...]:
    """Return the metrics in the order of the scenario, each with the weight 1.0."""
    if not binding.scenario.metrics:
        return ()  # none could be read: no option belongs to any of them
    bound: dict[str, BoundMetric] = {}
    offered: set[str] = set()
    for at, spec, definition, notation in _looked_up(binding):
        offered |= set(definition.options.known())
        made = _metric(binding, at, spec, definition, notation)
        if made is not None and _is_free(binding, made, bound):
            bound[made.column.name] = made
    if SUPPORT in bound and any(metric.info.of_table for metric in bound.values()):
        message = f"{SUPPORT!r} is a reserved name beside metrics of claims, nuggets and support"
        at = bound[SUPPORT].position
        binding.problem(f"metrics[{at}]: {message}; give it another one", "metrics", at)
    for name in binding.scenario.metric_options:
        if name not in offered and not name.startswith("x-"):
            message = unknown_name("option", name, offered)
            binding.problem(f"metric_options: {message}", "metric_options", name)
    return tuple(bound.values())


def _looked_up(
    binding: Binding,
) -> Iterator[tuple[int, MetricSpec, MetricDefinition, Mapping[str, Any]]]:
    """Yield place, spec, metric and notation of each metric that there is."""
    for number, spec in enumerate(binding.scenario.metrics):
        at = binding.loaded.position("metrics", number)
        try:
            if spec.use is not None:
                yield at, *use_metric(binding, spec.use, spec), {}
            elif spec.column is not None:
                yield at, spec, _of_column(spec, spec.column), {}
            else:
                yield at, spec, *_look_up(binding, spec)
        except RagevalError as error:
            binding.problem(f"metrics[{at}]: {error}", "metrics", at, "use")
        except (UnknownNameError, NotationError) as error:
            binding.problem(f"metrics[{at}]: {error}", "metrics", at)


def _of_column(spec: MetricSpec, column: str) -> MetricDefinition:
    # Not at the top: most scenarios have no column as a metric.
    from pytest_rageval.metrics.columns import column_metric

    return column_metric(column, spec.range, higher_is_better=spec.higher_is_better is not False)


def _is_free(binding: Binding, made: BoundMetric, bound: Mapping[str, BoundMetric]) -> bool:
    """Return whether the metric's name is its own; else that is a problem."""
    name, at = made.column.name, made.position
    if name not in bound and not _is_reserved(name):
        return True
    taken = "is named twice" if name in bound else "is a reserved name"
    hint = "give it a name of its own, {name: ...}"
    binding.problem(f"metrics[{at}]: {name!r} {taken}; {hint}", "metrics", at)
    return False


def _is_reserved(name: str) -> bool:
    """Return whether results or ``gates`` use the name next to those of metrics."""
    return name in (WEIGHTED_SCORE, *_OF_RESULTS) or scenario_gate(name) is not None


def _look_up(binding: Binding, spec: MetricSpec) -> tuple[MetricDefinition, Mapping[str, Any]]:
    """Return the metric of a name, and the options that its notation is short for."""
    known = binding.known_metrics
    if known.canonical(spec.metric) is not None:
        return known.get(spec.metric), {}
    if is_import_path(spec.metric):
        raise UnknownNameError(_to_import(spec.metric, spec.metric))
    try:
        notation = parse_notation(spec.metric)
    except NotationError as error:
        raise NotationError(f"{shorten(spec.metric)!r}: {error}") from error
    try:
        definition = known.get(notation.base)
    except UnknownNameError as error:
        raise UnknownNameError(_no_metric(binding, notation.base, str(error))) from error
    for name in notation.options:
        if name not in definition.options.known():
            raise NotationError(_no_option(definition.name, name))
        if name in spec.options:
            raise NotationError(
                f"{spec.metric!r}: {name!r} is given in its name and in its options"
            )
    return definition, notation.options


def _no_option(metric: str, option: str) -> str:
    if option == "filled":
        example = f"ndcg@10{WITH_FILLED}"
        return (
            f"{WITH_FILLED!r} is for measures of a ranking, as in {example!r}; {metric!r} is none"
        )
    what = "cutoff (@k)" if option == "k" else f"parameter {option!r}"
    return f"the metric {metric!r} has no {what}"


def _no_metric(binding: Binding, name: str, message: str) -> str:
    """Return the message for an unknown metric: what to write for a function of the user's."""
    module, _, function = name.rpartition(".")
    folder, run_paths = binding.loaded.path.parent, binding.run_paths
    if module:
        file = find_file(module, (folder, run_paths.root), run_paths.import_mode)
        modules = [module] if file is not None and function in functions_in(file) else []
    else:
        files = [file for file in sorted(folder.glob("*.py")) if name in functions_in(file)]
        modules = [module_in(folder, file.stem) for file in files]
    if modules:
        return _to_import(name, f"{modules[0]}:{function}")
    path = f"{module or 'my_metrics'}:{function}"
    hint = f". A function of your own: {{use: {path!r}}}" if is_import_path(path) else ""
    return message + hint


def _to_import(name: str, path: str) -> str:
    return f"{shorten(name)!r} is no metric's name; to import it, write {{use: {path!r}}}"


def _metric(
    binding: Binding,
    at: int,
    spec: MetricSpec,
    definition: MetricDefinition,
    notation: Mapping[str, Any],
) -> BoundMetric | None:
    known = definition.options.known()
    given = {**notation, **spec.options}
    shared = {
        name: value
        for name, value in _shared_options(binding).items()
        if name in known and name not in given
    }
    try:
        options = definition.options.model_validate({**shared, **given})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            allowed = known if spec.use is None else [*known, *said_of_metrics()]
            _option_problem(binding, at, spec, given, allowed, detail)
        return None
    info = _with_models(binding, options.adapt(definition.info))
    name = spec.name or options.label(info.name)
    try:
        metric = definition.make(name, options)
    except RagevalError as error:
        binding.problem(f"metrics[{at}]: {error}", "metrics", at)
        return None
    column = MetricColumn(
        name,
        ends=finite_ends(info.range),
        higher_is_better=info.higher_is_better,
        version=info.version,
        as_is=info.as_is,
        written=spec.name or ("" if spec.use else spec.metric),
        retrieves=_retrieves(info),
        filled=info.fills,
    )
    bound = BoundMetric(column, info, metric, at, definition.batch)
    means = _definition_text(definition, info, options) + _by_whom(binding, bound, options)
    bound = replace(bound, column=replace(column, definition=means))
    return bound if definition.preload is None else replace(bound, preload=definition.preload)


def _with_models(binding: Binding, info: MetricInfo) -> MetricInfo:
    """Add to what a metric asks those models of ``may_ask`` that the scenario names."""
    known = {role for role in info.may_ask if getattr(binding.scenario, role) is not None}
    return replace(info, asks=info.asks | known) if known else info


def _retrieves(info: MetricInfo) -> bool:
    """Return whether a metric compares what was retrieved, and looks at no answer."""
    needs = info.needs | info.or_needs
    return "answer" not in needs and not needs.isdisjoint(
        {"contexts", "retrieved_ids", "context_docs"}
    )


def _shared_options(binding: Binding) -> dict[str, Any]:
    """Return the options at the top of the scenario, for every metric that has them."""
    match = binding.scenario.match
    own = {} if match is None else {"match": match}
    return {**own, **binding.scenario.metric_options}


def _by_whom(binding: Binding, bound: BoundMetric, options: NoOptions) -> str:
    """Return what is added to a definition: models, how holes are filled, the judge's language.

    Another judge, ``fill`` or ``language`` gives other scores.
    """
    scenario, info = binding.scenario, bound.info
    asked = [getattr(scenario, role) for role in sorted(info.asks)]
    names = [spec.model for spec in asked if spec is not None]
    filled = f"{FILLED_AS}{scenario.fill or FillSpec()}" if info.fills else ""
    language = "auto" if scenario.judge is None else scenario.judge.language
    spoken = bound.asked_in(language, getattr(options, "language", None))
    return (f" by {', '.join(names)}" if names else "") + filled + (spoken and ASKED_IN + spoken)


def _definition_text(definition: MetricDefinition, info: MetricInfo, options: NoOptions) -> str:
    """Return what a score means, in one line: scores of equal definitions can be compared."""
    stated = sorted(options.stated().items())
    listed = ", ".join(f"{name}={_option_text(name, value)}" for name, value in stated)
    return f"{definition.source or info.name} v{info.version} ({listed})"


def _option_text(name: str, value: object) -> str:
    """Return an option; one that may be a key as a few digits of its hash, to show a change."""
    shown = shown_option(name, value)
    if shown == value:
        return f"{value}"
    return f"{shown}#{hash_text(value)}"


def _option_problem(
    binding: Binding,
    at: int,
    spec: MetricSpec,
    given: Iterable[str],
    known: Iterable[str],
    detail: ErrorDetails,
) -> None:
    option = str(detail["loc"][0]) if detail["loc"] else ""
    place: tuple[str | int, ...]
    if spec.use is not None and (option in given or option not in binding.scenario.metric_options):
        place, label = ("metrics", at, option), f"metrics[{at}]"
    elif option in given or option not in binding.scenario.metric_options:
        place, label = ("metrics", at, spec.metric, option), f"metrics[{at}].{spec.metric}"
    else:
        place, label = ("metric_options", option), "metric_options"
    if detail["type"] == "extra_forbidden":
        message = f"{label}: {unknown_name('option', option, known)}"
    else:
        where = f"{label}.{option}" if option else label
        of_user = spec.use is not None and detail["type"] == "missing"
        message = f"{where}: {reworded(detail)}{_of_sample() if of_user else ''}"
    binding.problem(message, *place)


def _of_sample() -> str:
    """Return how the parameters are called that need no option."""
    # Not at the top: most scenarios name no metric of their own.
    from pytest_rageval.metrics.custom.signature import FIELDS

    return f" (no option is needed for parameters called sample, {', '.join(FIELDS)})"


def said_of_metrics() -> list[str]:
    """Return the keys, apart from options, of a metric that a scenario names by ``use``."""
    # Not at the top: most scenarios name no metric of their own.
    from pytest_rageval.metrics.custom.declaration import Declaration

    return [said.name for said in fields(Declaration)]


def use_metric(
    binding: Binding, path: str, spec: MetricSpec
) -> tuple[MetricSpec, MetricDefinition]:
    """Return ``spec`` with all of the metric's options, and the metric at an import path.

    Raises ImportPathError or CustomMetricError, with what is wrong.
    """
    # Not at the top, either.
    from pytest_rageval.metrics.custom.declaration import Declaration
    from pytest_rageval.metrics.custom.from_python import define_metric

    folders = (binding.loaded.path.parent, binding.run_paths.root)
    found = import_object(path, folders, binding.run_paths.import_mode)
    said = _said(spec)
    if isinstance(found, MetricDefinition):
        # It declares everything itself: keys beside `use` can only be its options.
        options = {**said, **spec.options}
        return spec.model_copy(update={"options": options}), _at(path, found)
    return spec, define_metric(found, spec.attribute or path, path, Declaration(**said))


def is_import_path(name: str) -> bool:
    """Return whether ``name`` is written like an import path."""
    try:
        split_path(name)
    except ImportPathError:
        return False
    return True


def _said(spec: MetricSpec) -> dict[str, Any]:
    known = {name: getattr(spec, name) for name in said_of_metrics() if name != "name"}
    return {name: value for name, value in known.items() if value is not None}


def _at(path: str, definition: MetricDefinition) -> MetricDefinition:
    return definition if definition.source else replace(definition, source=path)
