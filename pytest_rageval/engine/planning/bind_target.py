"""The system under test of a scenario: its type looked up, its options checked, what asks it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import ValidationError

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.engine.plan import NOT_SENT, TargetPlan
from pytest_rageval.engine.planning.answer_columns import read_of_answers
from pytest_rageval.engine.planning.binding import Binding, carried_over
from pytest_rageval.errors import MissingExtraError, unknown_name
from pytest_rageval.import_path import find_file, functions_in
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.answer_specs import ConversationSpec
from pytest_rageval.scenario.schema import TargetSpec
from pytest_rageval.scenario.spec import reworded
from pytest_rageval.targets.base import (
    TARGET_REGISTRY,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
)
from pytest_rageval.targets.templates import HISTORY, places

_SHOWN = 10
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def bind_target(
    binding: Binding, columns: Sequence[str] | None = None, given: object = None
) -> TargetPlan | None:
    """Return how the system under test is asked; None without one, or if it cannot be asked.

    If it cannot be asked, the problems are in ``binding``. ``columns`` are the names of the data's
    metadata columns, None where they are not known. ``given`` is a function that takes the place of
    the scenario's target, and is asked within its limits.
    """
    spec = binding.scenario.target
    if given is not None:
        return _given(binding, spec or TargetSpec(type="hook"), given)
    if spec is None:
        return None
    try:
        definition = TARGET_REGISTRY.get(spec.type)
    except UnknownNameError as error:
        binding.problem(f"target: {_module_alone(binding, spec) or error}", "target", "type")
        return None
    options = _options(binding, spec, definition)
    if options is None:
        return None
    try:
        return _bound(binding, spec, definition, options, columns)
    except (TargetError, MissingExtraError) as error:
        binding.problem(f"target: {error}", "target")
        return None


def _module_alone(binding: Binding, spec: TargetSpec) -> str:
    """Return the message for a module whose function is not named, "" where there is no module."""
    folders = (binding.loaded.path.parent, binding.run_paths.root)
    mode = binding.run_paths.import_mode
    file = None if spec.options else find_file(spec.type, folders, mode)
    if file is None:
        return ""
    names = ", ".join(functions_in(file)[:_SHOWN]) or "none"
    return f"expected 'module:function', found {spec.type!r}; names in {file.name}: {names}"


def _bound(
    binding: Binding,
    spec: TargetSpec,
    definition: TargetDefinition,
    options: TargetOptions,
    columns: Sequence[str] | None,
) -> TargetPlan:
    plan = _plan(binding, spec, definition, options)
    _check_version(binding, spec)
    _check_columns(binding, plan, columns)
    _check_history(binding, spec)
    if doubt := getattr(options, "doubt", ""):  # services over HTTP and models have one
        binding.warnings.append(f"target: {doubt}")
    context = _context(binding, spec, plan)
    if plan.fixture is not None and definition.from_value is not None:
        return replace(plan, from_value=partial(definition.from_value, options, context))
    return plan.asking(definition.make(options, context))


def _context(binding: Binding, spec: TargetSpec, plan: TargetPlan) -> TargetContext:
    return TargetContext(
        folders=(binding.loaded.path.parent.absolute(), binding.run_paths.root),
        root=binding.run_paths.root,
        import_mode=binding.run_paths.import_mode,
        run=binding.run,
        timeout_s=spec.timeout_s,
        settings=plan.settings,
    )


def _given(binding: Binding, spec: TargetSpec, given: object) -> TargetPlan | None:
    """Return the plan of a target that is passed in, by a hook or to ``evaluate``."""
    definition = TARGET_REGISTRY.get("hook")
    options = definition.options()
    plan = _plan(binding, spec, definition, options)
    assert definition.from_value is not None
    _check_version(binding, spec, needs_one=True)
    try:
        return plan.asking(definition.from_value(options, _context(binding, spec, plan), given))
    except TargetError as error:
        binding.problem(f"target: {options.shown}: {error}", "target")
        return None


def _check_version(binding: Binding, spec: TargetSpec, *, needs_one: bool = False) -> None:
    """Note a version under which kept answers of two systems could be taken for each other.

    ``needs_one``: the target is a function that was passed in; no path tells which system it asks.
    """
    if not spec.cache_answers or binding.run.cache_dir is None or binding.run.cache_mode == "off":
        return
    for name in _VARIABLE.findall(spec.version):
        if not os.environ.get(name, "").strip():  # answers of any system would be found again
            message = f"target: version: the environment variable {name} is not set"
            binding.problem(message, "target", "version")
    if "$" in _VARIABLE.sub("", spec.version):  # ${NAME:-dev}: one constant for all systems
        message = f"target: version: of the environment, only ${{NAME}} is known; {spec.version!r}"
        binding.problem(f"{message} has another '$'", "target", "version")
    if needs_one and not spec.version.strip():
        hint = "add a 'version' that differs for each system, or leave out cache_answers"
        message = "a function that is passed in does not say which system it asks"
        binding.problem(f"target: cache_answers: {message}: {hint}", "target", "cache_answers")


def _check_columns(binding: Binding, plan: TargetPlan, columns: Sequence[str] | None) -> None:
    """Note the columns that the target is to be shown and no row has."""
    if columns is None:
        return
    for field_name in sorted(plan.fields or ()):
        column = field_name.removeprefix("metadata.")
        is_there = column in columns or column.partition(".")[0] in columns
        if column != field_name and not is_there:
            message = unknown_name("column", column, columns)
            binding.problem(f"target: {{{field_name}}}: {message}", "target")


def _check_history(binding: Binding, spec: TargetSpec) -> None:
    """Note a place for the history where none is read from the data: it would always be empty."""
    scenario = binding.scenario
    read = read_of_answers(binding) | scenario.dataset.key_map.keys()
    if HISTORY not in read and any(place["name"] == HISTORY for place in places(spec.options)):
        message = "the data's history is not read: write conversation: true"
        binding.problem(f"target: {{{HISTORY}}}: {message}", "target")


def _plan(
    binding: Binding, spec: TargetSpec, definition: TargetDefinition, options: TargetOptions
) -> TargetPlan:
    limits = carried_over(
        spec,
        ClientSettings,
        model=options.shown,
        role="target",
        provider=definition.name,
        retries=definition.repeats if spec.retries is None else spec.retries,
    )
    return TargetPlan(
        shown=options.shown,
        provides=options.provides,
        settings=options.priced(limits),
        fixture=options.pytest_fixture,
        is_remote=definition.is_remote,
        limits_itself=definition.limits_itself,
        preload=definition.preload,
        top_k=binding.scenario.top_k,
        cache_answers=spec.cache_answers,
        identity={
            "type": definition.name,
            "version": _expanded(spec.version),
            "options": options.identity(),
            **(_scenario_identity(binding) if options.is_of_scenario else {}),
            **_variant_identity(binding, options),
        },
        fields=options.fields,
    )


def _scenario_identity(binding: Binding) -> dict[str, str]:
    """Return which scenario this is, in any checkout."""
    path = binding.run_paths.shown(binding.loaded.path.absolute())
    return {"scenario": path, "name": binding.scenario.name}


def _variant_identity(binding: Binding, options: TargetOptions) -> dict[str, str]:
    """Return the variant, if there is one and the target is a function that was passed in.

    A hook may give another function to each variant, and two partials or objects look alike. A
    fixture is not told which variant asks for it.
    """
    variant = binding.loaded.variant
    is_told = options.is_of_scenario and options.pytest_fixture is None
    return {"variant": variant} if variant and is_told else {}


def _expanded(version: str) -> str:
    """Return the version with the environment's values; a variable that is not set is empty."""
    return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), version)


def _options(
    binding: Binding, spec: TargetSpec, definition: TargetDefinition
) -> TargetOptions | None:
    known = definition.options.model_fields
    try:
        return definition.options.model_validate(spec.options)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            path = [str(step) for step in detail["loc"]]
            name = ".".join(path)
            if detail["type"] == "extra_forbidden" and len(path) == 1:
                keys = {*known, *TargetSpec.model_fields} - {"options"}
                message = f"target: {unknown_name('key', name, keys)}"
            elif detail["type"] == "missing":
                message = f"target: a target of type {definition.name!r} needs {name!r}"
            else:
                # The value is not quoted: it may hold a key or a password.
                place = f"target.{name}" if name else "target"
                message = f"{place}: {reworded(detail, may_quote=False)}"
            binding.problem(message, "target", *path)
    return None


def target_of_turns(binding: Binding, target: TargetPlan) -> TargetPlan:
    """Return how the target is asked about rows with a history.

    One that is to be sent it and cannot is a problem: it would be asked other questions than these.
    """
    spec = binding.scenario.conversation or ConversationSpec()
    if spec.send and not target.takes_history:
        binding.problem(f"target: {NOT_SENT}", "target")
    return replace(target, has_history=spec.send, sends_history=spec.send)
