"""A scenario file as pytest collects it: planned, changed by hooks, with an item for each case."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from pytest_rageval.collector import garbage_kept
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.binding import ChangeSamples
from pytest_rageval.engine.planning.plan_scenario import make_plan, plans_of
from pytest_rageval.errors import BaselineError, DuplicateNameError, Problem, UserError, shorten
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition
from pytest_rageval.model import Case, InvalidRow, Sample, ScenarioView, title_of
from pytest_rageval.plugin.collect import RagevalWarning
from pytest_rageval.plugin.names import Names, look_alike, tag_name
from pytest_rageval.plugin.option_values import Overriding
from pytest_rageval.plugin.options import SCENARIO, SHARD, VARIANT, touching
from pytest_rageval.plugin.run.items import ENGINE, FixtureItem, SampleItem
from pytest_rageval.plugin.run.run_hooks import (
    GATES,
    RUN_HOOKS,
    HookError,
    Implementation,
    implementations,
)
from pytest_rageval.plugin.run.run_settings import (
    UNMET,
    UNMET_OUTPUT,
    claim_name,
    run_settings,
    shows_warnings,
)
from pytest_rageval.plugin.run.start_session import note_refusal
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.loader import variants_in
from pytest_rageval.scenario.variants import matching_variants, unknown_variant
from pytest_rageval.text.printable import printable, wrappable


def known_metrics(hooks: Any, config: pytest.Config) -> Registry[MetricDefinition]:
    """Return the named metrics, including those of ``pytest_rageval_metrics``; raises HookError."""
    registry = METRIC_REGISTRY
    for implementation in implementations(hooks, "pytest_rageval_metrics", config):
        found = implementation.call(config=config)
        if found is not None:
            registry = _extended(registry, found, implementation)
    return registry


def _extended(
    known: Registry[MetricDefinition], found: object, giver: Implementation
) -> Registry[MetricDefinition]:
    # Not at the top: most runs have no such hook.
    from pytest_rageval.metrics.custom.from_python import define_metrics
    from pytest_rageval.metrics.custom.signature import CustomMetricError

    try:
        return known.extended(define_metrics(found, f"{giver.shown}: what it returned"))
    except CustomMetricError as error:
        raise HookError(str(error)) from error
    except ValueError as error:
        raise giver.refused(f"returned what cannot be added: {error}") from error


def samples_of_hooks(hooks: Any, config: pytest.Config) -> ChangeSamples | None:
    """Return a function that applies ``pytest_rageval_samples``, or None without such hooks.

    The function raises HookError.
    """
    found = implementations(hooks, "pytest_rageval_samples", config)
    return partial(_changed, found, config) if found else None


def _changed(
    hooks: Sequence[Implementation],
    config: pytest.Config,
    view: ScenarioView,
    samples: tuple[Sample, ...],
) -> tuple[tuple[Sample, ...], list[str]]:
    remarks = []
    for hook in hooks:
        said = hook.call(config=config, scenario=view, samples=samples)
        changed = _checked(samples if said is None else hook.listed(said), hook)
        if _differ(changed, samples):
            remarks.append(
                f"{hook.shown} changed samples: {len(samples)} before, {len(changed)} now"
            )
            samples = changed
    return samples, remarks


def _differ(changed: tuple[Sample, ...], samples: tuple[Sample, ...]) -> bool:
    try:
        return changed != samples
    except Exception:  # noqa: BLE001  (objects that a hook put into the metadata)
        return True


def _checked(given: Sequence[object], giver: Implementation) -> tuple[Sample, ...]:
    """Return the samples of a hook as plain values; raises HookError for invalid ones."""
    samples = tuple(_plain(sample, giver) for sample in given)
    ids = Counter(sample.id for sample in samples)
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise giver.refused(f"returned two samples with the id {shorten(twice[0])!r}")
    if not samples:
        raise giver.refused("left no samples to run")
    return samples


def _plain(given: object, giver: Implementation) -> Sample:
    # Not at the top: most runs have no such hook.
    from pytest_rageval.datasets.plain_sample import NoSampleError, plain_sample, shown

    if not isinstance(given, Sample):
        raise giver.refused(f"returned {shown(given)} among the samples: not a Sample")
    try:
        return plain_sample(given)
    except NoSampleError as error:
        raise giver.refused(f"returned {error}") from error


def with_run_hooks(plan: Plan, hooks: Any, config: pytest.Config) -> Plan:
    """Return the plan with the names of its run hooks, and without ``stop`` if they add gates."""
    found = [
        implementation
        for hook in RUN_HOOKS
        for implementation in implementations(hooks, hook, config)
    ]
    if not found:
        return plan
    info = replace(plan.info, hooks=tuple(one.shown for one in found))
    adds_gates = [hook for hook in info.hooks if hook.startswith(f"{GATES} of ")]
    if info.stop is not None and adds_gates:
        remark = f"stop: nothing stops early: the gates of {adds_gates[0]} need every sample"
        info = replace(info, stop=None, remarks=(*info.remarks, remark))
    return replace(plan, info=info)


def target_of_hooks(view: ScenarioView, hooks: Any, config: pytest.Config) -> object | None:
    """Return the first result of ``pytest_rageval_target`` that is not None; raises HookError."""
    for implementation in implementations(hooks, "pytest_rageval_target", config):
        found: object = implementation.call(config=config, scenario=view)
        if found is not None:
            if not callable(found):
                raise implementation.refused(
                    f"returned {shorten(repr(found))}, which cannot be called"
                )
            return found
    return None


class ScenarioFile(pytest.File):
    """Collects the cases of one scenario file, or its variants.

    ``is_refused``: its baseline, or its name, cannot be used.
    """

    is_refused = False

    def collect(self) -> list[SampleItem] | list[VariantNode]:
        """Return an item for each case, or a node for each variant; problems: one CollectError."""
        with garbage_kept():
            names = chosen_variants(self)
            if not names:
                plan = scenario_plan(self.path, self, self.nodeid)
                check_where([plan], self)
                return case_items(self, plan)
            plans = variant_plans(self, names)
            check_where(plans, self)
            return [VariantNode.from_parent(self, name=one.info.variant, plan=one) for one in plans]


class VariantNode(pytest.Collector):
    """Collects the cases of one variant of a scenario."""

    def __init__(self, *, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._plan = plan

    def collect(self) -> list[SampleItem]:
        """Return an item for each case."""
        with garbage_kept():
            return case_items(self, self._plan)


def case_items(parent: pytest.Collector, plan: Plan) -> list[SampleItem]:
    """Return the items of a scenario, or of a variant, below ``parent``."""
    if plan.is_asked:
        prepare_live_run(parent.config, plan)
    plan = _with_engine(plan, parent)
    names = Names()
    named = {case.index: names.give(case.id) for case in plan.cases}
    _warn(_look_alikes(parent, plan, named), parent)
    kind = SampleItem if plan.target is None or plan.target.fixture is None else FixtureItem
    items = []
    for case in chosen_cases(plan, parent.config):
        item = kind.from_parent(parent, name=named[case.index], plan=plan, case=case)
        for mark in case_marks(parent.config, plan, case):
            item.add_marker(mark)
        items.append(item)
    return items


def _look_alikes(parent: pytest.Collector, plan: Plan, names: Mapping[int, str]) -> Iterator[str]:
    """Yield a warning for each id in ``--rag-scenario`` in whose place another sample runs."""
    entries = [entry for entry in SCENARIO.entries(parent.config) if "::" in entry.text]
    variant = f"{plan.info.variant}::" if plan.info.variant else ""
    ids = {names[case.index]: case.id for case in plan.cases} if entries else {}
    for entry in entries:
        other = look_alike(entry.text.partition("::")[2].removeprefix(variant), ids)
        if other and parent.path in {path for path, _ in SCENARIO.read(entry)}:
            yield f"{entry}: {other}"


class FixtureScenarioFile(ScenarioFile, pytest.Module):
    """Collects a scenario whose target is a fixture, as a module because fixtures need one."""

    def _getobj(self) -> ModuleType:
        """Return an empty module, for plugins that inspect every module."""
        return ModuleType(self.path.name.partition(".")[0])


def _with_engine(plan: Plan, parent: pytest.Collector) -> Plan:
    """Return the plan; where the run has an engine, with the metrics that the engine computes."""
    engine = parent.config.stash.get(ENGINE, None)
    if engine is None:
        return plan
    with _refusing(parent):
        return engine.prepare(plan)


def chosen_cases(plan: Plan, config: pytest.Config) -> list[Case]:
    """Return the cases that ``--rag-where`` asks for, in the order in which they run."""
    wanted = config.stash[SETTINGS].conditions
    if not wanted:
        return list(plan.asking_order)
    # Not at the top: most runs have no such option.
    from pytest_rageval.engine.planning.where import conditions_for, select

    return select(plan.asking_order, conditions_for(plan, wanted))


def check_where(plans: Sequence[Plan], collector: pytest.Collector) -> None:
    """Refuse fields of ``--rag-where`` that the data lack; note values that no row has."""
    wanted = collector.config.stash[SETTINGS].conditions
    if not wanted:
        return
    from pytest_rageval.engine.planning.where import check_fields, unmet

    with _refusing(collector):
        check_fields(plans, wanted)
    config = collector.config
    found = dict.fromkeys((*config.stash.get(UNMET, ()), *unmet(plans, wanted)))
    config.stash[UNMET] = tuple(found)
    if hasattr(config, "workeroutput"):
        config.workeroutput[UNMET_OUTPUT] = list(found)


def scenario_file(path: Path, parent: pytest.Collector) -> ScenarioFile:
    """Return the collector of ``path``."""
    # pytest gives files outside the rootdir an empty node id, and two of them would collide.
    root = parent.config.rootpath
    nodeid = None if path.is_relative_to(root) else Path(os.path.relpath(path, root)).as_posix()
    kind = FixtureScenarioFile if _may_take_a_fixture(path, parent.config) else ScenarioFile
    return kind.from_parent(parent, path=path, nodeid=nodeid)


def _may_take_a_fixture(path: Path, config: pytest.Config) -> bool:
    """Return whether the target may be a fixture; the file is parsed only later."""
    if any(override.path[0] == "target" for override in config.stash[SETTINGS].overrides):
        return True
    try:
        raw = path.read_bytes()
    except OSError:
        return False  # reported when the file is parsed
    return b"target" in raw and b"fixture" in raw


def chosen_variants(file: ScenarioFile) -> tuple[str, ...]:
    """Return the variants of a scenario file that are to run, () for none or an unreadable file.

    ``--rag-variant`` may name some of them; a name that the file does not have is an error.
    """
    config = file.config
    shown, wanted = _shown(file.path, config), config.stash[SETTINGS].variants
    try:
        known = variants_in(file.path, config.stash[SETTINGS].overrides, shown)
    except UserError:
        return ()  # reported when the scenario is read
    if not wanted:
        return known
    chosen, unknown = matching_variants(known, wanted)
    if unknown:
        what = unknown_variant(unknown[0], known) if known else "this scenario has no variants"
        hint = "" if "Did you mean" in what else "; name the file that has it"
        message = f"{shown}: {VARIANT.source(config)} {unknown[0]}: {what}{hint}"
        raise file.CollectError(printable(message))
    return chosen


def variant_plans(file: ScenarioFile, names: Sequence[str]) -> list[Plan]:
    """Return the plans of variants; all that is wrong with them is one collection error."""
    with _refusing(file):
        plans = plans_of(
            names, lambda name: _plan(file.path, file, title_of(file.nodeid, name), variant=name)
        )
    _warn(dict.fromkeys(text for plan in plans for text in plan.info.warnings), file)
    return plans


def scenario_plan(
    path: Path,
    collector: pytest.Collector,
    nodeid: str,
    *,
    variant: str = "",
    answers_given: bool = False,
) -> Plan:
    """Return the plan of the scenario in ``path``, for ``collector``.

    ``nodeid``: of the cases' parent; ``answers_given``: by a test. Problems raise CollectError, and
    doubtful values warn; ``collector.is_refused`` is set if its baseline or name is refused.
    """
    with _refusing(collector):
        plan = _plan(path, collector, nodeid, variant=variant, answers_given=answers_given)
    _warn(plan.info.warnings, collector)
    return plan


def _plan(
    path: Path,
    collector: pytest.Collector,
    nodeid: str,
    *,
    variant: str = "",
    answers_given: bool = False,
) -> Plan:
    config = collector.config
    plan = make_plan(
        path,
        config.stash[SETTINGS].overrides,
        shown=_shown(path, config),
        nodeid=nodeid,
        variant=variant,
        run_paths=config.stash[SETTINGS].run_paths,
        run=run_settings(config),
        answers_given=answers_given,
        known_metrics=known_metrics(collector.ihook, config),
        give_target=lambda view: target_of_hooks(view, collector.ihook, config),
        change_samples=samples_of_hooks(collector.ihook, config),
    )
    if plan.info.sample is not None:
        _refuse_parts(plan, config)
    plan = with_run_hooks(plan, collector.ihook, config)
    claim_name(config, path, plan.info)
    return plan


def _refuse_parts(plan: Plan, config: pytest.Config) -> None:
    """Raise BaselineError, which ends in a usage error, for options that leave out sampled rows."""
    # An option that overrides a key changes the scenario itself; a variant is one of its own.
    choosing = {SHARD, *touching("samples")} - {VARIANT}
    for option in choosing:
        if option.is_given(config) and not isinstance(option, Overriding):
            message = f"sample: asks some of all rows, and {option.flag} leaves rows out; give one"
            raise BaselineError([Problem(plan.info.path, f"{message} of the two")])


def named_plan(plan: Plan, collector: pytest.Collector, name: str, nodeid: str) -> Plan:
    """Return the plan under another name and node id; errors as in ``scenario_plan``."""
    with _refusing(collector):
        named = plan.named(name, nodeid)
    _warn([text for text in named.info.warnings if text not in plan.info.warnings], collector)
    return named


@contextmanager
def _refusing(collector: pytest.Collector) -> Iterator[None]:
    """Raise CollectError for what is wrong with a scenario: it ends the collecting of its file."""
    try:
        yield
    except UserError as error:
        if isinstance(error, BaselineError | DuplicateNameError):
            setattr(collector, "is_refused", True)  # noqa: B010  (collectors of pytest have none)
            note_refusal(collector.config)
        raise collector.CollectError(printable(str(error))) from error


def _warn(messages: Iterable[str], collector: pytest.Collector) -> None:
    try:
        # Recorded warnings are not shown, but still raised if warnings are errors.
        is_shown = shows_warnings(collector.config)
        with nullcontext() if is_shown else warnings.catch_warnings(record=True):
            for message in messages:
                collector.warn(RagevalWarning(printable(message)))
    except RagevalWarning as error:  # -W error
        raise collector.CollectError(str(error)) from error


def prepare_live_run(config: pytest.Config, plan: Plan) -> None:
    """Prepare to ask the target and judges ahead of the items, and load what that needs."""
    if config.getoption("rag_dry_run"):
        return
    # Not at the top: scenarios without target and judges need no event loop.
    from pytest_rageval.engine.scoring.score_reuse import preload
    from pytest_rageval.plugin.run.look_ahead import ensure_look_ahead

    ensure_look_ahead(config, run_settings(config))
    preload(plan, run_settings(config))


def case_marks(config: pytest.Config, plan: Plan, case: Case) -> list[pytest.MarkDecorator]:
    """Return the markers of a case: skip, xfail and its tags."""
    found = []
    if case.skip is not None:
        found.append(pytest.mark.skip(reason=wrappable(case.skip) or "skipped by the row"))
    if case.xfail is not None:
        found.append(pytest.mark.xfail(reason=wrappable(case.xfail)))
    if isinstance(case, InvalidRow):  # after the row's own: pytest shows the first reason
        reason = wrappable(f"invalid row: {case.reason}")
        marks = {"skip": pytest.mark.skip(reason=reason), "xfail": pytest.mark.xfail(reason=reason)}
        found += [marks[plan.on_invalid]] if plan.on_invalid in marks else []
    return [*found, *(_tag(config, tag) for tag in case.tags)]


def _tag(config: pytest.Config, tag: str) -> pytest.MarkDecorator:
    """Return the marker of a tag, registered so that ``--strict-markers`` accepts it."""
    name = tag_name(tag)
    line = f"{name}: a tag of rageval samples"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return cast("pytest.MarkDecorator", getattr(pytest.mark, name))


def _shown(path: Path, config: pytest.Config) -> str:
    """Return a path as in node ids: relative to the rootdir, with slashes."""
    return Path(os.path.relpath(path, config.rootpath)).as_posix()
