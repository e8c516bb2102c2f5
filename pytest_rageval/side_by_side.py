"""Compares variants from Python: the variants of one scenario, or any saved runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import ValidationError

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.evaluate import Progress
from pytest_rageval.engine.planning.plan_scenario import plans_of
from pytest_rageval.engine.verdict.best import best_verdict
from pytest_rageval.engine.verdict.decide import contested
from pytest_rageval.errors import OptionError, Problem, UserError
from pytest_rageval.evaluation import (
    AnyScenario,
    Handed,
    evaluate_planned,
    expect,
    plan_of,
    requested_of,
    take_out,
    workers_of,
)
from pytest_rageval.model import (
    NOTHING,
    WEIGHTED_SCORE,
    Contest,
    GateResult,
    Ranking,
    ScenarioResult,
)
from pytest_rageval.notebooks.frames import EvaluationResult, frame_of_all
from pytest_rageval.reports.write_run import write_variants
from pytest_rageval.results.stored_result import stored_result
from pytest_rageval.run_paths import run_folder
from pytest_rageval.scenario.in_memory import Changes, overrides_of, tree_of
from pytest_rageval.scenario.loader import variants_in, variants_of
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import BestSpec
from pytest_rageval.scenario.spec import reworded
from pytest_rageval.scenario.variants import VARIANTS, unknown_variant
from pytest_rageval.stats.variant_ranking import rank_variants

_KEY = re.compile(r"'best: \{(\w+): ([^}]*)\}'")
"""A key as the advice of a ranking names it."""

Target = Callable[..., Any]
Variants = Mapping[str, Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True, repr=False)
class VariantResults:
    """The results of variants by name, in their order, and how they rank.

    ``gate`` is the verdict of the gate ``best``, None where nothing asks for it. ``page`` is the
    side-by-side page, None where none was written. Notebooks show the ranking.
    """

    results: Mapping[str, EvaluationResult]
    ranking: Ranking
    gate: GateResult | None = None
    page: Path | None = None

    def to_frame(self) -> Any:
        """Return a data frame as of one result, with a row for each sample of each ``variant``."""
        return frame_of_all(list(self.results.values()))

    def __repr__(self) -> str:
        # Not at the top: scripts print no results, and need nothing of the reports.
        from pytest_rageval.notebooks.html import ranking_text

        return f"<{type(self).__name__} {ranking_text(self.ranking, self.gate)}>"

    def _repr_html_(self) -> str:
        from pytest_rageval.notebooks.html import variants_html

        return variants_html(self.results, self.ranking, self.gate)


def evaluate_variants(  # noqa: PLR0913  (all but the scenario are options)
    scenario: AnyScenario,
    overrides: Iterable[Override | str] | Changes = (),
    *,
    variants: Iterable[str] | Variants | None = None,
    targets: Mapping[str, Target] | None = None,
    dataset: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
    run: RunSettings | None = None,
    write_to: str | os.PathLike[str] | None = None,
    reports: Iterable[str] = (),
    executor: Executor | None = None,
) -> VariantResults:
    """Evaluate the variants of a scenario and rank them.

    ``variants`` are the names of some variants of the scenario (default: all), or a mapping of
    names to keys, as in a file, which takes the place of the scenario's own. A function that
    answers for a variant is its ``target``, or in ``targets`` by its name; a data frame with the
    rows of one is its ``dataset``, and the argument ``dataset`` has the rows of all. All other
    arguments are those of ``evaluate``. Equal questions to a model are sent once: without a cache
    folder in ``run``, replies are kept until the end of this call.

    Raises ScenarioError and OptionError as ``evaluate`` does, and OptionError for fewer than two
    variants.
    """
    __tracebackhide__ = methodcaller("errisinstance", UserError)
    requested = requested_of(reports, write_to)
    expect("targets", targets or None, Mapping, "a mapping of variants' names to functions")
    given, workers = overrides_of(overrides), workers_of(executor)
    defined = variants if isinstance(variants, Mapping) else _of_mapping(scenario)
    scenario, shared = take_out(scenario, None, dataset)
    taken = {name: _of_variant(name, keys, shared) for name, keys in (defined or {}).items()}
    file_keys = {name: keys for name, (keys, _) in taken.items()}
    handed = {name: objects for name, (_, objects) in taken.items()}
    for name, target in (targets or {}).items():
        handed[name] = replace(handed.get(name, shared), target=target)
    if defined is not None and isinstance(scenario, Mapping):
        scenario = {**scenario, VARIANTS: file_keys}
    elif defined is not None:
        # First: the other overrides may change keys of these variants.
        given.insert(0, Override((VARIANTS,), file_keys, VARIANTS))
    wanted = None if isinstance(variants, Mapping) else variants
    names = _chosen(_known(scenario, given), wanted, handed)
    expect("run", run, RunSettings, "RunSettings")
    with ExitStack() as stack:
        settings = run or RunSettings()
        if settings.cache_dir is None:
            folder_of_replies = stack.enter_context(TemporaryDirectory())
            settings = replace(settings, cache_dir=Path(folder_of_replies))
        # All of them before the first question: a mistake in the last one must cost nothing.
        writes = write_to is not None
        plans = plans_of(
            names,
            lambda name: plan_of(
                scenario, given, folder, handed.get(name, shared), settings, name, writes=writes
            ),
        )
        if workers is not None:
            # Not at the top: most evaluations need no other process.
            from pytest_rageval.engine.remote.sending import prepared

            plans = [prepared(plan, workers) for plan in plans]
        ran = [
            evaluate_planned(plan, settings, progress, write_to, requested, workers)
            for plan in plans
        ]
    found = [result for result, _ in ran]
    judged = contested(found)[0]
    ranking = judged.ranking
    if ranking is None:  # workers lost all samples of a variant
        ranking = rank_variants(found, judged.contest, complete=False)
    results = {
        name: EvaluationResult.of(result, handed.get(name, shared).library)
        for name, result in zip(names, found, strict=True)
    }
    ranked = VariantResults(results, ranking, judged.gate)
    if write_to is None:
        return ranked
    runs = {name: folder.name for name, (_, folder) in zip(names, ran, strict=True) if folder}
    return _write(ranked, Path(write_to) / run_folder(judged.info.name), requested, runs=runs)


def _of_mapping(scenario: object) -> Variants | None:
    """Return the variants of a scenario that is a mapping, if it has some."""
    found = scenario.get(VARIANTS) if isinstance(scenario, Mapping) else None
    return found if isinstance(found, Mapping) else None


def _of_variant(
    name: str, keys: Mapping[str, Any] | None, shared: Handed
) -> tuple[dict[str, Any], Handed]:
    """Return the keys of a variant that a file could hold, and what code hands over for it."""
    if not isinstance(keys, Mapping | None):
        message = f"{name!r}: expected the keys that it changes, as {{'dataset': ...}}"
        raise OptionError([Problem("variants", message)])
    rest, objects = take_out(dict(keys or {}))
    assert isinstance(rest, dict)
    if objects.rows is None:
        return rest, replace(shared, target=objects.target or shared.target)
    if shared.rows is not None and shared.rows.must_be_used:
        message = f"the variant {name!r} has rows of its own; leave out one of the two"
        raise OptionError([Problem("dataset", message)])
    return rest, objects


def _known(scenario: AnyScenario, given: list[Override]) -> tuple[str, ...]:
    if isinstance(scenario, str | os.PathLike):
        return variants_in(Path(scenario), given)
    return variants_of(tree_of(scenario), given)


def _chosen(
    known: tuple[str, ...], wanted: Iterable[str] | None, given: Iterable[str]
) -> tuple[str, ...]:
    """Return the variants to evaluate, in the order of the scenario; raises OptionError."""
    if isinstance(wanted, str) or not isinstance(wanted, Iterable | None):
        raise OptionError([Problem("variants", f"expected a list of names, found {wanted!r:.80}")])
    named = known if wanted is None else tuple(wanted)
    names: list[Any] = [*named, *given]
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise OptionError([Problem("variants", f"a name must be text, found {wrong[0]!r:.80}")])
    unknown = [name for name in names if name not in known]
    if unknown:
        message = unknown_variant(unknown[0], known) if known else "the scenario has no variants"
        raise OptionError([Problem("variants", message)])
    if len(set(named)) < 2:
        message = f"two at least are needed to compare, found {len(set(named))}; use evaluate()"
        raise OptionError([Problem("variants", message)])
    return tuple(name for name in known if name in named)


def compare_saved_runs(  # noqa: PLR0913  (all but the runs are options)
    runs: Mapping[str, str | os.PathLike[str] | ScenarioResult],
    *,
    of: str = WEIGHTED_SCORE,
    at_least: str | None = None,
    alpha: float = 0.05,
    min_pairs: float = 0.9,
    anyway: bool = False,
    write_to: str | os.PathLike[str] | None = None,
) -> VariantResults:
    """Put runs of anything side by side: run folders, files of saved runs, or results.

    ``runs`` gives each a name: ``{"before": ".rageval/bot/baselines/main.json", "after":
    ".rageval/bot/latest"}``. They are ranked by the metric ``of`` as variants are, joined by sample
    id; all other arguments are as under ``best`` in a scenario file. ``write_to`` is a folder for
    ``variants.json`` and the page ``variants.html``.

    Raises BaselineError for a run that cannot be read, OptionError for a wrong argument.
    """
    __tracebackhide__ = methodcaller("errisinstance", UserError)
    if not isinstance(runs, Mapping):
        message = "expected a mapping of names to runs: {'before': ..., 'after': ...}"
        raise OptionError([Problem("runs", message)])
    spec = _spec(of=of, at_least=at_least, alpha=alpha, min_pairs=min_pairs, anyway=anyway)
    expect("write_to", write_to, (str, os.PathLike), "a path")
    names: list[Any] = list(runs)
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise OptionError([Problem("runs", "a run's name must be text that is not empty")])
    results = {name: EvaluationResult.of(_result(name, run)) for name, run in runs.items()}
    _check(results, of, at_least)
    contest = Contest(
        tuple(results),
        of,
        at_least,
        alpha=spec.alpha,
        min_pairs=spec.min_pairs,
        anyway=spec.anyway,
    )
    complete = all(result.complete for result in results.values())
    ranking = rank_variants(list(results.values()), contest, complete=complete)
    # Its advice names keys of a scenario file; here they are arguments.
    ranking = replace(ranking, undecided=_KEY.sub(_argument, ranking.undecided))
    gate = best_verdict(ranking, contest) if at_least is not None else None
    found = VariantResults(results, ranking, gate)
    if write_to is None:
        return found
    return _write(found, Path(write_to), ("report.html",), contest)


def _spec(**given: Any) -> BestSpec:
    """Return the arguments as ``best`` of a scenario file takes them; raises OptionError."""
    try:
        return BestSpec.model_validate(given)
    except ValidationError as error:
        raise OptionError(
            Problem(".".join(map(str, mistake["loc"])), reworded(mistake))
            for mistake in error.errors(include_url=False)
        ) from error


def _argument(key: re.Match[str]) -> str:
    value = {"true": True, "0": 0}.get(key[2], key[2])
    return f"{key[1]}={value!r}"


def _result(name: str, run: str | os.PathLike[str] | ScenarioResult) -> ScenarioResult:
    if isinstance(run, ScenarioResult):
        return replace(run, info=replace(run.info, variant=name))
    if not isinstance(run, str | os.PathLike):
        kind = type(run).__name__
        message = f"{name!r}: expected a path or a result, found a value of type {kind}"
        raise OptionError([Problem("runs", message)])
    return stored_result(Path(run), name)


def _check(results: Mapping[str, ScenarioResult], of: str, at_least: str | None) -> None:
    if len(results) < 2:
        raise OptionError([Problem("runs", f"expected two or more, found {len(results)}")])
    if at_least is not None and at_least not in results:
        raise OptionError([Problem("at_least", unknown_variant(str(at_least), tuple(results)))])
    for name, result in results.items():
        if of != WEIGHTED_SCORE and of not in result.metrics:
            known = ", ".join((*result.metrics, WEIGHTED_SCORE))
            message = f"{name!r} has no metric {of!r}; it has {known}"
            raise OptionError([Problem("of", message)])


def _write(
    found: VariantResults,
    folder: Path,
    requested: Iterable[str],
    contest: Contest | None = None,
    runs: Mapping[str, str] = NOTHING,
) -> VariantResults:
    results = list(found.results.values())
    page = write_variants(
        folder, results, found.ranking, found.gate, tuple(requested), contest, runs=runs
    )
    return replace(found, page=page)
