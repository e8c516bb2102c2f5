"""What a worker does: it makes the metrics once, and scores chunks of samples with them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

import pytest_rageval
from pytest_rageval.collector import rare_collections
from pytest_rageval.engine.module_digests import other_module, own_metrics
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.planning.bind_metrics import bind_metrics
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.engine.remote.packing import (
    Recipe,
    Refused,
    Scored,
    pack_reply,
    scores_alone,
    unpack_samples,
)
from pytest_rageval.engine.scoring.score_sample import computed_scores
from pytest_rageval.engine.scoring.warm_up import warm_up
from pytest_rageval.model import Sample, ScenarioInfo
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.loader import LoadedScenario
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml.tree import YamlTree
from pytest_rageval.text.tokenize import jieba_digest

_KEPT: Final = 16
_ADVICE: Final = (
    "Workers import your metrics themselves: put a metric of your own into a module that they can "
    "import, and name it by {use: 'module:function'}"
)

_OTHER_WORDS: Final = (
    "the worker's jieba has other words than this process: nothing that conftest.py adds is there; "
    "add them in a module that workers import, such as that of a metric of your own"
)


class _Made(threading.local):
    """The plans of a thread by their recipes, the last ones used.

    Each thread has its own: metrics need not be safe for several.
    """

    def __init__(self) -> None:
        self.plans: OrderedDict[bytes, Plan] = OrderedDict()


_MADE: Final = _Made()


def score_packed(version: str, recipe: bytes, samples: bytes) -> bytes:
    """Return the packed scores of packed samples, or why they cannot be scored here.

    ``version`` is that of this package where the ``recipe`` was packed.
    """
    own = pytest_rageval.__version__
    if version != own:
        reason = f"the worker has pytest-rageval {own}, this process {version}; install the same"
        return pack_reply(Refused(reason))
    plan = _plan(recipe)
    if isinstance(plan, Refused):
        return pack_reply(plan)
    with rare_collections():
        return pack_reply(_scored(plan, unpack_samples(samples)))


def _scored(plan: Plan, samples: list[Sample]) -> Scored:
    found = Scored()
    score = scores_alone if own_metrics(plan.metrics) else computed_scores
    for sample in samples:
        started = time.perf_counter()
        scores = score(plan, sample)
        found.add(scores, time.perf_counter() - started)
    return found


def _plan(packed: bytes) -> Plan | Refused:
    """Return the plan of a recipe, made once and kept; a refusal is not, as its cause may go."""
    plans = _MADE.plans
    if packed not in plans:
        made = _make(Recipe.unpack(packed))
        if isinstance(made, Refused):
            return made
        plans[packed] = made
        while len(plans) > _KEPT:
            plans.popitem(last=False)
    plans.move_to_end(packed)
    return plans[packed]


def _make(recipe: Recipe) -> Plan | Refused:
    binding = _binding(recipe)
    metrics = bind_metrics(binding)
    reasons = [problem.message for problem in binding.problems]
    lacking = recipe.definitions.keys() - {metric.column.name for metric in metrics}
    if lacking:
        said = "; ".join(reasons) or f"no metric {', '.join(sorted(lacking))}"
        return Refused(f"{said.rstrip('.')}. {_ADVICE}")
    if module := other_module(recipe.digests):
        return Refused(f"the worker has {module}: restart the worker, or give it the same file")
    if recipe.words and recipe.words != jieba_digest():
        return Refused(_OTHER_WORDS)
    other = [text for metric in metrics if (text := _difference(metric, recipe))]
    if other:
        return Refused("; ".join(other))
    info = ScenarioInfo(
        "", binding.loaded.path.name, "", metrics=tuple(metric.column for metric in metrics)
    )
    plan = Plan(
        info,
        metrics,
        (),
        frozenset(),
        empty_answer=recipe.empty_answer,
        answers=recipe.answers,
    )
    warm_up(plan, Sample("warm-up"))
    return plan


def _difference(metric: BoundMetric, recipe: Recipe) -> str:
    """Return how a metric differs from the one of the same name where the recipe was packed."""
    there, here = recipe.definitions[metric.column.name], metric.column.definition
    return "" if there == here else f"{there!r} is {here!r} in the worker"


def _binding(recipe: Recipe) -> Binding:
    source = recipe.source
    scenario = Scenario.model_construct(
        name="",
        dataset=DatasetSpec.model_construct(),
        metrics=[source.specs[at] for at in recipe.positions],
        metric_options=dict(source.options),
        match=source.match,
    )
    loaded = LoadedScenario(
        scenario,
        source.path,
        YamlTree({}, source.path.name),
        positions={"metrics": list(recipe.positions)},
    )
    paths = RunPaths(source.root, import_mode=source.import_mode)
    return Binding(loaded, run_paths=paths)
